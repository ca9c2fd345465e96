"""Deliberately wrong rules for the `txn` family that are not values in the table of rules."""

from __future__ import annotations

from collections.abc import Mapping

from leadline.model.mistakes import Mistake
from leadline.model.rules import Rule, RuleColumn
from leadline.model.txn import protocols as does

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        name="producers-not-fenced",
        sentence="InitProducerId gives a new producer the epoch of the old one",
        source="KIP-98: fencing zombies",
        wrong={"initialises_with_higher_epoch": False},
        bounds={"partitions": 1, "producers": 2, "delayed": 0},
    ),
    Mistake(
        name="transactions-not-completed-after-failover",
        sentence="a new coordinator does not write the markers of a prepared transaction",
        source="KIP-98: the coordinator completes prepared transactions after a failover",
        wrong={"resumes": False},
        bounds={"transactions": 1, "partitions": 1, "delayed": 0, "failovers": 1},
    ),
    Mistake(
        name="sequences-not-compared",
        sentence="leaders append records with any sequence number",
        source="KIP-98: idempotent producer",
        wrong={"checks_sequences": False},
        bounds={"transactions": 1, "partitions": 1},
    ),
    Mistake(
        name="next-transaction-before-markers",
        sentence="a transaction begins before all markers of the last one are written",
        source="KIP-98: CONCURRENT_TRANSACTIONS",
        wrong={"waits_for_markers": False},
        bounds={"partitions": 1, "delayed": 0},
    ),
    Mistake(
        name="unreplicated-markers-counted",
        sentence="a transaction is stable once its marker is in the leader's log, above the high watermark",
        source="ProducerStateManager: unreplicated transactions",
        wrong={"replicated_markers_only": False},
        bounds={"transactions": 1, "partitions": 1, "delayed": 0, "lag": 2},
    ),
    Mistake(
        name="records-not-fenced",
        sentence="leaders append records with any producer epoch",
        source="KIP-98: fencing zombies",
        right={"bumps": False},
        wrong={"fences_records": does.nothing},
        bounds={"partitions": 1},
    ),
    Mistake(
        name="records-not-fenced",
        sentence="leaders append records with any producer epoch",
        source="KIP-98: fencing zombies",
        right={"bumps": True},
        wrong={"fences_records": does.nothing},
        bounds={"partitions": 1},
        harmless="the coordinator, which the leader asks, compares the epoch, and the guard refuses a record that it "
        "has accepted before the end of the transaction",
    ),
    Mistake(
        name="verified-records-not-compared",
        sentence="leaders append a verified record with any producer epoch, whatever has happened since",
        source="KIP-98: fencing zombies; KAFKA-14884",
        wrong={"fences_records": does.nothing, "guards": False},
        bounds={"transactions": 1, "partitions": 1},
    ),
    Mistake(
        name="adding-not-fenced",
        sentence="the coordinator adds partitions for requests with any producer epoch",
        source="KIP-98: fencing zombies",
        wrong={"fences_adding": does.nothing},
        bounds={"partitions": 1},
    ),
    Mistake(
        name="end-epoch-not-compared",
        sentence="the coordinator accepts EndTxn requests with any producer epoch",
        source="KIP-98: fencing zombies",
        wrong={"ends": does.any_epoch},
        bounds={"partitions": 1},
    ),
    Mistake(
        name="marker-with-old-epoch",
        sentence="markers have the producer epoch from before the end of the transaction",
        source="KIP-890 part 2: the marker has the raised epoch",
        right={"bumps": True},
        wrong={"marker_epoch_bumped": False},
        bounds={"partitions": 1},
        harmless="the guard refuses a record that the coordinator has accepted before the end of the transaction",
    ),
    Mistake(
        name="marker-with-old-epoch-and-no-guard",
        sentence="markers have the producer epoch from before the end of the transaction, and a verified record is "
        "appended whatever has happened since",
        source="KIP-890 part 2: the marker has the raised epoch; KAFKA-14884",
        right={"bumps": True},
        wrong={"marker_epoch_bumped": False, "guards": False},
        bounds={"transactions": 1, "partitions": 1},
    ),
    Mistake(
        name="coordinators-not-fenced",
        sentence="leaders write the markers of an earlier coordinator",
        source="KIP-98: the coordinator epoch in WriteTxnMarkers",
        wrong={"fences_coordinators": False},
        bounds={"partitions": 1, "failovers": 1},
    ),
    Mistake(
        name="lost-markers-survive",
        sentence="a leader that has lost a marker in an unclean election considers its transaction ended",
        source="ProducerStateManager.truncateAndReload; KAFKA-20716",
        wrong={"forgets_lost_markers": False},
        bounds={"transactions": 1, "partitions": 1, "delayed": 0, "unclean_elections": 1},
    ),
    Mistake(
        name="repeated-results-not-compared",
        sentence="the coordinator accepts a repeated EndTxn request whose result is not that of the first",
        source="KIP-98: INVALID_TXN_STATE",
        wrong={"compares_results": False},
        bounds={"partitions": 1},
        harmless="a producer never asks both to commit and to abort a transaction",
    ),
)

