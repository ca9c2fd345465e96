"""Find the cause of a violation by changing the spec in one respect and searching the changed spec.

For a release of Kafka, a change is either the value of a rule in a later release or a configuration that promises more.
For a protocol of the `atomic` family, it is the value of a rule in a later protocol. A change prevents the violation
(the answer is ``prevents``) if the property holds in the whole state space of the changed spec, and the property's
premise is true in some state there. For any other spec, a change leaves one step out of the counterexample; see
`leadline.reports.left_out_steps`. All results come from searches; only the tickets of a rule are looked up in the
archive of bugs.

First, and without a search, the steps of the counterexample are executed with the fix of each archived bug whose rules
the spec has. If they do not violate the property then, the bug is named, even if no search of its fix ends in time.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.engines import ENGINES
from leadline.checker.engines.progress import Progress, paced
from leadline.checker.liveness.recheck import fault
from leadline.checker.properties import Kind, Property
from leadline.checker.result import Limits, Result, Verdict
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.checker.traces.replay import executed
from leadline.invariants.promises import violations
from leadline.reports.left_out_steps import world_without
from leadline.reports.loading import names_a_file

if TYPE_CHECKING:
    from leadline.reports.kafka.bugs import Bug
    from leadline.reports.rule_tables import RuleTable

SECONDS = 20.0
"""The default time limit of a diagnosis, in seconds."""

PRICES = {
    "acks": "producers wait for every member of the ISR",
    "min_insync_replicas": "producers with acks=all cannot write while the ISR has one member",
    "unclean_leader_election": "the partition has no leader while no member of the ISR is alive",
}
"""The disadvantage of each stricter setting, keyed by the name of the setting."""

MOST_UNDECIDED = 4
"""The maximum number of undecided changes that `lines` names."""

Answer = Literal["prevents", "does not prevent", "not decided", "stops these steps"]


@attrs.frozen
class Change:
    """A change to a spec, and whether the change prevents a violation. If it does, the changed spec satisfies the
    property.

    Attributes:
        kind: what is changed: rules, the configuration, or the steps of the counterexample, one of which is left out.
        name: the change in the notation of the command line, such as ``diverging_fetch=ignored``, or the step that is
            left out.
        answer: whether the change prevents the violation. It stops these steps if the steps of the counterexample do
            not violate the property with it, and other steps were not searched.
        about: an explanation: the releases or protocols that have the changed rules, the disadvantage of the
            configuration, or the description of the step.
        tickets: the tickets of the known bugs that the rules cause in the unchanged spec. Empty for other kinds of
            changes.
    """

    kind: Literal["rule", "configuration", "step"]
    name: str
    answer: Answer
    about: str = ""
    tickets: tuple[str, ...] = ()


@attrs.frozen
class Diagnosis:
    """The result of a diagnosis, which tries changes to a spec in order to explain a violation.

    Attributes:
        name: the name of the violated property.
        changes: the changes that were tried.
        interrupted: whether the user interrupted the diagnosis, so that further changes were not tried.
    """

    name: str
    changes: tuple[Change, ...]
    interrupted: bool = False

    @property
    def preventing(self) -> list[Change]:
        """The changes that prevent the violation."""
        return [change for change in self.changes if change.answer == "prevents"]

    @property
    def archived(self) -> list[Change]:
        """The fixes of archived bugs with which the steps of the counterexample do not violate the property. Fixes that
        also prevent the violation are left out.
        """
        known = {ticket for change in self.preventing for ticket in change.tickets}
        return [
            change for change in self.changes if change.answer == "stops these steps" and not known & {*change.tickets}
        ]

    @property
    def undecided(self) -> list[Change]:
        """The changes whose effect was not determined within the time limit."""
        return [change for change in self.changes if change.answer == "not decided"]


def diagnose(result: Result, seconds: float = SECONDS, progress: Progress | None = None) -> Diagnosis | None:
    """Find changes to a spec that prevent the first violation in a result.

    The function `leadline.invariants.promises.violations` determines which violation is the first.

    Parameters:
        seconds: the time limit in seconds.
        progress: a function that is called regularly with the counts of the current search.

    Returns:
        The diagnosis, or None if the result has no counterexample.
    """
    item = next(iter(violations(result)), None)
    if item is None or item.property.kind.is_witness:
        return None
    search = _Search(result.spec, item.property, item.traces[0], time.monotonic() + seconds, progress)
    table = _rule_table(result.spec)
    if table is None and item.property.kind.is_liveness:
        return None  # leaving out a step can only end fair behaviours earlier
    changes, interrupted = list[Change](), False
    try:
        if table is not None:
            changes += _of_archive(item.property, item.traces[0], table)
        for change in _of_rules(search, table) if table is not None else _of_steps(search):
            changes.append(change)
    except KeyboardInterrupt:  # the violation was found, and its report must not be lost
        interrupted = True
    return Diagnosis(item.property.name, tuple(changes), interrupted)


def archived_bugs(trace: Trace[object]) -> Diagnosis | None:
    """Return the archived bugs that can explain a counterexample, without a search. Return None if its spec is not one
    of Kafka's releases.
    """
    about = trace.about
    table = None if about is None or about.kind.is_witness else _rule_table(trace.spec)
    return Diagnosis(about.name, tuple(_of_archive(about, trace, table))) if about is not None and table else None


@attrs.frozen
class _Search:
    """Searches changed specs for the cause of a violation. All searches end when `time.monotonic` reaches `until`."""

    spec: Spec[object]
    item: Property
    trace: Trace[object]
    until: float
    progress: Progress | None

    def answer(self, changed: Spec[object]) -> Answer:
        """Return whether a change to the spec prevents the violation."""
        if time.monotonic() >= self.until:
            return "not decided"
        spec = changed.with_properties([self.item.name])
        return "does not prevent" if allows(spec, self.trace) else self.answer_of_search(spec)

    def answer_of_search(self, spec: Spec[object]) -> Answer:
        """Search a changed spec, and return whether the change prevents the violation.

        The change prevents the violation if the property holds and all witnesses are shown.

        Parameters:
            spec: the changed spec. Its properties are the violated property and any number of witnesses.
        """
        left = self.until - time.monotonic()
        if left <= 0:
            return "not decided"
        engine = functools.partial(ENGINES["compiled"], spec, Limits(max_seconds=left))
        result = paced(lambda progress: engine(progress=progress), self.progress)
        if result.interrupted:
            raise KeyboardInterrupt
        own = result.of(self.item.name)
        if own.verdict is Verdict.VIOLATED:
            return "does not prevent"
        if not result.exhausted:
            return "not decided"
        is_shown = all(each.verdict is Verdict.HOLDS for each in result.properties)
        return "prevents" if is_shown and own.premise is not False else "does not prevent"


def allows(spec: Spec[object], trace: Trace[object]) -> bool:
    """Return whether the steps of a counterexample also violate the property in another spec. A loop does so unless
    another fair step is possible there. See `executed`.

    Parameters:
        spec: the other spec. Its only property is the property that the counterexample violates.
    """
    found = executed(spec, [repr(instance) for instance in trace.instances], trace.loop)
    return found is not None and not (spec.checks[0].kind.is_liveness and fault(found))


# --- specs that are built from rules ----------------------------------------------------------------------------


def _of_rules(search: _Search, table: RuleTable) -> Iterator[Change]:
    """Try changes to a release, and yield them: first what users can choose in this release, then changes to one rule,
    then to several rules, then to settings.
    """
    for chosen, value in table.choices:
        answer = _with_rules(search, table, {chosen.name: value})
        about = f"a choice of {chosen.chosen_by}; {chosen.value(value).sentence}"
        yield Change("configuration", f"{chosen.name}={value}", answer, about)
    single: list[Change] = []
    for rule, values in table.later_values.items():
        for value in values:
            single.append(_with_one_rule(search, table, rule, value))
            yield single[-1]
            if single[-1].answer == "prevents":
                break  # a still later value keeps what was prevented
    if not any(change.answer == "prevents" for change in single):
        yield from _together(search, table)
    for name, stricter in _stricter(search.spec.bounds):
        answer = search.answer(search.spec.with_bounds({name: stricter}))
        yield Change("configuration", bounds_text({name: stricter}), answer, PRICES[name])


def _of_archive(item: Property, trace: Trace[object], table: RuleTable) -> list[Change]:
    """Return the fixes of archived bugs with which the steps of the counterexample do not violate the property. If some
    of these bugs violate the same property, return only those.
    """
    found: dict[str, list[Bug]] = {}
    for bug, fix in table.fixes:
        fixed = table.spec_with(fix).with_bounds(attrs.asdict(trace.spec.bounds))
        if not allows(fixed.with_properties([item.name]), trace):
            found.setdefault(bounds_text(fix), []).append(bug)
    same = {name: bugs for name, bugs in found.items() if any(bug.property == item.name for bug in bugs)}
    abouts = {bounds_text(fix): table.having(fix) for _, fix in table.fixes}
    return [
        Change("rule", name, "stops these steps", abouts[name], tuple(bug.ticket for bug in bugs))
        for name, bugs in (same or found).items()
    ]


def _together(search: _Search, table: RuleTable) -> Iterator[Change]:
    """Find the first later release whose rules prevent the violation. Yield a change that consists of those of its
    rules that are necessary.
    """
    kept: dict[str, str] = {}
    for each in table.later:
        rules = {rule: value for rule, value in each.values.items() if table.values[rule] != value}
        if rules and _with_rules(search, table, rules) == "prevents":
            kept = rules
            break
    for rule in list(kept):
        fewer = {name: value for name, value in kept.items() if name != rule}
        if fewer and _with_rules(search, table, fewer) == "prevents":
            kept = fewer
    if kept:
        yield _preventing(table, kept)


def _with_rules(search: _Search, table: RuleTable, rules: Mapping[str, str]) -> Answer:
    return search.answer(table.spec_with(rules).with_bounds(attrs.asdict(search.spec.bounds)))


def _with_one_rule(search: _Search, table: RuleTable, rule: str, value: str) -> Change:
    answer = _with_rules(search, table, {rule: value})
    return _preventing(table, {rule: value}) if answer == "prevents" else Change("rule", f"{rule}={value}", answer)


def _preventing(table: RuleTable, rules: Mapping[str, str]) -> Change:
    """Return a `Change` for the given rules, which prevent the violation."""
    return Change("rule", bounds_text(rules), "prevents", table.having(rules), table.tickets_of(rules.keys()))


def _stricter(bounds: object) -> Iterator[tuple[str, int | bool | str]]:
    """Yield settings that give stronger guarantees than the given bounds, each as a (name, value) pair."""
    if getattr(bounds, "acks", "all") != "all":
        yield "acks", "all"
    if getattr(bounds, "min_insync_replicas", 2) < 2 <= getattr(bounds, "brokers", 0):
        yield "min_insync_replicas", 2
    if getattr(bounds, "unclean_leader_election", False):
        yield "unclean_leader_election", False


# --- any other spec ---------------------------------------------------------------------------------------------


def _of_steps(search: _Search) -> Iterator[Change]:
    """Leave one action instance at a time out of the counterexample, and yield each such change with its result."""
    if search.item.kind is Kind.DEADLOCK:  # fewer actions cannot explain why no action is enabled
        return
    for instance in dict.fromkeys(each.of_search for each in search.trace.instances):
        world = world_without(search.trace, instance, search.item)
        answer: Answer = "does not prevent" if world is None else search.answer_of_search(world)
        yield Change("step", repr(instance), answer, instance.sentence)


def default_seconds(spec: Spec[object]) -> float:
    """Return the default time limit of a diagnosis in seconds: `SECONDS` for a spec built from rules, otherwise 0."""
    return SECONDS if _rule_table(spec) is not None else 0


def _rule_table(spec: Spec[object]) -> RuleTable | None:
    """Return the rules from which a spec is built. For a spec from a user's file, do not import the models."""
    if names_a_file(spec.name):
        return None
    from leadline.reports.rule_tables import rule_table

    return rule_table(spec)


