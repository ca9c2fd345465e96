"""The command `leadline specs`, which lists the shipped specs, their rules, bounds and properties."""

from __future__ import annotations

import click
from rich.console import Group, RenderableType
from rich.text import Text

from leadline.invariants.catalog import CATALOG
from leadline.model.rules import RuleColumn
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
    spec = load_spec(name)
    out.print(spec_view(spec))
    if spec.column is not None:
        out.print(_rules_view(spec.column))


def _rules_view(column: RuleColumn) -> RenderableType:
    """Return a table of a release's rules with their possible values. The table marks the values that the release uses,
    and those that were changed.
    """
    table = empty_table("rules", ("--rule", "value", "says"))
    for rule in column.table:
        table.add_row(rule.name, "", Text(f"{rule.question}:", style="italic"))
        for value in rule.values:
            has = column.values[rule.name] == value.name
            says = Text(value.sentence, style="" if has else "dim").append(f"\n{value.source}", style="dim")
            if has and rule.name in column.changed:
                says.append("\nchanged here", style="yellow")
            table.add_row("", Text(f"{'*' if has else ' '} {value.name}", style="bold" if has else "dim"), says)
    controller = f", with {column.line}" if column.line and not column.kind else ""
    kind = "" if column.versions else ", a design"
    known = f"{column.name}{controller or kind}; * it has"
    covers = f"; it stands for Kafka {column.span}" if column.span else ""
    return Group(table, Text(f"\n{known}{covers}", style="dim"))
