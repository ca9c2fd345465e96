"""Nodes: a state as a tree of attrs values, tuples and collections, with a leaf for each value kept whole."""

from __future__ import annotations

from collections.abc import Iterable
from types import MemberDescriptorType, NoneType
from typing import Any

import attrs

from leadline.checker.bag import Bag
from leadline.checker.canonical import canonical
from leadline.checker.values import difference

Key = tuple[object, ...]
"""The numbers in the slots of a part of the state."""


class ShapeChanged(Exception):
    """A component was not shaped as in the initial state; it has to be kept whole, as one leaf.

    Attributes:
        path: where it is in the state.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


@attrs.frozen(eq=False)
class Leaf:
    """A value kept whole, in one slot."""

    path: str
    slot: int


@attrs.frozen(eq=False)
class Struct:
    """An attrs value, taken apart into its fields.

    Attributes:
        path: where it is in the state; empty for the state itself.
        cls: its class.
        children: the node of each field, by name.
        constants: the value of each constant field, by name.
        aliases: each field's name by the name its constructor takes.
        slots: those of all leaves below, which follow one another.
        collections: all collections below, which have further slots.
        slotted: whether instances have no `__dict__`.
        set_at_once: the fields of a lazy instance that are set from the beginning, as they are no part of the state:
            the constants, and where an instance keeps its hash.
        copied_unread: whether the constructor does nothing but keep what it is given, so that `attrs.evolve` needs not
            read what it copies.
        built: what was put together before, by the numbers in these slots.
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
    """A tuple of fixed length, taken apart into its elements.

    Attributes:
        path: where it is in the state.
        elements: the node of each.
        whole: whether every element is an attrs value, so that a tuple of lazy instances reads nothing.
        slots, collections, built: as of a `Struct`.
    """

    path: str
    elements: tuple[Node, ...]
    whole: bool
    slots: slice
    collections: tuple[Collection, ...]
    built: dict[Key, object] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class Collection:
    """A frozenset or a `Bag`, taken apart into one slot for each member that was met or asked for in any state.

    Attributes:
        path: where it is in the state.
        cls: `frozenset` or `Bag`.
        members: the members with their slots, in the order in which they were met.
        built: what was put together before, by the numbers in these slots.
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
        """The number of times that a collection contains a member; for a set, whether it does."""
        return value[member] if self.cls is Bag else member in value

    def counts(self, value: Any) -> dict[object, int]:
        """The same for each member that a value holds."""
        return dict(value) if self.cls is Bag else dict.fromkeys(value, True)

    def of(self, counts: dict[object, int]) -> Any:
        """The value whose members have these counts, `canonical`; those that are False or 0 are not in it."""
        if self.cls is Bag:
            return canonical(Bag.of({member: count for member, count in counts.items() if count}))
        return canonical(frozenset(member for member, count in counts.items() if count))


Node = Leaf | Struct | Parts | Collection

NODES = frozenset((Leaf, Struct, Parts, Collection))


def collections_in(nodes: Iterable[Node]) -> tuple[Collection, ...]:
    """All collections in and below some nodes."""
    found: list[Collection] = []
    for node in nodes:
        if isinstance(node, Collection):
            found.append(node)
        elif not isinstance(node, Leaf):
            found += node.collections
    return tuple(found)


def constructed(node: Struct, values: dict[str, object]) -> Any:
    """An instance with values in its fields.

    Raises:
        ShapeChanged: its class does not keep the values that it is given.
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
        pass  # what the constructor makes of a value it cannot take again
    raise ShapeChanged(node.path)


def can_be_taken_apart(cls: type) -> bool:
    """Whether instances of an attrs class are nothing but their fields, and are read in the usual way."""
    plain = all(getattr(cls, name) is getattr(object, name) for name in ("__new__", "__getattribute__"))
    fields = attrs.fields(cls)
    in_place = all(isinstance(_member(cls, field.name), MemberDescriptorType | NoneType) for field in fields)
    return plain and in_place and not hasattr(cls, "__attrs_init__") and all(field.init for field in fields)


def _member(cls: type, name: str) -> object:
    """What an attribute of a class itself hides, if an instance has none of that name; None if nothing."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def copies_unread(cls: type) -> bool:
    """Whether the constructor of an attrs class does nothing but keep what it is given."""
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
