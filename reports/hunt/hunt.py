"""Hunt for the causes of violations: search, find the cause of a violation, apply a cure, and search again.

A cause is found as follows. First, each bound is lowered as far as the trace allows, and a search within these bounds
finds a shortest trace. A cure is a candidate if the changed spec does not allow the steps of this trace. If the changed
spec satisfies the property within the lowered bounds, the cure prevents the violation. If no single cure prevents it,
the violation has several causes. Then all cures are applied together, and as many as possible are removed again. The
remaining cures that are candidates belong to this trace.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeGuard

import attrs

from leadline.checker.engines import ENGINES
from leadline.checker.engines.progress import Progress
from leadline.checker.errors import SpecError
from leadline.checker.observing.digest import code_digest, leadline_digest, reads_outside
from leadline.checker.properties import Property
from leadline.checker.result import Limits, Result, Verdict
from leadline.checker.settings import MOST_EXAMPLES, RandomSettings
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.reports.diagnosis import allows
from leadline.reports.hunt.cures import EARLIER, KNOWN, SHARED, Cure, World, base_spec, cures_of, own_cures
from leadline.reports.hunt.engines import Explore
from leadline.reports.hunt.plan import Plan, Planned
from leadline.reports.hunt.report import Cause, HuntReport, SearchDone, SpecHunt
from leadline.reports.toml_files import Values

Answer = Literal["holds", "violated", "not decided"]

Watch = Callable[[str], Progress]
"""A function that receives the name of each search, and returns a function that shows the search's progress."""


