"""Compiled loops over the graph of all states and steps, for liveness properties.

For each step, ``targets`` contains the next state, and ``labels`` the number of the action instance in
`Caller.numbered`. The steps of state
``s`` are stored from index ``starts[s]`` up to, but not including, ``starts[s + 1]``. A step that leads back to ``s``
does not count for fairness.

Fairness conditions are bits: ``bits[label]`` contains a row of words in which the bit of the condition of an action
instance is set. Steps of an action instance are ignored if its entry in ``dropped`` is true.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc"

from __future__ import annotations

import numpy as np

from leadline.checker.engines.compiled.kernel import BATCH, HALF, LOW, SHOWN_BY_STEP, _first_place, _same
from leadline.checker.engines.learning.loop_cache import njit
from leadline.checker.engines.learning.trees import ONE

NOWHERE = 2**32 - 1
"""The predecessor of a state that a search has not reached."""

MOST_STATES = 2**31
"""The maximum number of states in a graph, because `strongly_connected` needs three numbers for two states."""

MOST_STEPS = 2**32 - 1
"""The maximum number of steps in a graph."""


@njit(nogil=True)
def add_rows(
    first, last, filled, generated, kept, regions, is_fair, conditions, start, starts, targets, labels, settled, marks
):  # fmt: skip
    """Add the steps from one part of a block of states to the graph.

    Parameters:
        first, last: the range of states in the part, excluding `last`.
        filled: the number of steps.
        kept: the `Kept` arrays of the search.
        regions: the number of regions of the hash table.
        is_fair: for each action instance, whether it has a fairness condition.
        conditions: the predicates on steps that occur in formulas.
        start: the position of the first step in the graph.
        starts, targets, labels: the graph (outputs).
        settled: an output. For each state, whether no fairness condition is enabled in it.
        marks: an output. For each step, a word in which bit ``i`` is set if predicate ``conditions[i]`` is true. Unused
            if there are no conditions.

    Returns:
        Two numbers. The first is the number of next states that the search has not found. It is 0 if the spec's actions
        are pure functions. The second is meaningless; see `kernel.insert`.
    """
    begins, found, hashes, parents, trees, drawn, _, _, _, shown = generated
    states, _, _, _, table = kept
    size, missing, touched = len(table) // regions, 0, np.uint64(0)
    entries, number = np.empty(BATCH, np.uint64), 0
    while number < filled:
        taken = min(BATCH, filled - number)
        for other in range(taken):  # see `kernel.insert`
            entries[other] = table[_first_place(hashes[number + other], len(table))]
        for other in range(taken):
            touched ^= states[max(np.int64(entries[other] & LOW) - 1, 0), 0]
        for other in range(number, number + taken):
            mixed = hashes[other]
            place = _first_place(mixed, len(table))
            low = place // size * size
            while True:
                entry = table[place]
                if entry == 0:
                    missing += 1
                    break
                if entry >> HALF == mixed & LOW:
                    same = np.int64(entry & LOW) - 1
                    if _same(found, other, states, same):
                        hashes[other] = np.uint64(same)
                        break
                place += 1
                if place == low + size:
                    place = low
        number += taken
    if missing:
        return missing, touched
    for index in range(first, last):
        starts[index] = start
        place, is_settled = begins[index - first], True
        while place < filled and parents[place] == index:
            targets[start] = hashes[place]
            labels[start] = drawn[place] if len(drawn) and drawn[place] else trees[place]
            is_settled = is_settled and (targets[start] == index or not is_fair[trees[place]])
            for bit in range(len(conditions)):
                if shown[place, conditions[bit]] == SHOWN_BY_STEP:
                    marks[start] |= ONE << np.uint64(bit)
            start += 1
            place += 1
        settled[index] = is_settled
    return missing, touched


@njit(nogil=True)
def strongly_connected(starts, targets, labels, dropped, inside, component):
    """Find the strongly connected components of a part of the graph, with Pearce's variant of Tarjan's algorithm.

    See D. J. Pearce, "A space-efficient algorithm for finding strongly connected components" (2016).

    Parameters:
        starts, targets, labels, dropped: see the docstring of the module.
        inside: for each state, whether it belongs to the part.
        component: an output. For each state of the part, the number of its component, from 1, or 0 if the component is
            a single state. The array must be filled with zeros.

    Returns:
        The number of components with at least two states, and the number of components with one state.
    """
    states = len(inside)
    alone = np.uint32(NOWHERE)
    stack, calls, places = np.empty(states, np.uint32), np.empty(states, np.uint32), np.empty(states, np.uint32)
    is_root = np.empty(states, np.bool_)  # by the depth of the call, as `calls` and `places`
    top, index, number, single = 0, np.uint32(1), alone, 0
    for first in range(states):
        if not inside[first] or component[first] != 0:
            continue
        calls[0], places[0], is_root[0], depth = first, starts[first], True, 1
        component[first] = index
        index += np.uint32(1)
        while depth > 0:
            state, place = calls[depth - 1], places[depth - 1]
            if place < starts[state + 1]:
                places[depth - 1] += np.uint32(1)
                after = targets[place]
                if dropped[labels[place]] or not inside[after]:
                    continue
                if component[after] == 0:
                    calls[depth], places[depth], is_root[depth] = after, starts[after], True
                    component[after] = index
                    index += np.uint32(1)
                    depth += 1
                elif component[after] < component[state]:
                    component[state] = component[after]
                    is_root[depth - 1] = False
                continue
            depth -= 1
            if not is_root[depth]:
                stack[top] = state
                top += 1
            else:
                index -= np.uint32(1)
                if top > 0 and component[stack[top - 1]] >= component[state]:
                    number -= np.uint32(1)
                    while top > 0 and component[stack[top - 1]] >= component[state]:
                        top -= 1
                        component[stack[top]] = number
                        index -= np.uint32(1)
                    component[state] = number
                else:
                    component[state] = alone
                    single += 1
            if depth > 0 and component[state] < component[calls[depth - 1]]:
                component[calls[depth - 1]] = component[state]
                is_root[depth - 1] = False
    for state in range(states):
        if inside[state]:
            component[state] = alone - component[state]
    return np.int64(alone - number), single


@njit(nogil=True)
def describe(starts, targets, labels, dropped, component, bits, again, some, each, taken, sizes, has):
    """Describe the components that have at least two states.

    Parameters:
        starts, targets, labels, dropped, bits: see the docstring of the module.
        component: see `strongly_connected`.
        again: for each state, whether the violation happens in it.
        some, each, taken: outputs. For each component, the conditions that are enabled in some state, enabled in each
            state, and taken by some step in the component. The arrays must be filled with zeros.
        sizes, has: outputs. For each component, the number of its states, and whether one of them is in `again`. The
            arrays must be filled with zeros.
    """
    words = bits.shape[1]
    own = np.empty(words, np.uint64)
    for state in range(len(component)):
        number = component[state]
        if number == 0:
            continue
        own[:] = 0
        for place in range(starts[state], starts[state + 1]):
            label, after = labels[place], targets[place]
            if after == state:
                continue
            for word in range(words):
                own[word] |= bits[label, word]
            if component[after] == number and not dropped[label]:
                for word in range(words):
                    taken[number, word] |= bits[label, word]
        for word in range(words):
            each[number, word] = own[word] if sizes[number] == 0 else each[number, word] & own[word]
            some[number, word] |= own[word]
        sizes[number] += 1
        has[number] |= again[state]


@njit(nogil=True)
def leave_out(starts, targets, labels, component, bits, divided, starved, inside):
    """Leave out the states that no fair behaviour can visit again and again without leaving their component.

    Parameters:
        starts, targets, labels, bits: see the docstring of the module.
        component: see `strongly_connected`.
        divided: for each component, whether some of its states may remain.
        starved: for each component, the strong conditions that are enabled in the component but never taken in it.
            States in which one of them is enabled are left out.
        inside: an output. For each state, whether it remains.
    """
    for state in range(len(component)):
        number = component[state]
        inside[state] = divided[number]
        for place in range(starts[state], starts[state + 1] if divided[number] else starts[state]):
            if targets[place] != state:
                for word in range(bits.shape[1]):
                    if bits[labels[place], word] & starved[number, word]:
                        inside[state] = False


@njit(nogil=True)
def spread(starts, targets, begun, inside, levels, order, before):
    """Find the shortest paths on which a violation begins and continues.

    Parameters:
        starts, targets: see the docstring of the module.
        begun: for each state, whether a violation can begin in it.
        inside: for each state, whether the violation can continue in it.
        levels: the first state of each level of the breadth-first search that found the states, followed by the number
            of states.
        order: an output. The states that such a path reaches, sorted by the number of steps from an initial state.
        before: an output. For each of these states, its predecessor, or itself if the violation begins in it. The array
            must be filled with `NOWHERE`.

    Returns:
        The number of states reached.
    """
    count, at = 0, 0
    for level in range(len(levels)):
        for state in range(levels[level], levels[level + 1] if level + 1 < len(levels) else levels[level]):
            if begun[state] and before[state] == NOWHERE:
                before[state] = state
                order[count] = state
                count += 1
        until = count
        while at < (until if level + 1 < len(levels) else count):
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
def nearest(
    starts, targets, labels, dropped, component, bits, weak, again, start, missing, visit, goal, before, order
):  # fmt: skip
    """Search the component of a state for the nearest step that satisfies one of several conditions.

    Parameters:
        starts, targets, labels, dropped, bits: see the docstring of the module.
        component: see `strongly_connected`.
        weak: the bits of the weak conditions.
        again: for each state, whether the violation happens in it.
        missing: the fairness conditions to satisfy. A weak condition is also satisfied by a state in which it is not
            enabled.
        visit: whether a visit to a state in `again` is one of the conditions.
        goal: a state to reach instead of satisfying one of the conditions, or -1.
        before: for each state that is visited, its predecessor (an output). The array must be filled with `NOWHERE`.
        order: an output. The states that are visited.

    Returns:
        The state before the step, the state after it, and the number of visited states. Both states are -1 if there is
        no such step.
    """
    words = bits.shape[1]
    left = np.empty(words, np.uint64)
    order[0], before[start] = start, start
    at, count = 0, 1
    while at < count:
        state = np.int64(order[at])
        at += 1
        for place in range(starts[state], starts[state + 1]):
            label, after = labels[place], np.int64(targets[place])
            if after == state or dropped[label] or component[after] != component[start]:
                continue
            is_found = after == goal
            if goal < 0:
                is_found = visit and again[after]
                for word in range(words):
                    is_found |= bits[label, word] & missing[word] != 0
                    left[word] = missing[word] & weak[word]
                if before[after] == NOWHERE and not is_found:
                    for other in range(starts[after], starts[after + 1]):
                        if targets[other] != after:
                            for word in range(words):
                                left[word] &= ~bits[labels[other], word]
                    for word in range(words):
                        is_found |= left[word] != 0
            if is_found:
                return state, after, count
            if before[after] == NOWHERE:
                before[after] = state
                order[count] = after
                count += 1
    return -1, -1, count


@njit(nogil=True)
def add_recovering(starts, targets, labels, dropped, recovered):
    """Mark all states from which a marked state can be reached.

    Parameters:
        starts, targets, labels, dropped: see the docstring of the module.
        recovered: for each state, whether it is marked.
    """
    states = len(recovered)
    begins = np.zeros(states + 1, np.uint32)
    for place in range(starts[states]):
        if not dropped[labels[place]]:
            begins[targets[place] + 1] += np.uint32(1)
    for state in range(states):
        begins[state + 1] += begins[state]
    sources = np.empty(begins[states], np.uint32)
    for state in range(states):
        for place in range(starts[state], starts[state + 1]):
            if not dropped[labels[place]]:
                sources[begins[targets[place]]] = state
                begins[targets[place]] += np.uint32(1)
    # `begins[state]` is now the end of the row of `state`, which begins at the end of the row before it
    order, count, at = np.empty(states, np.uint32), 0, 0
    for state in range(states):
        if recovered[state]:
            order[count] = state
            count += 1
    while at < count:
        state = order[at]
        for place in range(begins[state - 1] if state else 0, begins[state]):
            source = sources[place]
            if not recovered[source]:
                recovered[source] = True
                order[count] = source
                count += 1
        at += 1


@njit()
def _fits(letter, transition):
    return letter & transition[0] == transition[0] and letter & transition[1] == 0


@njit(nogil=True)
def multiply(
    starts, targets, labels, letters, marks, meaning, changes, begins, transitions, decided_begins, decided, number,
    pairs, before, count, wait, product_starts, product_targets, product_labels, stops,
):  # fmt: skip
    """Find the pairs of a state and an automaton's state that behaviours can reach, and the steps between them.

    See `leadline.checker.liveness.product`. The rows are those of the graph. Where the automaton has no transition for
    a step, the step leads to the last row, which is empty. So the conditions that are enabled in a pair are those of
    its state. A step that does not change the state is replaced by one with the label `wait`.

    Parameters:
        starts, targets, labels: see the docstring of the module.
        letters: for each state, the bits of the predicates that are true in it; see `Automaton`.
        marks: see `add_rows`.
        meaning: for each bit of `marks`, the bit of the automaton's letter, or 0.
        changes: the bit of a letter for a step that changes the state.
        begins, transitions: the transitions of the automaton's state ``q`` are those from ``begins[q]`` up to, but not
            including, ``begins[q + 1]``. Each has the bits that must be set, those that must not, and the next state.
        decided_begins, decided: the same for the transitions in `Automaton.decided`. Empty if they do not matter.
        number: for each state and each state of the automaton, the number of the pair, from 1, or 0 if it is not found.
        pairs: for each pair, the state times the number of the automaton's states, plus the automaton's state.
        before: for each pair, its predecessor on a shortest path, or itself.
        count: the number of pairs in `pairs`. At first, the pairs of the initial states.
        wait: see above.
        product_starts, product_targets, product_labels: the rows of the product (outputs). If `product_targets` is
            empty, the steps are only counted.
        stops: an output. For each pair, whether a behaviour may stay in it for ever without a step.

    Returns:
        The number of pairs, the number of steps, and the first pair in which the automaton accepts whatever follows, or
        -1.
    """
    own, filled, at, is_written = len(begins) - 1, np.int64(0), 0, len(product_targets) > 0
    while at < count:
        state, inner = np.int64(pairs[at] // np.uint64(own)), np.int64(pairs[at] % np.uint64(own))
        for place in range(decided_begins[inner], decided_begins[inner + 1]):
            if _fits(letters[state], decided[place]):
                return count, filled, at
        if is_written:
            product_starts[at] = filled
        for place in range(np.int64(starts[state]) - 1, starts[state + 1]):
            is_step = place >= starts[state]  # before the steps of the state, it stays the same
            after, letter = state, letters[state]
            if is_step:
                after, letter = np.int64(targets[place]), letter | changes
                if after == state:
                    continue
                for bit in range(len(meaning)):
                    if marks[place] >> np.uint64(bit) & ONE:
                        letter |= meaning[bit]
            is_blocked = is_step
            for way in range(begins[inner], begins[inner + 1]):
                if not _fits(letter, transitions[way]):
                    continue
                is_blocked = False
                pair = np.uint64(after) * np.uint64(own) + transitions[way, 2]
                if number[pair] == 0:
                    pairs[count] = pair
                    before[count] = at
                    count += 1
                    number[pair] = count
                if is_written:
                    stops[at] |= number[pair] - 1 == at
                    product_targets[filled] = number[pair] - 1
                    product_labels[filled] = labels[place] if is_step else wait
                filled += 1
            if is_blocked:
                if is_written:
                    product_targets[filled] = count
                    product_labels[filled] = labels[place]
                filled += 1
        at += 1
    if is_written:
        product_starts[count], product_starts[count + 1] = filled, filled
    return count, filled, np.int64(-1)
