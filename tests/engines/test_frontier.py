"""The frontier of a random search: each state once, all next states checked, and bounded memory."""

from collections.abc import Iterator

import attrs
import numpy as np
import pytest

from leadline.checker import Spec, action, fuzz, invariant, step_invariant
from leadline.checker.engines.oracle import explore
from leadline.checker.engines.random import frontier as frontiers
from leadline.checker.engines.random.frontier import Frontier
from leadline.checker.result import Result, Verdict
from leadline.checker.settings import RandomSettings
from leadline.checker.trace import Trace


@attrs.frozen
class Wheel:
    number: int = 0


@action()
def spin(state: Wheel) -> Iterator[Wheel]:
    if state.number == 0:
        yield from (Wheel(number) for number in range(1, 2_500))


@invariant("777 does not come up")
def no_luck(state: Wheel) -> bool:
    return state.number != 777


@step_invariant("2,321 does not follow on 0")
def no_jump(before: Wheel, after: Wheel) -> bool:
    return (before.number, after.number) != (0, 2_321)


WHEEL = Spec(name="wheel", initial_states=lambda _: [Wheel()], actions=[spin], properties=[no_luck, no_jump])


def test_all_next_states_are_checked_however_many_there_are() -> None:
    result = fuzz(WHEEL, settings=RandomSettings(examples=1, steps=1))

    assert [item.verdict for item in result.properties] == [Verdict.VIOLATED, Verdict.VIOLATED]
    assert result.of("no_luck").traces[0].states == (Wheel(), Wheel(777))
    assert result.of("no_jump").traces[0].states == (Wheel(), Wheel(2_321))


def test_a_uniform_search_checks_only_the_steps_taken() -> None:
    assert fuzz(WHEEL, settings=RandomSettings(examples=1, steps=1, uniform=True)).verdict is Verdict.INCOMPLETE


@attrs.frozen
class Grid:
    x: int = 0
    y: int = 0
    z: int = 0


@action(axis=("x", "y", "z"), by=(-1, 1))
def move(state: Grid, axis: str, by: int) -> Iterator[Grid]:
    to = getattr(state, axis) + by
    if 0 <= to < 12:
        yield attrs.evolve(state, **{axis: to})


@invariant("it stays near the corner")
def near(state: Grid) -> bool:
    return state.x + state.y + state.z < 10


GRID = Spec(name="grid", initial_states=lambda _: [Grid()], actions=[move])


def checked(result: Result) -> list[Trace[Grid]]:
    """The traces of a result; each of their steps is one that the spec takes."""
    traces = [trace for item in result.properties for trace in item.traces]
    for trace in traces:
        for before, instance, after in zip(trace.states, trace.instances, trace.states[1:], strict=False):
            assert after in list(trace.spec.take(instance, before))
    return traces


def test_each_state_of_a_space_is_expanded_once() -> None:
    result = fuzz(GRID, settings=RandomSettings(examples=3_000))

    assert result.statistics.walked is not None
    assert result.statistics.walked.expanded == result.statistics.distinct == 12**3
    assert result.statistics.walked.waiting == 0


def test_states_outside_of_the_constraint_are_not_expanded() -> None:
    spec = attrs.evolve(GRID, within=lambda state: state.x < 3 and state.y + state.z < 5)
    result, known = fuzz(spec, settings=RandomSettings(examples=1_000)).statistics, explore(spec).statistics

    assert result.walked is not None
    assert result.walked.expanded == result.distinct == known.distinct == 3 * 15
    assert (result.out_degree_min, result.out_degree_max) == (known.out_degree_min, known.out_degree_max)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_frontier_that_is_full_gives_up_states_and_nothing_else(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frontiers, "FRONTIER", 60)
    monkeypatch.setattr(frontiers, "REMEMBERED", 64)
    settings = RandomSettings(examples=4_000, steps=60)
    spec = attrs.evolve(GRID, properties=(near,))
    result = fuzz(spec, settings=attrs.evolve(settings, workers=workers))

    (trace,) = checked(result)
    assert len(trace) == 11
    assert result.statistics.walked is not None
    assert result.statistics.walked.waiting > 60
    assert result.statistics.generated == fuzz(spec, settings=attrs.evolve(settings, workers=1)).statistics.generated


def add(frontier: Frontier, hashes: list[int], before: list[int]) -> list[int]:
    """Add states whose one word is their hash, unless they were found before, and return which were added."""
    given, nodes, trees = np.array(hashes, np.uint64), np.array(before), np.array(hashes, np.int64)
    places = frontier.new_among(given, nodes, trees)
    frontier.add(given[places][:, None], frontier.reach(nodes[places], trees[places], given[places]))
    return [hashes[place] for place in places]


def test_paths_are_kept_when_states_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontiers, "FRONTIER", 8)
    frontier, before, held = Frontier(0, 1), dict[int, int](), np.zeros(0, np.int64)
    add(frontier, [1], [-1])
    number = 1
    for _ in range(20):
        held = frontier.forget(held)
        taken = frontier.take(2)
        held = np.concatenate([held, taken.nodes[:1]])  # as a walk would
        of = {int(node): int(state[0]) for state, node in zip(taken.states, taken.nodes, strict=True)}
        children = [(node, number + place + 1) for place, node in enumerate(sorted(of) * 3)]
        number += len(children)
        before |= {child: of[node] for node, child in children}
        add(frontier, [child for _, child in children], [node for node, _ in children])

    assert len(frontier) <= 8 < frontier.given_up
    taken = frontier.take(8)
    of_walks = frontier.at(taken.states[:0], held)
    for node, steps in [*zip(taken.nodes, taken.steps, strict=True), *zip(held, of_walks.steps, strict=True)]:
        trees, path = frontier.path(int(node))
        expected = [path[-1]]
        while expected[0] in before:
            expected.insert(0, before[expected[0]])
        assert (trees, path) == (expected[1:], expected)
        assert steps == len(path) - 1
    assert [state[0] for state in taken.states] == taken.hashes.tolist()


def test_nodes_that_lead_nowhere_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontiers, "FRONTIER", 8)
    frontier = Frontier(0, 1)
    for number in range(1, 2_000):
        frontier.forget(np.zeros(0, np.int64))
        add(frontier, [4 * number + place for place in range(4)], [-1] * 4)
        frontier.take(4)  # which have no next states

    assert frontier.nbytes < 8 * frontiers.REMEMBERED + 10_000


def test_a_state_that_was_found_is_not_added_again() -> None:
    frontier = Frontier(0, 1)

    assert add(frontier, [3, 5, 3], [-1, -1, -1]) == [3, 5]
    assert add(frontier, [7, 5], [-1, -1]) == [7]
