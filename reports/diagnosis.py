"""Find the cause of a violation by changing the spec in one respect and searching it again.

For a release of Kafka, a change is either the value of a rule in a later release or a configuration that promises more.
For any other spec, a change leaves one step of the counterexample out of the spec. A change *mends* the violation if
the property holds in the whole state space of the changed spec. It does not count if the premise of the property is
never true there, or if the remaining steps of the counterexample never happen. All results come from searches; only the
tickets of a rule are looked up in the archive of bugs.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import attrs

from leadline.checker.action import Action, ActionInstance
from leadline.checker.bounds import bounds_text
from leadline.checker.engines import ENGINES
from leadline.checker.engines.progress import Progress, paced
from leadline.checker.errors import LeadlineError
from leadline.checker.properties import Property
from leadline.checker.result import Limits, Result, Verdict
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace, complaint_at_end
from leadline.model.kafka.releases import RELEASES, Column, column_of
from leadline.model.kafka.rules import RULES
from leadline.reports.bugs import Bug, read_archive
from leadline.reports.loading import load_spec

SECONDS = 20.0
"""The default time limit of a diagnosis, in seconds."""

PRICES = {
    "acks": "producers wait for every member of the ISR",
    "min_insync_replicas": "producers with acks=all cannot write while the ISR has one member",
    "unclean_leader_election": "the partition has no leader while no member of the ISR is alive",
}
"""The disadvantage of each configuration value that `_stricter` suggests."""

MOST_BEHAVIOURS = 100
"""The most behaviours examined for the steps of one counterexample. Steps with several next states lead to several."""

Answer = Literal["mends", "does not mend", "not decided"]


@attrs.frozen
class Change:
    """A change to a spec, and the answer whether the change mends a violation, so that the property holds.

    Attributes:
        kind: the kind of change: of the rules of a release, of its configuration, or the removal of a step.
        name: the change in the notation of the command line, such as ``diverging_fetch=ignored``, or the step.
        answer: the answer whether the change mends the violation.
        about: for rules, the first releases that have the changed values; for a configuration, its disadvantage; for a
            step, its description.
        tickets: the bugs in the archive that the rule causes. Empty if the change is not of a rule.
    """

    kind: Literal["rule", "configuration", "step"]
    name: str
    answer: Answer
    about: str = ""
    tickets: tuple[str, ...] = ()


@attrs.frozen
class Diagnosis:
    """The changes that were tried in order to explain the violation of a property.

    Attributes:
        name: the property's name.
        changes: the changes that were tried.
    """

    name: str
    changes: tuple[Change, ...]

    @property
    def mending(self) -> list[Change]:
        """The changes that mend the violation, which means that the property holds with the change."""
        return [change for change in self.changes if change.answer == "mends"]

    @property
    def undecided(self) -> list[Change]:
        """The changes that could not be decided within the time limit."""
        return [change for change in self.changes if change.answer == "not decided"]


def diagnose(result: Result, seconds: float = SECONDS, progress: Progress | None = None) -> Diagnosis | None:
    """Find the changes that mend the first violation of a result.

    Parameters:
        result: the result of a search.
        seconds: the time limit in seconds.
        progress: a function that is called regularly with the counts of the current search.

    Returns:
        The diagnosis, or None if the result has no counterexample.
    """
    found = (item for item in result.properties if item.verdict is Verdict.VIOLATED and item.traces)
    item = next(found, None)
    if item is None or item.property.kind.is_witness:
        return None
    search = _Search(result.spec, item.property, item.traces[0], time.monotonic() + seconds, progress)
    column = _column_of(result.spec)
    changes = _of_release(search, column) if column is not None else _of_steps(search)
    return Diagnosis(item.property.name, tuple(changes))


@attrs.frozen
class _Search:
    """The searches of changed specs for one violation. They end when `time.monotonic` reaches `until`."""

    spec: Spec[object]
    item: Property
    trace: Trace[object]
    until: float
    progress: Progress | None

    def answer(self, changed: Spec[object], happening: Collection[str] = ()) -> Answer:
        """Return the answer whether a change to the spec mends the violation.

        Parameters:
            changed: the changed spec.
            happening: the names of actions that must be enabled in at least one state of the changed spec.
        """
        left = self.until - time.monotonic()
        if left <= 0:
            return "not decided"
        spec = changed.with_properties([self.item.name])
        if self._trace_is_in(spec):
            return "does not mend"
        engine = functools.partial(ENGINES["compiled"], spec, Limits(max_seconds=left))
        result = paced(lambda progress: engine(progress=progress), self.progress)
        if result.interrupted:
            raise KeyboardInterrupt
        if result.verdict is Verdict.INCOMPLETE:
            return "not decided"
        is_vacuous = result.properties[0].premise is False or set(happening) & set(result.statistics.never_enabled)
        return "mends" if result.verdict is Verdict.HOLDS and not is_vacuous else "does not mend"

    def _trace_is_in(self, spec: Spec[object]) -> bool:
        """Return whether the counterexample also violates the property in a changed spec."""
        named = {repr(instance): instance for instance in spec.instances}
        steps = [named.get(repr(instance)) for instance in self.trace.instances]
        behaviours = [[state] for state in spec.initials()]
        for step in steps:
            if step is None:
                return False
            behaviours = [
                [*states, after] for states in behaviours[:MOST_BEHAVIOURS] for after in spec.take(step, states[-1])
            ]
        (item,) = spec.checks
        return any(complaint_at_end(spec, item, states) is not None for states in behaviours)


def _column_of(spec: Spec[object]) -> Column | None:
    try:
        return column_of(spec.name)
    except LeadlineError:
        return None


# --- releases of Kafka ------------------------------------------------------------------------------------------


def _of_release(search: _Search, column: Column) -> Iterator[Change]:
    """Try changes to a release, and yield them: first single rules, then rules together, then configurations."""
    single: list[Change] = []
    for rule, values in _later_values(column).items():
        for value in values:
            single.append(_with_one_rule(search, column, rule, value))
            yield single[-1]
            if single[-1].answer == "mends":
                break  # a still later value keeps what was mended
    if not any(change.answer == "mends" for change in single):
        yield from _together(search, column)
    for name, stricter in _stricter(search.spec.bounds):
        answer = search.answer(search.spec.with_bounds({name: stricter}))
        yield Change("configuration", bounds_text({name: stricter}), answer, PRICES[name])


def _base(column: Column) -> Column:
    """Return the release or design whose rules were changed to make a column."""
    base = column_of(column.name.partition("+")[0])
    assert base is not None, "the name of a column begins with that of its base"
    return base


def _after(column: Column) -> Sequence[Column]:
    """Return the releases after a given release. For a design of a KIP, return all releases."""
    base = _base(column)
    for number, each in enumerate(RELEASES, start=1):
        if each.values == base.values and each.controller == base.controller:
            return RELEASES[number:]
    return RELEASES


def _together(search: _Search, column: Column) -> Iterator[Change]:
    """Find the first later release whose rules mend the violation. Yield the change to those rules that are needed."""
    kept: dict[str, str] = {}
    for each in _after(column):
        rules = {rule: value for rule, value in each.values.items() if column.values[rule] != value}
        if rules and _with_rules(search, column, rules) == "mends":
            kept = rules
            break
    for rule in list(kept):
        fewer = {name: value for name, value in kept.items() if name != rule}
        if fewer and _with_rules(search, column, fewer) == "mends":
            kept = fewer
    if kept:
        yield _mending(column, kept)


def _later_values(column: Column) -> dict[str, list[str]]:
    """Return the new values of the rules that later releases changed, by rule. Rules of known bugs come first."""
    changed = {}
    for rule in RULES:
        values = dict.fromkeys(each.values[rule.name] for each in _after(column))
        if others := [value for value in values if value != column.values[rule.name]]:
            changed[rule.name] = others
    return dict(sorted(changed.items(), key=lambda pair: not _tickets(column, [pair[0]])))


def _with_rules(search: _Search, column: Column, rules: Mapping[str, str]) -> Answer:
    base = _base(column)
    changes = {rule: value for rule, value in {**column.values, **rules}.items() if base.values[rule] != value}
    reference = "+".join([base.name, *(f"{rule}={value}" for rule, value in changes.items())])
    return search.answer(load_spec(reference).with_bounds(attrs.asdict(search.spec.bounds)))


def _with_one_rule(search: _Search, column: Column, rule: str, value: str) -> Change:
    answer = _with_rules(search, column, {rule: value})
    return _mending(column, {rule: value}) if answer == "mends" else Change("rule", f"{rule}={value}", answer)


def _mending(column: Column, rules: Mapping[str, str]) -> Change:
    """Return a `Change` for rules that mend the violation."""
    name = ",".join(f"{rule}={value}" for rule, value in rules.items())
    return Change("rule", name, "mends", _releases_with(column, rules), _tickets(column, rules))


def _releases_with(column: Column, rules: Mapping[str, str]) -> str:
    """Return the first later release with ZooKeeper, and the first with KRaft, in which the rules have these values."""
    first: dict[str, str] = {}
    for each in _after(column):
        if all(each.values[rule] == value for rule, value in rules.items()):
            first.setdefault(each.controller, each.name)
    return " and ".join(first.values())


@functools.cache
def _bugs() -> tuple[Bug, ...]:
    return tuple(read_archive().bugs)


def _tickets(column: Column, rules: Iterable[str]) -> tuple[str, ...]:
    """Return the tickets of the known bugs that one of the given rules causes in a release."""
    own = [bug for bug in _bugs() if any(column.values[rule] == bug.rules.get(rule) for rule in rules)]
    return tuple(dict.fromkeys(bug.ticket for bug in own))


def _stricter(bounds: object) -> Iterator[tuple[str, int | bool | str]]:
    """Yield settings that give stronger guarantees than the given bounds: the name of a setting and its value."""
    if getattr(bounds, "acks", "all") != "all":
        yield "acks", "all"
    if getattr(bounds, "min_insync_replicas", 2) < 2 <= getattr(bounds, "brokers", 0):
        yield "min_insync_replicas", 2
    if getattr(bounds, "unclean_leader_election", False):
        yield "unclean_leader_election", False


# --- any other spec ---------------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class _WithoutInstance(Action[object, ...]):
    """An action without one of its instances (the action with fixed parameters)."""

    left_out: tuple[object, ...] = ()

    def instances(self, bounds: object) -> list[ActionInstance[object]]:
        """Return all instances of the action except the removed one."""
        every = super().instances(bounds)
        return [instance for instance in every if instance.values != self.left_out]


def _of_steps(search: _Search) -> Iterator[Change]:
    """Remove each action instance of the counterexample from the spec, one at a time, and yield the changes."""
    for instance in dict.fromkeys(search.trace.instances):
        actions = tuple(_without(action, instance) for action in search.spec.actions)
        others = {step.action for step in search.trace.steps} - {instance.action.name}
        answer = search.answer(attrs.evolve(search.spec, actions=actions), others)
        yield Change("step", repr(instance), answer, instance.sentence)


def _without(action: Action[object, ...], instance: ActionInstance[object]) -> Action[object, ...]:
    if action is not instance.action:
        return action
    return _WithoutInstance(action.name, action.function, action.domains, action.sentence, instance.values)


def has_rules(spec: Spec[object]) -> bool:
    """Return whether a spec is built from the table of rules of Kafka's releases."""
    return _column_of(spec) is not None


def lines(diagnosis: Diagnosis) -> Sequence[str]:
    """Return a diagnosis in lines of text. Empty if all changes were decided and no change mends the violation."""
    said = [f"{diagnosis.name} {_words(change)}" for change in diagnosis.mending]
    if diagnosis.undecided:
        names = ", ".join(change.name for change in diagnosis.undecided)
        said.append(f"not decided in the time limit: whether {diagnosis.name} holds with {names}")
    return said


def _words(change: Change) -> str:
    match change.kind:
        case "rule":
            tickets = f" ({', '.join(change.tickets)})" if change.tickets else ""
            return f"holds with {change.name}, the rule of {change.about} and later{tickets}"
        case "configuration":
            return f"holds with {change.name}: {change.about}"
    return f"holds without {change.name}{f': {change.about}' if change.about else ''}"
