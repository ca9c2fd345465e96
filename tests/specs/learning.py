"""The compiled engine without its first calls: it learns in small spaces too, which it would explore by calls alone."""

from __future__ import annotations

from typing import Any

import attrs

from leadline.checker import Limits, Result, Spec
from leadline.checker.engines import compiled
from leadline.checker.engines.progress import Progress
from leadline.checker.settings import CompiledSettings


def learning(settings: CompiledSettings | None = None) -> CompiledSettings:
    """Settings with which a search learns from its first state."""
    settings = settings or CompiledSettings()
    return attrs.evolve(settings, tuning=attrs.evolve(settings.tuning, learn_after=0))


def explore(
    spec: Spec[Any],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: CompiledSettings | None = None,
) -> Result:
    """Search a spec, and learn from its first state. See `leadline.checker.engines.compiled.explore`."""
    return compiled.explore(spec, limits, progress, learning(settings))
