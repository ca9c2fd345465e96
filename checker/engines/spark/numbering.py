"""Numbering: the numbers of slot values on which a driver and its workers agree.

The driver assigns the numbers. A worker that finds a value without a number completes its task, to find all such
values, then discards the result and reports the values. The driver numbers them and repeats the task. Everything else
that a worker learns stays on the worker.
"""

from __future__ import annotations

import attrs

from leadline.checker.engines.learning.packing import Packing


class NewValues(Exception):
    """A worker found slot values that the driver has not numbered yet.

    Attributes:
        values: pairs of a slot and a value.
    """

    def __init__(self, values: list[tuple[int, object]]) -> None:
        self.values = values
        super().__init__(values)


@attrs.frozen
class Numbering:
    """What all workers must agree on before they can exchange states.

    Attributes:
        values: the values of each slot, in the order of their numbers.
        sizes: for each slot, the number of values that the packing has room for.
    """

    values: list[list[object]]
    sizes: list[int]

    @classmethod
    def of(cls, values: list[list[object]], packing: Packing | None = None) -> Numbering:
        """The numbering of some values.

        Parameters:
            values: for each slot, its values.
            packing: the current packing, which is kept if the values fit. Otherwise, the new packing has room for
                twice as many values if that does not take more words.
        """
        sizes = [len(known) for known in values]
        if packing is not None and packing.fits(sizes):
            return cls(values, packing.sizes)
        roomy = [2 * size for size in sizes]
        return cls(values, roomy if Packing(roomy).words == Packing(sizes).words else sizes)
