"""The registry of report formats. A format defines the class of values that it accepts and the function that writes
them.

There is a module for each kind of report, so that a command imports only the writers that it needs. The tables in these
modules define the options of the commands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import attrs

JSON_HELP = (
    "Write the result to FILE as a JSON object. If FILE is -, write it to standard output and print nothing else."
)

T = TypeVar("T")


@attrs.frozen
class Format(Generic[T]):
    """A report format.

    Attributes:
        needs: the class of values that this format can write.
        write: a function that converts such a value to text.
        help: the help text of the option.
        metavar: the name of the option's value in the help text: ``FILE``, or ``DIR`` if the report is a file
            ``index.html`` in a folder. Empty if the text is written to standard output.
        appends: true if the text is appended to the file.
    """

    needs: type[T]
    write: Callable[[T], str]
    help: str
    metavar: str = "FILE"
    appends: bool = False

    def text(self, *values: object) -> str | None:
        """Convert the first value that is an instance of `needs` to text. Return None if there is no such value."""
        return next((self.write(value) for value in values if isinstance(value, self.needs)), None)
