"""Nodes: a state as a tree of attrs values, tuples and collections, with a leaf for each value that is not split."""

from __future__ import annotations

from collections.abc import Iterable
from types import MemberDescriptorType, NoneType
from typing import Any

import attrs

from leadline.checker.bag import Bag
from leadline.checker.canonical import canonical
from leadline.checker.values import difference

Key = tuple[object, ...]
"""The value numbers in the slots of a part of the state."""


class ShapeChanged(Exception):
    """Raised when a component has a different shape than in the initial state. It must be kept as one leaf.

    Attributes:
        path: the path of the component in the state.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


@attrs.frozen(eq=False)
class Leaf:
    """A value that is not split and has one slot."""

    path: str
    slot: int


@attrs.frozen(eq=False)
class Struct:
    """An attrs value, split into its fields.

    Attributes:
        path: the path of the value in the state; empty for the state itself.
        cls: the class of the value.
        children: the node of each field, by name.
        constants: the value of each constant field, by name.
        aliases: the name of each field, by the name of the constructor's argument.
        slots: the range of slots of all leaves below this node.
        collections: all collections below this node; they have further slots.
        slotted: whether instances have no `__dict__`.
        set_at_once: names and values of the attributes that are set when a lazy instance is created, because they are
            not part of the state: the constants and the cached hash.
        copied_unread: whether the constructor only stores its arguments, so that `attrs.evolve` does not need to read
            the fields that it copies.
        built: the values that were built before, by the numbers in their slots.
    """

    path: str
    cls: type
    children: dict[str, Node]
    constants: dict[str, object]
    aliases: dict[str, str]
    slots: slice
    collections: tuple[Collection, ...]
    slotted: bool
    set_at_once: tuple[tuple[str, object], ...]
    copied_unread: bool
    built: dict[Key, object] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class Parts:
    """A tuple of fixed length, split into its elements.

    Attributes:
        path: the path of the tuple in the state.
        elements: the node of each element.
        whole: whether every element is an attrs value. If so, creating a tuple of lazy instances reads nothing.
        slots, collections, built: see `Struct`.
    """

    path: str
    elements: tuple[Node, ...]
    whole: bool
    slots: slice
    collections: tuple[Collection, ...]
    built: dict[Key, object] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class Collection:
    """A frozenset or a `Bag`, split into one slot for each member that any state contained or any code looked up.

    Attributes:
        path: the path of the collection in the state.
        cls: `frozenset` or `Bag`.
        members: the slot of each member, in the order in which the members were found.
        built: the values that were built before, by the numbers in their slots.
    """

    path: str
    cls: type
    members: dict[object, int] = attrs.field(factory=dict)
    built: dict[Key, object] = attrs.field(factory=dict)

    @property
    def slots(self) -> list[int]:
        """The slots of the members."""
        return list(self.members.values())

    def count(self, value: Any, member: object) -> int:
        """The number of times that a bag contains a member; for a set, whether it contains the member."""
        return value[member] if self.cls is Bag else member in value

    def counts(self, value: Any) -> dict[object, int]:
        """The result of `count` for each member of a value."""
        return dict(value) if self.cls is Bag else dict.fromkeys(value, True)

    def of(self, counts: dict[object, int]) -> Any:
        """Return the `canonical` collection with these counts. Members whose count is False or 0 are left out."""
        if self.cls is Bag:
            return canonical(Bag.of({member: count for member, count in counts.items() if count}))
        return canonical(frozenset(member for member, count in counts.items() if count))


Node = Leaf | Struct | Parts | Collection

NODES = frozenset((Leaf, Struct, Parts, Collection))


def collections_in(nodes: Iterable[Node]) -> tuple[Collection, ...]:
    """All collections among the given nodes and below them."""
    found: list[Collection] = []
    for node in nodes:
        if isinstance(node, Collection):
            found.append(node)
        elif not isinstance(node, Leaf):
            found += node.collections
    return tuple(found)


def constructed(node: Struct, values: dict[str, object]) -> Any:
    """Create an instance with the given field values.

    Raises:
        ShapeChanged: the constructor raises an exception or changes a value.
    """
    given = {alias: values[name] for alias, name in node.aliases.items()}
    if node.copied_unread:
        return node.cls(**given)
    try:
        made = node.cls(**given)
        kept = ((getattr(made, name), value) for name, value in values.items())
        if all(now is value or (now == value and not difference(now, value)) for now, value in kept):
            return made
    except Exception:
        pass  # the constructor does not accept a value that it returned before
    raise ShapeChanged(node.path)


def can_be_taken_apart(cls: type) -> bool:
    """Whether instances of an attrs class consist only of their fields, which are read in the usual way."""
    plain = all(getattr(cls, name) is getattr(object, name) for name in ("__new__", "__getattribute__"))
    fields = attrs.fields(cls)
    in_place = all(isinstance(_member(cls, field.name), MemberDescriptorType | NoneType) for field in fields)
    return plain and in_place and not hasattr(cls, "__attrs_init__") and all(field.init for field in fields)


def _member(cls: type, name: str) -> object:
    """The class attribute that is found if an instance has no attribute of that name; None if there is none."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def copies_unread(cls: type) -> bool:
    """Whether the constructor of an attrs class only stores its arguments."""
    steps = ("__attrs_pre_init__", "__attrs_post_init__", "__attrs_init__")
    code = getattr(getattr(cls, "__init__"), "__code__", None)  # noqa: B009
    return (
        "__attrs_attrs__" in vars(cls)
        and code is not None
        and code.co_filename.startswith("<attrs generated")
        and type(cls).__call__ is type.__call__
        and not any(hasattr(cls, step) for step in steps)
        and all(field.converter is None and field.validator is None for field in attrs.fields(cls))
    )
