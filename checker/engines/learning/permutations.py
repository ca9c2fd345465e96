"""What the permutations of a group make of rows, the value indices that stand for states.

A permutation moves each slot to a slot, and each value of it to a value there. Both are known as soon as a value is:
before a row is permuted, what a permutation makes of each value gets an index too, and each member of a collection a
slot. The numbers of values never change, so the order of rows, which chooses the representatives, does not either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.identities import Elements, Fields, Identities, Itself, Members, Mover
from leadline.checker.observing.layout import Layout
from leadline.checker.observing.nodes import Collection, Leaf, Node, Parts, ShapeChanged, Struct
from leadline.checker.symmetry import Symmetry

S = TypeVar("S")

Row = Sequence[int]


class PermutationArrays(NamedTuple):
    """The permutations of rows, for compiled loops.

    Attributes:
        targets, sources: for each permutation and slot, the slot to which it moves, and the one that moves to it.
        begins: for each slot, the position of its value index 0 in a row of `numbers`.
        numbers: for each permutation, what it makes of each value index of each slot.
        order: the slots in the order in which rows are compared. Slots that no permutation changes are not in it.
    """

    targets: NDArray[np.int64]
    sources: NDArray[np.int64]
    begins: NDArray[np.int64]
    numbers: NDArray[np.int32]
    order: NDArray[np.int64]


class RowPermutations(Generic[S]):
    """The permutations of a group, as permutations of rows.

    Parameters:
        layout: the layout, which defines the slots. Values and slots are added to it.

    Attributes:
        targets: for each permutation, the slot to which each slot moves.
        numbers: for each permutation and slot, what it makes of each value index of the slot.
        inverses: for each permutation, the position of the one that undoes it.

    Raises:
        ShapeChanged: if the layout splits parts that permutations make of each other in different ways.
    """

    def __init__(self, layout: Layout, symmetry: Symmetry[S]) -> None:
        self.layout, self.symmetry = layout, symmetry
        group = symmetry.group
        self.inverses = [next(n for n, by in enumerate(group) if by is symmetry.inverse(each)) for each in group]
        self._leaves = layout.slots - len(layout.members)
        self._movers: list[Mover] = [symmetry.known.anything] * self._leaves
        self._nodes: dict[int, Leaf] = {}
        self._twins: list[dict[str, Collection]] = [{} for _ in group]
        self._members: dict[str, Members] = {}
        self.targets = [[*range(self._leaves)] for _ in group]
        self.numbers: list[list[list[int]]] = [[[] for _ in range(self._leaves)] for _ in group]
        for which in range(len(group)):
            self._pair(layout.root, layout.root, symmetry.known.anything, which)
        moved = [len({targets[slot] for targets in self.targets}) > 1 for slot in range(self._leaves)]
        fixed = [isinstance(mover, Itself) for mover in self._movers]
        self._first = sorted((slot for slot in range(self._leaves) if moved[slot]), key=lambda slot: not fixed[slot])
        self._first += [slot for slot in range(self._leaves) if not moved[slot] and not fixed[slot]]
        self._sizes: list[int] = []
        self._plans: list[list[tuple[int, list[int]]]] = [[] for _ in group]
        self._arrays: PermutationArrays | None = None
        self._room: list[int] = []
        self._written: list[int] = []
        self.extend()

    def _pair(self, node: Node, twin: Node, mover: Mover, which: int) -> None:
        """Note that a permutation moves what a node holds to another node."""
        if type(node) is not type(twin):
            raise ShapeChanged((twin if isinstance(node, Leaf) else node).path)
        if isinstance(node, Leaf) and isinstance(twin, Leaf):
            self.targets[which][node.slot] = twin.slot
            self._movers[node.slot], self._nodes[node.slot] = mover, node
        elif isinstance(node, Struct) and isinstance(twin, Struct):
            fields = self._inner(node, mover)
            if node.cls is not twin.cls or not isinstance(fields, Fields):
                raise ShapeChanged(node.path)
            for name, child in node.children.items():
                self._pair(child, twin.children[name], fields.fields[name], which)
        elif isinstance(node, Parts) and isinstance(twin, Parts):
            count, elements = len(node.elements), self._inner(node, mover)
            assert isinstance(elements, Elements)
            if len(twin.elements) != count:
                raise ShapeChanged(node.path)
            for index, element in enumerate(node.elements):
                target = elements.target(index, count, self.symmetry.group[which])
                self._pair(element, twin.elements[target], elements.element(index), which)
        elif isinstance(node, Collection) and isinstance(twin, Collection):
            members = self._inner(node, mover)
            assert isinstance(members, Members)
            self._twins[which][node.path], self._members[node.path] = twin, members

    def _inner(self, node: Struct | Parts | Collection, mover: Mover) -> Mover:
        """Return the mover that moves what is split into parts, part by part.

        Raises:
            ShapeChanged: if it is moved as a whole, for example because it is an identity.
        """
        cls: type = tuple if isinstance(node, Parts) else node.cls
        inner = mover.of(cls)
        if isinstance(inner, Identities | Itself):
            raise ShapeChanged(node.path)
        is_other = isinstance(node, Parts) and isinstance(inner, Elements) and not inner.fit(len(node.elements))
        return inner if isinstance(inner, Elements | Members) and not is_other else self.symmetry.known.of_class(cls)

    def twin(self, which: int, path: str) -> str:
        """Return the path of the collection to which a permutation moves a collection."""
        return self._twins[which][path].path

    def extend(self) -> None:
        """Give an index to what permutations make of values that have one."""
        while (sizes := self.layout.sizes()) != self._sizes:
            self._extend_slots()
            self._extend_values()
            if len(sizes) != len(self._sizes):
                self._plans = [
                    [(slot, self.numbers[which][slot]) for slot in np.argsort(targets).tolist()]
                    for which, targets in enumerate(self.targets)
                ]
            self._sizes = sizes

    def _extend_slots(self) -> None:
        layout, group = self.layout, self.symmetry.group
        while (slot := len(self._movers)) < layout.slots:
            path, member = layout.members[slot - self._leaves]
            members = self._members[path]
            for which, by in enumerate(group):
                moved = members.member.move(member, by)
                self.targets[which][slot:] = [layout.slot_of(self._twins[which][path], moved)]
                self.numbers[which][slot:] = [[]]
            self._movers.append(members.item)  # last, so that after an interrupt all this is done again

    def _extend_values(self) -> None:
        layout = self.layout
        for slot, mover in enumerate(self._movers):
            values = layout.domains[slot].values
            for which, by in enumerate(self.symmetry.group):
                numbers, target = self.numbers[which][slot], self.targets[which][slot]
                while len(numbers) < len(values):
                    value = values[len(numbers)]
                    if slot < self._leaves:
                        numbers.append(layout.number(self._nodes[target], mover.move(value, by)))
                    else:
                        count = (mover.move(value[0], by),) if type(value) is tuple and value else value
                        numbers.append(layout.domains[target].number(count))

    def row(self, which: int, row: Row) -> list[int]:
        """Return what a permutation makes of a row. Call `extend` before it."""
        if len(row) < self.layout.slots:
            row = [*row, *[0] * (self.layout.slots - len(row))]
        return [numbers[row[slot]] for slot, numbers in self._plans[which]]

    def value(self, which: int, row: Row, slot: int) -> int:
        """Return the value of one slot in what a permutation makes of a row. It is 0 in the slot of a new member."""
        source = self.targets[self.inverses[which]][slot]
        return self.numbers[which][source][row[source]] if source < len(row) else 0

    @property
    def order(self) -> list[int]:
        """The slots in the order in which rows are compared. A slot of a new member comes last: it is 0 in all rows so
        far, and in what permutations make of them.
        """
        return [*self._first, *range(self._leaves, self.layout.slots)]

    def least(self, row: Row) -> list[int]:
        """Return the first one, by `order`, of the rows that the permutations make of a row."""
        order = self.order
        twins = (self.row(which, row) for which in range(len(self.targets)))
        return min(twins, key=lambda twin: [twin[slot] for slot in order])

    @property
    def arrays(self) -> PermutationArrays:
        """The permutations as arrays, with all values found so far."""
        self.extend()
        sizes = self.layout.sizes()
        if self._arrays is None or len(sizes) > len(self._room) or any(map(int.__gt__, sizes, self._room)):
            self._arrays = None  # until all is there, in case of an interrupt
            self._room = [2 * size for size in sizes]
            self._written = [0] * len(sizes)
            begins = np.cumsum([0, *self._room])
            targets = np.array(self.targets, np.int64)
            self._arrays = PermutationArrays(
                targets,
                np.ascontiguousarray(targets[self.inverses]),
                begins,
                np.zeros((len(targets), int(begins[-1])), np.int32),
                np.array(self.order, np.int64),
            )
        for slot, (size, written) in enumerate(zip(sizes, self._written, strict=True)):
            if size > written:
                begin = int(self._arrays.begins[slot])
                for which, numbers in enumerate(self.numbers):
                    self._arrays.numbers[which, begin + written : begin + size] = numbers[slot][written:]
                self._written[slot] = size
        return self._arrays
