"""The identity of a search: the data that must be unchanged when a saved search is resumed."""

from __future__ import annotations

import contextlib
import json
from typing import TypeVar

from leadline.checker.bounds import describe_bounds
from leadline.checker.errors import LeadlineError
from leadline.checker.observing.digest import code_digest
from leadline.checker.result import Limits
from leadline.checker.spec import Spec

FORMAT = 9
"""The version of the file format of a saved search."""


S = TypeVar("S")


def identity(spec: Spec[S], limits: Limits) -> dict[str, object]:
    """Return the identity of a search. A saved search can be resumed only if the identities match.

    Some limits, such as the depth, are not part of the identity and may change.
    """
    return {
        "spec": spec.name,
        "bounds": {name: value for name, value, *_ in describe_bounds(spec.bounds)},
        "properties": [item.name for item in spec.checks_and_premises],
        "keep_going": limits.keep_going,
        "sought": list(limits.sought),
        "traces": limits.traces,
        "code": code_digest(spec),
        "format": FORMAT,
    }


def refuse_other_format(written: bytes, what: str) -> None:
    """Check that the files of a saved search have the format of this version of leadline.

    Parameters:
        written: the content of the file that contains the `identity` of the search.
        what: the beginning of the error message, for example "... contains a search".

    Raises:
        LeadlineError: if the file has a different format version.
    """
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(written)
        if isinstance(found, dict) and type(found.get("format")) is int and found["format"] != FORMAT:
            raise LeadlineError(f"{what} {_other('format', found)}: it cannot be resumed by this search")


def refuse_other(found: dict[str, object], wanted: dict[str, object], what: str) -> None:
    """Check that the identity of a saved search equals the identity of the current search.

    Parameters:
        what: the beginning of the error message, for example "... contains a search".

    Raises:
        LeadlineError: if the identities differ. The message names the first difference.
    """
    for name, value in wanted.items():
        if found.get(name) != value:
            raise LeadlineError(f"{what} {_other(name, found)}: it cannot be resumed by this search")


def _other(name: str, found: dict[str, object]) -> str:
    value = found.get(name)
    match name:
        case "spec":
            return f"of {value}"
        case "bounds" if isinstance(value, dict):
            return "with different bounds, " + ",".join(f"{bound}={chosen}" for bound, chosen in value.items())
        case "properties" if isinstance(value, list):
            return f"with different properties, {', '.join(value) or 'none'}"
        case "keep_going":
            return f"that was run {'with' if value else 'without'} --keep-going"
        case "sought" if isinstance(value, list):
            return f"that searches first for {', '.join(value) or 'any violation'}"
        case "traces":
            return f"that was run with --traces {value}"
        case "code":
            return "from before a change to the spec, its data or leadline"
    return "of a different version of leadline"
