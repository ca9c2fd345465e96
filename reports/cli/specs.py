"""The command `leadline specs`, which lists the shipped specs, their rules, bounds and properties."""

from __future__ import annotations

import click

from leadline.invariants.catalog import CATALOG
from leadline.reports.loading import load_spec
from leadline.reports.terminal.console import console
from leadline.reports.terminal.specs import SECTIONS, spec_view, specs_view


@click.command()
@click.argument("name", required=False)
@click.option("--bounds", is_flag=True, help="Show each bound with its default and the allowed values.")
@click.option("--actions", is_flag=True, help="Show each action with its parameters and its fairness.")
@click.option("--properties", is_flag=True, help="Show each property with its source, and where it is known to fail.")
@click.option("--rules", is_flag=True, help="Show each rule with its possible values and their sources.")
def specs(name: str | None, **wanted: bool) -> None:
    """List the shipped specs. With NAME, show the rules, bounds, actions and properties of that spec.

    A long list is shown in short, unless its option is given. For your own spec, NAME is path/to/file.py, or
    path/to/file.py:name if the file has several specs.

    \b
    leadline specs kafka/4.1
    leadline specs kafka/4.1 --rules

    Exit code 0: the specs are shown; 2: there is no such spec.
    """
    out = console()
    chosen = [title for title in SECTIONS if wanted[title]]
    if name is not None:
        out.print(spec_view(load_spec(name), chosen))
    elif chosen:
        raise click.UsageError(f"--{chosen[0]} requires the NAME of a spec")
    else:
        out.print(specs_view(list(CATALOG.values())))
