"""A search problem: the spec, and the objects that all attempts at its search share."""

from __future__ import annotations

from typing import Generic, TypeVar

import attrs

from leadline.checker.engines.budget import Budget
from leadline.checker.engines.compiled.checkpoint import Checkpoint
from leadline.checker.engines.compiled.forecast import Forecast
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.engines.progress import Progress
from leadline.checker.engines.purity import Purity
from leadline.checker.result import Limits
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.spec import Spec

S = TypeVar("S")


@attrs.frozen(kw_only=True)
class Problem(Generic[S]):
    """A search problem: the spec, the limits and the resources.

    Attributes:
        spec: the spec.
        limits: what may stop the search early.
        budget: the time and the memory of all attempts together.
        workers: the threads and processes that share the work.
        progress: called regularly with the counts so far.
        tuning: sizes and limits.
        checkpoint: the folder in which the search is saved regularly; None: it is not saved.
        large: the minimum number of states of a level that is handed over to a different engine; None: no level is.
        forecast: decides whether to give up the search; None: it is never given up.
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
    forecast: Forecast | None = None
    purity: Purity[S] = attrs.field(default=attrs.Factory(lambda self: Purity(self.spec, self.tuning), takes_self=True))
