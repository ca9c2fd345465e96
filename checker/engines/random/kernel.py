"""The compiled functions that only a random search needs: content hashes of next states, and random choices.

A block of states is expanded by `leadline.checker.engines.compiled.kernel.expand`, as in a breadth-first search. A
random choice depends only on the seed, on the numbers of the behaviour and of the step, and on the contents of the
states to choose from. It does not depend on the indices of values, on the order of next states, or on threads.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc"

from __future__ import annotations

import numpy as np

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
        seed: the seed of the search.
        walk: the number of the walk.
        step: the number of steps taken before. For the state where the walk begins, it is -1.
        use: a number that distinguishes the random numbers for the same step.
    """
    of_walk = mixed(seed + np.uint64(walk) * np.uint64(0x9E3779B97F4A7C15))
    return mixed(of_walk + np.uint64(step) * np.uint64(0xD1342543DE82EF95) + np.uint64(use))


@njit(nogil=True)
def starts(seed, first, randoms):
    """Write a random number for the state where each walk begins to `randoms`.

    Parameters:
        seed: the seed of the search.
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
        seed: the seed of the search.
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
