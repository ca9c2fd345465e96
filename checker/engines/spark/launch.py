"""Launches a search on Spark: opens the work directory, starts Spark, and restarts the search if necessary."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

import attrs

from leadline.checker.engines.budget import Budget
from leadline.checker.engines.compiled.checkpoint import Checkpoint, Saved, opened
from leadline.checker.engines.compiled.problem import Problem
from leadline.checker.engines.compiled.resumption import SpecChanged
from leadline.checker.engines.compiled.storage import Storage
from leadline.checker.engines.learning.restart import CHANGES, Adjustments
from leadline.checker.engines.learning.workers import Workers, usable_cores
from leadline.checker.engines.progress import Progress
from leadline.checker.engines.purity import Purity
from leadline.checker.engines.run import within
from leadline.checker.engines.spark.search import SparkSearch
from leadline.checker.engines.spark.session import JavaEnded, Session, check_environment
from leadline.checker.errors import LeadlineError
from leadline.checker.observing.lazy import make_ordinary
from leadline.checker.result import FIRST_VIOLATION, Limits, Result
from leadline.checker.settings import SparkSettings, SparkTuning
from leadline.checker.spec import Spec
from leadline.checker.support.temporary import private_folder

S = TypeVar("S")


def explore(
    spec: Spec[S],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: SparkSettings | None = None,
    *,
    session: Session | None = None,
) -> Result:
    """Search a spec's states breadth-first on Spark.

    Parameters:
        limits: the limits of the search. By default, it stops at the first violation, or when most of the free memory
            is used. After Spark has started, a search that stops at a limit reports only complete levels.
        progress: a function that is called regularly with the current statistics.
        session: a running session, which is used instead of the master and the configuration in the settings. It keeps
            running after the search.

    Returns:
        The same result as `leadline.checker.engines.oracle.explore`. The time in the result does not include the start
        of Spark.

    Raises:
        SpecError: if an action or a property raised an exception or is not a pure function.
        LeadlineError: if Spark does not start or fails, or the work directory cannot be written, belongs to another
            search, or is damaged.
    """
    limits, settings = limits or Limits(), settings or SparkSettings()
    if session is None:
        check_environment(settings.master, settings.conf)  # fails before time is spent on the first levels
    workers = Workers(usable_cores())
    tuning = _tuning(settings)
    budget = Budget(limits, lambda: workers.processes)

    def search() -> Result:
        with ExitStack() as stack:
            place = settings.resume or settings.work_dir or stack.enter_context(private_folder()) / "work"
            folder = Checkpoint(Storage(place))
            saved = stack.enter_context(opened(folder, spec, limits, is_new=settings.resume is None))
            start = _starter(stack, settings, session)
            problem = Problem(
                spec=spec, limits=limits, budget=budget, workers=workers, progress=progress,
                tuning=tuning.compiled, large=tuning.large,
            )  # fmt: skip
            result = _searched(problem, folder, saved, settings.shards, start, tuning)
            return _left(result, folder, settings.keep_files)

    try:
        return within(budget, spec, "spark", search)
    except JavaEnded as error:
        place = settings.resume or settings.work_dir
        if place is None:
            raise
        raise JavaEnded(f"{error}: continue the search with --resume {place}") from error
    finally:
        workers.close()
        make_ordinary()


def _left(result: Result, folder: Checkpoint, keep_files: bool) -> Result:
    """Remove the files of a finished search unless `keep_files` is true. Return the result, with a note if the folder
    could not be locked or the files cannot be removed.
    """
    if folder.claim.note:
        result = attrs.evolve(result, note=folder.claim.note)
    if not keep_files and (result.exhausted or result.stop == FIRST_VIOLATION):
        try:
            folder.clear()
        except LeadlineError as error:  # an error here must not discard the result
            result = attrs.evolve(result, note=f"the files of the search could not be removed: {error}")
    return result


def _starter(stack: ExitStack, settings: SparkSettings, session: Session | None) -> Callable[[], Session]:
    """Return a function that returns the given session. If `session` is None, the function starts a session on its
    first call.
    """

    def start() -> Session:
        nonlocal session
        if session is None:
            session = stack.enter_context(Session(settings.master, settings.conf, settings.verbose))
            if settings.resume is None and settings.work_dir is None and not session.is_local:
                missing = "a cluster needs a work directory that all its machines can access"
                raise LeadlineError(f"{missing}: pass --work-dir")
        return session

    return start


def _searched(
    problem: Problem[S],
    folder: Checkpoint,
    saved: Saved | None,
    shards: int | None,
    start: Callable[[], Session],
    tuning: SparkTuning,
) -> Result:
    """Run the search. If its adjustments do not fit the spec, start the search again with different adjustments."""
    adjustments = Adjustments() if saved is None else saved.snapshot.adjustments
    while True:
        try:
            return SparkSearch(problem, adjustments, folder, shards, start, tuning, saved).run()
        except SpecChanged as change:
            raise folder.changed(change) from change
        except CHANGES as change:
            adjustments = adjustments.after(change)
        saved, problem = None, attrs.evolve(problem, purity=Purity(problem.spec, problem.tuning))
        folder.start_over()


def _tuning(settings: SparkSettings) -> SparkTuning:
    """Return `settings.tuning`. If `settings.verify` is set, use it as the compiled engine's `verify`."""
    tuning = settings.tuning
    if settings.verify is None:
        return tuning
    return attrs.evolve(tuning, compiled=attrs.evolve(tuning.compiled, verify=settings.verify))
