"""Judge the reproduction of a known bug on real brokers. A reproduction consists of a replay that should show the bug,
and a second replay, the control, that should not.
"""

from __future__ import annotations

import enum

import attrs

from leadline.brokers.driver.replay import Replay
from leadline.checker.trace import complaint_at_end
from leadline.model.kafka.state import Partition

READING_PROPERTIES = ("reads_not_taken_back",)
"""Properties of reads by consumers, which cannot be evaluated in a single state of the brokers."""

LOSS_PROPERTIES = (
    *("committed_never_lost", "acked_never_lost"),
    *("durable_as_promised", "durable_after_few_unclean_stops"),
)
"""Properties whose violation loses a record that was acknowledged or read."""


class Judgement(enum.Enum):
    """A conclusion about a bug, drawn from a replay."""

    REPRODUCED = "reproduced"
    ABSENT = "absent"
    OTHERWISE = "not as the archive says"
    NOT_MADE = "not made"


@attrs.frozen
class Judged:
    """A replay, a conclusion about the bug, and the reason for the conclusion."""

    replay: Replay
    judgement: Judgement
    reason: str


@attrs.frozen
class Reproduction:
    """A reproduction of a known bug.

    Attributes:
        violated: the name of the property that the bug violates.
        affected: the replay on the affected release.
        control: the replay of the same schedule, either on a release in which the bug is fixed, or without the event
            that causes the bug.
        left_out: the event that the control omits, or an empty string.
    """

    ticket: str
    violated: str
    affected: Judged
    control: Judged
    left_out: str = ""

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """The conclusions from the two replays."""
        return self.affected.judgement, self.control.judgement


def judged_with_bug(replay: Replay, name: str) -> Judged:
    """Judge whether a replay on an affected release shows the bug.

    Parameters:
        replay: the replay. The last state or step of its plan violates the property.
    """
    if (early := _ended_early(replay)) is not None:
        return early
    outcome = replay.outcome
    if name in READING_PROPERTIES and (outcome is None or outcome.taken_back is None):
        return Judged(replay, Judgement.OTHERWISE, "every step is as in the model, but no consumer is sent back")
    if name in LOSS_PROPERTIES and (outcome is None or not outcome.lost):
        return Judged(replay, Judgement.OTHERWISE, "every step is as in the model, but no record is lost")
    reason = f"all {len(replay.steps)} steps are as in the model, which violates {name}{_complaint(replay, name)}"
    return Judged(replay, Judgement.REPRODUCED, reason)


def _complaint(replay: Replay, name: str) -> str:
    """Explain why the last state or step of a replay's trace violates a property."""
    trace = replay.plan.trace
    about = next((item for item in trace.spec.checks if item.name == name), None)
    complaint = None if about is None else complaint_at_end(trace.spec, about, trace.states)
    return f": {complaint}" if complaint else ""


def judged_without_bug(replay: Replay, name: str) -> Judged:
    """Judge whether a bug is absent from a replay on a release with the fix.

    The bug is absent only if every step agrees with the model of this release, and if the rule that the fix changed
    makes this model depart from the schedule.
    """
    if (early := _ended_early(replay)) is not None:
        return early
    outcome, departs = replay.outcome, replay.plan.departs
    if departs is None and name not in READING_PROPERTIES:
        return Judged(replay, Judgement.OTHERWISE, "the fixed rule changes no step of the schedule")
    if outcome is not None and (values := set(outcome.lost) & _kept(replay.plan.trace.states[-1])):
        lost = ", ".join(f"m{value}" for value in sorted(values))
        return Judged(replay, Judgement.OTHERWISE, f"the steps are as in the model, but {lost} is lost")
    if departs is None:
        if outcome is not None and outcome.taken_back is not None:
            return Judged(replay, Judgement.OTHERWISE, "a consumer is sent back")
        return Judged(replay, Judgement.ABSENT, "all steps are alike, and no consumer is sent back")
    refused = replay.plan.refused
    if refused is not None and refused.number <= departs:
        difference = f"which does not allow step {refused.number}"
    else:
        difference = f"in which step {departs} has a different result than in a release with the bug"
    return Judged(replay, Judgement.ABSENT, f"as in the model of this release, {difference}")


def judged_without_event(replay: Replay, name: str) -> Judged:
    """Judge whether a bug is absent from a replay on an affected release without the event that causes it."""
    if (early := _ended_early(replay)) is not None:
        return early
    if (outcome := replay.outcome) is not None and (set(outcome.lost) & _kept(replay.plan.trace.states[-1])):
        return Judged(replay, Judgement.OTHERWISE, "the steps are as in the model, but a record is lost")
    return Judged(replay, Judgement.ABSENT, f"all {len(replay.steps)} steps are as in the model, which keeps {name}")


def _kept(state: Partition) -> set[int]:
    """Return the records in the leader's log. If there is no leader, use the logs of all electable brokers."""
    quorum = state.quorum
    leading = quorum.isr | quorum.elr if quorum.leader is None else {quorum.leader}
    return {record.value for broker in leading for record in state.replicas[broker].log.records}


def _ended_early(replay: Replay) -> Judged | None:
    if replay.not_made:
        return Judged(replay, Judgement.NOT_MADE, replay.not_made)
    if replay.difference:
        return Judged(replay, Judgement.OTHERWISE, replay.difference)
    return None
