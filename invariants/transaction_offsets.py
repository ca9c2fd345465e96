"""Properties of the offsets that a consumer group commits in transactions, to process each record exactly once.

Without the bound `groups`, there are no offsets.
"""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant, witness
from leadline.model.txn.consume import read_committed
from leadline.model.txn.group import group_of
from leadline.model.txn.partition import Data, Marker
from leadline.model.txn.state import OFFSETS, Transactions


@invariant(
    "a consumer group does not go on at the offset of a transaction that is not committed",
    source="KIP-98, KIP-447: the offsets and the records of a transaction are committed together; KAFKA-17507",
)
def no_uncommitted_offset(state: Transactions) -> Iterator[str]:
    """Otherwise, the records before the offset are never processed, if the transaction is then aborted.

    This property is kept because it shows a loss. The mutant that violates it also violates `no_forgotten_offset`.
    """
    offset = state.group.offset
    if offset and offset not in [record.transaction for record in read_committed(state, OFFSETS)]:
        yield f"the group goes on at the offset of transaction {offset}, which is not committed"


@invariant(
    "once a group coordinator has taken over the offsets of all transactions that have ended, the group goes on at the "
    "last committed offset in the log",
    source="KIP-98, KIP-447; KAFKA-17507",
)
def no_forgotten_offset(state: Transactions) -> Iterator[str]:
    """Otherwise, the group processes records twice, until another broker becomes its coordinator and reads the log.

    This property is kept because it shows the opposite harm. The mutant that violates it also violates
    `no_uncommitted_offset`.
    """
    known, committed = state.group.offset, group_of(state.partitions[OFFSETS]).offset
    if state.bounds.groups and not state.group.completions and known < committed:
        known_as = f"at the offset of transaction {known}" if known else "without an offset"
        yield f"the group goes on {known_as}, and transaction {committed} has committed an offset"


@witness("a consumer group goes on at an offset that a transaction has committed")
def offset_committed(state: Transactions) -> bool:
    return state.group.offset > 0


@witness("a transaction sends offsets after the marker of another one")
def next_offsets_sent(state: Transactions) -> bool:
    log = state.partitions[OFFSETS].log
    return state.bounds.groups > 0 and any(isinstance(each, Marker) for each in log) and isinstance(log[-1], Data)


SITUATIONS = (offset_committed, next_offsets_sent)
"""Checked only if they are named, because they need the bound `groups`."""
