"""Text for people, from names and values that may hold anything."""

from __future__ import annotations

import unicodedata

_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of what controls how text is shown: C0, DEL and C1; format characters, such as those that
change the direction of text or have no width; surrogates; line and paragraph separators."""

_NOT_XML = "\ufffe\uffff"
"""The noncharacters that XML cannot hold."""


def visible(text: str) -> str:
    r"""A text as one line in which nothing is hidden: control characters are written as Python's escapes.

    Names and values come from specs and from trace files. What they hold must not control a terminal, start a line
    of its own, which a CI system may take for a command, or show text in another order than it has.

    Example:
        >>> print(visible("a\x1b[2J\n\u202e"))
        a\x1b[2J\n\u202e
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if unicodedata.category(character) in _CATEGORIES or character in _NOT_XML:
        return character.encode("unicode_escape").decode("ascii")
    return character
