"""The command `leadline matrix`, which shows the verdicts on several specs and configurations as tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from leadline.checker.bounds import bounds_text
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.reports.cli.outputs import Attempts, Files, format_options
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE
from leadline.reports.formats.matrices import MATRIX_FORMATS
from leadline.reports.lines import say
from leadline.reports.matrix import Column, Matrix, MatrixCell, Tables, matrix_file, read_matrix, summary
from leadline.reports.terminal.console import STYLES, console
from leadline.reports.terminal.progress import progress_line


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@format_options(MATRIX_FORMATS)
def matrix(file: Path | None, **wanted: Path | bool | None) -> int:
    """Search specs in several configurations, and show the verdicts as tables.

    FILE is a TOML file. Without FILE, the shipped file is used, which shows what each release of Kafka can lose. FILE
    can also be the name of another shipped file: designs, states or transactions. The last one shows what a
    read_committed consumer can see.

    \b
    specs = ["rpc/kip-101", "rpc/kip-320"]
    bounds = { max_epoch = 2 }
    max_states = 1_000_000
    [[configurations]]
    name = "acks=all"
    bounds = { acks = "all" }

    Each cell shows a verdict: holds, with the number of distinct states; violated, with the number of states in a
    shortest trace; or incomplete, with the depth reached. "by design" marks a violation of a property that the
    configuration does not promise. With properties = [], the tables show only the numbers of states.

    Exit code 0: all searches were completed, whatever their verdicts; 2: the file is invalid; 3: the command was
    interrupted, and the tables show only the searches that were completed.
    """
    searches = read_matrix(matrix_file(file))
    planned = len(searches.prepared())
    files = Files(MATRIX_FORMATS, wanted)
    columns: list[Column] = []
    with progress_line("matrix") as progress, suppress(KeyboardInterrupt):  # between two searches
        for column in searches.columns(progress):
            columns.append(column)  # an interrupt must not lose the first ones
    command = " ".join(["leadline matrix", *([str(file)] if file else []), "--markdown"])
    tables, attempt = Tables(searches, columns, command), Attempts()
    files.save(tables, attempt)
    with attempt:
        files.print(tables)
        if not files.on_standard_output:
            _show(console(), searches, columns)
    attempt.raise_failures()
    finished = sum(not column.result.interrupted for column in columns)
    if finished < planned:
        say(f"leadline: interrupted after {finished} of {counted(planned, 'search', 'searches')}", err=True)
        return INCOMPLETE
    return AS_EXPECTED


def _show(screen: Console, wanted: Matrix, columns: Sequence[Column]) -> None:
    """Print a table for each configuration that was searched."""
    for configuration, own in wanted.by_configuration(columns):
        screen.print(Text(visible(configuration.name), style="bold"))
        screen.print(Text(visible(bounds_text(wanted.bounds_of(configuration))), style="dim"))
        if wanted.by_spec and wanted.is_complete(own):
            screen.print(Text(visible(f"{'; '.join(summary(wanted, own))}.")))
        screen.print(_by_spec(wanted, own) if wanted.by_spec else _by_property(own))


def _by_spec(matrix: Matrix, own: list[Column]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("release", no_wrap=True)
    for name in own[0].cells:
        table.add_column(matrix.label(name))
    for column in own:
        table.add_row(column.short, *map(_text, column.cells.values()))
    return table


def _by_property(own: list[Column]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("property", no_wrap=True)
    for column in own:
        table.add_column(visible(column.short), no_wrap=True)
    for name in own[0].cells:
        table.add_row(visible(name), *[_text(column.cells[name]) for column in own])
    return table


def _text(cell: MatrixCell) -> Text:
    return Text(cell.words, style="yellow" if cell.by_design else STYLES[cell.verdict])
