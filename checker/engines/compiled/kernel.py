"""The compiled loops, which expand a block of packed states and store the new states.

A packed state consists of 64-bit words. A slot is a group of bits that contains the index of one value of the state.
Each action instance and each predicate has a decision tree: each node reads a slot, and a leaf holds the result. If a
path through a tree is unknown, because it has not been learned yet, the loop records the path and defers the state. A
later call to the loop processes the state, after the spec's function has been called.

A block is processed in three passes. `expand` generates the next states of a part of the block. `insert` finds the new
states; each worker uses its own region of the hash table. `append` counts and stores the new states of a part, in the
order in which the oracle finds them. Therefore the counts do not depend on the number of workers.

The loops take their arrays as named tuples; see `arrays`. Compared with separate arguments, named tuples add 5 to 10
microseconds to a call that takes milliseconds, and 2 % to the compilation time. `loop_cache.SOURCES` lists the files
from which the loops are compiled.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc"

from __future__ import annotations

import numpy as np

from leadline.checker.engines.learning.loop_cache import njit
from leadline.checker.engines.learning.trees import (
    DE_BRUIJN,
    JUMP,
    LOWEST_BIT,
    ONE,
    SHOWN,
    SLOT,
    leaf_of,
    leaf_of_step,
    led_to,
    unpack,
)
from leadline.checker.observing.step_slots import SECOND

INDEX, WAITING, ASKED, FILLED, PATIENT, PLACES = range(6)
"""The entries of a cursor, which is the position of a loop in a part of a block.

- `INDEX`: the index of the first state that has not been visited.
- `WAITING`: the number of earlier states that are deferred because of unknown paths.
- `ASKED`: the number of recorded unknown paths.
- `FILLED`: the number of filled entries of the buffer.
- `PATIENT`: 1 if the loop continues when there is no room to record further paths, otherwise 0.

`PLACES` is the number of entries.
"""

TREE, NODE, NUMBER, WANTED, FIELDS = range(5)
"""The fields of an unknown path.

- `TREE`: the index of the tree.
- `NODE`: the last known node of the path.
- `NUMBER`: the index of the state's value in the slot of this node.
- `WANTED`: the number of states that need the path.

`FIELDS` is the number of fields.
"""

STATES, EXPANDED, DEGREE, DEADLOCKS, FEWEST, MOST, COUNTERS = range(7)
"""The counters that `append` sets.

- `STATES`: the number of stored states.
- `EXPANDED`: the number of expanded states.
- `DEGREE`: the number of steps from the state at which a limit stopped the loop.
- `DEADLOCKS`: the number of states without a next state.
- `FEWEST`, `MOST`: the minimum and the maximum number of steps from a state; -1 and 0 if no state satisfies
  `Spec.within`.

`COUNTERS` is the number of counters.
"""

SHOWN_BY_STEP, NOT_KNOWN = 1, 2
"""The results of a predicate on a step, as stored in `SuccessorArrays.shown`.

