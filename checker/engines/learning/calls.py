"""Recorded calls: an action, a predicate or the distance is called on lazy states, and what it reads is recorded."""

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
"""A state, as the numbers of its slots' values."""

Job = tuple[int, tuple[Row, ...]]
"""A call to make: a tree, and the states: of a step predicate two, else one."""

Changes = dict[int, int]
"""What a step changes: the new number of each slot that it writes."""


NOT_RECORDED = "a use of a part of the state that cannot be recorded"


class NotRecorded(Exception):
    """The reads of an action, a predicate or the distance were not recorded as precisely as was thought possible.

    Attributes:
        tree: which, by its place in the forest.
        name: what it is, for messages; empty if a later attempt will not fail in the same way.
    """

    def __init__(self, tree: int, name: str = "") -> None:
        self.tree, self.name = tree, name
        super().__init__(tree, name)


@attrs.frozen
class Call:
    """What one call read, and what it gave for that.

    Attributes:
        reads: the number in each slot that was read, in the order of reading; the slots of a second state are
            counted on from the first's.
        copied: the slots that were copied unread.
        enumerated: the paths of the collections of which any member would have been read, one that is unknown yet too.
        constructs: what was not understood of its loops, so that it read more members of collections than it needs.
        gave: of an action, what each of its steps changes; of a predicate, whether it gives evidence; of the spec's
            distance, the distance.
    """

    reads: dict[int, int]
    copied: set[int]
    enumerated: set[str]
    gave: list[Changes] | bool | float
    constructs: frozenset[Construct] = frozenset()

    def writes_beyond(self, known: Sequence[int]) -> bool:
        """Whether it gives a value that is not among the first of its slot, as many as are given here."""
        steps = self.gave if isinstance(self.gave, list) else []
        return any(number >= known[slot] for step in steps for slot, number in step.items())


