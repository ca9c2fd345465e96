"""Compiled loops that permute packed states; see `leadline.checker.engines.learning.permutations`."""

# Numba compiles these functions, so their arguments are arrays and numbers, and have no types here.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from leadline.checker.engines.compiled.kernel import FILLED, _hash, _route
from leadline.checker.engines.learning.loop_cache import njit
from leadline.checker.engines.learning.trees import unpack


@njit(nogil=True)
def permute(which, states, twins, permutations, word, shift, mask):
    """Write to `twins` what a permutation makes of packed states.

    Parameters:
        permutations: the named tuple `PermutationArrays`.
        word, shift, mask: see `Packing`.
    """
    targets, _, begins, numbers, _ = permutations
    twins[:] = 0
    for index in range(len(states)):
        for slot in range(len(word)):
            number = np.int64((states[index, word[slot]] >> shift[slot]) & mask[slot])
            target = targets[which, slot]
            twins[index, word[target]] |= np.uint64(numbers[which, begins[slot] + number]) << shift[target]


@njit(nogil=True)
def make_least(part, first, last, generated, permutations, word, shift, mask):
    """Replace the next states of a part of a block by the representatives of their orbits: the first one, by the order
    of slots, of all rows that permutations make of them.

    Parameters:
        part: the position of the loop in the part; see `Part.cursor`.
        first, last: the range of the states of the part, excluding `last`.
        generated: the next states of the part; see `SuccessorArrays`.
        permutations, word, shift, mask: see `permute`.
    """
    begins, found, hashes, parents, _, _, routes, regions, _, _ = generated
    targets, sources, starts, numbers, order = permutations
    values, best = np.empty(len(word), np.int64), np.empty(len(order), np.int64)
    filled = part[FILLED]
    for place in range(filled):
        unpack(found, place, values, word, shift, mask)
        for turn in range(len(order)):
            best[turn] = values[order[turn]]
        least = 0
        for which in range(1, len(targets)):
            for turn in range(len(order)):
                source = sources[which, order[turn]]
                number = numbers[which, starts[source] + values[source]]
                if number > best[turn]:
                    break
                if number < best[turn]:
                    least = which
                    for rest in range(turn, len(order)):
                        source = sources[which, order[rest]]
                        best[rest] = numbers[which, starts[source] + values[source]]
                    break
        if least:
            for cell in range(found.shape[1]):
                found[place, cell] = 0
            for slot in range(len(word)):
                target = targets[least, slot]
                moved = np.uint64(numbers[least, starts[slot] + values[slot]])
                found[place, word[target]] |= moved << shift[target]
            hashes[place] = _hash(found, place)
    _route(first, last, begins, filled, parents, hashes, routes, regions)


@njit(nogil=True)
def states_in_orbits(first, last, states, outside, permutations, word, shift, mask):
    """Return the number of states in the orbits of the states in a range, without those outside of the constraint."""
    targets, _, starts, numbers, _ = permutations
    values, total = np.empty(len(word), np.int64), 0
    for index in range(first, last):
        if len(outside) and outside[index]:
            continue
        unpack(states, index, values, word, shift, mask)
        fixed = 0
        for which in range(len(targets)):
            is_fixed = True
            for slot in range(len(word)):
                if numbers[which, starts[slot] + values[slot]] != values[targets[which, slot]]:
                    is_fixed = False
                    break
            fixed += is_fixed
        total += len(targets) // fixed
    return total
