"""The call log: the calls to a spec's functions from which a search has learned, encoded as integers.

A resumed search repeats these calls, to check that the spec has not changed.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.calls import Call, Changes, Row
from leadline.checker.observing.recording import Precision
from leadline.checker.observing.step_slots import SECOND

NUMBER = np.dtype(np.int32)
"""The type of the integers in the log."""

_FALSE, _TRUE = -1, -2
"""The integers that encode the results of a predicate. The encoding of an action's result begins with its number of
steps instead.
"""

_KEY_BYTES = 60
"""The approximate number of bytes that Python uses for the key of a logged call."""


@attrs.frozen
class LoggedCall:
    """A call from which a search has learned.

    Attributes:
        tree: the index of the decision tree of the action or predicate that was called.
        precision: the precision with which the reads of the call were recorded.
        slots: the number of slots per state when the call ended.
        rows: the state on which the function was called, or the states before and after a step. Each state is given as
            one value index per slot.
        reads: the slots that the call read. The slots of the state after a step are numbered starting with `SECOND`.
        gave: the result; see `Call.gave`.
    """

    tree: int
    precision: Precision
    slots: int
    rows: tuple[Row, ...]
    reads: frozenset[int]
    gave: list[Changes] | bool

    @property
    def key(self) -> int:
        """A hash of the values that the call read and of its result."""
        return _key(self.tree, {slot: self.rows[slot // SECOND][slot % SECOND] for slot in self.reads}, self.gave)


class CallLog:
    """The calls of one search. Calls that read the same values and returned the same result are logged only once.

    Attributes:
        written: the number of integers that have already been written to the log file.
        pending: the integers that have not been written yet.
    """

    def __init__(self) -> None:
        self.written = 0
        self.pending = array("i")
        self._keys: set[int] = set()

    @property
    def nbytes(self) -> int:
        """The approximate size of the log in memory, in bytes."""
        return NUMBER.itemsize * len(self.pending) + _KEY_BYTES * len(self._keys)

    def note(self, tree: int, precision: Precision, slots: int, rows: Sequence[Row], call: Call) -> None:
        """Add a call to an action or a predicate to the log, unless an equal call has already been added.

        Parameters:
            tree, precision, slots, rows: see `LoggedCall`.
            call: the reads and the result of the call.
        """
        assert not isinstance(call.gave, float), "distances are not logged"
        key = _key(tree, call.reads, call.gave)
        if key in self._keys:
            return
        self._keys.add(key)
        numbers = [tree, int(precision), slots, len(rows)]
        for row in rows:
            numbers += [*row, *[0] * (slots - len(row))]
        numbers += [len(call.reads), *call.reads]
        if isinstance(call.gave, bool):
            numbers.append(_TRUE if call.gave else _FALSE)
        else:
            numbers.append(len(call.gave))
            for step in call.gave:
                numbers.append(len(step))
                for change in step.items():
                    numbers += change
        self.pending.extend(numbers)

    def keep_written(self) -> None:
        """Discard the pending integers. Call this after they have been written to the log file."""
        self.written += len(self.pending)
        self.pending = array("i")

    def read(self, numbers: NDArray[np.int32]) -> Iterator[LoggedCall]:
        """Decode the contents of a log file, and add its calls to this log.

        Parameters:
            numbers: all integers of the file.

        Yields:
            The calls, in the order in which they were made.

        Raises:
            ValueError, IndexError: if the integers are not a valid log.
        """
        self.written = len(numbers)
        rest = iter(numbers.tolist())
        for tree in rest:
            call = _read_call(tree, rest)
            self._keys.add(call.key)
            yield call


def _read_call(tree: int, rest: Iterator[int]) -> LoggedCall:
    def some(count: int) -> list[int]:
        found = list(itertools.islice(rest, count))
        if len(found) != count:
            raise ValueError("the log of calls ends in the middle of a call")
        return found

    precision, slots, states = some(3)
    rows = tuple([some(slots) for _ in range(states)])
    reads = frozenset(some(*some(1)))
    (result,) = some(1)
    gave: list[Changes] | bool = result == _TRUE
    if result >= 0:
        pairs = [some(2 * some(1)[0]) for _ in range(result)]
        gave = [dict(zip(numbers[::2], numbers[1::2], strict=True)) for numbers in pairs]
    return LoggedCall(tree, Precision(precision), slots, rows, reads, gave)


def _key(tree: int, reads: Mapping[int, int], gave: list[Changes] | bool) -> int:
    shown = gave if isinstance(gave, bool) else tuple(sorted(tuple(sorted(step.items())) for step in gave))
    return hash((tree, frozenset(reads.items()), shown))
