"""The plan of a hunt. It is read from a TOML file that lists configurations, failures and sizes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from leadline.checker.errors import LeadlineError, SpecError
from leadline.checker.spec import Spec
from leadline.checker.support.files import read_toml
from leadline.checker.support.messages import counted, nearest
from leadline.reports.hunt.together import Together
from leadline.reports.loading import mixed_in
from leadline.reports.toml_files import Values, read_as


def shipped_plan(spec: Spec[Any]) -> Path | None:
    """Return the shipped plan for the family of a release or a mix of releases, or None if there is none."""
    if spec.column is None and not mixed_in(spec.name):
        return None
    path = Path(__file__).resolve().with_name(f"{spec.family.name}.toml")
    return path if path.is_file() else None


@attrs.frozen(kw_only=True)
class Setting:
    """A configuration in which a spec is searched.

    Attributes:
        name: the name of the configuration.
        bounds: its bounds.
        rules: the values of its rules, keyed by rule. Only for specs with rules. A spec that already has one of these
            values is not searched in this configuration, because another configuration gives the same spec.
        needs: the names of bounds that a spec must have to be searched in the configuration.
        only_with: the rule values, keyed by rule, that a spec must have to be searched in the configuration.
        properties: the names of the properties to check. If empty, those of the plan are checked.
        breaks: the names of properties that the configuration does not promise.
        without: the names of failures that cannot happen in it.
        most: the maximum number of failures in a search, or None for the maximum of the plan.
        effort: the effort of all its searches. None means 0 for the first configuration, and 1.5 for the others.
        first_seconds: the time limit of a search in the first round. If 0, it is that of most searches. What goes wrong
            after many steps needs a longer one.
    """

    name: str
    bounds: Values = attrs.field(factory=dict)
    rules: dict[str, str] = attrs.field(factory=dict)
    needs: list[str] = attrs.field(factory=list)
    only_with: dict[str, str] = attrs.field(factory=dict)
    properties: list[str] = attrs.field(factory=list)
    breaks: list[str] = attrs.field(factory=list)
    without: list[str] = attrs.field(factory=list)
    most: int | None = None
    effort: float | None = None
    first_seconds: float = 0.0


@attrs.frozen(kw_only=True)
class Failure:
    """A failure, or another rare event, that a search allows.

    Attributes:
        name: the name of the failure.
        bounds: the numbers that the failure adds to the bounds of a search.
        most: the maximum number of times that it can happen in one search.
        not_with: the rule values, keyed by rule, with which the failure cannot happen.
        instead_of: the names of failures that are not combined with it.
        effort: the effort of the failure. Searches with a lower total effort are made first.
        properties: the properties that are still promised if the failure happens. If empty, all are promised.
        breaks: the names of properties that are not promised any more if the failure happens.
    """

    name: str
    bounds: dict[str, int]
    most: int = 1
    effort: float = 1.0
    not_with: dict[str, str] = attrs.field(factory=dict)
    instead_of: list[str] = attrs.field(factory=list)
    properties: list[str] = attrs.field(factory=list)
    breaks: list[str] = attrs.field(factory=list)


@attrs.frozen(kw_only=True)
class OwnCure:
    """A cure that a plan names: a change of bounds, or actions that are left out.

    Attributes:
        name: the name of the cure.
        bounds: the bounds that the cure changes.
        without: the names of the actions that it leaves out.
        ticket: the ticket of the cause that it removes. Empty if there is none.
        by_design: why the behaviour that it prevents is by design, with a source. Empty if it is not by design.
    """

    name: str
    bounds: Values = attrs.field(factory=dict)
    without: list[str] = attrs.field(factory=list)
    ticket: str = ""
    by_design: str = ""


@attrs.frozen
class Planned:
    """A search of a plan.

    Attributes:
        name: a phrase that names the search.
        reference: the spec with the rules of the configuration.
        bounds: the bounds that differ from those of the spec.
        kept: the names of the bounds that belong to the configuration.
        properties: the names of the properties to check.
        situations: the names of the situations that the search may reach.
        failures: the names of the failures that it allows.
        effort: its effort; see `Plan.searches`.
        together: the limits of a search of many failures, or None.
        apart: whether a search of many failures is made without cures, which could hide other causes.
        first_seconds: its time limit in the first round, or 0.
    """

    name: str
    reference: str
    bounds: Values
    kept: frozenset[str]
    properties: tuple[str, ...]
    situations: tuple[str, ...]
    failures: tuple[str, ...]
    effort: float
    together: Together | None = None
    apart: bool = False
    first_seconds: float = 0.0


@attrs.frozen(kw_only=True)
class Plan:
    """The plan of a hunt.

    Attributes:
        settings: the configurations. The first one is the most important: searches of the others come later.
        sizes: the bounds that give the size of the system, smallest first.
        failures: the failures that are combined.
        most: the maximum number of failures in a search.
        together: whether one search allows all failures that the states of a release count, but at most a few of them
            in one behaviour, at last `most`. The other failures are added to such a search one at a time. It is made
            with the cures of all known causes, and without cures, which could hide other causes.
        properties: the names of the properties to check. If empty, those that the spec checks by default.
        also: the names of further properties to check. Those that a spec does not have are left out.
        situations: the names of the witnesses to reach. If empty, every witness of the spec.
        cures: the cures of a spec, which come before those of the rules of a release.
        seconds: the time limit of an exhaustive search. These times are processor time, except on Spark.
        deciding_seconds: the time limit of each search that decides the cause of a violation.
        random_seconds: the time limit of the random search that follows an incomplete exhaustive search.
    """

    settings: list[Setting] = attrs.field(factory=lambda: [Setting(name="default bounds")])
    sizes: list[Values] = attrs.field(factory=lambda: [{}])
    failures: list[Failure] = attrs.field(factory=list)
    most: int = 0
    together: bool = False
    properties: list[str] = attrs.field(factory=list)
    also: list[str] = attrs.field(factory=list)
    situations: list[str] = attrs.field(factory=list)
    cures: list[OwnCure] = attrs.field(factory=list)
    seconds: float = 20.0
    deciding_seconds: float = 60.0
    random_seconds: float = 10.0

    def searches(self, spec: Spec[Any]) -> list[Planned]:
        """Return the searches of a spec, in ascending order of effort. The effort of a search is the sum of its
        failures' efforts, plus 0.5 for each step to a larger size, plus that of the configuration.

        Parameters:
            spec: the spec with its default bounds. Its name is the reference under which it is loaded.

        Raises:
            LeadlineError: if the plan names a bound, rule or property that the spec does not have.
        """
        column = spec.column
        rules = {} if column is None else dict(column.values)
        found = list[Planned]()
        for place, setting in enumerate(self.settings):
            if not _applies(setting, rules) or not all(hasattr(spec.bounds, name) for name in setting.needs):
                continue
            sizes = [size for size in self.sizes if not size.keys() <= setting.bounds.keys()] or [{}]
            own = {**rules, **setting.rules}
            failures = [
                each for each in self.failures if not _any_is(each.not_with, own) and each.name not in setting.without
            ]
            most = self.most if setting.most is None else setting.most
            for (larger, size), (number, failing, every) in itertools.product(
                enumerate(sizes), self._chosen(spec, setting, failures, most)
            ):
                happening = [*failing, *(each for each in every for _ in range(each.most))]
                bounds = _bounds(setting, size, happening)
                bounded = _bounded(spec, bounds)
                names = self._properties(bounded, setting, failing)
                together = self._together(spec, number, names, [*failing, *every]) if every else None
                fewest = _FEWEST if every and not larger else 1
                if not names or (every and (number < min(fewest, most) or not _is_modelled(spec, bounds))):
                    continue
                effort = sum(each.effort for each in failing) + _LARGER * larger
                effort += (_LATER if place else 0) if setting.effort is None else setting.effort
                effort += _ANOTHER * (number - fewest) if every else 0
                planned = Planned(
                    name=_name(bounded, setting, size, failing, number if every else 0),
                    reference="+".join([spec.name, *(f"{k}={v}" for k, v in setting.rules.items())]),
                    bounds=bounds,
                    kept=frozenset({*setting.bounds, *size}),
                    properties=names,
                    situations=self._situations(bounded),
                    failures=() if every else tuple(each.name for each in failing),
                    effort=effort,
                    together=together,
                    first_seconds=setting.first_seconds,
                )
                found.append(planned)
                if together:
                    name = f"{planned.name}, each cause apart"
                    found.append(attrs.evolve(planned, name=name, effort=effort + _APART, apart=True))
        if not found:
            raise LeadlineError(f"the plan has no search for {spec.name}")
        return sorted(found, key=lambda planned: planned.effort)

    def _chosen(
        self, spec: Spec[Any], setting: Setting, failures: Sequence[Failure], most: int
    ) -> Iterator[tuple[int, tuple[Failure, ...], list[Failure]]]:
        """Yield the combinations of failures: how many, which ones, and those of which a few happen; see `together`."""
        known = spec.family.perturbations if self.together and spec.family is not None else ()
        own = [each for each in failures if each.bounds.keys() <= {*known}]
        every = [each for each in own if _is_modelled(spec, {**setting.bounds, **each.bounds})]
        if not every or not most:
            yield from ((n, chosen, []) for n in range(most + 1) for chosen in _combinations(failures, n))
            return
        others = [
            (each,) * n for each in failures if not each.bounds.keys() <= {*known} for n in range(1, each.most + 1)
        ]
        yield from ((n, chosen, every) for n in range(1, most + 1) for chosen in ((), *others))

    def _together(self, spec: Spec[Any], most: int, names: Sequence[str], failures: Sequence[Failure]) -> Together:
        """Return the limits of a search of at most so many of the given failures."""
        known = spec.family.perturbations
        counts = [{name: number for name, number in each.bounds.items() if name in known} for each in failures]
        unless = [
            (name, numbers)
            for each, numbers in zip(failures, counts, strict=True)
            for name in names
            if numbers and (name in each.breaks or (each.properties and name not in each.properties))
        ]
        return Together(tuple(dict.fromkeys(name for each in counts for name in each)), most, tuple(unless))

    def _situations(self, spec: Spec[Any]) -> tuple[str, ...]:
        """Return the names of the witnesses to reach that a spec has."""
        known = dict.fromkeys(item.name for item in (*spec.checks, *spec.optional) if item.kind.is_witness)
        return tuple(name for name in known if not self.situations or name in self.situations)

    def _properties(self, spec: Spec[Any], setting: Setting, failing: Sequence[Failure]) -> tuple[str, ...]:
        """Return the names of the properties that are promised in a configuration even if the given failures happen."""
        known = [item.name for item in spec.checks if not item.kind.is_witness]
        every = {item.name for item in (*spec.checks, *spec.optional)}
        wanted = setting.properties or [*(self.properties or known), *(name for name in self.also if name in every)]
        if not set(wanted) & every:
            left_out = [item for item in spec.properties if item.applies is not None]
            if any(not wanted or any(map(item.is_named, wanted)) for item in left_out):
                return ()  # none of them applies within these bounds
            names = f"the plan names no property of {spec.name}, only {', '.join(wanted)}"
            raise LeadlineError(names if wanted else f"{spec.name} has no property that a hunt could check")
        promised = [set(failure.properties) for failure in failing if failure.properties]
        broken = {name for failure in failing for name in failure.breaks}
        named = [name for name in dict.fromkeys(wanted) if name in every and name not in {*setting.breaks, *broken}]
        return tuple(name for name in named if all(name in names for names in promised))


def _bounds(setting: Setting, size: Mapping[str, Any], failing: Sequence[Failure]) -> Values:
    bounds: Values = {**setting.bounds, **size}
    for failure in failing:
        for name, number in failure.bounds.items():
            bounds[name] = int(bounds.get(name, 0)) + number
    return bounds


def _is_modelled(spec: Spec[Any], bounds: Mapping[str, object]) -> bool:
    """Return whether a spec has failures: one of a file may have no rules, which `Failure.not_with` is about."""
    try:
        return bool(spec.with_bounds(bounds).initials())
    except SpecError:
        return False


def _bounded(spec: Spec[Any], bounds: Values) -> Spec[Any]:
    try:
        return spec.with_bounds(bounds)
    except SpecError as error:
        raise LeadlineError(f"the plan does not fit {spec.name}: {error}") from error


def _name(spec: Spec[Any], setting: Setting, size: Mapping[str, Any], failing: Sequence[Failure], most: int) -> str:
    numbers = Counter(each.name for each in failing)
    names = [name if number == 1 else f"{number} x {name}" for name, number in numbers.items()]
    if most:
        names.append(f"at most {counted(most, 'failure')} of any kind")
    sizes = [f"{name}={value}" for name, value in size.items()]
    allowed = spec.family is None or any(getattr(spec.bounds, name) for name in spec.family.perturbations)
    alone = "only failures of the default bounds" if allowed else "no failure"
    return ", ".join([setting.name, *sizes, " + ".join(names) or alone])


_LARGER = 0.5
"""The effort of the next size."""

_FEWEST = 2
"""The fewest failures in a search of many with the smallest size: one takes hardly less time."""

_ANOTHER = 0.6
"""The effort of another failure in a search of many."""

_APART = -0.3
"""How much less effort a search of many failures without cures has: it only lists violations."""

_LATER = 1.5
"""The effort of all configurations but the first one."""


def _applies(setting: Setting, rules: Mapping[str, str]) -> bool:
    if setting.rules and (not rules or _any_is(setting.rules, rules)):
        return False
    return all(rules.get(rule) == value for rule, value in setting.only_with.items())


def _any_is(values: Mapping[str, str], rules: Mapping[str, str]) -> bool:
    return any(rules.get(rule) == value for rule, value in values.items())


def _combinations(failures: Sequence[Failure], number: int) -> Iterator[tuple[Failure, ...]]:
    for chosen in itertools.combinations_with_replacement(failures, number):
        names = {each.name for each in chosen}
        if all(chosen.count(each) <= each.most and names.isdisjoint(each.instead_of) for each in chosen):
            yield chosen


def read_plan(path: Path) -> Plan:
    """Read the plan of a hunt from a TOML file. Raise LeadlineError if the file cannot be read or is invalid."""
    content = read_toml(path)
    unknown = [name for name in content if name not in attrs.fields_dict(Plan)]
    if unknown:
        raise LeadlineError(f"{path}: unknown key {unknown[0]!r}{nearest(unknown[0], attrs.fields_dict(Plan))}")
    for name in _not_lists(content):
        raise LeadlineError(f"{path}: {name} must be a list")
    plan = read_as(Plan, path, "the plan of a hunt")
    for wrong in _wrong(plan):
        raise LeadlineError(f"{path}: {wrong}")
    return plan


_LISTS = {
    field.name
    for kind in (Plan, Setting, Failure, OwnCure)
    for field in attrs.fields(kind)
    if str(field.type).startswith("list[")
}
"""The keys of a plan that have lists."""


def _not_lists(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of keys that have another value than the list that is expected."""
    for name, value in content.items():
        if name in _LISTS and not isinstance(value, list):
            yield name
        elif isinstance(value, list):
            yield from (wrong for each in value if isinstance(each, Mapping) for wrong in _not_lists(each))


