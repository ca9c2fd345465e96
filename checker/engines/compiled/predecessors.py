"""Predecessors: the steps into some states, found again when a trace needs more than the one that the search kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.block_parts import BlockParts
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.engines.learning.forest import with_room

Steps = list[tuple[int, int, int]]
"""Steps: the state before, the action instance, and the place of the state after among the targets."""


def steps_into(expander: Expander[Any], targets: Callable[[], NDArray[np.uint64]], first: int, last: int) -> Steps:
    """Find the steps into some states.

    Parameters:
        expander: has the states before.
        targets: gives the states after, packed as all are at the time of the call.
        first, last: the first of the states before, and their end.

    Returns:
        The steps, in the order of the states before.

    Raises:
        StopSearch: the time or the memory is used up.
    """
    tables, threads = expander.tables, expander.workers
    parts = BlockParts(first, last, 1, expander.layout.slots, expander.tuning)
    steps, more = np.zeros((64, 3), np.int64), Steps()
    table = np.empty(4 * len(targets()), np.uint64)
    while parts.busy:
        store, packed = expander.store, targets()
        parts.fit(len(store.packing.sizes))
        threads.run(kernel.rebuild, [(0, 1, 0, len(packed), packed, table)])
        (full,) = threads.run(
            kernel.steps_into,
            [(parts.of(0), store.packed, packed, table, steps, tables.instances, tables.arrays)],
        )
        for part in expander.learn(parts, last):  # an earlier run knew it, it was forgotten, or it was not learned
            more += _called(expander, parts.that_wait(part).tolist(), packed)
            parts.cursors[part, kernel.WAITING] = 0
        steps = with_room(steps, len(steps) + tables.most_outcomes if full else 0)
    found = [(before, tree, target) for before, tree, target in steps[: parts.cursors[0, kernel.FILLED]].tolist()]
    return sorted(found + more)


def _called(expander: Expander[Any], indices: list[int], targets: NDArray[np.uint64]) -> Steps:
    """The same, by calling the action instances whose paths are not known.

    Parameters:
        expander: has the states before.
        indices: the states before.
        targets: the states after, packed as all are.
    """
    wanted = {target.tobytes(): number for number, target in enumerate(targets)}
    tables, packing, found = expander.tables, expander.store.packing, Steps()
    for index in indices:
        if not expander.within(index, index + 1):
            continue
        row = expander.row(index)
        for tree in range(tables.instances):
            steps = tables.steps(tree, row)
            for step in tables.caller.steps(tree, row) if steps is None else steps:
                after = packing.pack(tables.caller.row_after(row, step)).tobytes()
                if after in wanted:
                    found.append((index, tree, wanted[after]))
    return found
