"""The `control` family: Kafka's releases with controllers that can fail."""

from __future__ import annotations

import functools

import attrs

from leadline.checker.spec import Spec
from leadline.invariants import controllers, leadership, logs, promises, watermarks
from leadline.model.control import drawing, mistakes, state
from leadline.model.control.actions import actions_of
from leadline.model.control.bounds import Spent
from leadline.model.control.protocols import Protocol
from leadline.model.control.releases import COLUMNS, Column
from leadline.model.control.rules import RULES
from leadline.model.family import Family, Mutations

PROPERTIES = (
    controllers.agreed_at_rest,
    controllers.led_at_rest,
    controllers.controlled_at_rest,
    controllers.reassigned_at_rest,
    controllers.isr_within_replicas_at_rest,
    controllers.isr_writable_at_rest,
    controllers.one_controller_per_epoch,
    controllers.newer_controller_obeyed,
    controllers.former_controllers_fenced,
    controllers.znode_epoch_is_newest,
    controllers.dead_not_in_isr,
    promises.committed_never_lost,
    promises.acked_never_lost,
    watermarks.hw_within_log,
    logs.log_matching,
    logs.epochs_monotonic_in_log,
    leadership.one_leader_per_epoch,
    controllers.controller_fails_over,
    controllers.two_controllers_act,
)

OPTIONAL = (controllers.leader_can_write, controllers.last_controller_takes_over)
"""Checked only if they are named: liveness needs the graph of all states, and the other is about one article."""


def _spec(column: Column, protocol: Protocol) -> Spec[state.Cluster]:
    return Spec(
        name=f"control/{protocol.name}",
        summary=protocol.summary,
        note=column.note,
        initial_states=functools.partial(state.initial_states, protocol=protocol),
        actions=actions_of(protocol),
        properties=PROPERTIES,
        optional=(*OPTIONAL, *controllers.SITUATIONS),
        bounds=column.bounds,
        distance=logs.distance_to_divergence,
        drawing=drawing.DRAWING,
    )


CONTROL: Family[Column] = Family(
    name="control",
    columns=COLUMNS,
    make=_spec,
    perturbations=tuple(field.name for field in attrs.fields(Spent)),
    mutations=Mutations(
        mistakes=mistakes.MISTAKES,
        may_be_made_in=mistakes.may_be_mutated,
        concerns=lambda rule, column: rule in RULES and mistakes.concerns(rule.name, column.values),
        shown_with=mistakes.RULES_SHOWN_WITH,
        right_too=mistakes.RIGHT_TOO,
    ),
)
