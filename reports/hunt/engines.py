"""The engines of a hunt's exhaustive searches."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs

from leadline.checker.engines import ENGINES
from leadline.checker.engines.learning.kept import Kept
from leadline.checker.engines.progress import Progress
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits, Result
from leadline.checker.settings import CompiledSettings, SparkSettings
from leadline.checker.spec import Spec

Explore = Callable[[Spec[Any], Limits, Progress], Result]
"""A function that searches a spec within limits, and shows its progress."""


def on_this_machine(workers: int | None) -> Explore:
    """Return a function that searches with the compiled engine and the given number of threads. Each search continues
    with what others with the same actions have learned.
    """
    settings = CompiledSettings(workers=workers, kept=Kept())
    return lambda spec, limits, progress: ENGINES["compiled"](spec, limits, progress, settings)


@contextmanager
def on_spark(master: str | None, conf: Mapping[str, str], work_dir: str | None) -> Iterator[Explore]:
    """Start Spark, and return a function that searches with it. All searches share one session.

    Parameters:
        master, conf: see `SparkSettings`.
        work_dir: a directory that all machines can access. Each search has a folder of its own in it. None is possible
            only on a single machine.

    Raises:
        LeadlineError: if Spark is not installed or does not start, or a cluster has no work directory.
    """
    from leadline.checker.engines import spark

    spark.require_packages()
    from leadline.checker.engines.spark.launch import explore as explore_on_spark
    from leadline.checker.engines.spark.session import Session

    with Session(master, conf, verbose=False) as session:
        if work_dir is None and not session.is_local:
            raise LeadlineError("a cluster needs a work directory that all its machines can access: pass --work-dir")
        numbers = itertools.count(1)

        def explore(spec: Spec[Any], limits: Limits, progress: Progress) -> Result:
            folder = None if work_dir is None else f"{work_dir}/search-{next(numbers)}"
            times = [each for each in (limits.max_seconds, limits.max_cpu_seconds) if each is not None]
            # the processor time of this process says nothing of that of the others
            limits = attrs.evolve(limits, max_seconds=min(times, default=None), max_cpu_seconds=None)
            return explore_on_spark(spec, limits, progress, SparkSettings(work_dir=folder), session=session)

        yield explore
