"""What searches of a mix have found of a step of an upgrade, and how it is said.

The searches are those of the matrices `upgrades` and `rolls`, whose tables are stored. A mix that they do not have is
searched when the advice is asked for.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.errors import LeadlineError
from leadline.model.kafka.mixes import mix_of
from leadline.model.kafka.releases import Column
from leadline.reports.document import Span, Table, plain, words
from leadline.reports.kafka.bugs import IMAGES, Bug, command_for, read_archive
from leadline.reports.loading import load_spec, shipped_column
from leadline.reports.matrix import Configuration, Matrix, matrix_file, read_matrix
from leadline.reports.stored_tables import stored_tables


@attrs.frozen
class Found:
    """What searches of one configuration found in a mix.

    Attributes:
        roll: the value of the bound.
        violated: the text of each cell with a violation, keyed by property.
        undecided: true if a cell is not decided.
    """

    mix: str
    roll: object
    configuration: str
    command: str
    violated: Mapping[str, str]
    undecided: bool


def searched(old: Column, new: Column, *rolls: str) -> tuple[tuple[Found, ...], str]:
    """Return what searches say of a mix while it goes on in certain ways, and why they say nothing. A mix that stored
    tables do not have is searched now.
    """
    names = [each.same_as or each.name for each in (old, new)]
    mix = f"{names[0].partition('+')[0]}..{names[1].partition('/')[2].partition('+')[0]}"
    found, failed = list[Found](), ""
    for name in ("upgrades", "rolls"):
        try:
            matrix, tables = _tables(name)
            own = [each for each in matrix.configurations if matrix.bounds_of(each).get("roll", "no") in rolls]
            cells = _stored(matrix, tables, mix) if mix in matrix.specs else _cells_now(matrix, mix, own)
            found += [_found(mix, matrix.bounds_of(each), each, cells[each.name]) for each in own if each.name in cells]
        except LeadlineError as error:
            failed = str(error)
    return tuple(found), "" if found else failed


_Verdicts: TypeAlias = dict[str, tuple[str, str]]
"""The looks and the text of each verdict, keyed by property."""


def _found(mix: str, bounds: Mapping[str, Any], configuration: Configuration, cells: _Verdicts) -> Found:
    return Found(
        mix,
        bounds.get("roll", "no"),
        configuration.name,
        f"leadline explore {mix} -b {bounds_text(bounds)}",
        {name: text for name, (looks, text) in cells.items() if looks == "violated"},
        any(looks == "incomplete" for looks, _ in cells.values()),
    )


def _stored(matrix: Matrix, tables: Mapping[str, Table], mix: str) -> dict[str, _Verdicts]:
    names = {matrix.label(each): each for each in matrix.properties or ()}
    found: dict[str, _Verdicts] = {}
    for configuration, table in tables.items():
        for row in (row for row in table.rows if plain(row[0].text) == mix):
            cells = zip(table.head[1:], row[1:], strict=True)
            found[configuration] = {names[head]: (cell.looks, plain(cell.text)) for head, cell in cells}
    return found


def _cells_now(matrix: Matrix, mix: str, configurations: list[Configuration]) -> dict[str, _Verdicts]:
    every = [attrs.evolve(each, only_in=[], not_in=[]) for each in configurations]
    columns = attrs.evolve(matrix, specs=[mix], configurations=every).columns() if every else ()
    return {
        each.configuration.name: {name: (cell.verdict.value, cell.text) for name, cell in each.cells.items()}
        for each in columns
    }


@functools.cache
def _tables(name: str) -> tuple[Matrix, Mapping[str, Table]]:
    path = matrix_file(Path(name))
    stored = stored_tables(path)
    if stored is None:
        raise LeadlineError(f"there are no stored tables of {name}: leadline matrix {name}")
    return read_matrix(path), {block.name: block for block in stored.document.blocks if isinstance(block, Table)}


# --- what is said of it -------------------------------------------------------------------------------------------


def said_of(found: tuple[Found, ...]) -> Iterator[tuple[Span, ...]]:
    """Yield what is violated, and then all configurations in which nothing is."""
    yield from (line for each in found for line in _said(each))
    yield from _quiet(found)


def _quiet(found: tuple[Found, ...]) -> Iterator[tuple[Span, ...]]:
    for undecided, kept in (False, "nothing is lost, and nothing is stuck"), (True, "something is not decided"):
        if names := [each.configuration for each in found if each.undecided == undecided and not each.violated]:
            yield words(f"{kept}, if {'; or if '.join(names)}")


def _said(found: Found) -> Iterator[tuple[Span, ...]]:
    """Yield what is violated, with the sentence of the property."""
    spec = load_spec(found.mix)
    sentences = {each.name: each.sentence for each in (*spec.checks, *spec.optional)}
    for name, text in found.violated.items():
        traced = re.sub(r"\((\d+)\)", r"in a trace of \1 states", text)
        said = (f"{found.configuration}: it should hold that {sentences[name]}. ", Span(name, "violated"))
        command = Span(f"{found.command} -i {name}", "code")
        avoided = (f". What avoids it: `{command_for(bug.ticket)}`",) if (bug := _bug(found, name)) else ()
        yield words(*said, f" is {traced}: ", command, *avoided)


def what_avoids(found: tuple[Found, ...]) -> tuple[str, ...]:
    """Return what avoids the violations that none of the two releases has."""
    bugs = {bug.ticket: bug for each in found for name in each.violated if (bug := _bug(each, name))}
    return tuple(f"{bug.until.removesuffix('.')}: {command_for(ticket)}" for ticket, bug in bugs.items())


def of_images(version: str, *, levels: bool) -> tuple[str, ...]:
    """Return the bugs of images of the metadata log in a release, each with what avoids it.

    Parameters:
        levels: true for those that show once levels are changed, false for those that restarts alone can show.
    """
    archive, column = read_archive().of_family(IMAGES), shipped_column(f"{IMAGES}/{version}")
    bugs = [] if column is None else [bug for bug in archive.bugs if archive.affects(bug, column)]
    own = [bug for bug in bugs if (bug.bounds.get("levels") != 0) == levels]
    return tuple(f"{bug.sentence} {bug.until.removesuffix('.')}: {command_for(bug.ticket)}" for bug in own)


def _bug(found: Found, violated: str) -> Bug | None:
    """Return the archive's bug of the same change of a cluster with the same kind of controller, or None if a release
    has the violation, too.
    """
    if found.violated[violated].endswith("too"):
        return None
    controller = mix_of(found.mix).old.controller
    bugs = [bug for bug in read_archive().mixes if mix_of(bug.affected[0]).old.controller == controller]
    like = [bug for bug in bugs if _change(bug.bounds.get("roll")) == _change(found.roll)]
    of_features = found.roll in ("features", "back")
    like = [b for b in like if b.property == violated or (of_features and "min_isr_in_files" not in b.bounds)]
    return min(like, key=lambda bug: (bug.property != violated, found.mix not in bug.affected), default=None)


def _change(roll: object) -> object:
    """Return the same value for a mix that does not change, and for one whose brokers restart with the new release."""
    return "releases" if roll in (None, "no") else roll
