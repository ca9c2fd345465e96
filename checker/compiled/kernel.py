"""The compiled loops: walking decision trees for a block of states, and the set of packed states."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc"

from __future__ import annotations

import numba
import numpy as np

DONE, LEARN_ACTION, LEARN_STEP, FULL, LIMIT = 0, 1, 2, 3, 4
"""How `expand` ends: all done; an action or a step predicate met an unknown path; a table is full; the
limit on states is reached."""

INDEX, TREE, STATES, DEGREE, EXPANDED, DEADLOCKS, FEWEST, MOST, OUTCOME, PREDICATE = range(10)
"""What `expand` keeps between calls: the state and action instance to go on with; how many states there
are; steps from the current state so far; states expanded, deadlocks among them, fewest and most steps from
one; the outcome and the step predicate that are not known."""

NOT_SHOWN, SHOWN = -1, -2
"""The leaves of a predicate's tree: whether it gives evidence, a violation or a witness."""


@numba.njit(cache=True, inline="always")
def _code(root, row, second, slots, node_slot, node_base, node_room, edges, word, shift, mask):
    """The leaf that a state reaches in a tree, 0 if the path is not known.

    A slot number beyond the first state's slots is of a second state.
    """
    code = root
    while code > 0:
        node = code - 1
        slot = node_slot[node]
        if slot < slots:
            number = np.int64((row[word[slot]] >> shift[slot]) & mask[slot])
        else:
            slot -= slots
            number = np.int64((second[word[slot]] >> shift[slot]) & mask[slot])
        if number >= node_room[node]:
            return 0
        code = edges[node_base[node] + number]
    return code


@numba.njit(cache=True, inline="always")
def _hash(row, words):
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for index in range(words):
        mixed ^= row[index]
        mixed *= np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(32)
    return mixed


@numba.njit(cache=True, nogil=True)
def insert_all(states, first, last, table):
    """Enter states that are known to be different into an empty table."""
    words = states.shape[1]
    room = np.uint64(len(table) - 1)
    for index in range(first, last):
        place = _hash(states[index], words) & room
        while table[place] != 0:
            place = (place + np.uint64(1)) & room
        table[place] = index + 1


