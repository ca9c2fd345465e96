"""Mistakes one can make with the rules of the `kafka` family: a rule changed, or an action replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from checker import Action, Spec
from invariants.catalog import find, kafka
from model.kafka.crash import restart
from model.kafka.high_watermark import smallest_leo
from model.kafka.isr import handle_alter_partition
from model.kafka.leadership import become_leader
from model.kafka.messages import EpochResponse, FetchRequest, FetchResponse, OffsetOutOfRange
from model.kafka.produce import produce
from model.kafka.protocols import EpochLookup, Protocol, Truncation, end_of_the_epoch_in_both
from model.kafka.releases import DESIGNS, column_of
from model.kafka.state import Partition, Replica
from model.log import Log, Record
from model.quorum import Quorum
from tests.kafka_states import KIP_320
from tests.mutants import Taken, and_then, changing, with_actions

KafkaAction = Action[Partition, Any]


# --- how mutants are made -----------------------------------------------------------------------------------


def changed(base: Protocol = KIP_320, **rules: Any) -> Spec[Partition]:
    """A protocol with some rules changed."""
    return _spec(attrs.evolve(base, **rules))


def replaced(functions: dict[KafkaAction, Taken], base: Protocol = KIP_320) -> Spec[Partition]:
    """A protocol with some actions replaced: same name and parameters, another function."""
    return with_actions(_spec(base), functions)


def _spec(protocol: Protocol) -> Spec[Partition]:
    (column,) = (each for each in DESIGNS if each.name == f"rpc/{protocol.name}")
    return kafka(protocol, column)


# --- truncation ---------------------------------------------------------------------------------------------


def one_too_many(follower: Replica, answer: EpochResponse, end_of_epoch: EpochLookup) -> Truncation:
    right = end_of_the_epoch_in_both(follower, answer, end_of_epoch)
    return attrs.evolve(right, offset=min(right.offset + 1, follower.log.end_offset))


def one_too_few(follower: Replica, answer: EpochResponse, end_of_epoch: EpochLookup) -> Truncation:
    right = end_of_the_epoch_in_both(follower, answer, end_of_epoch)
    return attrs.evolve(right, offset=max(right.offset - 1, 0))


def never_ask_again(follower: Replica, answer: EpochResponse, end_of_epoch: EpochLookup) -> Truncation:
    return attrs.evolve(end_of_the_epoch_in_both(follower, answer, end_of_epoch), asks_again=False)


# --- fetch --------------------------------------------------------------------------------------------------


def count_what_was_sent(before: Partition, after: Partition, leader: int, follower: int) -> Partition:
    """The leader takes the records for received as soon as it has sent them."""
    match after.replicas[follower].in_flight, before.replicas[follower].in_flight:
        case FetchResponse(records=records), FetchRequest(offset=offset):
            leos = list(after.replicas[leader].remote_leos)
            leos[follower] = offset + len(records)
            return changing(after, leader, remote_leos=tuple(leos))
    return after


def count_who_is_out_of_range(before: Partition, after: Partition, leader: int, follower: int) -> Partition:
    """A fetch offset beyond the leader's log updates the remote log end offset too (KAFKA-13141)."""
    match after.replicas[follower].in_flight, before.replicas[follower].in_flight:
        case OffsetOutOfRange(), FetchRequest(offset=offset):
            leos = list(after.replicas[leader].remote_leos)
            leos[follower] = offset
            return changing(after, leader, remote_leos=tuple(leos))
    return after


# --- high watermark -----------------------------------------------------------------------------------------


def the_leader_alone(leader: Replica) -> frozenset[int]:
    return frozenset()


def smallest_without_maximum(before: Partition, after: Partition, leader: int, *_: int) -> Partition:
    """The high watermark is the smallest log end offset that counts, even if it was larger before."""
    replica = after.replicas[leader]
    return changing(after, leader, high_watermark=max(smallest_leo(after, leader, replica), 0))


# --- ISR ----------------------------------------------------------------------------------------------------


def anyone(leader: Replica, offset: int) -> bool:
    return True


def one_below_the_high_watermark(leader: Replica, offset: int) -> bool:
    return offset >= leader.high_watermark - 1


def as_the_true_leader(action: KafkaAction) -> Taken:
    """A zombie writes the ISR too: no compare-and-set."""

    def mutant(state: Partition, leader: int, other: int) -> Iterator[Partition]:
        pretended = Quorum(leader, state.replicas[leader].epoch, state.quorum.isr)
        for successor in action(attrs.evolve(state, quorum=pretended), leader, other):
            yield attrs.evolve(successor, quorum=attrs.evolve(state.quorum, isr=successor.quorum.isr))

    return mutant


def only_in_the_leader(before: Partition, after: Partition, leader: int, other: int) -> Partition:
    return attrs.evolve(after, quorum=before.quorum)


# --- controller and leadership ------------------------------------------------------------------------------


