"""Measures the coverage of random walks: action instances, and the values of fields in a sample of the states.

Walks do not store states. The states of the sample that estimates the number of distinct states (`StateSample`) are
each inspected once, between two rounds.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.coverage import CoverageCounts, FieldValues, InstanceCoverage
from leadline.checker.engines.evidence import states_shown
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.random.distinct_estimate import StateSample
from leadline.checker.observing.layout import Layout
from leadline.checker.properties import Kind, Property
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.spec import Spec

S = TypeVar("S")


class WalkCoverage(Generic[S]):
    """Collects the coverage of walks of one spec.

    Parameters:
        spec: the spec.
        tuning: the number of field values to count.
    """

    def __init__(self, spec: Spec[S], tuning: Tuning = DEFAULT) -> None:
        self._spec = spec
        self._asked: list[Property] = [*spec.premises, *spec.checks_of(Kind.WITNESS)]
        self._values = FieldValues(tuning.field_values)
        self._waiting: dict[int, NDArray[np.int64]] = {}
        self._true: dict[int, list[bool]] = {}

    def add(self, hashes: NDArray[np.uint64], rows: NDArray[np.int64], limit: int) -> None:
        """Add states that were noted for the sample, except known ones.

        Parameters:
            hashes: the hashes of the states.
            rows: the rows of the states.
            limit: the largest hash in the sample.
        """
        for place, number in enumerate(hashes.tolist()):
            if number <= limit and number not in self._true and number not in self._waiting:
                self._waiting[number] = rows[place].copy()

    def look(self, layout: Layout, watch: Watch) -> None:
        """Inspect the states that were added since the last call.

        Parameters:
            layout: the layout of their rows.

        Raises:
            StopSearch: the time is up; the next call inspects the remaining states.
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
        """Return the coverage so far.

        Parameters:
            sampled: the sample.
            enabled, taken, new: for each action instance, how often it was enabled and taken, and the number of states
                of the sample that it led to first.
        """
        known = [self._true[number] for number in sampled.hashes[: sampled.most].tolist() if number in self._true]
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
