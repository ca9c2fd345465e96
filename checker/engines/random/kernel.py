"""The compiled functions that only a random search needs: content hashes of next states, and random choices.

A block of states is expanded by `leadline.checker.engines.compiled.kernel.expand`, as in a breadth-first search. A
random choice depends only on the seed, on the numbers of the behaviour and of the step, and on the contents of the
states to choose from. It does not depend on the indices of values, on the order of next states, or on threads.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc"

from __future__ import annotations

import numpy as np

from leadline.checker.engines.compiled.kernel import FILLED, INDEX, WAITING, check, expand
from leadline.checker.engines.learning.loop_cache import njit


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
        step: the number of steps taken before. For the state where the walk begins, it is -1.
        use: a number that distinguishes the random numbers for the same step.
    """
    of_walk = mixed(seed + np.uint64(walk) * np.uint64(0x9E3779B97F4A7C15))
    return mixed(of_walk + np.uint64(step) * np.uint64(0xD1342543DE82EF95) + np.uint64(use))


@njit(nogil=True)
def mark_paths(parents, wanted):
    """Mark all nodes on the paths to marked nodes; see `Frontier`.

    Parameters:
        parents: for each node, its predecessor, which has a smaller number, or -1.
        wanted: for each node, whether it is marked.
    """
    for node in range(len(parents) - 1, -1, -1):
        if wanted[node] and parents[node] >= 0:
            wanted[parents[node]] = True


@njit(nogil=True)
def starts(seed, first, randoms):
    """Write a random number for the state where each walk begins to `randoms`.

    Parameters:
        first: the number of the first walk. The numbers of the other walks follow.
    """
    for place in range(len(randoms)):
        randoms[place] = _random(seed, first + place, -1, 1)


@njit(nogil=True)
def hash_next(
    first, last, states, hashes_before, found, parents, word, shift, mask, begins, base, table, hashes, moves
):
    """Compute the content hash of each next state from the hash of its predecessor and from the slots that differ.

    Parameters:
        first, last: the range of next states, excluding `last`.
        states, hashes_before: the packed predecessors, and their content hashes.
        found, parents: the packed next states, and the indices of their predecessors.
        word, shift, mask: see `Packing`, but sorted by word.
        begins: for each word, the position of its first slot; followed by the number of slots.
        base, table: see `SlotHashes`, in the order of `word`.
        hashes, moves: for each next state, its content hash, and whether it differs from its predecessor (outputs).
    """
    for place in range(first, last):
        parent = parents[place]
        hashed, differs = hashes_before[parent], False
        for cell in range(states.shape[1]):
            before, after = states[parent, cell], found[place, cell]
            if before == after:
                continue
            differs = True
            for slot in range(begins[cell], begins[cell + 1]):
                old, new = (before >> shift[slot]) & mask[slot], (after >> shift[slot]) & mask[slot]
                if old != new:
                    hashed += table[base[slot] + np.int64(new)] - table[base[slot] + np.int64(old)]
        hashes[place], moves[place] = hashed, differs


@njit(nogil=True)
def count_steps(parents, trees, moves, degrees, moving, enabled):
    """Count the steps from each state of a block, and the states in which each action instance is enabled.

    Parameters:
        parents, trees: for each step, the index of the state, and the action instance. The steps of an action instance
            from a state are consecutive.
        moves: for each step, whether it changes the state.
        degrees, moving: for each state, the number of its steps, and of those that change it (outputs).
        enabled: for each action instance, a count to which the number of states is added.
    """
    for place in range(len(parents)):
        parent, tree = parents[place], trees[place]
        degrees[parent] += 1
        moving[parent] += moves[place]
        enabled[tree] += place == 0 or parents[place - 1] != parent or trees[place - 1] != tree


@njit(nogil=True)
def choose(seed, walks, steps, parents, trees, hashes, allowed, chosen):
    """Choose the next step of each walk at random. All allowed steps that differ are equally likely.

    Each step gets a random number that depends on the walk, on its action instance and on the content of the next
    state. The step with the smallest number is chosen.

    Parameters:
        walks, steps: for each walk, its number, and the number of steps that it has taken.
        parents: for each step, the index of the walk; an index beyond the last walk is ignored.
        trees, hashes: for each step, its action instance, and the content hash of the next state.
        allowed: for each step, whether it may be chosen.
        chosen: for each walk, the index of the chosen step, or -1 if no step may be chosen (an output).
    """
    least = np.zeros(len(walks), np.uint64)
    randoms = np.zeros(len(walks), np.uint64)
    for walk in range(len(walks)):
        randoms[walk], chosen[walk] = _random(seed, walks[walk], steps[walk], 2), -1
    for place in range(len(parents)):
        walk = parents[place]
        if walk < len(walks) and allowed[place]:
            number = mixed(randoms[walk] ^ mixed(hashes[place] + np.uint64(trees[place])))
            if chosen[walk] < 0 or number < least[walk]:
                chosen[walk], least[walk] = place, number


