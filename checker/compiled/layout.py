"""Layout: a state taken apart into slots, one for each leaf, and put together again.

A state is a tree: attrs values and component tuples are its inner nodes; what is in no component is a
leaf. Each leaf has a slot, numbered from 0. A slot's values are numbered too, as they are met, so that a
state is a row of small integers.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, ModuleType, NoneType
from typing import Any

import attrs

from checker.errors import SpecError
from checker.state import is_component, is_constant
from checker.values import difference, refusal

HASH = "_attrs_cached_hash"
"""Where attrs keeps the hash of an instance of a class with ``cache_hash=True``."""


class ShapeChanged(Exception):
    """A component was not shaped as in the initial state; it has to be kept whole, as one leaf.

    Attributes:
        path: where it is in the state.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


class NewKind(Exception):
    """A slot that was copied unread took a value of a type that code may tell apart from others by identity.

    Attributes:
        slot: which.
    """

    def __init__(self, slot: int) -> None:
        self.slot = slot
        super().__init__(slot)


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
        slotted: whether instances have no `__dict__`.
        caches_hash: whether instances remember their hash.
        copied_unread: whether the constructor does nothing but keep what it is given, so that `attrs.evolve` needs not
            read what it copies.
        built: what was put together before, by the numbers in these slots.
    """

    path: str
    cls: type
    children: dict[str, Node]
    constants: dict[str, Any]
    aliases: dict[str, str]
    slots: slice
    slotted: bool
    caches_hash: bool
    copied_unread: bool
    built: dict[tuple[int, ...], Any] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class Parts:
    """A component tuple, taken apart into its elements.

    Attributes:
        path: where it is in the state.
        elements: the node of each.
        whole: whether every element is an attrs value, so that a tuple of lazy instances reads nothing.
        slots, built: as of a `Struct`.
    """

    path: str
    elements: tuple[Node, ...]
    whole: bool
    slots: slice
    built: dict[tuple[int, ...], Any] = attrs.field(factory=dict)


Node = Leaf | Struct | Parts


class StandIn:
    """The base of the classes whose objects stand in for values while a call is recorded."""

    __slots__ = ()


class Kinds:
    """What the values of all slots are made of, as far as it decides which code a spec can reach.

    Attributes:
        new: the classes, functions and modules that nobody has taken note of yet.
    """

    def __init__(self) -> None:
        self.new: list[Any] = []
        self._met: dict[int, Any] = {}

    def take(self) -> list[Any]:
        """Those that are new; from here on they are not."""
        taken, self.new = self.new, []
        return taken

    def note(self, value: Any, path: str) -> None:
        """Note what a value is made of.

        Parameters:
            value: the value.
            path: where it is in the state.

        Raises:
            SpecError: it holds something that stood in for a part of a state during a recorded call. The spec kept it,
                so it is not made of pure functions.
        """
        waiting = [value]
        walked: dict[int, Any] = {}
        while waiting:
            part = waiting.pop()
            cls = type(part)
            if cls in _PLAIN or id(part) in walked:
                continue
            walked[id(part)] = part
            if isinstance(part, StandIn):
                raise SpecError(
                    f"{path} holds a part of another state, which the spec kept from an earlier call: it must not"
                )
            if isinstance(part, type | FunctionType | BuiltinFunctionType | ModuleType):
                self._meet(part)
            else:
                self._meet(cls)
                waiting += gc.get_referents(part)

    def _meet(self, kind: Any) -> None:
        if id(kind) not in self._met:
            self._met[id(kind)] = kind
            self.new.append(kind)


_PLAIN = frozenset((int, bool, str, bytes, float, type(None)))


def kind_of(value: Any) -> type:
    """The type of a value; that of all classes is `type`, whatever their metaclass."""
    return type if isinstance(value, type) else type(value)


class Domain:
    """The values that a slot was seen to take, numbered in the order they were met.

    Parameters:
        slot: the slot.
        path: where it is in the state.
        read_when_copied: whether its value counts as read when it is copied.
        kinds: what the values are made of.

    Attributes:
        values: by number.
        types: the types of the values.
    """

    def __init__(self, slot: int, path: str, read_when_copied: bool, kinds: Kinds) -> None:
        self.slot, self.path, self.read_when_copied, self._kinds = slot, path, read_when_copied, kinds
        self.values: list[Any] = []
        self.types: set[type] = set()
        self._numbers: dict[Any, int] = {}
        self._copied: frozenset[type] = frozenset()

    def number(self, value: Any) -> int:
        """The number of a value, a new one if it was not met before.

        Raises:
            NewKind: it has the first value of a type by which calls that copied the slot unread may tell it apart.
            SpecError: it equals a value that was met before and is not the same, such as ``True`` and ``1``.
        """
        number = self._numbers.get(value)
        if number is None:
            self._kinds.note(value, self.path)
            kind = kind_of(value)
            if kind not in self.types:
                if kind in self._copied:
                    raise NewKind(self.slot)
                self.types.add(kind)
            number = len(self.values)
            self.values.append(value)  # first, so that an interrupt in between does no harm
            self._numbers[value] = number
        elif self.values[number] is not value and (error := refusal(self.path, self.values[number], value)):
            raise error
        return number

    def can_be_copied(self, told_apart: frozenset[type]) -> bool:
        """Whether copying it is no read for code that may tell values of some types apart by identity."""
        return not self.read_when_copied and self.types.isdisjoint(told_apart)

    def note_copy(self, told_apart: frozenset[type]) -> None:
        """Note that something was learned from a call that copied the slot unread.

        Raises:
            NewKind: it should not have, as is known by now.
        """
        if not self.can_be_copied(told_apart):
            raise NewKind(self.slot)
        self._copied |= told_apart

    def forget(self, first: int) -> None:
        """Take back the numbers from the first on."""
        for value in self.values[first:]:
            del self._numbers[value]
        del self.values[first:]


class Layout:
    """The slots of a spec's states, as its first initial state shows them.

    Parameters:
        state: an initial state.
        whole: paths of components to keep whole, because their shape is not the same in every state.
        read_when_copied: slots that count as read when they are copied.

    Attributes:
        root: the state as a tree of nodes.
        domains: the values of each slot.
        kinds: what they are made of.
    """

    def __init__(
        self, state: Any, whole: frozenset[str] = frozenset(), read_when_copied: frozenset[int] = frozenset()
    ) -> None:
        self._whole, self._read_when_copied = whole, read_when_copied
        self._name = type(state).__name__
        self.domains: list[Domain] = []
        self.kinds = Kinds()
        self.root = self._struct(state, "")

    @property
    def slots(self) -> int:
        """How many slots there are."""
        return len(self.domains)

    def row(self, state: Any) -> list[int]:
        """The number of each slot's value in a state.

        Raises:
            ShapeChanged: a component is not shaped as in the initial state.
        """
        numbers = [0] * self.slots

        def visit(node: Node, value: Any) -> None:
            match node:
                case Leaf():
                    numbers[node.slot] = self.domains[node.slot].number(value)
                case Struct():
                    if type(value) is not node.cls:
                        raise ShapeChanged(node.path)
                    for name, child in node.children.items():
                        visit(child, getattr(value, name))
                case Parts():
                    if type(value) is not tuple or len(value) != len(node.elements):
                        raise ShapeChanged(node.path)
                    for element, item in zip(node.elements, value, strict=True):
                        visit(element, item)

        visit(self.root, state)
        return numbers

    def state(self, numbers: Sequence[int]) -> Any:
        """The state with these numbers in its slots. Components are shared with the states built before."""
        return self._build(self.root, tuple(numbers))

    def part(self, node: Node, numbers: Sequence[int]) -> Any:
        """A part of the state with these numbers in its slots."""
        return self._build(node, tuple(numbers))

    def classes(self) -> frozenset[type]:
        """The classes of the attrs values that are taken apart."""
        return frozenset(node.cls for node in self._nodes() if isinstance(node, Struct))

    def _nodes(self) -> Iterator[Node]:
        waiting: list[Node] = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            match node:
                case Struct(children=children):
                    waiting += children.values()
                case Parts(elements=elements):
                    waiting += elements

    def forget(self, sizes: Sequence[int]) -> None:
        """Take back the numbers of all but the first values of each slot, and what was built of them."""
        for domain, size in zip(self.domains, sizes, strict=True):
            domain.forget(size)
        for node in self._nodes():
            if not isinstance(node, Leaf):
                node.built.clear()

    def _build(self, node: Node, numbers: tuple[int, ...]) -> Any:
        if type(node) is Leaf:
            return self.domains[node.slot].values[numbers[node.slot]]
        assert not isinstance(node, Leaf)
        key = numbers[node.slots]
        built = node.built.get(key)
        if built is None:
            if isinstance(node, Parts):
                built = tuple([self._build(element, numbers) for element in node.elements])
            else:
                values = {name: self._build(child, numbers) for name, child in node.children.items()}
                values.update(node.constants)
                built = _constructed(node, values)
            if node is not self.root:
                node.built[key] = built
        return built

    def _leaf(self, path: str) -> Leaf:
        slot = len(self.domains)
        full_path = f"{self._name}.{path}" if path else self._name
        self.domains.append(Domain(slot, full_path, slot in self._read_when_copied, self.kinds))
        return Leaf(path, slot)

    def _struct(self, value: Any, path: str) -> Node:
        cls = type(value)
        fields = attrs.fields(cls)
        if path in self._whole or not _can_be_taken_apart(cls):
            return self._leaf(path)
        first = self.slots
        children: dict[str, Node] = {}
        constants: dict[str, Any] = {}
        for field in fields:
            inner, inner_path = getattr(value, field.name), f"{path}.{field.name}".lstrip(".")
            if is_constant(field):
                constants[field.name] = inner
            elif not is_component(field) or inner_path in self._whole:
                children[field.name] = self._leaf(inner_path)
            elif isinstance(inner, tuple):
                begin = self.slots
                elements = [self._part(item, f"{inner_path}[{index}]") for index, item in enumerate(inner)]
                whole = all(isinstance(element, Struct) for element in elements)
                children[field.name] = Parts(inner_path, tuple(elements), whole, slice(begin, self.slots))
            else:
                children[field.name] = self._part(inner, inner_path)
        return Struct(
            path,
            cls,
            children,
            constants,
            aliases={field.alias: field.name for field in fields},
            slots=slice(first, self.slots),
            slotted=not hasattr(value, "__dict__"),
            caches_hash=hasattr(value, HASH),
            copied_unread=_copies_unread(cls),
        )

    def _part(self, value: Any, path: str) -> Node:
        return self._struct(value, path) if attrs.has(type(value)) else self._leaf(path)


def _constructed(node: Struct, values: dict[str, Any]) -> Any:
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


def _can_be_taken_apart(cls: type) -> bool:
    """Whether instances of an attrs class are nothing but their fields, and are read in the usual way."""
    plain = all(getattr(cls, name) is getattr(object, name) for name in ("__new__", "__getattribute__"))
    fields = attrs.fields(cls)
    in_place = all(isinstance(_member(cls, field.name), MemberDescriptorType | NoneType) for field in fields)
    return plain and in_place and not hasattr(cls, "__attrs_init__") and all(field.init for field in fields)


def _member(cls: type, name: str) -> Any:
    """What an attribute of a class itself hides, if an instance has none of that name; None if nothing."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def _copies_unread(cls: type) -> bool:
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