`SHOWN_BY_STEP` means that the step violates the property or satisfies the witness. `NOT_KNOWN` means that the predicate
must be called. 0 means that the step neither violates the property nor satisfies the witness.
"""

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)

BATCH = 64
"""The number of lookups in the hash table that are made at the same time."""

RECENT = np.uint64(2**14)
"""The size of the cache of recent next states in `insert`. Often, several steps of a block lead to the same state."""


@njit(inline="always")
def _differ(states, index, others, other, bits, which):
    """Return whether two packed states differ in any of the bits that are set in row `which` of `bits`."""
    for cell in range(states.shape[1]):  # noqa: SIM110
        if (states[index, cell] ^ others[other, cell]) & bits[which, cell]:
            return True
    return False


@njit(inline="always")
def _is_outside(outside, index):
    return len(outside) > 0 and outside[index]


@njit(inline="always")
def _hash(states, index):
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for cell in range(states.shape[1]):
        mixed ^= states[index, cell]
        mixed *= np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> HALF
    return mixed * np.uint64(0xC4CEB9FE1A85EC53)


@njit(inline="always")
def _same(states, index, others, other):
    for cell in range(states.shape[1]):  # noqa: SIM110
        if states[index, cell] != others[other, cell]:
            return False
    return True


@njit(inline="always")
def _first_place(mixed, places):
    """Map a hash to a number below `places`, which is a position in the hash table or the index of a region.

    The upper half of the hash is used, because the lower half is stored in the table entry.
    """
    return np.int64(((mixed >> HALF) * np.uint64(places)) >> HALF)


@njit()
def _ask(pool, tree, row, cursor, unknown, rows):
    """Record an unknown path if there is room for it. If the path is already recorded, increase its count `WANTED`."""
    node, number, code = np.int64(tree), np.int64(0), pool[tree]
    while code > 0 or code < JUMP:
        if code < JUMP:
            node, number = np.int64(JUMP - code), np.int64(0)
            code = pool[node]
            continue
        slot = pool[code + SLOT]
        node, number = np.int64(code), row[slot if slot < SECOND else slot - SECOND + len(row) // 2]
        code = led_to(pool, code, number)
    noted = cursor[ASKED]
    for other in range(noted):
        if unknown[other, NODE] == node and unknown[other, NUMBER] == number:
            unknown[other, WANTED] += 1
            return
    if noted < len(unknown):
        unknown[noted, TREE], unknown[noted, NODE], unknown[noted, NUMBER] = tree, node, number
        unknown[noted, WANTED] = 1
        # not an assignment to a slice, which takes Numba seconds to compile
        for slot in range(len(row)):
            rows[noted, slot] = row[slot]
        cursor[ASKED] += 1


@njit(inline="always")
def _taken_up(cursor):
    """Begin or continue the loop over a part. Return the number of deferred states, which the loop visits first."""
    waiting = cursor[WAITING]
    cursor[WAITING] = cursor[ASKED] = 0
    return waiting


@njit(inline="always")
def _has_next(cursor, last, turn, waited, waiting, unknown):
    """Return whether there is another state to visit, and room to defer it if its path is unknown."""
    if cursor[ASKED] == len(unknown) and not cursor[PATIENT]:
        return False
    return turn < waited or (turn < waited + last - cursor[INDEX] and cursor[WAITING] < len(waiting))


@njit(inline="always")
def _next(cursor, turn, waited, waiting):
    """Return the next state to visit: a deferred state or, if there is none, the first state that has not been visited
    yet.
    """
    return waiting[turn] if turn < waited else cursor[INDEX] + turn - waited


@njit(inline="always")
def _wait(cursor, index, waiting):
    """Add a state to the list of deferred states."""
    waiting[cursor[WAITING]] = index
    cursor[WAITING] += 1


@njit(inline="always")
def _pause(cursor, last, turn, waited, waiting):
    """Store the position of the loop. Return whether all states of the part have been processed."""
    for rest in range(turn, waited):
        _wait(cursor, waiting[rest], waiting)
    cursor[INDEX] += max(turn - waited, 0)
    return cursor[INDEX] == last and cursor[WAITING] == 0


@njit(nogil=True)
def expand(part, packed, answered, first, generated, wanted, guarding, first_step, reads, learned):
    """Generate the next states of the remaining states of a part, and write them to the part's buffer.

    For each next state, the loop also writes the hash, the predecessor, the action instance, its label, and the results
    of the predicates on the step. If a path of a state is unknown, the state is deferred to a later call.

    Parameters:
        part, packed, generated, guarding, learned: the named tuples `Part`, `Packed`, `SuccessorArrays`, `Guarding`
            and `Learned`.
        answered: the results of direct calls on the deferred states.
        wanted: for each predicate on steps, whether to evaluate it.
        first_step: the index of the first tree that belongs to a predicate on steps.
        reads: for each predicate on steps and each word, the bits that the predicate's tree reads in one or both states
            of the step.

    Returns:
        Whether the buffer is full.
    """
    cursor, last, waiting, unknown, rows = part
    states, outside, word, shift, mask = packed
    answer_begins, answer_trees, answer_start, answer_count, answer_keep, answer_put, answer_labels = answered
    begins, found, hashes, parents, trees, labels, routes, regions, _, shown = generated
    always, pairs, guards = guarding
    pool, leaf_start, leaf_count, keep, put, outcome_labels = learned
    slots, predicates = len(word), len(wanted)
    values, both = np.empty(slots, np.int64), np.empty(2 * slots, np.int64)
    still = np.empty(predicates, np.int32)
    left = np.empty(len(always), np.uint64)
    filled, full, turn, waited = cursor[FILLED], False, 0, _taken_up(cursor)
    while _has_next(cursor, last, turn, waited, waiting, unknown):
        index = _next(cursor, turn, waited, waiting)
        unpack(states, index, values, word, shift, mask)
        still[:] = 0
        within = not _is_outside(outside, index)
        for cell in range(len(left)):
            left[cell] = always[cell] if within else np.uint64(0)
        for pair in range(len(pairs) if within else 0):
            number = values[pairs[pair, 0]] * pairs[pair, 1] + values[pairs[pair, 2]] * pairs[pair, 3]
            entry = pairs[pair, 4] + number * len(left)
            for cell in range(len(left)):
                left[cell] |= guards[entry + cell]
        place, known = filled, True
        answer, last_answer = 0, 0
        if turn < len(answer_begins) - 1:
            answer, last_answer = answer_begins[turn], answer_begins[turn + 1]
        for group in range(len(left)):
            bits = left[group]
            while bits:
                lowest = bits & (~bits + ONE)
                bits ^= lowest
                tree = group * 64 + LOWEST_BIT[(lowest * DE_BRUIJN) >> np.uint64(58)]
                code = leaf_of(pool, tree, values)
                if code == 0:
                    while answer < last_answer and answer_trees[answer] < tree:
                        answer += 1
                    if answer == last_answer or answer_trees[answer] != tree:
                        known = False
                        _ask(pool, tree, values, cursor, unknown, rows)
                        continue
                    start, stop = answer_start[answer], answer_start[answer] + answer_count[answer]
                else:
                    start = np.int64(leaf_start[-code - 1])
                    stop = start + leaf_count[-code - 1]
                full = place + stop - start > len(found)
                if full:
                    break
                for outcome in range(start, stop):
                    for cell in range(states.shape[1]):
                        if code == 0:
                            kept, added = answer_keep[outcome, cell], answer_put[outcome, cell]
                        else:
                            kept, added = keep[outcome, cell], put[outcome, cell]
                        found[place, cell] = (states[index, cell] & kept) | added
                    for predicate in range(predicates):
                        if wanted[predicate]:
                            touched = _differ(states, index, found, place, reads, predicate)
                            verdict = np.int32(0) if touched else still[predicate]
                            if verdict == 0:
                                step = first_step + predicate
                                verdict = leaf_of_step(pool, step, values, found, place, word, shift, mask)
                                if not touched:
                                    still[predicate] = verdict  # shared by all steps that change none of these bits
                            shown[place, predicate] = SHOWN_BY_STEP if verdict == SHOWN else 0
                            if verdict == 0:
                                shown[place, predicate] = NOT_KNOWN
                                known = known and cursor[PATIENT] != 0
                                for slot in range(slots):
                                    both[slot] = values[slot]
                                unpack(found, place, both[slots:], word, shift, mask)
                                _ask(pool, step, both, cursor, unknown, rows)
                    hashes[place] = _hash(found, place)
                    parents[place] = index
                    trees[place] = tree
                    if len(labels):
                        labels[place] = answer_labels[outcome] if code == 0 else outcome_labels[outcome]
                    place += 1
            if full:
                break
        if full:
            break
        turn += 1
        if known:
            begins[index - first] = filled
            filled = place
        else:
            _wait(cursor, index, waiting)
    cursor[FILLED] = filled
    if _pause(cursor, last, turn, waited, waiting):
        _route(first, last, begins, filled, parents, hashes, routes, regions)
    return full


@njit()
def _route(first, last, begins, filled, parents, hashes, routes, regions):
    """Group the next states of a part by hash table region. Within each region, they are in breadth-first order."""
    count = len(regions) - 1
    regions[:] = 0
    for place in range(filled):
        regions[_first_place(hashes[place], count) + 1] += 1
    for region in range(1, len(regions)):
        regions[region] += regions[region - 1]
    ends = regions.copy()
    for index in range(first, last):
        place = begins[index - first]
        while place < filled and parents[place] == index:
            region = _first_place(hashes[place], count)
            routes[ends[region]] = place
            ends[region] += 1
            place += 1


@njit(nogil=True)
def insert(region, count, regions, routes, found, hashes, places, new, states, table):
    """Add the new states of a block to one region of the hash table.

    Parameters:
        count: the number of states stored so far.
        regions, routes: the next states of each part of the block, grouped by region; see `SuccessorArrays`.
        found: the packed next states of all parts. The shape is (parts * room, words).
        places: for each next state, the position of its table entry, or -1 if the state is not new (an output). The
            entry contains a temporary number, which `append` replaces with the index of the state.
        new: for each region and part, the number of new states (an output).

    Returns:
        A meaningless number. It is returned so that the compiler does not remove memory loads that only fill the CPU
        cache.
    """
    size = len(table) // (regions.shape[1] - 1)
    low, high = region * size, (region + 1) * size
    room = hashes.shape[1]
    batch = np.empty(BATCH, np.int64)
    places_seen = np.empty(BATCH, np.int64)
    entries = np.empty(BATCH, np.uint64)
    touched = np.uint64(0)
    recent = np.zeros(np.int64(RECENT), np.uint64)
    for part in range(len(regions)):
        route, entered = regions[part, region], 0
        while route < regions[part, region + 1]:
            taken = 0
            while taken < BATCH and route < regions[part, region + 1]:
                index = routes[part, route]
                mixed = hashes[part, index]
                met = recent[mixed % RECENT]
                other = np.int64(met & LOW) - 1
                alike = other >= 0 and met >> HALF == mixed >> HALF
                if alike and _same(found, part * room + index, found, other):
                    places[part, index] = -1
                else:
                    recent[mixed % RECENT] = (mixed & ~LOW) | np.uint64(part * room + index + 1)
                    batch[taken], places_seen[taken] = index, _first_place(mixed, len(table))
                    taken += 1
                route += 1
            # Memory is slow, but serves many requests at once: first load all entries, then all states. `touched`
            # prevents the compiler from removing these loads.
            for number in range(taken):
                entries[number] = table[places_seen[number]]
            for number in range(taken):
                touched ^= states[min(max(np.int64(entries[number] & LOW) - 1, 0), count - 1), 0]
            for number in range(taken):
                mixed, place = hashes[part, batch[number]], places_seen[number]
                coming = part * room + batch[number]
                while True:
                    entry = table[place]
                    if entry == 0:
                        table[place] = (mixed << HALF) | np.uint64(count + coming + 1)
                        places[part, batch[number]] = place
                        entered += 1
                        break
                    if entry >> HALF == mixed & LOW:
                        other = np.int64(entry & LOW) - 1
                        if other < count:
                            same = _same(found, coming, states, other)
                        else:
                            same = _same(found, coming, found, other - count)
                        if same:
                            places[part, batch[number]] = -1
                            break
                    place += 1
                    if place == high:
                        place = low
        new[region, part] = entered
    return touched


@njit(nogil=True)
def append(part, count, first, last, filled, generated, max_states, kept, counted):
    """Count the steps of a part of a block, and store its new states in order until a limit is reached.

    Parameters:
        part: the index of the part.
        count: the number of states stored before the new states of this part.
        first, last: the range of states in the part, excluding `last`.
        filled: for each part, the number of filled entries in its buffer.
        generated, kept, counted: the named tuples `SuccessorArrays`, `Kept` and `CountArrays`.
        max_states: the maximum number of states to store, or -1 if there is no limit.

    Returns:
        Whether the limit was reached.
    """
    begins, found, _, found_parents, trees, _, _, _, places, shown = generated
    states, parents, arrivals, outside, table = kept
    counters, counts, dead, seen, seen_at = counted
    own = np.zeros((counts.shape[1], 2), np.int64)  # a shared cache line with another worker's counts would be slow
    deadlocks, fewest, most = 0, -1, -1
    cut_short = False
    index = first
    while index < last and not cut_short:
        place, degree = begins[part, index - first], 0
        while place < filled[part] and found_parents[part, place] == index:
            tree = trees[part, place]
            where = places[part, place]
            if where >= 0:
                if max_states >= 0 and count >= max_states:
                    counters[part, DEGREE] = degree
                    if len(table):
                        _take_back(part, index, place, filled, found_parents, places, table)
                    cut_short = True
                    break
                for cell in range(states.shape[1]):
                    states[count, cell] = found[part, place, cell]
                parents[count] = index
                arrivals[count] = tree
                count += 1
                if len(table):
                    table[where] = (table[where] & ~LOW) | np.uint64(count)
                own[tree, 1] += 1
            own[tree, 0] += 1
            degree += 1
            for predicate in range(seen.shape[1]):
                if shown[part, place, predicate] == SHOWN_BY_STEP and seen[part, predicate] < seen_at.shape[2]:
                    seen_at[part, predicate, seen[part, predicate]] = place
                    seen[part, predicate] += 1
            place += 1
        if cut_short:
            break
        if not _is_outside(outside, index):
            if degree == 0:
                if deadlocks < dead.shape[1]:
                    dead[part, deadlocks] = index
                deadlocks += 1
            if fewest < 0 or degree < fewest:
                fewest = degree
            most = max(most, degree)
        index += 1
    counters[part, STATES], counters[part, EXPANDED], counters[part, DEADLOCKS] = count, index - first, deadlocks
    counters[part, FEWEST], counters[part, MOST] = fewest, most
    for tree in range(len(own)):
        counts[part, tree, 0], counts[part, tree, 1] = own[tree, 0], own[tree, 1]
    return cut_short


@njit()
def _take_back(first_part, first_parent, first_place, filled, parents, places, table):
    """Remove the states beyond a limit from the hash table. This is possible because they were added last."""
    for part in range(first_part, len(filled)):
        for place in range(filled[part]):
            parent = parents[part, place]
            kept = part == first_part and (parent < first_parent or (parent == first_parent and place < first_place))
            if places[part, place] >= 0 and not kept:
                table[places[part, place]] = 0


@njit(nogil=True)
def rebuild(region, regions, first, last, states, table):
    """Add a range of distinct states to one region of the hash table.

    If `first` is 0, the existing entries of the region are removed.

    Parameters:
        region, regions: the index of the region, and the number of regions.
        first, last: the range of states, excluding `last`.

    Returns:
        Two numbers. The first is the index of the first state that is equal to an earlier state, or -1 if all states
        are distinct. The loop stops at this state. The second number is meaningless; see `insert`.
    """
    size = len(table) // regions
    low, high = region * size, (region + 1) * size
    if first == 0:
        table[low:high] = 0
    places = np.empty(BATCH, np.int64)
    entries = np.empty(BATCH, np.uint64)
    touched = np.uint64(0)
    index = first
    while index < last:
        taken = 0
        while taken < BATCH and index < last:
            mixed = _hash(states, index)
            place = _first_place(mixed, len(table))
            places[taken], entries[taken] = place, (mixed << HALF) | np.uint64(index + 1)
            taken += low <= place < high
            index += 1
        for number in range(taken):  # see `insert`
            touched ^= table[places[number]]
        for number in range(taken):
            place, entry = places[number], entries[number]
            while table[place] != 0:
                if table[place] >> HALF == entry >> HALF:
                    own = np.int64(entry & LOW) - 1
                    if _same(states, own, states, np.int64(table[place] & LOW) - 1):
                        return own, touched
                place += 1
                if place == high:
                    place = low
            table[place] = entry
    return np.int64(-1), touched


@njit(nogil=True)
def first_impossible(first, last, initials, instances, sizes, states, parents, arrivals, word, shift, mask):
    """Return the index of the first state whose recorded step is impossible, or -1 if there is no such state.

    Parameters:
        first, last: the range of states to check, excluding `last`.
        initials: the number of initial states, which have no predecessor.
        instances: the number of action instances.
        sizes: for each slot, the number of its values.
    """
    for index in range(first, last):
        for slot in range(len(word)):
            if np.int64((states[index, word[slot]] >> shift[slot]) & mask[slot]) >= sizes[slot]:
                return index
        if index >= initials and (
            parents[index] >= index or parents[index] < parents[index - 1] or arrivals[index] >= instances
        ):
            return index
    return -1


@njit(nogil=True)
def first_not_found(begin, end, ends, filled, generated, states, parents, arrivals):
    """Return the index of the first state to which the recorded step does not lead, or -1 if there is no such state.

    Parameters:
        begin, end: the range of states to check, excluding `end`. Their predecessors are in the block.
        ends: for each part of the block, the index of its first state; followed by the end of the block.
        filled: for each part, the number of filled entries in its buffer.
        generated: the next states of all parts; see `SuccessorArrays`.
    """
    begins, found, _, found_parents, trees, _, _, _, _, _ = generated
    part = 0
    for index in range(begin, end):
        parent = np.int64(parents[index])
        while parent >= ends[part + 1]:
            part += 1
        place, is_found = np.int64(begins[part, parent - ends[part]]), False
        while not is_found and place < filled[part] and found_parents[part, place] == parent:
            is_found = trees[part, place] == arrivals[index]
            for cell in range(states.shape[1]):
                is_found = is_found and found[part, place, cell] == states[index, cell]
            place += 1
        if not is_found:
            return index
    return -1


@njit(nogil=True)
def note_holders(first, last, begins, states, word, shift, mask, holders):
    """For each value index of each slot, find the first state that contains it.

    Parameters:
        first, last: the range of states to search, excluding `last`.
        begins: for each slot, the position in `holders` of its value index 0; followed by the length of `holders`.
        holders: for each value index, the first state that contains it, or -1 if no state contains it (an output).

    Returns:
        The first state that contains a value index outside the range of its slot, or -1 if there is no such state.
    """
    for index in range(first, last):
        for slot in range(len(word)):
            place = begins[slot] + np.int64((states[index, word[slot]] >> shift[slot]) & mask[slot])
            if place >= begins[slot + 1]:
                return index
            if holders[place] < 0:
                holders[place] = index
    return -1


@njit(nogil=True)
def hash_all(states, hashes):
    """Write the hash of each packed state to `hashes`."""
    for index in range(len(states)):
        hashes[index] = _hash(states, index)


@njit(nogil=True)
def keep(count, new, found, places, states, table):
    """Store, in order, the new states that `insert` has found. Unlike `append`, this loop does not count steps."""
    for index in new:
        for cell in range(states.shape[1]):
            states[count, cell] = found[index, cell]
        count += 1
        table[places[index]] = (table[places[index]] & ~LOW) | np.uint64(count)


@njit(nogil=True)
def check(part, packed, first, parents, inherit, reads, wanted, shown, first_tree, first_step, pool):
    """Evaluate the predicates on the remaining states of a part, and predicates on steps on the steps to these states.

    If a path of a state is unknown, the state is deferred to a later call.

    Parameters:
        part, packed: the named tuples `Part` and `Packed`.
        first: the smallest state index in any part.
        inherit: for each predicate, whether it is known that no predecessor of these states violates the property or
            satisfies the witness. If so, the predicate need not be evaluated on a state that equals its predecessor in
            all bits that the predicate reads.
        reads: for each predicate and word, the bits that the predicate's tree reads.
        wanted: for each predicate, whether to evaluate it.
        shown: for each state and predicate, whether the state violates the property or satisfies the witness (an
            output).
        first_tree: the index of the tree of the first predicate.
        first_step: the index of the first tree that belongs to a predicate on steps.
        pool: the nodes of the trees.
    """
    cursor, last, waiting, unknown, rows = part
    states, _, word, shift, mask = packed
    slots = len(word)
    values, both = np.empty(slots, np.int64), np.empty(2 * slots, np.int64)
    turn, waited = 0, _taken_up(cursor)
    while _has_next(cursor, last, turn, waited, waiting, unknown):
        index = _next(cursor, turn, waited, waiting)
        unpacked, unpacked_both, known = False, False, True
        for predicate in range(len(wanted)):
            if not wanted[predicate]:
                continue
            if inherit[predicate] and not _differ(states, index, states, parents[index], reads, predicate):
                continue
            if not unpacked:
                unpack(states, index, values, word, shift, mask)
                unpacked = True
            tree, row = first_tree + predicate, values
            if tree < first_step:
                code = leaf_of(pool, tree, values)
            else:
                if not unpacked_both:
                    unpack(states, parents[index], both, word, shift, mask)
                    for slot in range(slots):
                        both[slots + slot] = values[slot]
                    unpacked_both = True
                code, row = leaf_of_step(pool, tree, both, states, index, word, shift, mask), both
            if code == 0:
                known = False
                _ask(pool, tree, row, cursor, unknown, rows)
            shown[index - first, predicate] = code == SHOWN
        turn += 1
        if not known:
            _wait(cursor, index, waiting)
    _pause(cursor, last, turn, waited, waiting)


@njit(nogil=True)
def steps_into(part, packed, targets, table, steps, instances, learned):
    """Find the steps that lead from the remaining states of a part to the target states.

    Parameters:
        part, packed, learned: the named tuples `Part`, `Packed` and `Learned`.
        targets, table: the packed target states, and their hash table.
        steps: the steps (an output). Each step is given as the predecessor, the action instance, and the index of the
            target.
        instances: the number of action instances.

    Returns:
        Whether `steps` is full.
    """
    cursor, last, waiting, unknown, rows = part
    states, outside, word, shift, mask = packed
    pool, leaf_start, leaf_count, keep, put, _ = learned
    values = np.empty(len(word), np.int64)
    new = np.empty((1, states.shape[1]), np.uint64)
    full, turn, waited = False, 0, _taken_up(cursor)
    while _has_next(cursor, last, turn, waited, waiting, unknown):
        index = _next(cursor, turn, waited, waiting)
        unpack(states, index, values, word, shift, mask)
        filled, known = cursor[FILLED], True
        for tree in range(0 if _is_outside(outside, index) else instances):
            code = leaf_of(pool, tree, values)
            if code == 0:
                known = False
                _ask(pool, tree, values, cursor, unknown, rows)
                continue
            start = leaf_start[-code - 1]
            stop = start + leaf_count[-code - 1]
            full = filled + stop - start > len(steps)
            if full:
                break
            for outcome in range(start, stop):
                for cell in range(states.shape[1]):
                    new[0, cell] = (states[index, cell] & keep[outcome, cell]) | put[outcome, cell]
                mixed = _hash(new, 0)
                place = _first_place(mixed, len(table))
                while table[place] != 0:
                    target = np.int64(table[place] & LOW) - 1
                    if _same(new, 0, targets, target):
                        steps[filled, 0], steps[filled, 1], steps[filled, 2] = index, tree, target
                        filled += 1
                        break
                    place += 1
                    if place == len(table):
                        place = 0
        if full:
            break
        turn += 1
        if known:
            cursor[FILLED] = filled
        else:
            _wait(cursor, index, waiting)
    _pause(cursor, last, turn, waited, waiting)
    return full
