"""The nodes of the tree that describes the structure of a state.

Attrs values, tuples and collections that are split are inner nodes. Every other value is a leaf. A leaf has one slot,
which is a position in the row that represents a state.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MemberDescriptorType, NoneType
from typing import Any

import attrs

from leadline.checker.bag import Bag
from leadline.checker.canonical import canonical
from leadline.checker.map import Map
from leadline.checker.values import same

Key = tuple[object, ...]
"""The indices of the values in the slots of one part of a state."""


class ShapeChanged(Exception):
    """Raised when a part of a state does not have the same structure as in the initial state, or when its own parts
    have values that are equal but not the same.

    Such a part must not be split.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


@attrs.frozen(eq=False)
class Leaf:
    """A part of a state that is not split. It has one slot.

    Attributes:
        slot: the index of the slot.
    """

    path: str
    slot: int


@attrs.frozen(eq=False)
class Struct:
    """An attrs value that is split into its fields.

    Attributes:
        path: the location of the value in the state. Empty for the state itself.
        children: the node of each field, keyed by name.
        constants: the value of each constant field, keyed by name.
        aliases: the name of each field, keyed by the name of the constructor argument.
        slots: the range of slots that belong to the leaves below this node.
        collections: all collections below this node. Their slots are not in `slots`.
        slotted: whether instances have no `__dict__`.
        set_at_once: a (name, value) pair for each attribute that a lazy instance has from the start. These are the
            constants and the cached hash, which are not part of the state.
        copied_unread: whether the constructor only stores its arguments, so that `attrs.evolve` does not have to read
            the fields that it copies.
        built: the instances created so far, keyed by the value indices in their slots.
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

    def check(self, value: Any) -> None:
        """Check that a value has the same class and the same constants as in the initial state.

        Raises:
            ShapeChanged: if it has not.
        """
        if type(value) is not self.cls:
            raise ShapeChanged(self.path)
        for name, constant in self.constants.items():
            if not same(getattr(value, name), constant):
                raise ShapeChanged(self.path)


@attrs.frozen(eq=False)
class Parts:
    """A tuple of fixed length that is split into its elements.

    Attributes:
        path: the location of the tuple in the state.
        whole: whether every element is an attrs value that is split, so that a tuple of lazy instances can be created
            without reading any slot.
        slots: the range of slots that belong to the leaves below this node.
        collections: all collections below this node. Their slots are not in `slots`.
        built: the tuples created so far, keyed by the value indices in their slots.
    """

    path: str
    elements: tuple[Node, ...]
    whole: bool
    slots: slice
    collections: tuple[Collection, ...]
    built: dict[Key, object] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class Collection:
    """A frozenset, a `Bag` or a `Map` that is split into its members.

    Each member has a slot. The value of the slot is the member's count: a bool for a frozenset, a number for a bag. The
    members of a map are its keys. The count of a key is a tuple with its value, or an empty tuple if the map does not
    contain the key. So a count is true if, and only if, the collection contains the member. A value gets a slot when a
    state first contains it, or when code first tests whether it is a member.

    Attributes:
        path: the location of the collection in the state.
        members: the slot of each member, in the order in which the members were found.
        built: the collections created so far, keyed by the value indices in their slots.
    """

    path: str
    cls: type
    members: dict[object, int] = attrs.field(factory=dict)
    built: dict[Key, object] = attrs.field(factory=dict)

    @property
    def slots(self) -> list[int]:
        """The slots of the members."""
        return list(self.members.values())

    @property
    def first_counts(self) -> tuple[Any, ...]:
        """The counts that every slot contains from the beginning. The first one means that the member is absent."""
        if self.cls is Map:
            return ((),)
        return (0, 1) if self.cls is Bag else (False, True)

    def count(self, value: Any, member: object) -> Any:
        """Return the count of a member in a collection."""
        if self.cls is Map:
            return (value[member],) if member in value else ()
        return value[member] if self.cls is Bag else member in value

    def counts(self, value: Any) -> dict[object, Any]:
        """Return the count of each member of a collection."""
        if self.cls is Map:
            return {key: (item,) for key, item in value.items()}
        return dict(value) if self.cls is Bag else dict.fromkeys(value, True)

    def of(self, counts: dict[object, Any]) -> Any:
        """Return the canonical collection with the given counts. Members whose count is false are omitted."""
        if self.cls is Map:
            return canonical(Map({key: count[0] for key, count in counts.items() if count}))
        if self.cls is Bag:
            return canonical(Bag.of({member: count for member, count in counts.items() if count}))
        return canonical(frozenset(member for member, count in counts.items() if count))


COLLECTIONS = (frozenset, Bag, Map)
"""The classes of the collections that are split if they take many values."""

Node = Leaf | Struct | Parts | Collection

NODES = frozenset((Leaf, Struct, Parts, Collection))


def collections_in(nodes: Iterable[Node]) -> tuple[Collection, ...]:
    """Return all collections that are among the given nodes or below them."""
    found: list[Collection] = []
    for node in nodes:
        if isinstance(node, Collection):
            found.append(node)
        elif not isinstance(node, Leaf):
            found += node.collections
    return tuple(found)


def constructed(node: Struct, values: dict[str, object]) -> Any:
    """Create an instance with the given field values.

    Parameters:
        values: the value of each field, keyed by name.

    Raises:
        ShapeChanged: if the constructor raises an exception or changes a value.
    """
    given = {alias: values[name] for alias, name in node.aliases.items()}
    if node.copied_unread:
        return node.cls(**given)
    try:
        made = node.cls(**given)
        kept = ((getattr(made, name), value) for name, value in values.items())
        if all(same(now, value) for now, value in kept):
            return made
    except Exception:
        pass  # the constructor rejects the values of an instance that it created
    raise ShapeChanged(node.path)


def can_be_taken_apart(cls: type) -> bool:
    """Return whether an attrs class creates its instances, and reads their fields, in the usual way.

    The class must not define `__new__` or `__getattribute__`, every field must be an argument of the constructor, and
    no field may be hidden by another class attribute.
    """
    plain = all(getattr(cls, name) is getattr(object, name) for name in ("__new__", "__getattribute__"))
    fields = attrs.fields(cls)
    in_place = all(isinstance(_member(cls, field.name), MemberDescriptorType | NoneType) for field in fields)
    return plain and in_place and not hasattr(cls, "__attrs_init__") and all(field.init for field in fields)


def _member(cls: type, name: str) -> object:
    """Return the class attribute with the given name, or None if neither the class nor its bases have such an
    attribute.
    """
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def copies_unread(cls: type) -> bool:
    """Return whether the constructor of an attrs class only stores its arguments."""
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
