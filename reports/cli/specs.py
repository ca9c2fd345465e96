"""`leadline specs`: what there is to check."""

from __future__ import annotations

import click

from invariants.catalog import CATALOG
from reports.loading import load_spec
from reports.terminal import console, spec_view, specs_view


@click.command(short_help="List the specs, or show one: its bounds, actions and properties.")
@click.argument("name", required=False)
def specs(name: str | None) -> None:
    """List the shipped specs; with NAME, show that spec's bounds, actions and properties.

    NAME may be path/to/file.py:name for a spec of your own.
    """
    console().print(spec_view(load_spec(name)) if name else specs_view(list(CATALOG.values())))
