"""Constructs: code in a spec's functions that is not understood, so that more of a state is recorded as read."""

from __future__ import annotations

from types import CodeType
from typing import NamedTuple, Self


class Construct(NamedTuple):
    """A construct and its location.

    Attributes:
        text: the construct, for example ``import`` or ``json.dumps``.
        function: the qualified name of the function that contains it; empty if it is not in a function.
        file: the path of the source file; empty if unknown.
        line: the line in the file, from 1; 0 if unknown.
    """

    text: str
    function: str = ""
    file: str = ""
    line: int = 0

    @classmethod
    def of(cls, text: str, code: CodeType, line: int | None = None) -> Self:
        """Create a construct in a function's code. If no line is given, it is the first line of the function."""
        function = code.co_qualname.partition(".<locals>.<")[0]  # a comprehension or a lambda is part of its function
        return cls(text, function, code.co_filename, line or code.co_firstlineno)
