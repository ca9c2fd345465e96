"""What `reports/pages/mutants.md` says, which `make pages` makes from a run."""

from __future__ import annotations

import functools
import html
import itertools
import re
from pathlib import Path

import attrs

PAGE = Path(__file__).parents[2] / "reports" / "pages" / "mutants.md"


@attrs.frozen
class Row:
    """The entry of a mutant on the page.

    Attributes:
        bounds: the bounds that differ; ``default`` if none do.
        result: what became of it.
        violated: the states of a shortest trace by property; None of a witness that is never shown.
        text: the last cell as a whole.
    """

    bounds: str
    result: str
    violated: dict[str, int | None]
    text: str


@attrs.frozen
class Section:
    """The section of a spec on the page.

    Attributes:
        mutants: its mutants by name.
        kills: the number of mutants that each property kills.
        alone: the mutants that only this property kills; or else what the cell says.
        said: the last cell of each property, in plain text.
    """

    mutants: dict[str, Row]
    kills: dict[str, int]
    alone: dict[str, list[str]]
    said: dict[str, str]


def _cells(line: str) -> list[str]:
    return [html.unescape(each.strip()) for each in line.strip("|\n").split("|")]


def _names(text: str) -> list[str]:
    """The names of mutants in a cell that is a list of them; none if it is a sentence."""
    return re.findall(r"`([^`]+)`", text) if text.startswith("`") else []


def _section(text: str) -> Section:
    tables = [table.splitlines()[2:] for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]
    _, *mutants, properties = [[_cells(line) for line in table] for table in tables]
    return Section(
        {
            name.strip("`"): Row(
                bounds.strip("`"),
                result,
                {
                    of: None if states == "never shown" else int(states)
                    for of, states in re.findall(r"`(\w+)` (\d+|never shown)(?=[,;]|$)", said)
                },
                said,
            )
            for name, _, bounds, result, said, *_ in itertools.chain(*mutants)
        },
        {name.strip("`"): int(kills) for name, kills, *_ in properties},
        {name.strip("`"): _names(said) for name, _, _, said in properties},
        {name.strip("`"): said for name, _, _, said in properties},
    )


@functools.cache
def page() -> dict[str, Section]:
    """The section of each spec on the page, by name."""
    _, *sections = re.split(r"^# Mutants of ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {html.unescape(text.partition("\n")[0]): _section(text) for text in sections}
