"""A search problem. It remains unchanged when the search starts again with different transition tables."""

from __future__ import annotations

from pathlib import Path
from typing import Generic, TypeVar

import attrs

from leadline.checker.engines.budget import Budget
from leadline.checker.engines.compiled.checkpoint import Checkpoint
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.engines.progress import Progress
from leadline.checker.engines.purity import Purity
from leadline.checker.result import Limits
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.spec import Spec
from leadline.checker.symmetry import Symmetry

S = TypeVar("S")


@attrs.frozen(kw_only=True)
class Problem(Generic[S]):
    """A search problem: a spec, with the limits and the resources of its search.

    Attributes:
        budget: the time and memory that all attempts together may use.
        workers: the threads and processes that share the work.
        progress: a function that is called regularly with the current statistics, or None.
        tuning: internal sizes and times.
        checkpoint: the folder in which the search is saved regularly, or None if it is not saved.
        large: the number of states from which a level counts as large. A different engine must expand large levels.
            None if this engine expands all levels.
        symmetry: the group under which one state of each orbit is searched, or None.
        disk: the folder of the files in which states are kept, or None if they are kept in memory.
        purity: checks that the functions of the spec are pure.
    """

    spec: Spec[S]
    limits: Limits
    budget: Budget
    workers: Workers
    progress: Progress | None = None
    tuning: Tuning = DEFAULT
    checkpoint: Checkpoint | None = None
    large: int | None = None
    symmetry: Symmetry[S] | None = None
    disk: Path | None = None
    purity: Purity[S] = attrs.field(default=attrs.Factory(lambda self: Purity(self.spec, self.tuning), takes_self=True))
