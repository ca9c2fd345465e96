"""Find the rules from which a shipped spec is built, and the values of these rules in later releases or protocols."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import attrs

from leadline.checker.errors import LeadlineError
from leadline.checker.spec import Spec
from leadline.model.atomic.protocols import PROTOCOLS, Protocol
from leadline.model.control import releases as control
from leadline.model.txn import releases as txn
from leadline.reports.bugs import Bug, Column, column_of, line_of, read_archive, releases_of
from leadline.reports.loading import load_spec, spec_of_protocol

Values = Mapping[str, str]
"""A value for each rule, keyed by the names of the rules."""


@attrs.frozen
class RuleSet:
    """A named set of rules: a release of Kafka, the design of a KIP, or a protocol of the `atomic` family.

    Attributes:
        name: its name in the catalog.
        values: the values of its rules.
        line: the line of releases to which the rule set belongs, such as the releases with KRaft or the releases with
            transactions. Empty for a protocol.
    """

    name: str
    values: Values
    line: str = ""


@attrs.frozen
class RuleTable:
    """The rules of one spec, and the later rule sets.

    Attributes:
        values: the values that the rules have in the spec.
        later: the later rule sets, oldest first.
        spec_with: a function that changes the values of some rules, and returns the changed spec with its default
            bounds.
        tickets_of: a function that returns the tickets of the known bugs that the given rules cause in the spec.
    """

    values: Values
    later: Sequence[RuleSet]
    spec_with: Callable[[Values], Spec[object]]
    tickets_of: Callable[[Collection[str]], tuple[str, ...]]

    @property
    def later_values(self) -> dict[str, list[str]]:
        """The values that rules have in later rule sets but not in the spec, keyed by rule. Rules that cause known bugs
        come first.
        """
        changed = {}
        for rule, own in self.values.items():
            values = dict.fromkeys(each.values[rule] for each in self.later)
            if others := [value for value in values if value != own]:
                changed[rule] = others
        return dict(sorted(changed.items(), key=lambda pair: not self.tickets_of([pair[0]])))

    def having(self, values: Values) -> str:
        """Return the names of the later rule sets that have the given values, for each line of releases."""
        spans = [self._span(line, values) for line in dict.fromkeys(each.line for each in self.later)]
        spans = [span for span in spans if span]
        if all(span.endswith(_AND_LATER) for span in spans):
            return " and ".join(span.removesuffix(_AND_LATER) for span in spans) + _AND_LATER
        return ", and of ".join(spans)

    def _span(self, line: str, values: Values) -> str:
        every = [each for each in self.later if each.line == line]
        having = [each for each in every if values.items() <= each.values.items()]
        if not having:
            return ""
        first, last = every.index(having[0]), every.index(having[-1])
        if not line or len(having) <= last - first:  # neither protocols nor these releases are a range
            return " and ".join(each.name for each in having)
        if having[-1] is every[-1]:
            return having[0].name + _AND_LATER
        return " to ".join(dict.fromkeys([having[0].name, having[-1].name]))


_AND_LATER = " and later"


def rule_table(spec: Spec[object]) -> RuleTable | None:
    """Return the rules from which a spec is built, or None if it is not built from rules."""
    for protocol in PROTOCOLS:
        if spec.name == f"atomic/{protocol.name}":
            return _of_protocol(protocol)
    try:
        column = column_of(spec.name)
    except LeadlineError:
        return None
    return None if column is None else _of_column(column)


# --- releases of Kafka and designs of KIPs ----------------------------------------------------------------------


def _of_column(column: Column) -> RuleTable:
    base = column_of(column.name.partition("+")[0])
    if base is None:
        raise LeadlineError(f"{column.name} is not a release")
    itself = [base] if column.values != base.values else []
    later = [RuleSet(each.name, each.values, line_of(each)) for each in (*itself, *_after(base))]
    spec_with, tickets_of = functools.partial(_with_rules, column, base), functools.partial(_tickets, column)
    return RuleTable(column.changeable, later, spec_with, tickets_of)


def _after(base: Column) -> Sequence[Column]:
    """Return the releases after a given release. For a design of a KIP, return all releases.

    For releases with transactions, neither the brokers nor the client may be older than in the given release.
    """
    releases = releases_of(base)
    if isinstance(base, txn.Column):
        return [each for each in txn.RELEASES if each.values != base.values and each.is_not_before(base)]
    if isinstance(base, control.Column):
        releases = [each for each in releases if line_of(each) == line_of(base)]  # others have other actions
    for number, each in enumerate(releases, start=1):
        if each.values == base.values and line_of(each) == line_of(base):
            return releases[number:]
    return releases


def _with_rules(column: Column, base: Column, rules: Values) -> Spec[object]:
    changes = {rule: value for rule, value in {**column.values, **rules}.items() if base.values[rule] != value}
    return load_spec("+".join([base.name, *(f"{rule}={value}" for rule, value in changes.items())]))


@functools.cache
def _bugs() -> tuple[Bug, ...]:
    return tuple(read_archive().bugs)


def _tickets(column: Column, rules: Collection[str]) -> tuple[str, ...]:
    own = [bug for bug in _bugs() if any(column.values[rule] == bug.rules.get(rule) for rule in rules)]
    return tuple(dict.fromkeys(bug.ticket for bug in own))


# --- protocols of the atomic family -----------------------------------------------------------------------------


def _of_protocol(protocol: Protocol) -> RuleTable:
    own = PROTOCOLS.index(protocol)
    later = [RuleSet(f"atomic/{each.name}", _named(each)) for each in PROTOCOLS[own + 1 :]]
    return RuleTable(_named(protocol), later, functools.partial(_protocol_with, protocol), lambda rules: ())


def _rules_of(protocol: Protocol) -> dict[str, Callable[..., object]]:
    return {name: value for name, value in attrs.asdict(protocol, recurse=False).items() if callable(value)}


def _named(protocol: Protocol) -> Values:
    return {rule: function.__name__ for rule, function in _rules_of(protocol).items()}


def _protocol_with(protocol: Protocol, changes: Values) -> Spec[Any]:
    known = {(rule, function.__name__): function for each in PROTOCOLS for rule, function in _rules_of(each).items()}
    fields: dict[str, Any] = {rule: known[rule, value] for rule, value in changes.items()}
    return spec_of_protocol(attrs.evolve(protocol, **fields))
