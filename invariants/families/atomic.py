"""The `atomic` family: the designs of KIP-101, KIP-279 and KIP-320, with requests that are answered at once."""

from __future__ import annotations

import functools

from leadline.checker.spec import Spec
from leadline.invariants import durability, leadership, liveness, logs, watermarks, witnesses
from leadline.model.atomic import drawing
from leadline.model.atomic.actions import ACTIONS, truncate
from leadline.model.atomic.columns import COLUMNS, Column
from leadline.model.atomic.mistakes import MISTAKES
from leadline.model.atomic.protocols import KIP_320, Protocol, never
from leadline.model.atomic.state import Partition, initial_states
from leadline.model.family import Family, Mutations
from leadline.model.quorum import brokers

PROPERTIES = (
    durability.weak_isr,
    durability.strong_isr,
    watermarks.hw_within_log,
    watermarks.hw_monotonic,
    logs.follower_log_is_prefix,
    logs.logs_prefix_consistent,
    logs.log_matching,
    logs.epochs_monotonic_in_log,
    leadership.leader_in_isr,
    leadership.one_leader_per_epoch,
    witnesses.record_committed,
    witnesses.leader_changes,
    witnesses.log_truncated,
    witnesses.broker_rejoins_isr,
)

LIVENESS = (
    liveness.leader_learns,
    liveness.followers_learn,
    liveness.all_written,
    liveness.all_committed,
    liveness.isr_full_at_last,
    liveness.isr_full_again,
)
"""Checked only if they are named, because some do not hold under the fairness that the TLA+ specification declares."""


def _spec(column: Column, protocol: Protocol) -> Spec[Partition]:
    return Spec(
        name=f"atomic/{protocol.name}",
        summary=protocol.summary,
        initial_states=functools.partial(initial_states, protocol=protocol),
        actions=[action for action in ACTIONS if action is not truncate or protocol.diverges is not never],
        properties=PROPERTIES,
        optional=LIVENESS,
        bounds=column.bounds,
        distance=logs.distance_to_divergence,
        drawing=drawing.DRAWING,
        symmetric={"broker": brokers},
    )


ATOMIC = Family(
    name="atomic",
    columns=COLUMNS,
    make=_spec,
    mutations=Mutations(
        mistakes=MISTAKES,
        may_be_made_in=lambda column: column.short_name == KIP_320.name,
        concerns=lambda rule, column: False,  # the values of other designs are among the mistakes
    ),
)
