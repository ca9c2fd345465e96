"""Advice on an upgrade: the known bugs that it fixes, introduces, or leaves unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import attrs

from leadline.invariants.assignment import added_or_removed, reassignment_as_asked
from leadline.invariants.followers import brokers_keep_running, follower_reads
from leadline.invariants.logs import log_matching, logs_prefix_consistent
from leadline.invariants.promises import PROMISES
from leadline.model.kafka.releases import Column, column_of
from leadline.reports.kafka.advice.cluster import Cluster, changed_rules
from leadline.reports.kafka.advice.decisions import ABSENT, Decider, Decision, Status
from leadline.reports.kafka.advice.path import RAISE, Known, Step, steps_of
from leadline.reports.kafka.advice.quorum import QuorumAdvice, advise_quorum
from leadline.reports.kafka.advice.settings import Settings
from leadline.reports.kafka.bugs import NO_TICKET, REPLICATION, Archive, Bug, UnmodelledBug, command_for
from leadline.reports.loading import explore_command, load_spec
from leadline.reports.matrix import SHIPPED, read_matrix

TO_USERS = (*PROMISES, follower_reads.name)
"""The properties that users notice: promises, and what consumers read from followers."""

_STUCK = (brokers_keep_running.name, reassignment_as_asked.name, added_or_removed.name)
"""The properties about what stops or does not come about, besides those about progress."""

_COPIES = (log_matching.name, logs_prefix_consistent.name)
"""The properties whose violation shows to consumers as soon as another broker leads."""

_DISTURBANCES = (
    *("crashes", "lossy_crashes", "lost_directories", "session_expiries"),
    *("isr_shrinks", "reassignments", "min_isr_raises"),
)
"""The bounds of what restarts with a controlled shutdown do not need."""


class Concern(Enum):
    """What a violation of a bug's property means to a user. The values are headings, the most serious one first."""

    PROMISE = "promises to users: records that are lost, or read and lost"
    COPIES = "copies that differ: what consumers read at an offset depends on which broker leads"
    STUCK = "what is stuck or stops, or is not done as an operator asked; nothing is lost"
    INTERNAL = "internal properties, whose violation can lead to a loss later"


class Group(Enum):
    """The effect of an upgrade on a known bug."""

    FIXED = "fixed"
    NEW = "newly possible"
    STAYS = "stays"
    AVOIDED = "avoided"
    NOT_PROMISED = "not promised"
    UNDECIDED = "undecided"


@attrs.frozen
class Finding:
    """A known bug in one of the two releases, and the effect of the upgrade on it.

    Attributes:
        before, after: the decisions on whether the bug can occur before and after the upgrade.
        harm: a phrase that says what a violation of the bug's property means.
        concern: what a violation of the property means to a user.
        feature: the feature that, once enabled after the upgrade, fixes the bug. Empty if there is no such feature.
    """

    bug: Bug
    group: Group
    before: Decision
    after: Decision
    harm: str
    concern: Concern
    feature: str = ""

    @property
    def reasons(self) -> list[str]:
        """The reasons for both decisions, and what to do about a bug that can still occur."""
        pairs = [("before", self.before), ("after", self.after)]
        same = self.before.reason == self.after.reason
        said = [each.reason if same else f"{when}: {each.reason}" for when, each in pairs if each.reason]
        last = list[str]()
        if self.feature:
            last.append(f"fixed once {self.feature}")
        elif self.group in (Group.NEW, Group.STAYS):
            last.append(f"meanwhile: {self.bug.until}")
        return [*dict.fromkeys(said), *last]

    @property
    def commands(self) -> list[str]:
        """The commands that reproduce the decisions."""
        said = [each.command for each in (self.before, self.after)]
        return [*dict.fromkeys(filter(None, said)), command_for(self.bug.ticket)]


