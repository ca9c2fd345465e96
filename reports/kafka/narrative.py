"""The narrative of a known bug, for operators: how severe it is, what is lost, what must coincide, and what to do.

What must coincide, what is lost, and the severity are derived from the states of a shortest trace. What an operator
sees, how to check a cluster, and what to do meanwhile are in the archive, because no trace contains them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from leadline.checker.bounds import describe_bounds
from leadline.checker.trace import Trace
from leadline.checker.traces.replay import executed
from leadline.invariants.promises import LOSS_PROPERTIES
from leadline.model.history import short
from leadline.model.kafka.bounds import NO_LIMIT
from leadline.model.kafka.state import Partition, Promise
from leadline.reports.kafka.bugs import CONFIGURED, SETTINGS, Bug, BugResult

SEVERITIES = ("critical", "high", "medium", "low")
"""The severities, the most severe first."""

OF_DATA = (
    *LOSS_PROPERTIES,
    "log_matching",
    "logs_prefix_consistent",
    "no_lost_write",
    "no_aborted_read",
    "no_uncommitted_offset",
    "quorum_leader_complete",
)
"""Properties whose violation means that what clients wrote or read is wrong."""

OF_CANDIDATES = ("strong_isr", "weak_isr", "isr_joined_with_all", "voters_in_force")
"""Properties whose violation means that a broker can be elected without a committed record."""

OF_REQUESTS = ("reassignment_as_asked", "added_or_removed")
"""Properties of what operators ask for, whose violation neither loses anything nor makes a partition unavailable."""

OF_DISKS = ("lossy_crashes", "lost_directories", "unclean_elections", "disks", "cuts")
"""Perturbations that lose records by themselves, on one broker."""


@attrs.frozen
class Narrative:
    """What an operator has to know about a bug.

    Attributes:
        lost: what is lost, and on how many copies.
        coincidence: what must coincide.
        size: the number of states of the trace, with the release in which it was found.
    """

    bug: Bug
    severity: str
    why: str
    lost: str
    coincidence: str
    size: str

    @property
    def lines(self) -> dict[str, str]:
        """The parts of the narrative, keyed by their headings."""
        fixed = [name for name in self.bug.fixed if "+" not in name]
        releases = " or ".join(fixed)
        upgrade = f" Fixed in {releases}." if fixed else " No release has a fix."
        return {
            "severity": f"{self.severity}: {self.why}",
            "what you see": self.bug.seen,
            "what is lost": self.lost,
            "must coincide": f"{self.coincidence} ({self.size})",
            "to check": self.bug.check,
            "meanwhile": self.bug.until + upgrade,
        }


def narrative(bug: Bug, trace: Trace[Any]) -> Narrative:
    """Return the narrative of a bug."""
    spent = _spent(trace)
    lost = [*_lost(trace.states[-1])]
    severity, why = _severity(bug, trace, spent, is_lost=bool(lost))
    return Narrative(
        bug=bug,
        severity=severity,
        why=why,
        lost="; ".join(lost or _not_lost(trace)),
        coincidence=_coincidence(bug, trace, spent),
        size=f"{len(trace)} states in {trace.spec.name}",
    )


def told(outcome: BugResult) -> Narrative | None:
    """Return the narrative of a bug from the result of a search, or None if the search found no counterexample."""
    return narrative(outcome.run.bug, outcome.result.properties[0].traces[0]) if outcome.trace_length else None


def _spent(trace: Trace[Any]) -> dict[str, int]:
    """Return how often each perturbation happens in a trace.

    States do not count perturbations without a limit. The steps are executed again with limits, which count them.
    """
    spec = trace.spec
    assert spec.family is not None
    names = spec.family.perturbations
    limited = spec.with_bounds({name: 9 for name in names if getattr(spec.bounds, name) == NO_LIMIT})
    counted = executed(limited, [repr(instance) for instance in trace.instances])
    spent = (counted or trace).states[-1].spent
    return {name: count for name in names if (count := getattr(spent, name, 0))}


def _coincidence(bug: Bug, trace: Trace[Any], spent: Mapping[str, int]) -> str:
    texts = {name: text.partition(";")[0] for name, _, text, _ in describe_bounds(trace.spec.bounds)}
    parts = [f"{texts[name]}: {count}" for name, count in spent.items()]
    if isinstance(trace.states[-1], Partition):
        epochs = trace.states[-1].quorum.epoch - trace.states[0].quorum.epoch
        parts += [f"further leader epochs: {epochs}"] if epochs else []
    settings = [
        f"{kafka_name}={str(bug.bounds[name]).lower()}" for name, kafka_name in SETTINGS.items() if name in bug.bounds
    ]
    settings += [kafka_name for name, kafka_name in CONFIGURED.items() if bug.bounds.get(name)]
    return "; ".join(parts or ["no failure and no request of an operator"]) + (
        f"; with {', '.join(settings)}" if settings else ""
    )


def _severity(bug: Bug, trace: Trace[Any], spent: Mapping[str, int], *, is_lost: bool) -> tuple[str, str]:
    of_disk = any(name in spent for name in OF_DISKS) or bool(
        getattr(trace.spec.bounds, "unclean_leader_election", False)
    )
    if is_lost or bug.property in OF_DATA:
        what = (
            "records are lost or differ between copies" if isinstance(trace.states[-1], Partition) else "data is wrong"
        )
        if of_disk:
            return "high", f"{what}, after a disk has lost some or after an unclean election"
        return "critical", f"{what}, although no disk has lost anything and no election was unclean"
    if bug.property in OF_CANDIDATES:
        return "high", "a broker that lacks committed records can be elected"
    if bug.property in OF_REQUESTS:
        return "low", "an operator's request is not carried out as it was asked for"
    return "medium", "nothing is lost: something waits, stops, or is read too early or twice"


def _lost(state: Any) -> Iterator[str]:
    """Yield a phrase for each record that was acknowledged or readable, and that the leader does not have."""
    if not isinstance(state, Partition) or state.quorum.leader is None:
        return
    leader, acked = state.quorum.leader, {(each.record, each.offset) for each in state.acked}
    for promise in dict.fromkeys(attrs.evolve(each, epoch=0) for each in (*state.acked, *state.exposed)):
        if promise.offset < state.deletable or _has(state, leader, promise):
            continue
        holders = [broker for broker in range(len(state.replicas)) if _has(state, broker, promise)]
        known = "acknowledged" if (promise.record, promise.offset) in acked else "readable by consumers"
        where = " and ".join(f"broker {each}{'' if state.replicas[each].up else ' (down)'}" for each in holders)
        count = f"{len(holders)} of {len(state.replicas)} copies {'has' if len(holders) == 1 else 'have'} it"
        on = f"{count}, on {where}" if holders else "no copy has it"
        yield f"{short(promise.record)}, which was {known}: the leader, broker {leader}, lacks it; {on}"


def _not_lost(trace: Trace[Any]) -> list[str]:
    """Say what is wrong at the end of a trace in which the leader has all records."""
    if trace.about is not None and trace.about.name in OF_DATA:
        return [trace.complaint]
    return [f"nothing by itself: {trace.complaint}" if trace.complaint else "nothing"]


def _has(state: Partition, broker: int, promise: Promise) -> bool:
    log = state.replicas[broker].log
    return log.has(promise.offset) and log[promise.offset] == promise.record
