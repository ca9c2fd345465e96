"""Random specs that look at their states in every way get the oracle's answers from the compiled engine.

All comparisons of learned calls are switched off, so that recording has to be exact by itself. To try more specs:
``HOSTILE_SPECS=20000 python -m pytest tests/engines/test_hostile.py -n 2``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, SpecError
from leadline.checker.engines import oracle
from leadline.checker.settings import CompiledSettings
from tests.specs import learning, random_specs
from tests.specs.going_wrong import ONLY_LEARNED
from tests.suite.samples import EVERY

SPECS = int(os.environ.get("HOSTILE_SPECS", "60" if EVERY else "30"))
LIMITS = Limits(depth=5, keep_going=True)


TUNING = attrs.evolve(ONLY_LEARNED, pure_states=2)
"""Purity is checked in two states only: its calls would fill the specs' caches before the recorded ones do."""


def answer(explore: Callable[..., Any], text: str, **settings: Any) -> Any:
    """What an engine says of a spec, or "refused"."""
    spec = random_specs.spec_of(text)
    try:
        result = explore(spec, LIMITS, **settings)
    except SpecError:
        return "refused"
    statistics = result.statistics
    verdicts = [(item.property.name, item.verdict, list(map(len, item.traces))) for item in result.properties]
    return verdicts, statistics.levels, statistics.generated, statistics.actions


@pytest.mark.parametrize("seed", range(SPECS))
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_a_random_spec_is_explored_as_by_the_oracle(seed: int) -> None:
    text = random_specs.source(seed)
    of_compiled, of_oracle = (
        answer(learning.explore, text, settings=CompiledSettings(workers=1, tuning=TUNING)),
        answer(oracle.explore, text, tuning=TUNING),
    )
    # the oracle also evaluates a property that is violated already, and may find there that it raises
    assert of_compiled == of_oracle or "refused" in (of_compiled, of_oracle), text
