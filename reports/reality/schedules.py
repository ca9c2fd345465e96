"""The schedules on which a known bug is tried: its counterexample, planned for releases with and without the bug."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import attrs

from leadline.brokers.driver.plan import Plan, plan_of
from leadline.brokers.driver.schedule import schedule_of
from leadline.brokers.releases import BrokerRelease, broker_release
from leadline.checker.errors import LeadlineError
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace, complaint_at_end
from leadline.checker.traces.divergence import follow
from leadline.model.kafka.published import minor
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER, Column, column_of
from leadline.model.kafka.state import Partition
from leadline.reports.bugs import Archive, Bug, BugSearch
from leadline.reports.loading import load_spec

Search = Callable[[BugSearch], Trace[Any]]
"""Returns the counterexample that a search for a bug finds."""


@attrs.frozen
class Schedules:
    """What is replayed for a bug.

    Attributes:
        bug: the bug.
        affected: the release that has the bug.
        plan: the plan on this release, whose last state or step violates the property.
        control: the release of the control, which is one that mended the bug, or the affected release itself.
        control_plan: the plan of the control, whose states are those of the model of its release.
        left_out: the event that decides, which the control leaves out. Empty if a release mended the bug.
    """

    bug: Bug
    affected: BrokerRelease
    plan: Plan
    control: BrokerRelease
    control_plan: Plan
    left_out: str = ""


def bug_of(archive: Archive, ticket: str) -> Bug:
    """Return the bug of a ticket. A bug that has the ticket as its own comes before one that it is also about.

    Raises:
        LeadlineError: there is no such bug, or no spec shows it.
    """
    bugs, unreached = archive.about(ticket)
    own = [bug for bug in bugs if bug.ticket.upper() == ticket.upper()]
    for bug in (*own, *bugs):
        return bug
    raise LeadlineError(f"{unreached[0].ticket} has no counterexample to replay: {unreached[0].reason}")


def affected_release(bug: Bug, name: str | None) -> BrokerRelease:
    """Return the release on which a bug is reproduced.

    Parameters:
        bug: the bug.
        name: the name that the user gave, or None for the last release that has the bug.

    Raises:
        LeadlineError: the release does not have the bug.
    """
    if name is None:
        column = _column(bug.affected[-1].partition("+")[0])
        return broker_release(f"{column.versions[-1]}{column.suffix}")
    release = broker_release(name)
    if release.spec not in [each.partition("+")[0] for each in bug.affected]:
        known = ", ".join(bug.affected)
        raise LeadlineError(f"{bug.ticket} does not affect Kafka {release.name}; the archive says: {known}")
    return release


def mended_release(bug: Bug, affected: BrokerRelease, name: str | None) -> BrokerRelease | None:
    """Return the release that mended a bug, with the same kind of controller, or None if there is none.

    Parameters:
        bug: the bug.
        affected: the release that has it.
        name: the name that the user gave, or None for the first that mended it.

    Raises:
        LeadlineError: the release that the user named has the bug, or another kind of controller.
    """
    if name is None:
        columns = [_column(each) for each in bug.fixed]
        mended = [each for each in columns if (each.controller == KRAFT) == affected.kraft]
        return _first_release(mended[0]) if mended else None
    release = broker_release(name)
    if release.spec in bug.affected:
        raise LeadlineError(f"Kafka {release.name} has {bug.ticket} too; name a release that mended it")
    if release.kraft != affected.kraft:
        raise LeadlineError(f"Kafka {release.name} and {affected.name} have different kinds of controllers")
    return release


def schedules_of(
    archive: Archive, bug: Bug, affected: BrokerRelease, mended: BrokerRelease | None, search: Search
) -> Schedules:
    """Plan the counterexample of a bug for a release with the bug, and for one without it.

    Parameters:
        archive: the archive with the bug.
        bug: the bug.
        affected, mended: the releases, or None for `mended` if no release with this kind of controller mended the bug.
            The control is then the same schedule without the event that decides.
        search: finds counterexamples.

    Raises:
        Unmakeable: a step cannot be made from outside.
        LeadlineError: the release does not violate the property by the steps of the counterexample.
    """
    runs = archive.runs(bug)
    found = search(next(run for run in runs if run.part == "affected" and _is_of(run, affected)))
    spec = _spec(bug, affected)
    plan = plan_of(found, controller_of(affected), spec)
    if plan.refused is not None or not _violates(plan.trace, found):
        raise LeadlineError(f"{spec.name} does not violate {bug.property} by the counterexample of the archive")
    if mended is None:
        left_out, control = without_the_event(plan.trace, found)
        return Schedules(bug, affected, plan, affected, plan_of(control, controller_of(affected)), left_out)
    again = next((run for run in runs if run.part == "put back" and _is_of(run, mended)), None)
    trace = found if again is None else _for_mended(found, again, search, controller_of(mended))
    return Schedules(bug, affected, plan, mended, plan_of(trace, controller_of(mended), _spec(bug, mended)))


def controller_of(release: BrokerRelease) -> str:
    """Return the kind of controller of a release."""
    return KRAFT if release.kraft else ZOOKEEPER


def _for_mended(found: Trace[Any], again: BugSearch, search: Search, controller: str) -> Trace[Any]:
    """Return the counterexample if it is also one of the mended release with the old rule, or else a shortest one."""
    followed = follow(schedule_of(found, controller), cast(Spec[Partition], again.spec))
    if followed.refused is None and _violates(followed.second, found):
        return attrs.evolve(followed.second, about=again.spec.checks[0])
    return search(again)


def without_the_event(trace: Trace[Any], found: Trace[Any]) -> tuple[str, Trace[Any]]:
    """Return a trace without one event, and without the steps that need it, which violates the property no longer.

    Parameters:
        trace: a trace that violates a property.
        found: the trace of the search, which says which property it is.

    Returns:
        A description of the event, and the trace, which keeps as many of the other steps as possible.

    Raises:
        LeadlineError: every such trace still violates the property.
    """
    tried = (
        (instance.sentence, _without(trace, at))
        for at, instance in enumerate(trace.instances)
        if instance.action.name in _EVENTS
    )
    kept = [(sentence, each) for sentence, each in tried if not _violates(each, found)]
    if not kept:
        raise LeadlineError("no single event decides: there is no control")
    return max(kept, key=lambda pair: len(pair[1]))


_EVENTS = ("crash_losing_tail", "crash", "crash_after_append", "session_expires", "shrink_isr", "begin_shutdown")


def _without(trace: Trace[Any], left_out: int) -> Trace[Any]:
    """Return the trace without one step, and without those that are then not possible."""
    states, taken = [trace.states[0]], []
    for at, instance in enumerate(trace.instances):
        successors = trace.spec.take(instance, states[-1]) if at != left_out else []
        if successors:
            wanted = trace.states[at + 1]
            states.append(next((state for state in successors if state == wanted), successors[0]))
            taken.append(instance)
    return Trace(trace.spec, states, taken)


def _violates(trace: Trace[Any], other: Trace[Any]) -> bool:
    """Return whether a trace ends with a violation of the property that another trace violates."""
    if other.about is None:
        return False
    about = next(item for item in trace.spec.checks if item.name == other.about.name)
    return complaint_at_end(trace.spec, about, trace.states) is not None


def _spec(bug: Bug, release: BrokerRelease) -> Spec[Partition]:
    spec = load_spec(release.spec).with_bounds(bug.bounds).with_properties([bug.property])
    return cast(Spec[Partition], spec)


def _is_of(run: BugSearch, release: BrokerRelease) -> bool:
    return run.spec.name.partition("+")[0] == release.spec


def _first_release(column: Column) -> BrokerRelease:
    """Return the first published minor release that a spec describes, with its last corrections."""
    first = [version for version in column.versions if minor(version) == minor(column.versions[0])]
    return broker_release(f"{first[-1]}{column.suffix}")


def _column(name: str) -> Column:
    column = column_of(name)
    if column is None or not column.versions:
        raise LeadlineError(f"{name} is not a release")
    return column
