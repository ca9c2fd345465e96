"""Layout: a state taken apart into slots, one for each leaf, and put together again.

A state is a tree: attrs values and component tuples are its inner nodes; what is in no component is a
leaf. Each leaf has a slot, numbered from 0. A slot's values are numbered too, as they are met, so that a
state is a row of small integers.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, ModuleType, NoneType
from typing import Any

import attrs

from checker.bag import Bag
from checker.errors import SpecError
from checker.inert import is_a
from checker.result import Widest
from checker.settings import DEFAULT
from checker.state import is_component, is_constant, variables
from checker.values import difference, refusal

HASH = "_attrs_cached_hash"
"""Where attrs keeps the hash of an instance of a class with ``cache_hash=True``."""


MOST_MEMBERS = 1024
"""Members of a collection that have a slot each; with more, it is kept whole."""


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
    constants: dict[str, Any]
    aliases: dict[str, str]
    slots: slice
    collections: tuple[Collection, ...]
    slotted: bool
    set_at_once: tuple[tuple[str, Any], ...]
    copied_unread: bool
    built: dict[Any, Any] = attrs.field(factory=dict)


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
    built: dict[Any, Any] = attrs.field(factory=dict)


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
    members: dict[Any, int] = attrs.field(factory=dict)
    built: dict[Any, Any] = attrs.field(factory=dict)

    @property
    def slots(self) -> list[int]:
        """The slots of the members."""
        return list(self.members.values())

    def count(self, value: Any, member: Any) -> Any:
        """How often a value holds a member; of a set, whether it does."""
        return value[member] if self.cls is Bag else member in value

    def counts(self, value: Any) -> dict[Any, Any]:
        """The same for each member that a value holds."""
        return dict(value) if self.cls is Bag else dict.fromkeys(value, True)

    def of(self, counts: dict[Any, Any]) -> Any:
        """The value whose members have these counts; those that are False or 0 are not in it."""
        if self.cls is Bag:
            return Bag.of({member: count for member, count in counts.items() if count})
        return frozenset(member for member, count in counts.items() if count)


Node = Leaf | Struct | Parts | Collection


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
            if is_a(part, StandIn):
                raise SpecError(
                    f"{path} holds a part of another state, which the spec kept from an earlier call: it must not"
                )
            if is_a(part, type, FunctionType, BuiltinFunctionType, ModuleType):
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

    Components are taken apart at once; other attrs values, tuples and collections where the search finds that they take
    many values, as one slot for all of these would be read whole by whatever reads a part of it.

    Parameters:
        state: an initial state.
        whole: paths of what to keep whole, because its shape is not the same in every state.
        apart: patterns of paths of what to take apart although it is no component; see `pattern`.
        read_when_copied: slots that count as read when they are copied.
        many_values: a leaf that takes this many values is crowded.

    Attributes:
        root: the state as a tree of nodes.
        domains: the values of each slot.
        members: for each slot of a member of a collection, the collection's path and the member.
        crowded: patterns of what takes many values, is kept whole and could be taken apart.
        kinds: what the values are made of.
    """

    def __init__(
        self,
        state: Any,
        whole: frozenset[str] = frozenset(),
        apart: frozenset[str] = frozenset(),
        read_when_copied: frozenset[int] = frozenset(),
        many_values: int = DEFAULT.many_values,
    ) -> None:
        self._many_values = many_values
        self._whole, self._apart, self._read_when_copied = whole, apart, read_when_copied
        self._name = type(state).__name__
        self.domains: list[Domain] = []
        self.members: list[tuple[str, Any]] = []
        self.crowded: set[str] = set()
        self.kinds = Kinds()
        self._collections: dict[str, Collection] = {}
        self._known: dict[int, Any] = {}
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
        self._number(self.root, state, numbers)
        return numbers

    def _number(self, node: Node, value: Any, numbers: list[int]) -> None:
        match node:
            case Leaf():
                numbers[node.slot] = self.number(node, value)
            case Struct():
                if type(value) is not node.cls:
                    raise ShapeChanged(node.path)
                for name, child in node.children.items():
                    self._number(child, getattr(value, name), numbers)
            case Parts():
                if type(value) is not tuple or len(value) != len(node.elements):
                    raise ShapeChanged(node.path)
                for element, item in zip(node.elements, value, strict=True):
                    self._number(element, item, numbers)
            case Collection():
                for slot, number in self.counted(node, value).items():
                    numbers += [0] * (slot + 1 - len(numbers))
                    numbers[slot] = number

    def changes(self, before: Any, after: Any, row: Sequence[int]) -> dict[int, int]:
        """In which slots two states differ, with the numbers of the second's values.

        Parameters:
            before, after: the states. What they share is not looked at.
            row: the numbers of the first's slots.

        Raises:
            ShapeChanged: a component is not shaped as in the initial state.
        """
        changes: dict[int, int] = {}
        self._differ(self.root, before, after, row, changes)
        return changes

    def _differ(self, node: Node, before: Any, after: Any, row: Sequence[int], changes: dict[int, int]) -> None:
        if before is after:
            return
        match node:
            case Leaf():
                number = self.number(node, after)
                if number != row[node.slot]:
                    changes[node.slot] = number
            case Struct():
                if type(after) is not node.cls:
                    raise ShapeChanged(node.path)
                for name, child in node.children.items():
                    self._differ(child, getattr(before, name), getattr(after, name), row, changes)
            case Parts():
                if type(after) is not tuple or len(after) != len(node.elements):
                    raise ShapeChanged(node.path)
                for element, item, other in zip(node.elements, before, after, strict=True):
                    self._differ(element, item, other, row, changes)
            case Collection():
                counted = self.counted(node, after)
                for member in node.counts(before):
                    counted.setdefault(node.members[member], 0)
                for slot, number in counted.items():
                    if number != (row[slot] if slot < len(row) else 0):
                        changes[slot] = number

    def sizes(self) -> list[int]:
        """How many values each slot has."""
        return [len(domain.values) for domain in self.domains]

    def number(self, leaf: Leaf, value: Any) -> int:
        """The number of a value of a leaf. See `Domain.number`."""
        domain = self.domains[leaf.slot]
        number = domain.number(value)
        if (
            len(domain.values) == self._many_values
            and leaf.path not in self._whole
            and _may_be_taken_apart(domain.values)
        ):
            self.crowded.add(pattern(leaf.path))
        return number

    def counted(self, node: Collection, value: Any) -> dict[int, int]:
        """The number in the slot of each member of a value; all other slots of the collection hold 0.

        Raises:
            ShapeChanged: it is of another type, or has too many members for slots of their own.
        """
        if type(value) is not node.cls:
            raise ShapeChanged(node.path)
        found = {}
        for member, count in node.counts(value).items():
            slot = self.slot_of(node, member)
            found[slot] = self.domains[slot].number(count)
        return found

    def slot_of(self, node: Collection, member: Any) -> int:
        """The slot of a member of a collection, which is a new one if it was not met before.

        Raises:
            ShapeChanged: the members become too many to have slots of their own.
            SpecError: it equals another member and is not the same, such as ``True`` and ``1``.
        """
        slot = node.members.get(member)
        if slot is None:
            if len(node.members) == MOST_MEMBERS:
                raise ShapeChanged(node.path)
            self.kinds.note(member, self._full(node.path))
            slot = self.slots
            domain = Domain(slot, f"{self._full(node.path)}[{member!r}]", True, self.kinds)
            for count in (0, 1) if node.cls is Bag else (False, True):
                domain.number(count)
            self.members.append((node.path, member))
            self.domains.append(domain)
            node.members[member] = slot
            self._known[slot] = member
        elif self._known[slot] is not member and (error := refusal(self._full(node.path), self._known[slot], member)):
            raise error
        return slot

    def add_members(self, members: Iterable[tuple[str, Any]]) -> None:
        """Give slots to members of collections, in order.

        Parameters:
            members: the path of the collection, and the member. See `members`.
        """
        for path, member in members:
            self.slot_of(self._collections[path], member)

    def state(self, numbers: Sequence[int]) -> Any:
        """The state with these numbers in its slots. Components are shared with the states built before.

        Slots of members that are beyond the numbers hold 0.
        """
        return self._build(self.root, (*numbers, *[0] * (self.slots - len(numbers))))

    def keep(self, state: Any) -> None:
        """Have states be built of the very objects that a state is made of, where they have the same values."""
        self._keep(self.root, state, (*(row := self.row(state)), *[0] * (self.slots - len(row))))

    def _keep(self, node: Node, value: Any, numbers: tuple[int, ...]) -> None:
        match node:
            case Struct():
                for name, child in node.children.items():
                    self._keep(child, getattr(value, name), numbers)
            case Parts():
                for element, item in zip(node.elements, value, strict=True):
                    self._keep(element, item, numbers)
        if not isinstance(node, Leaf) and node is not self.root:
            node.built[self._key(node, numbers)] = value

    def part(self, node: Node, numbers: Sequence[int]) -> Any:
        """A part of the state with these numbers in its slots."""
        return self._build(node, (*numbers, *[0] * (self.slots - len(numbers))))

    def widest(self) -> Widest | None:
        """The part that takes the most values of those that are read as a whole; None if there is none."""
        leaves = [node for node in self._nodes() if isinstance(node, Leaf)]
        if not leaves:
            return None
        values = {leaf.path: self.domains[leaf.slot].values for leaf in leaves}
        path = max(values, key=lambda path: len(values[path]))
        return Widest(self._full(path), len(values[path]), type(values[path][-1]).__name__)

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
        """Take back the numbers of all but the first values of each slot, and what was built of them.

        Parameters:
            sizes: how many values of each slot stay; slots beyond are taken back.
        """
        for path, member in self.members[len(self.members) - (self.slots - len(sizes)) :]:
            self._known.pop(self._collections[path].members.pop(member))
        del self.members[len(self.members) - (self.slots - len(sizes)) :]
        del self.domains[len(sizes) :]
        for domain, size in zip(self.domains, sizes, strict=True):
            domain.forget(size)
        for node in self._nodes():
            if not isinstance(node, Leaf):
                node.built.clear()

    def _build(self, node: Node, numbers: tuple[int, ...]) -> Any:
        if isinstance(node, Leaf):
            return self.domains[node.slot].values[numbers[node.slot]]
        key = self._key(node, numbers)
        built = node.built.get(key)
        if built is None:
            if isinstance(node, Parts):
                built = tuple([self._build(element, numbers) for element in node.elements])
            elif isinstance(node, Collection):
                built = node.of(
                    {member: self.domains[slot].values[numbers[slot]] for member, slot in node.members.items()}
                )
            else:
                values = {name: self._build(child, numbers) for name, child in node.children.items()}
                values.update(node.constants)
                built = _constructed(node, values)
            if node is not self.root:
                node.built[key] = built
        return built

    @staticmethod
    def _key(node: Struct | Parts | Collection, numbers: tuple[int, ...]) -> Any:
        """The numbers in all slots of a node that are not 0 for members of collections."""
        if isinstance(node, Collection):
            return tuple([(slot, numbers[slot]) for slot in node.members.values() if numbers[slot]])
        if node.collections:
            return numbers[node.slots], *(Layout._key(collection, numbers) for collection in node.collections)
        return numbers[node.slots]

    def _full(self, path: str) -> str:
        return f"{self._name}.{path}" if path else self._name

    def _leaf(self, path: str) -> Leaf:
        slot = len(self.domains)
        self.domains.append(Domain(slot, self._full(path), slot in self._read_when_copied, self.kinds))
        return Leaf(path, slot)

    def _node(self, value: Any, path: str, apart: bool) -> Node:
        """The node of a part of the state.

        Parameters:
            value: it, in the initial state.
            path: where it is.
            apart: whether it is to be taken apart, if it can be.
        """
        apart = (apart or pattern(path) in self._apart) and path not in self._whole
        cls = type(value)
        if apart and attrs.has(cls) and _can_be_taken_apart(cls):
            return self._struct(value, path)
        if apart and cls is tuple and value:
            begin = self.slots
            elements = tuple([self._node(item, f"{path}[{index}]", True) for index, item in enumerate(value)])
            whole = all(isinstance(element, Struct) for element in elements)
            return Parts(path, elements, whole, slice(begin, self.slots), _collections(elements))
        if pattern(path) in self._apart and cls in (frozenset, Bag) and path not in self._whole:
            node = self._collections[path] = Collection(path, cls)
            return node
        return self._leaf(path)

    def _struct(self, value: Any, path: str) -> Node:
        cls = type(value)
        if path in self._whole or not _can_be_taken_apart(cls):
            return self._leaf(path)
        first, children, constants = self.slots, {}, {}
        for field in attrs.fields(cls):
            inner = getattr(value, field.name)
            if is_constant(field):
                constants[field.name] = inner
            else:
                inner_path = f"{path}.{field.name}".lstrip(".")
                children[field.name] = self._node(inner, inner_path, is_component(field))
        return Struct(
            path,
            cls,
            children,
            constants,
            aliases={field.alias: field.name for field in attrs.fields(cls)},
            slots=slice(first, self.slots),
            collections=_collections(children.values()),
            slotted=not hasattr(value, "__dict__"),
            set_at_once=(*constants.items(), *([(HASH, None)] if hasattr(value, HASH) else [])),
            copied_unread=_copies_unread(cls),
        )


def pattern(path: str) -> str:
    """A path without the indices in it, so that all elements of a tuple are alike."""
    return re.sub(r"\[\d+\]", "[]", path)


def _collections(nodes: Iterable[Node]) -> tuple[Collection, ...]:
    """All collections in and below some nodes."""
    found: list[Collection] = []
    for node in nodes:
        if isinstance(node, Collection):
            found.append(node)
        elif not isinstance(node, Leaf):
            found += node.collections
    return tuple(found)


def _may_be_taken_apart(values: Sequence[Any]) -> bool:
    """Whether values of a leaf are collections, or attrs values of one class or tuples of one length with parts."""
    kinds = {type(value) for value in values}
    if len(kinds) != 1:
        return False
    (cls,) = kinds
    if cls is tuple:
        return len({len(value) for value in values}) == 1 and len(values[0]) > 1
    if attrs.has(cls):
        return _can_be_taken_apart(cls) and len(variables(cls)) > 1
    return cls in (frozenset, Bag)


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
