"""The bounds of a search, and counters of the perturbations that have happened.

A perturbation is a failure or another rare event, such as a crash or an expired session.
"""

from __future__ import annotations

import attrs

from leadline.checker.bounds import bound

NO_LIMIT = -1
"""The value of a bound for a perturbation that can happen any number of times."""


OLD_MIN_ISR = 1
"""The value of `min.insync.replicas` before an operator increases it to the value of the bound `min_insync_replicas`.
"""


def perturbation(default: int, text: str) -> int:
    """Declare the bound of a perturbation that may be unlimited.

    Parameters:
        default: the default limit on how often the perturbation can happen, or `NO_LIMIT`.
        text: a description of the perturbation for the help text.
    """
    limit: int = bound(default, f"{text}; -1: no limit", at_least=NO_LIMIT, at_most=9)
    return limit


@attrs.frozen
class Bounds:
    """The limits that make the state space finite, and some of Kafka's configuration properties under their usual
    names.

    The number of perturbations is limited, but recovery from them is not. Leader epochs are numbered from 0 to
    `max_epoch`, and epoch 0 has begun in the initial state. Therefore ``max_epoch=1`` allows one more leader epoch.
    This epoch can begin with a change of leader, which is enough for the scenarios in the articles on replication. In
    most releases, it can also begin when the controller removes a failed follower.

    `max_epoch` bounds only the search. In the protocol, another epoch can always begin. Therefore, a state in which
    only this bound blocks a step is not stuck; see `leadline.model.kafka.horizon`. In the `atomic` family, `max_epoch`
    is a guard, as in the TLA+ modules.
    """

    brokers: int = bound(2, "brokers, each with a replica of the partition", at_least=1, at_most=9)
    records: int = bound(2, "records that producers write in all", at_least=0, at_most=9)
    max_epoch: int = bound(
        1, "the last leader epoch that is searched; broker 0 leads in epoch 0", at_least=0, at_most=9
    )
    crashes: int = bound(2, "crashes that lose no records", at_least=0, at_most=9)
    lossy_crashes: int = bound(0, "crashes that lose any number of records at the end of a log", at_least=0, at_most=9)
    shutdowns: int = bound(0, "controlled shutdowns", at_least=0, at_most=9)
    session_expiries: int = bound(0, "sessions of running brokers that expire", at_least=0, at_most=9)
    missed_bounces: int = perturbation(NO_LIMIT, "restarts that the controller does not notice")
    isr_shrinks: int = perturbation(NO_LIMIT, "removals of running followers from the ISR because they are slow")
    late_fetches: int = bound(0, "fetch requests that outlive their connection", at_least=0, at_most=9)
    late_requests: int = bound(
        0, "LeaderAndIsr requests that arrive after a restart but were sent before it", at_least=0, at_most=9
    )
    late_responses: int = bound(
        0, "fetch responses that a broker handles after it has learned of a later epoch", at_least=0, at_most=9
    )
    unclean_elections: int = bound(
        0, "unclean elections that an operator requests (kafka-leader-election)", at_least=0, at_most=9
    )
    min_isr_updates: int = bound(0, "updates of min.insync.replicas, which clear the ELR", at_least=0, at_most=9)
    late_records: int = bound(
        0, "records of the metadata log that a leader applies after the answer to its request", at_least=0, at_most=9
    )
    reassignments: int = bound(0, "reassignments that an operator requests", at_least=0, at_most=9)
    cancellations: int = bound(0, "reassignments that an operator cancels", at_least=0, at_most=9)
    lost_directories: int = bound(
        0, "log directories that fail or are taken out of a broker's configuration", at_least=0, at_most=9
    )
    min_isr_raises: int = bound(
        0, "increases of min.insync.replicas from 1, of which brokers learn late", at_least=0, at_most=1
    )
    first_partition: int = bound(
        0, "replicas of the topic's first partition; 0: as many as this partition has", at_least=0, at_most=9
    )
    empty_epochs: bool = bound(
        False, "whether a former leader remembers an epoch in which it wrote nothing, as since 2.0.1"
    )
    deletes: int = bound(0, "DeleteRecords requests of an operator", at_least=0, at_most=9)
    retentions: int = bound(0, "deletions of old records by the retention of one broker", at_least=0, at_most=9)
    replicas: int = bound(0, "brokers that have a replica at first; 0: all of them", at_least=0, at_most=9)
    acks: str = bound("1", "when producers are told that a record is written", choices=("0", "1", "all"))
    min_insync_replicas: int = bound(1, "size of the ISR that acks=all needs", at_least=1, at_most=9)
    unclean_leader_election: bool = bound(False, "whether a broker outside the ISR may be elected")

    @property
    def moves(self) -> bool:
        """Whether some brokers may have no replica. If every broker always has a replica, states do not record which
        brokers have one.
        """
        return self.reassignments != 0 or 0 < self.replicas < self.brokers

    @property
    def starts(self) -> bool:
        """Whether the start of a log can move. If not, all logs start at offset 0."""
        return self.deletes != 0 or self.retentions != 0


@attrs.frozen(cache_hash=True)
class Spent:
    """The number of times that each perturbation of `Bounds` has happened.

    The number is always 0 for a perturbation without a limit.
    """

    crashes: int = 0
    lossy_crashes: int = 0
    shutdowns: int = 0
    session_expiries: int = 0
    missed_bounces: int = 0
    isr_shrinks: int = 0
    late_fetches: int = 0
    late_requests: int = 0
    late_responses: int = 0
    unclean_elections: int = 0
    min_isr_updates: int = 0
    late_records: int = 0
    reassignments: int = 0
    cancellations: int = 0
    lost_directories: int = 0
    min_isr_raises: int = 0
    deletes: int = 0
    retentions: int = 0
