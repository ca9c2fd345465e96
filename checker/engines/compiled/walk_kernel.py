"""The compiled loop of random walks: steps through the learned trees.

A walker is a row of slot numbers, not packed, since it changes with each step. What it does next must not depend on how
values are numbered, nor on which thread moves it. So where an order matters, it is that of the spec's action instances,
and then that of the contents of the next states.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc"

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from checker.engines.compiled.kernel import _DE_BRUIJN, _LOWEST_BIT, ONE, SECOND, SHOWN, SLOT, _edge

ARRIVED, AT_REST, ENDED, FINISHED = range(4)
"""Phases of a walker: its state is to be checked; its next step is to be chosen; its walk has ended, and what it showed
was not collected yet; there are no more walks for it."""

DEAD_END, LONGEST, OUTSIDE, REASONS = range(4)
"""Why a walk ended: there was no step to another state; it had as many steps as it may have; its state was outside of
`Spec.within`; and how many reasons there are."""

WANTS = 8
"""Unknown paths that a walker notes at a time."""

IDLE = 1 << 24
"""Added to the tree of a step predicate that is wanted for a step that leads back to the same state."""

STEPS, BEGUN, FILLED, MET, COUNTERS = range(5)
"""What a thread counts: steps taken; walks begun; states noted for the sample; states arrived at; and how many counters
these are."""

SEEN = 2**14
"""States that a thread remembers having noted."""


class Learned(NamedTuple):
    """What is known of the spec.

    Attributes:
        pool, leaf_start, leaf_count: see `Forest` and `Tables`.
        begins, slots, numbers: for each outcome, where its changes begin; and of each change, the slot and the number.
        always, pairs, guards: see `Guards`.
        reads: for each slot, bits of the predicates that read it.
        base, hashes: see `Contents`.
    """

    pool: Any
    leaf_start: Any
    leaf_count: Any
    begins: Any
    slots: Any
    numbers: Any
    always: Any
    pairs: Any
    guards: Any
    reads: Any
    base: Any
    hashes: Any


class Walkers(NamedTuple):
    """The walkers. All arrays have one entry, or one row, for each.

    Attributes:
        values, after: the numbers of the slots' values, before the step that is being checked and after it.
        hashes: of their states' contents.
        walk: the number of the walk.
        step: steps taken in it.
        phase: see `ARRIVED`.
        left: steps to take until all walkers meet again.
        touched: bits of the predicates that may say another thing of the state than of the one before.
        calm: bits of the step predicates that are known to show nothing of a step that changes nothing they read.
        parked: whether the walker waits for what it wants.
        fresh: whether the answers it was given are about the state it is in.
        wanted, wants: how many unknown paths it waits for; and of each the tree, the node and the number at its end.
        seen: for each predicate, the step of this walk that showed it first, -1 if none did.
        idle: for each predicate, the action instance of that step if it led back to the same state, else -1.
        trees, path: of the walk so far, the action instance of each step, and the hash of each state.
        rare, rare_step, rare_next, rare_visits: of the walk so far, the state with the least visited next state besides
            the one taken: the numbers of its slots' values, the steps to it, the hash of that next state, and how often
            that was visited; -1 if there is none.
        found: the number of such states that were kept since the walkers last met.
        kept, kept_step, kept_next, kept_trees, kept_path: these states, and the walks that led to them.
    """

    values: Any
    after: Any
    hashes: Any
    walk: Any
    step: Any
    phase: Any
    left: Any
    touched: Any
    calm: Any
    parked: Any
    fresh: Any
    wanted: Any
    wants: Any
    seen: Any
    idle: Any
    trees: Any
    path: Any
    rare: Any
    rare_step: Any
    rare_next: Any
    rare_visits: Any
    found: Any
    kept: Any
    kept_step: Any
    kept_next: Any
    kept_trees: Any
    kept_path: Any


class Answers(NamedTuple):
    """What was answered to single walkers, as it was not worth learning.

    Attributes:
        begins: for each walker, where its answers begin, and where the last end.
        trees: of each answer.
        start, count: of an action instance, its outcomes; of a predicate, `kernel.SHOWN` or `kernel.NOT_SHOWN`.
    """

    begins: Any
    trees: Any
    start: Any
    count: Any


class Sample(NamedTuple):
    """What a thread notes and counts.

    Attributes:
        counters: see `STEPS`.
        hashes, depths, by, degrees: of states whose hash is below the limit: that, the steps to it, the action instance
            that led there, and the steps from it.
        met: the hashes of the states that walkers arrived at.
        taken, enabled: for each action instance, how often it was taken, and in how many states it was enabled.
        ends: for each reason and number of steps, the walks that ended so.
        seen, seen_order: the hash of a state noted lately, and with what: it is noted again only with less.
    """

    counters: Any
    hashes: Any
    depths: Any
    by: Any
    degrees: Any
    met: Any
    taken: Any
    enabled: Any
    ends: Any
    seen: Any
    seen_order: Any


class Plan(NamedTuple):
    """What the walks are to do.

    Attributes:
        numbers: the seed, the number of walks and the most steps of each; the trees of the first state predicate and of
            the first step predicate; the number of predicates; whether the last state predicate is `Spec.within`;
            whether to look for deadlocks; of 256 steps, those that are chosen among all; of 256 walks, those that begin
            at a rare state of the walker's last walk; and the number of walkers.
        initials, initial_hashes: the initial states.
        sought: bits of the predicates to evaluate.
        visits: how often states with a hash were arrived at; empty if all steps are to be chosen alike.
        limit: of the sample.
        starts, start_step, start_trees, start_path: states in the middle of earlier walks at which walks may begin; see
            `Walkers.kept`.
    """

    numbers: Any
    initials: Any
    initial_hashes: Any
    sought: Any
    visits: Any
    limit: Any
    starts: Any
    start_step: Any
    start_trees: Any
    start_path: Any


class Scratch(NamedTuple):
    """Room for what a thread works on.

    Attributes:
        left: bits of the action instances that may be enabled.
        touched: bits of the predicates that read what a step changes.
        outcomes, trees, hashes, times: of each candidate for the next step, its outcome, its action instance, the hash
            of the state that it leads to, and how often that was visited.
    """

    left: Any
    touched: Any
    outcomes: Any
    trees: Any
    hashes: Any
    times: Any


def scratch(groups: int, words: int, room: int) -> Scratch:
    """Make room.

    Parameters:
        groups: the 64-bit words of the action instances.
        words: the 64-bit words of the predicates.
        room: the number of candidates.
    """
    numbers = (np.zeros(room, np.int64) for _ in range(3))
    left, touched, hashes = (np.zeros(size, np.uint64) for size in (groups, words, room))
    outcomes, trees, times = numbers
    return Scratch(left, touched, outcomes, trees, hashes, times)


SEED, WALKS, LENGTH, FIRST_CHECK, FIRST_STEP, CHECKS, CONSTRAINED, DEADLOCKS, ROAMING, RETURNS, STRIDE, NUMBERS = range(
    12
)
"""Places in `Plan.numbers`."""


@numba.njit(cache=True, inline="always")
def _mixed(number):
    """A number from 0 to 2 ** 64 - 1 that looks random: the finalizer of SplitMix64."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@numba.njit(cache=True, inline="always")
