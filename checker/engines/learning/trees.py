"""The format of a decision tree in the flat array, and the compiled functions that walk it.

`Forest` builds the trees. The loops of all engines walk them with these functions.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc"

from __future__ import annotations

import numpy as np

from leadline.checker.engines.learning.loop_cache import ensure_cache, njit
from leadline.checker.observing.step_slots import SECOND

ensure_cache()  # before anything is compiled

SLOT, ROOM, EDGES = 0, 1, 2
"""The layout of a node of a decision tree: the slot that it reads, its room, and its edges.

If the room is positive, the node has an edge for each number below the room. If the room is negative, the node has a
hash table with -room pairs. Each pair holds a number plus one, or 0 if it is unused, and the code to which the edge
leads.
"""

FACTOR, SHIFT = 0x9E3779B1, 15
"""The factor and the shift of the hash function for the hash tables in nodes."""

NOT_SHOWN, SHOWN = -1, -2
"""The leaves of a predicate's tree: it does not give evidence (a violation or a witness), or it does."""

ONE = np.uint64(1)

DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
LOWEST_BIT = np.zeros(64, np.int64)
for _bit in range(64):
    LOWEST_BIT[((1 << _bit) * 0x03F79D71B4CB0A89 % 2**64) >> 58] = _bit


@njit()
def _hashed(pool, node, number):
    """Return the position of the edge for a number in a node with a hash table; 0 if there is no edge."""
    mask = -np.int64(pool[node + ROOM]) - 1
    place = (number * FACTOR >> SHIFT) & mask
    while True:
        edge = np.int64(node) + EDGES + 2 * place
        if pool[edge] == number + 1:
            return edge + 1
        if pool[edge] == 0:
            return np.int64(0)
        place = (place + 1) & mask


@njit(inline="always")
def edge_of(pool, node, number):
    """Return the position of the edge for a number in a node; 0 if there is no edge."""
    room = pool[node + ROOM]
    if room < 0:
        return _hashed(pool, node, number)
    return np.int64(node) + EDGES + number if number < room else np.int64(0)


@njit(inline="always")
def leaf_of(pool, tree, values):
    """Return the code of the leaf that the slot values reach in a tree; 0 if the path is not known."""
    code = pool[tree]
    while code > 0:
        edge = edge_of(pool, code, values[pool[code + SLOT]])
        if edge == 0:
            return np.int32(0)
        code = pool[edge]
    return code


@njit(inline="always")
def leaf_of_step(pool, tree, values, after, place, word, shift, mask):
    """Return the code of the leaf that a step reaches in the tree of a step predicate; 0 if the path is not known."""
    code = pool[tree]
    while code > 0:
        slot = pool[code + SLOT]
        if slot < SECOND:
            number = values[slot]
        else:
            slot -= SECOND
            number = np.int64((after[place, word[slot]] >> shift[slot]) & mask[slot])
        edge = edge_of(pool, code, number)
        if edge == 0:
            return np.int32(0)
        code = pool[edge]
    return code


@njit(inline="always")
def unpack(states, index, values, word, shift, mask):
    """Unpack a state: write the numbers of its slots to `values`."""
    for slot in range(len(word)):
        values[slot] = (states[index, word[slot]] >> shift[slot]) & mask[slot]


@njit()
def led_to(pool, node, number):
    """Return the code to which the edge of a node for a number leads; 0 if it is not known."""
    edge = edge_of(pool, node, np.int64(number))
    return pool[edge] if edge else np.int32(0)


@njit()
def fill_index(pair, trees, first_values, pool, dead, words, table):
    """Fill the table of one pair of slots; see `EnabledIndex`."""
    _, stride, second, second_stride, base = pair
    for number in range(first_values):
        for other in range(stride):
            entry = base + (number * stride + other * second_stride) * words
            for tree in trees:
                code = led_to(pool, pool[tree], number)
                if code > 0 and second_stride and pool[code + SLOT] == second:
                    code = led_to(pool, code, other)
                if code >= 0 or not dead[-code - 1]:
                    table[entry + tree // 64] |= ONE << np.uint64(tree % 64)


@njit()
def leaves(indices, states, first_tree, pool, word, shift, mask, codes):
    """Find the leaves that trees lead to from some states.

    Parameters:
        indices: the indices of the states.
        first_tree: the first tree to walk.
        codes: shape (states, trees): set to the code of the leaf for each state and each tree from `first_tree` on; 0
            if the path is not known.
    """
    values = np.empty(len(word), np.int64)
    for row in range(len(indices)):
        unpack(states, indices[row], values, word, shift, mask)
        for tree in range(codes.shape[1]):
            codes[row, tree] = leaf_of(pool, first_tree + tree, values)


@njit()
def path_ends(indices, states, pool, word, shift, mask, ends):
    """Find the ends of the paths of some states.

    Parameters:
        indices: the indices of the states.
        ends: shape (states, trees): set to the position of the last edge of each path; -1 if the path is not known.
    """
    values = np.empty(len(word), np.int64)
    for row in range(len(indices)):
        unpack(states, indices[row], values, word, shift, mask)
        for tree in range(ends.shape[1]):
            place, code = np.int64(tree), pool[tree]
            while code > 0:
                place = edge_of(pool, code, values[pool[code + SLOT]])
                code = pool[place] if place else np.int32(0)
            ends[row, tree] = place if code < 0 else -1
