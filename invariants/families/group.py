"""The `group` family: consumer groups of Kafka's releases."""

from __future__ import annotations

import functools

import attrs

from leadline.checker.spec import Spec
from leadline.invariants import group_progress, groups
from leadline.model.family import Family, Mutations
from leadline.model.group.bounds import Spent
from leadline.model.group.classic import drawing, mistakes, state
from leadline.model.group.classic.actions import ACTIONS, would_rebalance_more
from leadline.model.group.classic.protocols import Protocol
from leadline.model.group.releases import COLUMNS, Column

PROPERTIES = (
    groups.group_transitions_valid,
    groups.generation_steps_by_one,
    groups.assignment_disjoint,
    groups.one_owner_among_members,
    groups.assignment_agreed,
    groups.commit_by_assignee,
    groups.member_id_kept,
    groups.one_member_for_instance,
    groups.stable_at_rest,
    groups.group_stable,
    groups.learns_of_rebalance,
    groups.partition_moves,
)

BY_DESIGN = (groups.one_reader, groups.generation_known)
"""Violated in all releases, and checked only if they are named."""

LIVENESS = (
    group_progress.group_recovers,
    group_progress.group_settles,
    group_progress.completing_ends,
    group_progress.preparing_ends,
    group_progress.requests_answered,
)
"""Checked only if they are named, because they need the graph of all states, which takes longer than a search."""


def _classic(column: Column, protocol: Protocol) -> Spec[state.Classic]:
    return Spec(
        name=f"group/{protocol.name}",
        summary=protocol.summary,
        note=column.note,
        initial_states=functools.partial(state.initial_states, protocol=protocol),
        actions=ACTIONS,
        properties=PROPERTIES,
        optional=(*BY_DESIGN, *LIVENESS, *groups.SITUATIONS, *groups.SCENARIOS),
        cut=would_rebalance_more,
        bounds=column.bounds,
        drawing=drawing.DRAWING,
    )


GROUP: Family[Column] = Family(
    name="group",
    columns=COLUMNS,
    make=_classic,
    perturbations=tuple(field.name for field in attrs.fields(Spent)),
    mutations=Mutations(
        mistakes=mistakes.MISTAKES,
        may_be_made_in=mistakes.may_be_mutated,
        shown_with=mistakes.RULES_SHOWN_WITH,
        right_too=mistakes.RIGHT_TOO,
    ),
)
