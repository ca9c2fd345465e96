"""The bounds of a search, and counters of the perturbations that have happened."""

from __future__ import annotations

from typing import ClassVar

import attrs

from leadline.checker.bounds import bound
from leadline.checker.errors import SpecError


@attrs.frozen
class Bounds:
    """The limits that make the state space finite, and configuration properties, which have the same names as in Kafka.

    The number of perturbations is limited, but recovery from them is not. Leader epochs and controller epochs are not
    limited: each of them needs a perturbation.
    """

    brokers: int = bound(2, "brokers, each with a replica of the partition", at_least=1, at_most=9)
    controllers: int = bound(2, "brokers that can be the controller", at_least=1, at_most=4)
    colocated: bool = bound(
        False, "whether these brokers are brokers 0, 1, ...; if not, they have no replica of the partition"
    )
    records: int = bound(0, "records that producers write in all", at_least=0, at_most=9)
    failovers: int = bound(1, "controllers that die or whose session expires", at_least=0, at_most=9)
    crashes: int = bound(1, "crashes of brokers that lose no records", at_least=0, at_most=9)
    lossy_crashes: int = bound(0, "crashes that lose any number of records at the end of a log", at_least=0, at_most=9)
    session_expiries: int = bound(0, "sessions of running brokers that expire", at_least=0, at_most=9)
    lost_answers: int = bound(
        0, "requests that a broker handles but whose answer the controller does not get", at_least=0, at_most=9
    )
    isr_shrinks: int = bound(
        0, "removals of running followers from the ISR because they are slow", at_least=0, at_most=9
    )
    restarts: bool = bound(True, "whether brokers that have crashed start again")
    acks: str = bound("all", "when producers are told that a record is written", choices=("0", "1", "all"))
    min_insync_replicas: int = bound(1, "size of the ISR that acks=all needs", at_least=1, at_most=9)
    unclean_leader_election: bool = bound(False, "whether a broker outside the ISR may be elected")

    moves: ClassVar[bool] = False
    late_responses: ClassVar[int] = 0
    max_epoch: ClassVar[int] = 0

    def __attrs_post_init__(self) -> None:
        if self.colocated and self.controllers > self.brokers:
            raise SpecError(
                f"controllers={self.controllers} is more than brokers={self.brokers}: with colocated=true, each "
                "controller runs on one of the brokers"
            )


@attrs.frozen(cache_hash=True)
class Spent:
    """The number of times that each perturbation of `Bounds` has happened."""

    failovers: int = 0
    crashes: int = 0
    lossy_crashes: int = 0
    session_expiries: int = 0
    lost_answers: int = 0
    isr_shrinks: int = 0


def controllers(bounds: Bounds) -> range:
    """Return the brokers that can be the controller, numbered from 0."""
    return range(bounds.controllers)


def only_if_lossy(bounds: Bounds) -> range:
    """Return the offsets whose records can be lost. By default, there are none."""
    return range(bounds.records if bounds.lossy_crashes else 0)


def if_answers_are_lost(bounds: Bounds) -> range:
    """Return the controllers whose requests can be sent twice. By default, there are none."""
    return range(bounds.controllers if bounds.lost_answers else 0)


def restarting(bounds: Bounds) -> range:
    """Return the brokers that start again after a crash."""
    return range(bounds.brokers if bounds.restarts else 0)
