"""The columns of releases that follow one another: each has the rules of the one before it, except
those that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from leadline.model.kafka.published import span
from leadline.model.rules import RuleColumn

C = TypeVar("C", bound=RuleColumn)

Releases = Sequence[tuple[str, tuple[str, ...], dict[str, str]]]
"""Releases, oldest first: a name, the published versions, and the rules that changed. The first one has all rules."""


def columns_of(make: Callable[..., C], family: str, summary: str, releases: Releases) -> tuple[C, ...]:
    """Return the columns of releases.

    Parameters:
        make: the class of the columns.
        family: the part of their names before the ``/``.
        summary: the beginning of their summaries, which end with the versions.
    """
    values: dict[str, str] = {}
    found: list[C] = []
    for name, versions, changed in releases:
        values = values | changed
        found.append(
            make(
                name=f"{family}/{name}",
                summary=f"{summary} {span(versions)}",
                values=values,
                changed=changed if found else {},
                versions=versions,
            )
        )
    return tuple(found)
