"""The bounds of a search, and how much of them a behaviour has used."""

from __future__ import annotations

import attrs

from leadline.checker.bounds import bound

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