@attrs.frozen(eq=False)
class Advice:
    """The effects of an upgrade on the known bugs.

    Attributes:
        findings: the known bugs of the two releases, with the effect of the upgrade on each.
        rules: the replication rules that change. See `leadline.reports.kafka.advice.cluster.changed_rules`.
        searched: the number of replication bugs in the archive.
        unmodelled: the known replication bugs that are not modelled.
        interrupted: true if the searches were interrupted.
        quorum: what the metadata log can lose after the upgrade, and what this costs, or None.
    """

    before: Cluster
    after: Cluster
    settings: Settings
    findings: Sequence[Finding]
    rules: Sequence[tuple[str, str, str, str]]
    searched: int
    unmodelled: Sequence[UnmodelledBug]
    path: tuple[Step, ...]
    interrupted: bool
    quorum: QuorumAdvice | None = None

    @property
    def is_upgrade(self) -> bool:
        """Whether there are two releases. If not, the advice is about the known bugs of one."""
        return self.before.version != self.after.version

    @property
    def title(self) -> str:
        """The heading."""
        return f"{self.before.title} to {self.after.title}" if self.is_upgrade else self.after.title

    def of(self, group: Group) -> dict[Concern, list[Finding]]:
        """Return the findings in a group, by what they mean to a user. Concerns without findings are left out."""
        own = [each for each in self.findings if each.group is group]
        found = {concern: [each for each in own if each.concern is concern] for concern in Concern}
        return {concern: findings for concern, findings in found.items() if findings}

    @property
    def nothing(self) -> str:
        """The sentence to show if no known bugs affect the two releases."""
        spec = load_spec(self.after.column.name).with_bounds(self.after.bounds)
        return (
            f"The archive has {self.searched} bugs of replication that a search can show, and {len(self.unmodelled)} "
            "that none can (leadline bugs --list). That a bug is not in it proves nothing. "
            f"To search for others: {explore_command(spec)}"
        )


def advise(before: Cluster, after: Cluster, settings: Settings, archive: Archive, decider: Decider) -> Advice:
    """Return the advice on an upgrade. Only replication bugs are covered, because transaction bugs also depend on the
    clients.

    Parameters:
        decider: the object that decides which bugs the settings allow.
    """
    archive, findings = archive.of_family(REPLICATION), []
    for bug in archive.bugs:
        later = _of(bug, after, archive, decider)
        decisions = _before(bug, before, later, archive, decider), later
        if decisions != (ABSENT, ABSENT):
            feature = _feature(bug, before, after, archive) if decisions[1].status is Status.POSSIBLE else ""
            harm, concern = harm_of(bug, archive)
            findings.append(Finding(bug, group_of(*decisions), *decisions, harm, concern, feature))
    rules = changed_rules(before, after)
    path = steps_of(before, after, settings, Known(_of_restarts(findings), _of_elr(findings, after, archive)))
    bugs = len(archive.bugs), archive.unreached
    quorum = advise_quorum(after, settings.voters, decider)
    return Advice(before, after, settings, findings, rules, *bugs, path, decider.interrupted, quorum)


def _of(bug: Bug, cluster: Cluster, archive: Archive, decider: Decider) -> Decision:
    return decider.decide(bug, cluster) if _may_affect(bug, cluster, archive) else ABSENT


def _may_affect(bug: Bug, cluster: Cluster, archive: Archive) -> bool:
    """Return whether a bug affects a cluster's release, or may affect it because the user has changed a rule of the
    release or has set the default values that a later release changed to fix the bug.
    """
    if archive.affects(bug, cluster.column) or (cluster.is_changed and _has_rules(bug, cluster)):
        return True
    return bool(bug.defaults) and cluster.chooses(bug.defaults)


def _has_rules(bug: Bug, cluster: Cluster) -> bool:
    """Return whether a cluster has the rules that allow a bug, and the controller kind of an affected release."""
    affected = [column_of(name) for name in bug.affected]
    kinds = [column.controller for column in affected if column is not None]
    values = cluster.column.values
    has_rules = bool(bug.rules) and all(values[rule] == value for rule, value in bug.rules.items())
    return has_rules and cluster.column.controller in kinds


def _before(bug: Bug, cluster: Cluster, after: Decision, archive: Archive, decider: Decider) -> Decision:
    """Decide whether a bug can occur before the upgrade. The cluster may still use the protocol of an older release.

    If the archive does not list the release, but the bug is possible after the upgrade, a search decides whether the
    bug is new. The search is needed because other defects of old releases can violate the same property.
    """
    decision = _of(bug, cluster, archive, decider)
    if decision == ABSENT and after.status is Status.POSSIBLE and _has_rules(bug, cluster):
        found = decider.decide(bug, cluster)
        if found.status is Status.POSSIBLE:
            return attrs.evolve(found, reason=f"{found.reason}, although the archive does not list {cluster.version}")
    if decision == ABSENT and cluster.older is not None and archive.affects(bug, cluster.older):
        return Decision(Status.UNDECIDED, _reason_of_older(cluster.older), f"leadline bugs {bug.ticket}")
    return decision


