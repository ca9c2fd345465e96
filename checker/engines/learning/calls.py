"""Calls of actions, predicates and the distance on lazy states, which record what the called function reads."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import attrs

from leadline.checker.action import Action
from leadline.checker.content import content, in_order
from leadline.checker.engines.purity import BY_IDENTITY, Purity, fresh
from leadline.checker.errors import SpecError
from leadline.checker.observing.constructs import Construct
from leadline.checker.observing.domains import NewKind
from leadline.checker.observing.layout import Layout
from leadline.checker.observing.lazy import make_lazy
from leadline.checker.observing.nodes import Collection, ShapeChanged
from leadline.checker.observing.objects import Origin, origin
from leadline.checker.observing.reach import Reach
from leadline.checker.observing.recording import Mismatch, Precision, Recorder
from leadline.checker.observing.tuple_views import LookedAt
from leadline.checker.properties import Kind, Property
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.spec import Spec

S = TypeVar("S")

Row = Sequence[int]
"""A state, given as the number of the value in each slot."""

Job = tuple[int, tuple[Row, ...]]
"""A call to make: the index of a tree and the state, or the two states of a step for a step predicate."""

Changes = dict[int, int]
"""The changes that a step makes: the new number of each slot that it writes."""


NOT_RECORDED = "a use of a part of the state that cannot be recorded"


class NotRecorded(Exception):
    """Raised when the reads of an action, a predicate or the distance cannot be recorded precisely enough.

    Attributes:
        tree: the index in the forest of the action, the predicate or the distance.
        name: its name for messages; empty if a later attempt will not fail in the same way.
    """

    def __init__(self, tree: int, name: str = "") -> None:
        self.tree, self.name = tree, name
        super().__init__(tree, name)


@attrs.frozen
class Call:
    """The reads and the result of one call.

    Attributes:
        reads: the number in each slot that was read, in the order of reading. The slots of the second state of a step
            are counted from `SECOND`.
        copied: the slots that were copied without being read.
        enumerated: the paths of the collections that the call looked through. It would also have read members that are
            not known yet.
        constructs: the parts of its loops that were not understood, because of which the call read more members of
            collections than it needs.
        gave: the result: for an action, the changes of each step; for a predicate, whether it gives evidence; for the
            spec's distance, the distance.
    """

    reads: dict[int, int]
    copied: set[int]
    enumerated: set[str]
    gave: list[Changes] | bool | float
    constructs: frozenset[Construct] = frozenset()

    def writes_beyond(self, known: Sequence[int]) -> bool:
        """Whether a step writes a value whose number is not below the given number of known values of its slot."""
        steps = self.gave if isinstance(self.gave, list) else []
        return any(number >= known[slot] for step in steps for slot, number in step.items())


class Caller(Generic[S]):
    """Makes the calls of the spec's functions for one search.

    Parameters:
        spec: the spec.
        layout: the layout of its states.
        given_states: the trees whose functions are called on real states instead of lazy ones.
        purity: checks some of the states that calls are made on. An earlier attempt at the same search
            passes its object on.
        tuning: sizes and limits.
        with_distance: whether the spec's distance is called too.

    Attributes:
        instances, first_step: the number of action instances, and the index of the first tree of a step predicate. The
            trees of state predicates are between them.
        distance_tree: the index of the tree of the spec's distance, after all other trees. There is no such tree if the
            distance is not called.
        state_checks, step_checks: the predicates, in the order of their trees. If the spec has `Spec.within`, it is the
            last state predicate; it gives evidence of states that are outside.
        precision: for each tree, how precisely its calls are recorded.
        lowered_by: for each tree, the construct that lowers the precision; None if nothing does.
        told_apart: for each tree, the types whose values its code may distinguish by identity.
        purity, tuning: the arguments of the same names.
    """

    def __init__(
        self,
        spec: Spec[S],
        layout: Layout,
        given_states: frozenset[int],
        purity: Purity[S] | None = None,
        tuning: Tuning = DEFAULT,
        *,
        with_distance: bool = False,
    ) -> None:
        self.spec, self.layout, self.tuning, self.with_distance = spec, layout, tuning, with_distance
        self.state_checks = spec.checks_of(Kind.INVARIANT, Kind.WITNESS, Kind.PREMISE, Kind.CONSTRAINT)
        self.step_checks = spec.checks_of(Kind.STEP_INVARIANT, Kind.STEP_WITNESS)
        self.instances = len(spec.instances)
        self.first_step = self.instances + len(self.state_checks)
        self.distance_tree = self.first_step + len(self.step_checks)
        self._reach = self._reached()
        self.precision = [reach.precision for reach in self._reach]
        self.told_apart = [frozenset(reach.told_apart) for reach in self._reach]
        self.lowered_by = [self._in_function(tree, reach.because) for tree, reach in enumerate(self._reach)]
        for tree in given_states:
            self.precision[tree] = Precision.STATES
            self.lowered_by[tree] = self._in_function(tree, Construct("a result that differed from what was learned"))
        self._classes = layout.classes()
        self.purity = purity or Purity(spec, tuning)
        self._compared = self._made_again = 0
        self._last: tuple[Row, S] | None = None
        self._looks_at_identity = self._may_look_at_identity()
        self._keep(spec.initials()[: tuning.made_again])

    def _reached(self) -> list[Reach]:
        """Return what the code of each tree can reach, given the types of objects that states are known to contain."""
        given: list[object] = [self.spec.initials()[0], *self.layout.kinds.take()]
        arguments: dict[Action[S, ...], list[object]] = {}
        for instance in self.spec.instances:
            arguments.setdefault(instance.action, []).append(instance.values)
        of_actions = {action: Reach(action.function, [*given, *values], True) for action, values in arguments.items()}
        others: list[object] = [item.function for item in (*self.state_checks, *self.step_checks)]
        if self.with_distance:
            others.append(self.spec.distance)
        return [of_actions[instance.action] for instance in self.spec.instances] + [
            Reach(function, given, False) for function in others
        ]

    def _reach_more(self) -> None:
        """Extend the reachable code by the classes and functions that have newly been found in states."""
        kinds = self.layout.kinds.take()
        for tree, reach in enumerate(self._reach):
            reach.extend(kinds)
            if reach.precision < self.precision[tree]:
                self.lowered_by[tree] = self._in_function(tree, reach.because)
            self.precision[tree] = min(self.precision[tree], reach.precision)
            self.told_apart[tree] = frozenset(reach.told_apart)
        self._looks_at_identity = self._may_look_at_identity()

    def _may_look_at_identity(self) -> list[bool]:
        """Return, for each tree, whether its code may distinguish equal objects by identity."""
        return [reach.precision == Precision.STATES for reach in self._reach]

    def _keep(self, states: Sequence[S]) -> None:
        """Make later states reuse the objects in the given states, if some code may distinguish equal objects."""
        if True in self._looks_at_identity:
            for state in states:
                self.layout.keep(state)

    def make(self, tree: int, rows: tuple[Row, ...]) -> Call:
        """Make one call.

        The call is repeated if it looks through a collection and finds members that were not known before.

        Parameters:
            tree: the tree of the function to call.
            rows: the states.

        Raises:
            SpecError: the called function misbehaved.
            ShapeChanged: a component does not have the shape that it has in the initial state.
            NotRecorded: the reads of the call cannot be recorded.
            NewKind: the call writes a value of a type that earlier learned calls may distinguish from the slot's other
                values.
        """
        make_lazy(self._classes)
        while True:
            if self.layout.kinds.new:
                self._reach_more()  # before the first call on a state that contains the new kinds
            known = self.layout.slots
            call = self._take(tree, rows[0]) if tree < self.instances else self._evaluate(tree, rows)
            if not call.enumerated or self.layout.slots == known:
                return call

    def _recorder(self, tree: int, rows: tuple[Row, ...]) -> Recorder:
        return Recorder(self.layout, *rows, precision=self.precision[tree], told_apart=self.told_apart[tree])

    def _take(self, tree: int, row: Row) -> Call:
        """Call an action on a state, and again on a lazy state to record what it reads."""
        instance, state = self.spec.instances[tree], self._state(row)
        direct = self._successors(tree, state)
        recorder = self._recorder(tree, (row,))
        if self.precision[tree] == Precision.STATES:
            recorder.read_all()
            return self._call(recorder, [dict(enumerate(self.layout.row(successor))) for successor in direct], direct)
        steps: list[Changes] | None = None
        failure: Construct | None = None
        try:
            recorded = list(instance.successors(recorder.state()))
            if len(recorded) != len(direct):
                raise Mismatch
            steps = [recorder.changes(*successors, state) for successors in zip(recorded, direct, strict=True)]
            del recorded
        except (NewKind, ShapeChanged, SpecError):
            raise
        except Mismatch as error:
            raise NotRecorded(tree) from error
        except (Exception, LookedAt) as error:
            failure = _failing(error)
        finally:
            recorder.end()
        if steps is None or recorder.looked_at or recorder.escaped:
            for successor in direct:
                self.layout.row(successor)  # raises if the shape of a component has changed
            return self._less_precisely(tree, (row,), failure)
        return self._call(recorder, steps, direct)

    def _call(self, recorder: Recorder, steps: list[Changes], successors: list[S]) -> Call:
        """Return the call of an action. Values that a step writes but that were already there are not changes."""
        reads = recorder.reads
        changes = [{slot: number for slot, number in step.items() if reads.get(slot) != number} for step in steps]
        if self.tuning.in_order and len(successors) > 1:
            order = sorted(range(len(successors)), key=lambda place: content("", successors[place]))
            changes = [changes[place] for place in order]
        return Call(reads, recorder.copied, _paths(recorder.enumerated), changes, frozenset(recorder.constructs))

    def steps(self, tree: int, row: Row) -> list[Changes]:
        """Return the changes of each step of an action instance in a state, without recording what it reads."""
        state = self._state(row)
        successors = self._successors(tree, state)
        successors = in_order(successors) if self.tuning.in_order else successors
        return [self.layout.changes(state, after, row) for after in successors]

    def _successors(self, tree: int, state: S) -> list[S]:
        """Return the next states of a state under an action instance."""
        instance = self.spec.instances[tree]
        found = self.spec.take(instance, state)
        self._keep(found)
        if self._is_made_again(tree) and Counter(found) != Counter(self.spec.take(instance, fresh(state))):
            raise SpecError(f"{self.name_of(tree)} is not deterministic: {BY_IDENTITY.format('next states')}")
        return found

    def check_of(self, tree: int) -> Property:
        """Return the predicate of a tree."""
        return (*self.state_checks, *self.step_checks)[tree - self.instances]

    def shown_by(self, tree: int, states: Sequence[S]) -> bool:
        """Whether a state or a step is evidence for a predicate: a violation or a witness."""
        item = self.check_of(tree)
        return (self.spec.complaint(item, *states) is None) == item.kind.is_witness

    def _given_by(self, tree: int, states: Sequence[S]) -> bool | float:
        """Return the result of a predicate or of the distance; see `Call.gave`."""
        return self.spec.distance_of(*states) if tree == self.distance_tree else self.shown_by(tree, states)

    def _given_again(self, tree: int, states: Sequence[S]) -> bool | float:
        """Return the result of a predicate or the distance. Repeat some calls on equal states to check them."""
        gave = self._given_by(tree, states)
        if self._is_made_again(tree) and gave != self._given_by(tree, [*map(fresh, states)]):
            what = "values" if tree == self.distance_tree else "verdicts"
            raise SpecError(f"{self.name_of(tree)} is not deterministic: {BY_IDENTITY.format(what)}")
        return gave

    def _in_function(self, tree: int, construct: Construct | None) -> Construct | None:
        """Return the construct. If its location is not known, add the location of the tree's function."""
        if construct is None or construct.file:
            return construct
        code = getattr(inspect.unwrap(self._function_of(tree)), "__code__", None)
        return construct if code is None else Construct.of(construct.text, code)

    def _function_of(self, tree: int) -> Callable[..., object]:
        """Return the spec's function that a tree describes."""
        if tree < self.instances:
            return self.spec.instances[tree].action.function
        if tree == self.distance_tree and self.spec.distance is not None:
            return self.spec.distance
        return self.check_of(tree).function

    def name_of(self, tree: int) -> str:
        """Return the name of the action, the predicate or the distance of a tree, for messages."""
        if tree < self.instances:
            return f"action {self.spec.instances[tree]}"
        if tree == self.distance_tree:
            return "distance"
        item = self.check_of(tree)
        return f"{item.kind.value} {item.name}"

    def _is_made_again(self, tree: int) -> bool:
        """Whether to repeat a call on an equal state that consists of different objects."""
        if not self._looks_at_identity[tree]:
            return False
        self._made_again += 1
        return self._made_again <= self.tuning.made_again or self._made_again % self.tuning.made_again_later == 0

    def shows(self, tree: int, *rows: Row) -> bool:
        """Whether a state or a step is evidence for a predicate, without recording what it reads."""
        return bool(self._given_again(tree, [self._state(rows[0]), *map(self.layout.state, rows[1:])]))

    def distance_of(self, row: Row) -> float:
        """Return the distance of a state, without recording what the function reads."""
        return float(self._given_again(self.distance_tree, [self._state(row)]))

    def _less_precisely(self, tree: int, rows: tuple[Row, ...], failure: Construct | None) -> Call:
        """Repeat a call with less precise recording, which also applies to later calls of its tree.

        Parameters:
            tree, rows: the tree and the states of the call.
            failure: the construct at which the call failed; None if it returned but some of its reads were not
                recorded.
        """
        self.precision[tree] = Precision(self.precision[tree] - 1)
        self.lowered_by[tree] = self._in_function(tree, failure or Construct(NOT_RECORDED))
        return self.make(tree, rows)

    def _state(self, row: Row) -> S:
        """Return the state of a row. The last one is cached, as several calls in a row often use the same state."""
        if self._last is None or self._last[0] is not row:
            self._last = row, self.layout.state(row)
            self.purity.check(self._last[1])
        return self._last[1]

    def after(self, row: Row, step: Changes) -> S:
        """Return the state after a step."""
        state: S = self.layout.state(self.row_after(row, step))
        return state

    def row_after(self, row: Row, step: Changes) -> list[int]:
        """Return the numbers of the slots' values after a step."""
        numbers = [*row, *[0] * (self.layout.slots - len(row))]
        for slot, number in step.items():
            numbers[slot] = number
        return numbers

    def _evaluate(self, tree: int, rows: tuple[Row, ...]) -> Call:
        """Call a predicate or the distance on a lazy state, or on the lazy states before and after a step."""
        recorder = self._recorder(tree, rows)
        if self.precision[tree] == Precision.STATES:
            recorder.read_all()
            gave = self._given_again(tree, [*map(self.layout.state, rows)])
        else:
            failure: Construct | None = None
            gave = False
            try:
                gave = self._given_by(tree, [*map(recorder.state, range(len(rows)))])
            except (Exception, LookedAt) as error:
                failure = _failing(error)
            finally:
                recorder.end()
            if failure is not None or recorder.looked_at or recorder.escaped:
                self._given_by(tree, [*map(self.layout.state, rows)])  # raises if the function does
                return self._less_precisely(tree, rows, failure)
            self._compared += 1
            one_in = self.tuning.compared_calls
            if (
                one_in
                and self._compared % one_in == 1
                and gave != self._given_by(tree, [*map(self.layout.state, rows)])
            ):
                raise NotRecorded(tree)
        return Call(recorder.reads, set(), _paths(recorder.enumerated), gave, frozenset(recorder.constructs))


def _failing(failure: BaseException) -> Construct:
    """Return the construct in a spec's function at which a recorded call failed, with its location if known."""
    trace, own = failure.__traceback__, None
    while trace is not None:
        if origin(trace.tb_frame.f_globals.get("__name__")) is Origin.SPEC:
            own = trace
        trace = trace.tb_next
    return Construct(NOT_RECORDED) if own is None else Construct.of(NOT_RECORDED, own.tb_frame.f_code, own.tb_lineno)


def _paths(collections: set[Collection]) -> set[str]:
    return {collection.path for collection in collections}
