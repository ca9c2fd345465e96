"""The `group` family: consumer groups of Kafka's releases, with the classic and the consumer protocol."""

from __future__ import annotations

import functools
from typing import Any, cast

import attrs

from leadline.checker.spec import Spec
from leadline.invariants import consumer_groups, group_offsets, group_progress, groups
from leadline.model.family import Family, Mutations
from leadline.model.group.bounds import Spent
from leadline.model.group.classic import drawing, mistakes, state
from leadline.model.group.classic.actions import ACTIONS, would_rebalance_more
from leadline.model.group.classic.protocols import Protocol
from leadline.model.group.consumer import actions as consumer_actions
from leadline.model.group.consumer import drawing as consumer_drawing
from leadline.model.group.consumer import mistakes as consumer_mistakes
from leadline.model.group.consumer import protocols as consumer_protocols
from leadline.model.group.consumer import state as consumer_state
from leadline.model.group.releases import COLUMNS, CONSUMER_COLUMNS, Column, ConsumerColumn, GroupColumn

OFFSETS = (group_offsets.acknowledged_offsets_kept, group_offsets.no_record_skipped)
"""They need the bound `records`."""

PROPERTIES = (
    groups.group_transitions_valid,
    groups.generation_steps_by_one,
    groups.assignment_disjoint,
    groups.one_owner_among_members,
    groups.assignment_agreed,
    groups.commit_by_assignee,
    groups.member_id_kept,
    groups.one_member_for_instance,
    *OFFSETS,
    groups.stable_at_rest,
    groups.group_stable,
    groups.learns_of_rebalance,
    groups.partition_moves,
)

BY_DESIGN = (groups.one_reader, groups.generation_known, group_offsets.read_once)
"""Violated in all releases, and checked only if they are named."""

LIVENESS = (
    group_progress.group_recovers,
    group_progress.group_settles,
    group_progress.completing_ends,
    group_progress.preparing_ends,
    group_progress.requests_answered,
)
"""Checked only if they are named, because they need the graph of all states, which takes longer than a search."""

CONSUMER_PROPERTIES = (
    consumer_groups.owned_by_one_member,
    consumer_groups.assigned_to_one_member,
    consumer_groups.partition_epoch_held,
    consumer_groups.epochs_grow,
    consumer_groups.epochs_ordered,
    consumer_groups.epoch_implies_revoked,
    consumer_groups.fenced_owns_nothing,
    consumer_groups.commit_by_holder,
    consumer_groups.revocation_seen,
    consumer_groups.instance_keeps_assignment,
    consumer_groups.instance_released,
    groups.one_member_for_instance,
    consumer_groups.own_instance_accepted,
    consumer_groups.one_protocol,
    consumer_groups.survives_downgrade,
    *OFFSETS,
    groups.stable_at_rest,
    groups.group_stable,
    groups.partition_moves,
    consumer_groups.partition_awaited,
    consumer_groups.partition_unreleased,
)

CONSUMER_BY_DESIGN = (groups.one_reader, group_offsets.read_once, consumer_groups.empty_group_assigned)

CONSUMER_LIVENESS = (
    group_progress.group_recovers,
    group_progress.group_settles,
    group_progress.revocation_ends,
)


def _make(column: GroupColumn, protocol: Any) -> Spec[Any]:
    if isinstance(column, ConsumerColumn):
        return _consumer(column, protocol)
    return _classic(cast(Column, column), protocol)


def _classic(column: Column, protocol: Protocol) -> Spec[state.Classic]:
    return Spec(
        name=f"group/{protocol.name}",
        summary=protocol.summary,
        note=column.note,
        initial_states=functools.partial(state.initial_states, protocol=protocol),
        actions=ACTIONS,
        properties=PROPERTIES,
        optional=(*BY_DESIGN, *LIVENESS, *groups.SITUATIONS, *groups.SCENARIOS, *group_offsets.SITUATIONS),
        cut=would_rebalance_more,
        bounds=column.bounds,
        drawing=drawing.DRAWING,
    )


def _consumer(column: ConsumerColumn, protocol: consumer_protocols.Protocol) -> Spec[consumer_state.ConsumerGroup]:
    return Spec(
        name=f"group/{protocol.name}",
        summary=protocol.summary,
        note=column.note,
        initial_states=functools.partial(consumer_state.initial_states, protocol=protocol),
        actions=consumer_actions.ACTIONS,
        properties=CONSUMER_PROPERTIES,
        optional=(*CONSUMER_BY_DESIGN, *CONSUMER_LIVENESS, *consumer_groups.SITUATIONS, *group_offsets.SITUATIONS),
        cut=consumer_actions.would_rebalance_more,
        bounds=column.bounds,
        drawing=consumer_drawing.DRAWING,
    )


def _may_be_mutated(column: GroupColumn) -> bool:
    if isinstance(column, ConsumerColumn):
        return consumer_mistakes.may_be_mutated(column)
    return mistakes.may_be_mutated(column)


GROUP: Family[GroupColumn] = Family(
    name="group",
    columns=(*COLUMNS, *CONSUMER_COLUMNS),
    make=_make,
    perturbations=tuple(field.name for field in attrs.fields(Spent)),
    mutations=Mutations(
        mistakes=(*mistakes.MISTAKES, *consumer_mistakes.MISTAKES),
        may_be_made_in=_may_be_mutated,
        shown_with={**mistakes.RULES_SHOWN_WITH, **consumer_mistakes.RULES_SHOWN_WITH},
        right_too={**mistakes.RIGHT_TOO, **consumer_mistakes.RIGHT_TOO},
    ),
)
