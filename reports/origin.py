"""Origin: what made a result, so that it can be made again."""

from __future__ import annotations

import datetime
import shlex
import sys
from importlib.metadata import version

import attrs


@attrs.frozen
class Origin:
    """What made a result.

    Attributes:
        version: of leadline.
        command: what was typed.
        date: when the result was complete: UTC, in ISO 8601.
    """

    version: str
    command: str
    date: str

    @classmethod
    def now(cls) -> Origin:
        """The origin of what this process has just made."""
        date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return cls(version("leadline"), shlex.join(["leadline", *sys.argv[1:]]), date)
