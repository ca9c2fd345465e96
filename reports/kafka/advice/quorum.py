"""Advice on KRaft's controllers: what their metadata log can lose (searches of the `quorum` family, with as many
controllers as the settings name), and what that costs partitions (the `control` family).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import attrs

from leadline.checker.errors import LeadlineError
from leadline.checker.result import Verdict
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted
from leadline.model.kafka.releases import KRAFT
from leadline.reports.document import Block, Heading, Items, Paragraph, Span, Words, words
from leadline.reports.kafka.advice.cluster import Cluster
from leadline.reports.kafka.advice.decisions import Decider, Decision, InterruptedSearchError, Status
from leadline.reports.kafka.advice.settings import Voters
from leadline.reports.loading import explore_command, load_spec
from leadline.reports.toml_files import Values

MOST_VOTERS, MOST_BROKERS = 5, 3

_DISTURBED = {
    "the disk of a controller is replaced": {"disks": 1},
    "the log of a controller is cut at a wrong checksum": {"cuts": 1},
    "a controller loses power": {"power_losses": 1},
    "the quorum-state file of a controller is unreadable": {"files": 1},
}
"""What may happen to controllers, as bounds of the `quorum` family."""

_COSTS: dict[str, tuple[str, Values]] = {
    "committed_never_lost": ("a committed record is lost after a clean election", {"crashes": 0, "isr_shrinks": 1}),
    "isr_writable_at_rest": ("a leader can change its ISR no more", {"crashes": 0, "isr_shrinks": 1}),
    "log_matching": ("logs differ in one leader epoch", {"crashes": 0, "session_expiries": 1, "records": 2}),
}
"""What a lost record of the metadata log costs, by the property of the `control` family that is violated."""


@attrs.frozen
class QuorumFinding:
    """A failure of controllers, or what a lost record costs, with the sentences of a trace if a search found one."""

    what: str
    decision: Decision
    steps: tuple[str, ...] = ()


@attrs.frozen
class QuorumAdvice:
    """What the metadata log of a cluster can lose, and what this then costs."""

    voters: Voters
    losses: tuple[QuorumFinding, ...]
    costs: tuple[QuorumFinding, ...]

    @property
    def is_undecided(self) -> bool:
        """Whether a search was not complete."""
        return any(each.decision.status is Status.UNDECIDED for each in (*self.losses, *self.costs))


def advise_quorum(cluster: Cluster, voters: Voters | None, decider: Decider) -> QuorumAdvice | None:
    """Return the advice on the controllers of a cluster, or None if it has ZooKeeper or its settings name none.

    Raises:
        LeadlineError: if the release has no dynamic voters.
    """
    if voters is None or cluster.column.controller != KRAFT:
        return None
    release = cluster.column.name.partition("/")[2].partition("+")[0]
    quorum = load_spec(f"quorum/{release.removesuffix('-kraft')}")
    if voters.dynamic and quorum.family.column_of(quorum.name).values["voters"] != "dynamic":
        raise LeadlineError(f"{voters.origin}: Kafka {cluster.version} needs controller.quorum.voters (KIP-853, 3.9)")
    number = min(voters.number, MOST_VOTERS)
    size = {
        "nodes": number,
        "dynamic": voters.dynamic,
        "max_epoch": 3 if number == 1 else 2,
        "values": int(number == 1),
    }
    losses = [
        _found(what, quorum.with_bounds(size | bounds).with_properties(["quorum_leader_complete"]), decider)
        for what, bounds in _DISTURBED.items()
    ]
    least = int(cluster.bounds["min_insync_replicas"])
    brokers = min(MOST_BROKERS, max(2, least + 1))
    settings: Values = {**cluster.bounds, "brokers": brokers, "metadata_rolls_back": 1}
    costs = [
        _found(what, load_spec(f"control/{release}").with_bounds(settings | bounds).with_properties([name]), decider)
        for name, (what, bounds) in _COSTS.items()
    ]
    return QuorumAdvice(voters, tuple(losses), tuple(costs))


def _found(what: str, spec: Spec[object], decider: Decider) -> QuorumFinding:
    status, reason, steps = Status.UNDECIDED, "the search was interrupted", tuple[str, ...]()
    with contextlib.suppress(InterruptedSearchError):
        result = decider.result(spec)
        reason = f"the search was not complete after {decider.max_seconds:g} s (--max-seconds)"
        if result.verdict is Verdict.VIOLATED:
            steps = tuple(instance.sentence for instance in result.properties[0].traces[0].instances)
            status, reason = Status.POSSIBLE, f"found by a search, in {counted(len(steps), 'step')}"
        elif result.verdict is Verdict.HOLDS:
            reason = f"not found in {result.statistics.distinct:,} states, which are all that a search can reach"
            status = Status.AVOIDED
    return QuorumFinding(what, Decision(status, reason, explore_command(spec)), steps)


def blocks_of_quorum(advice: QuorumAdvice | None) -> Iterator[Block]:
    """Yield what is said of the controllers of a cluster."""
    if advice is None:
        return
    voters = advice.voters
    kind = "dynamic (kraft.version 1)" if voters.dynamic else "static"
    yield Heading(f"the metadata log: {counted(voters.number, f'{kind} voter')}", "quorum")
    searched = f", searched with {MOST_VOTERS}" if voters.number > MOST_VOTERS else ""
    yield Paragraph(words(f"{voters.origin}{searched}. Can a committed record of the metadata log be lost if"), "quiet")
    yield Items((*_lines(advice.losses),))
    yield Paragraph(words("What rests on it: if the newest committed record of the metadata log is lost,"), "quiet")
    yield Items((*_lines(advice.costs),))


def _lines(findings: tuple[QuorumFinding, ...]) -> Iterator[Words]:
    for each in findings:
        looks = "violated" if each.decision.status is Status.POSSIBLE else "strong"
        status = Span(each.decision.status.value, looks)
        yield words(f"{each.what}: ", status, f", {each.decision.reason}: ", Span(each.decision.command, "code"))