class OutOfTime(Exception):
    """Raised when the time of a hunt is used up."""


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
        seed: the seed of random searches.
        workers: the number of threads of a random search. None means one for each core.
    """

    plan: Plan
    report: HuntReport
    until: float
    watch: Watch
    save: Callable[[], None]
    explore: Explore
    seed: int = 0
    workers: int | None = None

    def run(self) -> None:
        """Make the remaining searches, until the time is used up.

        Each spec gets an equal share of the time that is left when its searches begin.

        Raises:
            KeyboardInterrupt: if the user interrupts the hunt. The report is complete up to that point.
        """
        open_ones = [own for own in self.report.specs if own.left]
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
    _world: tuple[Cure, ...] = ()
    _label: str = ""
    _spent: float = 0.0

    def run(self) -> None:
        self._spent = _cpu_seconds()
        spec = base_spec(self.own.reference)
        self._cures = cures_of(self.own.reference) or own_cures(spec, self.hunt.plan.cures)
        fixed = {name for cause in self.own.causes for name in cause.name.split(" and ")}
        self._world = tuple(cure for cure in self._cures if cure.name in fixed)
        planned = self.hunt.plan.searches(spec)
        left = set(self.own.left)
        for number, each in enumerate(planned, start=1):
            if each.name in left:
                self._label = f"{self.own.reference}, search {number} of {len(planned)}: {each.name}"
                self._search(each)

    def _search(self, planned: Planned) -> None:
        """Make one search of the plan. Repeat it after each cause that is found, until it finds no violation."""
        started, behaviours = time.monotonic(), 0
        while True:
            world = World(planned.reference, planned.bounds, self._world)
            blocked = [name for name in planned.properties if self._is_hidden(world, name)]
            names = [name for name in planned.properties if name not in blocked]
            if not names:
                result, found = None, None
            else:
                result = self._explored(world.spec(names), self.hunt.plan.seconds)
                found = _violation(result)
                if found is None and not result.exhausted and self.hunt.plan.random_seconds:
                    walked = self._walked(world.spec(names))
                    behaviours = 0 if walked.statistics.walked is None else walked.statistics.walked.behaviours
                    found = _violation(walked)
            if found is None:
                break
            self._mend(planned, world, *found)
        self.own.searches.append(
            SearchDone(
                name=planned.name,
                verdict="holds" if result is not None and result.exhausted else "incomplete",
                distinct=0 if result is None else result.statistics.distinct,
                depth=0 if result is None else result.statistics.depth,
                behaviours=behaviours,
                seconds=round(time.monotonic() - started, 1),
                cures=[cure.name for cure in self._world],
                not_searched=blocked,
            )
        )
        self._count_time()
        self.hunt.save()

    def _count_time(self) -> float:
        """Add the processor time since the last call to that of the spec, and return the sum."""
        before, self._spent = self._spent, _cpu_seconds()
        self.own.cpu_seconds = round(self.own.cpu_seconds + self._spent - before, 1)
        return self.own.cpu_seconds

    def _is_hidden(self, world: World, name: str) -> bool:
        """Return whether a search for violations of a property would only find a known cause that nothing fixes."""
        cured = {bound for cure in self._cures for bound in cure.bounds}
        limits = {bound: value for bound, value in attrs.asdict(world.whole().bounds).items() if bound not in cured}
        unfixed = [cause for cause in self.own.causes if cause.violates == name and not cause.fixes]
        return any(_is_within(cause.bounds, limits) for cause in unfixed)

    def _mend(self, planned: Planned, world: World, item: Property, trace: Trace[Any]) -> None:
        """Find the cause of a violation, add it to the report, and apply its cure."""
        found_after = self._count_time()
        lowered = world.within(lowered_bounds(world, item, trace, planned.kept, self.until))
        found = None
        with suppress(OutOfTime):  # what was found is reported, decided or not
            found = _violation(self._explored(lowered.spec([item.name]), self.hunt.plan.deciding_seconds))
        if found is not None:
            _, trace = found
        applied_before = {cure.name for cure in world.cures}
        rest = [cure.explaining(item.name) for cure in self._cures if cure.name not in applied_before]
        rest.sort(key=lambda cure: cure.rank)
        candidates = [
            cure
            for cure in rest
            if (cure.rank == KNOWN or time.monotonic() < self.until)
            and not allows(lowered.having(cure).spec([item.name]), trace)
        ]
        fixes, decided = self._fixes(lowered, item, rest, candidates)
        applied = fixes if len(fixes) > 1 and decided == "together" else fixes[:1]
        first = applied[0] if applied else None
        spec = lowered.spec([item.name])
        cause = Cause(
            name=" and ".join(cure.name for cure in applied) or f"no cure ({item.name})",
            ticket=" and ".join(dict.fromkeys(cure.ticket for cure in applied if cure.ticket)),
            sentence="" if first is None else first.sentence,
            by_design="" if first is None else first.by_design,
            fixes=[cure.name for cure in fixes],
            decided=bool(decided),
            violates=item.name,
            complaint=trace.complaint,
            spec=spec.name,
            left_out=sorted({action for cure in world.cures for action in cure.without}),
            bounds=attrs.asdict(spec.bounds),
            changed=_changed(spec),
            length=len(trace),
            is_shortest=found is not None,
            steps=[instance.sentence for instance in trace.instances],
            instances=[repr(instance) for instance in trace.instances],
            search=planned.name,
            cpu_seconds=found_after,
        )
        self.own.causes.append(cause)
        self._world = (*world.cures, *applied)
        self.hunt.save()

    def _fixes(
        self, world: World, item: Property, rest: Sequence[Cure], candidates: Sequence[Cure]
    ) -> tuple[list[Cure], str]:
        """Return the cures that prevent a violation, and how this was decided.

        Returns:
            The cures and a word: ``alone`` if each cure prevents the violation by itself, or ``together`` if several
            cures are needed. With ``together``, only the cures that belong to the trace are returned. The word is empty
            if the searches decided nothing.
        """
        alone, decided = self._alone(world, item, [cure for cure in candidates if cure.rank < EARLIER])
        if alone:
            return alone, decided
        every = _one_for_each_rule([cure for cure in rest if cure.rank < SHARED or not cure.rules])
        if len(every) > 1 and any(cure in every for cure in candidates):
            kept = every if self._answer(world.having(*every), item) == "holds" else []
            for cure in reversed(kept):
                fewer = [each for each in kept if each != cure]
                if fewer and self._answer(world.having(*fewer), item) == "holds":
                    kept = fewer
            own = [cure for cure in kept if cure in candidates]
            if own:
                return own, "together"
        alone, decided = self._alone(world, item, [cure for cure in candidates if cure.rank == EARLIER])
        return (alone, decided) if alone else (list(candidates[:1]), "")

    def _alone(self, world: World, item: Property, candidates: Sequence[Cure]) -> tuple[list[Cure], str]:
        """Return the cures that prevent a violation by themselves, and "alone". Only those with the best rank are
        returned.

        If this cannot be decided for a cure of a known cause, return it with an empty string. Cures that nobody has
        named come after it, and to try all of them would take the time of many other searches.
        """
        for rank, cures in itertools.groupby(candidates, key=lambda cure: cure.rank):
            answers = [(cure, self._answer(world.having(cure), item)) for cure in cures]
            if found := [cure for cure, answer in answers if answer == "holds"]:
                return found, "alone"
            undecided = [cure for cure, answer in answers if answer == "not decided"]
            if undecided and rank == KNOWN:
                return undecided[:1], ""
        return [], ""

    def _answer(self, world: World, item: Property) -> Answer:
        doing = f", with {' and '.join(cure.name for cure in world.cures)}"
        try:
            self._within(self.hunt.plan.deciding_seconds)  # a spec is not made in vain
            result = self._explored(world.spec([item.name]), self.hunt.plan.deciding_seconds, doing)
        except OutOfTime:
            return "not decided"
        if _violation(result) is not None:
            return "violated"
        return "holds" if result.exhausted else "not decided"

    def _explored(self, spec: Spec[Any], seconds: float, doing: str = "") -> Result:
        limits = Limits(max_seconds=self._within(seconds))
        return _uninterrupted(self.hunt.explore(spec, limits, self.hunt.watch(self._label + doing)))

    def _walked(self, spec: Spec[Any]) -> Result:
        limits = Limits(max_seconds=self._within(self.hunt.plan.random_seconds))
        settings = RandomSettings(examples=MOST_EXAMPLES, seed=self.hunt.seed, workers=self.hunt.workers)
        return _uninterrupted(ENGINES["random"](spec, limits, self.hunt.watch(f"{self._label}, at random"), settings))

    def _within(self, seconds: float) -> float:
        left = self.until - time.monotonic()
        if left <= 0:
            raise OutOfTime
        return min(seconds, left)


def _cpu_seconds() -> float:
    """Return the processor time of this process and of its processes that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def lowered_bounds(world: World, item: Property, trace: Trace[Any], kept: frozenset[str], until: float) -> Values:
    """Return the bounds of a world, each lowered as far as the steps of a trace allow, until the time is used up.

    Parameters:
        world: the world in which the trace was found.
        item: the property that the trace violates.
        kept: the names of the bounds that belong to the configuration. Of these, only those in `_LOWERED` are lowered.
        until: the time at which the hunt ends, as returned by `time.monotonic`.
    """
    bounds = dict(world.bounds)
    own = attrs.asdict(world.spec([item.name]).bounds)
    for name, value in own.items():
        if not _is_number(value) or value == 0 or (name in kept and name not in _LOWERED):
            continue
        for lower in range(value if value > 0 else _MOST_OF_UNLIMITED):
            if time.monotonic() >= until:
                return bounds
            fewer = world.within({**bounds, name: lower})
            if _allows(fewer, item, trace):
                bounds[name] = lower
                break
    return bounds


