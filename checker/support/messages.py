"""Helpers that build parts of messages from names and numbers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


def nearest(name: str, known: Iterable[str], describe: Callable[[str], str] = repr) -> str:
    """Return the end of a message about an unknown name, which suggests the nearest names, or all if there are few."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or (names if len(names) == 1 else [])
    if close:
        return f": did you mean {' or '.join(map(describe, close))}?"
    return f": choose from {', '.join(map(describe, names))}" if 1 < len(names) <= 12 else ""


def counted(number: int, name: str, plural: str = "") -> str:
    """Return a number with its noun in the singular or plural, for example ``1 state`` or ``1,177 states``."""
    return f"{number:,} {name if number == 1 else plural or f'{name}s'}"
