"""Replay a plan: start brokers, execute the steps, and read the remaining records."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from leadline.brokers.driver.driver import Driver
from leadline.brokers.driver.plan import Plan, PlannedStep
from leadline.brokers.driver.reading import Read, read_from
from leadline.brokers.driver.sight import SeenReplica
from leadline.brokers.driver.stage import Stage
from leadline.brokers.driver.step_report import AnyPlan, AnyStep, Attempt, Produced, StepReport
from leadline.brokers.driver.waiting import NotMade
from leadline.brokers.errors import BrokerError
from leadline.brokers.pending import Unanswered
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease

BACK_SECONDS = 20.0
"""The time limit after the last step for all replicas to join the ISR, in seconds. Diverged logs can prevent this."""


@attrs.frozen
class Outcome:
    """The records, replicas and leader at the end of a replay.

    Attributes:
        produced: the records that were sent to leaders, each with its outcome.
        reads: the records that consumers could read after each step that made a record readable or elected a leader,
            and at the end.
        replicas: the replicas at the end, after all brokers were restarted, keyed by broker.
        quorum: the last decision of the controller.
        leader: the leader at the end, or None.
    """

    produced: tuple[Produced, ...]
    reads: tuple[Read, ...]
    replicas: tuple[SeenReplica, ...]
    quorum: str
    leader: int | None = None

    @property
    def lost(self) -> tuple[int, ...]:
        """The records that were acknowledged or read by a consumer, but are missing from the leader's log at the end of
        the replay.

        The leader's log is searched, not the records that a consumer can read, because the high watermark of a leader
        does not advance if its ISR is too small.
        """
        if self.leader is None:
            return ()
        promised = [record.value for record in self.produced if record.offset is not None]
        promised += [value for read in self.reads for value in read.values]
        return tuple(sorted({*promised} - {record.value for record in self.replicas[self.leader].log}))

    @property
    def taken_back(self) -> tuple[Read, Read] | None:
        """An earlier read, and a later read that returned a smaller end offset. None if there are no such reads."""
        for at, later in enumerate(self.reads):
            for earlier in self.reads[:at]:
                if later.step is not None and later.end is not None and later.end < len(earlier.values):
                    return earlier, later
        return None

    @property
    def diverged(self) -> tuple[int, ...]:
        """The offsets at which replicas have different records at the end of the replay."""
        logs = [replica.log for replica in self.replicas]
        longest = max(map(len, logs), default=0)
        at = (offset for offset in range(longest) if len({log[offset] for log in logs if offset < len(log)}) > 1)
        return tuple(at)


@attrs.frozen
class Replay:
    """The result of replaying a plan on real brokers.

    Attributes:
        release: the release of the brokers.
        start_differences: the differences between the brokers and the first state of the plan.
        steps: the reports of the steps, up to the first step that failed or that differs from the model.
        attempt: the attempt at the step that the model does not allow, or None if it was not attempted.
        outcome: the records, replicas and leader at the end, or None if the replay ended early.
        seconds: the duration of the replay.
        told: lines that describe how a replay without an outcome ended.
    """

    release: BrokerRelease
    plan: AnyPlan
    start_differences: tuple[str, ...] = ()
    steps: tuple[StepReport, ...] = ()
    attempt: Attempt | None = None
    outcome: Outcome | None = None
    seconds: float = 0.0
    told: tuple[str, ...] = ()

    @property
    def not_made(self) -> str:
        """The reason why a step failed, or an empty string if no step failed."""
        if self.start_differences:
            return f"the brokers did not get into the first state: {self.start_differences[0]}"
        last = self.steps[-1] if self.steps else None
        if last is not None and last.not_made:
            return f"step {last.step.number} could not be made: {last.not_made}"
        return ""

    @property
    def difference(self) -> str:
        """The first difference from the model, or an empty string."""
        last = self.steps[-1] if self.steps else None
        if self.not_made or last is None:
            return ""
        if last.differences:
            return f"step {last.step.number}: {last.differences[0]}"
        if self.attempt is not None and self.attempt.made and self.plan.refused is not None:
            return (
                f"step {self.plan.refused.number}: the model does not allow {self.plan.refused.instance}, but the "
                f"brokers made it: {'; '.join(self.attempt.did)}"
            )
        return ""

    @property
    def is_as_in_model(self) -> bool:
        """Whether all steps were executed, and every observed state equals the state of the model."""
        return len(self.steps) == len(self.plan.steps) and not self.not_made and not self.difference


class Listener:
    """Receives the events of a replay."""

    def starting(self, release: BrokerRelease) -> None:
        """Called before the brokers of a release are started."""

    def started(self, seconds: float) -> None:
        """Called when all brokers are running and their replication is held."""

    def step(self, step: AnyStep) -> None:
        """Called before a step is executed."""

    def made(self, report: StepReport) -> None:
        """Called after a step has ended."""

    def attempted(self, step: AnyStep, attempt: Attempt) -> None:
        """Called after a step that the model does not allow was attempted."""

    def settling(self) -> None:
        """Called after the last step, before the brokers that are down are restarted."""


def replay(
    plan: Plan,
    release: BrokerRelease,
    folder: Path,
    listener: Listener | None = None,
    recording: RecordingWriter | None = None,
) -> Replay:
    """Replay a plan on real brokers.

    Parameters:
        folder: an empty folder. The replay creates the folder `cluster` in it, and two copies of the data directories.
            The copy `before` is made before records are lost, when the last record has become readable. The copy
            `after` is made at the end.
        listener: the listener that receives the events of the replay, or None.
        recording: the recording to which all frames are written, or None.

    Raises:
        BrokerError: if the brokers cannot be started.
    """
    began, listener = time.monotonic(), listener or Listener()
    listener.starting(release)
    with Stage(release, plan, folder / "cluster", recording) as stage:
        stage.start()
        driver = Driver(stage, plan)
        try:
            listener.started(time.monotonic() - began)
            made = _made(driver, stage, plan, folder, listener)
            if made.is_as_in_model:
                listener.settling()
                made = attrs.evolve(made, outcome=_outcome(driver, stage))
            copy_disks(map(stage.data_directory, stage.replicas), folder / "after")
        finally:
            driver.close()
    return attrs.evolve(made, seconds=time.monotonic() - began)


def _made(driver: Driver, stage: Stage, plan: Plan, folder: Path, listener: Listener) -> Replay:
    """Execute the plan, and copy the disks on the way."""
    differences, before = driver.begin(), _last_before(plan)

    def make(step: PlannedStep) -> StepReport:
        report = driver.make(step)
        if step is before:
            copy_disks(map(stage.data_directory, stage.replicas), folder / "before")
        return report

    return execute(plan, stage.release, differences, listener, make, driver.attempt)


def execute(
    plan: AnyPlan,
    release: BrokerRelease,
    differences: Sequence[str],
    listener: Listener,
    make: Callable[[Any], StepReport],
    attempt: Callable[[Any], Attempt] | None = None,
) -> Replay:
    """Execute the steps of a plan until one fails or its result differs from the model. If none does, attempt the step
    that the model does not allow.

    Parameters:
        plan: the plan, of any family of specs.
        differences: the differences between the brokers and the first state. If there are any, no step is executed.
        listener: the listener that receives the events of the replay.
        make: a function that executes a step, and reports on it.
        attempt: a function that attempts a step. It is required if the plan has a step that the model does not allow.
    """
    steps: list[StepReport] = []
    for step in plan.steps if not differences else ():
        listener.step(step)
        steps.append(make(step))
        listener.made(steps[-1])
        if not steps[-1].is_as_in_model:
            break
    made = Replay(release, plan, tuple(differences), tuple(steps))
    if attempt is not None and plan.refused is not None and made.is_as_in_model:
        listener.step(plan.refused)
        attempted = attempt(plan.refused)
        listener.attempted(plan.refused, attempted)
        made = attrs.evolve(made, attempt=attempted)
    return made


def _last_before(plan: Plan) -> PlannedStep | None:
    """Return the step after which the disks are copied. With this copy, an audit can find records that are lost later.

    This is the last step before the final one that makes a record readable. If no step makes a record readable, it is
    the second-to-last step.
    """
    earlier = plan.steps[:-1]
    readable = [step for step in earlier if step.after.exposed != step.before.exposed]
    return next(iter([*reversed(readable), *reversed(earlier)]), None)


def _outcome(driver: Driver, stage: Stage) -> Outcome:
    """Restart the brokers that are down, and read the remaining records."""
    reads = list(driver.reads)
    stage.end_holds()
    with suppress(NotMade):
        driver.deeds.await_exits(BACK_SECONDS * stage.pace)
    for broker in sorted(driver.observer.down):
        _bring_back(driver, broker)
    end = time.monotonic() + BACK_SECONDS
    while time.monotonic() < end and not driver.observer.is_whole():
        time.sleep(0.1)
    leader = driver.observer.decision().leader
    if leader is not None:
        reads += filter(None, [_last_read(driver, stage, leader)])
    driver.deeds.await_acknowledgements()
    sight = driver.observer.sight()
    return Outcome(tuple(driver.produced), tuple(reads), sight.replicas, str(sight.quorum), sight.quorum.leader)


def _bring_back(driver: Driver, broker: int) -> None:
    """Start a broker again. If it does not start, ignore the failure, because the outcome can be read from the
    remaining brokers.
    """
    with suppress(BrokerError, NotMade, OSError, Unanswered):
        driver.deeds.bring_back(broker)


def _last_read(driver: Driver, stage: Stage, leader: int) -> Read | None:
    """Read from a leader repeatedly, until its whole log can be read or a time limit is reached.

    Returns:
        The last read, or None if the leader does not respond in time.
    """
    end = time.monotonic() + BACK_SECONDS
    found = None
    while time.monotonic() < end:
        found = read_from(stage, leader, None) or found
        if found is not None and found.end == len(found.values) == len(driver.observer.log(leader)):
            break
        time.sleep(0.2)
    return found


def copy_disks(sources: Iterable[Path], folder: Path) -> None:
    """Copy the data directories for an audit. They are given in ascending order of broker ids."""
    for broker, source in enumerate(sources):
        for file in sorted(source.rglob("*")):
            if not file.is_file() or file.suffix in (".index", ".timeindex", ".tmp"):
                continue  # an audit does not read indexes, which are large and sparse
            target = folder / f"broker-{broker}" / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                shutil.copyfile(file, target)
            except FileNotFoundError:
                continue  # a running broker has replaced it
