"""Execute the steps of a plan on real brokers, one by one, and compare the brokers with the model after each step."""

from __future__ import annotations

import time
from functools import partial

from leadline.brokers.driver.deeds import Deeds
from leadline.brokers.driver.frames import Frames
from leadline.brokers.driver.observer import Observer
from leadline.brokers.driver.plan import Plan, PlannedStep
from leadline.brokers.driver.reading import Read, read_from
from leadline.brokers.driver.sight import Sight, differences, sight_of
from leadline.brokers.driver.stage import Stage
from leadline.brokers.driver.step_report import Attempt, Produced, StepReport
from leadline.brokers.driver.waiting import POLL_SECONDS, NotMade, until_alike
from leadline.brokers.errors import BrokerError
from leadline.brokers.pending import Refused, Unanswered
from leadline.model.kafka.wire import Deed

SLOW_SECONDS = 60.0
"""The time limit of a step in which a process starts or a session ends, in seconds."""

STEP_SECONDS = 15.0
"""The time limit of a step until the observed state equals the state of the model, in seconds."""

REFUSED_SECONDS = 4.0
"""The time limit of an attempt at a step that the model does not allow, in seconds."""

_FAILURES = (NotMade, BrokerError, Unanswered, Refused, TimeoutError, OSError)
"""The exceptions that mean that a step failed."""


class Driver:
    """Executes the steps of a plan on real brokers."""

    def __init__(self, stage: Stage, plan: Plan) -> None:
        self.stage, self.plan = stage, plan
        self.observer = Observer(stage)
        self.reads: list[Read] = []
        self._did: list[str] = []
        self._frames = Frames(stage, self.observer, self._did)
        self.deeds = Deeds(stage, self.observer, self._did)

    @property
    def produced(self) -> list[Produced]:
        """The records that were sent to leaders."""
        return self.deeds.produced

    def begin(self) -> list[str]:
        """Wait until the brokers are in the plan's first state. Return a sentence for each remaining difference."""
        self.observer.numbers.append(self.observer.decision().epoch)
        return self._awaited_differences(sight_of(self.plan.start), STEP_SECONDS * self.stage.pace)[1]

    def close(self) -> None:
        """Stop all threads of the driver."""
        self.deeds.close()

    def make(self, step: PlannedStep) -> StepReport:
        """Execute a step, and wait until the observed state equals the state of the model.

        Returns:
            A report with all differences from the model and, if the step failed, the reason.
        """
        began = time.monotonic()
        self._did.clear()
        limit = self._limit(step)
        not_made = ""
        try:
            self._act(step, limit)
            if step.after.quorum.epoch > step.before.quorum.epoch and not step.with_next:
                self._number_epoch(step, limit)
        except _FAILURES as error:
            not_made = str(error)
        if step.with_next and not not_made:
            return StepReport(step, tuple(self._did), self.observer.sight(), (), "", time.monotonic() - began)
        sight, found = self._awaited_differences(sight_of(step.after), 1.0 if not_made else limit)
        self._did += _files(step, sight)
        if not found and not not_made:
            self._read(step)
        return StepReport(step, tuple(self._did), sight, tuple(found), not_made, time.monotonic() - began)

    def _read(self, step: PlannedStep) -> None:
        """Read records as a consumer if the step made records readable or made a broker the leader."""
        if step.after.exposed == step.before.exposed and step.instance.action.name != "become_leader":
            return
        read = read_from(self.stage, step.broker if step.follower is None else step.instance.values[0], step.number)
        if read is not None:
            self.reads.append(read)
            self._did.append(str(read))

    def attempt(self, step: PlannedStep) -> Attempt:
        """Attempt a step that the model does not allow."""
        self._did.clear()
        before = self.observer.sight()
        try:
            self._act(step, REFUSED_SECONDS * self.stage.pace)
        except _FAILURES as error:
            return Attempt(False, (*self._did, str(error)))
        time.sleep(self.stage.pace)
        after = self.observer.sight()
        logs = [[replica.log for replica in sight.replicas] for sight in (before, after)]
        made = step.is_hidden or bool(step.wire.passes) or before.quorum != after.quorum or logs[0] != logs[1]
        return Attempt(made, (*self._did, f"the controller: {after.quorum}"))

    def _limit(self, step: PlannedStep) -> float:
        """Return the time limit of a step, in seconds."""
        if Deed.WAIT_FOR_LAG in step.wire.does:
            return (2.5 * self.plan.lag_seconds.get(step.broker, 0.0) + STEP_SECONDS) * self.stage.pace
        slow = {Deed.START, Deed.END_SESSION, Deed.WAIT_FOR_EXIT, Deed.RESUME_SESSION}
        return (SLOW_SECONDS if slow & {*step.wire.does} else STEP_SECONDS) * self.stage.pace

    def _act(self, step: PlannedStep, limit: float) -> None:
        if step.loses_messages_of(step.broker) and Deed.KILL not in step.wire.does:
            self._frames.lose_messages_of(step.broker)
        self._frames.let_listed_through(step, limit)
        self.deeds.do(step, limit)
        self._frames.end_proposals(step, limit)
        self._frames.await_left(step, limit)

    def _number_epoch(self, step: PlannedStep, limit: float) -> None:
        """Wait for the controller's decision that begins a new epoch, and record the number that brokers use for the
        epoch.

        With KRaft, a broker that learns of the epoch after a later one has begun reads the metadata log before that.
        Otherwise, it would learn of both at once.

        Raises:
            NotMade: if such a broker does not read the metadata log within the time limit.
        """
        last = self.observer.numbers[-1]
        end = time.monotonic() + limit
        while time.monotonic() < end:
            decision = self.observer.decision()
            if decision.leader is not None and decision.epoch > last:
                self.observer.numbers.append(decision.epoch)
                self._did.append(f"the controller: {self.observer.quorum()}")
                for broker in self.plan.late_learners(step) if self.stage.release.kraft else ():
                    self._frames.await_metadata(broker, step.after.quorum.epoch, limit)
                return
            time.sleep(POLL_SECONDS)

    def _awaited_differences(self, model: Sight, limit: float) -> tuple[Sight, list[str]]:
        """Wait until the observed state equals the state of the model, for at most `limit` seconds.

        Returns:
            The last observed state, and its differences from the model.
        """
        return until_alike(self.observer.sight, partial(differences, model), limit)


def _files(step: PlannedStep, sight: Sight) -> list[str]:
    """Describe the observed disk contents of each replica that the step changed in the model."""
    before = sight_of(step.before)
    changed = [
        broker
        for broker, (old, new) in enumerate(zip(before.replicas, sight_of(step.after).replicas, strict=True))
        if (old.log, old.high_watermark) != (new.log, new.high_watermark)
    ]
    return [f"on the disk of broker {broker}: {sight.replicas[broker]}" for broker in changed]
