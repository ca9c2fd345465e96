"""Find the cause of a violation.

First, each bound is lowered as far as the trace allows, and a search within these bounds finds a shortest trace. A cure
is a candidate if the changed spec does not allow the steps of this trace. If the changed spec satisfies the property
within the lowered bounds, the cure prevents the violation. Several causes can be within the same bounds, each of which
violates the property without the others. So all cures are applied together, and the candidates are taken back: what is
violated then has this one cause.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeGuard

import attrs

from leadline.checker.errors import SpecError
from leadline.checker.properties import Property
from leadline.checker.result import Result, Verdict
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.checker.traces.reordering import with_fewest_switches
from leadline.reports.diagnosis import allows
from leadline.reports.hunt.cures import KNOWN, SHARED, Cure, World, base_spec
from leadline.reports.hunt.report import NOT_DECIDED, Cause
from leadline.reports.toml_files import Values

Answer = Literal["holds", "violated", "not decided"]


class OutOfTime(Exception):
    """Raised when the time of a hunt is used up."""


@attrs.frozen
class Deciding:
    """Finds the causes of violations of a spec.

    Attributes:
        cures: the cures of the spec, in order of preference.
        likely: the names of the cures of other violations: often, several properties are violated by one cause.
        explored: a function that searches a spec for a number of seconds. It raises `OutOfTime` if the hunt has ended.
        seconds: the time of each search, and of all searches for one violation together.
        clock: returns the time that counts; see `Hunt.clock`.
    """

    cures: Sequence[Cure]
    likely: frozenset[str]
    explored: Callable[..., Result]
    seconds: float
    clock: Callable[[], float] = time.process_time

    def causes(
        self, world: World, larger: World, item: Property, trace: Trace[Any], applied: Sequence[Cure] = ()
    ) -> Iterator[tuple[Cause, Cure | None]]:
        """Yield the causes of a violation, each with the cure to apply.

        Parameters:
            world: the world of the violation, with the lowest bounds that allow its trace.
            larger: the same world with the bounds of the search that found it.
            applied: the cures of other violations in this world. No cure takes them back.
        """
        before = (*world.cures, *applied)
        names, rules = {cure.name for cure in before}, rules_of(before)
        rest = [
            cure.explaining(item.name) for cure in self.cures if cure.name not in names and rules.isdisjoint(cure.rules)
        ]
        rest = [cure for cure in rest if with_possible(world, [cure]) != world]
        rest.sort(key=lambda cure: cure.rank)
        candidates = [cure for cure in rest if not is_allowed(world.having(cure), item, trace)]
        until = self.clock() + self.seconds
        fixes, decided = self._alone(world, item, [cure for cure in candidates if cure.rank == KNOWN], until)
        unnamed = [cure for cure in candidates if KNOWN < cure.rank < SHARED]
        if not fixes:
            fixes = self._soon(world, item, unnamed, until)
            decided = bool(fixes)
        if not fixes and (others := self._others(world, item, trace, rest)):
            cured, changed = world.having(*others), rules_of(others)
            fixes = self._soon(cured, item, [cure for cure in unnamed if changed.isdisjoint(cure.rules)], until)
            if fixes and (result := self._decided(cured, item, until)) and (shortest := violations_of(result)):
                world, trace, decided = cured, shortest[0][1], True
        if not fixes:
            apart = self._apart(world, item, rest, candidates, until)
            if len(apart) > 1 or (apart and self._answer(world.having(apart[0][0]), item, until) != "holds"):
                for cure, without, other in apart:
                    yield _cause(without, item, other, [cure], True), cure
                return
            decided = bool(apart)
            fixes = [cure for cure, *_ in apart]
        if not fixes:
            others = self._keeping(larger, [cure for cure in candidates if cure.rank > KNOWN])
            fixes, decided = self._alone(world, item, others, until)
        yield _cause(world, item, trace, fixes, decided), fixes[0] if fixes else None

    def _others(self, world: World, item: Property, trace: Trace[Any], rest: Sequence[Cure]) -> list[Cure]:
        """Return the cures of other violations with which the trace is still possible: it has another cause."""
        found = list[Cure]()
        for cure in one_for_each_rule([cure for cure in rest if cure.rules and cure.name in self.likely]):
            if is_allowed(world.having(*found, cure), item, trace):
                found.append(cure)
        return found

    def _soon(self, world: World, item: Property, candidates: Sequence[Cure], until: float) -> list[Cure]:
        """Return a cure that prevents a violation by itself: of the likely ones, or of all if they are few."""
        tried = sorted(candidates, key=lambda cure: cure.name not in self.likely)
        if len(candidates) > _FEW:
            tried = [cure for cure in tried if cure.name in self.likely]
        return next(([cure] for cure in tried if self._answer(world.having(cure), item, until) == "holds"), [])

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
        every = one_for_each_rule([cure for cure in rest if cure.rank < SHARED])
        own = [cure for cure in every if cure in candidates]
        if len(every) < 2 or not own or self._answer(world.having(*every), item, until) != "holds":
            return []
        found = list[tuple[Cure, Trace[Any]]]()
        groups = [own]
        while groups:
            group = groups.pop()
            others = [cure for cure in every if cure not in group]
            result = self._decided(world.having(*others), item, until)
            violations = [] if result is None else violations_of(result)
            if violations and len(group) > 1:
                groups += [group[: len(group) // 2], group[len(group) // 2 :]]
            elif violations:
                found.append((group[0], violations[0][1]))
            elif result is not None and holds(result):
                every = others  # the other cures are enough
            else:
                return []
        return [
            (cure, world.having(*(each for each in every if each != cure)), trace) for cure, trace in reversed(found)
        ]

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
            perhaps += [cure for cure, answer in answers if answer == "not decided" and rank < SHARED]
            if perhaps and rank == KNOWN:
                break
        return perhaps[:1], False

    def _answer(self, world: World, item: Property, until: float) -> Answer:
        result = self._decided(world, item, until)
        if result is not None and violations_of(result):
            return "violated"
        return "holds" if result is not None and holds(result) else "not decided"

    def _decided(self, world: World, item: Property, until: float) -> Result | None:
        """Search for violations of one property. Return None if there is no time left."""
        doing = f", with {' and '.join(cure.name for cure in world.cures)}"
        if self.clock() >= until:
            return None
        try:
            return self.explored(world.spec([item.name]), self.seconds, doing)
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
            try:
                result = self.explored(each.whole().with_properties(names), self.seconds, keep_going=True)
            except OutOfTime:
                return [cure for cure in candidates if cure not in leaving]
            shown.append({each.property.name for each in result.properties if each.traces})
        lost = [cure for cure, reached in zip(leaving, shown[1:], strict=True) if not shown[0] <= reached]
        return [cure for cure in candidates if cure not in lost]


def _cause(world: World, item: Property, trace: Trace[Any], fixes: Sequence[Cure], decided: bool) -> Cause:
    first = fixes[0] if fixes else None
    if trace.loop is None:
        trace = with_fewest_switches(trace)
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


def undecided(world: World, item: Property, trace: Trace[Any]) -> Cause:
    """Return a violation whose cause has not been looked for."""
    return attrs.evolve(_cause(world, item, trace, [], False), name=f"{NOT_DECIDED} ({item.name})")


_FEW = 4
"""The maximum number of candidates that are tried one by one before all of them are tried together."""


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
    failures = set() if spec.family is None else {*spec.family.perturbations}  # of a system: they are no configuration
    # fewer steps can also mean fewer ways out, but no failure is one
    lowered = failures if item.kind.is_liveness else failures | {*_LOWERED} | (own.keys() - kept)
    for name, value in own.items():
        if not is_number(value) or value == 0 or name not in lowered:
            continue
        for lower in range(value if value > 0 else _MOST_OF_UNLIMITED):
            if time.monotonic() >= until:
                return bounds
            fewer = world.within({**bounds, name: lower})
            if is_allowed(fewer, item, trace):
                bounds[name] = lower
                break
    return bounds


_LOWERED = ("records", "max_epoch")
"""Bounds of the configuration that are lowered, because they are no settings of a cluster."""

_MOST_OF_UNLIMITED = 4
"""The values below this one are tried for a bound that means that there is no limit."""


def with_possible(world: World, cures: Iterable[Cure]) -> World:
    """Return a world with those of some cures that its bounds allow: KRaft, for example, has no lost requests."""
    for cure in cures:
        with suppress(SpecError):
            world.having(cure).whole().initials()
            world = world.having(cure)
    return world


def is_allowed(world: World, item: Property, trace: Trace[Any]) -> bool:
    """Return whether the steps of a counterexample violate the property in another world, too."""
    try:
        return allows(world.spec([item.name]), trace)
    except SpecError:  # a bound cannot have this value
        return False


def _changed(spec: Spec[Any]) -> list[str]:
    """Return the names of the bounds that differ from the spec's defaults."""
    defaults = attrs.asdict(base_spec(spec.name).bounds)
    return [name for name, value in attrs.asdict(spec.bounds).items() if defaults[name] != value]


def violations_of(result: Result) -> list[tuple[Property, Trace[Any]]]:
    """Return the violated properties with their counterexamples, short ones first."""
    violated = [item for item in result.properties if item.verdict is Verdict.VIOLATED]
    found = [(item.property, trace) for item in violated for trace in item.traces if not item.property.kind.is_witness]
    return sorted(found, key=lambda pair: len(pair[1]))


def holds(result: Result) -> bool:
    """Return whether every property holds. Some about the future are open where only a bound ends a behaviour."""
    judged = [item.verdict for item in result.properties if not item.property.kind.is_witness]
    return result.exhausted and all(verdict is Verdict.HOLDS for verdict in judged)


def rules_of(cures: Iterable[Cure]) -> set[str]:
    """Return the rules that cures change."""
    return {rule for cure in cures for rule in cure.rules}


def one_for_each_rule(cures: Sequence[Cure]) -> list[Cure]:
    """Return the given cures, except those that change a rule that an earlier cure also changes."""
    found, changed = list[Cure](), set[str]()
    for cure in cures:
        if not changed & cure.rules.keys():
            found.append(cure)
            changed |= cure.rules.keys()
    return found


def is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
