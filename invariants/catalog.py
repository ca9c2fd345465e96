"""The catalog: every shipped spec by name, a model together with what must be true of it."""

from __future__ import annotations

import functools
from typing import Any

from checker.spec import Spec
from invariants import durability, followers, leadership, logs, promises, watermarks, witnesses
from model.atomic import drawing as atomic_drawing
from model.atomic.actions import ACTIONS, truncate
from model.atomic.protocols import PROTOCOLS, Protocol, never
from model.atomic.state import Bounds, Partition, initial_states
from model.rpc import actions as rpc_actions
from model.rpc import drawing as rpc_drawing
from model.rpc import protocols as rpc_protocols
from model.rpc import state as rpc_state

ATOMIC_PROPERTIES = (
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

RPC_PROPERTIES = (
    promises.committed_never_lost,
    promises.acked_never_lost,
    promises.reads_monotonic,
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
    followers.remote_leo_not_ahead,
    witnesses.record_committed,
    witnesses.leadership_moves,
    witnesses.log_truncated,
    witnesses.broker_rejoins_isr,
)


def atomic(protocol: Protocol) -> Spec[Partition]:
    """The spec of a protocol of the `atomic` family, shipped or made by changing a rule of one."""
    return Spec(
        name=f"atomic/{protocol.name}",
        summary=protocol.summary,
        initial_states=functools.partial(initial_states, protocol=protocol),
        actions=[action for action in ACTIONS if action is not truncate or protocol.diverges is not never],
        properties=ATOMIC_PROPERTIES,
        bounds=Bounds(),
        drawing=atomic_drawing.DRAWING,
    )


def rpc(protocol: rpc_protocols.Protocol) -> Spec[rpc_state.Partition]:
    """The spec of a protocol of the `rpc` family, shipped or made by changing a rule of one."""
    return Spec(
        name=f"rpc/{protocol.name}",
        summary=protocol.summary,
        initial_states=functools.partial(rpc_state.initial_states, protocol=protocol),
        actions=rpc_actions.ACTIONS,
        properties=RPC_PROPERTIES,
        bounds=rpc_state.Bounds(),
        drawing=rpc_drawing.DRAWING,
    )


SPECS: tuple[Spec[Any], ...] = (*map(atomic, PROTOCOLS), *map(rpc, rpc_protocols.PROTOCOLS))

CATALOG: dict[str, Spec[Any]] = {spec.name: spec for spec in SPECS}
