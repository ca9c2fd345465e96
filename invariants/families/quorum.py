"""The `quorum` family: KRaft's quorum of controllers, in Kafka's releases."""

from __future__ import annotations

import functools

import attrs

from leadline.checker.spec import Spec
from leadline.invariants import raft
from leadline.model.family import Family, Mutations
from leadline.model.raft import drawing, mistakes
from leadline.model.raft.actions import ACTIONS, would_raise_more
from leadline.model.raft.bounds import Spent, voters_at_first
from leadline.model.raft.protocols import Protocol
from leadline.model.raft.releases import COLUMNS, Column
from leadline.model.raft.state import Quorum, initial_states

PROPERTIES = (
    raft.one_leader_per_epoch_of_quorum,
    raft.quorum_log_matching,
    raft.quorum_leader_complete,
    raft.announced_watermark_monotonic,
    raft.quorum_watermark_monotonic,
    raft.nothing_committed_truncated,
    raft.voters_in_force,
    raft.applied_in_one_order,
    raft.followers_accepted,
    raft.deleted_records_in_snapshot,
    raft.snapshots_committed,
    raft.halts,
    raft.active_controller_complete,
    raft.quorum_commits,
)

OPTIONAL = (raft.two_leaders, raft.isolated_voter_waits, raft.quorum_recovers, raft.isolated_leader_resigns)
"""Checked only if they are named: the last two need the graph of all states, two leaders need two epochs, and releases
before 4.0 violate the other by design.
"""


def _spec(column: Column, protocol: Protocol) -> Spec[Quorum]:
    return Spec(
        name=f"quorum/{protocol.name}",
        summary=protocol.summary,
        note=column.note,
        initial_states=functools.partial(initial_states, protocol=protocol),
        actions=ACTIONS,
        properties=PROPERTIES,
        optional=(*OPTIONAL, *raft.SITUATIONS),
        cut=would_raise_more,
        bounds=column.bounds,
        symmetric={"node": voters_at_first},
        drawing=drawing.DRAWING,
    )


QUORUM: Family[Column] = Family(
    name="quorum",
    columns=COLUMNS,
    make=_spec,
    perturbations=tuple(field.name for field in attrs.fields(Spent)),
    mutations=Mutations(
        mistakes=mistakes.MISTAKES,
        may_be_made_in=mistakes.may_be_mutated,
        shown_with=mistakes.RULES_SHOWN_WITH,
        right_too=mistakes.RIGHT_TOO,
    ),
)
