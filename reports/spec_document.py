"""Say what a spec has: its bounds, actions, properties and rules. Documents and JSON objects show the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from leadline.checker.action import Action
from leadline.checker.bounds import bounds_text, describe_bounds, relations
from leadline.checker.properties import Property
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted
from leadline.reports.document import Block, Cell, Document, Heading, Paragraph, Span, table, words

SECTIONS = ("bounds", "actions", "properties", "rules")
"""The sections of a spec. Each has an option that shows it in full."""

SITUATION = "witness, only with -i"
"""How the kind ends of the witnesses, also of steps, that are checked only if they are named."""

MOST_IN_FULL = 12
"""A section of at most this number of entries is always shown in full. Kafka's releases have three times as many."""


def specs_document(specs: list[Spec[object]]) -> Document:
    """Return the document that lists specs."""
    return Document("specs", (table("specs", ("spec", "summary"), [(spec.name, spec.summary) for spec in specs]),))


def spec_object(spec: Spec[object]) -> dict[str, Any]:
    """Return what a spec has, as an object for `json.dumps`."""
    column = spec.column
    found: dict[str, Any] = {
        "name": spec.name,
        "summary": spec.summary,
        "note": spec.note,
        "bounds": [
            {
                "bound": name,
                "default": bounds_text({name: value}).partition("=")[2],
                "description": text,
                "allowed": allowed,
            }
            for name, value, text, allowed in describe_bounds(spec.bounds)
        ],
        "relations": [text for text, _ in relations(spec.bounds)],
        "actions": [
            {
                "action": f"{action.name}({', '.join((*action.domains, *action.drawn))})",
                "description": "; ".join(filter(None, [action.sentence, _future(spec, action)])),
            }
            for action in spec.actions
        ],
        "properties": [_property(spec, item) for item in dict.fromkeys(each.whole for each in spec.all_checks)],
    }
    if column is not None:
        kind = f", with {column.line}" if column.line and not column.kind else "" if column.versions else ", a design"
        covers = f"; it stands for Kafka {column.span}" if column.span else ""
        found["release"] = f"{column.name}{kind}{covers}"
        found["rules"] = [
            {
                "rule": rule.name,
                "question": rule.question,
                "decided_by": column.decided_by(rule),
                "has": column.values[rule.name],
                "is_changed": rule.name in column.changed,
                "values": [{"value": it.name, "says": it.sentence, "source": it.source} for it in rule.values],
            }
            for rule in column.table
        ]
    return found


def spec_document(spec: Spec[object], chosen: Collection[str] = ()) -> Document:
    """Return the document of one spec.

    Parameters:
        chosen: the sections to show in full. If there are none, all sections are shown, and long ones in short.
    """
    found, blocks, short = spec_object(spec), list[Block](), list[str]()
    blocks += [Paragraph(words(found[each])) for each in ("summary", "note") if found[each]]
    for title in SECTIONS:
        entries = found.get(title, [])
        if entries and (title in chosen or (not chosen and len(entries) <= MOST_IN_FULL)):
            blocks += [Heading(title), *(_rules(found) if title == "rules" else _entries(found, title))]
        elif entries and not chosen:
            short.append(f"--{title}")
            blocks += _in_short(title, entries)
    if short:
        blocks.append(Paragraph(words(f"in full: leadline specs {spec.name} {' '.join(short)}"), "quiet"))
    return Document(spec.name, tuple(blocks))


def _entries(found: dict[str, Any], title: str) -> Iterator[Block]:
    entries = found[title]
    yield table(title, tuple(entries[0]), [tuple(entry.values()) for entry in entries])
    if title == "bounds":
        yield from (Paragraph(words(f"required of them: {text}"), "quiet") for text in found["relations"])


def _in_short(title: str, entries: list[dict[str, str]]) -> Iterator[Block]:
    """Yield the entries of a long section without most of what there is to say about them."""
    match title:
        case "bounds":
            rows = [(each["bound"], each["default"], each["description"]) for each in entries]
            yield from (Heading(title), table(title, ("bound", "default", "description"), rows))
            return
        case "rules":
            names = [f"{each['rule']}={each['has']}" for each in entries]
        case _:
            named = [each for each in entries if not each.get("kind", "").endswith(SITUATION)]
            names = [next(iter(each.values())).partition("(")[0] for each in named]
            if others := len(entries) - len(named):
                names.append(f"and {counted(others, 'situation')} for --witness")
    yield Paragraph(words(Span(title, "strong"), Span(f": {', '.join(names)}")))


def _rules(found: dict[str, Any]) -> Iterator[Block]:
    yield Paragraph(words(found["release"]), "quiet")
    for rule in found["rules"]:
        changed = Span("; changed here", "note") if rule["is_changed"] else ""
        yield Paragraph(words(Span(rule["rule"], "strong"), f": {rule['question']}", changed))
        if rule["decided_by"]:
            yield Paragraph(words(f"decided by {rule['decided_by']}"), "quiet")
        rows = []
        for each in rule["values"]:
            has = each["value"] == rule["has"]
            name = Cell((Span(each["value"]),), "strong" if has else "quiet")
            rows.append((name, "*" if has else "", each["says"], each["source"]))
        yield table(rule["rule"], ("value", "has", "says", "source"), rows)


def _future(spec: Spec[object], action: Action[object, ...]) -> str:
    """Return text about the fairness and the effect of an action. For most actions, it is empty."""
    strength, _, each = spec.fair(action).partition(" ")
    one = f", each {each.removeprefix('each').strip() or 'instance'}" if each else ""
    fairness = f"{strength}ly fair{one}" if strength else ""
    groups = [
        f"{fair.replace(' each', 'ly fair for each', 1) if ' each' in fair else f'{fair}ly fair'} together with "
        f"{', '.join(name for name in names if name != action.name)}"
        for names, fair in spec.fair_groups
        if action.name in names
    ]
    return ", ".join(filter(None, [fairness, *groups, action.effect]))


def _property(spec: Spec[object], item: Property) -> dict[str, str]:
    each = f", for each {', '.join(item.domains)}" if item.domains else ""
    only = ", only with -i" if item in spec.optional else ""
    fails = f" (known to fail in {', '.join(item.fails_in)})" if item.fails_in else ""
    description = f"{item.sentence}{fails}"
    kind = f"{item.kind.value}{each}{only}"
    return {"property": item.name, "kind": kind, "description": description, "source": item.source}
