"""Starting a search on Spark: its work directory, its session, and another attempt where one is needed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TypeVar

import attrs

from leadline.checker.engines.budget import Budget
from leadline.checker.engines.learning.restart import CHANGES, Adjustments
from leadline.checker.engines.learning.workers import Workers, usable_cores
from leadline.checker.engines.progress import Progress
from leadline.checker.engines.run import within
from leadline.checker.engines.spark.claims import Claim, claimed
from leadline.checker.engines.spark.manifest import Manifest, SearchPosition
from leadline.checker.engines.spark.search import SparkSearch
from leadline.checker.engines.spark.session import Session, check_environment
from leadline.checker.engines.spark.storage import Storage
from leadline.checker.errors import LeadlineError
from leadline.checker.observing.lazy import make_ordinary
from leadline.checker.result import FIRST_VIOLATION, Limits, Result
from leadline.checker.settings import SparkSettings
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
        spec: what to search.
        limits: what may stop the search early; a limit on states or seconds counts from level to level once
            Spark has taken over. By default the first violation.
        progress: called every so often with the counts so far.
        settings: of this engine.
        session: a session to use, and to leave running; the master and Spark's settings are the session's.

    Returns:
        The result: what `leadline.checker.engines.oracle.explore` returns. Its seconds do not count the start of Spark.

    Raises:
        SpecError: the spec misbehaved.
        LeadlineError: Spark does not start or gives up; the work directory cannot be written, is of another
            search, or is damaged.
    """
    limits, settings = limits or Limits(), settings or SparkSettings()
    if session is None:
        check_environment(settings.master, settings.conf)  # which should not show only after the driver's part
    workers = Workers(usable_cores())
    budget = Budget(limits, lambda: workers.processes)

    def search() -> Result:
        with ExitStack() as stack:
            folder = _opened(stack, spec, limits, settings)
            start = _starter(stack, settings, session)
            result = _searched(spec, limits, progress, settings, folder, start, workers, budget)
            return folder.left(result, settings.keep_files)

    try:
        return within(budget, spec, "spark", search)
    finally:
        workers.close()
        make_ordinary()


@attrs.frozen
class _Folder:
    """The work directory of a search.

    Attributes:
        storage, manifest, claim: its files, what it says of the search, and the right to use it.
        saved: how far an earlier run was; None if there was none, or it had not begun with Spark.
    """

    storage: Storage
    manifest: Manifest
    claim: Claim
    saved: SearchPosition | None

    def left(self, result: Result, keep_files: bool) -> Result:
        """Remove the files of a search that has come to its end, unless they are to be kept; note what went wrong."""
        if self.claim.note:
            result = attrs.evolve(result, note=self.claim.note)
        if not keep_files and (result.exhausted or result.stop == FIRST_VIOLATION):
            try:
                self.manifest.clear()
            except LeadlineError as error:  # the result must not be lost
                result = attrs.evolve(result, note=f"files of the search are left: {error}")
        return result


def _opened(stack: ExitStack, spec: Spec[Any], limits: Limits, settings: SparkSettings) -> _Folder:
    """Claim the work directory, for a new search or to continue one. Raises LeadlineError: it cannot be used."""
    storage = Storage(settings.resume or settings.work_dir or str(stack.enter_context(private_folder()) / "work"))
    manifest = Manifest(storage)
    if settings.resume is not None:
        manifest.find()  # before anything is written there
    claim = stack.enter_context(claimed(storage))
    if settings.resume is None:
        manifest.begin(spec, limits)
        return _Folder(storage, manifest, claim, None)
    saved = manifest.load(spec, limits)
    if saved is not None and settings.shards not in (None, saved.shards):
        shown = f"{storage.place} holds a search with {saved.shards} shards"
        raise LeadlineError(f"{shown}: leave out --shards")
    return _Folder(storage, manifest, claim, saved)


def _starter(stack: ExitStack, settings: SparkSettings, session: Session | None) -> Callable[[], Session]:
    """A function that gives the session, which it starts at its first call if there is none."""

    def start() -> Session:
        nonlocal session
        if session is None:
            session = stack.enter_context(Session(settings.master, settings.conf, settings.verbose))
            if settings.resume is None and settings.work_dir is None and not session.is_local:
                missing = "a cluster needs a work directory that all its machines see"
                raise LeadlineError(f"{missing}: give --work-dir")
        return session

    return start


def _searched(
    spec: Spec[S],
    limits: Limits,
    progress: Progress | None,
    settings: SparkSettings,
    folder: _Folder,
    start: Callable[[], Session],
    workers: Workers,
    budget: Budget,
) -> Result:
    """Search, again with other adjustments where that turns out to be needed."""
    saved = folder.saved
    adjustments = saved.adjustments if saved is not None else Adjustments()
    tuning = settings.tuning
    if settings.verify is not None:
        tuning = attrs.evolve(tuning, compiled=attrs.evolve(tuning.compiled, verify=settings.verify))
    given = folder.storage, folder.claim, settings.shards, start, workers
    while True:
        try:
            return SparkSearch(spec, limits, progress, *given, adjustments, budget, tuning).run(saved)
        except CHANGES as change:
            adjustments = adjustments.after(change)
        saved = None
        folder.manifest.start_over()