def lines(diagnosis: Diagnosis) -> Sequence[str]:
    """Return a diagnosis in sentences.

    Returns:
        The sentences. There are none if all changes to rules were decided and no change prevents the violation.
    """
    said = [f"{diagnosis.name} {_words(change)}" for change in diagnosis.preventing]
    for change in diagnosis.archived:
        whose = f", the rule of {change.about}" if change.about else ", which no release has"
        from leadline.reports.kafka.bugs import NO_TICKET, command_for  # it imports every model, and is read already

        named = [
            f'"{ticket.removeprefix(NO_TICKET)}", which has no ticket' if ticket.startswith(NO_TICKET) else ticket
            for ticket in change.tickets
        ]
        said.append(
            f"known as {' and '.join(named)}: with the fix, {change.name}{whose}, these steps do not violate "
            f"{diagnosis.name}. See: {command_for(change.tickets[0])}"
        )
    if diagnosis.undecided:
        names = ", ".join(change.name for change in diagnosis.undecided[:MOST_UNDECIDED])
        more = len(diagnosis.undecided) - MOST_UNDECIDED
        names += f" and {more} more" if more > 0 else ""
        preposition = "without" if diagnosis.undecided[0].kind == "step" else "with"
        said.append(f"not decided in the time limit: whether {diagnosis.name} holds {preposition} {names}")
    if diagnosis.interrupted:
        said.append(f"the search for what decides {diagnosis.name} was interrupted")
    if not said and any(change.kind == "step" for change in diagnosis.changes):
        said.append(
            f"no single step decides it: without any one of them, {diagnosis.name} is still violated, or what it is "
            "about no longer happens"
        )
    return said


def _words(change: Change) -> str:
    match change.kind:
        case "rule":
            tickets = f" ({', '.join(change.tickets)})" if change.tickets else ""
            return f"holds with {change.name}, the rule{'s' * (',' in change.name)} of {change.about}{tickets}"
        case "configuration":
            return f"holds with {change.name}: {change.about}"
    about = f": {change.about}" if change.about else ""
    return f"holds among the other steps of the counterexample, in any order, without {change.name}{about}"
