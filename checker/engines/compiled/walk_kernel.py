"""The compiled loop of random walks: steps through the learned trees.

A walker is a row of slot numbers, not packed, since it changes with each step. What it does next must not depend on how
values are numbered, nor on which thread moves it. So where an order matters, it is that of the spec's action instances,
and then that of the contents of the next states.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc,call-overload"

from __future__ import annotations

import numpy as np

from checker.engines.compiled.caching import njit
from checker.engines.compiled.kernel import _DE_BRUIJN, _LOWEST_BIT, ONE, SECOND, SHOWN, SLOT, _edge
from checker.engines.compiled.walk_arrays import (
    ARRIVED,
    AT_REST,
    BEGUN,
    CHECKS,
    CONSTRAINED,
    DEAD_END,
    DEADLOCKS,
    ENDED,
    FILLED,
    FINISHED,
    FIRST_CHECK,
    FIRST_STEP,
    IDLE,
    LENGTH,
    LONGEST,
    MET,
    OUTSIDE,
    RETURNS,
    ROAMING,
    SEED,
    SEEN,
    STEPS,
    STRIDE,
    WALKS,
    WANTS,
)


@njit(inline="always")
def _mixed(number):
    """A number from 0 to 2 ** 64 - 1 that looks random: the finalizer of SplitMix64."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@njit(inline="always")
def _random(seed, walk, step, use):
    """A random number for one step of one walk, another one for each use."""
    of_walk = _mixed(np.uint64(seed) + np.uint64(walk) * np.uint64(0x9E3779B97F4A7C15))
    return _mixed(of_walk + np.uint64(step) * np.uint64(0xD1342543DE82EF95) + np.uint64(use))


