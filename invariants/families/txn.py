"""The `txn` family: transactions, with their coordinator, of Kafka's releases and of the KIPs."""

from __future__ import annotations

import functools

import attrs

from leadline.checker.spec import Spec
from leadline.invariants import transaction_offsets, transaction_progress, transactions
from leadline.model.family import Family, Mutations
from leadline.model.txn import drawing, failures, mistakes, state
from leadline.model.txn.actions import actions_of
from leadline.model.txn.bounds import Spent
from leadline.model.txn.protocols import Protocol
from leadline.model.txn.releases import COLUMNS, RELEASES, Column, column_of

PROPERTIES = (
    transactions.no_aborted_read,
    transactions.no_lost_write,
    transactions.no_torn_transaction,
    transactions.no_hanging_transaction,
    transactions.lso_monotonic,
    transactions.lso_within_hw,
    transactions.fenced_stays_fenced,
    transactions.epoch_bump_repeatable,
    transactions.sequences_complete,
    transactions.transitions_valid,
    transaction_offsets.no_uncommitted_offset,
    transaction_offsets.no_forgotten_offset,
    transactions.committed_record_read,
    transactions.read_uncommitted_sees_aborted,
    transactions.lso_below_hw,
    transactions.two_partitions_committed,
)

LIVENESS = (
    transaction_progress.every_transaction_ends,
    transaction_progress.decided_transactions_complete,
    transaction_progress.lso_moves_on,
)
"""Checked only if they are named, because they need the graph of all states, which takes longer than a search."""


def _spec(column: Column, protocol: Protocol) -> Spec[state.Transactions]:
    return Spec(
        name=f"txn/{protocol.name}",
        summary=protocol.summary,
        note=column.note,
        initial_states=functools.partial(state.initial_states, protocol=protocol),
        actions=actions_of(protocol),
        properties=PROPERTIES,
        optional=(*LIVENESS, *transactions.SITUATIONS, *transaction_offsets.SITUATIONS),
        cut=failures.cannot_expire_again,
        bounds=column.bounds,
        distance=transactions.distance_to_hanging,
        drawing=drawing.DRAWING,
    )


TXN: Family[Column] = Family(
    name="txn",
    columns=COLUMNS,
    releases=RELEASES,
    make=_spec,
    perturbations=tuple(field.name for field in attrs.fields(Spent)),
    find=column_of,
    is_later=Column.is_not_before,
    mutations=Mutations(
        mistakes=mistakes.MISTAKES,
        may_be_made_in=mistakes.may_be_mutated,
        shown_with=mistakes.RULES_SHOWN_WITH,
        right_too=mistakes.RIGHT_TOO,
        harmless=mistakes.why_harmless,
    ),
)
