"""Refinement of fairness: random graphs by the definition, and cases that are easily decided wrongly."""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Spec, SpecError, Verdict, action, refines
from leadline.checker.action import Action
from leadline.checker.engines import oracle
from leadline.checker.liveness.recheck import fault
from leadline.checker.properties import Property
from leadline.checker.settings import CompiledSettings
from tests.liveness.graphs import GROUPS, Drawn, Node, drawn, spec_of
from tests.natural import allocator, simple_allocator
from tests.specs import learning

Edges = frozenset[tuple[int, int]]
Conditions = list[tuple[str, bool, Edges]]
"""Fairness conditions: the name, whether it is strong, and the pairs of different states that take it."""

EVERY = bool(os.environ.get("EVERY"))
LIMITS = Limits(keep_going=True)


def conditions_of(graph: Drawn) -> Conditions:
    """The fairness conditions of a graph, by definition."""

    def edges(numbers: tuple[int, ...], instances: tuple[int, ...]) -> Edges:
        tables = [graph.steps[number][instance] for number in numbers for instance in instances]
        return frozenset(
            (before, after)
            for table in tables
            for before, targets in table.items()
            for after in targets
            if before != after
        )

    declared: list[tuple[tuple[int, ...], str]] = [((number,), fair) for number, fair in enumerate(graph.fair) if fair]
    if graph.group is not None:
        declared.append((graph.group[:2], graph.group[2]))
    found: Conditions = []
    for numbers, fair in declared:
        name = "_or_".join(f"move{number}" for number in numbers)
        parts = {f"{name}(instance={each})": (each,) for each in (0, 1)} if "each" in fair else {name: (0, 1)}
        found += [(part, fair.startswith("strong"), edges(numbers, those)) for part, those in parts.items()]
    return found


def edges_of(graph: Drawn) -> Edges:
    return frozenset().union(*(taken for _, _, taken in conditions_of(attrs.evolve(graph, fair=("weak",) * 3))))


def is_kept(strong: bool, taken: Edges, visited: set[int], steps: set[tuple[int, int]]) -> bool:
    """Whether a behaviour that visits some states, and takes some steps, again and again satisfies a condition."""
    enabled = {before for before, _ in taken} & visited
    return bool(taken & steps) or not (enabled if strong else enabled == visited)


def endless(graph: Drawn) -> Iterator[tuple[set[int], set[tuple[int, int]]]]:
    """Yield what each fair behaviour among known states visits and takes again and again."""
    edges = edges_of(graph)
    reached = set[int]().union(*(reach(edges, each) for each in graph.initials))
    usable = sorted(edge for edge in edges if not set(edge) & graph.cut and set(edge) <= reached)
    choices = itertools.chain.from_iterable(
        itertools.combinations(usable, count) for count in range(1, len(usable) + 1)
    )
    candidates = [({each}, set[tuple[int, int]]()) for each in reached - graph.cut]
    candidates += [({each for edge in steps for each in edge}, set(steps)) for steps in choices]
    for visited, steps in candidates:
        if all(reach(steps, each) >= visited for each in visited) and all(
            is_kept(strong, taken, visited, steps) for _, strong, taken in conditions_of(graph)
        ):
            yield visited, steps


def reach(steps: Set[tuple[int, int]], first: int) -> set[int]:
    found = {first}
    while more := {after for before, after in steps if before in found} - found:
        found |= more
    return found


def pair(seed: int) -> tuple[Drawn, Drawn, dict[int, int]]:
    """A random graph, another one of which it may be a refinement, and a mapping."""
    chance = random.Random(seed)
    one = drawn(seed, most=4)
    other = max((drawn(7_000 + 4 * seed + each, most=4) for each in range(4)), key=lambda graph: len(edges_of(graph)))
    mapped = {at: chance.randrange(other.size) for at in range(one.size)}
    if chance.random() < 0.7:  # it does what the other does, perhaps under another fairness
        fair = chance.choice([other.fair, ("", "weak", ""), ("weak each", "", "strong"), ("",) * 3])
        group = chance.choice([None, (0, 2, chance.choice(GROUPS))])
        one = attrs.evolve(other, cut=one.cut, fair=fair, effects=("",) * 3, group=group)
        mapped = {at: at if chance.random() < 0.9 else chance.randrange(other.size) for at in range(one.size)}
    return one, attrs.evolve(other, initials=tuple(sorted({mapped[at] for at in one.initials}))), mapped


def expected(one: Drawn, other: Drawn, mapped: dict[int, int]) -> dict[str, tuple[set[Verdict], bool]]:
    """For each property of fairness: the verdicts that are right, and whether its action is never enabled."""
    every = edges_of(one)
    reached = set[int]().union(*(reach(every, each) for each in one.initials))
    known = [*endless(one)]
    found = {}
    for name, strong, taken in conditions_of(other):
        step_by = frozenset(edge for edge in every if (mapped[edge[0]], mapped[edge[1]]) in taken)
        enabled = {at for at in reached if any(before == mapped[at] for before, _ in taken)}
        is_violated = any(
            not step_by & steps and (enabled & visited if strong else visited <= enabled) for visited, steps in known
        )
        is_open = bool(reached & one.cut)
        applies = any(reach(every, each) & visited for each in enabled for visited, _ in known)
        if is_violated:
            right = {Verdict.VIOLATED}
        elif not is_open:
            right = {Verdict.HOLDS}
        else:
            right = {Verdict.HOLDS, Verdict.INCOMPLETE} if applies else {Verdict.INCOMPLETE}
        found[f"refines_graph_fair_{name}"] = right, not enabled
    return found


def mapping(mapped: dict[int, int]) -> Callable[[Node], Node]:
    return lambda state: Node(mapped[state.at])


