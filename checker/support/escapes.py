"""Escapes: safely displaying names and values that can contain any character."""

from __future__ import annotations

import unicodedata

_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""The Unicode categories of characters that control how text is displayed: C0, DEL and C1; format characters, for
example those that change the direction of text or have no width; surrogates; line and paragraph separators."""

_NOT_XML = "\ufffe\uffff"
"""The noncharacters that XML cannot contain."""


def visible(text: str) -> str:
    r"""Return the text as one line, with control characters and other hidden characters replaced by Python's escapes.

    Names and values come from specs and from trace files. They must not control a terminal, start a new line, which a
    CI system may interpret as a command, or change the order in which text is displayed.

    Example:
        >>> print(visible("a\x1b[2J\n\u202e"))
        a\x1b[2J\n\u202e
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if unicodedata.category(character) in _CATEGORIES or character in _NOT_XML:
        return character.encode("unicode_escape").decode("ascii")
    return character
