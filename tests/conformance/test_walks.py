"""Walks of the model of each release, projected to what a recorder sees: all conform, and changed ones do not."""

from __future__ import annotations

import random
from collections import Counter

import attrs
import pytest

from leadline.checker.conformance import Answer, Limits, Observation, follow
from leadline.checker.state import without_history
from leadline.model.kafka.conformance.following import FollowedRelease, forget
from leadline.model.kafka.mixes import Mix, mix_of
from leadline.model.kafka.releases import RELEASES, Column
from leadline.model.kafka.state import Partition
from tests.conformance.walks import KINDS, beginning, changed, recorded, release, walk

STEPS = 40


def followed(of: FollowedRelease, observations: list[Observation[Partition]]) -> Answer:
    result = follow([beginning(of)], observations, of.hidden, forget=forget, limits=Limits(states=20_000))
    return result.answer


MIXES = [mix_of(f"kafka/{pair}") for pair in ("0.10.2..0.11", "2.1..2.7", "2.7..2.8.1", "2.8..3.9-zk", "3.9..4.3")]


@pytest.mark.parametrize("column", [*RELEASES, *MIXES], ids=lambda column: column.name)
def test_walks_of_every_release_conform(column: Column | Mix) -> None:
    of = release(column)
    rng = random.Random(column.name)
    steps = walk(of, STEPS, rng)
    assert len(steps) == STEPS
    for spread in (0.0, 1.5):
        assert followed(of, recorded(of, steps, rng, spread)) is Answer.CONFORMS


@pytest.mark.parametrize("column", RELEASES[::5], ids=lambda column: column.name)
def test_actions_only_write_history(column: Column) -> None:
    """Without history, every action is possible as before, and does the same to everything else."""
    of = release(column)
    state = attrs.evolve(beginning(of), next_value=0)
    rng = random.Random(1)
    for name, values, before, _ in walk(of, 30, rng):
        process_events = attrs.evolve(before, exposed=state.exposed, acked=state.acked)
        after = [without_history(each) for each in of.take(name, process_events, *values)]
        assert after == [without_history(each) for each in of.take(name, without_history(before), *values)]
        state = next(iter(of.take(name, process_events, *values)))
    assert state.acked or state.exposed


def test_changed_walks_are_rejected() -> None:
    """Each kind of mistake in a recording is noticed, unless a step that nobody sees explains it.

    A leader whose high watermark is one higher may have counted another follower's request, which waits in purgatory.
    """
    tried: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for seed, column in enumerate((RELEASES[1], RELEASES[5], RELEASES[9], RELEASES[19], RELEASES[23]) * 2):
        of = release(column)
        rng = random.Random(seed)
        steps = walk(of, STEPS, rng)
        for kind in KINDS:
            places = [(n, other) for n, step in enumerate(steps) if (other := changed(kind, step)) is not None]
            for number, other in rng.sample(places, min(1, len(places))):
                tried[kind] += 1
                wrong = [*steps[:number], other, *steps[number + 1 :]]
                observations = recorded(of, wrong, rng, 0.0)
                result = follow([beginning(of)], observations, of.hidden, forget=forget)
                if result.answer is not Answer.REJECTED:
                    missed[kind] += 1
                    assert "park_fetch" in result.actions
    assert set(tried) == set(KINDS)
    assert set(missed) <= {"high watermark"}
    assert missed.total() < tried["high watermark"] // 2
