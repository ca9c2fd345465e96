"""Plan the replays that reproduce a known bug: its counterexample on a release with the bug, and a control replay."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

import attrs

from leadline.brokers.control.plan import plan_of as plan_of_controllers
from leadline.brokers.control.schedule import schedule_of as schedule_of_controllers
from leadline.brokers.driver.plan import plan_of
from leadline.brokers.driver.schedule import schedule_of
from leadline.brokers.errors import NotExecutable
from leadline.brokers.groups.plan import plan_of as plan_of_groups
from leadline.brokers.plans import AnyPlan
from leadline.brokers.quorum.plan import plan_of as plan_of_quorum
from leadline.brokers.releases import BrokerRelease, broker_release, mixed_release
from leadline.brokers.transactions.plan import plan_of as plan_of_transactions
from leadline.checker.errors import LeadlineError
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace, complaint_at_end
from leadline.checker.traces.divergence import follow
from leadline.model.group.releases import GroupColumn
from leadline.model.kafka.published import minor
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER
from leadline.model.kafka.state import Partition
from leadline.reports.kafka.bugs import (
    CONTROL,
    GROUPS,
    IMAGES,
    QUORUM,
    REPLICATION,
    TRANSACTIONS,
    Archive,
    Bug,
    BugSearch,
    family_of,
)
from leadline.reports.loading import load_spec, mixed_in, shipped_column

_OLDER_CLIENT = "-client-"

RULES_OF_CONSUMERS = {"fenced_while_joining", "claims", "illegal_generation", "report", "interruption"}
"""The rules of groups that say what consumers do."""

Search = Callable[[BugSearch], Trace[Any]]
"""A function that runs a search for a bug, and returns the counterexample that the search finds."""


@attrs.frozen
class Schedules:
    """The releases and plans for reproducing a bug.

    Attributes:
        affected: the affected release.
        plan: the plan for the affected release. Its last state or step violates the property.
        control: the release for the control replay: a release in which the bug is fixed, or the affected release.
        control_plan: the plan for the control replay. Its states are those that the model of the control release
            reaches.
        left_out: the event that is left out of the control replay, or an empty string if the bug is fixed in the
            control release.
        reason: the reason why an event is left out, or an empty string.
    """

    bug: Bug
    affected: BrokerRelease
    plan: AnyPlan
    control: BrokerRelease
    control_plan: AnyPlan
    left_out: str = ""
    reason: str = ""


def bug_of(archive: Archive, ticket: str) -> Bug:
    """Return the bug with the given ticket. If several bugs name the ticket, return the bug whose main ticket it is.

    Raises:
        LeadlineError: if the ticket is unknown, or if no spec shows the bug.
    """
    bugs, unreached = archive.about(ticket)
    own = [bug for bug in bugs if bug.ticket.upper() == ticket.upper()]
    for bug in (*own, *bugs):
        return bug
    raise LeadlineError(f"{unreached[0].ticket} has no counterexample to replay: {unreached[0].reason}")


def affected_release(bug: Bug, name: str | None) -> BrokerRelease:
    """Return the release on which a bug is reproduced.

    Parameters:
        name: the requested release, or None for the last affected release without changed rules.

    Raises:
        LeadlineError: if the bug does not affect the requested release, or does not affect any release that can be run.
    """
    if name is None and mixed_in(bug.affected[-1]):
        return _mix_of(bug.affected[-1], lambda column: str(column.versions[-1]))
    if name is None:
        as_published = [each for each in bug.affected if "+" not in each and _OLDER_CLIENT not in each]
        if family_of(bug) == CONTROL and not as_published:
            if bug.affected[-1].partition("+")[0] in bug.fixed:
                raise LeadlineError(f"{bug.ticket} was fixed before Kafka 0.10.2, the first release that can be run")
            raise LeadlineError(f"{bug.ticket} is shown in {bug.affected[-1]}, which is not a release")
        column = _release_of((as_published or bug.affected)[-1].partition("+")[0])
        return _with_suffix(column, column.versions[-1])
    release = mixed_release(name)
    if _spec_name(bug, release) not in [each.partition("+")[0] for each in bug.affected]:
        known = ", ".join(bug.affected)
        raise LeadlineError(f"{bug.ticket} does not affect Kafka {release.name}: the affected releases are {known}")
    return release


def fixed_release(bug: Bug, affected: BrokerRelease, name: str | None) -> BrokerRelease | None:
    """Return a release that fixes a bug and can execute the same schedule, or None if there is none.

    Such a release has the same kind of controller. If the bug is about transactions, it also has the same transaction
    version, because producers send different requests with a different version.

    Parameters:
        name: the requested release, or None for the first release with the fix.

    Raises:
        LeadlineError: if the bug affects the requested release, or if that release has another kind of controller.
    """
    if name is None and mixed_in(bug.affected[-1]):
        return next((_mix_of(each, lambda column: _first_release(column).number) for each in bug.fixed), None)
    if name is None:
        fixed = (_release_of(each) for each in bug.fixed if "+" not in each)
        own = _like(bug, _release_of(_spec_name(bug, affected)))
        return next((_first_release(each) for each in fixed if _like(bug, each) == own), None)
    release = mixed_release(name)
    if _spec_name(bug, release) in bug.affected:
        raise LeadlineError(f"Kafka {release.name} is also affected by {bug.ticket}: choose a release with the fix")
    if release.kraft != affected.kraft and family_of(bug) != QUORUM:
        raise LeadlineError(f"Kafka {release.name} and {affected.name} must have the same kind of controller")
    return release


def schedules_of(
    archive: Archive, bug: Bug, affected: BrokerRelease, fixed: BrokerRelease | None, search: Search
) -> Schedules:
    """Plan two replays for a bug: its counterexample on an affected release, and a control replay.

    Parameters:
        archive: the archive that contains the bug.
        fixed: a release with the fix, on which the control replay runs. If there is none, the control replay runs on
            the affected release, without the decisive event.
        search: a function that returns the counterexample for a search.

    Raises:
        NotExecutable: if real brokers cannot execute a step.
        LeadlineError: if the bug violates a liveness property, or if the counterexample does not violate the property
            in the spec of the affected release.
    """
    if family_of(bug) == CONTROL:
        return _of_controllers(bug, affected, fixed)
    if family_of(bug) == IMAGES:
        raise LeadlineError(f"{bug.ticket}: {bug.on_brokers}")
    if family_of(bug) == GROUPS and bug.rules and bug.rules.keys() <= RULES_OF_CONSUMERS:
        raise LeadlineError(f"{bug.ticket} is a bug of consumers, and the driver plays their part itself")
    runs = archive.runs(bug)
    for item in runs[0].spec.liveness:
        raise LeadlineError(f"{bug.ticket} violates {item.name}, a liveness property, but a replay is finite")
    found = search(next(run for run in runs if run.part == "affected" and _is_of(run, bug, affected)))
    spec = _spec(bug, affected)
    plan = _plan(bug, found, affected, spec)
    if plan.refused is not None or not _violates(plan.trace, found):
        needed = " or ".join(name for name in bug.affected if name.partition("+")[0] == _spec_name(bug, affected))
        brokers = f"the brokers are started with the rules of {spec.name}"
        raise LeadlineError(f"{brokers}, under which the counterexample for {needed} does not violate {bug.property}")
    if fixed is None:
        left_out, control = without_the_event(plan.trace, found, functools.partial(_is_executable, bug, affected))
        kind = "" if family_of(bug) == GROUPS else f" with {controller_of(affected)}"
        reason = f"no release{kind} has the fix"
        if family_of(bug) == TRANSACTIONS and bug.fixed:
            reason = "producers of releases with the fix send other requests"
        return Schedules(bug, affected, plan, affected, _plan(bug, control, affected), left_out, reason)
    again = next((run for run in runs if run.part == "put back" and _is_of(run, bug, fixed)), None)
    trace = found
    if again is not None and family_of(bug) not in (TRANSACTIONS, QUORUM, GROUPS):
        trace = _for_fixed(found, again, search, controller_of(fixed))
    return Schedules(bug, affected, plan, fixed, _plan(bug, trace, fixed, _spec(bug, fixed)))


def _of_controllers(bug: Bug, affected: BrokerRelease, fixed: BrokerRelease | None) -> Schedules:
    """Plan two replays for a bug in controllers. The archive's counterexample is not used, because a real controller
    soon learns of its successor. Another counterexample is searched for.
    """
    if fixed is None:
        raise LeadlineError(f"{bug.ticket} has no control replay, because no release of the family has the fix")
    spec, right = _spec(bug, affected), _spec(bug, fixed)
    wrong: Spec[Any] = load_spec("+".join([right.name, *(f"{rule}={value}" for rule, value in bug.rules.items())]))
    wrong = wrong.with_bounds(bug.bounds).with_properties([bug.property])
    plan = plan_of_controllers(schedule_of_controllers(spec))
    return Schedules(bug, affected, plan, fixed, plan_of_controllers(schedule_of_controllers(wrong), right))


def _plan(bug: Bug, trace: Trace[Any], release: BrokerRelease, spec: Spec[Any] | None = None) -> AnyPlan:
    if family_of(bug) == TRANSACTIONS:
        return plan_of_transactions(trace, spec)
    if family_of(bug) == QUORUM:
        return plan_of_quorum(trace, spec)
    if family_of(bug) == GROUPS:
        return plan_of_groups(trace, spec)
    return plan_of(trace, controller_of(release), spec)


def controller_of(release: BrokerRelease) -> str:
    """Return a release's kind of controller: `KRAFT` or `ZOOKEEPER`."""
    return KRAFT if release.kraft else ZOOKEEPER


