"""Defines the layout of a spec's states: how a state is split into slots, and how slots are converted back to a state.

A state is a tree (see `nodes`). Attrs values and tuples that are components are inner nodes. A value that is not split
is a leaf. Each leaf has a slot, and each value of a slot has an index, in the order in which the values were found (see
`domains`). A state is therefore represented by a row of small integers: the index of the value in each slot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from leadline.checker.canonical import canonical
from leadline.checker.observing.domains import NO_VALUE, Domain, Kinds
from leadline.checker.observing.nodes import (
    COLLECTIONS,
    Collection,
    Key,
    Leaf,
    Node,
    Parts,
    ShapeChanged,
    Struct,
    can_be_taken_apart,
    collections_in,
    constructed,
    copies_unread,
)
from leadline.checker.places import Places
from leadline.checker.settings import DEFAULT
from leadline.checker.state import is_component, variables
from leadline.checker.values import HASH, is_constant, same

MOST_MEMBERS = 1024
"""The maximum number of members of a collection that is split. Each member has its own slot."""


MOST_KNOWN = 10_000
"""The maximum number of objects that `Layout.rows` remembers."""

_ELEMENT = re.compile(r"\w+(\.\w+(\[\d+\])?)?")

Known = dict[tuple[str, int], tuple[object, list[int]]]
"""Objects that were searched before and the value indices in their slots, keyed by the path of the node and the `id` of
the object."""


@attrs.frozen
class _Unused:
    """Takes the place of a member whose slot remains unused. It equals no value of a spec."""

    number: int


class Layout:
    """Splits a spec's states into slots. The slots are determined from an initial state.

    A read of any part of a slot counts as a read of the entire slot. Therefore components are always split. Other attrs
    values, tuples and collections are split if the search finds many different values for them.

    Parameters:
        whole: the paths of parts that must not be split, because their structure differs between states.
        apart: additional parts to split, given as path patterns; see `pattern`.
        many_values: the number of distinct values at which an unsplit part counts as crowded.

    Attributes:
        root: the root of the tree that describes the structure of a state.
        domains: the values of each slot.
        members: a (collection path, member) pair for each slot that belongs to a member of a collection.
        crowded: the unsplit parts that have at least `many_values` values and can be split, given as path patterns.
        kinds: the object that collects the classes, functions and modules that occur in the values.
    """

    def __init__(
        self,
        state: Any,
        whole: frozenset[str] = frozenset(),
        apart: frozenset[str] = frozenset(),
        many_values: int = DEFAULT.many_values,
    ) -> None:
        self._many_values = many_values
        self._whole, self._apart = whole, apart
        self._name = type(state).__name__
        self.domains: list[Domain] = []
        self.members: list[tuple[str, object]] = []
        self.crowded: set[str] = set()
        self.kinds = Kinds()
        self._collections: dict[str, Collection] = {}
        self._known: dict[int, object] = {}
        self.root = self._struct(state, "")

    @property
    def slots(self) -> int:
        """The number of slots."""
        return len(self.domains)

    def row(self, state: Any) -> list[int]:
        """Return the row of a state: the index of the value in each slot.

        Raises:
            ShapeChanged: if a part of the state does not have the same structure as in the initial state.
        """
        numbers = [0] * self.slots
        self._number(self.root, state, numbers)
        return numbers

    def rows(self, states: Iterable[Any]) -> list[list[int]]:
        """Return the rows of many states, such as the initial states. Objects that states share are processed once."""
        known: Known = {}
        made = []
        for state in states:
            numbers = [0] * self.slots
            self._number(self.root, state, numbers, known)
            made.append(numbers)
        return made

    def _number(self, node: Node, value: Any, numbers: list[int], known: Known | None = None) -> None:
        match node:
            case Leaf():
                numbers[node.slot] = self.number(node, value)
            case Struct():
                node.check(value)
                inner = [getattr(value, name) for name in node.children]
                self._number_parts(node.children.values(), inner, numbers, known)
            case Parts():
                if type(value) is not tuple or len(value) != len(node.elements):
                    raise ShapeChanged(node.path)
                self._number_parts(node.elements, value, numbers, known)
            case Collection():
                for slot, number in self.counted(node, value).items():
                    numbers += [0] * (slot + 1 - len(numbers))
                    numbers[slot] = number

    def _number_parts(
        self, nodes: Iterable[Node], values: Iterable[Any], numbers: list[int], known: Known | None
    ) -> None:
        """Enter the value indices of the children of a node into a row.

        Parameters:
            known: the value indices of objects that were searched before, or None if they are not kept.
        """
        domains = self.domains
        for node, value in zip(nodes, values, strict=True):
            if type(node) is Leaf:
                domain = domains[node.slot]
                number = domain.numbers.get(value)
                if number is None or domain.values[number] is not value:
                    number = self.number(node, value)
                numbers[node.slot] = number
            elif known is None or not isinstance(node, Struct | Parts) or node.collections:
                self._number(node, value, numbers, known)
            else:
                found = known.get((node.path, id(value)))
                if found is None:
                    self._number(node, value, numbers, known)
                    if len(known) < MOST_KNOWN:  # the object is kept, so that no other object can have its id
                        known[node.path, id(value)] = value, numbers[node.slots]
                else:
                    numbers[node.slots] = found[1]

    def changes(self, before: Any, after: Any, row: Sequence[int]) -> dict[int, int]:
        """Compare two states. Return the value indices of the second state, keyed by slot, for all slots that differ.

        Parameters:
            before: the first state.
            after: the second state. Objects that both states contain are not compared.
            row: the row that represents the first state.

        Raises:
            ShapeChanged: if a part of the second state does not have the same structure as in the initial state.
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
                node.check(after)
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
        """Return the number of values for each slot."""
        return [len(domain.values) for domain in self.domains]

    def elements(self) -> list[str]:
        """Return, for each slot, the location of the field that it belongs to, or of the element of a field that is
        split.
        """
        return [_ELEMENT.match(domain.path).group() for domain in self.domains]  # type: ignore[union-attr]

    def number(self, leaf: Leaf, value: Any) -> int:
        """Return the index of `value` in the domain of a leaf's slot, adding the value if it is new; see
        `Domain.number`.
        """
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
        """Return the value index for each member of a collection, keyed by the member's slot.

        All other slots of the collection have the value 0 or False, whose index is 0.

        Raises:
            ShapeChanged: if the value is of a different type than in the initial state, or has more than `MOST_MEMBERS`
                members.
        """
        if type(value) is not node.cls:
            raise ShapeChanged(node.path)
        found = {}
        for member, count in node.counts(value).items():
            slot = self.slot_of(node, member)
            found[slot] = self.domains[slot].number(count)
        return found

    def slot_of(self, node: Collection, member: object, asked: bool = False) -> int:
        """Return the slot of a member of a collection. A new member gets a new slot.

        Parameters:
            asked: whether code only tests whether the collection contains the member. Then any member that is equal
                gives the answer.

        Raises:
            ShapeChanged: if there are more than `MOST_MEMBERS` members, or if the member is equal to an earlier one but
                not the same. For example, ``True`` and ``1`` cannot share a slot.
        """
        slot = node.members.get(member)
        if slot is None:
            if len(node.members) == MOST_MEMBERS:
                raise ShapeChanged(node.path)
            self.kinds.note(member, self._full(node.path))
            member = canonical(member)
            slot = self.slots
            domain = Domain(f"{self._full(node.path)}[{member!r}]", self.kinds, split=node.path)
            for count in node.first_counts:
                domain.number(count)
            self.members.append((node.path, member))
            self.domains.append(domain)
            node.members[member] = slot
            self._known[slot] = member
        elif not asked and not same(self._known[slot], member):
            raise ShapeChanged(node.path)
        return slot

    def is_known_as(self, node: Collection, member: object) -> bool:
        """Return whether a collection has a slot for exactly the given member. For example, the slot of ``1`` is not a
        slot for ``True``.
        """
        slot = node.members.get(member)
        return slot is not None and same(self._known[slot], member)

    def add_members(self, members: Iterable[tuple[str, object]]) -> None:
        """Add slots for members of collections, in the given order.

        Parameters:
            members: a (collection path, member) pair for each slot, as in the attribute `members`. If the member is
                `NO_VALUE`, its slot remains unused.

        Raises:
            KeyError: if there is no collection with the path.
        """
        for path, member in members:
            node = self._collections[path]
            given = _Unused(len(self.members)) if member is NO_VALUE else member
            self.slot_of(node, given, asked=given not in node.members)

    def state(self, numbers: Sequence[int]) -> Any:
        """Return the state that a row represents. The state shares its components with states that were created
        earlier.

        Parameters:
            numbers: the row. If it has fewer entries than there are slots, the missing entries are 0.
        """
        return self._build(self.root, (*numbers, *[0] * (self.slots - len(numbers))))

    def keep(self, state: Any) -> None:
        """Store the parts of a state, so that states created later reuse these parts."""
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
        """Return a part of the state that a row represents.

        Parameters:
            numbers: the row. If it has fewer entries than there are slots, the missing entries are 0.
        """
        return self._build(node, (*numbers, *[0] * (self.slots - len(numbers))))

    def widest(self) -> tuple[str, int, str] | None:
        """Return the unsplit part with the most distinct values: its location, the number of values, and the name of
        their type. Return None if all parts are split.
        """
        leaves = [node for node in self._nodes() if isinstance(node, Leaf)]
        if not leaves:
            return None
        values = {leaf.path: self.domains[leaf.slot].values for leaf in leaves}
        path = max(values, key=lambda path: len(values[path]))
        return self._full(path), len(values[path]), type(values[path][-1]).__name__

    def classes(self) -> frozenset[type]:
        """Return the classes of the attrs values that are split."""
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
        """Remove all but the first values of each slot.

        Parameters:
            sizes: the number of values to keep in each slot. Slots beyond the length of this sequence are removed.
        """
        for path, member in self.members[len(self.members) - (self.slots - len(sizes)) :]:
            slot = self._collections[path].members.pop(member)
            self._known.pop(slot)
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
                built = constructed(node, values)
            if node is not self.root:
                node.built[key] = built
        return built

    @staticmethod
    def _key(node: Struct | Parts | Collection, numbers: tuple[int, ...]) -> Key:
        """Return the value indices of a node's slots, without those of members that a collection does not contain."""
        if isinstance(node, Collection):
            return tuple([(slot, numbers[slot]) for slot in node.members.values() if numbers[slot]])
        if node.collections:
            return numbers[node.slots], *(Layout._key(collection, numbers) for collection in node.collections)
        return numbers[node.slots]

    def _full(self, path: str) -> str:
        return f"{self._name}.{path}" if path else self._name

    def _leaf(self, path: str, is_part: bool, split: str | None) -> Leaf:
        slot, full = len(self.domains), self._full(path)
        places = Places(full) if is_part and split is None else None
        self.domains.append(Domain(full, self.kinds, split, places))
        return Leaf(path, slot)

    def _node(self, value: Any, path: str, is_part: bool, split: str | None) -> Node:
        """Create the node for a part of the state.

        Parameters:
            is_part: whether the part is a component, or an element of a part that is split.
            split: the path of the part that is split although it is not a component, and to which this part belongs.
        """
        is_whole = path in self._whole
        if pattern(path) in self._apart and not is_part and not is_whole:
            split = path
        apart = (is_part or split == path) and not is_whole
        cls = type(value)
        if apart and attrs.has(cls) and can_be_taken_apart(cls):
            return self._struct(value, path, split)
        if apart and cls is tuple and value:
            begin = self.slots
            elements = tuple([self._node(item, f"{path}[{index}]", True, split) for index, item in enumerate(value)])
            whole = all(isinstance(element, Struct) for element in elements)
            return Parts(path, elements, whole, slice(begin, self.slots), collections_in(elements))
        if pattern(path) in self._apart and cls in COLLECTIONS and not is_whole:
            node = self._collections[path] = Collection(path, cls)
            return node
        return self._leaf(path, is_part, split)

    def _struct(self, value: Any, path: str, split: str | None = None) -> Node:
        cls = type(value)
        if path in self._whole or not can_be_taken_apart(cls):
            return self._leaf(path, True, split)
        first, children, constants = self.slots, {}, {}
        for field in attrs.fields(cls):
            inner = getattr(value, field.name)
            if is_constant(field):
                constants[field.name] = inner
            else:
                inner_path = f"{path}.{field.name}".lstrip(".")
                children[field.name] = self._node(inner, inner_path, is_component(field), split)
        return Struct(
            path,
            cls,
            children,
            constants,
            aliases={field.alias: field.name for field in attrs.fields(cls)},
            slots=slice(first, self.slots),
            collections=collections_in(children.values()),
            slotted=not hasattr(value, "__dict__"),
            set_at_once=(*constants.items(), *([(HASH, None)] if hasattr(value, HASH) else [])),
            copied_unread=copies_unread(cls),
        )


def pattern(path: str) -> str:
    """Return the pattern of a path: the path without its indices. All elements of a tuple have the same pattern."""
    return re.sub(r"\[\d+\]", "[]", path)


def _may_be_taken_apart(values: Sequence[Any]) -> bool:
    """Return whether a leaf with these values can be split.

    All values must be collections of the same type, attrs values of the same class, or tuples of the same length.
    """
    kinds = {type(value) for value in values}
    if len(kinds) != 1:
        return False
    (cls,) = kinds
    if cls is tuple:
        return len({len(value) for value in values}) == 1 and len(values[0]) > 1
    if attrs.has(cls):
        return can_be_taken_apart(cls) and len(variables(cls)) > 1
    return cls in COLLECTIONS
