"""Samples of cases that take long together: ``EVERY=1 pytest FILE`` runs every case."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

EVERY = bool(os.environ.get("EVERY"))
"""Whether every case is run."""


def sampled(cases: Sequence[T], step: int) -> Sequence[T]:
    """Every case, or one in `step`."""
    return cases if EVERY else cases[::step]
