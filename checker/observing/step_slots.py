"""The slots of a step: the slots of the state before it, followed by the slots of the state after it."""

from __future__ import annotations

SECOND = 1 << 24
"""The index of the first slot of the state after a step. Compiled loops also use this number."""
