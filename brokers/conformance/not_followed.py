"""The errors of recordings that cannot be converted to observations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leadline.checker.errors import LeadlineError, error_line


class NotFollowed(LeadlineError):
    """Raised when a recording cannot be converted to observations, for example because information is missing."""


class LacksField(NotFollowed):
    """Raised when a line of a recording lacks a field. To find out which line, read a recording with `names_lines`."""


@contextmanager
def expecting_the_format(path: Path) -> Iterator[None]:
    """Return a context manager that raises LacksField if a line of a recording lacks a field, and NotFollowed if a
    field has the wrong type.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, KeyError) and isinstance(error.args[0], str):
            raise LacksField(f"{path}: a line lacks the field {error}, see brokers/recording.md") from error
        raise NotFollowed(
            f"{path}: a line is not in the format of brokers/recording.md: {error_line(error)}"
        ) from error
