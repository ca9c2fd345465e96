"""Calls a spec's functions on lazy states. A lazy state records which of its parts the called function reads.

The functions are those of the actions, the predicates of the properties, and the spec's distance, a function that
estimates how far a state is from a violation. Each action instance, each predicate and the distance has a decision
tree; see `forest`. A function is identified by the index of its tree.
"""

from __future__ import annotations

import inspect
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Generic, TypeVar

import attrs

from leadline.checker.action import Action, ActionInstance
from leadline.checker.content import content
from leadline.checker.engines.purity import BY_IDENTITY, Purity, fresh
from leadline.checker.engines.verdicts import predicate, verdict
from leadline.checker.errors import SpecError
from leadline.checker.observing.constructs import Construct
from leadline.checker.observing.divided_predicate import DividedPredicate, Position, Run
from leadline.checker.observing.filters import are_off
from leadline.checker.observing.layout import Layout
from leadline.checker.observing.lazy import differ, make_lazy
from leadline.checker.observing.nodes import Collection, ShapeChanged
from leadline.checker.observing.objects import Origin, origin
from leadline.checker.observing.reach import Reach, reaching
from leadline.checker.observing.recording import Mismatch, Precision, Recorder
from leadline.checker.observing.tuple_views import LookedAt
from leadline.checker.properties import AT_REST, OF_STATES, OF_STEPS, Property
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.source.blocks import Place, Whole
from leadline.checker.spec import Spec
from leadline.checker.state import check_shape
from leadline.checker.support.inspection import with_arguments
from leadline.checker.values import same

S = TypeVar("S")

Row = Sequence[int]
"""A state, given as the index of the value in each slot."""

Job = tuple[int, tuple[Row, ...]]
"""A call to make: the index of the function's decision tree, and a state, or the states before and after a step."""

Changes = dict[int, int]
"""The changes that a step makes to a state: the index of the new value for each slot that it writes."""

Outcome = tuple[int, Changes]
"""A step: the number of its action instance in `Caller.numbered`, and its changes. The number is 0 if the instance has
no drawn values, so that different instances can share outcomes.
"""

COMPARED_CALLS = 8
"""One in this number of predicate calls that are recorded is compared with a direct call."""

MADE_AGAIN, MADE_AGAIN_LATER = 1000, 8
"""The number of calls at the start of a search that are repeated with equal but different objects, to find out whether
the result changes, and the number of later calls of which one is repeated. Only calls that may depend on the identity
of objects are repeated."""

NOT_RECORDED = "a use of a part of the state that cannot be recorded"


class NotRecorded(Exception):
    """Raised when the reads of an action, a predicate or the distance cannot be recorded precisely enough.

    Attributes:
        tree: the index of the decision tree of the action instance, the predicate or the distance.
        name: the name of the action instance, the predicate or the distance, for error messages. It is empty if this
            error cannot occur again in the next attempt at the search.
    """

    def __init__(self, tree: int, name: str = "") -> None:
        self.tree, self.name = tree, name
        super().__init__(tree, name)


@attrs.frozen
class Call:
    """The reads and the result of one call to a spec's function.

    Attributes:
        reads: the slots that the call read, each with the index of its value, in the order in which they were read. The
            slots of the state after a step are numbered starting with `SECOND`.
        enumerated: the paths of the sets and bags that the call iterated over. It has therefore read all their members.
        constructs: code in the body of a loop over a collection, if the analysis does not support this code. Because of
            it, members count as read even if the call did not need them.
        gave: the result. For an action, its steps. For a predicate, whether the state or step violates an invariant or
            satisfies a witness. For `Spec.distance`, the distance.
    """

    reads: dict[int, int]
    enumerated: set[str]
    gave: list[Outcome] | bool | float
    constructs: frozenset[Construct] = frozenset()
    positions: tuple[Position, ...] | None = None
    undivided: frozenset[Place] | None = None

    def writes_beyond(self, known: Sequence[int]) -> bool:
        """Return whether a step writes a value that does not have an index yet.

        Parameters:
            known: for each slot, the number of values that have an index.
        """
        steps = self.gave if isinstance(self.gave, list) else []
        return any(number >= known[slot] for _, changes in steps for slot, number in changes.items())


