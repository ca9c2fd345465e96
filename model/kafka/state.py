"""The state of one partition.

The state is kept small. A follower has one request or response in flight. A field without a meaning always has the same
value: a broker that is down has only its log and high watermark, a follower has no ISR and no remote log end offsets,
and a concept that a release does not have (an ELR, an `AlterPartition` in flight) has one value in all its states.
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
"""The preferred leader: the first replica of the partition. It leads in epoch 0."""


@attrs.frozen(cache_hash=True)
class Promise:
    """A record that was promised to a client. This is ghost state, which no broker reads.

    Attributes:
        record: the record.
        offset: its offset in the log.
        epoch: the epoch of the leader that made the promise.
    """

    record: Record
    offset: int
    epoch: int

    @property
    def teller(self) -> str:
        """The leader that made the promise, as a phrase."""
        return f"the leader of epoch {self.epoch}"


@attrs.frozen(cache_hash=True)
class Partition(Leadership[Replica]):
    """The whole state: the quorum, the requests that the controller sent, the replicas, the promises to clients.

    Attributes:
        next_value: the value of the next record that a producer writes.
        exposed: the records that consumers could read so far, by offset.
        acked: the records that were acknowledged to producers, in the order of acknowledgement.
        spent: how often each perturbation has happened.
        quorum: the true leader, leader epoch and ISR; no leader if the controller knows that the last one has failed.
        requests: the controller's announcement of each leader epoch (a `LeaderAndIsr` request; with KRaft, a record of
            the metadata log); None if the epoch has not begun. It remains in the state: brokers may receive it late or
            never.
        registrations: the registration of each broker with the controller.
        late: for each follower, a fetch request that has outlived its connection; None if there is none.
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
        """Whether a broker's log may still differ from its leader's, because it has yet to truncate."""
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
        """Whether a broker would obey the request of an epoch, which must be higher than its own.

        A broker that has just started has no epoch. The controller sends it the current leader. It obeys an earlier
        request only if requests from before its restart are not refused (KIP-380).
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

    def considers_alive(self, broker: int) -> bool:
        """Whether a broker runs and the controller considers it alive, so that it can be elected."""
        return self.replicas[broker].up and self.registrations[broker].status == ACTIVE

    def may(self, perturbation: str) -> bool:
        """Whether the bounds allow another perturbation of a kind."""
        limit: int = getattr(self.bounds, perturbation)
        return limit == NO_LIMIT or (limit > 0 and getattr(self.spent, perturbation) < limit)

    def having(self, perturbation: str) -> Partition:
        """The state in which a perturbation is counted, if it has a limit."""
        if getattr(self.bounds, perturbation) == NO_LIMIT:
            return self
        spent = attrs.evolve(self.spent, **{perturbation: getattr(self.spent, perturbation) + 1})
        return attrs.evolve(self, spent=spent)

    def with_registration(self, broker: int, status: str) -> Partition:
        """The state with another registration status of a broker."""
        known = self.registrations
        return attrs.evolve(self, registrations=(*known[:broker], Registration(status), *known[broker + 1 :]))

    def with_late(self, broker: int, late: LateFetch | None) -> Partition:
        """The state with another late fetch request of a broker, or none."""
        return attrs.evolve(self, late=(*self.late[:broker], late, *self.late[broker + 1 :]))


def initial_states(bounds: Bounds, protocol: Protocol) -> Iterator[Partition]:
    """One state: broker 0 leads in epoch 0, all brokers know it, all logs are empty, and all followers are fetching."""
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
