"""The numbering of slot values, which is the same in the driver and in all workers. A slot of a packed state contains
the index of a value. The driver assigns the indices. If a worker finds values without an index, it completes its task,
discards the result, and reports the values to the driver. The driver assigns indices to the values and repeats the
task.
"""

from __future__ import annotations

import attrs

from leadline.checker.engines.learning.packing import Packing


class NewValues(Exception):
    """Raised when a worker has found values to which the driver has not assigned indices.

    Attributes:
        values: a (slot, value) pair for each of these values.
    """

    def __init__(self, values: list[tuple[int, object]]) -> None:
        self.values = values
        super().__init__(values)


@attrs.frozen
class Numbering:
    """The indices assigned to values, and the packing of states. Processes that exchange states must use the same
    numbering.

    Attributes:
        values: for each slot, its values in the order of their indices.
        sizes: for each slot, the number of values that the packing has room for.
    """

    values: list[list[object]]
    sizes: list[int]


def sizes_for(sizes: list[int], packing: Packing) -> list[int]:
    """Return, for each slot, the number of values that a packing must have room for.

    Parameters:
        packing: the current packing. If the values fit into it, its own sizes are returned. Otherwise, the sizes are
            doubled to leave room for more values, unless the states would then need more words.
    """
    if packing.fits(sizes):
        return packing.sizes
    roomy = [2 * size for size in sizes]
    return roomy if Packing(roomy).words == Packing(sizes).words else sizes
