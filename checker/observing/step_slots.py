"""The slots of a step: those of the state before it, and then those of the state after it."""

from __future__ import annotations

SECOND = 1 << 24
"""The slots of the state after a step are counted from here. Compiled loops use this number too."""
