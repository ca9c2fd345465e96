"""The coverage of a random search: the action instances that were taken, and the values of the fields in the sampled
states.

A random search does not store all of its states. Therefore the values of fields are collected only from the states in
the `StateSample`. Each sampled state is inspected once, between two rounds of the search.
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
    """Measures the coverage of a random search.

    Parameters:
        spec: the spec.
        tuning: the settings, including the maximum number of values to count for each field.
    """

    def __init__(self, spec: Spec[S], tuning: Tuning = DEFAULT) -> None:
        self._spec = spec
        self._asked: list[Property] = [*spec.premises, *spec.checks_of(Kind.WITNESS)]
        self._values = FieldValues(tuning.field_values)
        self._waiting: dict[int, NDArray[np.int64]] = {}
        self._true: dict[int, list[bool]] = {}

    def add(self, hashes: NDArray[np.uint64], rows: NDArray[np.int64], limit: int) -> None:
        """Add states to be inspected by the next call to `look`. States that were added before are ignored.

        Parameters:
            hashes: the hashes of the states.
            rows: for each state, the index of the value in each slot.
            limit: the largest hash that a state of the sample can have. States with larger hashes are ignored.
        """
        for place, number in enumerate(hashes.tolist()):
            if number <= limit and number not in self._true and number not in self._waiting:
                self._waiting[number] = rows[place].copy()

    def look(self, layout: Layout, watch: Watch) -> None:
        """Inspect the states that have been added since the last call: evaluate premises and witnesses on them, and
        collect the values of the states' fields.

        Parameters:
            layout: the layout, which converts rows to states.
            watch: the object that checks the time limit.

        Raises:
            StopSearch: if the time limit is exceeded. The next call inspects the remaining states.
            SpecError: if a premise or a witness raised an exception.
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
        """Return the coverage of the search so far.

        Parameters:
            sampled: the sample of distinct states.
            enabled: for each action instance, the number of times that it was enabled in a visited state.
            taken: for each action instance, the number of times that it was taken.
            new: for each action instance, the number of sampled states that it led to; see `StateSample.led_to`.
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
