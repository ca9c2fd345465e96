"""Snapshots of a search. A snapshot is taken between two blocks of states, and does not contain the states."""

from __future__ import annotations

import itertools
from operator import index
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.position import Position
from leadline.checker.engines.compiled.resumption import Hashes
from leadline.checker.engines.learning.restart import Adjustments
from leadline.checker.spec import Spec

S = TypeVar("S")


@attrs.frozen
class Snapshot:
    """All data needed to continue a search, except the states.

    Attributes:
        adjustments: what earlier attempts at the search have found out about the spec.
        initials: the number of initial states.
        counters: the counters of `kernel.append`.
    """

    adjustments: Adjustments
    initials: int
    counters: NDArray[np.int64]
    progression: Position

    @property
    def count(self) -> int:
        """The number of states."""
        return int(self.counters[kernel.STATES])

    def check(self, spec: Spec[S], hashes: Hashes) -> None:
        """Check that the attributes are consistent with each other and with a spec.

        Parameters:
            hashes: the saved hashes of the values and of the collection members.

        Raises:
            ValueError, TypeError, AttributeError, IndexError: if the attributes are inconsistent.
        """
        at, count, slots = self.progression, self.count, len(hashes.values)
        begins = [*at.levels, at.level_end]
        steps = [step for steps in at.steps_seen for step in steps]
        places = [*itertools.chain(*at.seen), *(before for before, _, _ in steps), *at.dead]
        fits = (
            len(self.counters) == kernel.COUNTERS
            and at.counts.shape == (len(spec.instances), 2)
            and 0 <= at.next <= at.level_end <= count
            and 0 <= at.checked <= count
            and 0 < self.initials <= count
            and all(first < last for first, last in itertools.pairwise(begins))
            and (not at.levels or at.levels[0] == 0 <= at.levels[-1] <= at.next)
            and all(0 <= place < count for place in places)
            and all(0 <= tree < len(spec.instances) and len(row) <= slots for _, tree, row in steps)
            and all(0 <= number < len(hashes.values[slot]) for _, _, row in steps for slot, number in enumerate(row))
            and len(hashes.members) <= slots
        )
        if not fits:
            raise ValueError("the parts of the saved search are inconsistent")

    def as_json(self) -> dict[str, object]:
        """Return the snapshot as an object that `json.dumps` accepts."""
        at = self.progression
        return {
            "adjustments": {name: sorted(found) for name, found in attrs.asdict(self.adjustments).items()},
            "initials": self.initials,
            "counters": self.counters.tolist(),
            "progression": {**attrs.asdict(at), "counts": at.counts.tolist()},
        }

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> Snapshot:
        """Restore a snapshot from an object that `as_json` returned.

        Raises:
            ValueError, TypeError, KeyError: if the object was not returned by `as_json`.
        """
        return cls(
            adjustments=Adjustments(**{name: frozenset(items) for name, items in found["adjustments"].items()}),
            initials=index(found["initials"]),
            counters=np.array(found["counters"], np.int64),
            progression=_progression(**found["progression"]),
        )


def _progression(
    counts: list[int], seen: list[list[int]], steps_seen: list[Any], seconds: float, **places: Any
) -> Position:
    numbers: dict[str, Any] = {
        name: [*map(index, found)] if isinstance(found, list) else index(found) for name, found in places.items()
    }
    return Position(
        counts=np.array(counts, np.int64).reshape(-1, 2),
        seen=[[*map(index, found)] for found in seen],
        steps_seen=[
            [(index(before), index(tree), [*map(index, row)]) for before, tree, row in steps] for steps in steps_seen
        ],
        seconds=float(seconds),
        **numbers,
    )
