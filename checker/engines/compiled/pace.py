"""Compares the CPU time of a search with transition tables with that of direct calls on the same states.

Fewer calls do not always save time, because a call that is recorded takes about ten times as long as a direct call, and
because the calls that remain can be those that take longest. Therefore direct calls are made on a few of the states
that the search has expanded, and both are timed. Both times are CPU times of the same process in the same seconds, so
their ratio hardly depends on the load of the machine.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

from leadline.checker.engines.compiled.forecast import FALLING, SlowerThanCalling
from leadline.checker.properties import Kind
from leadline.checker.result import Statistics
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.spec import Spec

S = TypeVar("S")

SLOW = 2.5
"""A search is slow if a state takes more than this many times the CPU time of the direct calls on it. The search with
direct calls itself takes about twice the time of its calls, because it also looks up and stores the next states."""

IN_A_ROW = 2
"""The number of looks at which a search must be slow, and not faster than before, to be stopped. Between them, no look
may show the opposite."""

FIRST, LOOKS = 250, 11
"""The number of expanded states before the first look, and the number of looks. Each time, the number of expanded
states has doubled."""

SAMPLE, SAMPLE_SECONDS = 64, 0.05
"""The number of states on which direct calls are made at each look, and the number of CPU seconds after which no
further state is used."""


class Trend:
    """Decides from the ratios of successive looks whether a search should be stopped.

    At first, all calls are new, and learned results are compared most often. Therefore the first ratio of each attempt
    is ignored. Where learning pays, the ratio then falls from look to look. A search is stopped only if it is large and
    no longer falls.
    """

    def __init__(self) -> None:
        self._in_a_row = 0
        self.start()

    def start(self) -> None:
        """Begin an attempt. Ratios are compared only with those of the same attempt."""
        self._is_first, self._least = True, math.inf

    def is_hopeless(self, ratio: float) -> bool:
        """Add the ratio of a look. Return whether the search should be stopped.

        Parameters:
            ratio: the CPU time of the search for a state, divided by that of the direct calls on it.
        """
        is_first, self._is_first = self._is_first, False
        if is_first:
            return False
        if ratio <= SLOW:
            self._least, self._in_a_row = math.inf, 0
            return False
        if self._least < math.inf:
            self._in_a_row = self._in_a_row + 1 if ratio > FALLING * self._least else 0
        self._least = min(self._least, ratio)
        return self._in_a_row >= IN_A_ROW


class Pace(Generic[S]):
    """Looks at a search with transition tables, and stops it if direct calls are faster.

    Each look considers only the states that were expanded since the previous look. Therefore the time that the
    compiled loops take to load does not count.

    Parameters:
        spec: the spec.
        clock: a function that returns the CPU seconds that the process and its helpers have used.
        trend: the looks of earlier attempts at the same search.
        tuning: internal settings.
    """

    def __init__(self, spec: Spec[S], clock: Callable[[], float], trend: Trend, tuning: Tuning = DEFAULT) -> None:
        self._spec, self._clock, self._trend = spec, clock, trend
        trend.start()
        self._next, self._left = min(FIRST, tuning.known_states), LOOKS
        self._expanded, self._seconds = 0, clock()

    def check(
        self, expanded: int, states: Callable[[Sequence[int]], Sequence[S]], statistics: Callable[[], Statistics]
    ) -> None:
        """Check whether a search should be stopped. Call this between two blocks of states.

        Parameters:
            expanded: the number of expanded states.
            states: a function that returns those of the expanded states with the given numbers that satisfy
                `Spec.within`.
            statistics: a function that returns the current statistics.

        Raises:
            SlowerThanCalling: if the search is slower than direct calls.
        """
        if expanded < self._next or not self._left:
            return
        seconds = (self._clock() - self._seconds) / (expanded - self._expanded)
        sample = states(np.linspace(self._expanded, expanded - 1, SAMPLE, dtype=np.int64).tolist())
        ratio = seconds / seconds_by_calling(self._spec, sample, self._clock)
        if self._trend.is_hopeless(ratio):
            raise SlowerThanCalling(statistics())
        self._next, self._left = 2 * expanded, self._left - 1
        self._expanded, self._seconds = expanded, self._clock()


def seconds_by_calling(spec: Spec[S], states: Sequence[S], clock: Callable[[], float]) -> float:
    """Return the CPU seconds that the direct calls on a state take.

    Parameters:
        spec: the spec.
        states: states that satisfy `Spec.within`. The time is the average over these states.
        clock: a function that returns CPU seconds.

    Returns:
        The time. It is infinite if there are no states, or if a call raised an exception, which the search reports.
    """
    of_states = spec.checks_of(Kind.INVARIANT, Kind.WITNESS, Kind.PREMISE, Kind.CONSTRAINT)
    of_steps = spec.checks_of(Kind.STEP_INVARIANT, Kind.STEP_WITNESS)
    collects, called, found = gc.isenabled(), 0, set[S]()
    gc.disable()  # a collection takes as long as thousands of calls
    began = clock()
    try:
        for state in states:
            for instance in spec.instances:
                for successor in instance.successors(state):
                    found.add(successor)
                    for item in of_steps:
                        item.function(state, successor)
            for item in of_states:
                item.function(state)
            called += 1
            if clock() - began > SAMPLE_SECONDS:
                break
        return (clock() - began) / called if called else math.inf
    except Exception:
        return math.inf
    finally:
        if collects:
            gc.enable()
