"""Liveness properties of transactions: every transaction ends, and the last stable offset advances.

The steps of running brokers are fair; see `leadline.model.txn.actions`. A producer may stop forever. If no producer
ends a transaction, the coordinator aborts the transaction after its time-out. The bound `expiries` limits how often
this can happen in a search. A state in which it would have to happen once more is open.
"""

from __future__ import annotations

from leadline.checker.properties import leads_to
from leadline.invariants.transactions import consumer_waits
from leadline.model.txn.state import ONGOING, PREPARE_ABORT, PREPARE_COMMIT, Transactions


def has_begun(state: Transactions) -> bool:
    """Return whether the coordinator has an incomplete transaction."""
    return state.coordinator.state in (ONGOING, PREPARE_COMMIT, PREPARE_ABORT)


def is_decided(state: Transactions) -> bool:
    """Return whether the outcome of a transaction is decided, but not all of its markers are written."""
    return state.coordinator.is_prepared


@leads_to("every transaction that has begun at the coordinator ends", after=has_begun, source="KIP-98: commit or abort")
def every_transaction_ends(state: Transactions) -> bool:
    return not has_begun(state)


@leads_to(
    "once the outcome of a transaction is decided, the coordinator completes it",
    after=is_decided,
    source="KIP-98: the coordinator writes the markers, after a failover too; KAFKA-16352",
)
def decided_transactions_complete(state: Transactions) -> bool:
    return not state.coordinator.is_prepared


@leads_to(
    "a read_committed consumer does not wait for ever: the last stable offset reaches the high watermark again",
    after=consumer_waits,
    source="KIP-98; KIP-664 and KIP-890: hanging transactions; KAFKA-20716",
)
def lso_moves_on(state: Transactions) -> bool:
    return not consumer_waits(state)
