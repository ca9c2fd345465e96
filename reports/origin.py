"""The origin of a result: the version, command and date that are needed to repeat it."""

from __future__ import annotations

import datetime
import shlex
import sys
from importlib.metadata import version

import attrs


@attrs.frozen
class Origin:
    """The origin of a result.

    Attributes:
        date: the time at which the run ended, in UTC and ISO 8601 format.
    """

    version: str
    command: str
    date: str

    @classmethod
    def now(cls) -> Origin:
        """Return the origin of a result that the current process has just produced."""
        date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return cls(version("leadline"), shlex.join(["leadline", *sys.argv[1:]]), date)