def _for_fixed(found: Trace[Any], again: BugSearch, search: Search, controller: str) -> Trace[Any]:
    """Return a counterexample for the fixed release with the old rule restored. Use the given counterexample if it
    violates the property there. Otherwise, search for one.
    """
    followed = follow(schedule_of(found, controller), cast(Spec[Partition], again.spec))
    if followed.refused is None and _violates(followed.second, found):
        return attrs.evolve(followed.second, about=again.spec.checks[0])
    return search(again)


def _is_executable(bug: Bug, release: BrokerRelease, trace: Trace[Any]) -> bool:
    try:
        _plan(bug, trace, release)
    except NotExecutable:
        return False
    return True


def without_the_event(
    trace: Trace[Any], found: Trace[Any], prefers: Callable[[Trace[Any]], bool] = lambda trace: True
) -> tuple[str, Trace[Any]]:
    """Leave an event out of a trace, so that the trace no longer violates the property.

    Steps that are not possible without the event are left out too.

    Parameters:
        trace: a trace that violates a property.
        found: the counterexample, which names the property.
        prefers: whether a trace is preferred, as it can be executed.

    Returns:
        The sentence that describes the event, and the trace without the event. Among the possible events, the one whose
        removal leaves the most steps is chosen.

    Raises:
        LeadlineError: if the property is still violated whichever event is left out.
    """
    tried = (
        (instance.sentence, _without(trace, at))
        for at, instance in enumerate(trace.instances)
        if instance.action.name in _EVENTS_OF.get(trace.spec.name.partition("/")[0], _EVENTS)
    )
    kept = [(sentence, each) for sentence, each in tried if not _violates(each, found)]
    if not kept:
        raise LeadlineError("there is no control replay, because the bug still occurs whichever event is left out")
    return max(kept, key=lambda pair: (prefers(pair[1]), len(pair[1])))


