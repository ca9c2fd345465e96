"""Describe how two specs differ: in their rules and bounds, and in their behaviours.

A protocol is a constant in the state. It is an attrs object whose fields are functions and plain values. The report
names the fields that differ. For the shipped families, the names come from their tables of rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import attrs

from leadline.checker.errors import SpecError
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.checker.trace import complaint_at_end
from leadline.checker.traces.divergence import Parting, follow
from leadline.checker.values import is_constant
from leadline.model.rules import value_followed_by
from leadline.reports.document import Block, Document, Paragraph, Section, Span, blocks_of, words
from leadline.reports.loading import load_spec, releases_with_rules_of
from leadline.reports.runs.json_report import story_object
from leadline.reports.traces.rows import written
from leadline.reports.traces.story import story_of

S = TypeVar("S")

NOT_RULES = frozenset({"name", "summary"})
"""The fields of a protocol that are not rules."""


@attrs.frozen(eq=False)
class Change:
    """One difference between two specs: a rule or a bound.

    Attributes:
        lines: what differs, as in ``rule truncates_to: own high watermark → end of agreement`` and ``bound acks: 1 →
            all``. A rule of Kafka's releases has three lines: its question, and the two answers with their sources.
        values: the values that the second spec has, keyed by the name of the bound, or of the field of the protocol.
        rules: the rule in the table of rules, with the name of its value in the second spec. Empty if there is none.
        is_bound: whether the difference is a bound.
    """

    lines: tuple[str, ...]
    values: dict[str, Any]
    rules: dict[str, str] = attrs.field(factory=dict)
    is_bound: bool = False

    @property
    def subject(self) -> str:
        """The name of the rule or bound that differs."""
        return self.lines[0].partition(":")[0].partition(" ")[2]

    @property
    def name(self) -> str:
        """The first line, without the question of a rule."""
        return self.lines[0].partition(" (")[0]

    def applied(self, spec: Spec[Any]) -> Spec[Any]:
        """Return the first spec with only this difference to the second."""
        if self.is_bound:
            return spec.with_bounds(self.values)
        if self.rules and spec.column is not None:
            changed = load_spec(spec.column.with_rules(self.rules).name)
            return changed.with_bounds(attrs.asdict(spec.bounds))
        return with_fields(spec, self.values)

    def prevents(self, parting: Parting) -> bool:
        """Return whether this change alone keeps the first spec from behaving, or from being violated, as in a parting.

        The steps of the behaviour are tried again in the first spec with this change. Where several changes are needed,
        none prevents it alone.
        """
        try:
            tried = follow(parting.first, self.applied(parting.first.spec))
        except SpecError:  # another initial state, or a bound that the rules refuse
            return False
        about = parting.first.about
        return tried.refused is not None or (about is not None and complaint(tried) is None)


def changes(first: Spec[S], second: Spec[S]) -> list[Change]:
    """Return the rules and bounds that differ between two specs.

    There are none if the states of the two specs belong to different classes.
    """
    one, other = first.initials()[0], second.initials()[0]
    kind: type[object] = type(one)
    if type(other) is not kind:
        return []
    constants = [field.name for field in attrs.fields(kind) if is_constant(field)] if attrs.has(kind) else []
    pairs = [(getattr(one, name), getattr(other, name)) for name in constants]
    found = [each for was, now in pairs if type(was) is not type(first.bounds) for each in _rules(was, now)]
    for name, was, now in _fields(first.bounds, second.bounds):
        value = getattr(second.bounds, name)
        found.append(Change((visible(f"bound {name}: {was} → {now}"),), {name: value}, is_bound=True))
    return list({each.lines: each for each in found}.values())


def differing_rules(first: Spec[S], second: Spec[S]) -> list[str]:
    """Return the lines of all changes between two specs."""
    return [line for each in changes(first, second) for line in each.lines]


def with_fields(spec: Spec[Any], values: Mapping[str, object]) -> Spec[Any]:
    """Return a spec with the given values of fields of the protocol in its states."""

    def initial_states(bounds: Any) -> list[Any]:
        return [_with_fields(state, values) for state in attrs.evolve(spec, bounds=bounds).initials()]

    return attrs.evolve(spec, initial_states=initial_states)


def _with_fields(state: Any, values: Mapping[str, object]) -> Any:
    for field in attrs.fields(type(state)):
        constant = getattr(state, field.name)
        if is_constant(field) and all(hasattr(constant, name) for name in values):
            state = attrs.evolve(state, **{str(field.alias): attrs.evolve(constant, **values)})
    return state


def nearest_release(spec: Spec[Any]) -> tuple[str, list[Change]] | None:
    """Return the release whose rules are most like those of a spec, and the changes that lead back to them.

    Returns:
        The name of the release and the changes, or None if the states of the spec have no protocol of releases.
        Among releases with equally few changes, it is the latest one.
    """
    state = spec.initials()[0]
    fields = attrs.fields(type(state)) if attrs.has(type(state)) else ()
    for protocol in (getattr(state, field.name) for field in fields if is_constant(field)):
        released = [column for column in releases_with_rules_of(protocol) if column.versions]
        if released:
            found = [(column.name, list(_rules(protocol, column.protocol()))) for column in reversed(released)]
            return min(found, key=lambda pair: len(pair[1]))
    return None


@attrs.frozen(eq=False)
class Difference:
    """The difference between two specs.

    Attributes:
        partings: one or two behaviours, each of which only one of the specs has. There are two if each spec has a
            counterexample that the other does not have: first a behaviour of the first spec, then one of the second
            spec.
        unfinished: how many states of the second spec were searched without finding a counterexample, for example
            ``50,000 states``. Empty if the search was complete.
    """

    first: Spec[Any]
    second: Spec[Any]
    partings: tuple[Parting, ...]
    unfinished: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines of all changes from the first spec to the second. The changes that decide come first."""
        found = changes(self.first, self.second)
        deciding = [self._deciding(parting) for parting in self.partings]
        first = sorted(range(len(found)), key=lambda number: not any(each[number] for each in deciding))
        return [line for number in first for line in found[number].lines]

    def _deciding(self, parting: Parting) -> list[bool]:
        """Return for each change whether it alone decides about a behaviour."""
        return [each.prevents(parting) for each in changes(*self._from(parting))]

    def _from(self, parting: Parting) -> tuple[Spec[Any], Spec[Any]]:
        is_of_first = parting.first.spec.name == self.first.name
        return (self.first, self.second) if is_of_first else (self.second, self.first)

    @property
    def sentences(self) -> list[str]:
        """For each spec, a sentence that says whether it has a counterexample that the other spec does not have, and a
        sentence about the changes that decide. Empty if neither has one.
        """
        found = {parting.first.spec.name: parting for parting in self.partings if parting.first.about is not None}
        said = []
        for one, other in ((self.first, self.second), (self.second, self.first)) if found else ():
            said.append(self._sentence(one, other, found.get(one.name)))
            said += self._what_decides(found[one.name]) if one.name in found else []
        return said

    def _what_decides(self, parting: Parting) -> list[str]:
        every = changes(*self._from(parting))
        names = [each.name for each, decides in zip(every, self._deciding(parting), strict=True) if decides]
        if names:
            return [("what decides: " if len(names) == 1 else "each of these alone decides: ") + "; ".join(names)]
        return ["no single difference decides this"] if len(every) > 1 else []

    def _sentence(self, one: Spec[Any], other: Spec[Any], parting: Parting | None) -> str:
        if parting is None or parting.first.about is None:
            within = f" in {self.unfinished}; the search is incomplete" if self.unfinished else ""
            return visible(f"no counterexample was found that {one.name} has and {other.name} does not have{within}")
        length, name = counted(len(parting.first), "state"), parting.first.about.name
        return visible(f"only {one.name} violates {name}, in a trace of {length}: {ending(parting)}")


