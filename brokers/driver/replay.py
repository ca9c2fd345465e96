"""A whole replay: setting brokers up, making the steps, and asking what is left of the records."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import attrs

from leadline.brokers.cluster import Cluster
from leadline.brokers.driver.driver import Attempt, Driver, Produced, StepReport
from leadline.brokers.driver.plan import Plan, PlannedStep
from leadline.brokers.driver.reading import Read, read_from
from leadline.brokers.driver.sight import SeenReplica
from leadline.brokers.driver.stage import Stage
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease

BACK_SECONDS = 20.0
"""How long is waited, after the last step, until all replicas are in the ISR. Diverged logs can prevent it."""


@attrs.frozen
class Outcome:
    """What is left of the records at the end.

    Attributes:
        produced: the records that were sent to leaders, and what became of each.
        reads: what consumers could read, after each step that made a record readable or a broker leader, and at last.
        replicas: the replicas at last, when all brokers were back, by number of the broker.
        quorum: what the controller had decided at last.
    """

    produced: tuple[Produced, ...]
    reads: tuple[Read, ...]
    replicas: tuple[SeenReplica, ...]
    quorum: str

    @property
    def lost(self) -> tuple[int, ...]:
        """The records that were acknowledged, or that a consumer read, and that no consumer can read at last."""
        promised = [record.value for record in self.produced if record.offset is not None]
        promised += [value for read in self.reads for value in read.values]
        last = self.reads[-1] if self.reads and self.reads[-1].step is None else None
        return () if last is None else tuple(sorted({*promised} - {*last.values}))

    @property
    def taken_back(self) -> tuple[Read, Read] | None:
        """Two readings of which the later leader listed a smaller end offset than had been readable, or None."""
        for at, later in enumerate(self.reads):
            for earlier in self.reads[:at]:
                if later.step is not None and later.end is not None and later.end < len(earlier.values):
                    return earlier, later
        return None

    @property
    def diverged(self) -> tuple[int, ...]:
        """The offsets at which two replicas have different records at last."""
        logs = [replica.log for replica in self.replicas]
        longest = max(map(len, logs), default=0)
        at = (offset for offset in range(longest) if len({log[offset] for log in logs if offset < len(log)}) > 1)
        return tuple(at)


@attrs.frozen
class Replay:
    """A replay of a plan on real brokers.

    Attributes:
        release: the release of the brokers.
        plan: the plan.
        start_differences: how the brokers differed from the first state of the plan.
        steps: the steps that were made, and the first one that was not or that differs from the model.
        attempt: the attempt at the step that the model does not allow, or None if there is none or it was not reached.
        outcome: what is left of the records, or None if the replay ended early.
        seconds: how long everything took.
    """

    release: BrokerRelease
    plan: Plan
    start_differences: tuple[str, ...] = ()
    steps: tuple[StepReport, ...] = ()
    attempt: Attempt | None = None
    outcome: Outcome | None = None
    seconds: float = 0.0

    @property
    def not_made(self) -> str:
        """Why a step could not be made, or an empty string if all that were tried were made."""
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
        """Whether all steps were made, and nothing that can be seen differs from the model."""
        return len(self.steps) == len(self.plan.steps) and not self.not_made and not self.difference


class Listener:
    """Is told what happens during a replay, as it happens."""

    def starting(self, release: BrokerRelease) -> None:
        """Brokers of a release are started."""

    def started(self, seconds: float) -> None:
        """All brokers run, and their replication is held."""

    def step(self, step: PlannedStep) -> None:
        """A step begins."""

    def made(self, report: StepReport) -> None:
        """A step has ended."""

    def attempted(self, step: PlannedStep, attempt: Attempt) -> None:
        """A step that the model does not allow was tried."""

    def settling(self) -> None:
        """The steps are over, and all brokers are brought back."""


def replay(
    plan: Plan,
    release: BrokerRelease,
    folder: Path,
    listener: Listener | None = None,
    recording: RecordingWriter | None = None,
) -> Replay:
    """Replay a plan on real brokers.

    Parameters:
        plan: the plan.
        release: the release of the brokers.
        folder: an empty folder. It has the folder `cluster`, and copies of the data directories from `before` the last
            step and from `after` everything.
        listener: is told what happens.
        recording: gets all frames, or None.

    Raises:
        BrokerError: the brokers cannot be started.
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
            copy_disks(stage.cluster, stage.replicas, folder / "after")
        finally:
            driver.close()
    return attrs.evolve(made, seconds=time.monotonic() - began)


def _made(driver: Driver, stage: Stage, plan: Plan, folder: Path, listener: Listener) -> Replay:
    """Make the steps until one is not as in the model."""
    differences = driver.begin()
    steps: list[StepReport] = []
    if not differences:
        for step in plan.steps:
            if step is plan.steps[-1]:
                copy_disks(stage.cluster, stage.replicas, folder / "before")
            listener.step(step)
            steps.append(driver.make(step))
            listener.made(steps[-1])
            if not steps[-1].is_as_in_model:
                break
    made = Replay(stage.release, plan, tuple(differences), tuple(steps))
    if plan.refused is not None and made.is_as_in_model:
        listener.step(plan.refused)
        attempt = driver.attempt(plan.refused)
        listener.attempted(plan.refused, attempt)
        made = attrs.evolve(made, attempt=attempt)
    return made


def _outcome(driver: Driver, stage: Stage) -> Outcome:
    """Bring all brokers back, and ask what is left."""
    reads = list(driver.reads)
    stage.end_holds()
    for broker in sorted(driver.observer.down):
        driver.bring_back(broker)
    end = time.monotonic() + BACK_SECONDS
    while time.monotonic() < end and driver.observer.decision().isr != frozenset(stage.replicas):
        time.sleep(0.1)
    leader = driver.observer.decision().leader
    if leader is not None:
        reads += filter(None, [_last_read(driver, stage, leader)])
    driver.await_acknowledgements()
    sight = driver.observer.sight()
    return Outcome(tuple(driver.produced), tuple(reads), sight.replicas, str(sight.quorum))


def _last_read(driver: Driver, stage: Stage, leader: int) -> Read | None:
    """Read from a leader until its whole log can be read, or what can be read when it takes too long.

    Returns:
        What was read, or None if the leader does not answer in time.
    """
    end = time.monotonic() + BACK_SECONDS
    found = None
    while time.monotonic() < end:
        found = read_from(stage, leader, None) or found
        if found is not None and found.end == len(found.values) == len(driver.observer.log(leader)):
            break
        time.sleep(0.2)
    return found


def copy_disks(cluster: Cluster, brokers: range, folder: Path) -> None:
    """Copy the data directories of brokers, for an audit."""
    for broker in brokers:
        source = cluster.data_directory(broker)
        for file in _files(source):
            target = folder / f"broker-{broker}" / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                shutil.copyfile(file, target)
            except FileNotFoundError:
                continue  # a running broker has replaced it


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a data directory that an audit reads. Indexes are sparse and large."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix not in (".index", ".timeindex", ".tmp"):
            yield file
