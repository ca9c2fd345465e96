"""Describe how two specs differ: in their rules and bounds, and in their behaviours.

A protocol is a constant in the state. It is an attrs object whose fields are functions and plain values. The report
names the fields that differ. For the `kafka` specs, the names come from the table of rules
(`leadline.model.kafka.rules`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import attrs

from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.checker.trace import complaint_at_end
from leadline.checker.traces.divergence import Parting
from leadline.checker.values import is_constant
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.rules import RULES, value_followed_by
from leadline.reports.traces.rows import written

S = TypeVar("S")

NOT_RULES = frozenset({"name", "summary"})
"""The fields of a protocol that are not rules."""


def differing_rules(first: Spec[S], second: Spec[S]) -> list[str]:
    """Describe the rules and bounds that differ between two specs.

    Returns:
        Lines such as ``rule truncates_to: own high watermark → end of agreement`` and ``bound acks: 1 → all``. A rule
        of Kafka's releases has three lines: its question, and the two answers with their sources. There are no
        lines if the states of the two specs belong to different classes.
    """
    one, other = first.initials()[0], second.initials()[0]
    kind: type[object] = type(one)
    if type(other) is not kind:
        return []
    constants = [field.name for field in attrs.fields(kind) if is_constant(field)] if attrs.has(kind) else []
    pairs = [(getattr(one, name), getattr(other, name)) for name in constants]
    lines = [line for was, now in pairs if type(was) is not type(first.bounds) for line in _rules(was, now)]
    lines += [f"bound {name}: {was} → {now}" for name, was, now in _fields(first.bounds, second.bounds)]
    return [visible(line) for line in dict.fromkeys(lines)]


@attrs.frozen(eq=False)
class Difference:
    """The difference between two specs.

    Attributes:
        first: the first spec.
        second: the second spec.
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
    def sentences(self) -> list[str]:
        """For each spec, a sentence that says whether it has a counterexample that the other spec does not have. Empty
        if neither has one.
        """
        found = {parting.first.spec.name: parting for parting in self.partings if parting.first.about is not None}
        pairs = ((self.first, self.second), (self.second, self.first))
        return [self._sentence(one, other, found.get(one.name)) for one, other in pairs] if found else []

    def _sentence(self, one: Spec[Any], other: Spec[Any], parting: Parting | None) -> str:
        if parting is None or parting.first.about is None:
            within = f" in {self.unfinished}; the search is incomplete" if self.unfinished else ""
            return visible(f"no counterexample was found that {one.name} has and {other.name} does not have{within}")
        length, name = counted(len(parting.first), "state"), parting.first.about.name
        return visible(f"only {one.name} violates {name}, in a trace of {length}: {ending(parting)}")


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


def _rules(was: object, now: object) -> Iterator[str]:
    named = set[str]()
    if isinstance(was, Protocol) and isinstance(now, Protocol):
        for rule in RULES:
            old, new = value_followed_by(was, rule), value_followed_by(now, rule)
            if old is None or new is None:
                continue
            named |= old.sets.keys()
            if old is not new:
                yield f"rule {rule.name}: {old.name} → {new.name} ({rule.question})"
                yield from (f"  {value.name}: {value.sentence} ({value.source})" for value in (old, new))
    for name, one, other in _fields(was, now):
        if name not in named | NOT_RULES:
            yield f"rule {name}: {one} → {other}"


def _fields(was: object, now: object) -> Iterator[tuple[str, str, str]]:
    """For each field that differs between two attrs objects of one class, yield its name and both values as text."""
    kind: type = type(was)
    if type(now) is kind and attrs.has(kind):
        for field in attrs.fields(kind):
            one, other = getattr(was, field.name), getattr(now, field.name)
            if one != other:
                yield field.name, _value(one), _value(other)


def _value(value: object) -> str:
    return value.__name__.replace("_", " ") if callable(value) and hasattr(value, "__name__") else written(value)
