"""The state of one partition.

It is kept small. A follower has one request or response in flight. What has no meaning has one value: a
broker that is down knows nothing but its log and high watermark, a follower no ISR, no remote log end offsets;
and what a release does not have (an ELR, an `AlterPartition` in flight) has one value in all its states.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.state import component, constant
from leadline.model.kafka.bounds import NO_LIMIT, Bounds, Spent
from leadline.model.kafka.broker import ACTIVE, UNKNOWN_OFFSET, Registration, Replica
from leadline.model.kafka.messages import Diverging, FetchRequest, LateFetch
from leadline.model.kafka.protocols import Protocol
from leadline.model.leadership import Leadership
from leadline.model.log import Record
from leadline.model.quorum import Quorum, Request

PREFERRED = 0
"""The preferred leader: the first of the partition's replicas. It leads in epoch 0."""


@attrs.frozen(cache_hash=True)
class Promise:
    """What a client was told of a record: ghost state, which no broker sees.

    Attributes:
        record: the record.
        offset: where it is in the log.
        epoch: the epoch of the leader that told.
    """

    record: Record
    offset: int
    epoch: int

    @property
    def teller(self) -> str:
        """Who told, in words."""
        return f"the leader of epoch {self.epoch}"


@attrs.frozen(cache_hash=True)
class Partition(Leadership[Replica]):
    """The whole state: the quorum, the requests it sent, the replicas, what clients were told.

    Attributes:
        next_value: the value of the next record a producer writes.
        exposed: the records that consumers could read so far, by offset.
        acked: the records that producers were told are written, by value.
        spent: how often each perturbation has happened.
        quorum: the true leader, leader epoch and ISR; no leader while the last one is known to have failed.
        requests: what the controller said at the start of each leader epoch (a `LeaderAndIsr` request; with
            KRaft, a record of the metadata log), None where it has not begun. It is never used up: it may be
            heard late, or never.
        registrations: the brokers as the controller knows them.
        late: of each follower, a fetch request that has outlived its connection; None if there is none.
        replicas: one for each broker.
    """

    next_value: int
    exposed: tuple[Promise, ...]
    acked: tuple[Promise, ...]
    spent: Spent = component()
    quorum: Quorum = component()
    requests: tuple[Request | None, ...] = component(each="epoch")
    registrations: tuple[Registration, ...] = component(each="broker")
    late: tuple[LateFetch | None, ...] = component(each="broker")
    replicas: tuple[Replica, ...] = component(each="broker")
    protocol: Protocol = constant()
    bounds: Bounds = constant()

    def has_to_truncate(self, broker: int) -> bool:
        """Whether a broker's log may still differ from its leader's, because it is not past its truncation."""
        replica = self.replicas[broker]
        return replica.truncating or self._will_truncate(replica)

    def _will_truncate(self, follower: Replica) -> bool:
        """Whether a follower's log may differ from its leader's, but no response has shown it yet (KIP-595).

        True if its next fetch request would get a diverging response, provided that its leader leads in that epoch.
        """
        match follower.in_flight:
            case Diverging():
                return True
            case FetchRequest(leader=leader, epoch=epoch) as request:
                leading = attrs.evolve(self.replicas[leader], epoch=epoch)
                return self.protocol.diverges(leading, request, self.protocol.end_of_epoch) is not None
        return False

    def obeys(self, broker: int, epoch: int) -> bool:
        """Whether a broker would obey the request of an epoch: only of a higher one than it knows.

        One that has just started knows none. It hears from the controller of the current leader; of an
        earlier one only where requests from before its restart are not refused (KIP-380).
        """
        replica = self.replicas[broker]
        if not replica.up or epoch <= replica.epoch:
            return False
        if replica.leader is not None:
            return True
        return self.is_current(epoch) or (self.protocol.obeys_late_requests and self.may("late_requests"))

    def is_current(self, epoch: int) -> bool:
        """Whether the controller would send the request of an epoch now."""
        return epoch == self.quorum.epoch and self.quorum.leader is not None

    def takes_for_alive(self, broker: int) -> bool:
        """Whether a broker runs and the controller knows it, so that it may be elected."""
        return self.replicas[broker].up and self.registrations[broker].status == ACTIVE

    def may(self, perturbation: str) -> bool:
        """Whether the bounds let a perturbation happen once more."""
        limit: int = getattr(self.bounds, perturbation)
        return limit == NO_LIMIT or (limit > 0 and getattr(self.spent, perturbation) < limit)

    def having(self, perturbation: str) -> Partition:
        """The state with a perturbation counted, if there is a limit to it."""
        if getattr(self.bounds, perturbation) == NO_LIMIT:
            return self
        spent = attrs.evolve(self.spent, **{perturbation: getattr(self.spent, perturbation) + 1})
        return attrs.evolve(self, spent=spent)

    def with_registration(self, broker: int, status: str) -> Partition:
        """The state with a broker known otherwise to the controller."""
        known = self.registrations
        return attrs.evolve(self, registrations=(*known[:broker], Registration(status), *known[broker + 1 :]))

    def with_late(self, broker: int, late: LateFetch | None) -> Partition:
        """The state with another late fetch request of a broker."""
        return attrs.evolve(self, late=(*self.late[:broker], late, *self.late[broker + 1 :]))


def initial_states(bounds: Bounds, protocol: Protocol) -> Iterator[Partition]:
    """Broker 0 leads in epoch 0 and all brokers know it; every log is empty, and all followers have begun to fetch."""
    everyone = frozenset(range(bounds.brokers))
    remote_leos = tuple(UNKNOWN_OFFSET if broker == PREFERRED else 0 for broker in range(bounds.brokers))
    leading = Replica(epoch=0, leader=PREFERRED, isr=everyone, remote_leos=remote_leos)
    following = Replica(epoch=0, leader=PREFERRED, in_flight=FetchRequest(PREFERRED, epoch=0, offset=0))
    yield Partition(
        next_value=0,
        exposed=(),
        acked=(),
        spent=Spent(),
        quorum=Quorum(leader=PREFERRED, epoch=0, isr=everyone),
        requests=(Request(PREFERRED, everyone), *(None,) * bounds.max_epoch),
        registrations=(Registration(),) * bounds.brokers,
        late=(None,) * bounds.brokers,
        replicas=(leading, *(following,) * (bounds.brokers - 1)),
        protocol=protocol,
        bounds=bounds,
    )
