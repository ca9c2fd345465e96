"""Replay a plan: start brokers, execute the steps, and copy the disks at the end."""

from __future__ import annotations

import abc
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs

from leadline.brokers.behind_proxy import ObservedCluster
from leadline.brokers.driver.observed_state import SeenReplica
from leadline.brokers.driver.reading import Read
from leadline.brokers.driver.step_report import AnyObserved, Attempt, Produced, StepReport
from leadline.brokers.driver.waiting import StepFailed
from leadline.brokers.errors import BrokerError
from leadline.brokers.pending import Refused, Unanswered
from leadline.brokers.plans import AnyPlan, AnyStep
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease
from leadline.brokers.zookeeper import ZooKeeperError

FAILURES = (StepFailed, BrokerError, Unanswered, Refused, TimeoutError, OSError, ZooKeeperError)
"""The exceptions that mean that a step failed."""


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


class StepDriver(abc.ABC):
    """Executes the steps of a plan on brokers, and compares the brokers with the model after each step. Each family of
    specs that can be replayed has its own.
    """

    def __init__(self, plan: AnyPlan) -> None:
        self.plan = plan
        self._did: list[str] = []

    @abc.abstractmethod
    def start(self) -> None:
        """Start the brokers, and hold what they send.

        Raises:
            BrokerError: if the brokers cannot be started.
        """

    @abc.abstractmethod
    def begin(self) -> list[str]:
        """Wait until the brokers are in the plan's first state. Return a sentence for each remaining difference."""

    @abc.abstractmethod
    def act(self, step: Any) -> str:
        """Execute a step. Return how a response differs from the model, or an empty string.

        Raises:
            StepFailed: if the step cannot be executed. The other exceptions in `FAILURES` mean the same.
        """

    @abc.abstractmethod
    def compared(self, step: Any, not_made: str) -> tuple[AnyObserved, list[str], str]:
        """Observe the brokers after a step. Return what was observed, its differences from the model, and why the step
        was not made.
        """

    @abc.abstractmethod
    def attempt(self, step: Any) -> Attempt:
        """Attempt a step that the model does not allow."""

    @abc.abstractmethod
    def end(self, made: Replay, listener: Listener) -> Replay:
        """Describe the end of a replay in which every step was as in the model."""

    @property
    @abc.abstractmethod
    def data_directories(self) -> list[Path]:
        """The data directories that are audited at the end."""

    @abc.abstractmethod
    def close(self) -> None:
        """Stop the brokers, and all threads."""

    def make(self, step: AnyStep) -> StepReport:
        """Execute a step, and wait until the brokers are in the state of the model.

        Returns:
            A report with all differences from the model and, if the step failed, the reason.
        """
        began = time.monotonic()
        self._did.clear()
        differs, not_made = "", ""
        try:
            differs = self.act(step)
        except FAILURES as error:
            not_made = str(error)
        observed, found, not_made = self.compared(step, not_made)
        found = [differs, *found] if differs else found
        return StepReport(step, tuple(self._did), observed, tuple(found), not_made, time.monotonic() - began)


class BrokerDriver(StepDriver):
    """Executes the steps of a plan on processes behind a proxy.

    Attributes:
        cluster: the cluster of brokers behind a proxy.
    """

    def __init__(self, plan: AnyPlan, cluster: ObservedCluster) -> None:
        super().__init__(plan)
        self.cluster = cluster

    @property
    def data_directories(self) -> list[Path]:
        """The data directories of the brokers with a replica."""
        return [self.cluster.cluster.data_directory(broker) for broker in range(self.plan.brokers)]

    def close(self) -> None:
        """Stop the brokers, and all threads."""
        self.cluster.close()


def replay(
    plan: AnyPlan,
    driver_of: Callable[[Any, BrokerRelease, Path, RecordingWriter | None], StepDriver],
    release: BrokerRelease,
    folder: Path,
    listener: Listener | None = None,
    recording: RecordingWriter | None = None,
) -> Replay:
    """Replay a plan on real brokers.

    Parameters:
        driver_of: the class of the driver of the plan's family.
        folder: an empty folder. The replay creates the folder `cluster` in it, and copies the data directories to the
            folder `after` at the end. Some drivers make an earlier copy, too.
        listener: the listener that receives the events of the replay, or None.
        recording: the recording to which all frames are written, or None.

    Raises:
        BrokerError: if the brokers cannot be started, or no longer respond.
    """
    began, listener = time.monotonic(), listener or Listener()
    listener.starting(release)
    with closing(driver_of(plan, release, folder, recording)) as driver:
        driver.start()
        listener.started(time.monotonic() - began)
        try:
            made = execute(plan, release, driver, listener)
            if made.is_as_in_model:
                made = driver.end(made, listener)
        except (Unanswered, Refused) as error:
            raise BrokerError(f"the brokers of Kafka {release.name} no longer respond: {error}") from error
        copy_disks(driver.data_directories, folder / "after")
    return attrs.evolve(made, seconds=time.monotonic() - began)


def execute(plan: AnyPlan, release: BrokerRelease, driver: StepDriver, listener: Listener) -> Replay:
    """Execute the steps of a plan until one fails or its result differs from the model. If none does, attempt the step
    that the model does not allow.
    """
    differences, steps = driver.begin(), list[StepReport]()
    for step in plan.steps if not differences else ():
        listener.step(step)
        steps.append(driver.make(step))
        listener.made(steps[-1])
        if not steps[-1].is_as_in_model:
            break
    made = Replay(release, plan, tuple(differences), tuple(steps))
    if plan.refused is not None and made.is_as_in_model:
        listener.step(plan.refused)
        attempted = driver.attempt(plan.refused)
        listener.attempted(plan.refused, attempted)
        made = attrs.evolve(made, attempt=attempted)
    return made


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
