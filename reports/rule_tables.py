"""Find the rules from which a shipped spec is built, and the values of these rules in later releases or protocols."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import attrs

from leadline.checker.spec import Spec
from leadline.model.rules import Rule, RuleColumn
from leadline.reports.kafka.bugs import Bug, fix_of, read_archive
from leadline.reports.loading import load_spec

Values = Mapping[str, str]
"""A value for each rule, keyed by the names of the rules."""


@attrs.frozen
class RuleTable:
    """The rules of one spec, and the later rule sets.

    Attributes:
        later: the later releases or designs, oldest first.
        spec_with: a function that changes the values of some rules, and returns the changed spec with its default
            bounds.
        tickets_of: a function that returns the tickets of the known bugs that the given rules cause in the spec.
        fixes: the known bugs whose rules the spec has, each with the rules that fix it.
        choices: the rules whose values users choose in every release, with the names of the other values.
    """

    values: Values
    later: Sequence[RuleColumn]
    spec_with: Callable[[Values], Spec[object]]
    tickets_of: Callable[[Collection[str]], tuple[str, ...]]
    fixes: Sequence[tuple[Bug, Values]] = ()
    choices: Sequence[tuple[Rule, str]] = ()

    @property
    def later_values(self) -> dict[str, list[str]]:
        """The values that rules have in later releases or designs but not in the spec, keyed by rule. Rules that cause
        known bugs come first.
        """
        changed = {}
        for rule, own in self.values.items():
            values = dict.fromkeys(each.values[rule] for each in self.later)
            if others := [value for value in values if value != own]:
                changed[rule] = others
        return dict(sorted(changed.items(), key=lambda pair: not self.tickets_of([pair[0]])))

    def having(self, values: Values) -> str:
        """Return the names of the later releases or designs that have the given values, for each line of releases."""
        spans = [self._span(line, values) for line in dict.fromkeys(each.line for each in self.later)]
        spans = [span for span in spans if span]
        if spans and all(span.endswith(_AND_LATER) for span in spans):
            return " and ".join(span.removesuffix(_AND_LATER) for span in spans) + _AND_LATER
        return ", and of ".join(spans)

    def _span(self, line: str, values: Values) -> str:
        every = [each for each in self.later if each.line == line]
        having = [each for each in every if values.items() <= each.values.items()]
        if not having:
            return ""
        first, last = every.index(having[0]), every.index(having[-1])
        if not having[0].versions or len(having) <= last - first:  # neither designs nor these releases are a range
            return " and ".join(each.name for each in having)
        if having[-1] is every[-1]:
            return having[0].name + _AND_LATER
        return " to ".join(dict.fromkeys([having[0].name, having[-1].name]))


_AND_LATER = " and later"


def rule_table(spec: Spec[Any]) -> RuleTable | None:
    """Return the rules from which a spec is built, or None if it is not built from rules."""
    column: RuleColumn | None = spec.column
    if column is None:
        return None
    base = spec.family.column_of(column.name.partition("+")[0])
    assert base is not None
    itself = [base] if column.values != base.values else []
    spec_with, tickets_of = functools.partial(_with_rules, column, base), functools.partial(_tickets, column)
    fixes = [(bug, fix) for bug in _bugs() if (fix := _fix(bug, base, column))]
    choices = [
        (rule, value.name) for rule in column.table if rule.chosen_by for value in rule.others(column.values[rule.name])
    ]
    return RuleTable(column.changeable, [*itself, *spec.family.later(base)], spec_with, tickets_of, fixes, choices)


def _fix(bug: Bug, base: RuleColumn, column: RuleColumn) -> Values:
    """Return the rules that fix a bug, or nothing if it does not affect the release or the column lacks its rules."""
    is_affected = base.name in {name.partition("+")[0] for name in bug.affected}
    has_rules = bool(bug.rules) and bug.rules.items() <= column.values.items()
    return fix_of(bug, column) if is_affected and has_rules and bug.fixed else {}


def _with_rules(column: RuleColumn, base: RuleColumn, rules: Values) -> Spec[object]:
    changes = {rule: value for rule, value in {**column.values, **rules}.items() if base.values[rule] != value}
    return load_spec("+".join([base.name, *(f"{rule}={value}" for rule, value in changes.items())]))


@functools.cache
def _bugs() -> tuple[Bug, ...]:
    return tuple(read_archive().bugs)


def _tickets(column: RuleColumn, rules: Collection[str]) -> tuple[str, ...]:
    own = [bug for bug in _bugs() if any(column.values[rule] == bug.rules.get(rule) for rule in rules)]
    return tuple(dict.fromkeys(bug.ticket for bug in own))
