"""Words for names and numbers in messages to people."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


def nearest(name: str, known: Iterable[str], describe: Callable[[str], str] = repr) -> str:
    """What to say after an unknown name: the nearest known ones, or all of them when they are few."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or (names if len(names) == 1 else [])
    if close:
        return f": did you mean {' or '.join(map(describe, close))}?"
    return f": choose from {', '.join(map(describe, names))}" if 1 < len(names) <= 12 else ""


def counted(number: int, name: str, plural: str = "") -> str:
    """A number of things: ``1 state``, ``1,177 states``."""
    return f"{number:,} {name if number == 1 else plural or f'{name}s'}"
