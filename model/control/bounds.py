"""The bounds of a search, and counters of the perturbations that have happened."""

from __future__ import annotations

import itertools
import re
from typing import ClassVar

import attrs

from leadline.checker.bounds import bound
from leadline.checker.errors import SpecError


@attrs.frozen
class Bounds:
    """The limits that make the state space finite, and some of Kafka's configuration properties under their usual
    names.

    The bounds limit the number of perturbations, but not the recovery from them. Leader epochs and controller epochs
    need no limit, because each new epoch requires a perturbation.
    """

    brokers: int = bound(2, "brokers, each with a replica of the partition", at_least=1, at_most=9)
    controllers: int = bound(2, "brokers that can be the controller", at_least=1, at_most=4)
    colocated: bool = bound(
        False, "whether these brokers are brokers 0, 1, ...; if not, they have no replica of the partition"
    )
    records: int = bound(1, "records that producers write in all", at_least=0, at_most=9)
    failovers: int = bound(1, "controllers that die or whose session expires", at_least=0, at_most=9)
    crashes: int = bound(1, "crashes of brokers that lose no records", at_least=0, at_most=9)
    lossy_crashes: int = bound(0, "crashes that lose any number of records at the end of a log", at_least=0, at_most=9)
    session_expiries: int = bound(0, "sessions of running brokers that expire", at_least=0, at_most=9)
    lost_answers: int = bound(
        0, "requests that a broker handles but whose answer the controller does not get", at_least=0, at_most=9
    )
    lost_elections: int = bound(
        0, "elections that a broker wins in ZooKeeper and takes for failed", at_least=0, at_most=9
    )
    isr_shrinks: int = bound(
        0, "removals of running followers from the ISR because they are slow", at_least=0, at_most=9
    )
    preferred_elections: int = bound(
        0, "elections of the preferred leader, by an operator or auto.leader.rebalance.enable", at_least=0, at_most=9
    )
    reassignments: int = bound(0, "reassignments that an operator requests", at_least=0, at_most=9)
    cancellations: int = bound(0, "reassignments that an operator cancels (KIP-455)", at_least=0, at_most=9)
    overrides: int = bound(
        0, "reassignments that an operator replaces while they are in progress (KIP-455)", at_least=0, at_most=9
    )
    shutdowns: int = bound(0, "controlled shutdowns of brokers", at_least=0, at_most=9)
    metadata_rolls_back: int = bound(
        0, "newest committed records of the metadata log that are lost, all at once (KRaft)", at_least=0, at_most=9
    )
    replicas: int = bound(0, "brokers that have a replica at first; 0: all of them", at_least=0, at_most=9)
    target: str = bound("", "the replicas that an operator requests, such as 0-2; if empty, any")
    restarts: bool = bound(True, "whether brokers that have crashed start again")
    acks: str = bound("all", "when producers are told that a record is written", choices=("0", "1", "all"))
    min_insync_replicas: int = bound(1, "size of the ISR that acks=all needs", at_least=1, at_most=9)
    unclean_leader_election: bool = bound(False, "whether a broker outside the ISR may be elected")

    late_responses: ClassVar[int] = 0
    empty_epochs: ClassVar[bool] = False
    starts: ClassVar[bool] = False
    min_isr_raises: ClassVar[int] = 0
    first_partition: ClassVar[int] = 0
    late_records: ClassVar[int] = 0
    max_epoch: ClassVar[int] = 1_000_000

    @property
    def moves(self) -> bool:
        """Whether a broker may have no replica. See `leadline.model.kafka.bounds.Bounds.moves`."""
        return self.reassignments > 0 or 0 < self.replicas < self.brokers

    @property
    def wanted(self) -> tuple[int, ...]:
        """The brokers in `target`, or an empty tuple if an operator can request any replicas."""
        return tuple(map(int, self.target.split("-"))) if self.target else ()


def check(bounds: Bounds) -> None:
    """Check that the bounds are consistent.

    Raises:
        SpecError: if the bounds allow more controllers or replicas than brokers, or if `Bounds.target` is not a list of
            different brokers.
    """
    if bounds.replicas > bounds.brokers:
        raise SpecError(f"replicas={bounds.replicas} must not be greater than brokers={bounds.brokers}")
    if bounds.controllers > bounds.brokers:
        raise SpecError(f"controllers={bounds.controllers} must not be greater than brokers={bounds.brokers}")
    if re.fullmatch(r"(\d(-\d)*)?", bounds.target) is None or len(set(bounds.wanted)) < len(bounds.wanted):
        raise SpecError(f"target={bounds.target}: expected different brokers separated by hyphens, such as 0-2")
    for broker in bounds.wanted:
        if broker >= bounds.brokers:
            raise SpecError(
                f"target={bounds.target}: broker {broker} does not exist, because brokers are numbered from 0 to "
                f"{bounds.brokers - 1}"
            )


