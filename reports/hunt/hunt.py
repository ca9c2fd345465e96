"""Hunt for the causes of violations: search, find the cause of a violation, apply a cure, and search again.

A cause is found as follows. First, each bound is lowered as far as the trace allows, and a search within these bounds
finds a shortest trace. A cure is a candidate if the changed spec does not allow the steps of this trace. If the changed
spec satisfies the property within the lowered bounds, the cure prevents the violation. Several causes can be within the
same bounds, each of which violates the property without the others. So all cures are applied together, and the
candidates are taken back one at a time: what is violated then has this one cause.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
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
from leadline.reports.hunt.cures import KNOWN, SHARED, Cure, World, base_spec, cures_of, own_cures
from leadline.reports.hunt.engines import Explore
from leadline.reports.hunt.plan import Plan, Planned
from leadline.reports.hunt.report import Cause, HuntReport, SearchDone, Situation, SpecHunt
from leadline.reports.hunt.traces import trace_of
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
        found: a function that is called with the spec's reference and each cause when it is found.
        seed: the seed of random searches.
        workers: the number of threads of a random search. None means one for each core.
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
    _round: float = 1.0

    def run(self) -> None:
        self._spent = _cpu_seconds()
        spec = base_spec(self.own.reference)
        self._cures = cures_of(self.own.reference) or own_cures(spec, self.hunt.plan.cures)
        planned = self.hunt.plan.searches(spec)
        decided = 1.0
        while (chosen := self._next(planned)) is not None:
            each, self._seconds = chosen
            if self._round > decided:
                self._decide_again()
                decided = self._round
            self._search(each)

    def _next(self, planned: Sequence[Planned]) -> tuple[Planned, float] | None:
        """Return the search to make next and its time limit in seconds, or None if every search is complete.

        Each search gets a short time first, and four times as much in each later round. Within a round, searches with
        less effort come first. An event that has led to a new situation or cause makes the others with it come sooner.
        """
        done = {search.name: search for search in self.own.searches}
        new = {each.search for each in self.own.situations} | {cause.search for cause in self.own.causes}
        fruitful = {name for each in planned if each.name in new for name in each.failures}
        most, waiting = self.hunt.plan.seconds, list[tuple[float, float, int, float]]()
        for number, each in enumerate(planned):
            before = done.get(each.name)
            if before is None or before.is_open(most):
                seconds = min(most, each.seconds if before is None else _MORE * before.allowed)
                sooner = _SOONER if fruitful.intersection(each.failures) else 0
                waiting.append((seconds / each.seconds, each.effort - sooner, number, seconds))
        if not waiting:
            return None
        self._round, _, number, seconds = min(waiting)
        reached = f"{len(self.own.situations)} of {len(self.own.wanted)} situations"
        self._label = f"{self.own.reference}, {reached}, search {number + 1} of {len(planned)}: {planned[number].name}"
        return planned[number], seconds

    def _search(self, planned: Planned) -> None:
        """Make one search of the plan. Repeat it after causes that are found, until it finds no violation."""
        started, behaviours, before = time.monotonic(), 0, len(self.own.causes)
        world = World(planned.reference, planned.bounds)
        world = world.having(*self._known(world))
        while True:
            undecided = [cause.violates for cause in self.own.causes[before:] if not cause.decided]
            blocked = [
                name for name in planned.properties if undecided.count(name) >= _TRIES or self._is_hidden(world, name)
            ]
            names = [name for name in planned.properties if name not in blocked]
            result, found = None, list[tuple[Property, Trace[Any]]]()
            if names:
                spec = world.whole().with_properties([*names, *self._wanted(planned)])
                result = self._explored(spec, self._seconds, keep_going=True)
                self._note(planned, result)
                found = _violations(result)
                if not found and not result.exhausted and self.hunt.plan.random_seconds:
                    walked = self._walked(world.spec(names))
                    behaviours = 0 if walked.statistics.walked is None else walked.statistics.walked.behaviours
                    found = _violations(walked)
            if not found:
                break
            found = [pair for pair in found if not pair[0].kind.is_liveness] or found  # they take longer to decide
            world = world.having(*self._mend(planned, world, found, is_shortest=not behaviours))
        done = SearchDone(
            name=planned.name,
            verdict="holds" if result is not None and _holds(result) else "incomplete",
            distinct=0 if result is None else result.statistics.distinct,
            open=0 if result is None else result.statistics.open,
            depth=0 if result is None else result.statistics.depth,
            behaviours=behaviours,
            seconds=round(time.monotonic() - started, 1),
            cures=[cure.name for cure in world.cures],
            not_searched=blocked,
            allowed=self._seconds if result is None or not result.exhausted else self.hunt.plan.seconds,
        )
        self.own.searches = [*(each for each in self.own.searches if each.name != planned.name), done]
        self._count_time()
        self.hunt.save()

    def _wanted(self, planned: Planned) -> list[str]:
        """Return the situations that no search has reached yet and that this one might."""
        reached = {each.name for each in self.own.situations}
        return [name for name in planned.situations if name not in reached]

    def _note(self, planned: Planned, result: Result) -> None:
        """Add the situations that a search has reached to the report."""
        for item in result.properties:
            if item.property.kind.is_witness and item.traces:
                bounds = attrs.asdict(result.spec.bounds)
                reached = Situation(
                    name=item.property.name, search=planned.name, bounds=bounds, length=len(item.traces[0])
                )
                self.own.situations.append(reached)

    def _count_time(self) -> float:
        """Add the processor time since the last call to that of the spec, and return the sum."""
        before, self._spent = self._spent, _cpu_seconds()
        self.own.cpu_seconds = round(self.own.cpu_seconds + self._spent - before, 1)
        return self.own.cpu_seconds

    def _known(self, world: World) -> list[Cure]:
        """Return the cures of the causes that can happen in a world. Elsewhere, they could hide others."""
        limits = attrs.asdict(world.whole().bounds)
        within = {cause.name for cause in self.own.causes if cause.fixes and _is_within(cause.bounds, limits)}
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
            if applied and not (item.kind.is_liveness or _allows(world.having(*applied), item, trace)):
                continue
            found_after = self._count_time()
            lowered = world.within(lowered_bounds(world, item, trace, planned.kept, self.until))
            again = None
            if not is_shortest:
                with suppress(OutOfTime):  # what was found is reported, decided or not
                    again = next(iter(_violations(self._explored(lowered.spec([item.name]), self._deciding))), None)
            for cause, cure in self._causes(lowered, world, item, trace if again is None else again[1]):
                cause.search, cause.cpu_seconds = planned.name, found_after
                cause.is_shortest = is_shortest or again is not None
                self.own.causes.append(cause)
                self.hunt.found(self.own.reference, cause)
                applied = applied if cure is None or cure in applied else (*applied, cure)
            self.hunt.save()
        return applied

    def _causes(
        self, world: World, larger: World, item: Property, trace: Trace[Any]
    ) -> Iterator[tuple[Cause, Cure | None]]:
        """Yield the causes of a violation, each with the cure to apply.

        Parameters:
            world: the world of the violation, with the lowest bounds that allow its trace.
            larger: the same world with the bounds of the search that found it.
        """
        applied_before = {cure.name for cure in world.cures}
        rest = [cure.explaining(item.name) for cure in self._cures if cure.name not in applied_before]
        rest.sort(key=lambda cure: cure.rank)
        candidates = [
            cure
            for cure in rest
            if (cure.rank == KNOWN or time.monotonic() < self.until)
            and (item.kind.is_liveness or not _allows(world.having(cure), item, trace))
        ]
        until = time.monotonic() + _SHARE * self._seconds
        fixes, decided = self._alone(world, item, [cure for cure in candidates if cure.rank == KNOWN], until)
        if not fixes:
            apart = self._apart(world, item, rest, candidates, until)
            if len(apart) > 1 or (apart and self._answer(world.having(apart[0][0]), item, until) != "holds"):
                for cure, without, other in apart:
                    yield self._cause(without, item, other, [cure], True), cure
                return
            decided = bool(apart)
            fixes = [cure for cure, *_ in apart]
        if not fixes:
            others = self._keeping(larger, [cure for cure in candidates if cure.rank > KNOWN])
            fixes, decided = self._alone(world, item, others, until)
        yield self._cause(world, item, trace, fixes, decided), fixes[0] if fixes else None

    def _apart(
        self, world: World, item: Property, rest: Sequence[Cure], candidates: Sequence[Cure], until: float
    ) -> list[tuple[Cure, World, Trace[Any]]]:
        """Tell the causes of a violation apart, of which several can be within the same bounds.

        All cures are applied together, and those that stop the trace are taken back: half of them, and half of a half
        where the property is violated again. What is violated without one cure has this cause, and no other.

        Returns:
            Each cure that is necessary, the world with all cures but this one, and a trace there. Empty if this is not
            decided.
        """
        every = _one_for_each_rule([cure for cure in rest if cure.rank < SHARED])
        own = [cure for cure in every if cure in candidates]
        if len(every) < 2 or not own or self._answer(world.having(*every), item, until) != "holds":
            return []
        found = list[tuple[Cure, Trace[Any]]]()
        groups = [own]
        while groups:
            group = groups.pop()
            others = [cure for cure in every if cure not in group]
            result = self._decided(world.having(*others), item, until)
            violations = [] if result is None else _violations(result)
            if violations and len(group) > 1:
                groups += [group[: len(group) // 2], group[len(group) // 2 :]]
            elif violations:
                found.append((group[0], violations[0][1]))
            elif result is not None and _holds(result):
                every = others  # the other cures are enough
            else:
                return []
        return [
            (cure, world.having(*(each for each in every if each != cure)), trace) for cure, trace in reversed(found)
        ]

    def _cause(self, world: World, item: Property, trace: Trace[Any], fixes: Sequence[Cure], decided: bool) -> Cause:
        first = fixes[0] if fixes else None
        spec = world.spec([item.name])
        return Cause(
            name=f"no cure ({item.name})" if first is None else first.name,
            ticket="" if first is None else first.ticket,
            sentence="" if first is None else first.sentence,
            by_design="" if first is None else first.by_design,
            fixes=[cure.name for cure in fixes],
            decided=decided,
            violates=item.name,
            complaint=trace.complaint,
            spec=spec.name,
            left_out=sorted({action for cure in world.cures for action in cure.without}),
            bounds=attrs.asdict(spec.bounds),
            changed=_changed(spec),
            length=len(trace),
            is_shortest=False,
            steps=[instance.sentence for instance in trace.instances],
            instances=[repr(instance) for instance in trace.instances],
            loop=trace.loop,
        )

    def _decide_again(self) -> None:
        """Try to decide the causes that are not decided, with the time of a later round."""
        for old in [each for each in self.own.causes if not each.decided]:
            trace = trace_of(old)
            if trace is None or trace.about is None or old.left_out:
                continue
            self._label = f"{self.own.reference}: deciding {old.name}"
            world = World(old.spec, old.bounds)
            found = [*self._causes(world, world, trace.about, trace)]
            if all(cause.decided for cause, _ in found):
                self.own.causes.remove(old)
            for cause, _ in found:
                if cause.decided:
                    cause.search, cause.cpu_seconds, cause.is_shortest = old.search, old.cpu_seconds, old.is_shortest
                    self.own.causes.append(cause)
        self.hunt.save()

    @property
    def _deciding(self) -> float:
        return min(self.hunt.plan.deciding_seconds, self._seconds)

    def _alone(self, world: World, item: Property, candidates: Sequence[Cure], until: float) -> tuple[list[Cure], bool]:
        """Return the cures that prevent a violation by themselves, of those with the best rank only, and True.

        If this cannot be decided for a cure of a known cause, return it with False. Cures that nobody has named come
        after it, and to try all of them would take the time of many other searches. If no cure is known to prevent it,
        return the first one that may, unless it would take back what a later release has.
        """
        perhaps = list[Cure]()
        for rank, cures in itertools.groupby(candidates, key=lambda cure: cure.rank):
            answers = [(cure, self._answer(world.having(cure), item, until)) for cure in cures]
            if found := [cure for cure, answer in answers if answer == "holds"]:
                return found, True
            if not item.kind.is_liveness:  # of these, no trace says that they could be the cure
                perhaps += [cure for cure, answer in answers if answer == "not decided" and rank < SHARED]
            if perhaps and rank == KNOWN:
                break
        return perhaps[:1], False

    def _answer(self, world: World, item: Property, until: float) -> Answer:
        result = self._decided(world, item, until)
        if result is not None and _violations(result):
            return "violated"
        return "holds" if result is not None and _holds(result) else "not decided"

    def _decided(self, world: World, item: Property, until: float) -> Result | None:
        """Search for violations of one property. Return None if there is no time left."""
        doing = f", with {' and '.join(cure.name for cure in world.cures)}"
        if time.monotonic() >= until:
            return None
        try:
            self._within(self._deciding)  # a spec is not made in vain
            return self._explored(world.spec([item.name]), self._deciding, doing)
        except OutOfTime:
            return None

    def _keeping(self, world: World, candidates: Sequence[Cure]) -> list[Cure]:
        """Return the cures without those that leave out an action and with which the spec no longer reaches all of the
        situations that it reaches without a cure: what cannot happen violates nothing.
        """
        leaving = [cure for cure in candidates if cure.without and cure.rank == SHARED]
        names = [each.name for each in world.whole().checks if each.kind.is_witness]
        if not leaving or not names:
            return list(candidates)
        shown = list[set[str]]()
        for each in (world, *(world.having(cure) for cure in leaving)):
            result = self._explored(each.whole().with_properties(names), self._deciding, keep_going=True)
            shown.append({each.property.name for each in result.properties if each.traces})
        lost = [cure for cure, reached in zip(leaving, shown[1:], strict=True) if not shown[0] <= reached]
        return [cure for cure in candidates if cure not in lost]

    def _explored(self, spec: Spec[Any], seconds: float, doing: str = "", keep_going: bool = False) -> Result:
        limits = Limits(max_seconds=self._within(seconds), keep_going=keep_going)
        return _uninterrupted(self.hunt.explore(spec, limits, self.hunt.watch(self._label + doing)))

    def _walked(self, spec: Spec[Any]) -> Result:
        limits = Limits(max_seconds=self._within(self.hunt.plan.random_seconds))
        settings = RandomSettings(examples=MOST_EXAMPLES, seed=self.hunt.seed, workers=self.hunt.workers)
        spec = spec.with_properties([item.name for item in spec.checks if not item.kind.is_liveness])
        return _uninterrupted(ENGINES["random"](spec, limits, self.hunt.watch(f"{self._label}, at random"), settings))

    def _within(self, seconds: float) -> float:
        left = self.until - time.monotonic()
        if left <= 0:
            raise OutOfTime
        return min(seconds, left)


_MORE = 4.0
"""How many times as long a search may take in the next round. The rounds before the last take a third of its time."""

_TRIES = 2
"""The number of cures that one search tries for violations of one property, if nothing is decided: later rounds have
more time to decide.
"""

_SOONER = 0.5
"""How much earlier a search comes if one of its failures has led to something new, as an effort."""

_SHARE = 4.0
"""The time limit of all searches that decide one cause, in time limits of a search of the round."""


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
    bounds, spec = dict(world.bounds), world.spec([item.name])
    own = attrs.asdict(spec.bounds)
    if spec.family is not None:  # of a system, failures are no configuration
        kept = kept - {*spec.family.perturbations}
    if item.kind.is_liveness:  # fewer steps can also mean fewer ways out
        return bounds
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


_LOWERED = ("records", "max_epoch")
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


def _violations(result: Result) -> list[tuple[Property, Trace[Any]]]:
    """Return the violated properties with their counterexamples, those with a short one first."""
    violated = [item for item in result.properties if item.verdict is Verdict.VIOLATED and item.traces]
    found = [(item.property, item.traces[0]) for item in violated if not item.property.kind.is_witness]
    return sorted(found, key=lambda pair: len(pair[1]))


def _holds(result: Result) -> bool:
    """Return whether every property holds. Some about the future are open where only a bound ends a behaviour."""
    judged = [item.verdict for item in result.properties if not item.property.kind.is_witness]
    return result.exhausted and all(verdict is Verdict.HOLDS for verdict in judged)


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
