"""Takes many steps of a single walk at a time. A round of one state would take far longer for each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled.block_parts import BlockParts
from leadline.checker.engines.compiled.buffers import Buffers, UnlearnedSteps
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.engines.random import kernel

AT_ONCE = 1024
"""The maximum number of steps that are taken at a time."""


class Ahead(NamedTuple):
    """Steps that a walk has taken.

    Attributes:
        states: the packed states before the steps, followed by the state of the walk now.
        hashes: the content hash of each of these states.
        degrees, trees: for each step, the number of steps from its state, and its action instance.
        keys: the hashes of the states or steps that were checked; see `Next.known`.
        looked: the number of steps from all of the states.
        enabled: for each action instance, the number of states in which it is enabled.
    """

    states: NDArray[np.uint64]
    hashes: NDArray[np.uint64]
    degrees: NDArray[np.int64]
    trees: NDArray[np.int64]
    keys: NDArray[np.uint64]
    looked: int
    enabled: NDArray[np.int64]


def ahead(
    expander: Expander[Any],
    walk: tuple[np.uint64, int, int],
    most: int,
    hashed: np.uint64,
    known: NDArray[np.uint64],
    hashing: Sequence[NDArray[Any]],
    of_states: Sequence[bool],
    of_steps: Sequence[bool],
    *,
    uniform: bool,
) -> Ahead:
    """Take steps of a walk as long as they need no call and nothing is found; see `kernel.follow`.

    Parameters:
        expander: its store contains the state of the walk.
        walk: the seed of the search, the number of the walk, and the number of steps that it has taken.
        most: the maximum number of steps to take.
        hashed: the content hash of the state.
        known: the table of found states.
        hashing: see `kernel.hash_next`.
        of_states, of_steps: for each predicate on states and on steps, whether it is evaluated.
        uniform: whether only the steps taken are checked.

    Raises:
        NotRecorded: if a sample of the steps shows that a learned result is wrong.
    """
    tables, packing, learner = expander.tables, expander.store.packing, expander.learner
    words, most, first_tree = packing.words, min(most, AT_ONCE), tables.instances
    states, now = np.zeros((2, words), np.uint64), np.array([hashed], np.uint64)
    states[0] = expander.store.states[0]
    parts, judged_parts = (BlockParts(first, first + 1, 1, expander.layout.slots, expander.tuning) for first in (0, 1))
    buffers = Buffers(1, AT_ONCE, words, len(tables.step_checks), 1, draws=len(tables.labels) > 0)
    packed, reads = expander.store.packed._replace(states=states), tables.reads[len(of_states) :]
    wanted = np.array([*of_states, *(of_steps if uniform else ())], np.bool_)
    expanding = (
        parts.of(0), packed, UnlearnedSteps([], packing).arrays, buffers.of(0),
        np.array(of_steps, np.bool_) & (not uniform), learner.enabled_index(renew=False).arrays, tables.first_step,
        reads, tables.arrays,
    )  # fmt: skip
    judging = (
        judged_parts.of(0), np.zeros(2, expander.store.parents.dtype), np.arange(len(wanted)) < len(of_states),
        tables.reads, wanted, np.zeros((1, len(wanted)), np.bool_), first_tree,
    )  # fmt: skip
    room = max(AT_ONCE, 2 * most)
    judged, keys, looked = np.zeros((room, words), np.uint64), np.zeros(room, np.uint64), np.zeros(1, np.int64)
    visited, hashes = np.zeros((most + 1, words), np.uint64), np.zeros(most + 1, np.uint64)
    degrees, trees, enabled = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(tables.instances, np.int64)
    within = len(of_states) - 1 if tables.spec.constraint is not None else -1
    seed, number, steps = walk
    taken, judges = kernel.follow(
        seed, number, steps, most, uniform, within, now, known, expanding, judging, tuple(hashing),
        (visited, hashes, degrees, trees, judged, keys, looked, enabled),
    )  # fmt: skip
    visited[taken], hashes[taken] = states[0], now[0]
    if taken:
        learner.compare(visited, 0, taken)
        learner.verification.actions(visited, packing, np.arange(taken), 0 if uniform else int(looked[0]))
        shown = np.zeros((judges, len(of_states)), np.bool_)
        learner.verification.predicates(judged, packing, 0, of_states, shown)
    states, hashes = visited[: taken + 1], hashes[: taken + 1]
    return Ahead(states, hashes, degrees[:taken], trees[:taken], keys[:judges], int(looked[0]), enabled)
