"""Compiled loops over the graph of all states and steps, for liveness properties.

The graph is stored by rows: the steps of state ``s`` are the entries from ``starts[s]`` to ``starts[s + 1]`` of
``targets``, which contains the next states, and ``labels``, which contains the action instances. Steps that do not
change the state are left out.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc"

from __future__ import annotations

import numpy as np

from leadline.checker.engines.compiled.kernel import HALF, LOW, _first_place, _same
from leadline.checker.engines.learning.loop_cache import njit

NOWHERE = 2**32 - 1
"""The predecessor of a state that `spread` did not reach."""


@njit(nogil=True)
def find_targets(filled, found, hashes, regions, states, table, targets):
    """Write the index of each of the first `filled` packed states in `found` to `targets`.

    Returns:
        The number of states that are not in the hash table, which is 0 after a complete search.
    """
    size, missing = len(table) // regions, 0
    for number in range(filled):
        mixed = hashes[number]
        place = _first_place(mixed, len(table))
        low = place // size * size
        while True:
            entry = table[place]
            if entry == 0:
                missing += 1
                break
            if entry >> HALF == mixed & LOW:
                index = np.int64(entry & LOW) - 1
                if _same(found, number, states, index):
                    targets[number] = index
                    break
            place += 1
            if place == low + size:
                place = low
    return missing


@njit(nogil=True)
def strongly_connected(starts, targets, labels, dropped, inside, component):
    """Find the strongly connected components of a part of the graph, with Pearce's variant of Tarjan's algorithm.

    Parameters:
        starts, targets, labels: the graph.
        dropped: for each action instance, whether its steps are left out.
        inside: for each state, whether it belongs to the part.
        component: an output. For each state of the part, the number of its component. It must contain zeros.

    Returns:
        The number of components.
    """
    states = len(inside)
    last = np.uint32(NOWHERE)
    stack, calls, places = np.empty(states, np.uint32), np.empty(states, np.uint32), np.empty(states, np.int64)
    is_root = np.ones(states, np.bool_)
    top, index, number = 0, np.uint32(1), last
    for first in range(states):
        if not inside[first] or component[first] != 0:
            continue
        calls[0], places[0], depth = first, starts[first], 1
        component[first] = index
        index += np.uint32(1)
        while depth > 0:
            state = calls[depth - 1]
            place = places[depth - 1]
            if place < starts[state + 1]:
                places[depth - 1] += 1
                after = targets[place]
                if dropped[labels[place]] or not inside[after]:
                    continue
                if component[after] == 0:
                    calls[depth], places[depth] = after, starts[after]
                    component[after] = index
                    index += np.uint32(1)
                    depth += 1
                elif component[after] < component[state]:
                    component[state] = component[after]
                    is_root[state] = False
                continue
            depth -= 1
            if is_root[state]:
                index -= np.uint32(1)
                while top > 0 and component[stack[top - 1]] >= component[state]:
                    top -= 1
                    component[stack[top]] = number
                    index -= np.uint32(1)
                component[state] = number
                number -= np.uint32(1)
            else:
                stack[top] = state
                top += 1
            if depth > 0:
                before = calls[depth - 1]
                if component[state] < component[before]:
                    component[before] = component[state]
                    is_root[before] = False
    for state in range(states):
        if inside[state]:
            component[state] = last - component[state]
    return np.int64(last - number)


@njit(nogil=True)
def summarise(starts, targets, labels, dropped, inside, component, bits, again, enabled, some, each, taken, sizes, has):
    """Describe the components of a part of the graph.

    Parameters:
        starts, targets, labels, dropped, inside, component: see `strongly_connected`.
        bits: for each action instance, the bit of its fairness condition, or 0.
        again: for each state, whether the violation happens in it.
        enabled: an output. For each state, the conditions that are enabled in it.
        some, each, taken: outputs. For each component, the conditions that are enabled in some state, enabled in each
            state, and taken by some step in the component.
        sizes, has: outputs. For each component, the number of its states, and whether one of them is in `again`.
    """
    for state in range(len(inside)):
        if not inside[state]:
            continue
        own, number = np.uint64(0), component[state]
        for place in range(starts[state], starts[state + 1]):
            bit, after = bits[labels[place]], targets[place]
            own |= bit
            if inside[after] and component[after] == number and not dropped[labels[place]]:
                taken[number] |= bit
        enabled[state] = own
        each[number] = own if sizes[number] == 0 else each[number] & own
        some[number] |= own
        sizes[number] += 1
        has[number] |= again[state]


@njit(nogil=True)
def spread(starts, targets, inside, order, count, before):
    """Search breadth-first from the first `count` states in `order`, through the states of a part of the graph.

    Parameters:
        starts, targets: the graph.
        inside: for each state, whether it belongs to the part.
        order: an output. The states, in the order in which the search reaches them.
        count: the number of states with which the search begins.
        before: an output. For each state reached, its predecessor, or itself. It must contain `NOWHERE` for all others.

    Returns:
        The number of states reached.
    """
    at = 0
    while at < count:
        state = order[at]
        for place in range(starts[state], starts[state + 1]):
            after = targets[place]
            if inside[after] and before[after] == NOWHERE:
                before[after] = state
                order[count] = after
                count += 1
        at += 1
    return count


@njit(nogil=True)
def add_recovering(starts, targets, labels, dropped, recovered):
    """Mark all states from which a marked state can be reached.

    Parameters:
        starts, targets, labels, dropped: see `strongly_connected`.
        recovered: for each state, whether it is marked.
    """
    changed = True
    while changed:
        changed = False
        for back in range(len(recovered)):
            state = len(recovered) - 1 - back
            if recovered[state]:
                continue
            for place in range(starts[state], starts[state + 1]):
                if recovered[targets[place]] and not dropped[labels[place]]:
                    recovered[state] = changed = True
                    break
