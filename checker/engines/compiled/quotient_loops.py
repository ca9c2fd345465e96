"""The compiled loops of `quotient`: they make keys of packed states, and enter keys into an exact table."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc"

from __future__ import annotations

import numpy as np

from leadline.checker.engines.learning.loop_cache import njit

MISSING = np.uint64(0xFFFFFFFFFFFFFFFF)
"""In place of a key of which a part has no number yet. No key is as large, unless a state is one word of 64 bits, and
then nothing has to be numbered."""

BATCH = 64
"""The number of entries of the table that are loaded at the same time; see `kernel.insert`."""

HALF = np.uint64(32)
FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


@njit(inline="always")
def _place(value, places):
    """Return where the search for a value begins in a table with `places` entries, a power of two."""
    mixed = (value ^ (value >> HALF)) * FIRST
    return np.int64((mixed ^ (mixed >> HALF)) & np.uint64(places - 1))


@njit(inline="always")
def _find(value, values, numbers):
    """Return the place of a value in the table, or the free place where it belongs."""
    place = _place(value, len(numbers))
    while numbers[place] != 0 and values[np.int64(numbers[place]) - 1] != value:
        place = (place + 1) & (len(numbers) - 1)
    return place


@njit(inline="always")
def _number(value, values, numbers):
    """Return the number of a value, or -1 if it has none."""
    return np.int64(numbers[_find(value, values, numbers)]) - 1


@njit(inline="always")
def _numbered(value, values, numbers, count):
    """Return the number of a value. If it has none, it gets the next one."""
    place = _find(value, values, numbers)
    if numbers[place] == 0:
        values[count[0]] = value
        count[0] += 1
        numbers[place] = count[0]
    return np.int64(numbers[place]) - 1


@njit(inline="always")
def _half(found, part, row, first, last, values, numbers):
    """Return the number of the words from `first` to `last` of a state, or -1 if it has none."""
    number = _number(found[part, row, first], values, numbers)
    for cell in range(first + 1, last):
        after = _number(found[part, row, cell], values, numbers)
        if number < 0 or after < 0:
            return np.int64(-1)
        number = _number((np.uint64(number) << HALF) | np.uint64(after), values, numbers)
    return number


@njit(inline="always")
def _half_numbered(found, part, row, first, last, values, numbers, count):
    number = _numbered(found[part, row, first], values, numbers, count)
    for cell in range(first + 1, last):
        after = _numbered(found[part, row, cell], values, numbers, count)
        number = _numbered((np.uint64(number) << HALF) | np.uint64(after), values, numbers, count)
    return number


@njit(nogil=True)
def make_keys(part, filled, found, keys, left, right, width):
    """Write the key of each state of a part: the numbers of its left and of its right half, side by side.

    Parameters:
        filled: for each part, the number of its states.
        found: the packed states. The shape is (parts, room, words).
        keys: the keys, or `MISSING` (an output). The shape is (parts, room).
        left, right: the named tuples `Numbered` of both halves.
        width: the number of bits of the number of a right half.

    Returns:
        The number of missing keys.
    """
    words = found.shape[2]
    middle, missing = (words + 1) // 2, 0
    for row in range(filled[part]):
        if words == 1:
            keys[part, row] = found[part, row, 0]
            continue
        first = _half(found, part, row, 0, middle, left.values, left.numbers)
        second = _half(found, part, row, middle, words, right.values, right.numbers)
        if first < 0 or second < 0:
            keys[part, row] = MISSING
            missing += 1
        else:
            keys[part, row] = (np.uint64(first) << np.uint64(width)) | np.uint64(second)
    return missing


@njit(nogil=True)
def number_missing(part, begin, filled, found, keys, left, right):
    """Number the halves of the states of a part whose keys are missing, as long as there is room for their values.

    Parameters:
        begin: the first state to look at.

    Returns:
        The first state that was not looked at.
    """
    words = found.shape[2]
    middle = (words + 1) // 2
    for row in range(begin, filled[part]):
        if keys[part, row] == MISSING:
            if min(len(left.values) - left.used[0], len(right.values) - right.used[0]) < 2 * words:
                return row
            _half_numbered(found, part, row, 0, middle, left.values, left.numbers, left.used)
            _half_numbered(found, part, row, middle, words, right.values, right.numbers, right.used)
    return filled[part]


@njit(nogil=True)
def number_again(count, values, numbers):
    """Enter the values that have numbers into an empty table."""
    for number in range(count):
        numbers[_find(values[number], values, numbers)] = number + 1


@njit(nogil=True)
def divide(part, filled, keys, places, routes, regions, bits, entries, span):
    """Mix the key of each state of a part, and divide it by the number of entries of the table. The remainder is the
    place where the state belongs, and the quotient is what is stored there. Group the states by region, and keep the
    order of those that are equal.

    Mixing is one to one on numbers of `bits` bits: a product with an odd number, and a shifted copy of the upper bits,
    can both be undone.

    Parameters:
        keys: the keys, which the quotients replace.
        places: for each state, its place in the table (an output).
        routes: the states of each part, in an order in which equal ones are as they were found. They are grouped by
            region (an output); see `SuccessorArrays`.
        regions: where the regions begin in `routes` (an output).
        bits: the number of bits of a key.
        entries: the number of entries of the table.
        span: the number of entries of a region.
    """
    mask = MISSING if bits == 64 else (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    shift, by = np.uint64(bits // 2), np.uint64(entries)
    ends = np.zeros(regions.shape[1] + 1, np.int64)
    for row in range(filled[part]):
        mixed = (keys[part, row] * FIRST) & mask
        mixed = ((mixed ^ (mixed >> shift)) * SECOND) & mask
        mixed ^= mixed >> shift
        quotient = mixed // by
        keys[part, row] = quotient
        places[part, row] = np.int64(mixed - quotient * by)
        ends[places[part, row] // span + 1] += 1
    for region in range(1, len(ends)):
        ends[region] += ends[region - 1]
    for region in range(regions.shape[1]):
        regions[part, region] = ends[region]
    before = routes[part, : filled[part]].copy()
    for row in before:
        region = places[part, row] // span
        routes[part, ends[region]] = row
        ends[region] += 1


@njit(nogil=True)
def enter(region, keys, places, routes, regions, new, table, span, distances):
    """Enter the states of one region into the table, in the order in which they were found.

    An entry is a quotient, and the distance from the place of the state to the entry, which begins with 1. Both give
    the key back, so equal entries at one place are equal states.

    Parameters:
        keys, places: the quotients and places; see `divide`. A place becomes -1 if the state is not new.
        new: for each region and part, the number of new states (an output).
        distances: the number of bits of a distance.

    Returns:
        Whether a distance was too large, so that the table must be enlarged; and a meaningless number, which is
        returned so that the compiler does not remove the loads.
    """
    low, high = region * span, min((region + 1) * span, len(table))
    most = min(np.int64(1) << distances, high - low)
    touched = np.uint64(0)
    for part in range(len(regions)):
        entered = 0
        for begin in range(regions[part, region], regions[part, region + 1], BATCH):
            end = min(begin + BATCH, regions[part, region + 1])
            for route in range(begin, end):
                touched ^= np.uint64(table[places[part, routes[part, route]]])
            for route in range(begin, end):
                row = routes[part, route]
                place, distance = places[part, row], np.int64(1)
                wanted = keys[part, row] << np.uint64(distances)
                while True:
                    entry = np.uint64(table[place])
                    if entry == wanted | np.uint64(distance):
                        places[part, row] = -1
                        break
                    if entry == 0:
                        table[place] = wanted | np.uint64(distance)
                        entered += 1
                        break
                    distance += 1
                    if distance == most:
                        return True, touched
                    place += 1
                    if place == high:
                        place = low
        new[region, part] = entered
    return False, touched
