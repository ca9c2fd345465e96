"""Layout: a state taken apart into slots, one for each leaf, and put together again.

A state is a tree (see `nodes`): attrs values and component tuples are its inner nodes; what is in no component is a
leaf. Each leaf has a slot, numbered from 0. A slot's values are numbered too (see `domains`), as they are met, so that
a state is a row of small integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from leadline.checker.bag import Bag
from leadline.checker.canonical import HASH, canonical
from leadline.checker.observing.domains import NO_VALUE, Domain, Kinds
from leadline.checker.observing.nodes import (
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
from leadline.checker.result import Widest
from leadline.checker.settings import DEFAULT
from leadline.checker.state import is_component, is_constant, variables
from leadline.checker.values import difference, refusal

MOST_MEMBERS = 1024
"""Members of a collection that have a slot each; with more, it is kept whole."""


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
        self.members: list[tuple[str, object]] = []
        self.crowded: set[str] = set()
        self.kinds = Kinds()
        self._collections: dict[str, Collection] = {}
        self._known: dict[int, object] = {}
        self._only_asked: set[int] = set()
        self.root = self._struct(state, "")

    @property
    def slots(self) -> int:
        """The number of slots."""
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
        """The number of values of each slot."""
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

    def slot_of(self, node: Collection, member: object, asked: bool = False) -> int:
        """The slot of a member of a collection, which is a new one if it was not met before.

        Parameters:
            node: the collection.
            member: of a value of the collection, or of none so far.
            asked: whether code only asks for it, as in ``True in state.numbers``.

        Raises:
            ShapeChanged: the members become too many to have slots of their own; or one that code asked for equals a
                member and is not the same, such as ``True`` and ``1``, so that one slot cannot stand for both.
            SpecError: it equals another member and is not the same.
        """
        slot = node.members.get(member)
        if slot is None:
            if len(node.members) == MOST_MEMBERS:
                raise ShapeChanged(node.path)
            self.kinds.note(member, self._full(node.path))
            member = canonical(member)
            slot = self.slots
            domain = Domain(slot, f"{self._full(node.path)}[{member!r}]", True, self.kinds)
            for count in (0, 1) if node.cls is Bag else (False, True):
                domain.number(count)
            self.members.append((node.path, member))
            self.domains.append(domain)
            node.members[member] = slot
            self._known[slot] = member
            if asked:
                self._only_asked.add(slot)
        elif not asked:
            if self._known[slot] is not member and (error := refusal(self._full(node.path), self._known[slot], member)):
                raise ShapeChanged(node.path) if slot in self._only_asked else error
            self._only_asked.discard(slot)
        return slot

    def is_known_as(self, node: Collection, member: object) -> bool:
        """Whether the slot of a member is that of the very same value, as the one of ``1`` is not for ``True``."""
        slot = node.members.get(member)
        return slot is not None and (self._known[slot] is member or difference(self._known[slot], member) is None)

    def add_members(self, members: Iterable[tuple[str, object]]) -> None:
        """Give slots to members of collections, in order.

        Parameters:
            members: the path of the collection, and the member; see `members`. If it is `NO_VALUE`, the slot stays
                unused.

        Raises:
            KeyError: there is no such collection.
        """
        for path, member in members:
            node = self._collections[path]
            given = object() if member is NO_VALUE else member
            self.slot_of(node, given, asked=given not in node.members)

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
        """Forget the numbers of all but the first values of each slot, and what was built from them.

        Parameters:
            sizes: how many values of each slot stay; slots beyond are taken back.
        """
        for path, member in self.members[len(self.members) - (self.slots - len(sizes)) :]:
            slot = self._collections[path].members.pop(member)
            self._known.pop(slot)
            self._only_asked.discard(slot)
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
        if apart and attrs.has(cls) and can_be_taken_apart(cls):
            return self._struct(value, path)
        if apart and cls is tuple and value:
            begin = self.slots
            elements = tuple([self._node(item, f"{path}[{index}]", True) for index, item in enumerate(value)])
            whole = all(isinstance(element, Struct) for element in elements)
            return Parts(path, elements, whole, slice(begin, self.slots), collections_in(elements))
        if pattern(path) in self._apart and cls in (frozenset, Bag) and path not in self._whole:
            node = self._collections[path] = Collection(path, cls)
            return node
        return self._leaf(path)

    def _struct(self, value: Any, path: str) -> Node:
        cls = type(value)
        if path in self._whole or not can_be_taken_apart(cls):
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
            collections=collections_in(children.values()),
            slotted=not hasattr(value, "__dict__"),
            set_at_once=(*constants.items(), *([(HASH, None)] if hasattr(value, HASH) else [])),
            copied_unread=copies_unread(cls),
        )


def pattern(path: str) -> str:
    """A path without the indices in it, so that all elements of a tuple are alike."""
    return re.sub(r"\[\d+\]", "[]", path)


def _may_be_taken_apart(values: Sequence[Any]) -> bool:
    """Whether values of a leaf are collections, or attrs values of one class or tuples of one length with parts."""
    kinds = {type(value) for value in values}
    if len(kinds) != 1:
        return False
    (cls,) = kinds
    if cls is tuple:
        return len({len(value) for value in values}) == 1 and len(values[0]) > 1
    if attrs.has(cls):
        return can_be_taken_apart(cls) and len(variables(cls)) > 1
    return cls in (frozenset, Bag)
