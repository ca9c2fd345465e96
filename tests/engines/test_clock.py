"""A busy machine and an idle one decide alike: what is learned and what is called, checked and compared."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Spec
from leadline.checker.engines import compiled
from leadline.checker.result import Statistics
from leadline.checker.settings import CompiledSettings, Tuning
from leadline.reports.loading import load_spec
from tests.public.figures import PROTOCOLS

LIMITS = Limits(keep_going=True, max_states=3_000)

FORMS = {"one form": Tuning(learn_after=0), "both forms": Tuning(learn_after=4_000, always=10)}


@pytest.fixture(scope="module")
def spec() -> Spec[Any]:
    """Some of its functions are learned, and some are called."""
    (protocol,) = (each for each in PROTOCOLS if each.name == "ewd998")
    return load_spec(str(protocol.files()[0]))


def decisions(spec: Spec[Any], tuning: Tuning) -> Statistics:
    """All statistics of a search, without times."""
    found = compiled.explore(spec, LIMITS, settings=CompiledSettings(workers=1, tuning=tuning)).statistics
    assert found.learning is not None
    assert found.learning.costliest is not None
    assert found.calls > 100
    assert found.learning.called > 100
    learning = attrs.evolve(found.learning, costliest=attrs.evolve(found.learning.costliest, seconds=0.0))
    reads = tuple(attrs.evolve(read, seconds=0.0) for read in found.whole_reads)
    return attrs.evolve(found, seconds=0.0, learning=learning, whole_reads=reads)


def clock(seed: int) -> Callable[[], float]:
    """A clock of a machine that does something else now and then, for up to a minute."""
    draw = random.Random(seed)
    steps = (60 * draw.random() ** 20 for _ in itertools.count())
    return itertools.accumulate(steps).__next__


@pytest.mark.parametrize("tuning", FORMS.values(), ids=FORMS)
def test_no_decision_depends_on_the_clock(spec: Spec[Any], tuning: Tuning, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = decisions(spec, tuning)
    for seed in range(2):
        with monkeypatch.context() as patch:
            for name in ("monotonic", "perf_counter", "process_time", "time"):
                patch.setattr(time, name, clock(seed))
            assert decisions(spec, tuning) == expected