def _wrong(plan: Plan) -> Iterator[str]:
    """Yield what is wrong with the values of a plan."""
    if not plan.settings or not plan.sizes:
        yield "settings and sizes need at least one entry"
    if not (plan.seconds > 0 and plan.deciding_seconds > 0 and plan.random_seconds >= 0):
        yield "seconds and deciding_seconds must be greater than 0, and random_seconds at least 0"
    named: dict[str, list[str]] = {
        "settings": [each.name for each in plan.settings],
        "failures": [each.name for each in plan.failures],
        "cures": [each.name for each in plan.cures],
    }
    for kind, names in named.items():
        if "" in names:
            yield f"{kind}: a name is empty"
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            yield f"{kind}: the name {name!r} is used twice"
    others = [("instead_of", name) for each in plan.failures for name in each.instead_of]
    for key, other in (*others, *(("without", name) for each in plan.settings for name in each.without)):
        if other not in named["failures"]:
            yield f"{key} names an unknown failure {other!r}{nearest(other, named['failures'])}"
    for failure in plan.failures:
        for name, number in failure.bounds.items():
            if number < 1:
                yield f"failure {failure.name!r} adds {number} to the bound {name!r}: expected at least 1"
        if failure.most < 1 or not failure.effort >= 0:
            yield f"failure {failure.name!r}: most must be at least 1, and effort at least 0"
    most = [plan.most if each.most is None else each.most for each in plan.settings]
    if min(most, default=0) < 0:
        yield "most must be at least 0"
    elif plan.failures and not any(most):
        yield "there are failures, but most is 0: set most to the number of failures in one search, such as most = 2"
