"""Words for what a run found, in every view of it."""

from __future__ import annotations

from collections.abc import Iterable

from checker.properties import Kind
from checker.result import Result, Verdict
from checker.visible import visible


def violations(result: Result, violated: str, unseen: str) -> str:
    """The properties violated and the witnesses never shown, in words.

    Parameters:
        result: the result.
        violated: what is said of the first, with ``{}`` for their names.
        unseen: what is said of the others.
    """
    found = [item.property for item in result.properties if item.verdict is Verdict.VIOLATED]
    return missed_text([(item.name, item.kind) for item in found], violated, unseen)


def missed_text(missed: Iterable[tuple[str, Kind]], violated: str, unseen: str) -> str:
    """The same for properties of which only the names and kinds are known. See `violations`."""
    known, said = list(missed), []
    for words, witnesses in ((violated, False), (unseen, True)):
        names = ", ".join(visible(name) for name, kind in known if kind.is_witness == witnesses)
        said += [words.format(names)] if names else []
    return "; ".join(said)
