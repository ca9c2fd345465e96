"""The compiled loop of a random search. It uses the results in the decision trees to move walkers and expand states.

A walker is a position in the state space. Its state is not packed, because it changes with each step. The choice of the
next step must not depend on the indices of values or on the thread that moves the walker. Therefore steps are sorted by
the index of the action instance, and then by the content hash of the next state.

For the parameters `plan`, `learned`, `answers`, `walkers`, `sample` and `scratch` of these functions, see
`leadline.checker.engines.random.arrays`. The parameter `walker` is the index of a walker, and `own` is
`Sample.counters`.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc,call-overload"

from __future__ import annotations

import numpy as np

from leadline.checker.engines.learning.loop_cache import njit
from leadline.checker.engines.learning.trees import DE_BRUIJN, JUMP, LOWEST_BIT, ONE, SHOWN, SLOT, edge_of
from leadline.checker.engines.random.arrays import (
    ARRIVED,
    AT_REST,
    BEGUN,
    CHECKS,
    CONSTRAINED,
    DEAD_END,
    DEADLOCKS,
    ENDED,
    EXPANDED,
    FILLED,
    FINISHED,
    FIRST_CHECK,
    FIRST_STEP,
    FROM_FRONTIER,
    LENGTH,
    LONGEST,
    LOOKED,
    LOOKS,
    OUTSIDE,
    SEED,
    SEEN,
    STEPS,
    WALKING,
    WALKS,
    WANTS,
)
from leadline.checker.observing.step_slots import SECOND


@njit(inline="always")
def mixed(number):
    """Return a pseudorandom number from 0 to 2 ** 64 - 1 that depends only on the given number.

    This is the finalizer of SplitMix64.
    """
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@njit(inline="always")
def _random(seed, walk, step, use):
    """Return a pseudorandom number from 0 to 2 ** 64 - 1 for one step of one walk.

    Parameters:
        seed: the seed of the search.
        walk: the index of the walk.
        step: the index of the step in the walk.
        use: a number that distinguishes the random numbers for the same step.
    """
    of_walk = mixed(np.uint64(seed) + np.uint64(walk) * np.uint64(0x9E3779B97F4A7C15))
    return mixed(of_walk + np.uint64(step) * np.uint64(0xD1342543DE82EF95) + np.uint64(use))


@njit(inline="always")
def _below(random, bound):
    """Scale a random number to the range from 0 to `bound` - 1.

    Parameters:
        random: a random number from 0 to 2 ** 64 - 1.
        bound: a number of at most 32 bits.
    """
    return np.int64(((random >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(inline="always")
def _lowest(bits):
    """Return the index of the lowest set bit of a nonzero word."""
    return LOWEST_BIT[((bits & (~bits + ONE)) * DE_BRUIJN) >> np.uint64(58)]


# Functions that are called in each step take single arrays instead of named tuples. If they took a tuple, each call
# would increment and decrement the reference counts of all its arrays.


@njit(inline="always")
def _code(pool, tree, before, after):
    """Return the code of the leaf that a state or step reaches in a decision tree, or 0 if the tree has no such leaf
    yet.

    Parameters:
        pool: see `Forest`.
        tree: the index of the tree.
        before, after: the states before and after the step; for a single state, the same state twice.
    """
    code = pool[tree]
    while code > 0 or code < JUMP:
        if code < JUMP:
            code = pool[JUMP - code]
            continue
        slot = pool[code + SLOT]
        edge = edge_of(pool, code, before[slot] if slot < SECOND else after[slot - SECOND])
        code = pool[edge] if edge else np.int32(0)
    return code


@njit(nogil=True)
def leaves(rows, tree, pool, codes):
    """Find the leaf of a decision tree that each of the given states reaches.

    Parameters:
        rows: for each state, the index of the value in each slot.
        tree: the index of the tree.
        pool: see `Forest`.
        codes: the output array. For each state, it is set to the code of the leaf, or to 0 if the tree has no such leaf
            yet.
    """
    for place in range(len(rows)):
        codes[place] = _code(pool, tree, rows[place], rows[place])


@njit()
def _answered(answers_begin, trees, contents, walker, tree, content):
    """Return the index of a walker's answer in `Answers`, or -1 if there is no such answer.

    Parameters:
        answers_begin, trees, contents: see `begins`, `trees` and `contents` of `Answers`.
        tree: the index of the called function's decision tree.
        content: the hash of the state on which the function was called. For a call on a step, this is the hash of the
            state after the step.
    """
    first, last = answers_begin[walker], answers_begin[walker + 1]
    while first < last:
        middle = (first + last) // 2
        if trees[middle] < tree or (trees[middle] == tree and contents[middle] < content):
            first = middle + 1
        else:
            last = middle
    if first < answers_begin[walker + 1] and trees[first] == tree and contents[first] == content:
        return first
    return np.int64(-1)


@njit()
def _want(pool, tree, content, outcome, before, after, wants, wanted, walker):
    """Add an unknown path in a decision tree to `wants`, unless `wants` already contains `WANTS` paths. The walker
    waits until all paths in `wants` are known.

    Parameters:
        pool: see `Forest`.
        tree: the index of the tree.
        content: see `_answered`.
        outcome: the index of the step's outcome, or -1 if there is no step.
        before, after: the states before and after the step; for a single state, the same state twice.
        wants, wanted: see `Walkers`.
    """
    noted = wanted[walker]
    if noted == WANTS:
        return
    node, number, code = np.int64(tree), np.int64(0), pool[tree]
    while code > 0 or code < JUMP:
        if code < JUMP:
            node, number = np.int64(JUMP - code), np.int64(0)
            code = pool[node]
            continue
        slot = pool[code + SLOT]
        node = np.int64(code)
        number = before[slot] if slot < SECOND else after[slot - SECOND]
        edge = edge_of(pool, code, number)
        code = pool[edge] if edge else np.int32(0)
    wants[walker, noted, 0], wants[walker, noted, 1], wants[walker, noted, 2] = tree, node, number
    wants[walker, noted, 3], wants[walker, noted, 4] = outcome, np.int64(content)
    wanted[walker] = noted + 1


@njit(inline="always")
def _shown(learned, answers, walkers, walker, tree, content, outcome, before, after):
    """Return the result of a predicate on a state or step, or 0 if the result is unknown.

    If the result is unknown, the path to it in the decision tree is added to `Walkers.wants`.

    Parameters:
        tree, content, outcome, before, after: see `_want`.

    Returns:
        `SHOWN` if the state or step violates the invariant or satisfies the witness, `NOT_SHOWN` if it does not, and 0
        if the result is unknown.
    """
    code = _code(learned.pool, tree, before, after)
    if code == 0:
        answer = np.int64(-1)
        if walkers.fresh[walker]:
            answer = _answered(answers.begins, answers.trees, answers.contents, walker, tree, content)
        if answer >= 0:
            code = np.int32(answers.start[answer])
        else:
            _want(learned.pool, tree, content, outcome, before, after, walkers.wants, walkers.wanted, walker)
    return code


@njit()
def _begin(plan, walkers, walker, own):
    """Begin walk number `Walkers.walk` at a random initial state or at a random state of the frontier."""
    numbers = plan.numbers
    if walkers.walk[walker] >= numbers[WALKS]:
        walkers.phase[walker] = FINISHED
        return
    random = _random(numbers[SEED], walkers.walk[walker], -1, 1)
    if len(plan.starts) and random & np.uint64(255) < np.uint64(numbers[FROM_FRONTIER]):
        start = _below(random, len(plan.starts))
        for slot in range(plan.starts.shape[1]):
            walkers.values[walker, slot] = plan.starts[start, slot]
        for step in range(plan.start_step[start] + 1):
            walkers.trees[walker, step] = plan.start_trees[start, step]
            walkers.path[walker, step] = plan.start_path[start, step]
        walkers.step[walker] = plan.start_step[start]
        walkers.hashes[walker] = walkers.path[walker, walkers.step[walker]]
        walkers.by[walker] = walkers.trees[walker, walkers.step[walker] - 1] if walkers.step[walker] else -1
    else:
        initial = _below(random, len(plan.initials))
        for slot in range(plan.initials.shape[1]):
            walkers.values[walker, slot] = plan.initials[initial, slot]
        walkers.hashes[walker] = plan.initial_hashes[initial]
        walkers.path[walker, 0] = walkers.hashes[walker]
        walkers.step[walker], walkers.by[walker] = 0, -1
    walkers.phase[walker] = ARRIVED
    walkers.fresh[walker] = False
    for predicate in range(walkers.seen.shape[1]):
        walkers.seen[walker, predicate] = -1
    own[BEGUN] += 1


@njit(inline="always")
def _see(walkers, walker, predicate, step, tree, content):
    """Store a state or step that violates a property or satisfies a witness. For each property, only the first one in
    each walk is stored.

    If several are found for a property after the same number of steps and for the same action instance, the one with
    the smallest hash is stored.

    Parameters:
        predicate: the position of the property in the arrays of `Walkers`.
        step: the number of steps from an initial state to this state, or to the state after this step.
        tree: the index of the last step's action instance, if the walk checks this step without taking it. Otherwise
            -1.
        content: the hash of the state after this step. It is ignored if `tree` is -1.
    """
    seen, last_tree, last_hash = walkers.seen, walkers.last_tree, walkers.last_hash
    is_same = seen[walker, predicate] == step and last_tree[walker, predicate] == tree
    if seen[walker, predicate] < 0 or (is_same and content < last_hash[walker, predicate]):
        seen[walker, predicate] = step
        last_tree[walker, predicate], last_hash[walker, predicate] = tree, content


@njit(inline="always")
def _look(plan, learned, answers, walkers, walker, values, after, touched, outcome, tree_taken, content):
    """Evaluate predicates on a step and on the state after it, or evaluate all state predicates on a single state.

    Violations and satisfied witnesses are stored with `_see`. A predicate in `Walkers.calm` is skipped if the step
    changes no slot that the predicate has read.

    Parameters:
        values, after: the states before and after the step. They are the same if there is no step or if the step does
        not change the state.
        touched: the set of predicates that have read at least one slot changed by the step.
        outcome: the index of the step's outcome, or -1 if there is no step or if the step does not change the state.
        tree_taken: the action instance of the step, or -1 if there is no step.
        content: the hash of the state after the step, or of the single state.

    Returns:
        1 if `Spec.within` is false for the state, 0 if it is true, or -1 if the result of a predicate is unknown.
    """
    numbers, known, outside = plan.numbers, True, 0
    for cell in range(len(plan.sought)):
        bits = plan.sought[cell]
        if tree_taken < 0:
            bits &= plan.of_states[cell]
        else:
            bits &= touched[cell] | ~walkers.calm[walker, cell]
        while bits:
            predicate = cell * 64 + _lowest(bits)
            bit = bits & (~bits + ONE)
            bits &= bits - ONE
            tree = numbers[FIRST_CHECK] + predicate
            is_of_step = tree >= numbers[FIRST_STEP]
            before = values if is_of_step else after
            code = _shown(learned, answers, walkers, walker, tree, content, outcome, before, after)
            if code == 0:
                known = False
            elif code == SHOWN:
                if numbers[CONSTRAINED] and tree == numbers[FIRST_STEP] - 1:
                    outside = 1
                else:
                    _see(walkers, walker, predicate, walkers.step[walker] + (tree_taken >= 0), tree_taken, content)
            elif is_of_step and not touched[cell] & bit:
                walkers.calm[walker, cell] |= bit
    return outside if known else -1


@njit(inline="always")
def _note(plan, walkers, walker, degree, own, sample):
    """Add a walker's state to the sample of distinct states, unless its hash is too large or the state was added
    recently.

    Parameters:
        degree: the number of steps that begin in the state.
    """
    number = mixed(walkers.hashes[walker])
    if number > plan.limit[0]:
        return
    by = walkers.by[walker]
    order = (walkers.step[walker] << 32) + by
    place = np.int64(number % np.uint64(SEEN))
    if sample.seen[place] == number and sample.seen_order[place] <= order:
        return
    sample.seen[place], sample.seen_order[place] = number, order
    filled = own[FILLED]
    sample.hashes[filled] = number
    sample.depths[filled] = walkers.step[walker]
    sample.by[filled] = by
    sample.degrees[filled] = degree
    for slot in range(sample.rows.shape[1]):
        sample.rows[filled, slot] = walkers.values[walker, slot]
    own[FILLED] += 1


@njit()
def _end(plan, walkers, walker, reason, own, sample):
    """End a walk. If the walk has found a violation or satisfied a witness, the walker stops until the finding is
    collected. Otherwise, it begins a new walk.

    Parameters:
        reason: the reason why the walk ended; see `DEAD_END`.
    """
    sample.ends[reason, walkers.step[walker]] += 1
    for predicate in range(walkers.seen.shape[1]):
        if walkers.seen[walker, predicate] >= 0:
            walkers.phase[walker] = ENDED
            walkers.left[walker] = 0
            return
    walkers.walk[walker] += plan.numbers[WALKING]
    _begin(plan, walkers, walker, own)


@njit(inline="always")
def _chosen(numbers, walk, step, count, trees, hashes, outside):
    """Choose the next step of a walk at random.

    The choice does not depend on the order of the candidates, because an action instance may yield its next states in
    any order.

    Parameters:
        numbers: see `Plan`.
        walk, step: the index of the walk, and the number of steps taken so far.
        count: the number of candidates.
        trees, hashes, outside: see `Scratch`.

    Returns:
        The index of the chosen candidate, or -1 if there is no candidate for which `Spec.within` is true.
    """
    random = _random(numbers[SEED], walk, step, 2)
    chosen, least = np.int64(-1), np.uint64(0)
    for candidate in range(count):
        if not outside[candidate]:
            turn = mixed(random ^ mixed(hashes[candidate] + np.uint64(trees[candidate])))
            if chosen < 0 or turn < least:
                chosen, least = np.int64(candidate), turn
    return chosen


@njit()
def _note_next(walkers, walker, values, count, outcomes, trees, hashes, outside, learned, scratch):
    """Store the next states of an expanded state in `scratch`, except those for which `Spec.within` is false.

    Parameters:
        values: the expanded state.
        count: the number of candidates.
        outcomes, trees, hashes, outside: see `Scratch`.
    """
    for candidate in range(count):
        if outside[candidate]:
            continue
        child = scratch.filled[0]
        for slot in range(len(values)):
            scratch.rows[child, slot] = values[slot]
        for change in range(learned.begins[outcomes[candidate]], learned.begins[outcomes[candidate] + 1]):
            scratch.rows[child, learned.slots[change]] = learned.numbers[change]
        scratch.found[child], scratch.by[child], scratch.of[child] = hashes[candidate], trees[candidate], walker
        scratch.filled[0] = child + 1


# `_nrt=False` disables reference counting of arrays, which would take half of the time. In return, this function must
# not allocate arrays.
@njit(nogil=True, _nrt=False)
def walk(first, last, plan, learned, answers, walkers, sample, scratch):
    """Move a range of walkers.

    A walker stops when it has taken all its steps for this round, when it has expanded its state, when it needs the
    result of a call, or when `scratch` has no room for its next states.

    Parameters:
        first, last: the range of walkers to move; `last` is excluded.
        plan, learned, answers, walkers, sample, scratch: see `leadline.checker.engines.random.arrays`.

    Returns:
        The number of candidates that `scratch` must be able to hold, or 0 if there was enough room.
    """
    numbers, words = plan.numbers, len(plan.sought)
    own = sample.counters
    left, touched = scratch.left, scratch.touched
    outcomes, trees, hashes, outside = scratch.outcomes, scratch.trees, scratch.hashes, scratch.outside
    room = len(outcomes)
    pool, always, pairs, guards = learned.pool, learned.always, learned.pairs, learned.guards
    leaf_start, leaf_count = learned.leaf_start, learned.leaf_count
    begins, slots, changed = learned.begins, learned.slots, learned.numbers
    base, contents = learned.base, learned.hashes
    for walker in range(first, last):
        walkers.parked[walker] = False
        values, after = walkers.values[walker], walkers.after[walker]
        while walkers.left[walker] > 0 and walkers.phase[walker] != FINISHED:
            walkers.wanted[walker] = 0
            if walkers.phase[walker] == ENDED:
                walkers.walk[walker] += numbers[WALKING]
                _begin(plan, walkers, walker, own)
                continue
            if walkers.phase[walker] == ARRIVED:
                is_outside = _look(
                    plan, learned, answers, walkers, walker, values, values, touched, -1, -1, walkers.hashes[walker]
                )
                if is_outside < 0:
                    walkers.parked[walker] = True
                    break
                walkers.fresh[walker] = False
                for cell in range(words):
                    walkers.calm[walker, cell] = plan.of_states[cell]
                walkers.phase[walker] = AT_REST
                if is_outside and walker >= numbers[WALKING]:
                    walkers.phase[walker] = FINISHED
                    break
                if is_outside:
                    walkers.left[walker] -= 1
                    _end(plan, walkers, walker, OUTSIDE, own, sample)
                    continue
            # look up the action instances that may be enabled
            for cell in range(len(left)):
                left[cell] = always[cell]
            for pair in range(len(pairs)):
                number = values[pairs[pair, 0]] * pairs[pair, 1] + values[pairs[pair, 2]] * pairs[pair, 3]
                entry = pairs[pair, 4] + number * len(left)
                for cell in range(len(left)):
                    left[cell] |= guards[entry + cell]
            # look up the steps of these action instances
            known, count, degree, idle, content = True, 0, 0, -1, walkers.hashes[walker]
            for group in range(len(left)):
                bits = left[group]
                while bits:
                    tree = group * 64 + _lowest(bits)
                    bits &= bits - ONE
                    code = _code(pool, tree, values, values)
                    if code == 0:
                        answer = np.int64(-1)
                        if walkers.fresh[walker]:
                            answer = _answered(answers.begins, answers.trees, answers.contents, walker, tree, content)
                        if answer < 0:
                            known = False
                            _want(pool, tree, content, -1, values, values, walkers.wants, walkers.wanted, walker)
                            continue
                        start, stop = answers.start[answer], answers.start[answer] + answers.counts[answer]
                    else:
                        start = np.int64(leaf_start[-code - 1])
                        stop = start + leaf_count[-code - 1]
                    if count + stop - start > room:
                        return count + stop - start
                    if start == stop:
                        left[group] &= ~(ONE << np.uint64(tree % 64))  # at the end, `left` holds the enabled instances
                    degree += stop - start
                    for outcome in range(start, stop):
                        hashed, moves = content, False
                        for change in range(begins[outcome], begins[outcome + 1]):
                            slot = slots[change]
                            old, new = values[slot], changed[change]
                            if old != new:
                                moves = True
                                hashed += contents[base[slot] + new] - contents[base[slot] + old]
                        if not moves:
                            idle = tree if idle < 0 else idle
                            continue
                        outcomes[count], hashes[count], trees[count] = outcome, hashed, tree
                        count += 1
            if not known:
                walkers.parked[walker] = True
                break
            if walker >= numbers[WALKING] and scratch.filled[0] + count > len(scratch.found):
                break
            touched[:] = 0
            step, inside, chosen = walkers.step[walker], count, -1
            is_last = step == numbers[LENGTH]
            if idle >= 0 and not is_last:
                known = _look(
                    plan, learned, answers, walkers, walker, values, values, touched, -1, idle, content
                ) >= 0  # fmt: skip
            for candidate in range(count):
                outside[candidate] = False
            if not is_last and not numbers[LOOKS]:
                chosen = _chosen(numbers, walkers.walk[walker], step, count, trees, hashes, outside)
            for slot in range(len(values)):
                after[slot] = values[slot]
            for candidate in range(count):
                if is_last or (chosen >= 0 and candidate != chosen):
                    continue
                outcome = outcomes[candidate]
                touched[:] = 0
                for change in range(begins[outcome], begins[outcome + 1]):
                    slot, new = slots[change], changed[change]
                    if values[slot] != new:
                        after[slot] = new
                        for cell in range(words):
                            touched[cell] |= learned.reads[slot, cell]
                is_outside = _look(
                    plan, learned, answers, walkers, walker, values, after, touched, outcome, trees[candidate],
                    hashes[candidate],
                )  # fmt: skip
                for change in range(begins[outcome], begins[outcome + 1]):
                    after[slots[change]] = values[slots[change]]
                if is_outside < 0:
                    known = False
                elif is_outside:
                    outside[candidate] = True
                    inside -= 1
            if not known:
                for predicate in range(walkers.seen.shape[1]):
                    if walkers.seen[walker, predicate] > step:  # a step whose result is unknown may have priority
                        walkers.seen[walker, predicate] = -1
                walkers.parked[walker] = True
                break
            # all results are known, so the statements below run once for each state
            if chosen >= 0:
                own[LOOKED] += 1
                if outside[chosen]:
                    inside, chosen = 0, -1
            elif not is_last:
                own[LOOKED] += count
                chosen = _chosen(numbers, walkers.walk[walker], step, count, trees, hashes, outside)
            _note(plan, walkers, walker, degree, own, sample)
            for group in range(len(left)):
                bits = left[group]
                while bits:
                    sample.enabled[group * 64 + _lowest(bits)] += 1
                    bits &= bits - ONE
            if degree == 0 and numbers[DEADLOCKS]:
                _see(walkers, walker, numbers[CHECKS], step, -1, content)
            walkers.left[walker] -= 1
            if walker >= numbers[WALKING]:
                walkers.phase[walker] = FINISHED
                own[EXPANDED] += 1
                if step:
                    sample.taken[walkers.by[walker]] += 1
                if not is_last:
                    _note_next(walkers, walker, values, count, outcomes, trees, hashes, outside, learned, scratch)
                break
            if chosen < 0:
                reason = DEAD_END if count == 0 else LONGEST if inside else OUTSIDE
                _end(plan, walkers, walker, reason, own, sample)
                continue
            walkers.fresh[walker] = False
            for change in range(begins[outcomes[chosen]], begins[outcomes[chosen] + 1]):
                slot = slots[change]
                if values[slot] != changed[change]:
                    values[slot] = changed[change]
                    for cell in range(words):
                        walkers.calm[walker, cell] &= plan.of_states[cell] | ~learned.reads[slot, cell]
            walkers.hashes[walker] = hashes[chosen]
            walkers.by[walker] = walkers.trees[walker, step] = trees[chosen]
            walkers.path[walker, step + 1] = hashes[chosen]
            walkers.step[walker] = step + 1
            sample.taken[trees[chosen]] += 1
            own[STEPS] += 1
    return 0