def _reason_of_older(older: Column) -> str:
    """Return why it is undecided whether a bug can occur in a cluster that uses the protocol of an older release."""
    return (
        f"a bug of {older.name}, whose protocol the cluster uses in part because of inter.broker.protocol.version; "
        "leadline has no spec of this"
    )


def _feature(bug: Bug, before: Cluster, after: Cluster, archive: Archive) -> str:
    """Return the feature that fixes a bug; of one release, with the command, which the steps of an upgrade have."""
    if after.with_features is after.column or archive.affects(bug, after.with_features):
        return ""
    command = f": {RAISE} --feature eligible.leader.replicas.version=1" if before.version == after.version else ""
    return f"eligible.leader.replicas.version is raised to 1{command}"


def _of_restarts(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return what to do about the bugs that restarts alone can show."""
    own = [
        each.bug
        for each in findings
        if each.bug.bounds.get("shutdowns") and not any(each.bug.bounds.get(name) for name in _DISTURBANCES)
        if {each.before.status, each.after.status} & {Status.POSSIBLE, Status.UNDECIDED}
    ]
    return tuple(f"{bug.until.removesuffix('.')}: {command_for(bug.ticket)}" for bug in own)


def _of_elr(findings: Sequence[Finding], after: Cluster, archive: Archive) -> tuple[str, ...]:
    """Return what eligible leader replicas fix, and what only clusters with them can lose or get stuck by."""
    if after.with_features is after.column:
        return ()
    fixed = [each.bug.ticket for each in findings if each.feature]
    without = {each.bug.ticket for each in findings if each.after != ABSENT}
    affecting = [bug.ticket for bug in archive.bugs if archive.affects(bug, after.with_features)]
    new = [ticket.removeprefix(NO_TICKET) for ticket in affecting if ticket not in without]
    command = f"leadline advise --from {after.version} --to {after.version}+elr=on"
    return (
        f"they fix {' and '.join(fixed) or 'none of the bugs that these settings allow'}",
        f"only with them, there can be: {', '.join(new) or 'no known bug'}. Which of these your settings allow: "
        f"{command}",
    )


def group_of(before: Decision, after: Decision) -> Group:
    """Return the effect of an upgrade on a bug."""
    statuses = {before.status, after.status}
    if Status.UNDECIDED in statuses:
        return Group.UNDECIDED
    if statuses <= {Status.POSSIBLE, Status.NOT_PROMISED} and Status.POSSIBLE in statuses:
        return Group.STAYS  # what is not promised is no less possible
    if after.status is Status.POSSIBLE:
        return Group.NEW
    if Status.NOT_PROMISED in statuses:
        return Group.NOT_PROMISED
    return Group.FIXED if before.status is Status.POSSIBLE else Group.AVOIDED


def harm_of(bug: Bug, archive: Archive) -> tuple[str, Concern]:
    """Return what a violation of a bug's property means, as a phrase and as a heading."""
    (item,) = archive.searched(bug, bug.affected[0]).checks
    said = _HARMS.get(item.name) or f"violated: {item.sentence}"
    if item.name in TO_USERS:
        return said, Concern.PROMISE
    if item.kind.is_liveness or item.name in _STUCK:
        return said, Concern.STUCK
    return said, Concern.COPIES if item.name in _COPIES else Concern.INTERNAL


_HARMS = read_matrix(SHIPPED).labels | {
    "brokers_keep_running": "a broker exits because its log is longer than its leader's log",
    "durable_as_promised": "acknowledged records are lost although fewer than min.insync.replicas brokers lost any",
    "hw_monotonic": "the high watermark of a leader goes back",
    "leaders_elected_alive": "the controller elects a broker that it considers dead",
    "reads_monotonic": "consumers read different records at the same offset",
    "strong_isr": "a member of the ISR, which may be elected, lacks a readable record",
    "weak_isr": "a member of the leader's ISR lacks a readable record",
}
"""What a violation of a property means, by the property's name."""
