"""What clients of a replicated log may rely on, as a spec that other specs refine, and the mappings to it.

Producers append records. Sooner or later, a client knows a record: its producer gets an answer, or consumers can read
it. From then on, the record stays at its offset. Records that no client knows may be truncated, and come back with
another leader.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from leadline.checker.action import Action, action
from leadline.checker.bounds import bound
from leadline.checker.errors import SpecError
from leadline.checker.spec import Spec
from leadline.checker.state import history
from leadline.model.atomic.state import Partition as AtomicPartition
from leadline.model.kafka.state import Partition as KafkaPartition
from leadline.model.leadership import Leadership

Told = frozenset[tuple[int, int]]
"""Records of which a client was told: the offset and the value of each."""


@attrs.frozen
class Bounds:
    """The limits that make the state space finite."""

    records: int = bound(3, "records that producers append in all", at_least=0, at_most=9)


@attrs.frozen
class Clients:
    """A state of the log as clients know it.

    Attributes:
        appended: the number of records that producers have appended to any broker's log. Records are numbered from 0.
        log: the records in the leader's log.
        acknowledged: the records whose producers got an answer.
        read: the records that consumers could read.
    """

    appended: int = 0
    log: tuple[int, ...] = ()
    acknowledged: Told = frozenset()
    read: Told = frozenset()


def records(bounds: Bounds) -> range:
    return range(bounds.records)


@action("a producer appends record {record}", record=records)
def append(state: Clients, record: int) -> Iterator[Clients]:
    """A client may know the record at once, or it may be in the log of a broker that does not lead any more."""
    if record == state.appended:
        yield from _telling(attrs.evolve(state, appended=record + 1, log=(*state.log, record)))
        yield attrs.evolve(state, appended=record + 1)


@action("producers get an answer for records, which consumers may be able to read now")
def acknowledge(state: Clients) -> Iterator[Clients]:
    yield from (after for after in _telling(state) if after.acknowledged != state.acknowledged)


@action("consumers can read more records")
def read(state: Clients) -> Iterator[Clients]:
    yield from (after for after in _telling(state) if after.acknowledged == state.acknowledged)


@action("records that no client knows are truncated, or come back with another leader")
def truncate(state: Clients) -> Iterator[Clients]:
    for length in range(state.appended + 1):
        for log in itertools.permutations(range(state.appended), length):
            if log != state.log and state.acknowledged | state.read <= {*enumerate(log)}:
                yield from _telling(attrs.evolve(state, log=log))


ACTIONS = (append, acknowledge, read, truncate)


def _telling(state: Clients) -> Iterator[Clients]:
    """Yield the states in which clients know more of the log."""
    known = [*enumerate(state.log)]
    for count, more in itertools.product(range(len(known) + 1), _subsets(known)):
        yield attrs.evolve(state, read=state.read | {*known[:count]}, acknowledged=state.acknowledged | more)


def _subsets(members: list[tuple[int, int]]) -> Iterable[Told]:
    sizes = range(len(members) + 1)
    return map(frozenset, itertools.chain.from_iterable(itertools.combinations(members, size) for size in sizes))


@attrs.frozen(cache_hash=True)
class Remembering(AtomicPartition):
    """A state of the `atomic` family that records what consumers could read: its high watermarks may decrease.

    Attributes:
        told: the records that have been below the high watermark of a broker that believed it led.
    """

    told: Told = history(blank=frozenset())

    @classmethod
    def of(cls, state: AtomicPartition) -> Remembering:
        """Return an initial state."""
        fields = {field.name: getattr(state, field.name) for field in attrs.fields(AtomicPartition)}
        return cls(**fields, told=frozenset())

    def remembered(self) -> Remembering:
        """Return the state with what consumers can read now recorded."""
        now = {
            (offset, record.value)
            for _, replica in self.believed_leaders()
            for offset, record in enumerate(replica.log.records[: replica.high_watermark])
        }
        return self if now <= self.told else attrs.evolve(self, told=self.told | now)


def remembering(spec: Spec[AtomicPartition]) -> Spec[Any]:
    """Return a spec of the `atomic` family that records what consumers can read."""

    def initial_states(bounds: object) -> Iterator[Remembering]:
        yield from map(Remembering.of, spec.initial_states(bounds))

    return attrs.evolve(spec, initial_states=initial_states, actions=[*map(_remembering, spec.actions)])


def _remembering(act: Action[Any, ...]) -> Action[Any, ...]:
    @functools.wraps(act.function)
    def function(state: Remembering, *arguments: Any) -> Iterator[Remembering]:
        for after in act.function(state, *arguments):
            yield after.remembered()

    return attrs.evolve(act, function=function)


def of_atomic(state: Remembering) -> Clients:
    """Return what clients know of a partition of the `atomic` family, in which producers get an answer when consumers
    can read their records.
    """
    return Clients(state.next_value, _leading(state, state.told), state.told, state.told)


def of_kafka(state: KafkaPartition) -> Clients:
    """Return what clients know of a partition of Kafka.

    Raises:
        SpecError: if records may be deleted.
    """
    if state.bounds.deletes or state.bounds.retentions:
        raise SpecError("clients/log does not know of deleted records: leave the bounds deletes and retentions at 0")
    exposed, acked = (
        frozenset((each.offset, each.record.value) for each in promises) for promises in (state.exposed, state.acked)
    )
    return Clients(state.next_value, _leading(state, exposed | acked), acked, exposed)


def _leading(state: Leadership[Any], told: Told) -> tuple[int, ...]:
    """Return the leader's log. Without a leader, it is that of an in-sync replica, from which the next one is elected.
    If there is none, nothing but what clients were told is known.
    """
    if state.quorum.leader is None and not state.quorum.isr:
        known = dict(sorted(told))
        return tuple(known.values()) if [*known] == [*range(len(told))] else ()
    leader = min(state.quorum.isr) if state.quorum.leader is None else state.quorum.leader
    return tuple(record.value for record in state.replicas[leader].log.records)
