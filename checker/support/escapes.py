"""Escapes control characters in names and values before they are displayed."""

from __future__ import annotations

import unicodedata

_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""The Unicode categories of the characters that are replaced: control characters; format characters, such as those that
change the direction of text; surrogates; and line and paragraph separators.
"""

_NOT_XML = "\ufffe\uffff"
"""The noncharacters, which XML does not allow."""


def visible(text: str) -> str:
    r"""Return the text with control characters and invisible characters replaced by Python escapes.

    Names and values come from specs and from trace files. A name or value that is displayed must not control the
    terminal, start a new line that a CI system interprets as a command, or change the direction of text.

    Example:
        >>> print(visible("a\x1b[2J\n\u202e"))
        a\x1b[2J\n\u202e
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if unicodedata.category(character) in _CATEGORIES or character in _NOT_XML:
        return character.encode("unicode_escape").decode("ascii")
    return character
