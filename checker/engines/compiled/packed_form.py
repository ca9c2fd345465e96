"""The packed form of a search that began with objects, in one or several attempts. Attempts continue each other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Generic, TypeVar

import attrs

from leadline.checker.engines.compiled.checkpoint import Checkpoint, Saved, opened
from leadline.checker.engines.compiled.moving import Moved, of_objects, to_objects
from leadline.checker.engines.compiled.problem import Problem
from leadline.checker.engines.compiled.resumption import SpecChanged
from leadline.checker.engines.compiled.search import CompiledSearch, compile_ahead
from leadline.checker.engines.compiled.storage import Storage
from leadline.checker.engines.learning.calls import NotRecorded
from leadline.checker.engines.learning.learn_or_call import MOST_RETURNING, CallingPays
from leadline.checker.engines.learning.restart import CHANGES, NO_ADJUSTMENTS, Adjustments, Change
from leadline.checker.engines.learning.workers import Workers, usable_cores
from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.engines.run import attempt
from leadline.checker.engines.symmetric import SymmetricSearch
from leadline.checker.observing.lazy import make_ordinary
from leadline.checker.result import Result, Statistics, Stop, StopKind
from leadline.checker.settings import CHECKPOINT_SECONDS, CompiledSettings

S = TypeVar("S")


class PackedForm(Generic[S]):
    """Continues a search with packed states.

    Parameters:
        objects: the search so far. If it has not begun, its initial states are packed.
        made: the number of calls that it has made.
        adjustments: what has been found out about the spec when its states were packed before, or None.
        settings: the settings of the engine. If they name a checkpoint folder, the search must not have begun.
        may_return: whether the search may have objects again if learning does not pay.

    Attributes:
        adjustments: what has been found out about the spec.
        statistics: the statistics when learning was found not to pay.
    """

    def __init__(
        self, objects: OracleSearch[S], made: int, adjustments: Adjustments | None, settings: CompiledSettings,
        *, may_return: bool,
    ) -> None:  # fmt: skip
        spec, limits, tuning = objects.spec, objects.limits, objects.tuning
        self._objects, self._calls_made, self.adjustments = objects, made, adjustments or NO_ADJUSTMENTS
        self._workers = Workers(settings.workers or usable_cores())
        if limits.coverage or settings.symmetry:
            self._workers.end_helpers(for_good=True)  # only this process measures coverage, and permutes calls
        self._problem = Problem(
            spec=spec, limits=limits, budget=objects.budget, workers=self._workers, progress=objects.progress,
            tuning=tuning, purity=objects.purity, checkpoint=_folder(settings), disk=settings.disk,
            symmetry=objects.symmetry if isinstance(objects, SymmetricSearch) else None,
        )  # fmt: skip
        is_plain = not (limits.coverage or settings.symmetry or self._problem.checkpoint)
        self._kept = settings.kept if is_plain else None
        self._before = self._kept.take(spec) if self._kept is not None and adjustments is None else None
        if self._before is not None:  # what is lowered for a function is in its caller
            self.adjustments = attrs.evolve(self._before.adjustments, given_states=frozenset())
        self._is_new = settings.resume is None
        self._saved: Saved | None = None
        self._may_return = may_return and limits.traces == 1 and not limits.coverage  # see `moving.to_objects`
        self._sound: Moved[S] | None = None
        self._moved: Moved[S] | None = None
        self._search: CompiledSearch[S] | None = None
        self._returned: OracleSearch[S] | None = None
        self.statistics = Statistics()

    def processes(self) -> Sequence[int]:
        """Return the process ids of the helper processes."""
        return self._workers.processes

    def run(self) -> Result | OracleSearch[S] | Stop:
        """Search until the search ends or learning is found not to pay.

        Returns:
            The result; or a search with objects that continues the search; or the reason why the states could not be
            packed, for example because a limit was reached. The search with objects is then as it was.

        Raises:
            LeadlineError: if the checkpoint folder cannot be used.
        """
        problem, folder = self._problem, self._problem.checkpoint
        try:
            with ExitStack() as stack:
                if folder is not None:
                    saved = stack.enter_context(opened(folder, problem.spec, problem.limits, is_new=self._is_new))
                    self._saved = saved
                    self.adjustments = NO_ADJUSTMENTS if saved is None else saved.snapshot.adjustments
                return self._run()
        except SpecChanged as change:
            assert folder is not None
            raise folder.changed(change) from change
        finally:
            self._workers.close()
            make_ordinary()

    def _run(self) -> Result | OracleSearch[S] | Stop:
        budget, change = self._problem.budget, None
        while True:
            try:
                if stop := attempt(budget, lambda change=change: self._pack(change)):  # type: ignore[misc]
                    return stop
                assert self._search is not None
                result = self._search.run()
                is_whole = not (budget.interrupted or (result.stop and result.stop.kind is StopKind.MEMORY))
                if self._kept is not None and is_whole:  # otherwise, tables may be half changed
                    self._kept.keep(self._search.expander.tables)
                return result
            except CHANGES as found:
                self._problem.purity.check_again()
                self.adjustments, change = self.adjustments.after(found), found
            except CallingPays:
                assert self._search is not None
                self.statistics = self._search.statistics()
                stop = attempt(budget, self._unpack)
                return self._search.ended(stop) if self._returned is None else self._returned

    def _pack(self, change: Change | None) -> None:
        """Begin an attempt. It continues where the last one was.

        Most changes are found before a result is used that they make wrong. Only where a learned result differed from a
        call (`NotRecorded`), earlier results may be wrong too. The attempt then begins where the search had objects.
        A search with a checkpoint begins anew, because its files contain numbers of values, and so does a search with
        symmetry, whose representatives depend on these numbers.
        """
        with self._problem.budget.paused():
            compile_ahead(self._problem.spec)
        if self._sound is None and self._objects.has_begun:
            self._sound = self._moved = of_objects(self._objects, self._calls_made)
        if change is not None and self._problem.checkpoint is not None:
            self._problem.checkpoint.start_over()
            self._saved = None
        elif self._search is not None and self._problem.symmetry is None:
            is_small = self._search.expander.store.count <= MOST_RETURNING
            is_sound = is_small and not isinstance(change, NotRecorded)
            self._moved = self._search.moved() if is_sound else self._sound
        before, self._search, self._before = self._before, None, None
        self._search = CompiledSearch(
            self._problem, self.adjustments, self._saved, self._moved, tries=self._may_return, before=before
        )

    def _unpack(self) -> None:
        """Return all states to objects."""
        assert self._search is not None
        self._returned = to_objects(self._objects, self._search.moved())


def _folder(settings: CompiledSettings) -> Checkpoint | None:
    """Return the checkpoint folder that the settings name, or None if they name none."""
    name = settings.checkpoint if settings.resume is None else settings.resume
    return None if name is None else Checkpoint(Storage(name), settings.checkpoint_every or CHECKPOINT_SECONDS)