_EVENTS = (
    *("crash_losing_tail", "crash", "crash_after_append", "session_expires", "shrink_isr", "begin_shutdown"),
    *("apply_record", "reassign", "cancel_reassignment", "raise_min_insync_replicas", "directory_removed"),
    *("directory_replaced", "replace_disk", "change_level"),
    *("late_add", "late_record", "late_end"),
)

_EVENTS_OF = {
    QUORUM: ("take_snapshot", "append", "restart", "change_configuration", "change_voters", "replace_disk"),
    GROUPS: ("fail_over", "crash", "pause", "leave"),
}
"""The same in other families."""


def _without(trace: Trace[Any], left_out: int) -> Trace[Any]:
    """Leave one step out of a trace. Also leave out the later steps that are then no longer possible."""
    states, taken = [trace.states[0]], []
    for at, instance in enumerate(trace.instances):
        successors = trace.spec.take(instance, states[-1]) if at != left_out else []
        if successors:
            wanted = trace.states[at + 1]
            states.append(next((state for state in successors if state == wanted), successors[0]))
            taken.append(instance)
    return Trace(trace.spec, states, taken)


def _violates(trace: Trace[Any], other: Trace[Any]) -> bool:
    """Return whether the end of a trace violates the same property as another trace."""
    if other.about is None:
        return False
    about = next(item for item in trace.spec.checks if item.name == other.about.name)
    return complaint_at_end(trace.spec, about, trace.states) is not None


