"""Families of specs: what the specs of the releases, or of the designs, of one system have in common."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import attrs

from leadline.checker.mutation.changes import Mutation
from leadline.checker.spec import Spec
from leadline.model.mistakes import Mistake
from leadline.model.rules import Rule, RuleColumn, Value

C = TypeVar("C", bound=RuleColumn)


@attrs.frozen(eq=False, kw_only=True)
class Mutations(Generic[C]):
    """The deliberate mistakes with which the properties of a family are tested.

    Attributes:
        mistakes: the wrong rules.
        may_be_made_in: returns whether a column satisfies all properties. In any other column, a violation would not
            show that a mistake was noticed.
        concerns: returns whether a column is searched with the other values of a rule.
        shown_with: the bounds within which a value violates a property, if they differ from the default bounds. Keyed
            by the names of the rule and the value.
        right_too: the reasons why a value of a rule violates no property of a column with another value. Keyed by the
            names of the rule and the value.
        harmless: returns a further reason, which depends on the column, or an empty string.
    """

    mistakes: Sequence[Mistake] = ()
    may_be_made_in: Callable[[C], bool] = lambda _: True
    concerns: Callable[[Rule, C], bool] = lambda _, __: True
    shown_with: Mapping[tuple[str, str], Mapping[str, int | str]] = attrs.field(factory=dict)
    right_too: Mapping[tuple[str, str], str] = attrs.field(factory=dict)
    harmless: Callable[[Rule, str, C], str] = lambda _, __, ___: ""


@attrs.frozen(eq=False, kw_only=True)
class Family(Generic[C]):
    """A family of specs.

    Attributes:
        name: the part of a spec's name before the slash.
        columns: the columns of the catalog's specs, oldest first.
        releases: the columns in which rules change over time, oldest first. By default, all columns.
        make: returns the spec of a column, or of a protocol that differs from it. The family and the column of the spec
            need not be set.
        find: returns the column with the given name or alias, or None. By default, the names and aliases of `columns`
            are known.
        perturbations: the names of the bounds that limit failures and other disturbances.
        mix: returns the spec of a mix of two releases by its name, such as ``kafka/2.0..2.1``. None if there are none.
        mutations: the deliberate mistakes. None if there are none.
        is_later: returns whether the first column is a later release than the second. By default, `releases` is in
            this order.
    """

    name: str
    columns: tuple[C, ...]
    releases: tuple[C, ...] = attrs.field()
    make: Callable[[C, Any], Spec[Any]]
    find: Callable[[str], C | None] = attrs.field()
    perturbations: tuple[str, ...] = ()
    mix: Callable[[str], Spec[Any]] | None = None
    mutations: Mutations[C] | None = None
    is_later: Callable[[C, C], bool] | None = None

    @releases.default
    def _all_columns(self) -> tuple[C, ...]:
        return self.columns

    @find.default
    def _by_name(self) -> Callable[[str], C | None]:
        return {name: column for column in self.columns for name in (column.name, *column.aliases)}.get

    def column_of(self, reference: str) -> C | None:
        """Return the column with the given name or alias. The name may also change rules, as in ``kafka/3.7+elr=on``.

        Returns:
            The column, or None if no column has the name before the first ``+``.

        Raises:
            SpecError: if a change is invalid; see `RuleColumn.changed_as`.
        """
        column = self.find(reference.partition("+")[0])
        return None if column is None else column.changed_as(reference)

    def spec(self, column: C, protocol: Any = None) -> Spec[Any]:
        """Return the spec of a column.

        Parameters:
            protocol: other rules, as functions. The spec then has no column, because no column describes it.
        """
        if protocol is not None:
            return attrs.evolve(self.make(column, protocol), family=self)
        return attrs.evolve(self.make(column, column.protocol()), family=self, column=column)

    def later(self, column: C) -> list[C]:
        """Return the releases after a column. If the column is a design, return all releases.

        Of several releases with the same rules, it is the one with its name, or the first.
        """
        if self.is_later is not None:
            return [each for each in self.releases if each.values != column.values and self.is_later(each, column)]
        like = self.like(column)
        same = [n for n, each in enumerate(like) if each.values == column.values and each.line == column.line]
        named = [n for n in same if column.name in (like[n].name, *like[n].aliases)]
        return like[next(iter([*named, *same]), -1) + 1 :]

    def like(self, column: C) -> list[C]:
        """Return the releases whose specs have the same actions as a column."""
        return [each for each in self.releases if each.kind == column.kind]

    def with_mistake(self, mistake: Mistake, column: C) -> Spec[Any]:
        """Return the spec of a column in which one rule is wrong."""
        spec = self.spec(column, mistake.made_in(column.protocol()))
        return attrs.evolve(spec, actions=mistake.replacing(spec.actions))

    def mutations_of(self, column: C) -> list[Mutation]:
        """Return the mutations of a column: other values from the table of rules, and deliberately wrong rules."""
        wrong = self.mutations
        if wrong is None or not wrong.may_be_made_in(column):
            return []
        rules = [rule for rule in column.table if wrong.concerns(rule, column)]
        found = [
            self._of_value(rule, value, column, wrong)
            for rule in rules
            for value in rule.others(column.values[rule.name])
        ]
        spec = self.spec(column)
        return found + [
            Mutation(
                name=f"mistake {mistake.name}",
                kind="mistake",
                sentence=mistake.sentence,
                source=mistake.source,
                replace=functools.partial(_behaving_as, functools.partial(self.with_mistake, mistake, column)),
                bounds=mistake.bounds,
                harmless=mistake.harmless,
            )
            for mistake in wrong.mistakes
            if mistake.concerns(column.protocol(), spec.actions)
        ]

    def _of_value(self, rule: Rule, value: Value, column: C, wrong: Mutations[C]) -> Mutation:
        return Mutation(
            name=f"rule {rule.name}: {column.values[rule.name]} => {value.name}",
            kind="rule",
            sentence=f"{rule.question}: {value.sentence}",
            source=value.source,
            replace=functools.partial(
                _behaving_as, functools.partial(self.spec, column.with_rules({rule.name: value.name}))
            ),
            bounds=wrong.shown_with.get((rule.name, value.name), {}),
            harmless=wrong.right_too.get((rule.name, value.name), "") or wrong.harmless(rule, value.name, column),
        )


def _behaving_as(make: Callable[[], Spec[Any]], spec: Spec[Any]) -> Spec[Any]:
    """Copy a spec, but take the initial states and actions from the spec that `make` returns."""
    other = make()
    return attrs.evolve(spec, initial_states=other.initial_states, actions=other.actions)
