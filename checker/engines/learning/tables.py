"""The transition tables, which store the results of recorded calls as paths in decision trees.

An outcome is a step: the values that it draws from the state, and the changes that it makes. A leaf in the tree of an
action instance refers to one outcome for each step. All states whose paths end at the leaf have these steps, with these
drawn values, because a recorded call reads all values that it draws.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.arrays import Learned
from leadline.checker.engines.learning.calls import Call, Caller, Outcome, Row
from leadline.checker.engines.learning.forest import Forest, TablesFull, with_room
from leadline.checker.engines.learning.learn_or_call import Effort, calls_by_oracle
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.restart import NO_ADJUSTMENTS, Adjustments
from leadline.checker.engines.learning.symmetric_calls import SymmetricCaller
from leadline.checker.engines.learning.trees import JUMP, NOT_SHOWN, SHOWN
from leadline.checker.engines.purity import Purity
from leadline.checker.observing.constructs import Construct
from leadline.checker.observing.divided_predicate import Position
from leadline.checker.observing.layout import Layout
from leadline.checker.observing.nodes import ShapeChanged
from leadline.checker.observing.recording import Precision
from leadline.checker.observing.step_slots import SECOND
from leadline.checker.result import UNDIVIDED, Costliest, Learning, WholeRead, Widest
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.source.blocks import Place
from leadline.checker.spec import Spec
from leadline.checker.symmetry import Symmetry

S = TypeVar("S")

OUTCOME_BYTES, VALUE_BYTES = 400, 300
"""The approximate numbers of bytes that Python uses for an outcome, and for a value of a slot with its index."""

MOST_OUTCOMES = 2**31 - 1
"""The maximum number of outcomes, because their indices have 32 bits."""

READS = {
    Precision.STATES: "whole states",
    Precision.FIELDS: "whole tuples and collections",
    Precision.ELEMENTS: "the elements that they copy",
    Precision.COPIES: "no more than they need",
}
"""For each precision, a description of the parts of a state that count as read. Reports show it."""

ALL_BITS = np.uint64(2**64 - 1)


OFTEN = 10
"""A property that cannot be divided is reported if it was called at least this number times `Tuning.apart_after`
times."""


_Written = tuple[int, tuple[tuple[int, int], ...]]
"""An outcome as a key of a dict: its label, and its changes in the order of their slots."""


@attrs.frozen
class Numbers:
    """The values and members of a saved search, in the order of their indices.

    `NO_VALUE` stands for a value or member that no saved state contains.

    Attributes:
        values: for each slot, its values in the order of their indices.
        members: for each slot that belongs to a collection member, the collection's path and the member.
    """

    values: Sequence[Sequence[object]]
    members: Sequence[tuple[str, object]]

    def give(self, layout: Layout) -> None:
        """Add the saved values and members to an empty layout, so that they get the same indices as in the saved
        search.
        """
        layout.add_members(self.members)
        for domain, values in zip(layout.domains, self.values, strict=True):
            domain.restore(values)


class TransitionTables(Generic[S]):
    """The learned results of a spec's actions, predicates and distance. New tables are empty.

    Each action instance, each predicate and the distance has a decision tree; see the module.

    Parameters:
        states: states to be converted to `rows`, such as the initial states.
        adjustments: the adjustments for this attempt at the search.
        saved: the values of a saved search, in the order of their indices. If it is None, values get their indices in
            the order in which they are found.
        purity: the purity checks that all attempts at the search share, or None for the first attempt.
        tuning: internal sizes and limits.
        with_distance: whether the spec's distance is called.
        symmetry: the group under which one state of each orbit is searched, or None.
        before: the tables of a search that has ended, with the same adjustments, actions and initial states, or None.
            These tables continue them, and what they have learned of properties that this spec has, too.

    Attributes:
        layout: the layout, which defines the slots of the spec's states.
        caller: calls the spec's functions.
        state_checks, step_checks, instances, first_step: see `Caller`.
        forest: the decision trees, in the order of `Caller`.
        predicates: the tree indices of the predicates.
        outcomes: all outcomes, to which the leaves in the trees of action instances refer.
        leaf_start, leaf_count: for each leaf in the tree of an action instance, its first outcome and its number of
            outcomes.
        labels: for each outcome, the number of its action instance; see `Outcome`. Empty if no action draws values.
        distances: for each leaf of the distance's tree, the distance.
        keep, put: for each outcome and each word of a packed state, the mask of the bits to keep, and the bits to set.
        slots_read: for each predicate, the slots that it has read in any call. The slots of the state after a step are
            numbered starting with `SECOND`.
        reads: for each predicate and each word of a packed state, the bits of the slots in `slots_read`.
        effort: counts the calls to each action instance, each predicate and the distance.
        compared: the number of comparisons with the results of actual calls; see `comparison`.
        rows: the states in the parameter `states`, each given as one value index per slot. With symmetry, the
            representatives of their orbits.
        agreed: for each slot, the number of its values that have the same index in all processes of the search. None if
            there is only one process.
        reads_all: the predicates that were called without recording. They may have read any slot. Each predicate is
            given as its position among the predicates.

    Raises:
        ShapeChanged: if the adjustments do not fit the given states; see `Adjustments`.
    """

    def __init__(
        self,
        spec: Spec[S],
        states: Sequence[S],
        adjustments: Adjustments = NO_ADJUSTMENTS,
        saved: Numbers | None = None,
        *,
        purity: Purity[S] | None = None,
        tuning: Tuning = DEFAULT,
        with_distance: bool = False,
        symmetry: Symmetry[S] | None = None,
        before: TransitionTables[S] | None = None,
    ) -> None:
        given = adjustments.whole, adjustments.apart
        self.spec, self.adjustments = spec, adjustments
        self.layout: Layout
        self.caller: Caller[S]
        self.layout = Layout(spec.initials()[0], *given, tuning.many_values) if before is None else before.layout
        if saved is not None:
            saved.give(self.layout)
        self.rows = self.layout.rows(states)
        asked = spec, self.layout, adjustments.given_states, purity, tuning
        if symmetry is None:
            caller = Caller(*asked, with_distance=with_distance, before=None if before is None else before.caller)
        else:
            caller = SymmetricCaller(*asked, symmetry=symmetry)
            least = caller.permutations.least
            self.rows = [list(row) for row in dict.fromkeys(tuple(least(row)) for row in self.rows)]
        self.caller = caller
        self.state_checks, self.step_checks = caller.state_checks, caller.step_checks
        self.instances, self.first_step = caller.instances, caller.first_step
        self.predicates = range(self.instances, caller.distance_tree)
        self.forest = Forest([caller.name_of(tree) for tree in range(caller.distance_tree + caller.with_distance)])
        self.outcomes: list[Outcome] = []
        self._draws = any(action.drawn for action in spec.actions)
        self.labels = np.zeros(16 if self._draws else 0, np.uint32)
        self.leaf_start = np.zeros(16, np.int32)
        self.leaf_count = np.zeros(16, np.int32)
        self.distances = np.zeros(16)
        self.keep = self.put = self.reads = np.zeros((0, 0), np.uint64)
        self.slots_read: list[set[int]] = [set() for _ in (*self.state_checks, *self.step_checks)]
        self.compared = 0
        self.agreed: list[int] | None = None
        self._unsure: set[int] = set()
        self._loops: dict[int, set[Construct]] = {}
        self.effort = Effort(len(self.forest.names), caller.tuning)
        self.reads_all: set[int] = set()
        self._packed, self._packing = 0, Packing([])
        self._leaves: dict[tuple[_Written, ...], int] = {}
        self._leaves_of_distances: dict[float, int] = {}
        self._learned_as: list[tuple[Precision, frozenset[Place] | None]] = [
            (precision, None) for precision in self.caller.precision
        ]
        self._enumerating: dict[str, set[int]] = {}
        self._members = 0
        if before is not None:
            self._continue(before)

    def _continue(self, before: TransitionTables[S]) -> None:
        """Take over what other tables have learned of the functions that are the same."""
        now = self.caller.continued
        self.forest = before.forest.of_trees(now, self.forest.names)
        self.outcomes, self.labels, self._leaves = before.outcomes, before.labels, before._leaves
        self.leaf_start, self.leaf_count = before.leaf_start, before.leaf_count
        for old, new in now.items():
            self._learned_as[new] = before._learned_as[old]
            if old in before._loops:
                self._loops[new] = before._loops[old]
            if new in self.predicates:
                self.slots_read[new - self.instances] = before.slots_read[old - before.instances]
        for path, trees in before._enumerating.items():
            self._enumerating[path] = {now[tree] for tree in trees if tree in now}
        self._members, self.reads = before._members, np.zeros((len(self.slots_read), 0), np.uint64)
        self.note_members()  # the given states may have new ones

    @property
    def numbers(self) -> Numbers:
        """The values and members found so far, in the order of their indices."""
        return Numbers([domain.values for domain in self.layout.domains], self.layout.members)

    @property
    def arrays(self) -> Learned:
        """The learned results of action instances, as arrays for the compiled loops."""
        return Learned(self.forest.pool, self.leaf_start, self.leaf_count, self.keep, self.put, self.labels)

    @property
    def calls(self) -> int:
        """The number of calls that have been recorded and stored so far."""
        return sum(self.effort.learned)

    @property
    def nbytes(self) -> int:
        """The approximate size of the tables in memory, in bytes."""
        arrays = self.leaf_start, self.leaf_count, self.keep, self.put, self.labels
        values = sum(self.layout.sizes())
        objects = len(self.outcomes) * OUTCOME_BYTES + (values + len(self.caller.numbered)) * VALUE_BYTES
        return self.forest.nbytes + sum(array.nbytes for array in arrays) + objects

    def learning(self, expanded: int, distinct: int, steps: int) -> Learning:
        """Return the statistics on learning, for reports.

        Parameters:
            expanded: the number of states expanded.
            distinct: the number of distinct states found.
            steps: the number of steps between these states.
        """
        learned = self.effort.learned
        actions = dict.fromkeys((action.name for action in self.spec.actions), 0)
        for instance, calls in zip(self.spec.instances, learned, strict=False):
            actions[instance.action.name] += calls
        checks = (*self.state_checks, *self.step_checks)
        properties = dict.fromkeys((item.name for item in checks), 0)
        for item, calls in zip(checks, learned[self.instances : self.predicates.stop], strict=True):
            properties[item.name] += calls  # a premise and a witness may have the same name
        return Learning(
            actions=actions,
            properties=properties,
            called=sum(self.effort.called),
            by_oracle=calls_by_oracle(self.spec, expanded, distinct, steps),
            memory=self.nbytes,
            widest=None if (widest := self.layout.widest()) is None else Widest(*widest),
            costliest=self._costliest(),
        )

    def _costliest(self) -> Costliest | None:
        calls, seconds = Counter[str](), defaultdict[str, float](float)
        for tree, (learned, called) in enumerate(zip(self.effort.learned, self.effort.called, strict=True)):
            if learned + called:
                calls[self._short_name(tree)] += learned + called
                seconds[self._short_name(tree)] += self.caller.seconds[tree]
        return next((Costliest(name, count, seconds[name]) for name, count in calls.most_common(1)), None)

    def whole_reads(self) -> tuple[WholeRead, ...]:
        """Return the parts of the spec's code that the analysis does not support. They cause too many slots to count as
        read.

        Returns:
            The parts of the code. The most frequently called parts come first.
        """
        caller, found = self.caller, dict[tuple[Construct, str], set[int]]()
        for tree, construct in enumerate(caller.lowered_by):
            if construct is not None:
                found.setdefault((construct, READS[caller.precision[tree]]), set()).add(tree)
        for tree, construct in caller.whole_because.items():
            if self.effort.learned[tree] + self.effort.called[tree] > OFTEN * caller.tuning.apart_after:
                found.setdefault((construct, UNDIVIDED), set()).add(tree)
        for tree, constructs in self._loops.items():
            for construct in constructs:
                found.setdefault((construct, "every member of a collection"), set()).add(tree)
        reads = [
            WholeRead(
                construct=construct.text,
                function=construct.function,
                file=Path(construct.file).name,
                line=construct.line,
                reads=reads,
                used_by=tuple(dict.fromkeys(self._short_name(tree) for tree in sorted(trees))),
                calls=sum(self.effort.learned[tree] + self.effort.called[tree] for tree in trees),
                seconds=sum(caller.seconds[tree] for tree in trees),
            )
            for (construct, reads), trees in found.items()
        ]
        return tuple(sorted(reads, key=lambda read: (-read.calls, read.file, read.line, read.construct)))

    def _short_name(self, tree: int) -> str:
        """Return the name of an action or property, or ``distance`` for the spec's distance.

        Parameters:
            tree: the index of the decision tree of the action instance, of the property's predicate, or of the
                distance.
        """
        if tree < self.instances:
            return self.spec.instances[tree].action.name
        return "distance" if tree == self.caller.distance_tree else self.caller.check_of(tree).name

    @property
    def most_outcomes(self) -> int:
        """The largest number of outcomes of any leaf in the trees of action instances."""
        return int(self.leaf_count.max())

    def leaf_of(self, call: Call) -> int:
        """Return the code of the leaf that stores the result of a call. Create the leaf if it does not exist.

        The outcomes of a new leaf must be packed by `pack` before `learn` adds a path to the leaf.
        """
        if isinstance(call.gave, bool):
            return SHOWN if call.gave else NOT_SHOWN
        if isinstance(call.gave, float):
            leaf = self._leaves_of_distances.setdefault(call.gave, len(self._leaves_of_distances))
            self.distances = with_room(self.distances, leaf + 1)
            self.distances[leaf] = call.gave
            return -leaf - 1
        written = tuple((label, tuple(sorted(changes.items()))) for label, changes in call.gave)
        if call.enumerated and self.caller.tuning.in_order:
            written = tuple(sorted(written))  # each state has an order of its own
        if written not in self._leaves:
            self._leaves[written] = self._new_leaf(call.gave)
        return -self._leaves[written] - 1

    def note_members(self) -> bool:
        """Update the tables after new collection members have been added to the layout.

        A function that iterates over a collection may return a different result if the collection contains a new
        member. Therefore the paths of such a function are deleted.

        Returns:
            True if members were added since the last call to this method.

        Raises:
            ShapeChanged: if members were added, but all processes of the search must use the same slots.
        """
        new = self.layout.members[self._members :]
        if new and self.agreed is not None:
            raise ShapeChanged(new[0][0])
        self._members = len(self.layout.members)
        first = self.layout.slots - len(new)
        for slot, (path, _) in enumerate(new, first):
            for tree in self._enumerating.get(path, ()):
                self.forest.forget(tree)
                if tree in self.predicates:  # its results depend on the new member too
                    self.slots_read[tree - self.instances] |= {slot, slot + SECOND}
                    self.reads[tree - self.instances] = ALL_BITS  # the packing has no bits for the member yet
        return bool(new)

    def learn(self, tree: int, rows: tuple[Row, ...], call: Call, leaf: int) -> None:
        """Store the result of a recorded call as a path in the decision tree of the called function.

        Parameters:
            tree: the index of the tree.
            rows: the state on which the function was called, or the states before and after a step.
            leaf: the code of the leaf that stores the result; see `leaf_of`.

        Raises:
            SpecError: if the tree has a different path or result for these values, which means that the function is not
                pure.
            TablesFull: if there is no room for the path.
        """
        self.effort.learned[tree] += 1
        if call.undivided != self.caller.undivided(tree):
            return  # made before the predicate was divided in another way
        if call.constructs:
            self._loops.setdefault(tree, set()).update(call.constructs)
        if self.agreed is not None and call.writes_beyond(self.agreed):
            self._unsure.add(tree)
        for path in call.enumerated:
            self._enumerating.setdefault(path, set()).add(tree)
        recorded_as = self.caller.precision[tree], call.undivided
        if self._learned_as[tree] != recorded_as:
            self._learned_as[tree] = recorded_as
            self.forest.forget(tree)  # with a different precision, calls may read the slots in a different order
        first, *others = call.positions or (Position((), call.reads),)
        place, reads = tree, first.reads
        for position in others:
            following = self.forest.root(tree, position.key)
            self._learn(tree, place, reads, call, rows, JUMP - following)
            place, reads = following, position.reads
        self._learn(tree, place, reads, call, rows, leaf)
        if tree in self.predicates:
            self._note_reads(tree - self.instances, call.reads)
        if tree in self.predicates and self.effort.learned[tree] >= self.caller.tuning.apart_after:
            self.caller.take_apart(tree)

    def _learn(
        self, tree: int, place: int, reads: dict[int, int], call: Call, rows: tuple[Row, ...], leaf: int
    ) -> None:
        """Add a path to the tree whose root is at the given place; see `Forest.learn`."""
        if call.enumerated:  # members may be read in the arbitrary order of a set
            reads = self.forest.in_its_order(place, reads, *rows)
        self.forest.learn(tree, reads, leaf, place)

    def _note_reads(self, predicate: int, slots: Iterable[int]) -> None:
        noted = self.slots_read[predicate]
        if not noted.issuperset(slots) or (self.reads[predicate] == ALL_BITS).all():
            noted.update(slots)
            if predicate not in self.reads_all:
                self.reads[predicate] = self._bits(noted)

    def note_called(self, tree: int) -> None:
        """Count a call that was not recorded. A called predicate is assumed to have read all slots.

        Parameters:
            tree: the index of the called function's decision tree.
        """
        self.effort.called[tree] += 1
        predicate = tree - self.instances
        if tree in self.predicates and predicate not in self.reads_all:
            self.reads_all.add(predicate)
            self.reads[predicate] = ALL_BITS

    def _bits(self, slots: set[int]) -> NDArray[np.uint64]:
        return self._packing.bits({slot % SECOND for slot in slots})

    def _new_leaf(self, steps: list[Outcome]) -> int:
        leaf = len(self._leaves)
        if len(self.outcomes) + len(steps) > MOST_OUTCOMES:
            raise TablesFull
        self.leaf_start = with_room(self.leaf_start, leaf + 1)
        self.leaf_count = with_room(self.leaf_count, leaf + 1)
        self.leaf_start[leaf], self.leaf_count[leaf] = len(self.outcomes), len(steps)
        if self._draws:
            self.labels = with_room(self.labels, len(self.outcomes) + len(steps))
            self.labels[len(self.outcomes) : len(self.outcomes) + len(steps)] = [label for label, _ in steps]
        self.outcomes += steps
        return leaf

    @property
    def all_packed(self) -> bool:
        """Whether the outcomes of all leaves have been packed."""
        return self._packed == len(self.outcomes)

    def pack(self, packing: Packing) -> None:
        """Use the given packing to pack all outcomes that have not been packed with it yet.

        Parameters:
            packing: the packing, which defines the bits of each slot.
        """
        if self._packing is not packing:
            self._packing, self._packed = packing, 0
            self.keep, self.put = (np.zeros((16, packing.words), np.uint64) for _ in range(2))
            self.reads = np.zeros((len(self.slots_read), packing.words), np.uint64)
            for predicate, slots in enumerate(self.slots_read):
                self.reads[predicate] = ALL_BITS if predicate in self.reads_all else self._bits(slots)
        self.keep, self.put = with_room(self.keep, len(self.outcomes)), with_room(self.put, len(self.outcomes))
        for number in range(self._packed, len(self.outcomes)):
            self.keep[number], self.put[number] = packing.change(self.outcomes[number][1])
        self._packed = len(self.outcomes)

    def gives(self, tree: int, row: Row) -> list[Outcome] | bool | float | None:
        """Return the stored result of a function for a state, or None if there is none.

        Parameters:
            tree: the index of the decision tree of an action instance, a predicate on states, or the distance.

        Returns:
            The result; see `Call.gave`.
        """
        if tree < self.instances:
            return self.steps(tree, row)
        leaf = self.forest.leaf(tree, row)
        if leaf is None:
            return None
        return float(self.distances[leaf]) if tree == self.caller.distance_tree else -leaf - 1 == SHOWN

    def steps(self, tree: int, row: Row) -> list[Outcome] | None:
        """Return the stored steps of an action instance from a state, or None if there are none.

        Parameters:
            tree: the index of the action instance's decision tree.
        """
        leaf = self.forest.leaf(tree, row)
        if leaf is None:
            return None
        return self.outcomes[self.leaf_start[leaf] : self.leaf_start[leaf] + self.leaf_count[leaf]]

    def agree(self) -> None:
        """Record that all processes of the search use the same indices for the values found so far."""
        self.note_members()
        self.agreed = self.layout.sizes()

    def news(self) -> list[tuple[int, object]]:
        """Return the values that this process has found since the last call to `agree`, each with its slot.

        Raises:
            ShapeChanged: if a collection has a new member, for which the other processes have no slot.
        """
        assert self.agreed is not None
        if self.layout.slots > len(self.agreed):
            raise ShapeChanged(self.layout.members[-1][0])
        domains = enumerate(zip(self.layout.domains, self.agreed, strict=True))
        return [(slot, value) for slot, (domain, known) in domains for value in domain.values[known:]]

    def forget_news(self) -> bool:
        """Remove the values found since the last call to `agree`, and all results that contain them.

        Returns:
            True if values were removed.
        """
        if not self.news():
            return False
        assert self.agreed is not None
        of_steps = range(self.first_step, self.first_step + len(self.step_checks))
        self._forget([*self._unsure, *of_steps], self.agreed)
        self.layout.forget(self.agreed)
        self._unsure.clear()
        return True

    def _forget(self, trees: Iterable[int], sizes: Sequence[int]) -> None:
        """Delete all paths of the given trees, and clear the outcomes that contain removed values.

        Parameters:
            trees: the trees that may contain removed values in edges or outcomes.
            sizes: for each slot, the number of values that remain. Values with this index or a higher one are removed.
        """
        for tree in trees:
            self.forest.forget(tree)
        for number, (label, changes) in enumerate(self.outcomes):
            if any(value >= sizes[slot] for slot, value in changes.items()):
                self.outcomes[number] = label, {}
        self._leaves = {
            written
            if all(value < sizes[slot] for _, step in written for slot, value in step)
            else ((-1, ((-1, leaf),)),): leaf
            for written, leaf in self._leaves.items()
        }
