"""Hunt for the causes of violations: search, find the cause of a violation, apply a cure, and search again."""

from __future__ import annotations

import hashlib
import math
import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import attrs

from leadline.checker.engines import ENGINES
from leadline.checker.engines.progress import Progress
from leadline.checker.observing.digest import code_digest, leadline_digest, reads_outside
from leadline.checker.properties import Property
from leadline.checker.result import Limits, Result, StopKind
from leadline.checker.settings import MOST_EXAMPLES, RandomSettings
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.reports.hunt.cures import Cure, World, base_spec, cures_of, own_cures
from leadline.reports.hunt.deciding import (
    Deciding,
    OutOfTime,
    holds,
    is_allowed,
    is_number,
    lowered_bounds,
    one_for_each_rule,
    undecided,
    violations_of,
    with_possible,
)
from leadline.reports.hunt.engines import Explore
from leadline.reports.hunt.plan import Plan, Planned
from leadline.reports.hunt.report import Cause, HuntReport, SearchDone, Situation, SpecHunt
from leadline.reports.hunt.together import Numbers
from leadline.reports.hunt.traces import trace_of
from leadline.reports.toml_files import Values

Watch = Callable[[str], Progress]
"""A function that receives the name of each search, and returns a function that shows the search's progress."""


def digest_of(plan: Plan, references: Sequence[str]) -> str:
    """Return a number that identifies a plan and its specs. A saved hunt is resumed only if its number is the same."""
    specs = [
        (spec.name, str(spec.bounds), [str(each) for each in spec.instances]) for spec in map(base_spec, references)
    ]
    return f"{zlib.crc32(repr((plan, specs)).encode()):08x}"


@attrs.define(kw_only=True)
class Hunt:
    """A hunt, which makes the searches of a plan.

    Attributes:
        report: the report, which may contain the results of an earlier part of the hunt. It is updated after each
            search.
        until: the time at which the hunt ends, as returned by `time.monotonic`.
        watch: a function that shows the progress.
        save: a function that is called after each search.
        explore: a function that makes the exhaustive searches.
        found: a function that is called with the spec's reference and each cause when it is found.
        seed: the seed of random searches.
        workers: the number of threads of a random search. None means one for each core.
        clock: the time that limits the searches for one cause, and the repetitions of one search: processor time,
            except on Spark.
    """

    plan: Plan
    report: HuntReport
    until: float
    watch: Watch
    save: Callable[[], None]
    explore: Explore
    found: Callable[[str, Cause], None] = lambda _, __: None
    seed: int = 0
    workers: int | None = None
    clock: Callable[[], float] = time.process_time

    def run(self) -> None:
        """Make the remaining searches, until the time is used up.

        Each spec gets an equal share of the time that is left when its searches begin.

        Raises:
            KeyboardInterrupt: if the user interrupts the hunt. The report is complete up to that point.
        """
        open_ones = [own for own in self.report.specs if own.is_open(self.plan.seconds)]
        for number, own in enumerate(open_ones):
            now = time.monotonic()
            share = now + (self.until - now) / (len(open_ones) - number)
            try:
                _SpecSearch(self, own, share).run()
            except OutOfTime:
                continue