def elect_in_the_same_epoch(state: Partition, broker: int) -> Iterator[Partition]:
    quorum = state.quorum
    if quorum.leader is None and broker in quorum.isr and state.replicas[broker].up:
        epoch = quorum.epoch
        request = attrs.evolve(state.requests[epoch], leader=broker)  # type: ignore[type-var]
        requests = (*state.requests[:epoch], request, *state.requests[epoch + 1 :])
        yield attrs.evolve(state, quorum=Quorum(broker, epoch, quorum.isr), requests=requests)


def elect_beside_the_isr(state: Partition, broker: int) -> Iterator[Partition]:
    quorum, epoch = state.quorum, state.quorum.epoch + 1
    if epoch <= state.bounds.max_epoch and quorum.leader is None and state.replicas[broker].up:
        request = attrs.evolve(state.requests[0], leader=broker, isr=quorum.isr)  # type: ignore[type-var]
        requests = (*state.requests[:epoch], request, *state.requests[epoch + 1 :])
        yield attrs.evolve(state, quorum=Quorum(broker, epoch, quorum.isr), requests=requests)


def starting(change: Callable[[Replica, int], dict[str, Any]]) -> Taken:
    """A new leader with some fields of its replica changed, given the replica and the broker."""

    def mutant(before: Partition, after: Partition, broker: int, epoch: int) -> Partition:
        return changing(after, broker, **change(after.replicas[broker], broker))

    return and_then(become_leader, mutant)


def lead_by_a_stale_request(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """An older request that names a broker makes it the leader again."""
    known = state.replicas[broker]
    yield from become_leader(changing(state, broker, epoch=min(known.epoch, epoch - 1)), broker, epoch)


def go_on_leading(state: Partition, broker: int) -> Iterator[Partition]:
    """A leader that is quickly back was not missed, and is told once more that it leads in the same epoch."""
    for back in restart(state, broker):
        yield attrs.evolve(back, quorum=state.quorum)


# --- records ------------------------------------------------------------------------------------------------


def stamp_epoch_0(before: Partition, after: Partition, leader: int) -> Partition:
    *kept, last = after.replicas[leader].log.records
    return changing(after, leader, log=Log((*kept, Record(last.value, epoch=0))))


def write_to_a_follower(state: Partition, leader: int) -> Iterator[Partition]:
    replica = state.replicas[leader]
    if replica.leader not in (None, leader):
        log = replica.log.append(Record(state.next_value, replica.epoch))
        if state.next_value < state.bounds.records:
            yield attrs.evolve(changing(state, leader, log=log), next_value=state.next_value + 1)
    else:
        yield from produce(state, leader)


# --- releases since 2.7 -------------------------------------------------------------------------------------


def of_release(name: str, **rules: Any) -> Spec[Partition]:
    """A release with some rules changed to what is no value of the table."""
    column = column_of(name)
    assert column is not None
    return kafka(attrs.evolve(column.protocol(), **rules), column)


def release_with(name: str, functions: dict[KafkaAction, Taken]) -> Spec[Partition]:
    """A release with some actions replaced."""
    spec = find(name)
    assert spec is not None
    return with_actions(spec, functions)


def without_the_pending_expansion(leader: Replica) -> frozenset[int]:
    return leader.isr


def with_a_pending_shrink_taken_for_done(leader: Replica) -> frozenset[int]:
    asked = leader.proposal
    return asked.isr if asked is not None and asked.isr < leader.isr else leader.maximal_isr


def whatever_the_partition_epoch(state: Partition, leader: int) -> Iterator[Partition]:
    """The controller takes an ISR that was asked for before another change."""
    asked = state.replicas[leader].proposal
    if asked is not None:
        asked = attrs.evolve(asked, known=state.quorum.isr)
        yield from handle_alter_partition(changing(state, leader, proposal=asked), leader)


def at_the_start_of_the_epoch_only(leader: Replica, offset: int) -> bool:
    return offset >= leader.starts_own_epoch_at


def even_if_the_isr_is_large_enough(quorum: Quorum, isr: frozenset[int], min_isr: int) -> frozenset[int]:
    return (quorum.elr | quorum.isr) - isr


def with_the_new_isr(quorum: Quorum, isr: frozenset[int], min_isr: int) -> frozenset[int]:
    return frozenset() if len(isr) >= min_isr else (quorum.elr | quorum.isr) - (quorum.isr & isr)


def keep_the_elr(state: Partition, broker: int) -> Iterator[Partition]:
    """A broker that registers after an unclean shutdown stays in the ELR."""
    stopped = changing(state, broker, stopped_cleanly=True)
    if not state.replicas[broker].up:
        yield from restart(stopped, broker)


def join_a_stranger(state: Partition, leader: int) -> Iterator[Partition]:
    """The controller adds a broker that is no replica."""
    for handled in handle_alter_partition(state, leader):
        quorum = handled.quorum
        yield attrs.evolve(handled, quorum=attrs.evolve(quorum, isr=quorum.isr | {state.bounds.brokers}))
