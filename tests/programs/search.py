"""Searches a spec by direct calls and with what is learned, without any net, and compares all that was found."""

from __future__ import annotations

from typing import Any, NamedTuple
from unittest import mock

import attrs

from leadline.checker import Limits, Spec, SpecError
from leadline.checker.engines.budget import Budget
from leadline.checker.engines.compiled.problem import Problem
from leadline.checker.engines.compiled.search import CompiledSearch
from leadline.checker.engines.learning.calls import Call, NotRecorded
from leadline.checker.engines.learning.restart import CHANGES, Adjustments
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.engines.purity import Purity
from leadline.checker.engines.random.walkers import Walks
from leadline.checker.observing.lazy import make_ordinary
from leadline.checker.result import Result
from tests.programs import properties
from tests.specs.direct import same_by_direct_calls
from tests.specs.going_wrong import ONLY_LEARNED

LIMITS = Limits(depth=3, keep_going=True)
TUNING = attrs.evolve(ONLY_LEARNED, apart_after=1, many_values=3, pure_states=2)
"""No net. Few states are checked for purity, as the calls of these checks are not those of an engine."""

APART = frozenset(("numbers", "others", "pairs", "msgs", "sets", "bag", "table", "rows[]", "procs[].seen"))
"""Collections that are taken apart from the beginning, as if they had many values."""

EXAMPLES = 60
"""Behaviours of a random search."""


class Counts(NamedTuple):
    """How much was learned.

    Attributes:
        states: distinct states searched.
        refused: specs that are refused, as what they do depends on the order of a set or a bag.
        learned: calls that were learned from.
        partial: of these, calls that read less than the whole state.
        members: of these, calls that read some of a collection's members and not all.
        applied: how often something learned was used in another state than the one that it was learned from.
    """

    states: int = 0
    refused: int = 0
    learned: int = 0
    partial: int = 0
    members: int = 0
    applied: int = 0

    def plus(self, other: Counts) -> Counts:
        return Counts(*(one + more for one, more in zip(self, other, strict=True)))


class Different(Exception):
    """The two searches found different things."""


def compare(spec: Spec[Any], *, randomly: bool) -> Counts:
    """Search a spec in several ways, and see that they all find the same.

    Parameters:
        spec: the spec.
        randomly: whether to search it at random too.

    Returns:
        How much was learned; nothing of a spec that direct calls refuse too, in one of its states.

    Raises:
        Different: they do not.
    """
    try:
        direct = _direct(spec)
    except SpecError:
        return Counts(refused=1)
    try:
        return _compiled(spec, direct).plus(_at_random(spec, direct) if randomly else Counts())
    except SpecError as error:
        if not _is_refused(spec, direct[0]):
            raise Different(f"refused: {error}") from error
        return Counts(refused=1)
    except NotRecorded as error:
        raise Different(f"learned otherwise: {error.name}") from error
    finally:
        make_ordinary()


def compare_properties(text: str, seed: int) -> tuple[Counts, int]:
    """Search a spec with many properties by direct calls and by what is learned, and see that both find the same.

    Properties that direct calls refuse are left out.

    Parameters:
        text, seed: see `properties.spec_of`.

    Returns:
        How much was learned, and the number of properties.

    Raises:
        Different: they do not.
    """
    refused = frozenset[str]()
    while True:
        spec, direct = properties.spec_of(text, seed, without=refused), None
        try:
            direct = _direct(spec)
            apart = APART if seed % 2 else frozenset[str]()  # otherwise, collections are split if they take many values
            return _compiled(spec, direct, apart), len(spec.properties)
        except SpecError as error:
            words = str(error).replace(":", " ").split()
            more = {item.name for item in spec.properties if item.name in words}
            if not more or (direct is not None and not _is_refused(spec, direct[0])):
                raise Different(f"refused: {error}") from error
            refused |= more
        except NotRecorded as error:
            raise Different(f"learned otherwise: {error.name}") from error
        finally:
            make_ordinary()


