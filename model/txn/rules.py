"""The table of rules for the `txn` family: the rules that changed between releases, with their values and sources.

A rule belongs to the brokers, to the client, or to both. `releases` lists the value of each rule for each combination
of releases.
"""

from __future__ import annotations

from leadline.model.rules import Rule, RuleTable, Value
from leadline.model.txn import protocols as does

RULES = (
    Rule(
        "expiry",
        "which producer epoch a transaction has that the coordinator aborts after its time-out",
        (
            Value(
                "same-epoch",
                "the producer's: its next requests begin a new transaction",
                "0.11.0.0 and 0.11.0.1",
                {"bumps_expired": False},
            ),
            Value(
                "higher-epoch",
                "a higher one, so that the producer is fenced",
                "KAFKA-6119; 0.11.0.2 and 1.0.0",
                {"bumps_expired": True},
            ),
        ),
    ),
    Rule(
        "end_epoch",
        "which producer epoch an EndTxn request must have",
        (
            Value("equal", "the coordinator's", "KIP-98; again since KAFKA-9600 (2.6.0)", {"ends": does.equal}),
            Value(
                "not-lower",
                "the coordinator's or a higher one",
                "KAFKA-6119, for the coordinator's own requests; fixed by KAFKA-9600",
                {"ends": does.not_lower},
            ),
        ),
    ),
    Rule(
        "produce_timeout",
        "what a producer does after a record has timed out",
        (
            Value(
                "abort",
                "it aborts the transaction and goes on with the same producer epoch",
                "KIP-98, KIP-91",
                {"bumps_after_produce": False},
            ),
            Value(
                "abort-and-bump",
                "it aborts the transaction and asks for a higher producer epoch, if the brokers can raise it",
                "KIP-360, KAFKA-8710 and KAFKA-8805; brokers and clients since 2.5.0",
                {"bumps_after_produce": True},
            ),
        ),
    ),
    Rule(
        "time_out",
        "what the application does once a transaction has ended in which a request timed out",
        (
            Value("go-on", "it begins the next transaction", "the default", {"restarts_after_timeout": False}),
            Value(
                "re-initialise",
                "it replaces its producer: initTransactions sends InitProducerId",
                "Jepsen's report on Bufstream 0.1.0, for Kafka's clients",
                {"restarts_after_timeout": True},
            ),
        ),
        chosen_by="the application",
    ),
    Rule(
        "last_epoch",
        "whether the producer epoch before the last bump survives a failover of the coordinator",
        (
            Value("in-memory", "no", "KIP-360; fixed by KAFKA-20357", {"keeps_last_epoch": False}),
            Value("persisted", "yes", "KAFKA-20357", {"keeps_last_epoch": True}),
        ),
    ),
    Rule(
        "offsets_completed",
        "when a group coordinator takes over the offsets of a transaction whose marker it has written",
        (
            Value(
                "before-the-answer",
                "before it answers to the transaction coordinator",
                "KIP-98; again since KAFKA-17507 (3.9.1)",
                {"materialises_before_answer": True, "materialises_with_marker": False},
            ),
            Value(
                "later",
                "in a background task: its answer does not wait for it",
                "KAFKA-6917, so that two groups cannot deadlock; 0.11.0.3, 1.0.2, 1.1.1 and 2.0.0",
                {"materialises_before_answer": False, "materialises_with_marker": False},
            ),
            Value(
                "with-the-marker",
                "when it writes the marker",
                "KAFKA-14505: the group coordinator of KIP-848, the only one since 4.0",
                {"materialises_before_answer": True, "materialises_with_marker": True},
            ),
        ),
    ),
    Rule(
        "verification",
        "whether the leader asks the coordinator before it appends the first record of a transaction",
        (
            Value("none", "no", "KIP-98", {"verifies": False}),
            Value(
                "asks",
                "yes: a record is refused if its partition is not part of the transaction",
                "KIP-890 part 1, KAFKA-14402; 3.6.0, transaction.partition.verification.enable",
                {"verifies": True},
            ),
        ),
    ),
    Rule(
        "guard",
        "whether a verification is still valid when the record is appended",
        (
            Value("none", "it is, whatever has happened", "before KAFKA-14884", {"guards": False}),
            Value(
                "compared",
                "only if no transaction has ended on the partition since",
                "KAFKA-14884; 3.6.0",
                {"guards": True},
            ),
        ),
    ),
    Rule(
        "open_transaction",
        "when the leader need not ask, because the partition has an open transaction of the producer",
        (
            Value("any-epoch", "with any producer epoch", "3.6 to 3.9", {"compares_open_epoch": False}),
            Value(
                "same-epoch",
                "only with the producer epoch of the record",
                "KAFKA-18575; 4.0.0",
                {"compares_open_epoch": True},
            ),
        ),
    ),
    Rule(
        "transaction_version",
        "what the end of a transaction does to the producer epoch",
        (
            Value("1", "nothing", "KIP-98", {"bumps": False}),
            Value(
                "2",
                "it raises the epoch; leaders add partitions to the transaction",
                "KIP-890 part 2; transaction.version=2, brokers and clients since 4.0",
                {"bumps": True},
            ),
        ),
    ),
)
"""The rules, in the order in which they are shown."""

TABLE = RuleTable(RULES, {"fences_records": does.lower, "fences_adding": does.different})