def test_random_pairs_are_judged_by_the_definition() -> None:
    verdicts, never = Counter[Verdict](), 0
    for seed in range(1_000 if EVERY else 80):
        one, other, mapped = pair(seed)
        right = expected(one, other, mapped)
        abstract = attrs.evolve(spec_of(other), properties=[])
        found = refines(abstract, mapping(mapped))
        spec = attrs.evolve(spec_of(one), properties=found)
        results = [oracle.explore(spec, LIMITS)]
        if seed % 10 == 0:
            results.append(learning.explore(spec, LIMITS, settings=CompiledSettings(workers=1)))
        for result in results:
            said = {each.property.name: each for each in result.properties if each.property.kind.is_liveness}
            assert set(said) == set(right)
            for name, (allowed, is_never) in right.items():
                assert said[name].verdict in allowed, (seed, name, result.engine)
                assert said[name].says_nothing is (is_never and said[name].verdict is Verdict.HOLDS), (seed, name)
                assert all(fault(trace) is None for trace in said[name].traces)
                verdicts[said[name].verdict] += 1
                never += said[name].says_nothing
    assert min(verdicts[Verdict.HOLDS] - never, verdicts[Verdict.VIOLATED]) > 0.3 * (verdicts.total() - never)
    assert verdicts[Verdict.INCOMPLETE]
    assert verdicts.total() - never > 150


@attrs.frozen
class Job:
    runs: bool = False
    laps: int = 0


@action("the job is begun", fair="weak")
def begin(state: Job) -> Iterator[Job]:
    if not state.runs:
        yield Job(True)


@action("the job is ended", by=(1, 2), fair="strong each")
def end(state: Job, by: int) -> Iterator[Job]:
    if state.runs:
        yield Job()


@action("the job goes on")
def go_on(state: Job) -> Iterator[Job]:
    if state.runs:
        yield Job(True, (state.laps + 1) % 3)


@action("the job is given up", fair="weak")
def give_up(state: Job) -> Iterator[Job]:
    if state.runs and state.laps:
        yield Job()


@action("the job is given away", to=lambda state: [state.runs], fair="weak each")
def give_away(state: Job, to: bool) -> Iterator[Job]:
    yield Job(not to)


def first(bounds: object) -> list[Job]:
    return [Job()]


def same(state: Job) -> Job:
    return state


def in_one_lap(state: Job) -> Job:
    return Job(state.runs)


def jobs(actions: Sequence[Action[Job, ...]], fairness: dict[Any, str], *properties: Property) -> Spec[Job]:
    return Spec(name="jobs", initial_states=first, actions=actions, properties=properties, fairness=fairness)


BOTH, ALONE = ("begin", "end"), {"begin": "", "end": ""}


@pytest.mark.parametrize(
    ("abstract", "fairness", "expected"),
    [
        (jobs([begin, end], {}), {}, {"begin": "holds", "end(by=1)": "holds", "end(by=2)": "holds"}),
        (jobs([begin, end], {}), {"end": "weak"}, {"begin": "holds", "end(by=1)": "holds", "end(by=2)": "holds"}),
        (jobs([begin, end], {}), {"end": ""}, {"begin": "holds", "end(by=1)": "violated", "end(by=2)": "violated"}),
        (jobs([begin, end], {}), {"begin": ""}, {"begin": "violated", "end(by=1)": "holds", "end(by=2)": "holds"}),
        (jobs([begin, end], {**ALONE, BOTH: "weak"}), {"end": ""}, {"begin_or_end": "violated"}),
        (jobs([begin, end], {**ALONE, BOTH: "strong"}), {}, {"begin_or_end": "holds"}),
        (jobs([begin, end], ALONE), {}, {}),
        (jobs([begin, end, give_up], ALONE), {}, {"give_up": "holds vacuously"}),
    ],
)
def test_what_jobs_promise(abstract: Spec[Job], fairness: dict[str, str], expected: dict[str, str]) -> None:
    found = refines(abstract, in_one_lap, never=["give_up"] if "give_up" in expected else [])
    spec = jobs([begin, end, go_on], fairness, *found)
    for result in (oracle.explore(spec, LIMITS), learning.explore(spec, LIMITS)):
        assert {
            each.property.name.removeprefix("refines_jobs_fair_"): each.verdict.value + " vacuously" * each.says_nothing
            for each in result.properties
            if each.property.kind.is_liveness
        } == expected


@pytest.mark.parametrize("fair", ["weak each", "strong each to"])
def test_fairness_to_each_value_drawn_from_the_state_is_refused(fair: str) -> None:
    with pytest.raises(SpecError, match=f"jobs is '{fair}' for give_away, whose 'to' is drawn from the state"):
        refines(jobs([give_away], {"give_away": fair}), same)


def test_it_is_enough_for_the_drawn_values_together() -> None:
    spec = jobs([give_away], {}, *refines(jobs([give_away], {"give_away": "weak"}), same))
    assert oracle.explore(spec).verdict is Verdict.HOLDS


def test_without_a_schedule_clients_are_neglected() -> None:
    small = {"clients": 2, "resources": 1}
    found = refines(simple_allocator.spec.with_bounds(small), allocator.unscheduled, name="simple")
    spec = attrs.evolve(allocator.spec.with_bounds(small), properties=found, fairness={"schedule": ""})
    names = [each.name for each in found if each.kind.is_liveness]
    result = oracle.explore(spec, LIMITS)
    said = {each.property.name: each.verdict for each in result.properties if each.property.name in names}
    assert said == {name: Verdict.VIOLATED if "allocate" in name else Verdict.HOLDS for name in names}
