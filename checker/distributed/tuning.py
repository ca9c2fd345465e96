"""Tuning: sizes that decide how a search on Spark is divided."""

from __future__ import annotations

import attrs

from checker.compiled.tuning import DEFAULT as COMPILED
from checker.compiled.tuning import Tuning


@attrs.frozen(kw_only=True)
class SparkTuning:
    """Sizes of the Spark engine. The defaults are right for every spec; tests use smaller ones.

    Attributes:
        large: states of the first level that Spark expands; the driver searches the levels before it alone.
        small: from then on, the driver expands levels of fewer states than this.
        task: states that one task expands at most, which bounds its memory.
        compiled: sizes of the compiled engine, which the driver and the workers use.
    """

    large: int = 200_000
    small: int = 10_000
    task: int = 500_000
    compiled: Tuning = COMPILED


DEFAULT = SparkTuning()