def _spec(bug: Bug, release: BrokerRelease) -> Spec[Any]:
    name = _spec_name(bug, release)
    return load_spec(name).with_bounds(bug.bounds_for(name)).with_properties([bug.property])


def _like(bug: Bug, column: Any) -> object:
    """Return what two releases must have in common to execute the same schedule for a bug."""
    match family_of(bug):
        case "txn":
            return column.values["transaction_version"]
        case "control":
            return column.values["metadata"] == "log"
        case "quorum" | "image":
            return None
        case "group":
            return column.kind
    return column.controller


def _spec_name(bug: Bug, release: BrokerRelease) -> str:
    """Return the name of the spec that describes a release, in the family of a bug."""
    match family_of(bug):
        case "control":
            name = f"control/{release.name}"
        case "txn" | "quorum" | "image" as family:
            name = f"{family}/{release.number}"
        case "group":
            name = f"group/{release.number}{_release_of(bug.affected[-1].partition('+')[0]).kind}"
        case _:
            return release.spec
    column = _release_of(name)
    return column.same_as or str(column.name)


def _is_of(run: BugSearch, bug: Bug, release: BrokerRelease) -> bool:
    return run.spec.name.partition("+")[0] == _spec_name(bug, release)


def _first_release(column: Any) -> BrokerRelease:
    """Return the last patch release of the first minor release that a column describes."""
    first = [version for version in column.versions if minor(version) == minor(column.versions[0])]
    return _with_suffix(column, first[-1])


def _with_suffix(column: Any, version: str) -> BrokerRelease:
    suffix = getattr(column, "suffix", "")
    return broker_release(version if isinstance(column, GroupColumn) else version + suffix)


def _mix_of(name: str, version: Callable[[Any], str]) -> BrokerRelease:
    """Return a mix of real releases, of which a function chooses one version each."""
    old, new = (_with_suffix(column, version(column)).name for column in map(_release_of, mixed_in(name)))
    return mixed_release(f"{old}..{new}")


def _release_of(name: str) -> Any:
    """Return the column of a published release."""
    column = shipped_column(name)
    if column is None or not column.versions:
        raise LeadlineError(f"{name} is not a release")
    return column


def plan_on(trace: Trace[Any], release: BrokerRelease) -> AnyPlan:
    """Return the plan with which a trace is replayed on a release. Raise LeadlineError if it has no such plan."""
    mixed = mixed_in(trace.spec.name)
    if max(len(mixed), 1) != release.name.count("..") + 1:
        wanted = "two releases, such as 2.7.1..2.8.1," if mixed else "one release"
        raise LeadlineError(f"--on requires {wanted} for a trace of {trace.spec.name}, not {release.name}")
    column: Any = shipped_column(mixed[0]) if mixed else trace.spec.column
    family = "" if column is None else trace.spec.family.name
    if family == TRANSACTIONS:
        return plan_of_transactions(trace)
    if family == QUORUM:
        return plan_of_quorum(trace)
    if family == GROUPS:
        return plan_of_groups(trace)
    if family != REPLICATION or not column.controller:
        raise LeadlineError(
            f"--on can replay only traces of kafka/..., txn/..., quorum/... and group/... specs, not of "
            f"{trace.spec.name}"
        )
    if column.controller != controller_of(release):
        kinds = f"{column.controller} in {trace.spec.name}, {controller_of(release)} in Kafka {release.name}"
        raise LeadlineError(f"--on requires a release with the same kind of controller as the spec: {kinds}")
    return plan_of(trace, column.controller)
