"""The search against the definition, tried in every order, and its limits."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import attrs
import pytest

from leadline.checker.conformance import (
    Answer,
    HiddenStep,
    Limits,
    Observation,
    RecordingError,
    Taken,
    Undecided,
    follow,
)
from leadline.checker.conformance.follow import SETTLE_EVERY
from tests.conformance.brute_force import Case, Cells, first_rejected, random_case

CASES = 400


def followed(case: Case, *, prunes: bool = True, connected: bool = True) -> int | None:
    """Follow a random case, and return the number of the first observation that is rejected."""
    observations = case.observations
    if not connected:
        observations = tuple(attrs.evolve(each, touches=None) for each in observations)
    result = follow(
        case.initials,
        observations,
        case.hidden,
        touched_by_hidden=case.touched_by_hidden,
        limits=Limits(hidden_steps=30),
        prunes=prunes,
    )
    assert (result.answer is Answer.CONFORMS) is (result.rejection is None)
    if result.rejection is None:
        assert_is_an_explanation(attrs.evolve(case, observations=observations), result.behaviour)
        return None
    assert result.answer is Answer.REJECTED
    return result.rejection.number


def assert_is_an_explanation(case: Case, behaviour: tuple[Taken[Cells], ...]) -> None:
    """Check a behaviour step by step against the recording: relations, hidden steps and windows."""
    if behaviour:
        assert behaviour[0].before in case.initials
    for one, other in itertools.pairwise(behaviour):
        assert one.after == other.before
    for step in behaviour:
        if step.observation is None:
            assert step.after in [hidden.after for hidden in case.hidden(step.before)]
        else:
            assert step.after in list(step.observation.apply(step.before))
    order = [step.observation for step in behaviour if step.observation is not None]
    assert all(one.earliest <= other.latest for one, other in itertools.combinations(order, 2))
    assert {each for each in case.observations if not each.optional} <= set(order)
    assert len(order) == len(set(order))


def test_the_search_gives_the_answer_of_the_definition() -> None:
    found: Counter[bool] = Counter()
    for seed in range(CASES):
        case = random_case(seed)
        expected = first_rejected(case.initials, case.observations, case.hidden)
        assert followed(case) == expected, seed
        found[expected is None] += 1
    assert min(found.values()) > CASES // 5  # both answers are common


@pytest.mark.parametrize("prunes", [False, True])
@pytest.mark.parametrize("connected", [False, True])
def test_pruning_and_connections_do_not_change_an_answer(prunes: bool, connected: bool) -> None:
    for seed in range(CASES, CASES + 150):
        case = random_case(seed, size=9)
        assert followed(case, prunes=prunes, connected=connected) == followed(case, prunes=False, connected=False), seed


def test_touching_too_little_is_noticed_by_the_definition() -> None:
    """If observations claim to touch nothing, some of the same cases are answered wrongly: the comparison can fail."""

    def wrongly(case: Case) -> int | None:
        claims = [attrs.evolve(each, touches=frozenset({f"only {n}"})) for n, each in enumerate(case.observations)]
        result = follow(case.initials, claims, case.hidden, touched_by_hidden=(), limits=Limits(hidden_steps=30))
        return None if result.rejection is None else result.rejection.number

    cases = [random_case(seed) for seed in range(150)]
    assert any(wrongly(case) != first_rejected(case.initials, case.observations, case.hidden) for case in cases)


# --- the limits -------------------------------------------------------------------------------------------------


def counting(latest: float = 9.0) -> Observation[Cells]:
    return Observation(earliest=0, latest=latest, label="the counter is 5", apply=lambda s: [s] if s == (5,) else [])


def up(state: Cells) -> Iterator[HiddenStep[Cells]]:
    yield HiddenStep("up", "up", (state[0] + 1,))


def test_hidden_steps_are_taken_up_to_the_limit() -> None:
    result = follow([(0,)], [counting()], up, limits=Limits(hidden_steps=5))
    assert result.answer is Answer.CONFORMS
    assert (result.hidden_steps, result.actions) == (5, {"up": 5})
    assert [step.after for step in result.behaviour] == [(1,), (2,), (3,), (4,), (5,), (5,)]


def test_a_recording_is_undecided_if_the_limit_of_hidden_steps_was_reached() -> None:
    result = follow([(0,)], [counting()], up, limits=Limits(hidden_steps=4))
    assert result.answer is Answer.UNDECIDED
    assert result.reason == "more than 4 hidden steps between two observations are possible"


def test_a_limit_that_was_reached_earlier_leaves_a_later_rejection_undecided() -> None:
    first: Observation[Cells] = Observation(earliest=0, latest=0, label="anything", apply=lambda s: [s])
    never: Observation[Cells] = Observation(
        earliest=1, latest=1, label="never", apply=lambda s: [s] if s == (40,) else []
    )
    result = follow([(0,)], [first, never], up, limits=Limits(hidden_steps=30))
    assert result.answer is Answer.UNDECIDED
    assert result.observations == 1


def test_a_recording_is_undecided_if_there_are_too_many_states() -> None:
    result = follow([(0,)], [counting()], up, limits=Limits(hidden_steps=30, states=3))
    assert result.answer is Answer.UNDECIDED
    assert result.reason == "more than 3 states are possible at one observation"


def test_an_observation_can_be_undecided_by_itself() -> None:
    def apply(state: Cells) -> list[Cells]:
        raise Undecided("the log was removed above offset 3")

    result = follow([(0,)], [Observation(earliest=0, latest=1, label="cut", apply=apply)])
    assert (result.answer, result.reason) == (Answer.UNDECIDED, "the log was removed above offset 3")


def test_a_state_that_remains_decides_although_another_is_undecided() -> None:
    def apply(state: Cells) -> Iterator[Cells]:
        if state == (1,):
            raise Undecided("1 was removed")
        yield state

    def apply_other(state: Cells) -> Iterator[Cells]:
        yield from [] if state == (0,) else [state]

    one: Observation[Cells] = Observation(earliest=0, latest=0, label="one", apply=apply)
    assert follow([(0,), (1,)], [one]).answer is Answer.CONFORMS
    other: Observation[Cells] = Observation(earliest=1, latest=1, label="other", apply=apply_other)
    result = follow([(0,), (1,)], [one, other])  # 1 might have explained both
    assert (result.answer, result.reason, result.observations) == (Answer.UNDECIDED, "1 was removed", 1)


def test_hidden_steps_can_be_undecided() -> None:
    def hidden(state: Cells) -> Iterator[HiddenStep[Cells]]:
        raise Undecided("nothing is known of hidden steps")

    assert follow([(5,)], [counting()], hidden).answer is Answer.CONFORMS
    assert follow([(4,)], [counting()], hidden).answer is Answer.UNDECIDED


def test_states_are_cut_regularly_and_equal_ones_are_merged() -> None:
    """Each observation adds a number to one of two states. After a cut, only the last number is left of both."""

    def add(state: Cells) -> list[Cells]:
        return [(*state, 7)]

    seen: list[int] = []

    def cut(states: list[Cells]) -> list[Cells]:
        seen.append(len(states))
        return [state[-1:] for state in states]

    observations = [Observation(earliest=n, latest=n, label=str(n), apply=add) for n in range(200)]
    result = follow([(0, 1), (0, 2)], observations, cut=cut)
    assert result.answer is Answer.CONFORMS
    assert seen == [2, 2, 1, 1]
    assert max(len(step.after) for step in result.behaviour) == 1 + SETTLE_EVERY


# --- results ----------------------------------------------------------------------------------------------------


def test_a_rejection_names_the_observation_and_why_each_state_does_not_allow_it() -> None:
    result = follow(
        [(0,), (1,)],
        [
            Observation(earliest=0, latest=1, label="it stays", apply=lambda s: [s]),
            Observation(
                earliest=2, latest=3, label="it is 5", apply=lambda s: [], why=lambda s: f"the counter is {s[0]}"
            ),
        ],
    )
    rejection = result.rejection
    assert result.answer is Answer.REJECTED
    assert rejection is not None
    assert (rejection.number, rejection.observation.label, result.observations) == (2, "it is 5", 1)
    assert {each.why for each in rejection.candidates} == {"the counter is 0", "the counter is 1"}
    assert [step.label for step in rejection.candidates[0].path] == ["it stays"]
    assert set(rejection.before) == {(0,), (1,)}


def test_an_optional_observation_may_be_left_out() -> None:
    step: Observation[Cells] = Observation(
        earliest=0, latest=2, label="up", apply=lambda s: [(s[0] + 1,)], optional=True
    )
    for end in (0, 1):

        def at_end(state: Cells, end: int = end) -> list[Cells]:
            return [state] if state == (end,) else []

        last = Observation(earliest=3, latest=3, label="end", apply=at_end)
        assert follow([(0,)], [step, last]).answer is Answer.CONFORMS


def test_observations_must_be_in_order_and_windows_must_not_be_empty() -> None:
    one = counting()
    other: Observation[Cells] = Observation(earliest=-1, latest=9, label="earlier", apply=lambda s: [s])
    with pytest.raises(RecordingError, match="'earlier' is out of order"):
        follow([(5,)], [one, other])
    with pytest.raises(ValueError, match="before it begins"):
        Observation(earliest=2, latest=1, label="x", apply=lambda s: [s])
    with pytest.raises(RecordingError, match="no initial state"):
        follow([], [one])


def test_memory_does_not_grow_with_the_recording() -> None:
    """Every step of the behaviour leaves the memory, in order, and only the last ones are returned."""
    steps: list[str] = []

    def observations() -> Iterator[Observation[Cells]]:
        for number in range(1000):

            def apply(state: Cells, number: int = number) -> list[Cells]:
                return [(number,)] if state == (number - 1,) else []

            yield Observation(earliest=number, latest=number + 2, label=str(number), apply=apply)

    result = follow([(-1,)], observations(), kept_steps=5, settled=lambda step: steps.append(step.label))
    assert result.answer is Answer.CONFORMS
    assert steps == [str(i) for i in range(1000)]
    assert [step.label for step in result.behaviour] == ["995", "996", "997", "998", "999"]
