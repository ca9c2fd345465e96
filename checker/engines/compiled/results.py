"""Converts the results of a search of packed states: counts of actions, results of properties, and coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker import coverage
from leadline.checker.action import ActionInstance
from leadline.checker.coverage import FieldCoverage, FieldValues
from leadline.checker.engines.compiled.checkpoint import Saved
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.engines.compiled.position import Position
from leadline.checker.engines.compiled.resumption import SpecChanged
from leadline.checker.engines.compiled.store import Store
from leadline.checker.engines.evidence import Sighting
from leadline.checker.engines.learning.calls import Outcome
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.observing.nodes import Leaf, Node, Parts, Struct
from leadline.checker.properties import DEADLOCK, Property
from leadline.checker.result import ActionCount
from leadline.checker.spec import Spec
from leadline.checker.state import is_component

S = TypeVar("S")
P = TypeVar("P")
"""The type of state identifiers: an index, or a level and an index in the level."""

StepsSeen = Sequence[Sequence[tuple[P, int, Sequence[int]]]]
"""For each predicate on steps, the steps that violate the property or satisfy the witness.

Each step is given as the identifier of the state before the step, the action instance, and the index of the value in
each slot of the state after the step.
"""

BLOCK = 16_384
"""The number of states that are processed together."""


def action_counts(spec: Spec[S], counts: NDArray[np.int64]) -> dict[str, ActionCount]:
    """Return the number of steps and the number of new states for each action, keyed by action name.

    Parameters:
        counts: for each action instance, the number of its steps, and the number of those steps that led to a new
            state. The shape is (action instances, 2).
    """
    actions = {action.name: ActionCount() for action in spec.actions}
    for instance, (generated, distinct) in zip(spec.instances, counts.tolist(), strict=True):
        actions[instance.action.name].generated += generated
        actions[instance.action.name].distinct += distinct
    return actions


def violated(
    tables: TransitionTables[S], seen: Sequence[Sequence[P]], steps_seen: StepsSeen[P], dead: bool
) -> list[str]:
    """Return the names of the properties for which a search found a violation.

    Parameters:
        tables: the transition tables of the search.
        seen: for each predicate on states, the states that violate the property or satisfy the witness.
        steps_seen: for each predicate on steps, the steps that violate the property or satisfy the witness.
        dead: whether a deadlocked state (a state without a next state) was found.
    """
    checks = (*tables.state_checks, *tables.step_checks)
    pairs = zip(checks, (*seen, *steps_seen), strict=True)
    names = [item.name for item, shown in pairs if shown and not item.kind.is_witness]
    return [*names, DEADLOCK.name] if tables.spec.check_deadlock and dead else names


def refuse_changed(tables: TransitionTables[S], saved: Saved, at: Position, store: Store) -> None:
    """Compare a saved search with the results of expanding and checking its states again.

    Raises:
        SpecChanged: if the results differ. The message names the action or property.
    """
    before, spec = saved.snapshot.progression, tables.spec
    for instance, now, then in zip(spec.instances, at.counts[:, 0], before.counts[:, 0], strict=True):
        if now != then:
            raise SpecChanged(f"action {instance} has {now:,} steps instead of the {then:,} in the saved search")
    checked = before.checked
    of_states = zip(at.seen, before.seen, strict=True)
    same = [[index for index in seen if index < checked] == then for seen, then in of_states]
    of_steps = zip(at.steps_seen, before.steps_seen, strict=True)
    same += [[*map(_step, steps)] == [*map(_step, then)] for steps, then in of_steps]
    for item, is_same in zip((*tables.state_checks, *tables.step_checks), same, strict=True):
        if not is_same:
            raise SpecChanged(f"{item.kind.value} {item.name} does not have the same results as in the saved search")
    if not np.array_equal(store.outside[:checked], saved.outside[:checked]):
        raise SpecChanged("`within` does not have the same results as in the saved search")
    if (store.counters != saved.snapshot.counters).any() or at.dead != before.dead:
        raise SpecChanged("the same states do not have the same numbers of steps as in the saved search")


def _step(seen: tuple[int, int, Sequence[int]]) -> tuple[int, int, list[tuple[int, int]]]:
    """Return a step without the slots that contain 0, because the number of slots grows with the members found."""
    before, tree, row = seen
    return before, tree, [(slot, number) for slot, number in enumerate(row) if number]


def sightings(
    tables: TransitionTables[S],
    seen: Sequence[Sequence[P]],
    steps_seen: StepsSeen[P],
    dead: Sequence[P],
    target: Callable[[P], S],
) -> dict[Property, list[Sighting[S]]]:
    """Return a dict that maps each property to the states and steps that violate it or, for a witness, satisfy it.

    Parameters:
        tables, seen, steps_seen: see `violated`.
        dead: the deadlocked states (states without a next state).
        target: a function that takes the identifier of a state and returns the state.
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


def enabled_counts(expander: Expander[S], last: int) -> NDArray[np.int64]:
    """Return, for each action instance, the number of states in which it is enabled.

    Parameters:
        expander: the expander, which holds the states and the transition tables.
        last: the index after the last state to count. All states before it must have been expanded. States that do not
            satisfy `Spec.within` are not counted.
    """
    tables = expander.tables
    found = np.zeros(tables.instances, np.int64)
    for first in range(0, last, BLOCK):
        indices = expander.indices_within(first, min(first + BLOCK, last))
        codes = expander.leaves(indices, 0, tables.instances)
        found += ((codes < 0) & (tables.leaf_count[np.maximum(-codes - 1, 0)] > 0)).sum(axis=0)
        # a path is unknown if it was not learned, or if it was forgotten
        for place, tree in np.argwhere(codes == 0).tolist():
            found[tree] += expander.is_enabled(tree, int(indices[place]))
    return found


