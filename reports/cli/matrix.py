"""`leadline matrix`: the verdicts on specs, properties and configurations as tables."""

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
from leadline.reports.ci.markdown import matrix_page
from leadline.reports.cli.outputs import check_output, write_output
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE
from leadline.reports.html.run import Grid, run_page, with_traces
from leadline.reports.lines import say
from leadline.reports.matrix import SHIPPED, Column, Matrix, MatrixCell, read_matrix, summary
from leadline.reports.origin import Origin
from leadline.reports.runs.run_view import view_of_result
from leadline.reports.terminal.console import STYLES, console
from leadline.reports.terminal.progress import progress_line


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--markdown", is_flag=True, help="Write the tables as a page of Markdown.")
@click.option(
    "--html",
    "out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write an HTML page with the tables, every run and its traces.",
)
def matrix(file: Path | None, markdown: bool, out: Path | None) -> int:
    """Search specs in several configurations, and show the verdicts as tables.

    FILE is a TOML file; without it, the shipped one: what each release of Kafka can lose.

    \b
    specs = ["rpc/kip-101", "rpc/kip-320"]
    bounds = { max_epoch = 2 }
    max_states = 1_000_000
    [[configurations]]
    name = "acks=all"
    bounds = { acks = "all" }

    Each cell shows holds, with the distinct states; violated, with the states of a shortest trace (by design, if
    the configuration does not promise it); or incomplete, with the depth reached. With properties = [], states
    are only counted. Exit code 0, whatever the verdicts; 2: the file is invalid; 3: interrupted, and the tables show
    the searches until then.
    """
    wanted = read_matrix(file or SHIPPED)
    planned = len(wanted.prepared())
    if out is not None:
        check_output(out)
    columns: list[Column] = []
    with progress_line("matrix") as progress, suppress(KeyboardInterrupt):  # between two searches
        for column in wanted.columns(progress):
            columns.append(column)  # an interrupt must not lose the first ones
    if out is not None:
        write_output(out, _page(wanted, columns))
    if markdown:
        command = " ".join(["leadline matrix", *([str(file)] if file else []), "--markdown"])
        say("\n".join(matrix_page(wanted, columns, command)))
    else:
        _show(console(), wanted, columns)
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


def _page(matrix: Matrix, columns: list[Column]) -> str:
    origin = Origin.now()
    runs = [
        with_traces(column.result, view_of_result(column.result, origin), f"{column.spec}: {column.configuration.name}")
        for column in columns
    ]
    tables = []
    numbers = {id(column): number for number, column in enumerate(columns)}
    for configuration, own in matrix.by_configuration(columns):
        text = "; ".join(summary(matrix, own)) if matrix.is_complete(own) else "interrupted"
        rows = [
            (column.spec, [(cell, numbers[id(column)], name) for name, cell in column.cells.items()]) for column in own
        ]
        tables.append(Grid(configuration.name, text, [matrix.label(name) for name in own[0].cells], rows))
    return run_page(matrix.title, runs, grids=tables)


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
    return Text(cell.text, style="yellow" if cell.by_design else STYLES[cell.verdict])