class Caller(Generic[S]):
    """Calls the spec's functions, and records the slots that they read.

    Each action instance, each predicate of a property, and `Spec.distance` has a decision tree that stores its results.
    The trees are ordered: the trees of action instances come first, followed by those of predicates on states, those of
    predicates on steps, and that of the distance.

    Parameters:
        layout: the layout, which defines the slots of the spec's states.
        given_states: the indices of the trees whose functions are called on real states instead of lazy states. A lazy
            state records which of its parts are read.
        purity: checks, on a sample of the states, whether the functions are pure. All attempts at a search share this
            object. If it is None, a new object is created.
        tuning: internal sizes and limits.
        with_distance: whether to call `Spec.distance`.
        before: calls the functions of a spec with the same layout, actions and initial states, or None.

    Attributes:
        continued: the trees of `before` that this object has, too, each with its index here. Empty if there is none.
        instances: the number of action instances, which is also the index of the first tree of a state predicate.
        numbered: the action instances of all steps found so far: first those in `Spec.instances`, in the order of their
            trees, and then those with drawn values.
        first_step: the index of the first tree of a step predicate.
        distance_tree: the index of the tree of the spec's distance. If the distance is not called, there is no such
            tree, and the index is the number of trees.
        state_checks, step_checks: the properties whose predicates are called on states and on steps, in the order of
            their trees. If the spec defines `Spec.within`, the last state predicate is true where `Spec.within` is
            false.
        precision: for each tree, the precision with which its calls are recorded.
        lowered_by: for each tree, the code that caused the precision to be lowered, or None if it was not lowered.
        apart: for each tree, whether calls are divided into parts, each with its own decision tree; see the module
            `apart`.
        whole_because: the code that prevents a predicate from being divided, keyed by the tree of the predicate.
        seconds: for each tree, the seconds that its calls took in this process, except calls of actions that are not
            recorded.
        tuning: internal sizes and limits.
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
        before: Caller[S] | None = None,
    ) -> None:
        self.spec, self.layout, self.tuning, self.with_distance = spec, layout, tuning, with_distance
        self.state_checks = spec.checks_of(*OF_STATES)
        self.step_checks = spec.checks_of(*OF_STEPS)
        self.instances = len(spec.instances)
        self.numbered = list(spec.instances)
        self._numbers: dict[ActionInstance[S], int] = {}
        self.first_step = self.instances + len(self.state_checks)
        self.distance_tree = self.first_step + len(self.step_checks)
        self._predicates = [predicate(item) for item in (*self.state_checks, *self.step_checks)]
        self.continued = {} if before is None else self._same_as(before)
        self._reach = self._reached(before)
        self.precision = [reach.precision for reach in self._reach]
        self.lowered_by = [self._in_function(tree, reach.because) for tree, reach in enumerate(self._reach)]
        for tree in given_states:
            self.precision[tree] = Precision.STATES
            self.lowered_by[tree] = self._in_function(tree, Construct("a result that differed from what was learned"))
        self.apart = [False] * len(self._reach)
        self.seconds = [0.0] * len(self._reach)
        self._divided: dict[int, DividedPredicate | None] = {}
        self.whole_because: dict[int, Construct] = {}
        if before is not None:
            self._continue(before)
        self._classes = layout.classes()
        self.purity = purity or Purity(spec, tuning)
        self._compared = self._made_again = 0
        self._last: tuple[Row, S] | None = None
        self._looks_at_identity = self._may_look_at_identity()
        self._keep(spec.initials()[:MADE_AGAIN])

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes to pickle. Other processes decide for themselves which predicates to divide."""
        whole = {"_divided": {}, "whole_because": {}, "apart": [False] * len(self.apart)}
        return {**vars(self), **whole}

    def _same_as(self, before: Caller[S]) -> dict[int, int]:
        """Return the trees of another object whose results are the same here, each with its index here."""
        found = {tree: tree for tree in range(self.instances)}
        checks = [*enumerate((*self.state_checks, *self.step_checks), self.instances)]
        named = {(item.kind, item.name): (tree, item) for tree, item in checks}
        is_limited_alike = same(before.spec.limits, self.spec.limits)
        for old, item in enumerate((*before.state_checks, *before.step_checks), before.instances):
            new, other = named.get((item.kind, item.name), (0, item))
            is_alike = item.at_rest == other.at_rest and same(item.function, other.function)
            if new and is_alike and (is_limited_alike or not item.at_rest):  # where a search ends, no state is at rest
                found[old] = new
        return found

    def _continue(self, before: Caller[S]) -> None:
        """Record the calls of functions that are the same as they were recorded before."""
        self.numbered, self._numbers = before.numbered, before._numbers
        for old, new in self.continued.items():
            if before.precision[old] < self.precision[new]:
                self.precision[new], self.lowered_by[new] = before.precision[old], before.lowered_by[old]
            self.apart[new] = before.apart[old]
            if old in before._divided:
                self._divided[new] = before._divided[old]
            if old in before.whole_because:
                self.whole_because[new] = before.whole_because[old]

    def _reached(self, before: Caller[S] | None) -> list[Reach]:
        """Return, for each decision tree, the code that the tree's function can reach with the types found so far."""
        if before is not None and self.layout.kinds.new:
            before._reach_more()
        known = {new: before._reach[old] for old, new in self.continued.items()} if before is not None else {}
        given: list[object] = [self.spec.initials()[0], *self.layout.kinds.take_all()]
        arguments: dict[Action[S, ...], list[object]] = {}
        limits = [each for each in (self.spec.within_step,) if each is not None]
        for instance in self.spec.instances:
            arguments.setdefault(instance.action, [*instance.action.drawn.values(), *limits]).append(instance.values)
        reach = reaching(given)
        of_actions = {
            action: reach(action.function, values, True) for action, values in arguments.items() if before is None
        }
        checks = [
            known.get(tree) or reach(function, asked, False)
            for tree, (function, *asked) in enumerate(
                map(self._called_by, (*self.state_checks, *self.step_checks)), self.instances
            )
        ]
        distance = [reach(self.spec.distance, (), False)] if self.with_distance else []
        actions = [known.get(tree) or of_actions[each.action] for tree, each in enumerate(self.spec.instances)]
        return [*actions, *checks, *distance]

    def _called_by(self, item: Property) -> Iterator[object]:
        """Yield the functions that `Spec.complaint` calls for a property, and the arguments of these functions other
        than states.
        """
        if item != AT_REST:
            yield item.function
        if item.at_rest:
            for instance in self.spec.healing if self.spec.within_step is None else self.spec.instances:
                yield from (instance.action.function, *instance.action.drawn.values(), *instance.values)
            yield from self.spec.limits.values()

    def _reach_more(self) -> None:
        """Update the reachable code and the precisions after new classes or functions have been found in states."""
        kinds = self.layout.kinds.take()
        for tree, reach in enumerate(self._reach):
            reach.extend(kinds)
            if reach.precision < self.precision[tree]:
                self.lowered_by[tree] = self._in_function(tree, reach.because)
            self.precision[tree] = min(self.precision[tree], reach.precision)
            if self.apart[tree] and reach.lasting:
                self._remains_whole(tree, Whole(reach.lasting))
        self._looks_at_identity = self._may_look_at_identity()

    def _may_look_at_identity(self) -> list[bool]:
        """Return, for each decision tree, whether the tree's function may distinguish equal values by identity."""
        return [reach.precision == Precision.STATES for reach in self._reach]

    def _keep(self, states: Sequence[S]) -> None:
        """Keep the objects in the given states for reuse, if a function may distinguish objects by identity."""
        if True in self._looks_at_identity:
            for state in states:
                self.layout.keep(state)

    def make(self, tree: int, rows: tuple[Row, ...]) -> Call:
        """Call a function, and record the slots of the state that it reads.

        If the call iterates over a collection and finds a member without a slot, the slot is added and the call is
        repeated.

        Parameters:
            tree: the index of the function's decision tree.
            rows: the state, or the states before and after a step.

        Returns:
            The reads and the result of the call.

        Raises:
            SpecError: if the function raised an exception or is not pure.
            ShapeChanged: if a component has a different shape than in the initial state.
            NotRecorded: if the reads of the call cannot be recorded precisely enough.
        """
        make_lazy(self._classes)
        began = time.perf_counter()
        while True:
            if self.layout.kinds.new:
                self._reach_more()  # before the first call on a state that contains the new kinds
            known = self.layout.slots
            call = self._take(tree, rows[0]) if tree < self.instances else self._evaluate(tree, rows)
            if not call.enumerated or self.layout.slots == known:
                self.seconds[tree] += time.perf_counter() - began
                return call

    def undivided(self, tree: int) -> frozenset[Place] | None:
        """Return the expressions that remain undivided in a divided predicate, or None if the predicate is not divided.

        Parameters:
            tree: the index of the function's decision tree.
        """
        divided = self._divided.get(tree) if self.apart[tree] else None
        return None if divided is None else divided.undivided

    def take_apart(self, tree: int) -> None:
        """Divide future calls of a predicate into parts if its code allows this; see the module `apart`.

        Parameters:
            tree: the index of the function's decision tree.
        """
        if tree in self._divided or tree < self.instances or tree == self.distance_tree or are_off():
            return  # when lines are counted, calls run the spec's own code
        self._divided[tree] = None
        function, given = with_arguments(self._function_of(tree))
        try:
            if not isinstance(function, FunctionType):
                raise Whole("a predicate that is not a Python function")
            if self.precision[tree] < Precision.ELEMENTS or self.check_of(tree).at_rest:
                raise Whole("")  # whether a state is at rest is no part of the predicate
            if changed := self._reach[tree].lasting:
                raise Whole(changed)
            self._divided[tree] = DividedPredicate(function, given)
        except Whole as error:
            self._remains_whole(tree, error)
        self.apart[tree] = self._divided[tree] is not None

    def _remains_whole(self, tree: int, error: Whole) -> None:
        """Stop dividing a predicate, and record the reason."""
        self._divided[tree], self.apart[tree] = None, False
        code = getattr(inspect.unwrap(self._function_of(tree)), "__code__", None)
        if error.text and code is not None:
            self.whole_because[tree] = Construct.of(error.text, code, error.line or None)

    def _recorder(self, tree: int, rows: tuple[Row, ...]) -> Recorder:
        return Recorder(self.layout, *rows, precision=self.precision[tree], lasting=self._reach[tree].lasting)

    def _take(self, tree: int, row: Row) -> Call:
        """Call an action on a real state, and again on a lazy state to record the slots that it reads."""
        instance, state = self.spec.instances[tree], self._state(row)
        direct = self._direct(tree, state)
        recorder = self._recorder(tree, (row,))
        if self.precision[tree] == Precision.STATES:
            recorder.read_all()
            return self._call(
                recorder, [dict(enumerate(self.layout.row(successor))) for _, successor in direct], direct
            )
        steps: list[Changes] | None = None
        failure: Construct | None = None
        try:
            recorded = list(instance.successors(recorder.state()))
            if len(recorded) != len(direct):
                raise Mismatch
            steps = [
                recorder.changes(seen, successor, state) for seen, (_, successor) in zip(recorded, direct, strict=True)
            ]
            del recorded
        except ShapeChanged:
            raise
        except Mismatch as error:
            raise NotRecorded(tree) from error
        except (Exception, LookedAt) as error:
            failure = _failing(error)
        finally:
            recorder.end()
        if steps is None or recorder.looked_at or recorder.escaped:
            for _, successor in direct:
                self.layout.row(successor)  # raises if the shape of a component has changed
            return self._less_precisely(tree, (row,), failure)
        return self._call(recorder, steps, direct)

    def _call(self, recorder: Recorder, steps: list[Changes], direct: list[tuple[ActionInstance[S], S]]) -> Call:
        """Return the recorded reads and the result of a call to an action.

        If the call read a slot, and a step writes the value that this slot already had, the result omits the slot.

        Parameters:
            steps: for each step, the slots that it writes, with the indices of the written values.
            direct: the action instance and the next state of each step, as a direct call returned them.
        """
        reads = recorder.reads
        gave = [
            (self.label_of(instance), {slot: number for slot, number in step.items() if reads.get(slot) != number})
            for step, (instance, _) in zip(steps, direct, strict=True)
        ]
        if self.tuning.in_order and len(direct) > 1:
            order = sorted(range(len(direct)), key=lambda place: content("", direct[place][1], is_part=True))
            gave = [gave[place] for place in order]
        return Call(reads, _paths(recorder.enumerated), gave, frozenset(recorder.constructs))

    def label_of(self, instance: ActionInstance[S]) -> int:
        """Return the number of an action instance for an `Outcome`."""
        if instance.drawn is None:
            return 0
        number = self._numbers.get(instance)
        if number is None:
            number = self._numbers[instance] = len(self.numbered)
            self.numbered.append(instance)
        return number

    def steps(self, tree: int, row: Row) -> list[Outcome]:
        """Call an action instance without recording its reads, and return its steps.

        Parameters:
            tree: the index of the action instance's decision tree.
        """
        state, instance = self._state(row), self.spec.instances[tree]
        if not (instance.action.drawn or self.tuning.in_order or True in self._looks_at_identity):
            try:
                return [(0, self._changes(state, after, row)) for after in instance.successors(state)]
            except (KeyboardInterrupt, MemoryError, ShapeChanged):
                raise
            except BaseException:  # the action is called again, to report the error
                pass
        direct = self._direct(tree, state)
        if self.tuning.in_order:
            direct.sort(key=lambda step: content("", step[1], is_part=True))
        return [(self.label_of(instance), self.layout.changes(state, after, row)) for instance, after in direct]

    def _changes(self, before: S, after: S, row: Row) -> Changes:
        """Return the changes of a step as `Spec.steps` and `Layout.changes` do, in a third of the time.

        The next state is not brought into canonical form. Its parts get the indices of equal values that are the same,
        or of new values, which `Domain.number` brings into canonical form; so the changes do not depend on the form.
        The hash that a valid state must have is taken of its parts. If anything is wrong, this method raises an
        exception of any class, and `Spec.steps` reports the error.
        """
        if type(after) is not type(before):
            raise TypeError
        check_shape(after, before)
        return self.layout.changes(before, after, row)

    def _direct(self, tree: int, state: S) -> list[tuple[ActionInstance[S], S]]:
        """Return the steps of an action instance; see `Spec.steps`. Repeat some calls to check that the action is pure.

        Parameters:
            tree: the index of the action instance's decision tree.
        """
        instance = self.spec.instances[tree]
        found = self.spec.steps(instance, state)
        self._keep([after for _, after in found])
        if self._is_made_again(tree) and Counter(found) != Counter(self.spec.steps(instance, fresh(state))):
            raise SpecError(f"{self.name_of(tree)} is not deterministic: {BY_IDENTITY.format('next states')}")
        return found

    def check_of(self, tree: int) -> Property:
        """Return the property whose predicate belongs to a decision tree.

        Parameters:
            tree: the index of the decision tree.
        """
        return (*self.state_checks, *self.step_checks)[tree - self.instances]

    def shown_by(self, tree: int, states: Sequence[S]) -> bool:
        """Call a predicate. Return whether the state or step violates an invariant or satisfies a witness.

        Parameters:
            tree: the index of the decision tree of the predicate.
            states: the state, or the states before and after a step.
        """
        item = self.check_of(tree)
        return (self.spec.complaint(item, *states, differ=differ) is None) == item.kind.is_witness

    def _given_by(self, tree: int, states: Sequence[S]) -> bool | float:
        """Call a predicate or `Spec.distance` on a state, or on the states before and after a step, and return the
        result; see `shown_by`.
        """
        return self.spec.distance_of(*states) if tree == self.distance_tree else self.shown_by(tree, states)

    def _given_again(self, tree: int, states: Sequence[S]) -> bool | float:
        """Call `_given_by` and return its result. Repeat some calls to check that the function is pure."""
        gave = self._given_by(tree, states)
        if self._is_made_again(tree) and gave != self._given_by(tree, [*map(fresh, states)]):
            what = "values" if tree == self.distance_tree else "verdicts"
            raise SpecError(f"{self.name_of(tree)} is not deterministic: {BY_IDENTITY.format(what)}")
        return gave

    def _in_function(self, tree: int, construct: Construct | None) -> Construct | None:
        """Return a construct. If its location in the code is unknown, use the location of the called function.

        Parameters:
            tree: the index of the decision tree of the called function.
            construct: the construct, or None.

        Returns:
            The construct, or None if `construct` is None.
        """
        if construct is None or construct.file:
            return construct
        code = getattr(inspect.unwrap(self._function_of(tree)), "__code__", None)
        return construct if code is None else Construct.of(construct.text, code)

    def _function_of(self, tree: int) -> Callable[..., object]:
        if tree < self.instances:
            return self.spec.instances[tree].action.function
        if tree == self.distance_tree and self.spec.distance is not None:
            return self.spec.distance
        return self.check_of(tree).function

    def name_of(self, tree: int) -> str:
        """Return the name of the action instance, predicate or distance that belongs to a tree, for error messages.

        Parameters:
            tree: the index of the decision tree.
        """
        if tree < self.instances:
            return f"action {self.spec.instances[tree]}"
        if tree == self.distance_tree:
            return "distance"
        item = self.check_of(tree)
        return f"{item.kind.value} {item.name}"

    def _is_made_again(self, tree: int) -> bool:
        """Count a call. Return whether to repeat it on an equal state that consists of different objects."""
        if not self._looks_at_identity[tree]:
            return False
        self._made_again += 1
        return self._made_again <= MADE_AGAIN or self._made_again % MADE_AGAIN_LATER == 0

    def shows(self, tree: int, *rows: Row) -> bool:
        """Call a predicate without recording its reads. Return whether the state or step violates an invariant or
        satisfies a witness.

        Parameters:
            tree: the index of the decision tree of the predicate.
            rows: the state, or the states before and after a step.
        """
        began = time.perf_counter()
        states = [self._state(rows[0]), *map(self.layout.state, rows[1:])]
        known = None if self._looks_at_identity[tree] else verdict(self._predicates[tree - self.instances], *states)
        shown = bool(self._given_again(tree, states)) if known is None else not known
        self.seconds[tree] += time.perf_counter() - began
        return shown

    def distance_of(self, row: Row) -> float:
        """Call `Spec.distance` without recording its reads. Return the distance of a state."""
        return float(self._given_again(self.distance_tree, [self._state(row)]))

    def _less_precisely(self, tree: int, rows: tuple[Row, ...], failure: Construct | None) -> Call:
        """Repeat a call with a lower precision, which is also used for all later calls to the function.

        Parameters:
            tree: the index of the function's decision tree.
            rows: the state, or the states before and after a step.
            failure: the code where the recorded call failed. None if the call returned a result but some reads may not
                have been recorded.
        """
        self.precision[tree] = Precision(self.precision[tree] - 1)
        self.lowered_by[tree] = self._in_function(tree, failure or Construct(NOT_RECORDED))
        return self.make(tree, rows)

    def _state(self, row: Row) -> S:
        """Return the state that a row represents. Cache it, because consecutive calls often need the same state."""
        if self._last is None or self._last[0] is not row:
            self._last = row, self.layout.state(row)
            self.purity.check(self._last[1])
        return self._last[1]

    def after(self, row: Row, step: Changes) -> S:
        """Return the state to which a step leads.

        Parameters:
            row: the state before the step.
        """
        state: S = self.layout.state(self.row_after(row, step))
        return state

    def row_after(self, row: Row, step: Changes) -> list[int]:
        """Return the row of the state to which a step leads.

        Parameters:
            row: the state before the step. It may lack the slots that were added after the row was created.
        """
        numbers = [*row, *[0] * (self.layout.slots - len(row))]
        for slot, number in step.items():
            numbers[slot] = number
        return numbers

    def _evaluate_apart(self, tree: int, rows: tuple[Row, ...]) -> Call | None:
        """Call a predicate on lazy states, part by part. Return None if it must be called as a whole.

        Parameters:
            tree: the index of the predicate's decision tree.
            rows: the state, or the states before and after a step.
        """
        divided = self._divided[tree]
        assert divided is not None
        enumerated, constructs, is_known = set[str](), set[Construct](), True

        def ended(recorder: Recorder) -> None:
            nonlocal is_known
            is_known &= not (recorder.looked_at or recorder.escaped)
            enumerated.update(_paths(recorder.enumerated))
            constructs.update(recorder.constructs)

        run: Run | None = None
        try:
            run = divided.run(self.layout.root, len(rows), lambda: self._recorder(tree, rows), ended)
        except Whole as error:
            self._remains_whole(tree, error)
        except (Exception, LookedAt):
            pass  # the whole call raises the same exception
        if run is None or not is_known:
            return None
        gave = run.gave == self.check_of(tree).kind.is_witness
        reads: dict[int, int] = {}
        for position in run.positions:
            for slot, number in position.reads.items():
                reads.setdefault(slot, number)
        if self.tuning.compared and gave != self.shown_by(tree, [*map(self.layout.state, rows)]):
            raise NotRecorded(tree)
        return Call(reads, enumerated, gave, frozenset(constructs), run.positions, divided.undivided)

    def _evaluate(self, tree: int, rows: tuple[Row, ...]) -> Call:
        """Call a predicate or `Spec.distance` on lazy states, and record the slots that it reads.

        One of every `COMPARED_CALLS` calls is compared with a call on real states.
        """
        if self.apart[tree] and self.precision[tree] >= Precision.ELEMENTS:
            if (apart := self._evaluate_apart(tree, rows)) is not None:
                return apart
            if self.apart[tree]:  # the whole call raises an exception, or its reads cannot be recorded
                self._remains_whole(tree, Whole(NOT_RECORDED))
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
                self._given_by(tree, [*map(self.layout.state, rows)])  # raises the same exception as the function
                return self._less_precisely(tree, rows, failure)
            self._compared += 1
            if (
                self.tuning.compared
                and self._compared % COMPARED_CALLS == 1
                and gave != self._given_by(tree, [*map(self.layout.state, rows)])
            ):
                raise NotRecorded(tree)
        return Call(recorder.reads, _paths(recorder.enumerated), gave, frozenset(recorder.constructs))


def _failing(failure: BaseException) -> Construct:
    """Return the innermost line of the spec's code in an exception's traceback, as a `Construct`."""
    trace, own = failure.__traceback__, None
    while trace is not None:
        if origin(trace.tb_frame.f_globals.get("__name__")) is Origin.SPEC:
            own = trace
        trace = trace.tb_next
    return Construct(NOT_RECORDED) if own is None else Construct.of(NOT_RECORDED, own.tb_frame.f_code, own.tb_lineno)


def _paths(collections: set[Collection]) -> set[str]:
    return {collection.path for collection in collections}
