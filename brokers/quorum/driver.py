"""Execute the steps of a plan of the `quorum` family, and compare Kafka's classes with the model after each step."""

from __future__ import annotations

from pathlib import Path

import attrs

from leadline.brokers.driver.replay import Listener, Replay, StepDriver
from leadline.brokers.driver.step_report import Attempt
from leadline.brokers.driver.waiting import StepFailed
from leadline.brokers.quorum.observed_state import ObservedQuorum, differences, observed_in, observed_state
from leadline.brokers.quorum.operations import execute, start_all
from leadline.brokers.quorum.plan import QuorumPlan, QuorumStep
from leadline.brokers.quorum.process import Controllers
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease


class QuorumDriver(StepDriver):
    """Executes the steps of a plan. Nothing is recorded, because there are no frames."""

    plan: QuorumPlan

    def __init__(
        self, plan: QuorumPlan, release: BrokerRelease, folder: Path, recording: RecordingWriter | None
    ) -> None:
        super().__init__(plan)
        self._nodes = Controllers(release, folder / "cluster")

    @property
    def data_directories(self) -> list[Path]:
        """None: the audit knows the data of brokers."""
        return []

    def close(self) -> None:
        """End the process with the nodes."""
        self._nodes.close()

    def start(self) -> None:
        """Start the nodes."""
        start_all(self._nodes, self.plan.start)

    def begin(self) -> list[str]:
        """Return a sentence for each difference from the plan's first state."""
        return differences(observed_state(self.plan.start), self._observed())

    def act(self, step: QuorumStep) -> str:
        """Execute a step."""
        instance = step.instance
        if step.is_made:
            self._did += step.operations
        else:
            self._did += execute(self._nodes, instance.action.name, instance.arguments, step.before, step.after)
        return ""

    def compared(self, step: QuorumStep, not_made: str) -> tuple[ObservedQuorum, list[str], str]:
        """Compare the nodes with the model."""
        observed = self._observed()
        return observed, differences(observed_state(step.shown), observed), not_made

    def attempt(self, step: QuorumStep) -> Attempt:
        """Attempt a step that changes nothing in the model."""
        self._did.clear()
        before = self._observed()
        try:
            self.act(step)
        except StepFailed as error:
            self._did.append(str(error))
        return Attempt(self._observed() != before, tuple(self._did))

    def end(self, made: Replay, listener: Listener) -> Replay:
        """Describe the last observation."""
        columns = made.steps[-1].observed.columns if made.steps else {}
        return attrs.evolve(made, told=tuple(f"{name}: {text}" for name, text in columns.items()))

    def _observed(self) -> ObservedQuorum:
        return observed_in(self._nodes.observed(), self.plan.brokers)
