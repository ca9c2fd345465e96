"""The command `leadline specs`, which lists the shipped specs, their rules, bounds and properties."""

from __future__ import annotations

from typing import Any

import click

from leadline.invariants.catalog import CATALOG
from leadline.reports.cli.completion import complete_spec
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.document.terminal import document_view
from leadline.reports.exit_codes import AS_EXPECTED
from leadline.reports.formats import FORMATS
from leadline.reports.loading import load_spec
from leadline.reports.spec_document import SECTIONS, spec_document, specs_document
from leadline.reports.terminal.console import console


@click.command()
@click.argument("name", required=False, shell_complete=complete_spec(".py"))
@click.option("--bounds", is_flag=True, help="Show each bound with its default and the allowed values.")
@click.option("--actions", is_flag=True, help="Show each action with its parameters and its fairness.")
@click.option("--properties", is_flag=True, help="Show each property with its source, and where it is known to fail.")
@click.option("--rules", is_flag=True, help="Show each rule with its possible values and their sources.")
@format_options(FORMATS["specs"])
def specs(name: str | None, **wanted: Any) -> int:
    """List the shipped specs. With NAME, show the rules, bounds, actions and properties of that spec.

    A long list is shown in short, unless its option is given. For your own spec, NAME is path/to/file.py, or
    path/to/file.py:name if the file has several specs.

    \b
    leadline specs kafka/4.1
    leadline specs kafka/4.1 --rules

    Exit code 0: the specs are shown; 2: there is no such spec.
    """
    chosen = [title for title in SECTIONS if wanted[title]]
    if name is None and chosen:
        raise click.UsageError(f"--{chosen[0]} requires the NAME of a spec")
    found = list(CATALOG.values()) if name is None else [load_spec(name)]
    files = Files(FORMATS["specs"], {each: wanted[each] for each in FORMATS["specs"]})
    if not files.only_a_report:
        console().print(document_view(specs_document(found) if name is None else spec_document(found[0], chosen)))
    files.write(found)
    return AS_EXPECTED