@attrs.frozen(cache_hash=True)
class Spent:
    """The number of times that each perturbation limited by `Bounds` has happened."""

    lost_directories: ClassVar[int] = 0
    unclean_elections: ClassVar[int] = 0
    failovers: int = 0
    crashes: int = 0
    lossy_crashes: int = 0
    session_expiries: int = 0
    lost_answers: int = 0
    lost_elections: int = 0
    isr_shrinks: int = 0
    preferred_elections: int = 0
    reassignments: int = 0
    cancellations: int = 0
    overrides: int = 0
    shutdowns: int = 0
    metadata_rolls_back: int = 0


def controllers(bounds: Bounds) -> range:
    """Return the brokers that can be the controller, numbered from 0."""
    return range(bounds.controllers)


def only_if_lossy(bounds: Bounds) -> range:
    """Return the offsets from which a crash can remove the rest of a log. By default, there are none."""
    return range(bounds.records if bounds.lossy_crashes else 0)


def if_answers_are_lost(bounds: Bounds) -> range:
    """Return the controllers that can send a request twice. By default, there are none."""
    return range(bounds.controllers if bounds.lost_answers else 0)


def if_elections_are_lost(bounds: Bounds) -> range:
    """Return the controllers that can take an election for failed although they have won it. By default, there are
    none.
    """
    return range(bounds.controllers if bounds.lost_elections else 0)


def targets(bounds: Bounds) -> list[tuple[int, ...]]:
    """Return the lists of replicas that an operator can request: only `Bounds.target` if it is not empty, and otherwise
    all lists whose brokers after the first are in ascending order. By default, there are none.
    """
    check(bounds)
    if not bounds.reassignments or bounds.wanted:
        return [bounds.wanted] if bounds.reassignments else []
    found = []
    for first in range(bounds.brokers):
        others = [broker for broker in range(bounds.brokers) if broker != first]
        for size in range(bounds.brokers):
            found += [(first, *rest) for rest in itertools.combinations(others, size)]
    return found


def lost_records(bounds: Bounds) -> range:
    """Return how many committed records the metadata log can lose at once. By default, it loses none."""
    return range(1, bounds.metadata_rolls_back + 1)


def brokers_that_may_halt(bounds: Bounds) -> range:
    """Return the brokers that can have applied records that the metadata log has lost. By default, there are none."""
    return range(bounds.brokers if bounds.metadata_rolls_back else 0)


def if_preferred(bounds: Bounds) -> range:
    """Return the controllers that can elect the preferred leader. By default, there are none."""
    return range(bounds.controllers if bounds.preferred_elections else 0)


def if_reassigned(bounds: Bounds) -> range:
    """Return the controllers that can reassign the partition. By default, there are none."""
    return range(bounds.controllers if bounds.reassignments else 0)


def if_cancelled(bounds: Bounds) -> range:
    """Return the controllers that can cancel a reassignment. By default, there are none."""
    return range(bounds.controllers if bounds.reassignments and bounds.cancellations else 0)


def if_overridden(bounds: Bounds) -> range:
    """Return the controllers that can replace a reassignment in progress. By default, there are none."""
    return range(bounds.controllers if bounds.reassignments and bounds.overrides else 0)


def other_targets(bounds: Bounds) -> list[tuple[int, ...]]:
    """Return the lists of replicas that can replace those of a reassignment in progress: all lists, whatever
    `Bounds.target` is. By default, there are none.
    """
    return targets(attrs.evolve(bounds, target="")) if bounds.overrides else []


def if_shut_down(bounds: Bounds) -> range:
    """Return the controllers that can shut a broker down. By default, there are none."""
    return range(bounds.controllers if bounds.shutdowns else 0)


def brokers_that_may_shut_down(bounds: Bounds) -> range:
    """Return the brokers that can be shut down. By default, there are none."""
    return range(bounds.brokers if bounds.shutdowns else 0)


def restarting(bounds: Bounds) -> range:
    """Return the brokers that start again after a crash."""
    return range(bounds.brokers if bounds.restarts else 0)
