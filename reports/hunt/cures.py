"""The cures of a spec: the changes that a hunt tries in order to prevent a violation.

For a release of Kafka, a cure is another value of a rule. The first cures are those of the archive of known bugs and of
`causes.toml`. Next are the values of later releases, and values that no release has, last those of rules in which all
releases agree. They are followed by the values of earlier releases, and of releases with another kind of controller.
For a mix of two releases, a cure changes a rule in both. For any other spec, the plan of the hunt names the cures. If
it names none, the first cures take back what a spec changes in the rules and actions of the nearest release. Others
change a bound that is true or false, and the last ones leave out one action. They count only if the situations of the
spec are still reached: without the action that writes, nothing is lost.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from leadline.checker.action import Action
from leadline.checker.bounds import bounds_text
from leadline.checker.errors import LeadlineError, SpecError
from leadline.checker.spec import Spec
from leadline.model.rules import RuleColumn
from leadline.reports.differences import nearest_release, with_fields
from leadline.reports.hunt.plan import OwnCure
from leadline.reports.hunt.together import Together
from leadline.reports.kafka.bugs import Archive, Bug, fix_of, read_archive
from leadline.reports.loading import load_spec, mixed_in
from leadline.reports.rule_tables import rule_table
from leadline.reports.toml_files import Values

CAUSES = Path(__file__).resolve().with_name("causes.toml")
"""Causes without a ticket, and behaviours that are by design, in the form of the archive."""

KNOWN, LATER, NEW, UNEXPLAINED, SHARED, EARLIER = range(6)
"""The ranks of cures. Among several cures for a violation, the one with the lowest rank is preferred.

