"""The search that users get: one search with two forms, objects and packed words.

A search begins with states that are Python objects, by direct calls as in the oracle, and without the compiler, whose
loading takes as long as searching a small state space. When it has made many calls, all that it has found moves into
packed states, and the search continues there and learns from calls. If learning does not pay, all moves back. Nothing
is searched twice, and every decision depends on counts alone; see `learn_or_call`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import attrs

from leadline.checker.engines.budget import Budget
from leadline.checker.engines.compiled.direct import search_class
from leadline.checker.engines.evidence import nothing_searched
from leadline.checker.engines.learning.learn_or_call import LearningPays, Objects, calls_by_oracle
from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.engines.progress import Progress
from leadline.checker.engines.run import attempt, within
from leadline.checker.engines.symmetric import SymmetricSearch
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits, Result, Statistics, Stop
from leadline.checker.settings import CompiledSettings
from leadline.checker.spec import Spec

if TYPE_CHECKING:
    from leadline.checker.engines.learning.restart import Adjustments

S = TypeVar("S")

_log = logging.getLogger("leadline")


def explore(
    spec: Spec[S],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: CompiledSettings | None = None,
) -> Result:
    """Search a spec's states breadth-first, first as objects, and then as packed words if learning saves time.

    A search with a checkpoint or with symmetry packs its states from the beginning, and so does a search with
    `Tuning.in_order`, because direct calls do not sort the next states.

    Parameters:
        limits: the limits of the search. By default, it stops at the first violation, or when most of the free memory
            is used.
        progress: a function that is called regularly with the current statistics.

    Returns:
        The same result as `leadline.checker.engines.oracle.explore`, except for the time and memory used.

    Raises:
        SpecError: if an action or a property raised an exception or is not a pure function.
        LeadlineError: if the checkpoint folder cannot be written, is in use, belongs to a different search, or is
            damaged.
    """
    settings = settings or CompiledSettings()
    result = _Forms(spec, limits or Limits(), progress, settings).explore()
    shown = {} if settings.workers is None else {"workers": settings.workers}
    return attrs.evolve(result, engine="compiled", settings=shown)


class _Forms(Generic[S]):
    """A search that changes its form. For the parameters, see `explore`."""

    def __init__(self, spec: Spec[S], limits: Limits, progress: Progress | None, settings: CompiledSettings) -> None:
        tuning = settings.tuning if settings.verify is None else attrs.evolve(settings.tuning, verify=settings.verify)
        self._spec, self._limits, self._progress, self._tuning = spec, limits, progress, tuning
        self._settings = settings
        self._is_saved = settings.checkpoint is not None or settings.resume is not None
        self._processes: Callable[[], Sequence[int]] = tuple
        self._budget = Budget(limits, lambda: self._processes())
        is_packed = self._is_saved or settings.symmetry or tuning.in_order or not tuning.learn_after
        self._policy: Objects | None = None if is_packed else Objects(spec, tuning.learn_after)
        self._adjustments: Adjustments | None = None
        self._packed_before: Statistics | None = None

    def explore(self) -> Result:
        """Search, and return the result."""
        spec, budget = self._spec, self._budget
        initials = within(budget, spec, "compiled", spec.initials)
        if isinstance(initials, Result):
            return initials
        if budget.swallowed:  # the spec caught an interrupt, so the states may be wrong
            return nothing_searched(spec, "compiled", budget.swallowed)
        return within(budget, spec, "compiled", lambda: self._search(len(initials)))

    def _search(self, initials: int) -> Result:
        cls = SymmetricSearch if self._settings.symmetry else search_class(self._limits)
        search: OracleSearch[S] = cls(self._spec, self._limits, self._progress, self._budget, self._look, self._tuning)
        is_large = calls_by_oracle(self._spec, initials, initials, 0) >= self._tuning.learn_after
        is_learned = self._settings.kept is not None and self._settings.kept.has(self._spec)
        is_packed = self._policy is None or ((is_large or is_learned) and self._limits.depth != 1)
        ended: Result | OracleSearch[S] = self._in_words(search) if is_packed else search
        while isinstance(ended, OracleSearch):
            objects: OracleSearch[S] = ended
            try:
                ended = self._with_learning(objects.run())
            except LearningPays:
                ended = self._in_words(objects)
        return ended

    def _look(self, search: OracleSearch[S]) -> None:
        """Decide before a state is expanded whether to continue with packed states."""
        if self._policy is not None:
            self._policy.check(search.statistics, search.levels, len(search.level))

    def _in_words(self, objects: OracleSearch[S]) -> Result | OracleSearch[S]:
        """Continue a search with packed states. Return its result, or a search with objects that continues it."""
        try:
            with self._budget.paused():  # a module whose import a time limit interrupts cannot be imported again
                stop = attempt(self._budget, _load_compiler)
            if stop:
                return self._with_learning(objects.ended(stop))
            from leadline.checker.engines.compiled import packed_form
        except (ImportError, OSError) as error:
            if self._is_saved or self._settings.disk is not None:
                what = "checkpoints" if self._is_saved else "states in files"
                raise LeadlineError(f"{what} require Numba, which cannot be loaded: {error}") from error
            _log.warning("Numba cannot be loaded, so the search is not compiled and may be slower: %s", error)
            self._policy = None
            return objects
        made, may_return = self._made(objects.statistics), self._policy is not None
        form = packed_form.PackedForm(objects, made, self._adjustments, self._settings, may_return=may_return)
        self._processes = form.processes
        ended = form.run()
        if isinstance(ended, Stop):
            return self._with_learning(objects.ended(ended))
        if isinstance(ended, OracleSearch):
            self._adjustments, self._packed_before = form.adjustments, form.statistics
            assert self._policy is not None
            self._policy.again(ended.statistics)
        return ended

    def _made(self, now: Statistics) -> int:
        """Return the number of calls made so far by a search that has objects now."""
        made = calls_by_oracle(self._spec, now.expanded, now.distinct + now.outside, now.successors)
        before = self._packed_before.learning if self._packed_before is not None else None
        return made if before is None else made - before.by_oracle + before.made

    def _with_learning(self, result: Result) -> Result:
        """Add what has been learned to the result of a search that has objects at its end."""
        now, before = result.statistics, self._packed_before
        if before is not None and before.learning is not None:
            by_oracle = calls_by_oracle(self._spec, now.expanded, now.distinct + now.outside, now.successors)
            called = self._made(now) - before.calls
            now.calls, now.compared, now.verified = before.calls, before.compared, before.verified
            now.whole_reads = before.whole_reads
            now.learning = attrs.evolve(before.learning, called=called, by_oracle=by_oracle, memory=0)
        return result


def _load_compiler() -> None:
    """Load the compiler. Loading takes a second, in which an interrupt must not lose what was found."""
    try:
        from leadline.checker.engines.compiled import packed_form  # noqa: F401
    except MemoryError as error:  # for example, because of `ulimit -v`
        raise ImportError(str(error)) from error