def _random(seed, walk, step, use):
    """A random number for one step of one walk, another one for each use."""
    of_walk = _mixed(np.uint64(seed) + np.uint64(walk) * np.uint64(0x9E3779B97F4A7C15))
    return _mixed(of_walk + np.uint64(step) * np.uint64(0xD1342543DE82EF95) + np.uint64(use))


@numba.njit(cache=True, inline="always")
def _below(random, bound):
    """A random number below a bound of at most 32 bits."""
    return np.int64(((random >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@numba.njit(cache=True, inline="always")
def _lowest(bits):
    """The place of the lowest bit that is set."""
    return _LOWEST_BIT[((bits & (~bits + ONE)) * _DE_BRUIJN) >> np.uint64(58)]


# Tuples of arrays are not handed to what is called in each step: that would count a reference to each array anew.


@numba.njit(cache=True, inline="always")
def _code(pool, tree, before, after):
    """The leaf that a state's values, or those before and after a step, reach in a tree; 0 if it is not known."""
    code = pool[tree]
    while code > 0:
        slot = pool[code + SLOT]
        edge = _edge(pool, code, before[slot] if slot < SECOND else after[slot - SECOND])
        code = pool[edge] if edge else np.int32(0)
    return code


@numba.njit(cache=True)
def _answered(begins, trees, walker, asked_as):
    """The place of what was answered to a walker about a tree; -1 if nothing was."""
    for answer in range(begins[walker], begins[walker + 1]):
        if trees[answer] == asked_as:
            return answer
    return np.int64(-1)


@numba.njit(cache=True)
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


@numba.njit(cache=True, inline="always")
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


@numba.njit(cache=True)
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


@numba.njit(cache=True, inline="always")
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


@numba.njit(cache=True, inline="always")
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


@numba.njit(cache=True, inline="always")
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
    own[FILLED] += 1


@numba.njit(cache=True)
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


@numba.njit(cache=True)
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


@numba.njit(cache=True, inline="always")
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


@numba.njit(cache=True, nogil=True, _nrt=False)  # counting references to arrays would take half of the time
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
            last_tree = -1
            for candidate in range(count):
                if trees[candidate] != last_tree:
                    last_tree = trees[candidate]
                    sample.enabled[last_tree] += 1
            if idle >= 0:
                sample.enabled[idle] += 1
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


@numba.njit(cache=True)
def visit(visits, met):
    """Count states as visited once more."""
    for mixed in met:
        place = mixed & np.uint64(len(visits) - 1)
        visits[place] += np.uint32(1)