def difference_document(difference: Difference) -> Document:
    """Return what differs between two specs, apart from the behaviours, which are shown side by side."""
    found, lines = list[Block](), difference.lines
    if lines:
        names = (line.partition(":")[0].partition(" ")[2] for line in lines if not line.startswith(" "))
        heading = words(f"what differs in rules and bounds: {', '.join(names)}")
        found.append(Section(heading, blocks_of(lines), "rules"))
    return Document(
        f"What differs between {difference.first.name} and {difference.second.name}",
        tuple(found),
        conclusion=tuple(Paragraph((Span(sentence),), "strong") for sentence in difference.sentences),
    )


def difference_object(difference: Difference) -> dict[str, object]:
    """Return a difference as an object for `json.dumps`. If the specs have the same behaviours, it has no partings."""
    return {
        "first": difference.first.name,
        "second": difference.second.name,
        "rules": differing_rules(difference.first, difference.second),
        "sentences": difference.sentences,
        "partings": [
            {
                "shared": parting.shared,
                "ending": ending(parting),
                "first": story_object(story_of(parting.first)),
                "second": story_object(story_of(parting.second)),
            }
            for parting in difference.partings
        ],
    }


def complaint(parting: Parting) -> str | None:
    """Return why the second behaviour violates the property that the first behaviour violates.

    Returns:
        The reason, or None if the second behaviour does not violate the property.
    """
    about = parting.first.about
    return None if about is None else complaint_at_end(parting.second.spec, about, parting.second.states)


def ending(parting: Parting) -> str:
    """Return a sentence that says how the second behaviour ends."""
    name, about = visible(parting.second.spec.name), parting.first.about
    if parting.refused is not None:
        words = f" ({visible(parting.refused.sentence)})" if parting.refused.sentence else ""
        return f"{name} does not take {visible(repr(parting.refused))} here{words}"
    if about is None:
        return f"{name} leads elsewhere"
    return f"{name} takes the same actions, and {visible(about.name)} is true at their end"


def _rules(was: Any, now: Any) -> Iterator[Change]:
    named = set[str]()
    releases = releases_with_rules_of(was) if type(was) is type(now) else ()
    if releases:
        for rule in releases[0].table:
            old, new = value_followed_by(was, rule), value_followed_by(now, rule)
            if old is None or new is None:
                continue
            named |= old.sets.keys()
            if old is not new:
                question = f"rule {rule.name}: {old.name} → {new.name} ({rule.question})"
                answers = (f"  {value.name}: {value.sentence} ({value.source})" for value in (old, new))
                lines = tuple(map(visible, (question, *answers)))
                yield Change(lines, dict(new.sets), {rule.name: new.name})
    for name, one, other in _fields(was, now):
        if name not in named | NOT_RULES:
            yield Change((visible(f"rule {name}: {one} → {other}"),), {name: getattr(now, name)})


def _fields(was: object, now: object) -> Iterator[tuple[str, str, str]]:
    """For each field that differs between two attrs objects of one class, yield its name and both values as text."""
    kind: type = type(was)
    if type(now) is kind and attrs.has(kind):
        for field in attrs.fields(kind):
            one, other = getattr(was, field.name), getattr(now, field.name)
            if one != other:
                yield field.name, _value(one), _value(other)


def _value(value: object) -> str:
    if isinstance(value, tuple) and any(hasattr(each, "of_brokers") for each in value):
        return ", ".join(each.name for each in value)  # the release of each broker in a mix
    return value.__name__.replace("_", " ") if callable(value) and hasattr(value, "__name__") else written(value)
