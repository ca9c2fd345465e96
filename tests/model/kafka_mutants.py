"""Mistakes one can make with the rules of the `kafka` family: a rule changed, or an action replaced."""

from __future__ import annotations

from typing import Any

import attrs

from leadline.checker import Action, Spec
from leadline.invariants.catalog import find
from leadline.invariants.families.kafka import KAFKA
from leadline.model.kafka.actions import actions_of
from leadline.model.kafka.mistakes import mistake
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.releases import DESIGNS, column_of
from leadline.model.kafka.state import Partition
from leadline.model.mistakes import Taken
from tests.model.kafka_states import KIP_320
from tests.model.replaced_actions import with_actions

KafkaAction = Action[Partition, Any]


# --- how mutants are made -----------------------------------------------------------------------------------


def changed(base: Protocol = KIP_320, **rules: Any) -> Spec[Partition]:
    """A protocol with some rules changed."""
    return _spec(attrs.evolve(base, **rules))


def replaced(functions: dict[KafkaAction, Taken], base: Protocol = KIP_320) -> Spec[Partition]:
    """A protocol with some actions replaced: same name and parameters, another function."""
    return with_actions(_spec(base), functions)


def _spec(protocol: Protocol) -> Spec[Partition]:
    (column,) = (each for each in DESIGNS if each.name == f"rpc/{protocol.name}")
    return KAFKA.spec(column, protocol)


# --- releases since 2.7 -------------------------------------------------------------------------------------


def of_release(name: str, **rules: Any) -> Spec[Partition]:
    """A release with some rules changed to values that the table does not have."""
    column = column_of(name)
    assert column is not None
    return KAFKA.spec(column, attrs.evolve(column.protocol(), **rules))


def release_with(name: str, functions: dict[KafkaAction, Taken]) -> Spec[Partition]:
    """A release with some actions replaced."""
    spec = find(name)
    assert spec is not None
    return with_actions(spec, functions)


def wrong(name: str, release: str = "rpc/kip-320") -> Spec[Partition]:
    """A release or a design with a known mistake."""
    column = column_of(release)
    assert column is not None
    assert mistake(name).concerns(column.protocol(), actions_of(column.protocol()))
    return KAFKA.with_mistake(mistake(name), column)