@njit(nogil=True)
def follow(seed, walk, steps, most, uniform, within, hashed, known, expanding, judging, hashing, path):
    """Take steps of one walk as long as everything about them is known and nothing is found.

    The loop stops before a step if a path is unknown, a property is violated or a witness is satisfied, or the walk
    ends. It has changed nothing then, so that the step can be taken in an ordinary round.

    Parameters:
        seed, walk, steps: the seed of the search, the number of the walk, and the number of steps that it has taken.
        most: the maximum number of steps to take.
        uniform: whether only the steps taken are checked; otherwise all steps are.
        within: the position of `Spec.within` among the predicates on states, or -1.
        hashed: the content hash of the first state, in an array.
        known: see `Frontier.is_known`.
        expanding: the arguments of `kernel.expand`. Its states are the state of the walk and a next state.
        judging: the arguments of `kernel.check` that judge the next state.
        hashing: see `hash_next`.
        path: for each step (outputs): the state before it, its content hash, the number of its steps and the action
            instance of the chosen one; the states that were judged, and their keys in `known`; the number of steps from
            the states, and for each action instance, the number of states in which it is enabled.

    Returns:
        The number of steps taken, and the number of states judged.
    """
    part, packed, answered, generated, of_steps, guarding, first_step, reads, learned = expanding
    judged_part, parents, inherit, judged_reads, wanted, shown, first_tree = judging
    visited, hashes_visited, degrees, chosen_trees, judged, keys, looked, enabled = path
    cursor, judged_cursor, states = part[0], judged_part[0], packed[0]
    _, found, _, found_parents, trees, _, _, _, _, shown_by_steps = generated
    hashes, moves = np.zeros(len(found), np.uint64), np.zeros(len(found), np.bool_)
    word, shift, mask, begins, base, table = hashing
    taken, judges = 0, 0
    by_steps = len(wanted) > first_step - first_tree and wanted[first_step - first_tree :].any()
    while taken < most:
        cursor[:] = 0
        if expand(part, packed, answered, 0, generated, of_steps, guarding, first_step, reads, learned):
            break
        filled, before = cursor[FILLED], judges
        if cursor[INDEX] == 0 or cursor[WAITING] > 0 or judges + filled > len(judged):
            break
        hash_next(
            0, filled, states, hashed, found, found_parents, word, shift, mask, begins, base, table, hashes, moves
        )
        chosen, least, idle, stops = -1, np.uint64(0), -1, shown_by_steps[:filled].any()
        of_step = _random(seed, walk, steps + taken, 2)
        for turn in range(filled + 2):  # in a uniform search, the chosen step and one that changes nothing come last
            place = turn if turn < filled else chosen if turn == filled else idle
            if place < 0 or (turn >= filled and not uniform):
                continue
            if turn < filled and not moves[place]:
                idle = place if idle < 0 else idle
                continue
            if turn >= filled or not uniform:
                key = mixed(hashed[0]) ^ hashes[place] if by_steps else hashes[place]
                if known[mixed(key) & np.uint64(len(known) - 1)] != key:
                    for cell in range(states.shape[1]):
                        states[1, cell] = judged[judges, cell] = found[place, cell]
                    judged_cursor[:] = 0
                    judged_cursor[INDEX] = 1
                    shown[:] = False
                    pool = learned[0]
                    check(
                        judged_part, packed, 1, parents, inherit, judged_reads, wanted, shown, first_tree, first_step,
                        pool,
                    )  # fmt: skip
                    is_outside = within >= 0 and shown[0, within]
                    if judged_cursor[WAITING] or shown.sum() > is_outside or (uniform and is_outside):
                        stops = True
                        break
                    if is_outside:
                        continue
                    keys[judges] = key
                    judges += 1
            if turn < filled:
                number = mixed(of_step ^ mixed(hashes[place] + np.uint64(trees[place])))
                if chosen < 0 or number < least:
                    chosen, least = place, number
        if stops or chosen < 0:
            judges = before
            break
        visited[taken], hashes_visited[taken] = states[0], hashed[0]
        degrees[taken], chosen_trees[taken] = filled, trees[chosen]
        looked[0] += filled
        for place in range(filled):
            enabled[trees[place]] += place == 0 or trees[place - 1] != trees[place]
        states[0], hashed[0] = found[chosen], hashes[chosen]
        taken += 1
    return taken, judges
