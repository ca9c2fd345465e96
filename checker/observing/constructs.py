"""Constructs: the parts of a spec's code that the analysis does not support.

The engines assume that a call to such code reads more of the state than it may actually read.
"""

from __future__ import annotations

from types import CodeType
from typing import NamedTuple, Self

CHANGEABLE = "which could be changed"
"""The end of `Construct.text` for an object that a property can reach and that is not immutable."""


class Construct(NamedTuple):
    """A piece of code that the analysis does not support, and its location.

    Attributes:
        text: the code or a description of it, for example ``import`` or ``json.dumps``.
        function: the qualified name of the function that contains the code, or an empty string if it is not in a
            function.
        file: the path of the source file, or an empty string if it is unknown.
        line: the line number in the file, starting from 1, or 0 if it is unknown.
    """

    text: str
    function: str = ""
    file: str = ""
    line: int = 0

    @classmethod
    def of(cls, text: str, code: CodeType, line: int | None = None) -> Self:
        """Create a construct that is located in a function.

        Parameters:
            text: the code or a description of it.
            line: the line number in the file. None means the first line of the function.
        """
        function = code.co_qualname.partition(".<locals>.<")[0]  # name the function around a comprehension or a lambda
        return cls(text, function, code.co_filename, line or code.co_firstlineno)