@attrs.define
class _SpecSearch:
    """The searches of one spec."""

    hunt: Hunt
    own: SpecHunt
    until: float
    _cures: tuple[Cure, ...] = ()
    _label: str = ""
    _spent: float = 0.0
    _seconds: float = 0.0
    _apart: frozenset[str] = frozenset()
    _listed: list[tuple[str, Numbers]] = attrs.field(factory=list)
    _stopped: set[tuple[str, ...]] = attrs.field(factory=set)

    def run(self) -> None:
        self._spent = cpu_seconds()
        spec = base_spec(self.own.reference)
        self._cures = cures_of(self.own.reference)
        if self.hunt.plan.cures or not self._cures:
            self._cures = (*own_cures(spec, self.hunt.plan.cures), *self._cures)
        planned = self.hunt.plan.searches(spec)
        self._apart = frozenset(each.name for each in planned if each.apart)
        decided = _FIRST_SECONDS
        while (each := self._next(planned)) is not None:
            if self._seconds > decided:
                self._decide_again([cause for cause in self.own.causes if cause.search not in self._apart])
            decided = max(decided, self._seconds)
            self._search(each)
            if each.together and not each.apart:
                self._decide_again([cause for cause in self.own.causes if cause.is_only_listed])
        self._seconds = math.inf
        self._decide_again(self.own.causes)

    def _next(self, planned: Sequence[Planned]) -> Planned | None:
        """Set the time limit of the search to make next, and return it, or None if every search is complete.

        Each search gets a short time first, and four times as much in each later round, for which it has one more
        effort. Searches with less effort come first. An event that has led to a new situation or cause makes the others
        with it come sooner.
        """
        done = {search.name: search for search in self.own.searches}
        new = {each.search for each in self.own.situations} | {cause.search for cause in self.own.causes}
        fruitful = {name for each in planned if each.name in new for name in each.failures}
        most, waiting = self.hunt.plan.seconds, list[tuple[float, float, int]]()
        for number, each in enumerate(planned):
            before = done.get(each.name)
            if before is None or before.is_open(most):
                first = each.first_seconds or (_FIRST_TOGETHER if each.together else _FIRST_SECONDS)
                seconds = min(most, first if before is None else _MORE * before.allowed)
                sooner = _SOONER if fruitful.intersection(each.failures) else 0
                waiting.append((each.effort - sooner + math.log(seconds / first, _MORE), seconds, number))
        if not waiting:
            return None
        _, self._seconds, number = min(waiting)
        reached = f"{len(self.own.situations)} of {len(self.own.wanted)} situations"
        self._label = f"{self.own.reference}, {reached}, search {number + 1} of {len(planned)}: {planned[number].name}"
        return planned[number]

    def _search(self, planned: Planned) -> None:
        """Make one search of the plan. Repeat it after causes that are found, until it finds no violation, or the next
        round has to go on.
        """
        started, behaviours, before = time.monotonic(), 0, len(self.own.causes)
        began, is_left = self.hunt.clock(), False
        most = self._seconds * (_REPEATED_TOGETHER if planned.together else _REPEATED)
        world = World(planned.reference, planned.bounds, together=planned.together)
        if not planned.apart:
            world = with_possible(world, self._known(world))
        while True:
            names, blocked = self._judged(planned, world, before)
            result, found = None, list[tuple[Property, Trace[Any]]]()
            if names:
                judged = self._unless(planned, world)
                if planned.together and judged.together and not planned.apart:
                    blocked = sorted({name for name, _ in judged.together.unless[len(planned.together.unless) :]})
                spec = judged.whole().with_properties([*names, *self._wanted(planned)])
                traces = _TRACES if planned.apart else 1
                result = self._explored(spec, self._seconds, keep_going=True, traces=traces)
                self._note(planned, result)
                found = violations_of(result)
                if not found and _ended_early(result) and self.hunt.plan.random_seconds and not planned.apart:
                    walked = self._walked(spec.with_properties(names))
                    behaviours = 0 if walked.statistics.walked is None else walked.statistics.walked.behaviours
                    found = violations_of(walked)
            if not found:
                break
            found.sort(key=lambda pair: pair[0].kind.is_liveness)  # they take longer to decide
            if planned.apart:
                self._list(planned, world, found)
            else:
                world = with_possible(world, self._mend(planned, world, found, is_shortest=not behaviours))
            if is_left := self.hunt.clock() - began > most:
                break
        if len(self.own.causes) > before + 1 and not planned.together:
            self._decide_again(self.own.causes[before:])
        done = SearchDone(
            name=planned.name,
            verdict="holds" if result is not None and holds(result) else "incomplete",
            distinct=0 if result is None else result.statistics.distinct,
            open=0 if result is None else result.statistics.open,
            depth=0 if result is None else result.statistics.depth,
            behaviours=behaviours,
            seconds=round(time.monotonic() - started, 1),
            cures=[cure.name for cure in world.cures],
            not_searched=blocked,
            allowed=self._seconds if is_left or result is None or _ended_early(result) else self.hunt.plan.seconds,
        )
        self.own.searches = [*(each for each in self.own.searches if each.name != planned.name), done]
        self._count_time()
        self.hunt.save()

    def _judged(self, planned: Planned, world: World, before: int) -> tuple[list[str], list[str]]:
        """Return the names of the properties to check, and of those that would only show known causes again."""
        if planned.together:  # they are checked, but not after the failures of these causes
            later = {item.name for item in world.whole().all_checks if item.kind.is_liveness}
            return [name for name in planned.properties if not planned.apart or name not in later], []
        left = [cause.violates for cause in self.own.causes[before:] if not cause.decided]
        blocked = [name for name in planned.properties if left.count(name) >= _TRIES or self._is_hidden(world, name)]
        return [name for name in planned.properties if name not in blocked], blocked

    def _unless(self, planned: Planned, world: World) -> World:
        """Return a world in which a property is not judged after the failures with which it was violated: without
        cures in any configuration, or with cures, if these do not prevent it.
        """
        if world.together is None:
            return world
        limits, apart = attrs.asdict(world.whole().bounds), planned.apart
        found = [*self._listed] if apart else []
        for cause in self.own.causes:
            is_left = not (cause.fixes and cause.decided) and cause.search not in self._apart
            if apart or (is_left and _is_within(cause.bounds, limits)):
                found.append((cause.violates, world.together.numbers(cause.bounds)))
        return attrs.evolve(world, together=world.together.without(found))

    def _list(self, planned: Planned, world: World, found: Sequence[tuple[Property, Trace[Any]]]) -> None:
        """Add violations to the report without finding their causes, unless the same cures stop one that is known."""
        assert world.together is not None
        for item, trace in found:
            after = item.name, world.together.happened(trace.states[-1])
            if after in self._listed:
                continue
            self._listed.append(after)
            found_after = self._count_time()
            lowered = world.within(lowered_bounds(world, item, trace, planned.kept, self.until))
            stopped = (item.name, *(c.name for c in self._cures if not is_allowed(lowered.having(c), item, trace)))
            if stopped not in self._stopped:
                self._stopped.add(stopped)
                cause = undecided(lowered, item, trace)
                cause.search, cause.cpu_seconds, cause.is_shortest = planned.name, found_after, True
                self.own.causes.append(cause)
                self.hunt.found(self.own.reference, cause)
        self.hunt.save()

    def _wanted(self, planned: Planned) -> list[str]:
        """Return the situations that no search has reached yet and that this one might."""
        reached = {each.name for each in self.own.situations}
        return [name for name in planned.situations if name not in reached]

    def _note(self, planned: Planned, result: Result) -> None:
        """Add the situations that a search has reached to the report."""
        for item in result.properties:
            if item.property.kind.is_witness and item.traces:
                name, length = item.property.name, len(item.traces[0])
                bounds = attrs.asdict(result.spec.bounds)
                self.own.situations.append(Situation(name=name, search=planned.name, bounds=bounds, length=length))

    def _count_time(self) -> float:
        """Add the processor time since the last call to that of the spec, and return the sum."""
        before, self._spent = self._spent, cpu_seconds()
        self.own.cpu_seconds = round(self.own.cpu_seconds + self._spent - before, 1)
        return self.own.cpu_seconds

    def _known(self, world: World) -> list[Cure]:
        """Return the cures of the causes that can happen in a world. Elsewhere, they could hide others."""
        known = [cause for cause in self.own.causes if cause.fixes]
        if world.together:  # another search finds what these cures hide
            return one_for_each_rule([cure for cure in self._cures if cure.name in {cause.name for cause in known}])
        within = {each.name for each in known if _is_within(each.bounds, attrs.asdict(world.whole().bounds))}
        return [cure for cure in self._cures if cure.name in within]

    def _is_hidden(self, world: World, name: str) -> bool:
        """Return whether a search for violations of a property would only find a known cause that nothing fixes."""
        cured = {bound for cure in self._cures for bound in cure.bounds}
        limits = {bound: value for bound, value in attrs.asdict(world.whole().bounds).items() if bound not in cured}
        unfixed = [cause for cause in self.own.causes if cause.violates == name and not cause.fixes]
        return any(_is_within(cause.bounds, limits) for cause in unfixed)

    def _mend(
        self, planned: Planned, world: World, found: Sequence[tuple[Property, Trace[Any]]], is_shortest: bool
    ) -> tuple[Cure, ...]:
        """Find the causes of violations of one world, add them to the report, and return their cures.

        Violations that the cures of others make impossible are left to the next search.
        """
        applied: tuple[Cure, ...] = ()
        for item, trace in found:
            if applied and not is_allowed(world.having(*applied), item, trace):
                continue
            found_after = self._count_time()
            lowered = world.within(lowered_bounds(world, item, trace, planned.kept, self.until))
            again = None
            if not is_shortest:
                with suppress(OutOfTime):  # what was found is reported, decided or not
                    again = next(iter(violations_of(self._explored(lowered.spec([item.name]), self._deciding))), None)
            shortest = trace if again is None else again[1]
            causes = self._causes_of(lowered, world, item, shortest, applied)
            left = [each.violates for each in self.own.causes if not each.decided and each.search not in self._apart]
            if planned.together and left.count(item.name) >= _TRIES:
                causes = iter([(undecided(lowered, item, shortest), None)])
            for cause, cure in causes:
                cause.search, cause.cpu_seconds = planned.name, found_after
                cause.is_shortest = is_shortest or again is not None
                self._add(cause)
                self.hunt.found(self.own.reference, cause)
                applied = applied if cure is None or cure in applied else (*applied, cure)
            self.hunt.save()
        return applied

    def _add(self, cause: Cause) -> None:
        """Add a cause to the report, instead of the same violation that is only listed."""
        same = [each for each in self.own.causes if (each.violates, each.bounds) == (cause.violates, cause.bounds)]
        known = [each for each in same if each.decided or each.search not in self._apart]
        self.own.causes = [each for each in self.own.causes if each not in same or each in known]
        if cause.name not in [each.name for each in known]:
            self.own.causes.append(cause)

    def _causes_of(
        self, world: World, larger: World, item: Property, trace: Trace[Any], applied: Sequence[Cure] = ()
    ) -> Iterator[tuple[Cause, Cure | None]]:
        likely = frozenset(name for cause in self.own.causes for name in cause.fixes)
        deciding = Deciding(self._cures, likely, self._explored, self._deciding, self.hunt.clock)
        return deciding.causes(world, larger, item, trace, applied)

    def _decide_again(self, causes: Sequence[Cause]) -> None:
        """Try to decide the causes that are not decided, with the cures that there are now, within a time limit."""
        began = self.hunt.clock()
        for old in [each for each in causes if not each.decided]:
            trace = trace_of(old)
            if trace is None or trace.about is None or old.left_out or self.hunt.clock() - began > self._seconds:
                continue
            if old not in self.own.causes:  # it is that of another violation
                continue
            self._label = f"{self.own.reference}: deciding {old.name}"
            world = World(old.spec, old.bounds)
            found = [*self._causes_of(world, world, trace.about, trace)]
            self.own.causes.remove(old)
            if not all(cause.decided for cause, _ in found):
                self.own.causes.append(old)  # others come first the next time
            for cause, _ in found:
                if cause.decided:
                    cause.search, cause.cpu_seconds, cause.is_shortest = old.search, old.cpu_seconds, old.is_shortest
                    self._add(cause)
        self.hunt.save()

    @property
    def _deciding(self) -> float:
        return min(self.hunt.plan.deciding_seconds, self._seconds)

    def _explored(self, spec: Spec[Any], seconds: float, doing: str = "", **wanted: Any) -> Result:
        limits = Limits(max_seconds=self._within(), max_cpu_seconds=seconds, as_found=True, **wanted)
        return _uninterrupted(self.hunt.explore(spec, limits, self.hunt.watch(self._label + doing)))

    def _walked(self, spec: Spec[Any]) -> Result:
        limits = Limits(max_seconds=self._within(), max_cpu_seconds=self.hunt.plan.random_seconds)
        settings = RandomSettings(examples=MOST_EXAMPLES, seed=self.hunt.seed, workers=self.hunt.workers)
        spec = spec.with_properties([item.name for item in spec.checks if not item.kind.is_liveness])
        return _uninterrupted(ENGINES["random"](spec, limits, self.hunt.watch(f"{self._label}, at random"), settings))

    def _within(self) -> float:
        """Return the time that is left."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise OutOfTime
        return left


_FIRST_SECONDS = 5.0
"""The processor time of each search in the first round: most violations have short traces, and a search that has not
ended by then has looked at all of these.
"""

_FIRST_TOGETHER = 15.0
"""The same for a search of many failures, which takes some seconds to learn the rules."""

_MORE = 4.0
"""How many times as long a search may take in the next round. The rounds before the last take a third of its time."""

_TRIES = 2
"""The number of times that the cause of a violation of one property is looked for, if nothing is decided: later rounds
have more time to decide.
"""

_TRACES = 10
"""The number of traces of one length that violate a property, of which each may be after other failures."""

_SOONER = 0.5
"""How much earlier a search comes if one of its failures has led to something new, as an effort."""

_REPEATED, _REPEATED_TOGETHER = 6.0, 2.0
"""The time after which a search, or one of many failures, is not repeated before the next round, in time limits of a
search of the round.
"""


def _uninterrupted(result: Result) -> Result:
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def _ended_early(result: Result) -> bool:
    return result.stop is not None and result.stop.kind is not StopKind.OPEN


def _is_within(bounds: Values, limits: Values) -> bool:
    """Return whether no number in the given bounds exceeds that in `limits`, and all other values are equal."""
    return all(_is_at_most(bounds[name], limit) for name, limit in limits.items())


def _is_at_most(value: object, limit: object) -> bool:
    if is_number(value) and is_number(limit):
        return limit == -1 or -1 != value <= limit
    return value == limit


def prepared(plan: Plan, references: Sequence[str]) -> list[SpecHunt]:
    """Return a hunt without results for each spec.

    Raises:
        LeadlineError: if a spec does not exist or the plan does not fit it.
    """
    found = list[SpecHunt]()
    for reference in dict.fromkeys(references):
        planned = plan.searches(base_spec(reference))  # first, to check the plan
        wanted = list(dict.fromkeys(name for each in planned for name in each.situations))
        names = [each.name for each in planned]
        found.append(SpecHunt(reference=reference, planned=names, wanted=wanted, code=_code(reference)))
    return found


def _code(reference: str) -> str:
    """Return a digest of all code and data on which the results of a hunt depend, except for its plan."""
    own = leadline_digest("model", "invariants", "reports")
    return hashlib.sha256(code_digest(base_spec(reference)).encode() + own).hexdigest()


def renewed(saved: HuntReport, now: Sequence[SpecHunt]) -> dict[str, str]:
    """Drop what a saved hunt says of specs that have changed since, or may have, so that they are searched again.

    A verdict of code or data that is not there any more says nothing of what is.

    Parameters:
        saved: the saved hunt. It is changed.
        now: a hunt of the same specs without results.

    Returns:
        Why each of these specs is searched again, without the time since when, keyed by the spec.
    """
    why, kept = dict[str, str](), []
    for old, new in zip(saved.specs, now, strict=True):
        name = new.reference
        if old.code != new.code:
            why[name] = f"the code or the data of {name} has changed"
        elif old.searches and (outside := reads_outside(base_spec(name))):
            why[name] = f"{name} uses {outside}, so that what it reads may have changed"
        kept.append(new if name in why else old)
    saved.specs = kept
    return why


def cpu_seconds() -> float:
    """Return the processor time of this process and of its processes that have ended."""
    return sum(os.times()[:4])
