"""Plan the replay of a transaction trace on a broker. No broker is needed for planning.

A broker writes markers and completes transactions by itself, as soon as the outcome is decided. Therefore, the broker
is compared with the model's state after these steps of the coordinator. A trace can be replayed only if its other steps
have the same results when these steps come first.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Iterator, Sequence

import attrs

from leadline.brokers.errors import NotExecutable
from leadline.brokers.plans import ReplayPlan, Step, followed_in
from leadline.brokers.transactions.requests import BROKER
from leadline.checker.action import ActionInstance
from leadline.checker.properties import Kind
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.model.txn.delivery import handled
from leadline.model.txn.messages import AddPartitions, EndTxn, InitProducerId, Produce, Request
from leadline.model.txn.producer import REFUSED, Response
from leadline.model.txn.state import FAILED, FENCED, Transactions


class Operation(enum.Enum):
    """The operation that executes a step."""

    SEND = "send the request, and hold it"
    VERIFY = "with the next step: the broker asks its coordinator before it appends the record"
    DELIVER = "let the request through, and wait for the response"
    LOSE_RESPONSE = "let the request through; the producer does not get the response"
    GIVE_UP = "hold the request until it is late"
    REPEAT = "hold the request until it is late, and send it again"
    LATE = "let the late request through"
    EXPIRE = "wait until the coordinator aborts the transaction after its time-out"
    ITSELF = "the coordinator does it by itself"


_OPERATIONS = {
    "initialise": Operation.SEND,
    "add_partition": Operation.SEND,
    "produce": Operation.SEND,
    "end": Operation.SEND,
    "coordinator_handles": Operation.DELIVER,
    "leader_appends": Operation.DELIVER,
    "leader_verifies": Operation.VERIFY,
    "write_marker": Operation.ITSELF,
    "complete": Operation.ITSELF,
    "retry": Operation.REPEAT,
    "give_up": Operation.GIVE_UP,
    "lose_response": Operation.LOSE_RESPONSE,
    "late_init": Operation.LATE,
    "late_add": Operation.LATE,
    "late_verification": Operation.VERIFY,
    "late_record": Operation.LATE,
    "late_end": Operation.LATE,
    "expire": Operation.EXPIRE,
}

_UNMADE = {
    "late_marker": "the coordinator's own request cannot be late on one broker",
    "materialise": "it is a background task of the broker",
    "advance_high_watermark": "the only replica is never behind",
    "fail_over": "there is one broker, and no other can take over",
    "elect_uncleanly": "there is one broker, and no other can be elected",
}

_LATE: dict[str, type] = {
    "late_init": InitProducerId,
    "late_add": AddPartitions,
    "late_record": Produce,
    "late_end": EndTxn,
}


@attrs.frozen
class TransactionsStep(Step[Transactions]):
    """A step of a plan.

    Attributes:
        operation: the operation that executes the step.
        shown: the state of the model that the broker is compared with: `after`, once the coordinator has written all
            markers and completed the transaction.
        request: the request of a producer that is handled in the step, or None.
        response: the response that the producer receives in the model, or None.
        with_next: whether the broker executes this step together with the next one.
    """

    operation: Operation
    shown: Transactions
    request: Request | None = None
    response: Response | None = None
    with_next: bool = False

    @property
    def operations(self) -> Iterator[str]:
        """What is done on the broker, as text."""
        yield self.operation.value

    @property
    def remark(self) -> str:
        """The new state of the coordinator, or an empty string if it does not change."""
        state = self.after.coordinator.state
        return "" if state == self.before.coordinator.state else f"the transaction is {state}"

    @property
    def producer(self) -> int:
        """The producer that sends or receives a message in the step."""
        return int(self.instance.arguments["producer"])


@attrs.frozen
class TransactionsPlan(ReplayPlan[Transactions, TransactionsStep]):
    """The plan of a replay. If a producer does not send the request of a step that the model does not allow, for
    example because it is fenced, the step is not attempted.
    """

    @property
    def expires(self) -> bool:
        """Whether a transaction times out."""
        return any(step.operation is Operation.EXPIRE for step in self.steps)

    @property
    def legend(self) -> str:
        return (
            "the requests of producers are held\nt1@0 is a record of transaction 1 with producer epoch 0, C@0 and A@0 "
            "are commit and abort markers, ¦ the last stable offset (LSO); frames have their numbers in the recording"
        )


def plan_of(trace: Trace[Transactions], expected: Spec[Transactions] | None = None) -> TransactionsPlan:
    """Plan the replay of a trace.

    Parameters:
        expected: see `followed_in`.

    Raises:
        NotExecutable: if a broker cannot execute a step. The message names the step and the reason.
    """
    followed, refused, departs = followed_in(trace, expected)
    for number, step in enumerate(trace.steps, start=1):
        _operation(number, step.instance)
    if followed.states[0].bounds.groups:
        raise NotExecutable(1, "leadline has no producer that commits the offsets of a consumer group")
    if followed.states[0].protocol.bumps:
        raise NotExecutable(1, "leadline has no producer for transaction version 2")
    steps = tuple(_merged(_planned(followed)))
    last = followed.states[-1]
    about = trace.about
    if about is not None and about.kind is Kind.INVARIANT and not about(last) and about(settled(followed.spec, last)):
        raise NotExecutable(len(steps), "the coordinator's next steps end the violation before it can be observed")
    tried = None
    if refused is not None and (operation := _operation(len(steps) + 1, refused)) is not Operation.SEND:
        if operation is not Operation.LATE:
            raise NotExecutable(len(steps) + 1, "brokers of this release execute a different step here")
        tried = TransactionsStep(len(steps) + 1, refused, last, last, operation, settled(followed.spec, last))
    return TransactionsPlan(steps, followed.states[0], tried, departs, followed, (BROKER,))


def settled(spec: Spec[Transactions], state: Transactions) -> Transactions:
    """Return the state once the coordinator has written all its markers and completed the transaction."""
    own = [each for each in spec.instances if each.action.name in ("write_marker", "complete")]
    while state.coordinator.is_prepared:
        following = next((after for each in own for after in spec.take(each, state)), None)
        if following is None:
            return state
        state = following
    return state


def _planned(trace: Trace[Transactions]) -> Iterable[TransactionsStep]:
    spec = trace.spec
    for number, step in enumerate(trace.steps, start=1):
        operation = _operation(number, step.instance)
        shown = settled(spec, step.after)
        if operation is not Operation.ITSELF:
            earlier = spec.take(step.instance, settled(spec, step.before))
            if shown not in [settled(spec, state) for state in earlier]:
                raise NotExecutable(
                    number, "it is between a decision of the coordinator and the writing of the markers"
                )
        planned = TransactionsStep(number, step.instance, step.before, step.after, operation, shown)
        yield _with_messages(planned)


def _operation(number: int, instance: ActionInstance[Transactions]) -> Operation:
    name = instance.action.name
    if name not in _OPERATIONS:
        raise NotExecutable(number, _UNMADE[name])
    return _OPERATIONS[name]


def _with_messages(step: TransactionsStep) -> TransactionsStep:
    """Return the step with the request that it handles, and with the response to the producer."""
    if step.operation is Operation.LATE:
        (request,) = [each for each, count in step.before.late.items() if step.after.late[each] < count]
        return attrs.evolve(step, request=request)
    if (
        step.operation in (Operation.DELIVER, Operation.LOSE_RESPONSE, Operation.VERIFY)
        and "producer" in step.instance.arguments
    ):
        sent = step.before.producers[step.producer].request
        assert sent is not None
        answer = handled(step.before, sent)
        response = None if answer is None else answer[1]
        if step.operation is Operation.VERIFY and step.after.producers[step.producer].request is None:
            return attrs.evolve(step, operation=Operation.DELIVER, request=sent, response=_refusal(step))
        return attrs.evolve(step, request=sent, response=response)
    return step


def _refusal(step: TransactionsStep) -> Response:
    """Return the response to a record that the coordinator does not confirm. The next mode of the producer shows the
    outcome.
    """
    mode = step.after.producers[step.producer].mode
    return Response(mode if mode in (FENCED, FAILED) else REFUSED)


def _merged(steps: Iterable[TransactionsStep]) -> Iterable[TransactionsStep]:
    """Mark the steps in which the broker asks the coordinator. The broker executes them together with the next step."""
    for step, following in itertools.pairwise([*steps, None]):
        assert step is not None
        if step.operation is Operation.VERIFY:
            name = {"leader_verifies": "leader_appends", "late_verification": "late_record"}[step.instance.action.name]
            if following is None or following.instance.action.name != name or not _same(step, following):
                raise NotExecutable(
                    step.number, "the broker appends the record as soon as its coordinator has answered"
                )
            yield attrs.evolve(step, with_next=True)
        else:
            yield step


def _same(step: TransactionsStep, following: TransactionsStep) -> bool:
    return step.instance.values == following.instance.values


def plain(request: Request) -> Request:
    """Return a request as its producer sent it, without the marks that the leader has added to it."""
    return attrs.evolve(request, verified=False, guarded=False) if isinstance(request, Produce) else request


def chosen_late(step: TransactionsStep, late: Sequence[Request]) -> Request | None:
    """Return the late request to release when a step is attempted, or None if no late request matches the step."""
    kind = _LATE[step.instance.action.name]
    arguments = step.instance.arguments.items()
    fitting = [each for each in late if isinstance(each, kind)]
    return next((each for each in fitting if all(getattr(each, name) == value for name, value in arguments)), None)
