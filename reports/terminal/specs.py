"""Print a list of specs, or one spec with its bounds, actions and properties, on a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from leadline.checker.action import Action
from leadline.checker.bounds import bounds_text, describe_bounds, relations
from leadline.checker.properties import Property
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.reports.terminal.console import empty_table


def specs_view(specs: list[Spec[object]]) -> RenderableType:
    """Return a view that lists the given specs, one per line."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for spec in specs:
        table.add_row(Text(visible(spec.name), style="bold"), visible(spec.summary))
    return table


def spec_view(spec: Spec[object]) -> RenderableType:
    """Return the view of one spec: its bounds with their defaults, its actions, and its properties."""
    bounds = empty_table("bounds", ("-b", "default", "description", "allowed values"))
    for name, value, text, right in describe_bounds(spec.bounds):
        given = bounds_text({name: value}).partition("=")[2]
        bounds.add_row(*map(visible, (name, given, text)), Text(visible(right), style="dim"))
    for relation, _ in relations(spec.bounds):
        bounds.add_row("", "", "required of them", Text(visible(relation), style="dim"))
    actions = empty_table("actions", ("action", "description of a step"))
    for action in spec.actions:
        said = "; ".join(filter(None, [action.sentence, _future(spec, action)]))
        actions.add_row(*map(visible, (f"{action.name}({', '.join((*action.domains, *action.drawn))})", said)))
    properties = empty_table("properties", ("-i", "kind", "description"))
    declared = dict.fromkeys(item.declared or item for item in spec.all_checks)
    for item in declared:
        each = f", for each {', '.join(item.domains)}" if item.domains else ""
        only = ", only with -i" if item in spec.optional else ""
        properties.add_row(visible(item.name), f"{item.kind.value}{each}{only}", _explanation(item))
    about = [Text(visible(each)) for each in (spec.summary, spec.note) if each]
    return Group(Text(visible(spec.name), style="bold"), *about, bounds, actions, properties)


def _future(spec: Spec[object], action: Action[object, ...]) -> str:
    """Return text about the fairness and the effect of an action. For most actions, it is empty."""
    fair = spec.fair(action)
    strength, _, each = fair.partition(" ")
    fairness = f"{strength}ly fair{', each instance' if each else ''}" if fair else ""
    return ", ".join(filter(None, [fairness, action.effect]))


def _explanation(item: Property) -> Text:
    text = Text(visible(item.sentence))
    if item.source:
        text.append(f"\n{visible(item.source)}", style="dim")
    if item.fails_in:
        text.append(f"\nknown to fail in {visible(', '.join(item.fails_in))}", style="yellow")
    return text
