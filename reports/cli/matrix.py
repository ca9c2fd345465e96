"""The command `leadline matrix`, which shows the verdicts on several specs and configurations as tables."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import attrs
import click

from leadline.checker.support.messages import counted
from leadline.reports.cli.options import save_results_option
from leadline.reports.cli.outputs import Attempts, Files, format_options
from leadline.reports.document.terminal import document_view
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE
from leadline.reports.formats import FORMATS
from leadline.reports.kept_results import KeptResults
from leadline.reports.lines import say
from leadline.reports.matrix import Column, matrix_file, read_matrix
from leadline.reports.matrix_document import document_of, matrix_document
from leadline.reports.matrix_overview import overview, with_overview
from leadline.reports.stored_tables import Tables, digest_of, stored_tables
from leadline.reports.terminal.console import console
from leadline.reports.terminal.progress import labelled, progress_line


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--recompute",
    is_flag=True,
    help="Search the specs of a shipped matrix, which takes minutes, instead of showing the stored tables. A FILE of "
    "your own is always searched.",
)
@save_results_option
@click.option("--spec", metavar="SPEC", help="Show only what is said of this spec, such as kafka/3.7.")
@format_options(FORMATS["matrix"])
def matrix(
    file: Path | None, recompute: bool, saved: Path | None, spec: str | None, **wanted: Path | bool | None
) -> int:
    """Show what holds in which spec and configuration, as tables.

    Without FILE, a table shows in how many configurations each release of Kafka loses what. --spec kafka/3.7 shows the
    verdicts on one release in each configuration; --markdown and --html show them all.
    Stored tables have a digest of the specs, properties and bounds that made them, and are refused if it differs. FILE
    can also be the name of another shipped matrix: consumer-groups, control, costs, deletion, designs, group-offsets,
    group-states, groups, quorum, rolls, states, transactions, which shows what a read_committed consumer can see, or
    upgrades. Otherwise, FILE is a TOML file of your own, whose specs are searched.

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

    Exit code 0: the tables are shown, whatever their verdicts; 2: the file is invalid, or the stored tables are not of
    the present specs; 3: the command was interrupted, and the tables show only the searches that were completed.
    """
    path, files = matrix_file(file), Files(FORMATS["matrix"], wanted)
    is_shipped = path != file
    tables, left = stored_tables(path) if is_shipped and not recompute else None, 0
    if tables is None:
        command = " ".join(
            ["leadline matrix", *([str(file)] if file else []), *(["--recompute"] if is_shipped else [])]
        )
        tables, left = _searched(path, command, KeptResults(saved), is_shipped)
    if spec is not None:
        tables = Tables(document_of(tables.document, spec), "")
    attempt = Attempts()
    files.save(tables, attempt)
    with attempt:
        files.print(tables)
        if not files.on_standard_output:
            shown = overview(tables.document)
            is_short = is_shipped and spec is None and bool(shown)
            blocks = shown if is_short else with_overview(tables.page, shown).blocks
            console().print(document_view(attrs.evolve(tables.document, blocks=blocks)))
            command = " ".join(["leadline matrix", *([str(file)] if file else [])])
            if is_shipped and spec is None:
                say(f"why and where, for one of them: {command} --spec SPEC")
            if is_shipped and shown:
                say("a known bug, and what to do: leadline bugs TICKET")
            if is_short:
                say(f"all tables: {command} --markdown, or --html FILE")
    attempt.raise_failures()
    return INCOMPLETE if left else AS_EXPECTED


def _searched(path: Path, command: str, kept: KeptResults, is_shipped: bool) -> tuple[Tables, int]:
    """Search the specs of a matrix. Return its tables, and the number of searches that an interrupt left out."""
    searches = read_matrix(path)
    planned = len(searches.prepared())
    columns: list[Column] = []
    with progress_line("matrix") as progress, suppress(KeyboardInterrupt):  # between two searches
        shown = labelled(progress, lambda: f"search {len(columns) + 1} of {planned}")
        for column in searches.columns(shown, kept):
            columns.append(column)  # an interrupt must not lose the first ones
    finished = sum(not column.result.interrupted for column in columns)
    if finished < planned:
        say(f"leadline: interrupted after {finished} of {counted(planned, 'search', 'searches')}", err=True)
    digest = digest_of(path) if is_shipped and finished == planned else ""
    seconds: dict[str, dict[str, float]] = {}
    for column in columns:
        seconds.setdefault(column.configuration.name, {})[column.spec] = round(column.seconds, 1)
    document = matrix_document(searches, columns, command)
    return Tables(document, digest, seconds if digest else {}), planned - finished
