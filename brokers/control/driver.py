"""Execute the steps of a plan of the `control` family, and compare the brokers with the model after each step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import attrs

from leadline.brokers.behind_proxy import CONTROLLER_PATH
from leadline.brokers.control.observed_state import ObservedControl, differences, observed_state
from leadline.brokers.control.plan import ControlPlan, ControlStep
from leadline.brokers.control.stage import EPOCH_PATH, ControlStage, error_in, is_about
from leadline.brokers.driver.replay import BrokerDriver, Listener, Replay
from leadline.brokers.driver.stage import STATE_PATH
from leadline.brokers.driver.step_report import Attempt
from leadline.brokers.driver.waiting import StepFailed, until, until_alike
from leadline.brokers.frame import Frame, Rule
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease
from leadline.brokers.traffic import Hold
from leadline.model.control.state import Cluster

STEP_SECONDS = 20.0
"""The time limit of a step until the brokers have the state of the model, in seconds on an idle machine."""

REST_SECONDS = 5.0
"""The time for which brokers are watched when nothing is held any more, in seconds on an idle machine."""

_ERRORS = {0: "no error", 11: "STALE_CONTROLLER_EPOCH", 77: "STALE_BROKER_EPOCH"}


class ControlDriver(BrokerDriver):
    """Executes the steps of a plan on brokers."""

    plan: ControlPlan

    def __init__(
        self, plan: ControlPlan, release: BrokerRelease, folder: Path, recording: RecordingWriter | None
    ) -> None:
        self._stage = ControlStage(release, plan, folder / "cluster", recording)
        super().__init__(plan, self._stage)
        self._limit = STEP_SECONDS * self._stage.timeout_scale
        self._reads: dict[int, Hold] = {}
        self._takes: dict[int, Hold] = {}
        self._silent: dict[int, Hold] = {}

    def start(self) -> None:
        """Start the brokers, and hold messages to and from controllers."""
        self._stage.start()

    def begin(self) -> list[str]:
        """Wait until the brokers are in the plan's first state. Return a sentence for each remaining difference."""
        return self._awaited([self.plan.start])[1]

    def act(self, step: ControlStep) -> str:
        """Execute a step, unless the brokers execute it by themselves."""
        if step.heals or step.wire.alone:
            self._did.append("by themselves")
        else:
            self._act(step)
        return ""

    def compared(self, step: ControlStep, not_made: str) -> tuple[ObservedControl, list[str], str]:
        """Wait until the brokers are in the state of the model, and after the last step check that they stay there."""
        if step.is_last and not not_made:
            return *self._at_rest(), ""
        if step.heals:
            return self._stage.observed(), [], not_made
        observed, found = self._awaited([step.after], 1.0 if not_made else self._limit)
        if step is self.plan.steps[-1] and not found and not not_made:
            observed, found = self._stays([step.after])
        return observed, found, not_made

    def attempt(self, step: ControlStep) -> Attempt:
        """Plans of controllers have no step that the model does not allow."""
        raise NotImplementedError

    def end(self, made: Replay, listener: Listener) -> Replay:
        """Describe the last observation."""
        columns = made.steps[-1].observed.columns
        return attrs.evolve(made, told=tuple(f"{name}: {text}" for name, text in columns.items()))

    def _awaited(self, states: Sequence[Cluster], limit: float | None = None) -> tuple[ObservedControl, list[str]]:
        """Wait until the brokers are in one of the given states of the model. Return the last observation, and its
        differences from the most similar state.
        """
        observations = [observed_state(state) for state in states]
        closest = partial(_closest, observations)
        return until_alike(self._stage.observed, closest, self._limit if limit is None else limit)

    def _at_rest(self) -> tuple[ObservedControl, list[str]]:
        """Release everything that is held, wait until the brokers come to rest as in the model, and check that they
        stay at rest.
        """
        stage = self._stage
        own = (self._reads, self._takes, self._silent)
        for hold in [hold for holds in (*own, stage.told, stage.changed, stage.requests) for hold in holds.values()]:
            hold.end()
        self._did.append("everything is let through")
        rests = list(self.plan.rests)
        observed, found = self._awaited(rests)
        return (observed, found) if found else self._stays(rests)

    def _stays(self, states: Sequence[Cluster]) -> tuple[ObservedControl, list[str]]:
        """Check that the brokers stay in one of the given states of the model for a while."""
        seconds = REST_SECONDS * min(self._stage.timeout_scale, 2.0)
        time.sleep(seconds)
        observed, found = self._awaited(states, 0.0)
        if not found:
            self._did.append(f"nothing changes for {seconds:.0f} s")
        return observed, found

    # --- steps --------------------------------------------------------------------------------------------------------

    def _act(self, step: ControlStep) -> None:
        arguments = step.instance.arguments
        match step.instance.action.name, arguments:
            case "deliver", {"controller": number, "broker": broker}:
                self._deliver(number, broker)
            case "read_brokers", {"controller": number}:
                self._read(number)
            case "act_on_brokers", {"controller": number}:
                self._write(number)
            case "become_controller", {"controller": number}:
                self._become(number, at_once=not step.wire.holds)
            case "start", {"controller": number}:
                self._start(number)
            case "controller_session_expires", {"controller": number}:
                self._stage.hold_elections(self._stage.controllers[number])
                self._stage.delete_controller_node()
                self._did.append("deleted /controller")
            case "controller_dies", {"controller": number}:
                self._stage.hold_elections(self._stage.controllers[number])
                self._kill(self._stage.controllers[number])
            case "broker_dies", {"broker": broker}:
                self._kill(broker)
                self._stage.down.add(broker)
            case "restart", {"broker": broker}:
                self._stage.forget(broker)
                self._stage.cluster.start_broker(broker)
                self._stage.down.discard(broker)
                self._stage.proxy.note("started", node=broker)
                self._did.append(f"started broker {broker}")
            case "broker_session_expires", {"broker": broker}:
                self._silent[broker] = self._stage.proxy.hold(Rule(broker, "zookeeper", None, True))
                self._stage.close_session(broker)
                self._did.append(f"closed the session of broker {broker}, and held what it sends to ZooKeeper")
            case "register", {"broker": broker}:
                self._silent.pop(broker).end()
                until(lambda: self._stage.is_registered(broker), self._limit, f"broker {broker} does not register")
                self._did.append(f"let through: what broker {broker} sends to ZooKeeper; it has a new session")
            case name, _:
                raise StepFailed(f"the driver does not know how to execute {name}")

    def _kill(self, process: int) -> None:
        self._stage.cluster.kill(process)
        self._stage.proxy.note("killed", node=process)
        self._stage.proxy.cut(process)
        self._stage.close_session(process)
        self._did.append(f"killed broker {process}, and closed its session")

    def _deliver(self, number: int, broker: int) -> None:
        hold = self._stage.requests[self._stage.controllers[number], broker]
        frame = until(lambda: next(iter(hold.held), None), self._limit, f"controller {number} sends nothing")
        hold.release(frame)
        answer = self._stage.proxy.wait(
            Rule(broker, frame.source, "LeaderAndIsr", False), after=frame.number, timeout=self._limit, passed=True
        )
        body = answer.body or {}
        errors = [_ERRORS.get(code, f"error {code}") for code in (body.get("ErrorCode", 0), error_in(body))]
        answers = errors[0] if errors[0] == errors[1] or errors[0] != _ERRORS[0] else f"{errors[1]} for the partition"
        self._did.append(f"let through: frame {frame.number}; the response has {answers}")

    def _read(self, number: int) -> None:
        """Notify a controller that the live brokers have changed. It reads the list of brokers. Its next request, which
        reads the partition state, is held.
        """
        controller = self._stage.controllers[number]
        self._reads[number] = hold = self._stage.proxy.hold(
            Rule(controller, "zookeeper", None, True, is_about(STATE_PATH))
        )
        told = self._release_watch(self._stage.changed[controller], f"controller {number} is told nothing of brokers")
        self._stage.changed[controller].end()  # what follows waits in its queue of events
        frame = until(lambda: next(iter(hold.held), None), self._limit, f"controller {number} does not read the state")
        self._did.append(f"let through: frame {told.number}, a watch on /brokers/ids")
        self._did.append(f"held: frame {frame.number}, {frame.api} of the partition state")

    def _write(self, number: int) -> None:
        """Release the requests of a controller, and wait until ZooKeeper has answered one of its writes."""
        controller, last = self._stage.controllers[number], self._stage.proxy.newest
        self._reads.pop(number).end()
        answer = until(partial(self._answered, controller, last), self._limit, f"controller {number} writes nothing")
        self._stage.hold_changes(controller)
        self._did.append(f"let through: its requests; {answer.api} is answered in frame {answer.number}")

    def _answered(self, controller: int, last: int) -> Frame | None:
        answers = (
            frame
            for frame in self._stage.proxy.frames
            if frame.number > last and (frame.source, frame.target) == ("zookeeper", controller)
        )
        return next((frame for frame in answers if frame.api in ("setData", "multi") and frame.state == "passed"), None)

    def _become(self, number: int, *, at_once: bool) -> None:
        stage = self._stage
        controller = stage.controllers[number]
        if not at_once:
            self._takes[number] = stage.proxy.hold(Rule(controller, "zookeeper", "setData", True, is_about(EPOCH_PATH)))
        told = self._release_watch(stage.told[controller], f"controller {number} is not told that /controller is gone")
        self._did.append(f"let through: frame {told.number}, a watch on /controller")
        until(partial(self._holds_node, controller), self._limit, f"controller {number} is not elected")
        stage.end_elections()  # the others find that somebody was elected
        if not at_once:
            taking = self._takes[number]
            frame = until(lambda: next(iter(taking.held), None), self._limit, f"controller {number} takes no epoch")
            self._did.append(f"held: frame {frame.number}, setData of the controller epoch")

    def _holds_node(self, controller: int) -> bool:
        found = self._stage.read(CONTROLLER_PATH)
        return found is not None and found["brokerid"] == controller

    def _start(self, number: int) -> None:
        self._takes.pop(number).end()
        self._did.append("let through: its request to set the controller epoch")

    def _release_watch(self, hold: Hold, what: str) -> Frame:
        frame = until(lambda: next(iter(hold.held), None), self._limit, what)
        hold.release(frame)
        return frame


def _closest(models: Sequence[ObservedControl], real: ObservedControl) -> list[str]:
    return min((differences(model, real) for model in models), key=len)
