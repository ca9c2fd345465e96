"""What was counted and seen of packed states, in the spec's own terms. For all engines that pack states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.evidence import Sighting
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.properties import Property
from leadline.checker.result import ActionCount
from leadline.checker.spec import Spec

S = TypeVar("S")
P = TypeVar("P")
"""Where an engine keeps a state: its number, or its level and its number there."""

StepsSeen = Sequence[Sequence[tuple[P, int, Sequence[int]]]]
"""For each step predicate, the steps: where the state before is, the action instance, the row of the state after."""


def action_counts(spec: Spec[S], counts: NDArray[np.int64]) -> dict[str, ActionCount]:
    """What each action did.

    Parameters:
        spec: the spec.
        counts: shape (action instances, 2): steps generated, and new states among them.
    """
    actions = {action.name: ActionCount() for action in spec.actions}
    for instance, (generated, distinct) in zip(spec.instances, counts.tolist(), strict=True):
        actions[instance.action.name].generated += generated
        actions[instance.action.name].distinct += distinct
    return actions


def violated(tables: TransitionTables[S], seen: Sequence[Sequence[P]], steps_seen: StepsSeen[P], dead: bool) -> bool:
    """Whether a search saw a property violated.

    Parameters:
        tables: what is known of the spec.
        seen: for each state predicate, the states that were seen to show it.
        steps_seen: for each step predicate, the steps that were seen to show it; see `StepsSeen`.
        dead: whether a state without a next state was found.
    """
    checks = (*tables.state_checks, *tables.step_checks)
    return (tables.spec.check_deadlock and dead) or any(
        shown and not item.kind.is_witness for item, shown in zip(checks, (*seen, *steps_seen), strict=True)
    )


def sightings(
    tables: TransitionTables[S],
    seen: Sequence[Sequence[P]],
    steps_seen: StepsSeen[P],
    dead: Sequence[P],
    target: Callable[[P], S],
) -> dict[Property, list[Sighting[S]]]:
    """Where each property was seen.

    Parameters:
        tables, seen, steps_seen: as of `violated`.
        dead: the states without a next state.
        target: gives the state at a place, to which a trace is to lead.
    """
    spec = tables.spec
    found: dict[Property, list[Sighting[S]]] = {item: [] for item in spec.checks_and_premises}
    for item, places in zip(tables.state_checks, seen, strict=True):
        found[item] = [Sighting(target(place)) for place in places]
    for item, steps in zip(tables.step_checks, steps_seen, strict=True):
        found[item] = [
            Sighting(target(place), (spec.instances[tree], tables.layout.state(row))) for place, tree, row in steps
        ]
    if spec.check_deadlock:
        found[spec.checks[-1]] = [Sighting(target(place)) for place in dead]
    return found