@numba.njit(cache=True, nogil=True)
def expand(
    cursor, last, max_states, states, parents, arrivals, table, counts,
    roots, step_roots, verdicts, seen, sightings, dead,
    node_slot, node_base, node_room, edges, leaf_start, leaf_count, keep, put, word, shift, mask,
):  # fmt: skip
    """Generate the next states of the states from the cursor's up to the last."""
    words = states.shape[1]
    slots = len(word)
    room = np.uint64(len(table) - 1)
    new = np.empty(words, np.uint64)
    space = min(len(states), len(table) // 3 * 2)
    index, first_tree, count, degree = cursor[INDEX], cursor[TREE], cursor[STATES], cursor[DEGREE]
    status = DONE
    while index < last and status == DONE:
        row = states[index]
        for tree in range(first_tree, len(roots)):
            code = _code(roots[tree], row, row, slots, node_slot, node_base, node_room, edges, word, shift, mask)
            if code == 0:
                status = LEARN_ACTION
                first_tree = tree
                break
            start = leaf_start[-code - 1]
            stop = start + leaf_count[-code - 1]
            if start == stop:
                continue
            if count + stop - start > space:
                status = FULL
                first_tree = tree
                break
            # nothing is counted before all step predicates are known, so that this can be taken up again
            for outcome in range(start, stop if len(step_roots) else start):
                for part in range(words):
                    new[part] = (row[part] & keep[outcome, part]) | put[outcome, part]
                for predicate in range(len(step_roots)):
                    verdict = _code(
                        step_roots[predicate], row, new, slots,
                        node_slot, node_base, node_room, edges, word, shift, mask,
                    )  # fmt: skip
                    verdicts[outcome - start, predicate] = verdict
                    if verdict == 0 and status == DONE:
                        status = LEARN_STEP
                        cursor[OUTCOME], cursor[PREDICATE] = outcome, predicate
            if status != DONE:
                first_tree = tree
                break
            for outcome in range(start, stop):
                for part in range(words):
                    new[part] = (row[part] & keep[outcome, part]) | put[outcome, part]
                place = _hash(new, words) & room
                known = False
                while table[place] != 0 and not known:
                    other = table[place] - 1
                    known = True
                    for part in range(words):
                        if states[other, part] != new[part]:
                            known = False
                            break
                    if not known:
                        place = (place + np.uint64(1)) & room
                if not known:
                    if count == max_states:
                        status = LIMIT
                        break
                    for part in range(words):
                        states[count, part] = new[part]
                    parents[count] = index
                    arrivals[count] = tree
                    count += 1
                    table[place] = count
                    counts[tree, 1] += 1
                counts[tree, 0] += 1
                degree += 1
                for predicate in range(len(step_roots)):
                    if verdicts[outcome - start, predicate] == SHOWN and seen[predicate] < sightings.shape[1]:
                        sightings[predicate, seen[predicate], 0] = index
                        sightings[predicate, seen[predicate], 1] = tree
                        sightings[predicate, seen[predicate], 2] = outcome
                        seen[predicate] += 1
            if status != DONE:
                first_tree = tree
                break
        if status != DONE:
            break
        if degree == 0:
            if cursor[DEADLOCKS] < len(dead):
                dead[cursor[DEADLOCKS]] = index
            cursor[DEADLOCKS] += 1
        if cursor[EXPANDED] == 0 or degree < cursor[FEWEST]:
            cursor[FEWEST] = degree
        cursor[MOST] = max(cursor[MOST], degree)
        cursor[EXPANDED] += 1
        degree = 0
        first_tree = 0
        index += 1
    cursor[INDEX], cursor[TREE], cursor[STATES], cursor[DEGREE] = index, first_tree, count, degree
    return status


@numba.njit(cache=True, nogil=True)
def check(
    cursor, last, states, roots, seen, sightings,
    node_slot, node_base, node_room, edges, word, shift, mask,
):  # fmt: skip
    """Evaluate state predicates from the cursor's state and predicate up to the last state.

    Returns whether it stopped at an unknown path.
    """
    slots = len(word)
    for index in range(cursor[INDEX], last):
        row = states[index]
        for tree in range(cursor[TREE], len(roots)):
            if seen[tree] >= sightings.shape[1]:
                continue
            code = _code(roots[tree], row, row, slots, node_slot, node_base, node_room, edges, word, shift, mask)
            if code == 0:
                cursor[INDEX], cursor[TREE] = index, tree
                return True
            if code == SHOWN:
                sightings[tree, seen[tree]] = index
                seen[tree] += 1
        cursor[TREE] = 0
    cursor[INDEX] = last
    return False


@numba.njit(cache=True, nogil=True)
def steps_into(
    first, last, states, table, marked, found,
    roots, node_slot, node_base, node_room, edges, leaf_start, leaf_count, keep, put, word, shift, mask,
):  # fmt: skip
    """Find the steps from a block of states into marked states, all of whose paths are known.

    Each is entered in ``found`` as (state before, action instance, marked state), as far as there is room.
    Returns how many there are.
    """
    words = states.shape[1]
    room = np.uint64(len(table) - 1)
    new = np.empty(words, np.uint64)
    count = 0
    for index in range(first, last):
        row = states[index]
        for tree in range(len(roots)):
            code = _code(roots[tree], row, row, len(word), node_slot, node_base, node_room, edges, word, shift, mask)
            start = leaf_start[-code - 1]
            for outcome in range(start, start + leaf_count[-code - 1]):
                for part in range(words):
                    new[part] = (row[part] & keep[outcome, part]) | put[outcome, part]
                place = _hash(new, words) & room
                while table[place] != 0:
                    other = table[place] - 1
                    same = True
                    for part in range(words):
                        if states[other, part] != new[part]:
                            same = False
                            break
                    if same:
                        if marked[other]:
                            if count < len(found):
                                found[count, 0], found[count, 1], found[count, 2] = index, tree, other
                            count += 1
                        break
                    place = (place + np.uint64(1)) & room
    return count
