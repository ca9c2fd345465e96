"""`leadline matrix`: the verdicts on specs, properties and configurations as tables."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from checker.bounds import bounds_text
from checker.visible import visible
from reports.exit_codes import AS_EXPECTED
from reports.lines import say
from reports.markdown import matrix_page
from reports.matrix import SHIPPED, Column, Matrix, read_matrix
from reports.terminal import STYLES, console, progress_line


@click.command(short_help="Tables of verdicts: specs, properties, configurations.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--markdown", is_flag=True, help="Write the tables as a page of Markdown.")
def matrix(file: Path | None, markdown: bool) -> int:
    """Search specs in several configurations, and show what holds where.

    FILE is a TOML file; without it, the shipped one, with every protocol of the rpc family.

    \b
    specs = ["rpc/kip-101", "rpc/kip-320"]
    bounds = { max_epoch = 2 }
    max_states = 1_000_000
    [[configurations]]
    name = "acks=all"
    bounds = { acks = "all" }

    Each cell says holds, with the distinct states; violated, with the states of a shortest trace; or
    incomplete, with the depth reached. Exit code 0, whatever the verdicts; 2: a mistake in the file.
    """
    wanted = read_matrix(file or SHIPPED)
    wanted.prepared()
    columns: list[Column] = []
    with progress_line("matrix") as progress:
        columns += wanted.columns(progress)
    if markdown:
        say("\n".join(matrix_page("What holds where", wanted, columns)))
        return AS_EXPECTED
    out = console()
    for configuration in wanted.configurations:
        own = [column for column in columns if column.configuration is configuration]
        out.print(Text(visible(configuration.name), style="bold"))
        out.print(Text(visible(bounds_text(wanted.bounds_of(configuration))), style="dim"))
        out.print(_table(wanted, own))
    return AS_EXPECTED


def _table(matrix: Matrix, columns: list[Column]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("property", no_wrap=True)
    for column in columns:
        table.add_column(visible(column.spec.rpartition("/")[2]), no_wrap=True)
    for name in columns[0].cells:
        cells = [column.cells[name] for column in columns]
        table.add_row(visible(name), *[Text(cell.text, style=STYLES[cell.verdict]) for cell in cells])
    return table