`UNEXPLAINED` is the rank of a cure of a behaviour that is by design, for a violation that is not by design. `SHARED` is
that of a rule in which all releases agree: a bug of all of them can come from it, but other values may be abstractions.
"""

VIOLATED_TOO = {"durable_after_few_unclean_stops": ("durable_as_promised",)}
"""The properties that a violation of another property violates too, keyed by the other property."""


@attrs.frozen
class Cure:
    """A change to a spec that may prevent a violation.

    Attributes:
        name: the change, in words or in the notation of the command line.
        rank: a number for the source of the cure, such as `KNOWN`.
        rules: the values of the rules that it changes.
        bounds: the bounds that it changes.
        without: the names of the actions that it leaves out.
        fields: the fields of the protocol that it changes.
        actions: the actions that it replaces, keyed by name.
        ticket: the ticket of the cause in the archive or in the plan. Empty if there is none.
        sentence: a description of the cause. Empty if it is not known.
        by_design: why the behaviour is by design, with a source. Empty if it is not by design.
        property: the name of the property that the behaviour violates by design. Empty if this can be any property.
    """

    name: str
    rank: int
    rules: dict[str, str] = attrs.field(factory=dict)
    bounds: Values = attrs.field(factory=dict)
    without: tuple[str, ...] = ()
    ticket: str = ""
    sentence: str = ""
    by_design: str = ""
    property: str = ""
    fields: dict[str, Any] = attrs.field(factory=dict)
    actions: dict[str, Action[Any, ...]] = attrs.field(factory=dict)

    def explaining(self, name: str) -> Cure:
        """Return the cure as an explanation for a violation of the given property.

        If this cure is for behaviour that violates only other properties by design, return it without an explanation. A
        cure such as ``last_known_leader=forgotten`` also prevents violations that have other causes.
        """
        explained = (self.property, *VIOLATED_TOO.get(self.property, ()))
        if not self.by_design or not self.property or name in explained:
            return self
        return attrs.evolve(self, rank=UNEXPLAINED, ticket="", sentence="", by_design="")


@attrs.frozen
class World:
    """A spec to which bounds and cures are applied.

    Attributes:
        reference: the name under which the spec is loaded.
        bounds: the bounds that differ from those of the spec.
        together: the limits of a search of many failures, or None.
    """

    reference: str
    bounds: Values
    cures: tuple[Cure, ...] = ()
    together: Together | None = None

    def spec(self, names: Sequence[str]) -> Spec[Any]:
        """Return the spec of this world, with only the given properties."""
        return self.whole().with_properties(names)

    def whole(self) -> Spec[Any]:
        """Return the spec of this world, with all its properties."""
        rules = {rule: value for cure in self.cures for rule, value in cure.rules.items()}
        spec = base_spec(_with_rules(self.reference, rules)).with_bounds(self.bounds)
        for cure in self.cures:
            spec = spec.with_bounds(cure.bounds)
        fields = {name: value for cure in self.cures for name, value in cure.fields.items()}
        if fields:
            spec = with_fields(spec, fields)
        replaced = {name: action for cure in self.cures for name, action in cure.actions.items()}
        left_out = {action for cure in self.cures for action in cure.without}
        if left_out or replaced:
            kept = [replaced.get(each.name, each) for each in spec.actions if each.name not in left_out]
            spec = attrs.evolve(spec, actions=kept)
        return spec if self.together is None else self.together.limited(spec)

    def having(self, *cures: Cure) -> World:
        """Return this world with additional cures."""
        return attrs.evolve(self, cures=(*self.cures, *cures))

    def within(self, bounds: Values) -> World:
        """Return this world with the given bounds instead of its own, and no other limits."""
        return attrs.evolve(self, bounds=bounds, together=None)


def _with_rules(reference: str, rules: dict[str, str]) -> str:
    """Return the name of a spec with changed rules. Those of a mix change in both of its releases."""
    if not rules:
        return reference
    parts = []
    for part in reference.split(".."):
        name, *changed = part.split("+")
        every = dict(change.split("=", 1) for change in changed) | rules
        parts.append("+".join([name, *(f"{rule}={value}" for rule, value in every.items())]))
    return "..".join(parts)


@functools.cache
def base_spec(reference: str) -> Spec[Any]:
    """Return the spec with the given reference. Each spec is loaded and its functions are checked only once."""
    spec = load_spec(reference)
    with suppress(SpecError):  # whoever searches it says what is wrong
        spec.initials()
    return spec


@functools.cache
def cures_of(reference: str) -> tuple[Cure, ...]:
    """Return the cures of a release of Kafka, or of a mix of two, in order of preference. Return an empty tuple for any
    other spec.
    """
    named = map(base_spec, mixed_in(reference) or [reference])
    found = [cure for spec in named if spec.column for cure in (*_of_archive(spec.column), *_of_table(spec))]
    unique: dict[tuple[tuple[str, str], ...], Cure] = {}
    for cure in found:
        if _checked(World(reference, {}, (cure,))) == _checked(World(reference, {})):
            unique.setdefault(tuple(sorted(cure.rules.items())), cure)
    return tuple(sorted(unique.values(), key=lambda cure: cure.rank))


def own_cures(spec: Spec[Any], planned: Sequence[OwnCure]) -> tuple[Cure, ...]:
    """Return the cures of a spec that is not a release of Kafka.

    Parameters:
        planned: the cures that the plan of the hunt names.

    Raises:
        LeadlineError: if a cure leaves out an action that the spec does not have, or changes nothing.
    """
    names = [action.name for action in spec.actions]
    for cure in planned:
        for action in cure.without:
            if action not in names:
                raise LeadlineError(f"cure {cure.name!r} leaves out {action!r}, which is not an action of {spec.name}")
        if not cure.without and not cure.bounds:
            raise LeadlineError(f"cure {cure.name!r} changes nothing: give it bounds, or actions in `without`")
        spec.with_bounds(cure.bounds)
    if planned:
        return tuple(
            Cure(each.name, KNOWN, {}, each.bounds, tuple(each.without), each.ticket, "", each.by_design)
            for each in planned
        )
    without = [Cure(f"without {name}", SHARED, without=(name,)) for name in names] if len(names) > 1 else []
    return (*_taken_back(spec), *_other_bounds(spec.bounds), *without)


def _taken_back(spec: Spec[Any]) -> Iterator[Cure]:
    """For each rule and action in which a spec differs from the nearest release, yield a cure that takes it back."""
    found = nearest_release(spec)
    if found is None:
        return
    name, back = found
    for change in back:
        said = f"the nearest release has another {change.name}"
        yield Cure(f"{change.subject} as in {name}", LATER, sentence=said, fields=change.values)
    released = {each.name: each for each in base_spec(name).actions}
    for action in spec.actions:
        other = released.get(action.name, action)
        if other.function is not action.function:
            said = f"the nearest release has another action {action.name}{_first_difference(action, other)}"
            yield Cure(f"{action.name} as in {name}", LATER, sentence=said, actions={action.name: other})


def _first_difference(action: Action[Any, ...], other: Action[Any, ...]) -> str:
    """Return the place and the text of the first line in which an action differs from another, or an empty string."""
    try:
        (lines, first), (others, _) = inspect.getsourcelines(action.function), inspect.getsourcelines(other.function)
        path = inspect.getsourcefile(action.function) or ""
    except (OSError, TypeError):  # the source code is not available
        return ""
    for number, (line, wanted) in enumerate(itertools.zip_longest(lines, others, fillvalue="")):
        if line != wanted:
            return f": {Path(path).name}, line {first + number}: {line.strip()}"
    return ""


def _other_bounds(bounds: Any) -> Iterator[Cure]:
    """For each bound that is true or false, yield a cure that changes it. It is what a rule is in a release."""
    for field in attrs.fields(type(bounds)):
        if isinstance(value := getattr(bounds, field.name), bool):
            changed: Values = {field.name: not value}
            yield Cure(bounds_text(changed), NEW, bounds=changed)


def archive_with_causes() -> Archive:
    """Return the archive of known bugs, followed by the causes of `causes.toml`."""
    archive = read_archive()
    return attrs.evolve(archive, bugs=[*archive.bugs, *read_archive(CAUSES).bugs])


def _of_archive(column: RuleColumn) -> Iterator[Cure]:
    for bug in archive_with_causes().bugs:
        if bug.fixed and bug.rules and _has(column, bug):
            rules = {rule: value for rule, value in fix_of(bug, column).items() if column.values[rule] != value}
            about = bug.property if bug.by_design else ""
            yield Cure(bounds_text(rules), KNOWN, rules, {}, (), bug.ticket, bug.sentence, bug.by_design, about)


def _has(column: RuleColumn, bug: Bug) -> bool:
    return all(column.values.get(rule) == value for rule, value in bug.rules.items())


def _of_table(spec: Spec[Any]) -> Iterator[Cure]:
    """For each rule, yield a cure for every value other than the release's own."""
    table, column = rule_table(spec), spec.column
    later = {} if table is None else table.later_values
    for rule in column.table:
        of_releases = {each.values[rule.name] for each in spec.family.like(column)}
        for value in (each.name for each in rule.values if each.name != column.values[rule.name]):
            rank = LATER if value in later.get(rule.name, ()) else SHARED if len(of_releases) == 1 else NEW
            if rank == NEW and any(each.values.get(rule.name) == value for each in spec.family.releases):
                rank = EARLIER
            yield Cure(bounds_text({rule.name: value}), rank, {rule.name: value})


def _checked(world: World) -> list[str]:
    """Return the names of a world's properties. A cure that removes a property does not prevent its violation."""
    return [item.name for item in world.whole().checks]