RULES_SHOWN_WITH: Mapping[tuple[str, str], Mapping[str, int]] = {
    ("expiry", "same-epoch"): {"transactions": 1, "delayed": 0, "expiries": 1},
    ("offsets_completed", "later"): {"partitions": 1, "delayed": 0, "groups": 1},
    ("guard", "none"): {"transactions": 1, "partitions": 1},
    ("verification", "none"): {"transactions": 1, "partitions": 1},
    ("open_transaction", "any-epoch"): {"partitions": 1, "delayed": 0},
    ("transaction_version", "1"): {"partitions": 1},
    ("transaction_version", "2"): {"partitions": 1},
    ("time_out", "go-on"): {"partitions": 1},
    ("produce_timeout", "abort"): {"partitions": 1},
}
"""The bounds within which a value of a rule violates a property of a column with a different value."""

RIGHT_TOO: Mapping[tuple[str, str], str] = {
    ("end_epoch", "not-lower"): "no request has a higher epoch than the coordinator's, unless the coordinator loses a "
    "bump of the epoch (KAFKA-9600)",
    ("offsets_completed", "with-the-marker"): "it is the rule of later releases",
    ("offsets_completed", "before-the-answer"): "the transaction coordinator waits for it",
    ("time_out", "re-initialise"): "the application does more than it must",
    ("last_epoch", "persisted"): "it is the rule of later releases",
}
"""The reasons why a value of a rule does no harm to a column with a different value."""


WITH_VERSION_2: Mapping[tuple[str, str], str] = {
    ("produce_timeout", "abort"): "the end of the transaction raises the epoch, so that a producer need not ask",
    ("guard", "none"): "the marker has a higher producer epoch than the verified record, which is refused by its epoch",
}
"""The reasons why a value of a rule does no harm if the end of a transaction raises the producer epoch."""

IF_RE_INITIALISED: Mapping[tuple[str, str], str] = {
    ("produce_timeout", "abort"): "the application replaces its producer, which raises the producer epoch, too",
}
"""The reasons why a value of a rule does no harm if the application replaces its producer after a time-out."""


def may_be_mutated(column: RuleColumn) -> bool:
    """Return whether the specs of a column satisfy the properties. Otherwise, mutations could not be noticed.

    The specs satisfy the properties with transaction version 2. They also satisfy the properties with version 1 if
    leaders ask the coordinator and the application replaces its producer after a time-out.
    """
    values = column.values
    has_part_1 = values["verification"] == "asks" and values["guard"] == "compared"
    return values["transaction_version"] == "2" or (has_part_1 and values["time_out"] == "re-initialise")


def why_harmless(rule: Rule, other: str, column: RuleColumn) -> str:
    """Return the reason why a different value of a rule does no harm to a column, or an empty string; see
    `leadline.model.family.Mutations`.
    """
    values = column.values
    if values["transaction_version"] == "2":
        return WITH_VERSION_2.get((rule.name, other), "")
    if values["time_out"] == "re-initialise" and (rule.name, other) in IF_RE_INITIALISED:
        return IF_RE_INITIALISED[rule.name, other]
    if rule.name == "transaction_version" and values["open_transaction"] == "any-epoch":
        return ""  # KAFKA-18575
    if rule.name == "offsets_completed" and other == "later":
        return ""  # KAFKA-17507
    return "it is the rule of later releases" if rule.is_later(other, values[rule.name]) else ""