@njit(inline="always")
def _below(random, bound):
    """A random number below a bound of at most 32 bits."""
    return np.int64(((random >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(inline="always")
def _lowest(bits):
    """The place of the lowest bit that is set."""
    return _LOWEST_BIT[((bits & (~bits + ONE)) * _DE_BRUIJN) >> np.uint64(58)]


# Tuples of arrays are not handed to what is called in each step: that would count a reference to each array anew.


@njit(inline="always")
def _code(pool, tree, before, after):
    """The leaf that a state's values, or those before and after a step, reach in a tree; 0 if it is not known."""
    code = pool[tree]
    while code > 0:
        slot = pool[code + SLOT]
        edge = _edge(pool, code, before[slot] if slot < SECOND else after[slot - SECOND])
        code = pool[edge] if edge else np.int32(0)
    return code


@njit()
def _answered(begins, trees, walker, asked_as):
    """The place of what was answered to a walker about a tree; -1 if nothing was."""
    for answer in range(begins[walker], begins[walker + 1]):
        if trees[answer] == asked_as:
            return answer
    return np.int64(-1)


@njit()
def _want(pool, tree, asked_as, before, after, wants, wanted, walker):
    """Note the path that values take in a tree and that is not known, if there is room.

    Parameters:
        asked_as: the tree, as it is noted and answered.
    """
    noted = wanted[walker]
    if noted == WANTS:
        return
    node, number, code = np.int64(tree), np.int64(0), pool[tree]
    while code > 0:
        slot = pool[code + SLOT]
        node = np.int64(code)
        number = before[slot] if slot < SECOND else after[slot - SECOND]
        edge = _edge(pool, code, number)
        code = pool[edge] if edge else np.int32(0)
    wants[walker, noted, 0], wants[walker, noted, 1], wants[walker, noted, 2] = asked_as, node, number
    wanted[walker] = noted + 1


@njit(inline="always")
def _shown(learned, answers, walkers, walker, tree, asked_as, before, after):
    """What a predicate says of a state or step: `SHOWN` or `NOT_SHOWN`; 0 if it is not known, which is noted."""
    code = _code(learned.pool, tree, before, after)
    if code == 0:
        answer = np.int64(-1)
        if walkers.fresh[walker]:
            answer = _answered(answers.begins, answers.trees, walker, asked_as)
        if answer >= 0:
            code = np.int32(answers.start[answer])
        else:
            _want(learned.pool, tree, asked_as, before, after, walkers.wants, walkers.wanted, walker)
    return code


@njit()
def _begin(plan, walkers, walker, own):
    """Begin the walk whose number the walker has."""
    numbers = plan.numbers
    if walkers.walk[walker] >= numbers[WALKS]:
        walkers.phase[walker] = FINISHED
        return
    random = _random(numbers[SEED], walkers.walk[walker], -1, 1)
    if len(plan.starts) and random & np.uint64(255) < np.uint64(numbers[RETURNS]):
        start = _below(random, len(plan.starts))
        for slot in range(plan.starts.shape[1]):
            walkers.values[walker, slot] = plan.starts[start, slot]
        for step in range(plan.start_step[start] + 1):
            walkers.trees[walker, step] = plan.start_trees[start, step]
            walkers.path[walker, step] = plan.start_path[start, step]
        walkers.step[walker] = plan.start_step[start]
        walkers.hashes[walker] = walkers.path[walker, walkers.step[walker]]
    else:
        initial = _below(random, len(plan.initials))
        for slot in range(plan.initials.shape[1]):
            walkers.values[walker, slot] = plan.initials[initial, slot]
        walkers.hashes[walker] = plan.initial_hashes[initial]
        walkers.path[walker, 0] = walkers.hashes[walker]
        walkers.step[walker] = 0
    walkers.rare_visits[walker] = -1
    walkers.phase[walker] = ARRIVED
    walkers.fresh[walker] = False
    for cell in range(walkers.touched.shape[1]):
        walkers.touched[walker, cell] = ~np.uint64(0)
        walkers.calm[walker, cell] = 0
    for predicate in range(walkers.seen.shape[1]):
        walkers.seen[walker, predicate] = -1
    own[BEGUN] += 1


@njit(inline="always")
def _look(plan, learned, answers, walkers, walker, values):
    """Evaluate the state predicates on a walker's state, which has these values.

    Returns:
        1 if it is outside of `Spec.within`, else 0; -1 if not all is known.
    """
    numbers, known, outside = plan.numbers, True, 0
    for cell in range(len(plan.sought)):
        bits = plan.sought[cell] & walkers.touched[walker, cell]
        while bits:
            predicate = cell * 64 + _lowest(bits)
            bits &= bits - ONE
            tree = numbers[FIRST_CHECK] + predicate
            if tree >= numbers[FIRST_STEP]:
                break
            code = _shown(learned, answers, walkers, walker, tree, tree, values, values)
            if code == 0:
                known = False
            elif code == SHOWN:
                if numbers[CONSTRAINED] and tree == numbers[FIRST_STEP] - 1:
                    outside = 1
                elif walkers.seen[walker, predicate] < 0:
                    walkers.seen[walker, predicate] = walkers.step[walker]
                    walkers.idle[walker, predicate] = -1
    return outside if known else -1


@njit(inline="always")
def _look_at_step(plan, learned, answers, walkers, walker, values, after, touched, tree_taken, idle):
    """Evaluate the step predicates on the step from a walker's values to those after it; whether all is known.

    Parameters:
        touched: bits of the predicates that read what the step changes.
        tree_taken: its action instance.
        idle: whether it leads back to the same state.
    """
    numbers, known = plan.numbers, True
    for cell in range(len(plan.sought)):
        bits = plan.sought[cell] & (touched[cell] | ~walkers.calm[walker, cell])
        while bits:
            predicate = cell * 64 + _lowest(bits)
            bit = bits & (~bits + ONE)
            bits &= bits - ONE
            tree = numbers[FIRST_CHECK] + predicate
            if tree < numbers[FIRST_STEP]:
                continue
            asked_as = tree + (IDLE if idle else 0)
            code = _shown(learned, answers, walkers, walker, tree, asked_as, values, after)
            if code == 0:
                known = False
            elif code == SHOWN:
                if walkers.seen[walker, predicate] < 0:
                    walkers.seen[walker, predicate] = walkers.step[walker] + 1
                    walkers.idle[walker, predicate] = tree_taken if idle else -1
            elif not touched[cell] & bit:
                walkers.calm[walker, cell] |= bit
    return known


@njit(inline="always")
def _note(plan, walkers, walker, degree, own, sample):
    """Note a state from which all steps are known, if it belongs to the sample."""
    mixed = _mixed(walkers.hashes[walker])
    sample.met[own[MET]] = mixed
    own[MET] += 1
    if mixed > plan.limit[0]:
        return
    by = np.int64(-1)
    if walkers.step[walker]:
        by = np.int64(walkers.trees[walker, walkers.step[walker] - 1])
    order = (walkers.step[walker] << 32) + by
    place = np.int64(mixed % np.uint64(SEEN))
    if sample.seen[place] == mixed and sample.seen_order[place] <= order:
        return
    sample.seen[place], sample.seen_order[place] = mixed, order
    filled = own[FILLED]
    sample.hashes[filled] = mixed
    sample.depths[filled] = walkers.step[walker]
    sample.by[filled] = by
    sample.degrees[filled] = degree
    for slot in range(sample.rows.shape[1]):
        sample.rows[filled, slot] = walkers.values[walker, slot]
    own[FILLED] += 1


@njit()
def _keep(walkers, walker):
    """Keep the rare state of a walk that ends, for other walks to begin at."""
    found = walkers.found[walker]
    if walkers.rare_visits[walker] < 0 or found == walkers.kept.shape[1]:
        return
    for slot in range(walkers.values.shape[1]):
        walkers.kept[walker, found, slot] = walkers.rare[walker, slot]
    for step in range(walkers.rare_step[walker] + 1):
        walkers.kept_trees[walker, found, step] = walkers.trees[walker, step]
        walkers.kept_path[walker, found, step] = walkers.path[walker, step]
    walkers.kept_step[walker, found] = walkers.rare_step[walker]
    walkers.kept_next[walker, found] = walkers.rare_next[walker]
    walkers.found[walker] = found + 1
    walkers.rare_visits[walker] = -1


@njit()
def _end(plan, walkers, walker, reason, own, sample):
    """End a walk. If it has shown anything, the walker stays until that was collected; else it begins another one."""
    _keep(walkers, walker)
    sample.ends[reason, walkers.step[walker]] += 1
    for predicate in range(walkers.seen.shape[1]):
        if walkers.seen[walker, predicate] >= 0:
            walkers.phase[walker] = ENDED
            walkers.left[walker] = 0
            return
    walkers.walk[walker] += plan.numbers[STRIDE]
    _begin(plan, walkers, walker, own)


@njit(inline="always")
def _chosen(numbers, walk, step, count, times, is_guided):
    """Which of the candidates is the next step.

    Parameters:
        times: how often the states that they lead to were visited.
    """
    random = _random(numbers[SEED], walk, step, 2)
    if not is_guided or random & np.uint64(255) < np.uint64(numbers[ROAMING]):
        return _below(random, count)
    found, fewest = 0, np.int64(2**62)
    for candidate in range(count):
        if times[candidate] < fewest:
            found, fewest = 0, times[candidate]
        found += times[candidate] == fewest
    turn, chosen = _below(random, found), 0
    for candidate in range(count):
        if times[candidate] == fewest:
            if turn == 0:
                chosen = candidate
            turn -= 1
    return chosen


@njit(nogil=True, _nrt=False)  # counting references to arrays would take half of the time
def walk(first, last, plan, learned, answers, walkers, sample, scratch):
    """Move the walkers from the first to the last until each has made its steps, or waits for what it wants.

    Returns:
        The most candidates that a state had, if there was no room for them; else 0.
    """
    numbers, words = plan.numbers, len(plan.sought)
    own = sample.counters
    left, touched = scratch.left, scratch.touched
    outcomes, trees, hashes, times = scratch.outcomes, scratch.trees, scratch.hashes, scratch.times
    room = len(outcomes)
    pool, always, pairs, guards = learned.pool, learned.always, learned.pairs, learned.guards
    leaf_start, leaf_count = learned.leaf_start, learned.leaf_count
    begins, slots, changed = learned.begins, learned.slots, learned.numbers
    base, contents = learned.base, learned.hashes
    visits, is_guided = plan.visits, len(plan.visits) > 0
    for walker in range(first, last):
        walkers.parked[walker] = False
        values, after = walkers.values[walker], walkers.after[walker]
        while walkers.left[walker] > 0 and walkers.phase[walker] != FINISHED:
            walkers.wanted[walker] = 0
            if walkers.phase[walker] == ENDED:
                walkers.walk[walker] += numbers[STRIDE]
                _begin(plan, walkers, walker, own)
                continue
            if walkers.phase[walker] == ARRIVED:
                outside = _look(plan, learned, answers, walkers, walker, values)
                if outside < 0:
                    walkers.parked[walker] = True
                    break
                walkers.fresh[walker] = False
                for cell in range(words):
                    walkers.touched[walker, cell] = 0
                if outside:
                    walkers.left[walker] -= 1
                    _end(plan, walkers, walker, OUTSIDE, own, sample)
                    continue
                walkers.phase[walker] = AT_REST
            # which action instances may be enabled
            for cell in range(len(left)):
                left[cell] = always[cell]
            for pair in range(len(pairs)):
                number = values[pairs[pair, 0]] * pairs[pair, 1] + values[pairs[pair, 2]] * pairs[pair, 3]
                entry = pairs[pair, 4] + number * len(left)
                for cell in range(len(left)):
                    left[cell] |= guards[entry + cell]
            # the steps from here
            known, count, degree, idle = True, 0, 0, -1
            for group in range(len(left)):
                bits = left[group]
                while bits:
                    tree = group * 64 + _lowest(bits)
                    bits &= bits - ONE
                    code = _code(pool, tree, values, values)
                    if code == 0:
                        answer = np.int64(-1)
                        if walkers.fresh[walker]:
                            answer = _answered(answers.begins, answers.trees, walker, tree)
                        if answer < 0:
                            known = False
                            _want(pool, tree, tree, values, values, walkers.wants, walkers.wanted, walker)
                            continue
                        start, stop = answers.start[answer], answers.start[answer] + answers.count[answer]
                    else:
                        start = np.int64(leaf_start[-code - 1])
                        stop = start + leaf_count[-code - 1]
                    if count + stop - start > room:
                        return count + stop - start
                    if start == stop:
                        left[group] &= ~(ONE << np.uint64(tree % 64))  # what is left in the end is enabled
                    begin = count
                    degree += stop - start
                    for outcome in range(start, stop):
                        mixed, moves = walkers.hashes[walker], False
                        for change in range(begins[outcome], begins[outcome + 1]):
                            slot = slots[change]
                            old, new = values[slot], changed[change]
                            if old != new:
                                moves = True
                                mixed += contents[base[slot] + new] - contents[base[slot] + old]
                        if not moves:
                            idle = tree if idle < 0 else idle
                            continue
                        place = count
                        while place > begin and hashes[place - 1] > mixed:
                            outcomes[place], hashes[place] = outcomes[place - 1], hashes[place - 1]
                            place -= 1
                        outcomes[place], hashes[place], trees[count] = outcome, mixed, tree
                        count += 1
            if not known:
                walkers.parked[walker] = True
                break
            if idle >= 0:
                touched[:] = 0
                if not _look_at_step(plan, learned, answers, walkers, walker, values, values, touched, idle, True):
                    walkers.parked[walker] = True
                    break
            step = walkers.step[walker]
            chosen = -1
            if count and step < numbers[LENGTH]:
                if is_guided:
                    for candidate in range(count):
                        times[candidate] = visits[_mixed(hashes[candidate]) & np.uint64(len(visits) - 1)]
                chosen = _chosen(numbers, walkers.walk[walker], step, count, times, is_guided)
                for slot in range(len(values)):
                    after[slot] = values[slot]
                touched[:] = 0
                for change in range(begins[outcomes[chosen]], begins[outcomes[chosen] + 1]):
                    slot, new = slots[change], changed[change]
                    if values[slot] != new:
                        after[slot] = new
                        for cell in range(words):
                            touched[cell] |= learned.reads[slot, cell]
                if not _look_at_step(
                    plan, learned, answers, walkers, walker, values, after, touched, trees[chosen], False
                ):
                    walkers.parked[walker] = True
                    break
            # from here on, nothing is undone
            if chosen >= 0 and count > 1 and is_guided:
                rarest = 0 if chosen else 1
                for candidate in range(rarest + 1, count):
                    if candidate != chosen and times[candidate] < times[rarest]:
                        rarest = candidate
                known_visits = walkers.rare_visits[walker]
                if known_visits < 0 or times[rarest] < known_visits:
                    walkers.rare_visits[walker], walkers.rare_step[walker] = times[rarest], step
                    walkers.rare_next[walker] = _mixed(hashes[rarest])
                    for slot in range(len(values)):
                        walkers.rare[walker, slot] = values[slot]
            _note(plan, walkers, walker, degree, own, sample)
            for group in range(len(left)):
                bits = left[group]
                while bits:
                    sample.enabled[group * 64 + _lowest(bits)] += 1
                    bits &= bits - ONE
            if degree == 0 and numbers[DEADLOCKS] and walkers.seen[walker, numbers[CHECKS]] < 0:
                walkers.seen[walker, numbers[CHECKS]] = step
                walkers.idle[walker, numbers[CHECKS]] = -1
            walkers.left[walker] -= 1
            if chosen < 0:
                _end(plan, walkers, walker, LONGEST if count else DEAD_END, own, sample)
                continue
            walkers.fresh[walker] = False
            for slot in range(len(values)):
                values[slot] = after[slot]
            walkers.hashes[walker] = hashes[chosen]
            walkers.trees[walker, step] = trees[chosen]
            walkers.path[walker, step + 1] = hashes[chosen]
            walkers.step[walker] = step + 1
            walkers.phase[walker] = ARRIVED
            for cell in range(words):
                walkers.touched[walker, cell] = touched[cell]
                walkers.calm[walker, cell] &= ~touched[cell]
            sample.taken[trees[chosen]] += 1
            own[STEPS] += 1
    return 0


@njit()
def visit(visits, met):
    """Count states as visited once more."""
    for mixed in met:
        place = mixed & np.uint64(len(visits) - 1)
        visits[place] += np.uint32(1)
