"""What random walks have tried: action instances, and a sample of the states, with the values of their fields.

Walks keep no states. Those in the sample from which distinct states are counted (`StateSample`) are looked at once,
between two rounds.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.coverage import CoverageCounts, FieldValues, InstanceCoverage
from leadline.checker.engines.evidence import states_shown
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.random.distinct_estimate import MOST, StateSample
from leadline.checker.observing.layout import Layout
from leadline.checker.properties import Kind, Property
from leadline.checker.spec import Spec

S = TypeVar("S")


class WalkCoverage(Generic[S]):
    """Collects what walks of one spec have tried.

    Parameters:
        spec: what is walked.
    """

    def __init__(self, spec: Spec[S]) -> None:
        self._spec = spec
        self._asked: list[Property] = [*spec.premises, *spec.checks_of(Kind.WITNESS)]
        self._values = FieldValues()
        self._waiting: dict[int, NDArray[np.int64]] = {}
        self._true: dict[int, list[bool]] = {}

    def add(self, hashes: NDArray[np.uint64], rows: NDArray[np.int64], limit: int) -> None:
        """Add states that were noted for the sample; those that are known are passed over.

        Parameters:
            hashes: of the states.
            rows: the numbers of their slots' values.
            limit: the largest hash in the sample.
        """
        for place, number in enumerate(hashes.tolist()):
            if number <= limit and number not in self._true and number not in self._waiting:
                self._waiting[number] = rows[place].copy()

    def look(self, layout: Layout, watch: Watch) -> None:
        """Look at the states that were added since the last call.

        Parameters:
            layout: of their rows.

        Raises:
            StopSearch: the time is up; those left over are looked at in the next call.
            SpecError: a premise or a witness raised an exception.
        """
        while self._waiting:
            watch.pause()
            number = next(iter(self._waiting))
            state: S = layout.state(self._waiting[number].tolist())
            self._true[number] = [self._spec.complaint(item, state) is None for item in self._asked]
            self._values.add_all([state])
            del self._waiting[number]

    def covered(
        self, sampled: StateSample, enabled: NDArray[np.int64], taken: NDArray[np.int64], new: NDArray[np.int64]
    ) -> CoverageCounts:
        """What was tried.

        Parameters:
            sampled: the sample.
            enabled, taken, new: for each action instance, how often it was enabled and taken, and the states of the
                sample that it led to first.
        """
        known = [self._true[number] for number in sampled.hashes[:MOST].tolist() if number in self._true]
        counts = np.array(known, np.int64).reshape(len(known), len(self._asked)).sum(axis=0).tolist()
        of_instances = zip(self._spec.instances, enabled.tolist(), taken.tolist(), new.tolist(), strict=True)
        return CoverageCounts(
            instances={
                str(instance): InstanceCoverage(times, steps, sampled.scaled(states))
                for instance, times, steps, states in of_instances
            },
            shown=states_shown(self._spec, dict(zip(self._asked, counts, strict=True))),
            fields=self._values.fields,
            sampled=None if sampled.is_exact and len(known) == len(sampled.hashes) else len(known),
        )