def _direct(spec: Spec[Any]) -> tuple[OracleSearch[Any], Result]:
    try:
        return same_by_direct_calls(spec, LIMITS, TUNING)
    except AssertionError as error:
        raise Different(f"direct calls: {error}") from error


def _is_refused(spec: Spec[Any], oracle: OracleSearch[Any]) -> bool:
    """Whether direct calls show in one of the states that a spec is to be refused, as they do not look at all."""
    checks = Purity(spec, attrs.evolve(TUNING, pure_states=10**9))
    try:
        for state in oracle.arrivals:
            checks.check(state)
    except SpecError:
        return True
    return False


def _compiled(spec: Spec[Any], direct: tuple[OracleSearch[Any], Result], apart: frozenset[str] = APART) -> Counts:
    oracle, expected = direct
    problem = Problem(spec=spec, limits=LIMITS, budget=Budget(LIMITS), workers=Workers(1), tuning=TUNING)
    adjustments = Adjustments(apart=apart)
    with _Counted() as counted:
        while True:
            try:
                search = CompiledSearch(problem, adjustments)
                found = search.run()
                break
            except CHANGES as change:
                adjustments = adjustments.after(change)
    for name in ("levels", "generated", "actions", "deadlocks", "distinct", "out_degree_min", "out_degree_max"):
        one, other = getattr(expected.statistics, name), getattr(found.statistics, name)
        if one != other:
            raise Different(f"{name}: {other}, not {one}")
    if _verdicts(found) != _verdicts(expected):
        raise Different(f"verdicts: {_verdicts(found)}, not {_verdicts(expected)}")
    expander = search.expander
    rows = [expander.row(index) for index in range(expander.store.count)]
    if set(map(expander.layout.state, rows)) != oracle.arrivals.keys():
        raise Different("other states were found")
    for row in rows:
        expander.learner.comparison.state(row)
    return counted.counts._replace(states=len(rows), applied=expander.tables.compared - expander.tables.calls)


def _verdicts(result: Result) -> list[tuple[Any, ...]]:
    return [(item.property.name, item.verdict.name, *map(len, item.traces)) for item in result.properties]


def _at_random(spec: Spec[Any], direct: tuple[OracleSearch[Any], Result]) -> Counts:
    """Search a spec at random, and compare what was learned with calls on all states that are known."""
    oracle, expected = direct
    limits = Limits(keep_going=True)
    with _Counted() as counted:
        watch = Watch(Budget(limits), Workers(1))
        walks = Walks(spec, EXAMPLES, 2, 0, watch, Purity(spec, TUNING), tuning=TUNING)
        while walks.round():
            pass
    walks.sampled.settle()
    if walks.sampled.distinct > len(oracle.arrivals):
        raise Different(f"random search: {walks.sampled.distinct} states, not {len(oracle.arrivals)}")
    if not walks.traces.keys() <= {item.property for item in expected.properties if item.traces}:
        raise Different("random search: other verdicts")
    learner, layout = walks.expander.learner, walks.expander.layout
    for state in oracle.arrivals:
        learner.comparison.state(layout.row(state))
    return counted.counts


class _Counted:
    """Counts what is learned while it is entered."""

    def __init__(self) -> None:
        self.counts = Counts()
        self._patch = mock.patch.object(TransitionTables, "learn", self._learning(TransitionTables.learn))

    def _learning(self, learn: Any) -> Any:
        def counted(tables: TransitionTables[Any], tree: int, rows: Any, call: Call, leaf: int) -> None:
            learn(tables, tree, rows, call, leaf)
            layout = tables.layout
            slots = {slot for slot in call.reads if slot < layout.slots}
            reads_part = any(
                0 < len(slots.intersection(node.slots)) < len(node.members) for node in layout._collections.values()
            )
            self.counts = self.counts.plus(Counts(0, 0, 1, len(call.reads) < len(rows) * layout.slots, reads_part))

        return counted

    def __enter__(self) -> _Counted:
        self._patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.stop()