_LOWERED = ("isr_shrinks", "records")
"""Bounds of the configuration that are lowered, because they are no settings of a cluster."""

_MOST_OF_UNLIMITED = 4
"""The values below this one are tried for a bound that means that there is no limit."""


def _allows(world: World, item: Property, trace: Trace[Any]) -> bool:
    try:
        return allows(world.spec([item.name]), trace)
    except SpecError:  # the bound cannot have this value
        return False


def _changed(spec: Spec[Any]) -> list[str]:
    """Return the names of the bounds that differ from the spec's defaults."""
    defaults = attrs.asdict(base_spec(spec.name).bounds)
    return [name for name, value in attrs.asdict(spec.bounds).items() if defaults[name] != value]


def _violation(result: Result) -> tuple[Property, Trace[Any]] | None:
    """Return the first violated property and its counterexample, or None if no property is violated."""
    for item in result.properties:
        if item.verdict is Verdict.VIOLATED and item.traces:
            return item.property, item.traces[0]
    return None


def _uninterrupted(result: Result) -> Result:
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def _one_for_each_rule(cures: Sequence[Cure]) -> list[Cure]:
    """Return the given cures, except those that change a rule that an earlier cure also changes."""
    found, changed = list[Cure](), set[str]()
    for cure in cures:
        if not changed & cure.rules.keys():
            found.append(cure)
            changed |= cure.rules.keys()
    return found


def _is_within(bounds: Values, limits: Values) -> bool:
    """Return whether no number in the given bounds exceeds that in `limits`, and all other values are equal."""
    return all(_is_at_most(bounds[name], limit) for name, limit in limits.items())


def _is_at_most(value: object, limit: object) -> bool:
    if _is_number(value) and _is_number(limit):
        return limit == -1 or -1 != value <= limit
    return value == limit


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def prepared(plan: Plan, references: Sequence[str]) -> list[SpecHunt]:
    """Return a hunt without results for each spec.

    Raises:
        LeadlineError: if a spec does not exist or the plan does not fit it.
    """
    return [
        SpecHunt(
            reference=reference,
            planned=[each.name for each in plan.searches(base_spec(reference))],  # first, to check the plan
            code=_code(reference),
        )
        for reference in dict.fromkeys(references)
    ]


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
