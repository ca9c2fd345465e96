"""The command `leadline specs`, which lists the shipped specs, their rules, bounds and properties."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Group, RenderableType
from rich.text import Text

from leadline.invariants.catalog import CATALOG
from leadline.model.control import releases as control_releases
from leadline.model.control.rules import REPLACED
from leadline.model.control.rules import RULES as CONTROL_RULES
from leadline.model.kafka.releases import Column, column_of
from leadline.model.kafka.rules import RULES
from leadline.model.rules import Rule
from leadline.model.txn import releases as txn_releases
from leadline.model.txn.rules import RULES as TXN_RULES
from leadline.reports.loading import load_spec
from leadline.reports.terminal.console import console, empty_table
from leadline.reports.terminal.specs import spec_view, specs_view


@click.command()
@click.argument("name", required=False)
def specs(name: str | None) -> None:
    """List the shipped specs. With NAME, show the rules, bounds, actions and properties of that spec.

    For your own spec, NAME is path/to/file.py, or path/to/file.py:name if the file has several specs.

    Exit code 0: the specs are shown; 2: there is no such spec.
    """
    out = console()
    if name is None:
        out.print(specs_view(list(CATALOG.values())))
        return
    out.print(spec_view(load_spec(name)))
    column = column_of(name)
    if column is not None:
        out.print(_rules_view(column, RULES))
    transactional = txn_releases.column_of(name)
    if transactional is not None:
        out.print(_rules_view(transactional, TXN_RULES))
    controlled = control_releases.column_of(name)
    if controlled is not None:
        out.print(_rules_view(controlled, (*CONTROL_RULES, *(rule for rule in RULES if rule.name not in REPLACED))))


def _rules_view(
    column: Column | txn_releases.Column | control_releases.Column, rules: Sequence[Rule]
) -> RenderableType:
    """Return a table of a release's rules with their possible values. The table marks the values that the release uses,
    and those that were changed.
    """
    table = empty_table("rules", ("--rule", "value", "says"))
    for rule in rules:
        table.add_row(rule.name, "", Text(f"{rule.question}:", style="italic"))
        for value in rule.values:
            has = column.values[rule.name] == value.name
            says = Text(value.sentence, style="" if has else "dim").append(f"\n{value.source}", style="dim")
            if has and rule.name in column.changed:
                says.append("\nchanged here", style="yellow")
            table.add_row("", Text(f"{'*' if has else ' '} {value.name}", style="bold" if has else "dim"), says)
    controller = column.controller if isinstance(column, Column) else ""
    kind = f", with {controller}" if controller else "" if column.versions else ", a design"
    known = f"{column.name}{kind}; * it has"
    covers = f"; it stands for Kafka {column.span}" if column.span else ""
    return Group(table, Text(f"\n{known}{covers}", style="dim"))
