"""Convert reproductions and replays to objects for `json.dumps`."""

from __future__ import annotations

from typing import Any

import attrs

from leadline.brokers.driver.replay import Replay
from leadline.brokers.driver.step_report import StepReport
from leadline.brokers.reproduction import Judged, Reproduction
from leadline.reports.kafka.broker_runs.live import evidence


@attrs.frozen
class ReproductionReport:
    """A reproduction of a bug, with the audits of the brokers' disks.

    Attributes:
        audits: the results of auditing the disks: first for the replay of the bug, then for the control replay.
        about: lines about the bug and the control replay.
    """

    reproduction: Reproduction
    audits: tuple[str, str]
    about: tuple[str, ...] = ()

    @property
    def judged(self) -> tuple[tuple[Judged, str], ...]:
        """The replays, each with the result of auditing its disks."""
        both = (self.reproduction.affected, self.reproduction.control)
        return tuple(zip(both, self.audits, strict=True))


def reproduction_object(report: ReproductionReport) -> dict[str, Any]:
    """Return a reproduction as an object for `json.dumps`."""
    reproduction = report.reproduction
    return {
        "ticket": reproduction.ticket,
        "property": reproduction.violated,
        "left_out": reproduction.left_out,
        "replays": [
            {
                "judgement": each.judgement.value,
                "reason": each.reason,
                "audit": audit,
                **replay_object(each.replay),
            }
            for each, audit in report.judged
        ],
    }


def replay_object(replay: Replay) -> dict[str, Any]:
    """Return a replay as an object for `json.dumps`."""
    outcome = replay.outcome
    return {
        "release": replay.release.name,
        "spec": replay.plan.trace.spec.name,
        "seconds": round(replay.seconds, 1),
        "assignment": list(replay.plan.replicas),
        "start_differences": list(replay.start_differences),
        "steps": [_step(report) for report in replay.steps],
        "refused": None if replay.plan.refused is None else repr(replay.plan.refused.instance),
        "attempt": None if replay.attempt is None else attrs.asdict(replay.attempt),
        "departs_at_step": replay.plan.departs,
        "acknowledged": [each.value for each in outcome.produced if each.offset is not None] if outcome else [],
        "read": [attrs.asdict(read) for read in outcome.reads] if outcome else [],
        "lost": list(outcome.lost) if outcome else [],
        "diverged_offsets": list(outcome.diverged) if outcome else [],
        "evidence": evidence(replay),
    }


def _step(report: StepReport) -> dict[str, Any]:
    return {
        "number": report.step.number,
        "action": repr(report.step.instance),
        "sentence": report.step.sentence,
        "did": list(report.did),
        "seen": report.observed.as_object,
        "differences": list(report.differences),
        "not_made": report.not_made,
        "seconds": round(report.seconds, 3),
    }
