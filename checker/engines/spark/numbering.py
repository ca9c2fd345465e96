"""Numbering: the numbers of slot values on which a driver and its workers agree.

The driver gives the numbers. A worker that meets a value without one finishes what it does, so as to meet all of them,
discards the outcome, and reports the values; the driver numbers them and repeats the task. Whatever else a worker
learns stays with it.
"""

from __future__ import annotations

from typing import Any

import attrs

from leadline.checker.engines.learning.packing import Packing


class NewValues(Exception):
    """Slots have values that the driver has not numbered yet.

    Attributes:
        values: each with its slot.
    """

    def __init__(self, values: list[tuple[int, Any]]) -> None:
        self.values = values
        super().__init__(values)


@attrs.frozen
class Numbering:
    """What all workers must agree on before they can exchange states.

    Attributes:
        values: the values of each slot, in the order of their numbers.
        sizes: of the packing.
    """

    values: list[list[Any]]
    sizes: list[int]

    @classmethod
    def of(cls, values: list[list[Any]], packing: Packing | None = None) -> Numbering:
        """The numbering of some values.

        Parameters:
            values: for each slot.
            packing: the packing so far, which stays if the values fit. Otherwise there is room for twice as many
                values, if that takes no more words.
        """
        sizes = [len(known) for known in values]
        if packing is not None and packing.fits(sizes):
            return cls(values, packing.sizes)
        roomy = [2 * size for size in sizes]
        return cls(values, roomy if Packing(roomy).words == Packing(sizes).words else sizes)
