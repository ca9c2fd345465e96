"""Progress: what a search tells while it runs."""

from __future__ import annotations

from collections.abc import Callable

from checker.result import Statistics

Progress = Callable[[Statistics], None]
"""Called every so often during a search, with the counts so far."""

PROGRESS_EVERY = 500
"""Expanded states between two calls of the progress function."""
