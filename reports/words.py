"""Words for what a run found, in every view of it."""

from __future__ import annotations

from checker.result import Result, Verdict


def violations(result: Result, violated: str, unseen: str) -> str:
    """The properties violated and the witnesses never shown, in words.

    Parameters:
        result: the result.
        violated: what is said of the first, with ``{}`` for their names.
        unseen: what is said of the others.
    """
    missed = [item.property for item in result.properties if item.verdict is Verdict.VIOLATED]
    said = []
    for words, witnesses in ((violated, False), (unseen, True)):
        names = ", ".join(item.name for item in missed if item.kind.is_witness == witnesses)
        said += [words.format(names)] if names else []
    return "; ".join(said)
