"""Print a list of specs, or one spec with its bounds, actions and properties, on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from leadline.checker.action import Action
from leadline.checker.bounds import bounds_text, describe_bounds, relations
from leadline.checker.properties import Property
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.model.rules import RuleColumn
from leadline.reports.terminal.console import empty_table


def specs_view(specs: list[Spec[object]]) -> RenderableType:
    """Return a view that lists the given specs, one per line."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for spec in specs:
        table.add_row(Text(visible(spec.name), style="bold"), visible(spec.summary))
    return table


SECTIONS = ("bounds", "actions", "properties", "rules")
"""The sections of the view of a spec. Each has an option that shows it in full."""

MOST_IN_FULL = 12
"""A section of at most this number of entries is always shown in full. Kafka's releases have three times as many."""


def spec_view(spec: Spec[object], chosen: Collection[str] = ()) -> RenderableType:
    """Return the view of one spec.

    Parameters:
        spec: the spec.
        chosen: the sections to show in full. If there are none, all sections are shown, and long ones in short.
    """
    declared = list(dict.fromkeys(item.declared or item for item in spec.all_checks))
    actions = [action.name for action in spec.actions]
    calls = [f"{action.name}({', '.join((*action.domains, *action.drawn))})" for action in spec.actions]
    column = spec.column
    found: dict[str, tuple[int, Callable[[], Iterable[RenderableType]], Callable[[], RenderableType]]] = {
        "bounds": (len(describe_bounds(spec.bounds)), lambda: [_bounds(spec)], lambda: _bounds(spec, short=True)),
        "actions": (
            len(calls),
            lambda: [_actions(spec, calls)],
            lambda: _names("actions", actions),
        ),
        "properties": (
            len(declared),
            lambda: [_properties(spec, declared)],
            lambda: _names("properties", [item.name for item in declared]),
        ),
    }
    if column is not None:
        found["rules"] = (
            len(list(column.table)),
            lambda: _rules(column),
            lambda: _names("rules", [f"{rule.name}={column.values[rule.name]}" for rule in column.table]),
        )
    parts, short = list[RenderableType](), list[str]()
    for title, (size, in_full, in_short) in found.items():
        if title in chosen or (not chosen and size <= MOST_IN_FULL):
            parts += in_full()
        elif not chosen:
            short.append(f"--{title}")
            parts.append(in_short())
    if short:
        parts.append(Text(f"\nin full: leadline specs {visible(spec.name)} {' '.join(short)}", style="dim"))
    about = [Text(visible(each)) for each in (spec.summary, spec.note) if each]
    return Group(Text(visible(spec.name), style="bold"), *about, *parts)


def _names(title: str, names: list[str]) -> RenderableType:
    return Group(Text(f"\n{title}", style="bold"), Text(visible(", ".join(names))))


def _bounds(spec: Spec[object], *, short: bool = False) -> RenderableType:
    bounds = empty_table("bounds", ("-b", "default", "description", *([] if short else ["allowed values"])))
    for name, value, text, right in describe_bounds(spec.bounds):
        given = bounds_text({name: value}).partition("=")[2]
        bounds.add_row(*map(visible, (name, given, text)), *([] if short else [Text(visible(right), style="dim")]))
    for relation, _ in [] if short else relations(spec.bounds):
        bounds.add_row("", "", "required of them", Text(visible(relation), style="dim"))
    return bounds


def _actions(spec: Spec[object], calls: list[str]) -> RenderableType:
    actions = empty_table("actions", ("action", "description of a step"))
    for action, call in zip(spec.actions, calls, strict=True):
        said = "; ".join(filter(None, [action.sentence, _future(spec, action)]))
        actions.add_row(visible(call), visible(said))
    return actions


def _properties(spec: Spec[object], declared: Iterable[Property]) -> RenderableType:
    properties = empty_table("properties", ("-i", "kind", "description"))
    for item in declared:
        each = f", for each {', '.join(item.domains)}" if item.domains else ""
        only = ", only with -i" if item in spec.optional else ""
        properties.add_row(visible(item.name), f"{item.kind.value}{each}{only}", _explanation(item))
    return properties


def _rules(column: RuleColumn) -> Iterator[RenderableType]:
    """Yield a table of a release's rules with their possible values, and a key. The table marks the values that the
    release uses, and those that were changed.
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
    yield table
    controller = f", with {column.line}" if column.line and not column.kind else ""
    kind = "" if column.versions else ", a design"
    known = f"{column.name}{controller or kind}; * it has"
    covers = f"; it stands for Kafka {column.span}" if column.span else ""
    yield Text(f"\n{known}{covers}", style="dim")


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