def drawn_counts(
    expander: Expander[S], initials: int, expanded: int, generated: Sequence[int]
) -> list[dict[ActionInstance[S], int]]:
    """Count the steps of instances with drawn values.

    Parameters:
        expander: the expander, which holds the states and the transition tables.
        initials: the number of initial states.
        expanded: the number of states whose steps were all counted. They are the first states.
        generated: the number of steps of each instance in `Spec.instances`. If a limit interrupted the search, the
            number includes steps of the state that was being expanded.

    Returns:
        Three counts for each instance with drawn values: the states in which it is enabled, its steps, and its steps
        that led to a new state; see `InstanceCoverage`. If several instances with the same values in
        `ActionInstance.values` lead to the same new state, the step belongs to the one that `Spec.taken` chooses.
    """
    store, numbered, spec = expander.store, expander.tables.caller.numbered, expander.tables.spec
    enabled, taken, distinct = (Counter[int]() for _ in range(3))
    for tree in [tree for tree, instance in enumerate(spec.instances) if instance.action.drawn]:
        counted = 0
        for first in range(0, expanded, BLOCK):
            for states, steps in _by_leaf(expander, tree, expander.indices_within(first, min(first + BLOCK, expanded))):
                labels = Counter(label for label, _ in steps)
                counted += len(states) * len(steps)
                enabled.update(dict.fromkeys(labels, len(states)))
                taken.update({label: len(states) * times for label, times in labels.items()})
        if counted < generated[tree]:
            steps = expander.learner.steps(tree, expander.row(expanded))
            taken.update(label for label, _ in steps[: generated[tree] - counted])
        for first in range(initials, store.count, BLOCK):
            new = expander.indices_within(first, min(first + BLOCK, store.count))
            new = new[store.arrivals[new] == tree]
            for places, steps in _by_leaf(expander, tree, store.parents[new].astype(np.int64)):
                missing = new[places]
                for label, changes in sorted(steps, key=lambda step: numbered[step[0]].rank):
                    keep, put = np.array(store.packing.change(changes), np.uint64)
                    before = store.states[store.parents[missing]]
                    found = ((before & keep) | put == store.states[missing]).all(axis=1)
                    distinct[label] += int(np.count_nonzero(found))
                    missing = missing[~found]
    counts = enabled, taken, distinct
    return [{numbered[label]: count for label, count in each.items()} for each in counts]


def _by_leaf(
    expander: Expander[S], tree: int, indices: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], list[Outcome]]]:
    """Group states by the steps of an action instance that draws values. Call the action where they are not known.

    Parameters:
        expander: the expander, which holds the states and the transition tables.
        tree: the index of the action instance.

    Yields:
        The places in `indices` of states with the same steps, and these steps.
    """
    tables, codes = expander.tables, expander.leaves(indices, tree, 1)[:, 0]
    for code in np.unique(codes).tolist():
        places = np.flatnonzero(codes == code)
        if code:
            first = int(tables.leaf_start[-code - 1])
            yield places, tables.outcomes[first : first + int(tables.leaf_count[-code - 1])]
            continue
        for place in places.tolist():  # not learned, or forgotten
            expander.watch.pause()
            steps = expander.learner.steps(tree, expander.row(int(indices[place])))
            expander.learner.note_values()
            yield np.array([place]), steps


def field_coverage(expander: Expander[S], last: int) -> dict[str, FieldCoverage]:
    """Return the values that each field of the state takes during a search.

    Parameters:
        last: the index after the last state to inspect. States that do not satisfy `Spec.within` are skipped.
    """
    store, layout = expander.store, expander.layout
    packing, values = store.packing, FieldValues()
    name = type(layout.state([0] * layout.slots)).__name__
    parts = [(node, path, apart, _slots(node)) for node, path, apart in _parts(layout.root, name)]
    met: list[set[bytes]] = [set() for _ in parts]
    for first in range(0, last, BLOCK):
        states = store.states[expander.indices_within(first, min(first + BLOCK, last))]
        for (node, path, apart, slots), known in zip(parts, met, strict=True):
            held = [slot for slot in slots if slot < len(packing.sizes)]
            numbers = (states[:, packing.word[held]] >> packing.shift[held]) & packing.mask[held]
            if len(known) > coverage.MOST_VALUES:
                values.stop(path)
                continue
            for row in np.unique(numbers, axis=0) if len(numbers) else ():
                if row.tobytes() not in known:
                    known.add(row.tobytes())
                    whole = [0] * layout.slots
                    for slot, number in zip(held, row.tolist(), strict=True):
                        whole[slot] = number
                    values.add(layout.part(node, whole), path, apart)
    return values.fields


def _parts(node: Node, path: str, apart: bool = False) -> Iterator[tuple[Node, str, bool]]:
    """For each part of a state, yield the part, its path, and whether it is a component."""
    if isinstance(node, Struct):
        for field in attrs.fields(node.cls):
            if field.name in node.children:
                yield from _parts(node.children[field.name], f"{path}.{field.name}", is_component(field))
    elif isinstance(node, Parts) and (apart or node.whole):
        for element in node.elements:
            yield from _parts(element, f"{path}[]", True)
    else:
        yield node, path, apart


def _slots(node: Node) -> Sequence[int]:
    if isinstance(node, Leaf):
        return [node.slot]
    if isinstance(node, Struct | Parts):
        further = [slot for collection in node.collections for slot in collection.slots]
        return [*range(node.slots.start, node.slots.stop), *further]
    return node.slots
