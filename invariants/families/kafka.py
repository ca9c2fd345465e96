"""The `kafka` family, Kafka's releases, and the `rpc` family, designs of KIPs with the same actions.

Both consist of brokers that send requests to each other, and of a controller that never fails.
"""

from __future__ import annotations

import functools
from typing import Any

import attrs

from leadline.checker.spec import Spec
from leadline.invariants import (
    assignment,
    candidates,
    deletion,
    durability,
    followers,
    leadership,
    logs,
    progress,
    promises,
    situations,
    watermarks,
    witnesses,
)
from leadline.invariants import rolls as changes
from leadline.model.family import Family, Mutations
from leadline.model.kafka import crash, drawing, mixes, rolls, state
from leadline.model.kafka.actions import actions_of
from leadline.model.kafka.bounds import Spent
from leadline.model.kafka.horizon import ends_at_a_bound
from leadline.model.kafka.mistakes import MISTAKES, NOT_MUTATED, ONLY_WITH, RIGHT_TOO, RULES_SHOWN_WITH, why_harmless
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.releases import DESIGNS, KRAFT, RELEASES, Column
from leadline.model.rules import Rule

PROPERTIES = (
    promises.committed_never_lost,
    promises.acked_never_lost,
    promises.durable_as_promised,
    promises.reads_monotonic,
    promises.reads_not_taken_back,
    followers.follower_reads,
    candidates.leader_candidates_complete,
    candidates.isr_joined_with_all,
    candidates.quorum_in_maximal_isr,
    candidates.isr_within_replicas,
    candidates.isr_and_elr_disjoint,
    candidates.isr_members_active,
    durability.weak_isr,
    durability.strong_isr,
    watermarks.hw_within_log,
    watermarks.hw_monotonic,
    logs.follower_log_is_prefix,
    logs.logs_prefix_consistent,
    logs.log_matching,
    logs.epochs_monotonic_in_log,
    leadership.leader_in_isr,
    leadership.leaders_elected_alive,
    leadership.one_leader_per_epoch,
    followers.remote_leo_not_ahead,
    followers.brokers_keep_running,
    deletion.deleted_not_read_again,
    deletion.leader_hw_from_start,
    deletion.followers_go_on,
    witnesses.record_committed,
    witnesses.leadership_moves,
    witnesses.log_truncated,
    witnesses.broker_rejoins_isr,
)

LIVENESS = (
    progress.leader_known,
    progress.epoch_known,
    progress.all_committed_again,
    progress.writes_answered,
    progress.caught_up_in_isr,
    progress.isr_full_when_quiet,
    progress.truncation_ends,
    progress.can_recover,
    *progress.RECOVERIES,
)
"""Checked only if they are named, because they need every state and step of a search."""

OPTIONAL = (promises.durable_after_few_unclean_stops,)
"""Properties of Kafka that are checked only if they are named."""

KRAFT_PROPERTIES = (assignment.reassignment_as_asked, assignment.added_or_removed)
"""The properties of releases in whose model replicas can be reassigned."""

KRAFT_OPTIONAL = (assignment.completion_keeps_min_isr, progress.reassignments_end)
"""Checked only if they are named, in releases in whose model replicas can be reassigned."""


def _spec(column: Column, protocol: Protocol) -> Spec[state.Partition]:
    """Return the spec of a release or a design."""
    return Spec(
        name=f"{column.name.partition('/')[0]}/{protocol.name}",
        summary=protocol.summary,
        note=column.note,
        initial_states=functools.partial(state.initial_states, protocol=protocol),
        bounds=column.bounds,
        **_parts(column, protocol),
    )


def _mix(reference: str) -> Spec[state.Partition]:
    """Return the spec of a mix of two releases; see `leadline.model.kafka.mixes`."""
    mix = mixes.mix_of(reference)
    parts = _parts(mix.old, *mix.rules)
    actions = tuple(rolls.restart if each is crash.restart else each for each in parts["actions"])
    return Spec(
        name=mix.name,
        summary=f"{mix.old.short_name} and {mix.new.short_name} in one cluster, during an upgrade",
        initial_states=functools.partial(rolls.initial_states, mix=mix),
        bounds=mix.bounds,
        **{
            **parts,
            "actions": (*actions, *rolls.ACTIONS),
            "optional": (*parts["optional"], *changes.PROPERTIES, *changes.WITNESSES),
        },
    )


def _parts(column: Column, *protocols: Protocol) -> dict[str, Any]:
    """Return what a spec has because of its controller, and of the protocols that its brokers can follow."""
    moves = any(protocol.reassigns for protocol in protocols)
    return {
        "actions": actions_of(*protocols),
        "properties": (*PROPERTIES, *(KRAFT_PROPERTIES if moves else ())),
        "optional": (*OPTIONAL, *LIVENESS, *(KRAFT_OPTIONAL if moves else ()), *situations.SITUATIONS),
        "cut": ends_at_a_bound,
        "distance": logs.distance_to_divergence,
        "drawing": drawing.KRAFT_DRAWING if column.controller == KRAFT else drawing.DRAWING,
    }


def _is_mutated(rule: Rule, column: Column) -> bool:
    other, needed = ONLY_WITH.get(rule.name, (rule.name, column.values[rule.name]))
    return column.values[other] == needed and rule.name not in NOT_MUTATED


_COMMON: dict[str, Any] = {
    "releases": RELEASES,
    "make": _spec,
    "perturbations": tuple(field.name for field in attrs.fields(Spent)),
    "mutations": Mutations(
        mistakes=MISTAKES,
        concerns=_is_mutated,
        shown_with=RULES_SHOWN_WITH,
        right_too=RIGHT_TOO,
        harmless=why_harmless,
    ),
}

KAFKA: Family[Column] = Family(name="kafka", columns=RELEASES, mix=_mix, **_COMMON)

RPC: Family[Column] = Family(name="rpc", columns=DESIGNS, **_COMMON)
