"""Execute the steps of a plan of transactions on a broker, and compare the broker with the model after each step."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import attrs

from leadline.brokers.behind_proxy import ObservedCluster
from leadline.brokers.driver.replay import BrokerDriver, Listener, Replay
from leadline.brokers.driver.step_report import Attempt
from leadline.brokers.driver.waiting import POLL_SECONDS, StepFailed, until, until_alike
from leadline.brokers.errors import BrokerError
from leadline.brokers.frame import Frame, Rule
from leadline.brokers.pending import Pending, Refused, Unanswered
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease
from leadline.brokers.traffic import Hold
from leadline.brokers.transactions.observed_state import ObservedTransactions, differences, observed_state
from leadline.brokers.transactions.observer import Observer
from leadline.brokers.transactions.plan import Operation, TransactionsPlan, TransactionsStep, chosen_late, plain
from leadline.brokers.transactions.requests import (
    BROKER,
    TOPIC,
    TRANSACTION_TIMEOUT_MS,
    TRANSACTIONAL_ID,
    Answer,
    api_of,
    send,
)
from leadline.model.txn.messages import InitProducerId, Request
from leadline.model.txn.state import Transactions

READY_SECONDS = 60.0
STEP_SECONDS = 15.0
"""The time limit of a step until the broker has the state of the model, in seconds on an idle machine."""

REFUSED_SECONDS = 2.0
"""The time for which a broker is watched after an attempt at a step that the model does not allow."""

SETTINGS = {
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}

EXPIRING_SECONDS = 5.0
"""The time-out of transactions in a plan in which one times out, in seconds on an idle machine."""

_HELD = ("InitProducerId", "AddPartitionsToTxn", "Produce", "EndTxn")
_TRANSACTION = 1
"""The kind of coordinator that FindCoordinator asks for."""


@attrs.frozen(eq=False)
class _Sent:
    """A request in flight: the request of the model, the frame that the proxy holds, and the pending response."""

    request: Request
    frame: Frame
    pending: Pending[Answer]


class TransactionsDriver(BrokerDriver):
    """Executes the steps of a plan on a broker behind a proxy."""

    plan: TransactionsPlan

    def __init__(
        self, plan: TransactionsPlan, release: BrokerRelease, folder: Path, recording: RecordingWriter | None
    ) -> None:
        super().__init__(plan, ObservedCluster(release, folder / "cluster", 1, SETTINGS, recording))
        self._timeout_scale = self.cluster.timeout_scale
        self._timeout = EXPIRING_SECONDS * self._timeout_scale if plan.expires else TRANSACTION_TIMEOUT_MS / 1000
        self._ready = 0.0
        self._proxy, self._client = self.cluster.proxy, self.cluster.client
        self._observer = Observer(self._client, plan.start.bounds.partitions)
        self._producer = -1
        self._holds: dict[str, Hold] = {}
        self._waiting: dict[int, _Sent] = {}
        self._late: list[_Sent] = []

    def start(self) -> None:
        """Start the cluster, create the topic, initialise the producer, and hold its requests from then on.

        Raises:
            BrokerError: if a process does not start, or the producer gets no producer id.
        """
        self.cluster.start_processes([BROKER], [])
        partitions = [[BROKER]] * self.plan.start.bounds.partitions
        try:
            self._client.create_topic(BROKER, TOPIC, partitions)
            until(self._is_initialised, READY_SECONDS * self._timeout_scale, "the producer gets no producer id")
        except (StepFailed, Refused, Unanswered) as error:
            raise BrokerError(f"cannot start the replay: {error}") from error
        self._holds = {api: self._proxy.hold(Rule("client", BROKER, api, request=True)) for api in _HELD}

    def _is_initialised(self) -> bool:
        """Find the coordinator, and request a producer id. Both requests are refused until the coordinator is ready."""
        asked = {"Key": TRANSACTIONAL_ID, "KeyType": _TRANSACTION}
        if self._client.ask(BROKER, "FindCoordinator", asked)["ErrorCode"]:
            return False
        answer = self._sent(InitProducerId(0, None)).result(READY_SECONDS)
        self._producer, self._ready = answer.producer, time.monotonic()
        return answer.code == 0

    def _sent(self, request: Request) -> Pending[Answer]:
        return send(self._client, request, self._producer, int(self._timeout * 1000))

    def begin(self) -> list[str]:
        """Wait until the broker is in the plan's first state. Return a sentence for each remaining difference."""
        return self._awaited(observed_state(self.plan.start), STEP_SECONDS)[1]

    def compared(self, step: TransactionsStep, not_made: str) -> tuple[ObservedTransactions, list[str], str]:
        """Wait until the broker is in the state of the model."""
        limit = STEP_SECONDS * self._timeout_scale
        if step.operation is Operation.EXPIRE:
            limit += self._timeout
        observed, found = self._awaited(observed_state(step.shown), 1.0 if not_made else limit)
        if (
            found
            and not not_made
            and step.operation is not Operation.EXPIRE
            and time.monotonic() > self._ready + self._timeout
        ):
            not_made = f"the steps took longer than the time-out of transactions, {self._timeout:.0f} s"
        return observed, found, not_made

    def _awaited(self, model: ObservedTransactions, limit: float) -> tuple[ObservedTransactions, list[str]]:
        """Wait until the broker is in the given state of the model. Return the last observation, and its differences
        from that state.
        """
        return until_alike(self._observer.observed, partial(differences, model), limit)

    def attempt(self, step: TransactionsStep) -> Attempt:
        """Release a late request that changes nothing in the model, and watch the broker for a while."""
        self._did.clear()
        before = self._observer.observed()
        request = chosen_late(step, [sent.request for sent in self._late])
        if request is None:
            return Attempt(False, ("no such request is late",))
        answer = self._released(self._taken_late(request))
        self._did.append(f"the response has {answer}")
        time.sleep(REFUSED_SECONDS * self._timeout_scale)
        return Attempt(self._observer.observed() != before, tuple(self._did))

    def end(self, made: Replay, listener: Listener) -> Replay:
        """Describe the end of the replay, as producers, consumers and the leaders of partitions see it."""
        lines = []
        for number, promise in enumerate(self.plan.trace.states[-1].promises, start=1):
            if number <= self.plan.trace.states[-1].begun:
                asked = f"asked to {promise.asked} it" if promise.asked else "did not ask to end it"
                lines.append(f"transaction {number}: its producer {asked}{', with success' if promise.told else ''}")
        observed = self._observer.observed()
        lines.append(f"the coordinator: {observed.coordinator or 'does not tell its state before Kafka 3.0'}")
        for number, each in enumerate(observed.partitions):
            since = self._observer.open_since(number)
            opened = "" if since is None else f"; its leader says that a transaction is open since offset {since}"
            read = " ".join(map(str, each.read)) or "nothing"
            lines.append(f"partition {number}: {each}; a read_committed consumer reads {read}{opened}")
        return attrs.evolve(made, told=tuple(lines))

    # --- steps --------------------------------------------------------------------------------------------------------

    def act(self, step: TransactionsStep) -> str:
        """Execute a step. Return how a response differs from the model, or an empty string."""
        match step.operation:
            case Operation.SEND:
                self._send(step.producer, step.after)
            case Operation.GIVE_UP:
                self._give_up(step.producer)
            case Operation.REPEAT:
                self._give_up(step.producer)
                self._send(step.producer, step.after)
            case Operation.DELIVER | Operation.LOSE_RESPONSE:
                return self._deliver(step)
            case Operation.LATE:
                assert step.request is not None
                answer = self._released(self._taken_late(plain(step.request)))
                self._did.append(f"its response, for which nobody waits, has {answer}")
            case _:
                self._did.append(step.operation.value)
        return ""

    def _send(self, producer: int, state: Transactions) -> None:
        """Send the request that a producer has in flight in the given model state. The proxy holds the request."""
        request = state.producers[producer].request
        assert request is not None
        request, hold, newest = plain(request), self._holds[api_of(request)], self._proxy.newest
        pending = self._sent(request)
        frame = until(
            lambda: next((each for each in hold.held if each.number > newest), None),
            STEP_SECONDS * self._timeout_scale,
            f"{api_of(request)} does not reach the proxy",
        )
        self._did.append(f"{frame} is held: {request}")
        self._waiting[producer] = _Sent(request, frame, pending)

    def _give_up(self, producer: int) -> None:
        sent = self._waiting.pop(producer)
        self._did.append(f"frame {sent.frame.number} remains held, and its producer waits no longer")
        self._late.append(sent)

    def _deliver(self, step: TransactionsStep) -> str:
        answer = self._released(self._waiting.pop(step.producer))
        end = time.monotonic() + STEP_SECONDS * self._timeout_scale
        while answer.is_busy and step.response is not None and time.monotonic() < end:
            self._did.append("the transaction before is not complete yet: the producer repeats the request")
            time.sleep(POLL_SECONDS)
            self._send(step.producer, step.before)
            answer = self._released(self._waiting.pop(step.producer))
        is_lost = step.operation is Operation.LOSE_RESPONSE
        self._did.append(f"the response has {answer}{', and is lost' if is_lost else ''}")
        again = step.after.producers[step.producer].request
        if again is not None:
            self._send(step.producer, step.after)
        if step.response is None:
            return "" if answer.is_busy else f"the response has {answer}; in the model the producer must repeat it"
        expected = step.response
        if not answer.is_as(expected.outcome) or (
            isinstance(step.request, InitProducerId) and answer.code == 0 and answer.epoch != expected.epoch
        ):
            return f"the response has {answer}, epoch {answer.epoch}; in the model: {expected.outcome}"
        return ""

    def _taken_late(self, request: Request) -> _Sent:
        sent = next(each for each in self._late if each.request == request)
        self._late.remove(sent)
        return sent

    def _released(self, sent: _Sent) -> Answer:
        """Release a request, and return the response."""
        self._did.append(f"let through frame {sent.frame.number}: {sent.request}")
        self._holds[api_of(sent.request)].release(sent.frame)
        return sent.pending.result(STEP_SECONDS * self._timeout_scale)