class Caller(Generic[S]):
    """Makes the calls of one search.

    Parameters:
        spec: the spec.
        layout: the layout of its states.
        given_states: the trees of what is given states instead of lazy ones.
        purity: checks some of the states that calls are made on; that of an earlier attempt at the same search, if any.
        tuning: sizes.
        with_distance: whether calls of the spec's distance are made too.

    Attributes:
        instances, first_step: how many action instances there are; where the step predicates' trees begin. The
            trees of state predicates are between them.
        distance_tree: that of the spec's distance, behind all others; there is none if it is not called.
        state_checks, step_checks: the predicates, in the order of their trees; the last of states is `Spec.within`, if
            the spec has it, which shows what is outside.
        precision: of each tree, how precisely calls are recorded.
        lowered_by: of each tree, the construct that lowers the precision; None if nothing does.
        told_apart: of each tree, the types of values that its code may tell apart by identity.
        purity, tuning: as given.
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
        """What the code of each tree can reach, as far as is known what states hold."""
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
        """States may hold other classes and functions from now on, so that more code can be reached."""
        kinds = self.layout.kinds.take()
        for tree, reach in enumerate(self._reach):
            reach.extend(kinds)
            if reach.precision < self.precision[tree]:
                self.lowered_by[tree] = self._in_function(tree, reach.because)
            self.precision[tree] = min(self.precision[tree], reach.precision)
            self.told_apart[tree] = frozenset(reach.told_apart)
        self._looks_at_identity = self._may_look_at_identity()

    def _may_look_at_identity(self) -> list[bool]:
        """Which actions and predicates may tell apart objects that are equal."""
        return [reach.precision == Precision.STATES for reach in self._reach]

    def _keep(self, states: Sequence[S]) -> None:
        """Have later states be made of the objects that these are made of, if that may make a difference."""
        if True in self._looks_at_identity:
            for state in states:
                self.layout.keep(state)

    def make(self, tree: int, rows: tuple[Row, ...]) -> Call:
        """Make one call.

        A call that looks through a collection and shows that there are more members than it knew is made again.

        Parameters:
            tree: of what.
            rows: the states.

        Raises:
            SpecError: it misbehaved.
            ShapeChanged: a component is not shaped as in the initial state.
            NotRecorded: its reads cannot be recorded.
            NewKind: it writes a value of a type that calls learned before may tell apart from the slot's others.
        """
        make_lazy(self._classes)
        while True:
            if self.layout.kinds.new:
                self._reach_more()  # before the first call on a state that holds any of them
            known = self.layout.slots
            call = self._take(tree, rows[0]) if tree < self.instances else self._evaluate(tree, rows)
            if not call.enumerated or self.layout.slots == known:
                return call

    def _recorder(self, tree: int, rows: tuple[Row, ...]) -> Recorder:
        return Recorder(self.layout, *rows, precision=self.precision[tree], told_apart=self.told_apart[tree])

    def _take(self, tree: int, row: Row) -> Call:
        """Call an action on a state, and on a lazy one to see what it reads."""
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
                self.layout.row(successor)  # which raises if the shape of a component has changed
            return self._less_precisely(tree, (row,), failure)
        return self._call(recorder, steps, direct)

    def _call(self, recorder: Recorder, steps: list[Changes], successors: list[S]) -> Call:
        """A call of an action. Of what a step writes, what was there already changes nothing."""
        reads = recorder.reads
        changes = [{slot: number for slot, number in step.items() if reads.get(slot) != number} for step in steps]
        if self.tuning.in_order and len(successors) > 1:
            order = sorted(range(len(successors)), key=lambda place: content("", successors[place]))
            changes = [changes[place] for place in order]
        return Call(reads, recorder.copied, _paths(recorder.enumerated), changes, frozenset(recorder.constructs))

    def steps(self, tree: int, row: Row) -> list[Changes]:
        """What the steps of an action instance change in a state, without recording what it reads."""
        state = self._state(row)
        successors = self._successors(tree, state)
        successors = in_order(successors) if self.tuning.in_order else successors
        return [self.layout.changes(state, after, row) for after in successors]

    def _successors(self, tree: int, state: S) -> list[S]:
        """The states that an action instance leads to from a state."""
        instance = self.spec.instances[tree]
        found = self.spec.take(instance, state)
        self._keep(found)
        if self._is_made_again(tree) and Counter(found) != Counter(self.spec.take(instance, fresh(state))):
            raise SpecError(f"{self.name_of(tree)} is not deterministic: {BY_IDENTITY.format('next states')}")
        return found

    def check_of(self, tree: int) -> Property:
        """The predicate that a tree is of."""
        return (*self.state_checks, *self.step_checks)[tree - self.instances]

    def shown_by(self, tree: int, states: Sequence[S]) -> bool:
        """Whether a predicate gives evidence of a state or a step, a violation or a witness."""
        item = self.check_of(tree)
        return (self.spec.complaint(item, *states) is None) == item.kind.is_witness

    def _given_by(self, tree: int, states: Sequence[S]) -> bool | float:
        """What a predicate or the distance gives; see `Call.gave`."""
        return self.spec.distance_of(*states) if tree == self.distance_tree else self.shown_by(tree, states)

    def _given_again(self, tree: int, states: Sequence[S]) -> bool | float:
        """What a predicate or the distance gives, asked of equal states too if it may tell these apart."""
        gave = self._given_by(tree, states)
        if self._is_made_again(tree) and gave != self._given_by(tree, [*map(fresh, states)]):
            what = "values" if tree == self.distance_tree else "verdicts"
            raise SpecError(f"{self.name_of(tree)} is not deterministic: {BY_IDENTITY.format(what)}")
        return gave

    def _in_function(self, tree: int, construct: Construct | None) -> Construct | None:
        """A construct; if it is not known where it is, with the place of the function that leads to it."""
        if construct is None or construct.file:
            return construct
        code = getattr(inspect.unwrap(self._function_of(tree)), "__code__", None)
        return construct if code is None else Construct.of(construct.text, code)

    def _function_of(self, tree: int) -> Callable[..., object]:
        """The function of the spec that a tree is of."""
        if tree < self.instances:
            return self.spec.instances[tree].action.function
        if tree == self.distance_tree and self.spec.distance is not None:
            return self.spec.distance
        return self.check_of(tree).function

    def name_of(self, tree: int) -> str:
        """What a tree is of, for messages."""
        if tree < self.instances:
            return f"action {self.spec.instances[tree]}"
        if tree == self.distance_tree:
            return "distance"
        item = self.check_of(tree)
        return f"{item.kind.value} {item.name}"

    def _is_made_again(self, tree: int) -> bool:
        """Whether a call is to be made on an equal state of other objects too."""
        if not self._looks_at_identity[tree]:
            return False
        self._made_again += 1
        return self._made_again <= self.tuning.made_again or self._made_again % self.tuning.made_again_later == 0

    def shows(self, tree: int, *rows: Row) -> bool:
        """Whether a predicate gives evidence of a state or a step, without recording what it reads."""
        return bool(self._given_again(tree, [self._state(rows[0]), *map(self.layout.state, rows[1:])]))

    def distance_of(self, row: Row) -> float:
        """The distance of a state, without recording what it reads."""
        return float(self._given_again(self.distance_tree, [self._state(row)]))

    def _less_precisely(self, tree: int, rows: tuple[Row, ...], failure: Construct | None) -> Call:
        """Make a call again, and later ones of its tree, recording less precisely.

        Parameters:
            tree, rows: the call.
            failure: where it failed; None if it returned, but something that it read was not recorded.
        """
        self.precision[tree] = Precision(self.precision[tree] - 1)
        self.lowered_by[tree] = self._in_function(tree, failure or Construct(NOT_RECORDED))
        return self.make(tree, rows)

    def _state(self, row: Row) -> S:
        """The state of a row, which is often that of the call before."""
        if self._last is None or self._last[0] is not row:
            self._last = row, self.layout.state(row)
            self.purity.check(self._last[1])
        return self._last[1]

    def after(self, row: Row, step: Changes) -> S:
        """The state after a step."""
        state: S = self.layout.state(self.row_after(row, step))
        return state

    def row_after(self, row: Row, step: Changes) -> list[int]:
        """The numbers of the slots' values after a step."""
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
                self._given_by(tree, [*map(self.layout.state, rows)])  # which raises if the function does
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
    """The construct in a spec's function at which a recorded call failed; without a place if that is not known."""
    trace, own = failure.__traceback__, None
    while trace is not None:
        if origin(trace.tb_frame.f_globals.get("__name__")) is Origin.SPEC:
            own = trace
        trace = trace.tb_next
    return Construct(NOT_RECORDED) if own is None else Construct.of(NOT_RECORDED, own.tb_frame.f_code, own.tb_lineno)


def _paths(collections: set[Collection]) -> set[str]:
    return {collection.path for collection in collections}
