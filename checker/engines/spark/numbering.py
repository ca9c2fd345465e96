"""The numbering of values, which is the same in the driver and in all workers.

A slot of a packed state contains the number of a value. The driver assigns the numbers. A worker that finds values
without a number completes its task, discards the result, and reports the values to the driver, which numbers them and
repeats the task. Nothing else that a worker learns is sent to other processes.
"""

from __future__ import annotations

import attrs

from leadline.checker.engines.learning.packing import Packing


class NewValues(Exception):
    """Raised when a worker has found values to which the driver has not assigned numbers.

    Attributes:
        values: the values, as pairs of a slot and a value.
    """

    def __init__(self, values: list[tuple[int, object]]) -> None:
        self.values = values
        super().__init__(values)


@attrs.frozen
class Numbering:
    """The numbers of values and the packing, which must be the same in all processes that exchange states.

    Attributes:
        values: for each slot, its values in the order of their numbers.
        sizes: for each slot, the number of values for which the packing has room.
    """

    values: list[list[object]]
    sizes: list[int]

    @classmethod
    def of(cls, values: list[list[object]], packing: Packing | None = None) -> Numbering:
        """Return the numbering of the given values.

        Parameters:
            values: for each slot, its values in the order of their numbers.
            packing: the current packing. It is kept if it has room for the values. Otherwise, the new packing has room
                for twice as many values, unless this would take more words.
        """
        sizes = [len(known) for known in values]
        if packing is not None and packing.fits(sizes):
            return cls(values, packing.sizes)
        roomy = [2 * size for size in sizes]
        return cls(values, roomy if Packing(roomy).words == Packing(sizes).words else sizes)
