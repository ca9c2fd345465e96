"""Functions that format parts of messages: suggestions of similar names, and numbers followed by a noun."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

SYNONYMS = {"invariants": "properties", "invariant": "properties", "init": "initial_states", "constraint": "within"}
"""Names that users of other tools expect, and those that stand for them here."""


def nearest(name: str, known: Iterable[str], describe: Callable[[str], str] = repr) -> str:
    """Return a clause that suggests similar names, to be appended to an error message about an unknown name.

    Parameters:
        known: the names that exist.
        describe: a function that takes a name and returns the text to display for it.

    Returns:
        A clause that suggests similar names. If there are none, a clause that lists all names, or an empty string if
        there are more than twelve names.
    """
    names = sorted(known)
    name = SYNONYMS[name] if name not in names and SYNONYMS.get(name) in names else name
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    close = close or [each for each in names if name and name in each][:3] or (names if len(names) == 1 else [])
    if close:
        return f": did you mean {' or '.join(map(describe, close))}?"
    return f": choose from {', '.join(map(describe, names))}" if 1 < len(names) <= 12 else ""


def counted(number: int, name: str, plural: str = "") -> str:
    """Return a number followed by a noun in the singular or plural, for example ``1 state`` or ``1,177 states``."""
    return f"{number:,} {name if number == 1 else plural or f'{name}s'}"
