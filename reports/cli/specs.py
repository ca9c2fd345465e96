"""`leadline specs`: the shipped specs, their rules, bounds and properties."""

from __future__ import annotations

import click

from leadline.invariants.catalog import CATALOG
from leadline.model.kafka.releases import column_of
from leadline.reports.loading import load_spec
from leadline.reports.terminal.run import console, rules_view, spec_view, specs_view


@click.command()
@click.argument("name", required=False)
def specs(name: str | None) -> None:
    """List the shipped specs; with NAME, show that spec's rules, bounds, actions and properties.

    NAME may be path/to/file.py:name for a spec of your own.
    """
    out = console()
    if name is None:
        out.print(specs_view(list(CATALOG.values())))
        return
    out.print(spec_view(load_spec(name)))
    column = column_of(name)
    if column is not None:
        out.print(rules_view(column))
