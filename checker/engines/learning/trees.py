"""The format of decision trees in one flat array, and the compiled functions that walk them.

`Forest` builds the trees. The loops of all engines walk them with the functions of this module, whose parameters have
the same meaning everywhere:

- `pool`: the array that contains all trees; see `Forest.pool`.
- `tree`: the index of a tree.
- `node`: the position of a node in `pool`.
- `number`: the index of a slot's value.
- `states`: packed states; shape (states, words).
- `values`: a state, given as one value index per slot.
- `word`, `shift`, `mask`: the position of each slot's bits in a packed state; see `Packing`.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc"

from __future__ import annotations

import numpy as np

from leadline.checker.engines.learning.loop_cache import ensure_cache, njit
from leadline.checker.observing.step_slots import SECOND

ensure_cache()  # before anything is compiled

SLOT, ROOM, EDGES = 0, 1, 2
"""The offsets of the entries in a node of a decision tree: the slot that the node reads, its room, and its first edge.

If the room is positive, the node has an array with an edge for each value index below the room. If the room is
negative, the node has a hash table with -room pairs. Each pair consists of a value index plus one, or 0 if the pair is
not used, and an edge. An edge holds a code: 0 if nothing is known, the position of a node, or a negative number for a
leaf.
"""

FACTOR, SHIFT = 0x9E3779B1, 15
"""The factor and the shift of the hash function for the hash tables in nodes."""

NOT_SHOWN, SHOWN = -1, -2
"""The codes of the leaves of a predicate's tree. `SHOWN` means that the state or step violates the invariant or
satisfies the witness; `NOT_SHOWN` means that it does not."""

JUMP = -(2**30)
"""A code below this number belongs to a predicate that is divided: the call continues with the tree whose root is at
the position ``JUMP - code`` of the pool; see `Forest.root`."""

ONE = np.uint64(1)

DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
LOWEST_BIT = np.zeros(64, np.int64)
for _bit in range(64):
    LOWEST_BIT[((1 << _bit) * 0x03F79D71B4CB0A89 % 2**64) >> 58] = _bit
"""A table for finding the lowest set bit of a word. The product of the word's lowest set bit and the de Bruijn sequence
`DE_BRUIJN` has different upper 6 bits for each of the 64 bits. They are the index in the table."""


@njit()
def _hashed(pool, node, number):
    """Return the position of an edge in a node's hash table, looked up by its value index, or 0 if there is no such
    edge.
    """
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
    """Return the position of a node's edge for a value index, or 0 if there is no such edge."""
    room = pool[node + ROOM]
    if room < 0:
        return _hashed(pool, node, number)
    return np.int64(node) + EDGES + number if number < room else np.int64(0)


@njit(inline="always")
def leaf_of(pool, tree, values):
    """Return the code of the leaf that a state reaches in a decision tree, or 0 if the path is not known."""
    code = pool[tree]
    while True:
        while code > 0:
            edge = edge_of(pool, code, values[pool[code + SLOT]])
            if edge == 0:
                return np.int32(0)
            code = pool[edge]
        if code >= JUMP:
            return code
        code = pool[JUMP - code]


@njit(inline="always")
def leaf_of_step(pool, tree, values, after, place, word, shift, mask):
    """Return the code of the leaf that a step reaches in the tree of a step predicate, or 0 if the path is not known.

    Parameters:
        values: the state before the step.
        after: packed states, which contain the state after the step.
        place: the index of this state in `after`.
    """
    code = pool[tree]
    while code > 0 or code < JUMP:
        if code < JUMP:
            code = pool[JUMP - code]
            continue
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
    """Write the value indices of a packed state, one per slot, to `values`."""
    for slot in range(len(word)):
        values[slot] = (states[index, word[slot]] >> shift[slot]) & mask[slot]


@njit()
def led_to(pool, node, number):
    """Return the target code of a node's edge for a value index, or 0 if there is no such edge."""
    edge = edge_of(pool, node, np.int64(number))
    return pool[edge] if edge else np.int32(0)


@njit()
def fill_index(pair, trees, first_values, pool, dead, words, table):
    """Fill the table of a pair of slots; see `EnabledIndex`.

    Parameters:
        pair: an entry of `EnabledIndex.pairs`.
        trees: the action instances that are looked up in this table.
        first_values: the number of values of the first slot.
        dead: for each leaf, whether it has no outcomes. At such a leaf, the action instance is not enabled.
        words: the number of 64-bit words in an entry of the table.
    """
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
    """Find the leaves that the given states reach in consecutive trees.

    Parameters:
        first_tree: the index of the first tree.
        codes: the codes of the leaves, or 0 where the path is not known (an output); shape (states, trees).
    """
    values = np.empty(len(word), np.int64)
    for row in range(len(indices)):
        unpack(states, indices[row], values, word, shift, mask)
        for tree in range(codes.shape[1]):
            codes[row, tree] = leaf_of(pool, first_tree + tree, values)


@njit()
def path_ends(indices, states, pool, word, shift, mask, ends):
    """For each of the given states, find the last edge of its path in each of the first trees of the pool. The shape of
    `ends` determines the number of trees.

    Parameters:
        ends: the positions of the edges, or -1 where the path is not known (an output); shape (states, trees).
    """
    values = np.empty(len(word), np.int64)
    for row in range(len(indices)):
        unpack(states, indices[row], values, word, shift, mask)
        for tree in range(ends.shape[1]):
            place, code = np.int64(tree), pool[tree]
            while code > 0 or code < JUMP:
                if code < JUMP:
                    place = np.int64(JUMP - code)
                    code = pool[place]
                    continue
                place = edge_of(pool, code, values[pool[code + SLOT]])
                code = pool[place] if place else np.int32(0)
            ends[row, tree] = place if code < 0 else -1
