"""Constructs: code in a spec's functions that recording does not understand, so that calls read more than they need."""

from __future__ import annotations

from types import CodeType
from typing import NamedTuple, Self


class Construct(NamedTuple):
    """A construct, and where it is.

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
        """A construct in a function's code; without a line, the line that the function begins in."""
        function = code.co_qualname.partition(".<locals>.<")[0]  # a comprehension or a lambda is part of its function
        return cls(text, function, code.co_filename, line or code.co_firstlineno)
