"""The coverage of a random search: the action instances that were taken, and the values of the fields in the sampled
states.

A random search does not store all of its states. Therefore the values of fields are collected only from the states in
the `StateSample`. Each sampled state is inspected once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.coverage import CoverageCounts, FieldValues, InstanceCoverage, named
from leadline.checker.engines.evidence import states_shown
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.random.distinct_estimate import StateSample
from leadline.checker.properties import Kind, Property
from leadline.checker.spec import Spec

S = TypeVar("S")


class WalkCoverage(Generic[S]):
    """Measures the coverage of a random search."""

    def __init__(self, spec: Spec[S]) -> None:
        self._spec = spec
        self._asked: list[Property] = [*spec.premises, *spec.checks_of(Kind.WITNESS)]
        self._values = FieldValues()
        self._true: dict[int, list[bool]] = {}

    def look(self, hashes: Sequence[int], state_at: Callable[[int], S], watch: Watch) -> None:
        """Inspect sampled states, except those that were inspected before: evaluate premises and witnesses on them, and
        collect the values of their fields.

        Parameters:
            state_at: a function that returns the state with the given index in `hashes`.
            watch: the object that checks the time limit.

        Raises:
            StopSearch: if the time limit is exceeded.
            SpecError: if a premise or a witness raised an exception.
        """
        for place, number in enumerate(hashes):
            if number not in self._true:
                watch.pause()
                state = state_at(place)
                self._true[number] = [self._spec.complaint(item, state) is None for item in self._asked]
                self._values.add_all([state])

    def covered(
        self, sampled: StateSample, enabled: NDArray[np.int64], taken: NDArray[np.int64], new: NDArray[np.int64]
    ) -> CoverageCounts:
        """Return the coverage of the search so far.

        Parameters:
            enabled: for each action instance, the number of times that it was enabled in a visited state.
            taken: for each action instance, the number of times that it was taken.
            new: for each action instance, the number of sampled states that it led to; see `StateSample.led_to`.
        """
        known = [self._true[number] for number in sampled.hashes[: sampled.most].tolist() if number in self._true]
        counts = np.array(known, np.int64).reshape(len(known), len(self._asked)).sum(axis=0).tolist()
        of_instances = zip(named(self._spec.instances), enabled.tolist(), taken.tolist(), new.tolist(), strict=True)
        return CoverageCounts(
            instances={
                name: InstanceCoverage(times, steps, sampled.scaled(states))
                for name, times, steps, states in of_instances
            },
            shown=states_shown(self._spec, dict(zip(self._asked, counts, strict=True))),
            fields=self._values.fields,
            sampled=None if sampled.is_exact and len(known) == len(sampled.hashes) else len(known),
        )
