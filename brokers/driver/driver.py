"""Execute the steps of a plan on real brokers, one by one, and compare the brokers with the model after each step."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import attrs

from leadline.brokers.driver.frames import Frames
from leadline.brokers.driver.observed_state import ObservedState, differences, observed_state
from leadline.brokers.driver.observer import Observer
from leadline.brokers.driver.operations import Operations
from leadline.brokers.driver.plan import Plan, PlannedStep
from leadline.brokers.driver.reading import Read, read_from
from leadline.brokers.driver.replay import FAILURES, BrokerDriver, Listener, Outcome, Replay, copy_disks
from leadline.brokers.driver.stage import Stage
from leadline.brokers.driver.step_report import Attempt, StepReport
from leadline.brokers.driver.waiting import POLL_SECONDS, StepFailed, until, until_alike
from leadline.brokers.errors import BrokerError
from leadline.brokers.pending import Unanswered
from leadline.brokers.plans import AnyStep
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease
from leadline.model.kafka.rolls import NEW_LEVEL, Rolling
from leadline.model.kafka.wire import Operation

SLOW_SECONDS = 60.0
"""The time limit of a step in which a process starts or a session ends, in seconds."""

STEP_SECONDS = 15.0
"""The time limit of a step until the observed state equals the state of the model, in seconds."""

REFUSED_SECONDS = 4.0
"""The time limit of an attempt at a step that the model does not allow, in seconds."""

BACK_SECONDS = 20.0
"""The time limit after the last step for all replicas to join the ISR, in seconds. Diverged logs can prevent this."""


class Driver(BrokerDriver):
    """Executes the steps of a plan on real brokers. When the last record has become readable, before records are lost,
    it copies the data directories to the folder `before`.
    """

    plan: Plan

    def __init__(self, plan: Plan, release: BrokerRelease, folder: Path, recording: RecordingWriter | None) -> None:
        self.stage = Stage(release, plan, folder / "cluster", recording)
        super().__init__(plan, self.stage)
        self._before, self._copied_after = folder / "before", _last_before(plan)
        self._status = ""
        self._observer = Observer(self.stage)
        self._reads: list[Read] = []
        self._frames = Frames(self.stage, self._observer, self._did)
        self._operations = Operations(self.stage, self._observer, self._did)

    @property
    def data_directories(self) -> list[Path]:
        """The log directories with a replica, in the order of the brokers."""
        return [self.stage.data_directory(broker) for broker in self.stage.replicas]

    def start(self) -> None:
        """Start the brokers, and hold the replication."""
        self.stage.start()

    def begin(self) -> list[str]:
        """Wait until the brokers are in the plan's first state. Return a sentence for each remaining difference."""
        self._observer.numbers.append(self._observer.decision().epoch)
        return self._awaited_differences(observed_state(self.plan.start), STEP_SECONDS * self.stage.timeout_scale)[1]

    def close(self) -> None:
        """Stop the brokers, and all threads."""
        self._operations.close()
        super().close()

    def make(self, step: AnyStep) -> StepReport:
        """Execute a step, and copy the disks if records may be lost from then on."""
        report = super().make(step)
        if step is self._copied_after:
            copy_disks(self.data_directories, self._before)
        return report

    def act(self, step: PlannedStep) -> str:
        """Execute a step."""
        limit, newest = self._limit(step), self.stage.proxy.newest
        self._act(step, limit)
        self._await_registration(step, newest, limit)
        if step.after.quorum.epoch > step.before.quorum.epoch and not step.with_next:
            self._number_epoch(step, limit)
        return ""

    def compared(self, step: PlannedStep, not_made: str) -> tuple[ObservedState, list[str], str]:
        """Wait until the observed state equals the state of the model, and read records as a consumer."""
        if step.with_next and not not_made:
            return self._observer.observed(), [], ""
        observed, found = self._awaited_differences(observed_state(step.after), 1.0 if not_made else self._limit(step))
        self._did += _files(step, observed)
        if self._status and self._status != (known := step.after.registrations[step.broker].status):
            found.append(f"broker {step.broker} is {self._status} when it registers again; in the model it is {known}")
        if not found and not not_made:
            self._read(step)
        return observed, found, not_made

    def _await_registration(self, step: PlannedStep, newest: int, limit: float) -> None:
        """Wait until a broker has registered again, if it does so because it has applied a new level."""
        state, broker = step.after, step.broker
        applies = step.instance.action.name == "apply_level" and isinstance(state, Rolling)
        self._status = ""
        if applies and state.upgrade.registers_again and state.stages[broker] == NEW_LEVEL:  # type: ignore[attr-defined]
            what = f"broker {broker} does not register again"
            self._status = until(lambda: self.stage.registered(broker, newest), limit, what)
            self._did.append(f"broker {broker} registers again: {self._status}")

    def _read(self, step: PlannedStep) -> None:
        """Read records as a consumer if the step made records readable or made a broker the leader."""
        if step.after.exposed == step.before.exposed and step.instance.action.name != "become_leader":
            return
        read = read_from(self.stage, step.broker if step.follower is None else step.instance.values[0], step.number)
        if read is not None:
            self._reads.append(read)
            self._did.append(str(read))

    def attempt(self, step: PlannedStep) -> Attempt:
        """Attempt a step that the model does not allow."""
        self._did.clear()
        before = self._observer.observed()
        try:
            self._act(step, REFUSED_SECONDS * self.stage.timeout_scale)
        except FAILURES as error:
            return Attempt(False, (*self._did, str(error)))
        time.sleep(self.stage.timeout_scale)
        after = self._observer.observed()
        logs = [[replica.log for replica in observed.replicas] for observed in (before, after)]
        made = step.is_hidden or bool(step.wire.passes) or before.quorum != after.quorum or logs[0] != logs[1]
        return Attempt(made, (*self._did, f"the controller: {after.quorum}"))

    def end(self, made: Replay, listener: Listener) -> Replay:
        """Restart the brokers that are down, and read the remaining records."""
        listener.settling()
        reads = list(self._reads)
        self.stage.end_holds()
        with suppress(StepFailed):
            self._operations.await_exits(BACK_SECONDS * self.stage.timeout_scale)
        for broker in sorted(self._observer.down):
            with suppress(
                BrokerError, StepFailed, OSError, Unanswered
            ):  # the outcome is read from the remaining brokers
                self._operations.bring_back(broker)
        end = time.monotonic() + BACK_SECONDS
        while time.monotonic() < end and not self._observer.is_whole():
            time.sleep(0.1)
        leader = self._observer.decision().leader
        if leader is not None:
            reads += filter(None, [self._last_read(leader)])
        self._operations.await_acknowledgements()
        observed = self._observer.observed()
        read = tuple(reads)
        outcome = Outcome(
            tuple(self._operations.produced), read, observed.replicas, str(observed.quorum), observed.quorum.leader
        )
        return attrs.evolve(made, outcome=outcome)

    def _last_read(self, leader: int) -> Read | None:
        """Read from a leader repeatedly, until its whole log can be read or a time limit is reached.

        Returns:
            The last read, or None if the leader does not respond in time.
        """
        end = time.monotonic() + BACK_SECONDS
        found = None
        while time.monotonic() < end:
            found = read_from(self.stage, leader, None) or found
            if found is not None and found.end == len(found.values) == len(self._observer.log(leader)):
                break
            time.sleep(0.2)
        return found

    def _limit(self, step: PlannedStep) -> float:
        """Return the time limit of a step, in seconds."""
        if Operation.WAIT_FOR_LAG in step.wire.does:
            return (2.5 * self.plan.lag_seconds.get(step.broker, 0.0) + STEP_SECONDS) * self.stage.timeout_scale
        slow = {Operation.START, Operation.END_SESSION, Operation.WAIT_FOR_EXIT, Operation.RESUME_SESSION}
        return (SLOW_SECONDS if slow & {*step.wire.does} else STEP_SECONDS) * self.stage.timeout_scale

    def _act(self, step: PlannedStep, limit: float) -> None:
        if step.loses_messages_of(step.broker) and Operation.KILL not in step.wire.does:
            self._frames.lose_messages_of(step.broker)
        self._frames.let_listed_through(step, limit)
        self._operations.do(step, limit)
        self._frames.end_proposals(step, limit)
        self._frames.await_left(step, limit)

    def _number_epoch(self, step: PlannedStep, limit: float) -> None:
        """Wait for the controller's decision that begins a new epoch, and record the number that brokers use for the
        epoch.

        With KRaft, a broker that learns of the epoch after a later one has begun reads the metadata log before that.
        Otherwise, it would learn of both at once.

        Raises:
            StepFailed: if such a broker does not read the metadata log within the time limit.
        """
        last = self._observer.numbers[-1]
        end = time.monotonic() + limit
        while time.monotonic() < end:
            decision = self._observer.decision()
            if decision.leader is not None and decision.epoch > last:
                self._observer.numbers.append(decision.epoch)
                self._did.append(f"the controller: {self._observer.quorum()}")
                for broker in self.plan.late_learners(step) if self.stage.release.kraft else ():
                    self._frames.await_metadata(broker, step.after.quorum.epoch, limit)
                return
            time.sleep(POLL_SECONDS)

    def _awaited_differences(self, model: ObservedState, limit: float) -> tuple[ObservedState, list[str]]:
        """Wait until the observed state equals the state of the model, for at most `limit` seconds.

        Returns:
            The last observed state, and its differences from the model.
        """
        return until_alike(self._observer.observed, partial(differences, model), limit)


def _files(step: PlannedStep, observed: ObservedState) -> list[str]:
    """Describe the observed disk contents of each replica that the step changed in the model."""
    before = observed_state(step.before)
    changed = [
        broker
        for broker, (old, new) in enumerate(zip(before.replicas, observed_state(step.after).replicas, strict=True))
        if (old.log, old.high_watermark) != (new.log, new.high_watermark)
    ]
    return [f"on the disk of broker {broker}: {observed.replicas[broker]}" for broker in changed]


def _last_before(plan: Plan) -> PlannedStep | None:
    """Return the step after which the disks are copied. With this copy, an audit can find records that are lost later.

    This is the last step before the final one that makes a record readable. If no step makes a record readable, it is
    the second-to-last step.
    """
    earlier = plan.steps[:-1]
    readable = [step for step in earlier if step.after.exposed != step.before.exposed]
    return next(iter([*reversed(readable), *reversed(earlier)]), None)
