"""Settings that exclude each other are refused when they are made, in the same words as on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from leadline.checker import Limits, SpecError
from leadline.checker.engines import ENGINES
from leadline.checker.settings import CompiledSettings, SparkSettings
from leadline.invariants.catalog import CATALOG

SPEC = CATALOG["atomic/kip-320"]

REFUSED: dict[str, Callable[[], object]] = {
    "checkpoint cannot be used with resume, which saves": lambda: CompiledSettings(checkpoint=Path("a"), resume="b"),
    "checkpoint_every requires checkpoint or resume": lambda: CompiledSettings(checkpoint_every=5.0),
    "work_dir cannot be used with resume, which uses": lambda: SparkSettings(work_dir="a", resume="b"),
    "coverage cannot be used with resume, because": lambda: ENGINES["compiled"](
        SPEC, Limits(coverage=True), settings=CompiledSettings(resume="a")
    ),
    "coverage cannot be used with engine spark: use": lambda: ENGINES["spark"](SPEC, Limits(coverage=True)),
}


@pytest.mark.parametrize("says", REFUSED)
def test_settings_that_exclude_each_other_are_refused(says: str) -> None:
    with pytest.raises(SpecError, match=f"^{says}"):
        REFUSED[says]()
