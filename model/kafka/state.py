"""The state of one partition, for the `kafka` family.

Two restrictions keep the number of states small. A follower has at most one request or response in flight. Fields that
have no meaning in a state always have the same value: for example, a broker that is down has only its log and high
watermark, a follower has no ISR and no remote log end offsets, and the ELR is empty in releases without an ELR.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self, TypeVar

import attrs

from leadline.checker.state import component, constant, history
from leadline.checker.values import CONSTANT
from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.bounds import NO_LIMIT, Bounds, Spent
from leadline.model.kafka.broker import ACTIVE, SHUTTING_DOWN, UNKNOWN_OFFSET, Registration, Replica
from leadline.model.kafka.messages import Diverging, Failed, FetchRequest, LateFetch
from leadline.model.kafka.protocols import Protocol
from leadline.model.leadership import Leadership
from leadline.model.log import Record
from leadline.model.quorum import Quorum, Request

PREFERRED = 0
"""The broker that is the first replica of the partition at first, and leads in epoch 0."""


@attrs.frozen(cache_hash=True)
class Promise:
    """A promise to a client: a record that consumers could read, or a record that was acknowledged to its producer.

    States record promises only for the properties. Brokers do not read them.

    Attributes:
        offset: the offset of the record.
        epoch: the leader epoch of the leader that made the promise.
    """

    record: Record
    offset: int
    epoch: int

    @property
    def teller(self) -> str:
        """A phrase that names the leader that made the promise."""
        return f"the leader of epoch {self.epoch}"


class NotKept(tuple[Promise, ...]):
    """The type of `NOT_KEPT`."""

    __slots__ = ()


NOT_KEPT = NotKept()
"""Stands for the promises in states without history. It is equal to an empty tuple, and actions leave it unchanged."""


@attrs.frozen(cache_hash=True)
class Partition(Leadership[Replica]):
    """A state of the partition: the quorum, the requests that the controller has sent, the replicas, and the promises.

    Attributes:
        next_value: the value of the next record that a producer writes.
        rules: the rules of the release or design. In a mix of two releases, those of the controller; see `protocol`.
        exposed: the records that consumers have been able to read so far, at each offset the first one. They are in
            the order in which they could be read.
        acked: the records that were acknowledged to producers, in the order of acknowledgement.
        deletable: the offset below which an operator has asked to delete records, or retention has deleted them on a
            broker. Below it, records need not survive.
        deleted: the offset below which records are deleted, as a leader has answered to a DeleteRecords request.
        spent: how often each perturbation has happened.
        quorum: the true leader, leader epoch and ISR. There is no leader after the controller has noticed that the
            leader failed.
        assignment: the replicas of the partition. They change only if the bounds allow reassignments.
        requests: the controller's announcement of each leader epoch, or None if the epoch has not begun. With
            ZooKeeper, this is a `LeaderAndIsr` request, and with KRaft a record of the metadata log. Announcements are
            never removed, because brokers may receive them late or never.
        registrations: the registration of each broker with the controller.
        late: for each follower, a fetch request that is still in flight after its connection broke, or None.
        replicas: the replica of each broker.
        bounds: the limits of the state space, and the configuration.
    """

    next_value: int
    rules: Protocol = attrs.field(alias="protocol", eq=False, repr=False, metadata={CONSTANT: True})
    exposed: tuple[Promise, ...] = history(blank=NOT_KEPT)
    acked: tuple[Promise, ...] = history(blank=())
    deletable: int = history(blank=0)
    deleted: int = history(blank=0)
    spent: Spent = component()
    quorum: Quorum = component()
    assignment: Assignment = component()
    requests: tuple[Request | None, ...] = component(each="epoch")
    registrations: tuple[Registration, ...] = component(each="broker")
    late: tuple[LateFetch | None, ...] = component(each="broker")
    replicas: tuple[Replica, ...] = component(each="broker")
    bounds: Bounds = constant()

    @property
    def protocol(self) -> Protocol:
        """The rules that the controller follows."""
        return self.rules

    def rules_of(self, broker: int) -> Protocol:
        """Return the rules that a broker follows. Without a mix, all brokers and the controller follow the same."""
        return self.rules.of_brokers[broker] if self.rules.of_brokers else self.rules

    @property
    def is_mixed(self) -> bool:
        """Whether brokers and the controller may follow different rules."""
        return bool(self.rules.of_brokers)

    @property
    def sets_old_min_isr(self) -> bool:
        """Whether `min.insync.replicas` is `OLD_MIN_ISR` for the controller, and for brokers that start."""
        return bool(self.bounds.min_isr_raises) and not self.spent.min_isr_raises

    @property
    def last_leader(self) -> int | None:
        """The last known leader if the ISR becomes empty now: its last member, which leads."""
        (last,) = self.quorum.isr
        return last

    @property
    def notes_clean_stops(self) -> bool:
        """Whether it makes a difference that a broker has stopped cleanly."""
        return self.protocol.has_elr

    def accepts(self, leader: int, follower: int, epoch: int) -> bool:
        """Return whether a leader accepts a request of a follower in a leader epoch. It cannot check an epoch that the
        request does not contain.
        """
        fences = self.rules_of(follower).names_epoch
        return not fences or self.rules_of(leader).accepts(self.replicas[leader].epoch, epoch)

    def with_replica(self, broker: int, replica: Replica) -> Self:
        """Return the state with the replica of a broker replaced.

        If the high watermark decreases in memory, the old value stays on disk until the next checkpoint. A failed disk
        is never read again.
        """
        if self.rules_of(broker).keeps_newer_checkpoints and replica.up and not replica.offline:
            known = self.replicas[broker]
            newest = max(known.high_watermark, known.newest_checkpoint)
            newest = newest if newest > replica.high_watermark else 0
            if newest != replica.newest_checkpoint:
                replica = attrs.evolve(replica, newest_checkpoint=newest)
        return super().with_replica(broker, replica)

    def has_to_truncate(self, broker: int) -> bool:
        """Return whether a broker's log may differ from its leader's log because the broker has not truncated yet.

        A broker that began to shut down before it learned of its leader truncates only after a restart.
        """
        replica = self.replicas[broker]
        return replica.truncating or self._will_truncate(replica) or self._has_no_fetcher(broker)

    def _has_no_fetcher(self, broker: int) -> bool:
        shuts_down = self.registrations[broker].status == SHUTTING_DOWN
        return shuts_down and not self.believes_to_lead(broker) and self.replicas[broker].in_flight is None

    def _will_truncate(self, follower: Replica) -> bool:
        """Return whether a follower's log diverges from its leader's log, as shown by its fetch request or by the
        response in flight (KIP-595).
        """
        match follower.in_flight:
            case Diverging() | Failed():
                return True
            case FetchRequest(leader=leader, epoch=epoch) as request:
                leading = attrs.evolve(self.replicas[leader], epoch=epoch)
                rules = self.rules_of(leader)
                return rules.diverges(leading, request, rules.end_of_epoch) is not None
        return False

    def obeys(self, broker: int, epoch: int) -> bool:
        """Return whether a broker would accept a request with the given epoch. The epoch must be higher than the
        broker's own.

        A broker that has just started has no epoch, and the controller sends it the request with the current epoch. The
        broker accepts an earlier request only in releases without a check for requests from before a restart (KIP-380),
        or if the controller's requests do not contain what it checks.
        """
        replica = self.replicas[broker]
        if not replica.up or epoch <= replica.epoch or replica.offline:
            return False
        if replica.leader is not None:
            return True
        if self.bounds.moves and broker not in self.assignment.replicas:
            return False
        if self.is_current(epoch):
            return True
        obeys = self.rules_of(broker).obeys_late_requests or not self.protocol.names_broker_epochs
        return obeys and self.may("late_requests")

    def is_current(self, epoch: int) -> bool:
        """Return whether an epoch is the current leader epoch and has a leader. The controller announces only epochs
        that have a leader.
        """
        return epoch == self.quorum.epoch and self.quorum.leader is not None

    def may_elect(self, broker: int) -> bool:
        """Return whether the controller may elect a broker: it considers the broker alive, and the broker has a
        replica in a log directory that has not failed, and that the controller knows
        (`ReplicationControlManager.LeaderAcceptor` asks `ClusterControlManager.hasOnlineDir`, 4.1.1).
        """
        if not self.considers_alive(broker) or self.replicas[broker].offline or self.registrations[broker].moved:
            return False
        return not self.bounds.moves or broker in self.assignment.replicas

    def considers_alive(self, broker: int) -> bool:
        """Return whether a broker is running and the controller considers it alive, so that the broker can be
        elected.
        """
        return self.replicas[broker].up and self.registrations[broker].status == ACTIVE

    def may(self, perturbation: str) -> bool:
        """Return whether the bounds allow the given perturbation to happen once more."""
        limit: int = getattr(self.bounds, perturbation)
        return limit == NO_LIMIT or (limit > 0 and getattr(self.spent, perturbation) < limit)

    def having(self, perturbation: str) -> Self:
        """Count the given perturbation once more, and return the new state.

        A perturbation without a limit is not counted.
        """
        if getattr(self.bounds, perturbation) == NO_LIMIT:
            return self
        spent = attrs.evolve(self.spent, **{perturbation: getattr(self.spent, perturbation) + 1})
        return attrs.evolve(self, spent=spent)

    def with_registration(self, broker: int, status: str) -> Self:
        """Return the state with the registration of a broker set to the given status."""
        return self._registered(broker, attrs.evolve(self.registrations[broker], status=status))

    def with_moved(self, broker: int, moved: bool) -> Self:
        """Return the state after a broker's replica has moved to another log directory, or after the controller has
        learned of the new directory.
        """
        return self._registered(broker, attrs.evolve(self.registrations[broker], moved=moved))

    def _registered(self, broker: int, registration: Registration) -> Self:
        known = self.registrations
        return attrs.evolve(self, registrations=(*known[:broker], registration, *known[broker + 1 :]))

    def with_late(self, broker: int, late: LateFetch | None) -> Self:
        """Return the state with the late fetch request of a broker set to `late`. None means that there is no late
        request.
        """
        return attrs.evolve(self, late=(*self.late[:broker], late, *self.late[broker + 1 :]))


P = TypeVar("P", bound=Partition)


def initial_states(bounds: Bounds, protocol: Protocol) -> Iterator[Partition]:
    """Yield the initial state: all logs are empty, broker 0 leads in epoch 0, and all other replicas fetch from it."""
    replicas = tuple(range(min(bounds.replicas or bounds.brokers, bounds.brokers)))
    assigned = frozenset(replicas)
    remote_leos = tuple(
        0 if broker in assigned and broker != PREFERRED else UNKNOWN_OFFSET for broker in range(bounds.brokers)
    )
    leading = Replica(
        epoch=0,
        leader=PREFERRED,
        isr=assigned,
        remote_leos=remote_leos,
        remote_starts=remote_leos if bounds.starts else (),
        assigned=assigned if bounds.moves else None,
        old_min_isr=bounds.min_isr_raises > 0,
    )
    request = FetchRequest(PREFERRED, epoch=0, offset=0)
    following = Replica(epoch=0, leader=PREFERRED, in_flight=request, old_min_isr=leading.old_min_isr)
    outside = Replica(old_min_isr=leading.old_min_isr)
    others = [following if broker in assigned else outside for broker in range(1, bounds.brokers)]
    yield Partition(
        next_value=0,
        exposed=(),
        acked=(),
        deletable=0,
        deleted=0,
        spent=Spent(),
        quorum=Quorum(leader=PREFERRED, epoch=0, isr=assigned),
        assignment=Assignment(replicas),
        requests=(
            Request(PREFERRED, assigned, replicas=replicas if bounds.moves else None),
            *(None,) * bounds.max_epoch,
        ),
        registrations=(Registration(),) * bounds.brokers,
        late=(None,) * bounds.brokers,
        replicas=(leading, *others),
        protocol=protocol,
        bounds=bounds,
    )
