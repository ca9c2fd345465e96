"""Tables of rules for the families of specs. A table has rules, the values of each rule, and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

import attrs

from leadline.checker.errors import SpecError
from leadline.checker.support.messages import nearest


@attrs.frozen(eq=False)
class Value:
    """A value that a rule can have.

    Attributes:
        name: the name of the value on the command line.
        sentence: the answer to the question of the rule.
        source: the KIP, ticket or article from which the value is taken.
        sets: the functions and constants that the value assigns to fields of `Protocol`, keyed by field.
        opens: the level below which those of the fields that depend on a level have the value before this one, such as
            ``2.7-IV1``. Empty if a release has the value at any level.
        gate: what in Kafka compares the level, such as a class and its method.
    """

    name: str
    sentence: str
    source: str
    sets: Mapping[str, object]
    opens: str = ""
    gate: str = ""


@attrs.frozen(eq=False)
class Rule:
    """A rule in which releases differ.

    Attributes:
        name: the name of the rule on the command line.
        question: the question that the values of the rule answer.
        values: the values, in the order of releases.
        chosen_by: who chooses the value, such as ``the application``. Empty if the release decides.
    """

    name: str
    question: str
    values: tuple[Value, ...]
    chosen_by: str = ""

    def value(self, name: str) -> Value:
        """Return the value with the given name.

        Raises:
            SpecError: if the rule has no such value. The message suggests the most similar name.
        """
        for value in self.values:
            if value.name == name:
                return value
        names = [value.name for value in self.values]
        raise SpecError(f"rule {self.name} has no value {name!r}{nearest(name, names)}")

    def others(self, name: str) -> list[Value]:
        """Return the values except the one with the given name."""
        return [value for value in self.values if value.name != name]

    def is_later(self, name: str, than: str) -> bool:
        """Return whether a value comes after another one in the order of releases."""
        names = [value.name for value in self.values]
        return names.index(name) > names.index(than)


def value_followed_by(protocol: object, rule: Rule) -> Value | None:
    """Return a protocol's value for a rule, or None if no value in the table has the protocol's functions."""
    followed = (v for v in rule.values if all(getattr(protocol, field) == is_ for field, is_ in v.sets.items()))
    return next(followed, None)


class RuleTable:
    """The rules of a family of specs.

    Parameters:
        rules: the rules that a change may name.
        same: the fields of `Protocol` that are the same in all columns.
    """

    def __init__(self, rules: Iterable[Rule], same: Mapping[str, object] | None = None) -> None:
        self._rules = {rule.name: rule for rule in rules}
        self._same = same or {}

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __contains__(self, name: object) -> bool:
        return name in self._rules

    def __getitem__(self, name: str) -> Rule:
        return self._rules[name]

    def fields(self, values: Mapping[str, str]) -> dict[str, Any]:
        """Return the fields of a `Protocol` that has the given values of the rules.

        Parameters:
            values: the name of each rule's value, keyed by the name of the rule.

        Raises:
            SpecError: if a rule or value does not exist, or a rule has no value.
        """
        if different := sorted(self._rules.keys() ^ values.keys()):
            raise SpecError(f"there is no {'value for ' if different[0] in self else ''}rule {different[0]}")
        fields = dict(self._same)
        for rule in self:
            fields |= rule.value(values[rule.name]).sets
        return fields


@attrs.frozen(eq=False, kw_only=True)
class RuleColumn:
    """A column of a table of rules: a release or a design, with a value for each rule.

    Attributes:
        name: the name in the catalog.
        summary: a sentence that describes the column.
        values: the name of each rule's value, keyed by the name of the rule.
        changed: the values that differ from those of the preceding column.
        versions: the published releases of brokers with these rules, oldest first. Empty for a design.
        same_as: the column's canonical name, or an empty string if the column was not looked up by an alias.
        bounds: the default bounds. With them, a search takes seconds.
    """

    name: str
    summary: str
    values: Mapping[str, str]
    changed: Mapping[str, str] = attrs.field(factory=dict)
    versions: tuple[str, ...] = ()
    same_as: str = ""
    bounds: Any = None

    table: ClassVar[RuleTable]
    """The rules that can be changed."""

    makes: ClassVar[Callable[..., Any]]
    """The class of the rules as functions."""

    def protocol(self) -> Any:
        """Return the rules of the column as functions."""
        return self.makes(name=self.short_name, summary=self.summary, **self.table.fields(self.values))

    @property
    def short_name(self) -> str:
        """The part of the name after the slash."""
        return self.name.partition("/")[2]

    @property
    def line(self) -> str:
        """The line of releases to which the column belongs. Releases of the same line succeed one another."""
        return ""

    def decided_by(self, rule: Rule) -> str:
        """Return who decides a rule while releases are mixed, and at which levels, or an empty string if the family has
        no mixes.
        """
        return ""

    @property
    def kind(self) -> str:
        """Specs of columns of different kinds have different actions."""
        return ""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other names of the column."""
        return ()

    @property
    def span(self) -> str:
        """The range of releases with these rules, or an empty string for a design."""
        return ""

    @property
    def note(self) -> str:
        """A remark that gives the column's canonical name, or an empty string if the column was not looked up by an
        alias.
        """
        alike = f": no rule of the model differs in Kafka {self.span}" if self.span else ""
        return f"stands for {self.same_as}{alike}" if self.same_as else ""

    def rule(self, name: str) -> Rule:
        """Return the rule with the given name.

        Raises:
            SpecError: if there is no rule with this name. The message suggests the most similar name.
        """
        if name not in self.table:
            similar = nearest(name, self.changeable)
            raise SpecError(f"unknown rule {name!r}{similar} (`leadline specs {self.name} --rules` lists all rules)")
        return self.table[name]

    def with_rules(self, changes: Mapping[str, str]) -> Self:
        """Return the column with different values for some rules (a what-if). Its name lists these values.

        Raises:
            SpecError: if a rule or value does not exist.
        """
        for rule, value in changes.items():
            self.rule(rule).value(value)
        changed = {rule: value for rule, value in changes.items() if self.values[rule] != value}
        if not changed:
            return self
        name = "+".join([self.name, *(f"{rule}={value}" for rule, value in changed.items())])
        return attrs.evolve(self, name=name, values={**self.values, **changed}, changed=changed)

    def changed_as(self, reference: str) -> Self:
        """Return the column with the changes in a reference, such as ``kafka/3.7+elr=on``.

        Parameters:
            reference: the name or an alias of the column, optionally followed by changes.

        Raises:
            SpecError: if a change is not of the form ``rule=value``, is repeated, or names a rule or value that does
                not exist.
        """
        name, *changes = reference.split("+")
        own = self.called(name)
        parsed: dict[str, str] = {}
        for change in changes:
            rule, equals, value = change.partition("=")
            if not equals:
                example = own.rule(change if change in self.table else next(iter(self.changeable)))
                such_as = f"{example.name}={example.values[-1].name}"
                raise SpecError(f"invalid rule {change!r}: expected rule=value, such as {such_as}")
            if rule in parsed:
                raise SpecError(f"rule {rule} is given twice")
            parsed[own.rule(rule).name] = value
        changed = self.with_rules(parsed)
        return changed.called(name + changed.name.removeprefix(self.name))

    @property
    def changeable(self) -> dict[str, str]:
        """The values of the rules that `with_rules` can change. Rules that the family ignores are left out."""
        return {rule: value for rule, value in self.values.items() if rule in self.table}

    def called(self, name: str) -> Self:
        """Return the column with a different name."""
        return self if name == self.name else attrs.evolve(self, name=name, same_as=self.name)
