"""Reproduce a known bug on real brokers: run a replay of the bug and a control replay, and judge both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from leadline.brokers.control.driver import ControlDriver
from leadline.brokers.control.plan import ControlPlan
from leadline.brokers.driver.driver import Driver
from leadline.brokers.driver.plan import Plan
from leadline.brokers.driver.replay import Listener, Replay, StepDriver, replay
from leadline.brokers.groups.driver import GroupsDriver
from leadline.brokers.groups.plan import GroupsPlan
from leadline.brokers.plans import AnyPlan
from leadline.brokers.quorum.driver import QuorumDriver
from leadline.brokers.quorum.plan import QuorumPlan
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease
from leadline.brokers.reproduction import (
    Judged,
    Reproduction,
    judged_with_bug,
    judged_without_bug,
    judged_without_event,
)
from leadline.brokers.transactions.driver import TransactionsDriver
from leadline.brokers.transactions.plan import TransactionsPlan
from leadline.reports.kafka.broker_runs.disks import audited
from leadline.reports.kafka.broker_runs.objects import ReproductionReport
from leadline.reports.kafka.broker_runs.schedules import Schedules
from leadline.reports.kafka.bugs import command_for

DRIVERS: dict[type, Callable[..., StepDriver]] = {
    Plan: Driver,
    ControlPlan: ControlDriver,
    TransactionsPlan: TransactionsDriver,
    QuorumPlan: QuorumDriver,
    GroupsPlan: GroupsDriver,
}
"""The class that executes each kind of plan."""

Listening = Callable[[AnyPlan], Listener]
Shown = Callable[[Judged, str], None]
Judge = Callable[[Replay, str], Judged]


def reproduce(schedules: Schedules, folder: Path, listening: Listening, shown: Shown) -> ReproductionReport:
    """Replay a bug on real brokers, and then run the control replay.

    Parameters:
        schedules: the plans and releases for the two replays.
        folder: an empty folder. Each replay writes its logs, disks and recording to its own folder in it.
        listening: a function that takes a plan and returns the listener for its replay.
        shown: a function that is called after each replay, with the judged replay and the result of auditing the disks.

    Raises:
        BrokerError: if the brokers cannot be started.
    """

    def judged(release: BrokerRelease, plan: AnyPlan, part: str, judge: Judge) -> tuple[Judged, str]:
        own = folder / f"{release.name}-{part}"
        found = judge(run(plan, release, own, listening(plan)), schedules.bug.property)
        shown(found, audit := audited(own))
        return found, audit

    affected = judged(schedules.affected, schedules.plan, "affected", judged_with_bug)
    judge = judged_without_event if schedules.left_out else judged_without_bug
    control = judged(schedules.control, schedules.control_plan, "control", judge)
    bug = schedules.bug
    reproduction = Reproduction(bug.ticket, bug.property, affected[0], control[0], schedules.left_out)
    return ReproductionReport(reproduction, (affected[1], control[1]), about_bug(schedules))


def about_bug(schedules: Schedules) -> tuple[str, ...]:
    """Return lines about the bug, and a line about the control replay if it is not of a release with the fix."""
    bug = schedules.bug
    found = [f"{bug.ticket}  {bug.sentence}"]
    if bug.seen:
        found.append(f"what operators see, and what to do: {command_for(bug.ticket)}")
    if schedules.left_out:
        found.append(f"{schedules.reason}; the control run omits this step: {schedules.left_out}")
    return tuple(found)


def run(plan: AnyPlan, release: BrokerRelease, folder: Path, listener: Listener) -> Replay:
    """Replay a plan on real brokers, and record all frames in the file ``recording.jsonl``.

    Parameters:
        folder: the folder to create, which will contain the logs, disks and recording.
        listener: the object to notify of each step.
    """
    folder.mkdir(parents=True)
    about: dict[str, Any] = {"release": release.name, "spec": plan.trace.spec.name}
    about["bounds"] = attrs.asdict(plan.trace.states[0].bounds)
    with RecordingWriter(folder / "recording.jsonl", **about) as recording:
        return replay(plan, DRIVERS[type(plan)], release, folder, listener, recording)
