"""The state of one partition.

It is kept small. A follower has one request or response in flight. What has no meaning has one value: a
broker that is down knows nothing but its log and high watermark, a follower no ISR, no remote log end offsets;
and what a release does not have (an ELR, an `AlterPartition` in flight) has one value in all its states.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from leadline.checker.bounds import bound
from leadline.checker.state import component, constant
from leadline.model.kafka.messages import EpochRequest, EpochResponse, FetchRequest, LateFetch, Message, Proposal
from leadline.model.leadership import Leadership
from leadline.model.log import Log, Record
from leadline.model.quorum import NO_EPOCH, Quorum, Request

if TYPE_CHECKING:
    from leadline.model.kafka.protocols import Protocol

UNKNOWN_OFFSET = -1
"""The remote log end offset of a follower that has not fetched from this leader yet."""

PREFERRED = 0
"""The preferred leader: the first of the partition's replicas. It leads in epoch 0."""

NO_LIMIT = -1
"""The bound of a perturbation that may happen any number of times."""


def perturbation(default: int, text: str) -> int:
    """Declare the bound of a perturbation: how often it may happen, or that there is no limit to it."""
    return bound(default, f"{text}; -1: no limit", at_least=NO_LIMIT, at_most=9)  # type: ignore[no-any-return]


@attrs.frozen
class Bounds:
    """What makes the state space finite, and the configuration, by Kafka's names.

    Perturbations have bounds; what heals them has none. Leader epochs are counted from 0 and `max_epoch` is the
    last one. Epoch 0 has begun in the initial state, so that ``max_epoch=1`` is the one change of leader (or
    removal of a failed follower from the ISR by the controller, which takes an epoch too in most releases)
    that the articles need.
    """

    brokers: int = bound(2, "brokers, each with a replica of the partition", at_least=1, at_most=9)
    records: int = bound(2, "records that producers write in all", at_least=0, at_most=9)
    max_epoch: int = bound(1, "the last leader epoch; broker 0 leads in epoch 0", at_least=0, at_most=9)
    crashes: int = bound(2, "crashes that lose nothing of a log", at_least=0, at_most=9)
    lossy_crashes: int = bound(0, "crashes that lose the end of a log, however much of it", at_least=0, at_most=9)
    shutdowns: int = bound(0, "controlled shutdowns", at_least=0, at_most=9)
    session_expiries: int = bound(0, "running brokers that the controller takes for failed", at_least=0, at_most=9)
    missed_bounces: int = perturbation(NO_LIMIT, "restarts that the controller does not notice")
    isr_shrinks: int = perturbation(NO_LIMIT, "followers that are merely slow and leave the ISR for it")
    late_fetches: int = bound(0, "fetch requests that outlive their connection", at_least=0, at_most=9)
    late_requests: int = bound(0, "LeaderAndIsr requests from before a broker's restart", at_least=0, at_most=9)
    min_isr_updates: int = bound(0, "updates of min.insync.replicas, which clear the ELR", at_least=0, at_most=9)
    acks: str = bound("1", "when producers are told that a record is written", choices=("0", "1", "all"))
    min_insync_replicas: int = bound(1, "size of the ISR that acks=all needs", at_least=1, at_most=9)
    unclean_leader_election: bool = bound(False, "whether a broker outside the ISR may be elected")


@attrs.frozen(cache_hash=True)
class Spent:
    """How often each perturbation has happened; always 0 of one that has no limit. See `Bounds`."""

    crashes: int = 0
    lossy_crashes: int = 0
    shutdowns: int = 0
    session_expiries: int = 0
    missed_bounces: int = 0
    isr_shrinks: int = 0
    late_fetches: int = 0
    late_requests: int = 0
    min_isr_updates: int = 0


@attrs.frozen(cache_hash=True)
class Replica:
    """What one broker has and believes.

    Attributes:
        log: its records. On disk; the leader epoch cache is what they say (see `epochs`).
        high_watermark: the offset below which it takes records for committed. On disk too, as a checkpoint.
        up: whether the broker runs.
        epoch: the leader epoch of the last request it obeyed since it started.
        leader: the leader which that request named; None before any.
        isr: the in-sync replicas as a leader knows them: the ISR that it knows to be committed.
        remote_leos: the log end offset of each broker as a leader knows it.
        in_flight: a follower's request to its leader, or the response to it; None for all others.
        proposal: the ISR that a leader has asked for; None if it waits for no answer.
        stopped_cleanly: whether a broker that is down has left the file that says so (KIP-966).
    """

    log: Log = Log()
    high_watermark: int = 0
    up: bool = True
    epoch: int = NO_EPOCH
    leader: int | None = None
    isr: frozenset[int] = frozenset()
    remote_leos: tuple[int, ...] = ()
    in_flight: Message | None = None
    proposal: Proposal | None = None
    stopped_cleanly: bool = False

    @property
    def starts_own_epoch_at(self) -> int:
        """Where a leader's own epoch starts: at its first record of that epoch, or where that will be."""
        return self.log.end_of_epoch(self.epoch - 1)

    @property
    def maximal_isr(self) -> frozenset[int]:
        """The ISR together with what is asked for: nobody in it is left behind, whatever the answer (KIP-497)."""
        return self.isr | self.proposal.isr if self.proposal is not None and self.proposal.awaited else self.isr

    @property
    def truncating(self) -> bool:
        """Whether a follower has asked where to truncate, and has not done so yet."""
        return isinstance(self.in_flight, EpochRequest | EpochResponse)


ACTIVE = "active"
FENCED = "fenced"
SHUTTING_DOWN = "shutting down"


@attrs.frozen(cache_hash=True)
class Registration:
    """A running broker as the controller knows it.

    Attributes:
        status: active; fenced (in ZooKeeper mode: its session has expired); or shutting down. Of a broker that
            is down it says active: whether its failure was noticed can be seen from the quorum.
    """

    status: str = ACTIVE


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
        return replica.truncating or self.protocol.will_truncate(self, replica)

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
