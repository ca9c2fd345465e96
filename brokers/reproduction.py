"""A known bug on real brokers: a replay on a release that has it, and the control on a release that does not."""

from __future__ import annotations

import enum

import attrs

from leadline.brokers.driver.replay import Replay
from leadline.model.kafka.state import Partition

READING_PROPERTIES = ("reads_not_taken_back",)
"""Properties of what consumers are told, which no state of the brokers decides alone."""


class Judgement(enum.Enum):
    """What a replay shows of a bug."""

    REPRODUCED = "reproduced"
    ABSENT = "absent"
    OTHERWISE = "not as the archive says"
    NOT_MADE = "not made"


@attrs.frozen
class Judged:
    """A replay with what it shows of a bug, and why."""

    replay: Replay
    judgement: Judgement
    reason: str


@attrs.frozen
class Reproduction:
    """A reproduction of a known bug.

    Attributes:
        ticket: the ticket of the bug.
        violated: the name of the property that the bug violates.
        affected: the replay on the release that has the bug.
        control: the replay of the same schedule where the bug does not occur: on a release that mended it, or without
            the event that decides.
        left_out: the event that the control leaves out, or an empty string.
    """

    ticket: str
    violated: str
    affected: Judged
    control: Judged
    left_out: str = ""

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """What the replays show."""
        return self.affected.judgement, self.control.judgement


def judged_with_bug(replay: Replay, name: str) -> Judged:
    """Return whether a replay on a release with a bug shows the bug.

    Parameters:
        replay: the replay of a plan whose last state or step violates the property.
        name: the name of the property.
    """
    if (early := _ended_early(replay)) is not None:
        return early
    outcome = replay.outcome
    if name in READING_PROPERTIES and (outcome is None or outcome.taken_back is None):
        return Judged(replay, Judgement.OTHERWISE, "every step is as in the model, but no consumer is sent back")
    return Judged(replay, Judgement.REPRODUCED, f"all {len(replay.steps)} steps are as in the model")


def judged_without_bug(replay: Replay, name: str) -> Judged:
    """Return whether a replay on a release that mended a bug shows that the bug is absent.

    It counts only if the steps are as in the model of this release, which departs from the schedule where the mended
    rule decides.
    """
    if (early := _ended_early(replay)) is not None:
        return early
    outcome, departs = replay.outcome, replay.plan.departs
    if departs is None and name not in READING_PROPERTIES:
        return Judged(replay, Judgement.OTHERWISE, "no step of the schedule is decided by the mended rule")
    if outcome is not None and (values := set(outcome.lost) & _kept(replay.plan.trace.states[-1])):
        lost = ", ".join(f"m{value}" for value in sorted(values))
        return Judged(replay, Judgement.OTHERWISE, f"the steps are as in the model, but {lost} is lost")
    if departs is None:
        if outcome is not None and outcome.taken_back is not None:
            return Judged(replay, Judgement.OTHERWISE, "a consumer is sent back")
        return Judged(replay, Judgement.ABSENT, "all steps are alike, and no consumer is sent back")
    refused = replay.plan.refused
    if refused is not None and refused.number <= departs:
        where = f"step {refused.number}, which the release does not make"
    else:
        where = f"step {departs}, in which the release does something else"
    return Judged(replay, Judgement.ABSENT, f"as in the model of the release, which departs at {where}")


def judged_without_event(replay: Replay, name: str) -> Judged:
    """Return whether a bug is absent from a replay without the event that decides, on the release with the bug."""
    if (early := _ended_early(replay)) is not None:
        return early
    if (outcome := replay.outcome) is not None and (set(outcome.lost) & _kept(replay.plan.trace.states[-1])):
        return Judged(replay, Judgement.OTHERWISE, "the steps are as in the model, but a record is lost")
    return Judged(replay, Judgement.ABSENT, f"all {len(replay.steps)} steps are as in the model, which keeps {name}")


def _kept(state: Partition) -> set[int]:
    """Return the records that are in the logs of the brokers that lead or may be elected in a state of the model."""
    quorum = state.quorum
    leading = quorum.isr | quorum.elr if quorum.leader is None else {quorum.leader}
    return {record.value for broker in leading for record in state.replicas[broker].log.records}


def _ended_early(replay: Replay) -> Judged | None:
    if replay.not_made:
        return Judged(replay, Judgement.NOT_MADE, replay.not_made)
    if replay.difference:
        return Judged(replay, Judgement.OTHERWISE, replay.difference)
    return None
