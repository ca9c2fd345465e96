"""Results: one type for every engine."""

from __future__ import annotations

import enum
from typing import Any

import attrs

from leadline.checker.coverage import CoverageCounts
from leadline.checker.errors import SpecError
from leadline.checker.properties import Property
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace

MOST_TRACES = 10_000
"""Counterexamples that can be asked for: room is made for all of them at the start."""


class Verdict(enum.Enum):
    """What is known at the end of a run."""

    HOLDS = "holds"
    """The whole space was searched. Of a witness: some state satisfies it."""
    VIOLATED = "violated"
    """There is a counterexample. Of a witness: the whole space was searched and no state satisfies it."""
    INCOMPLETE = "incomplete"
    """A bound, a limit or an interrupt came first: nothing is known beyond what was searched."""


class StopKind(enum.Enum):
    """What stopped a run before every reachable state was searched."""

    VIOLATION = "violation"
    """The first violation, after which the search was not to continue."""
    DEPTH = "depth"
    STATES = "states"
    TIME = "time"
    MEMORY = "memory"
    """The limit on memory or all memory that is free, or the most that an engine can hold."""
    INTERRUPT = "interrupt"
    """Ctrl-C, or another signal that asks a process to end."""
    SAMPLE = "sample"
    """The run was a random one, and at its end."""


@attrs.frozen
class Stop:
    """Why a run stopped early.

    Attributes:
        kind: what stopped it.
        text: the same for a person, for the end of a sentence.
    """

    kind: StopKind
    text: str

    def __str__(self) -> str:
        return self.text


FIRST_VIOLATION = Stop(StopKind.VIOLATION, "stopped at the first violation")


@attrs.frozen
class Limits:
    """What may stop a search before the space is exhausted, and what it collects on the way.

    Attributes:
        depth: states on the longest path searched, the initial state counting 1; None: no limit.
        max_states: distinct states; None: no limit.
        max_seconds: seconds of search; None: no limit.
        max_memory: bytes of memory that the process may use; None: most of what the machine has free.
        keep_going: search on after a violation, until the space is exhausted.
        traces: how many different shortest counterexamples are wanted for each property.
        coverage: whether `Statistics.covered` is wanted, which takes about as long again.
    """

    depth: int | None = None
    max_states: int | None = None
    max_seconds: float | None = None
    keep_going: bool = False
    traces: int = 1
    max_memory: int | None = None
    coverage: bool = False

    def __attrs_post_init__(self) -> None:
        for name in ("depth", "max_states", "max_seconds", "max_memory", "traces"):
            value = getattr(self, name)
            if value is None:
                continue
            number = type(value) is int or (name == "max_seconds" and type(value) is float)
            if not number or not value > 0:  # nan is not more than 0
                kind = "a number" if name == "max_seconds" else "an integer"
                raise SpecError(f"limit {name}={value} is out of range: it must be more than 0, and {kind}")
        if self.traces > MOST_TRACES:
            raise SpecError(f"limit traces={self.traces} is out of range: it must be at most {MOST_TRACES:,}")


@attrs.define
class ActionCount:
    """How often one action was taken: steps generated, and new distinct states among them."""

    generated: int = 0
    distinct: int = 0


@attrs.frozen
class Widest:
    """A part of the state that is read as a whole, and takes more values than any other.

    Attributes:
        path: where it is, such as ``State.messages``.
        values: how many values of it were met.
        type: the name of their type.
    """

    path: str
    values: int
    type: str


@attrs.frozen
class Learning:
    """What the compiled engine made of a spec's functions. See `leadline.checker.engines.compiled`.

    Attributes:
        actions, properties: by name, the calls that it learned from.
        called: the calls that it did not learn from, as few states would have gained by it.
        by_oracle: the calls that the oracle would have made until then.
        memory: bytes that what was learned takes.
        widest: the part that takes the most values; None if no part is read as a whole.
    """

    actions: dict[str, int]
    properties: dict[str, int]
    called: int
    by_oracle: int
    memory: int
    widest: Widest | None

    @property
    def share(self) -> float:
        """The calls made, as a share of those of the oracle."""
        learned = sum(self.actions.values()) + sum(self.properties.values())
        return (learned + self.called) / max(self.by_oracle, 1)


@attrs.frozen
class Verified:
    """How much of what was learned a search compared with calls on real states; none of it was wrong.

    Attributes:
        checked: applications of learned paths that were compared.
        drawn: those of them that were drawn at random among all.
        made: all applications; None of a search that does not count them.
    """

    checked: int
    drawn: int
    made: int | None

    @property
    def one_in(self) -> int:
        """At 99 % confidence, fewer than one in this number of applications is wrong; 0 if that cannot be said."""
        return int(self.drawn / 4.605)  # a share of 4.605 / n is missed by n draws with probability exp(-4.605) = 0.01


@attrs.frozen
class WalkCounts:
    """Counts of the behaviours of a random search.

    Attributes:
        behaviours: those begun.
        steps: those taken.
        expanded: states expanded in random order: all their next states were checked, except at the maximum number of
            steps.
        waiting: states found by expanding others, but not expanded themselves.
        is_exact: whether the counts of distinct states are exact; otherwise they are estimates.
        lengths: for each number of steps, the behaviours that ended after them.
        depths: for each number of steps, the distinct states that no behaviour reached with fewer.
        dead_ends: behaviours that ended where no step leads to another state.
        outside: behaviours that ended in a state outside of `Spec.within`.
        enabled: for each action, how often it was possible, taken or not.
    """

    behaviours: int
    steps: int
    expanded: int
    waiting: int
    is_exact: bool
    lengths: tuple[int, ...]
    depths: tuple[int, ...]
    dead_ends: int
    outside: int
    enabled: dict[str, int]


@attrs.define
class Statistics:
    """Counts of a run, as TLC counts them.

    Attributes:
        distinct: different states reached, initial states included.
        outside: different states reached besides, which are outside of `Spec.within`.
        generated: every next state produced, initial states included, repetitions too.
        depth: number of states on the longest shortest path searched, the initial state counting 1. A search
            cut short by a limit may have found states one step deeper.
        queue: states found whose next states were not all generated; None of a random search, which has no queue.
        expanded: states whose next states were all generated.
        successors: steps from all expanded states together.
        out_degree_min, out_degree_max: fewest and most steps from one of them. Every step counts; what TLC
            calls by this name counts only those to states not seen before.
        deadlocks: expanded states from which there is no step.
        seconds: wall-clock seconds.
        actions: counts by action name, in the spec's order.
        level_done: the share of the last level begun whose states are expanded; None if the engine does not know.
        memory: bytes that the states found take; 0 if the engine does not know.
        calls: calls of actions and properties that were learned from; 0 of engines that do not learn.
        learning: more of that; None of other engines than the compiled one.
        compared: what was learned from one state and compared with a call on another one, how often.
        verified: the same for a random share of all uses of what was learned; None of engines that do not learn.
        levels: distinct states at each depth, as far as they were found; empty of a random search.
        samples: seconds, and the distinct states found until then, in order; empty if nobody noted them (`paced`).
        shards: over how many shards the states are spread; 0 if they are not.
        skew: of the new states of the last level, how many more the largest share has than the mean: 0.1 for a
            tenth more.
        spilled: bytes written to files.
        walked: what a random search has covered; None of other engines.
        covered: what was tried, if `Limits.coverage` asks for it.
        activity: for progress, what is done after the search proper, such as shortening; empty during the search, and
            in results.
    """

    distinct: int = 0
    generated: int = 0
    depth: int = 0
    queue: int | None = 0
    expanded: int = 0
    successors: int = 0
    out_degree_min: int = 0
    out_degree_max: int = 0
    deadlocks: int = 0
    seconds: float = 0.0
    actions: dict[str, ActionCount] = attrs.field(factory=dict)
    level_done: float | None = None
    memory: int = 0
    calls: int = 0
    learning: Learning | None = None
    compared: int = 0
    verified: Verified | None = None
    levels: tuple[int, ...] = ()
    outside: int = 0
    samples: tuple[tuple[float, int], ...] = ()
    shards: int = 0
    skew: float = 0.0
    spilled: int = 0
    walked: WalkCounts | None = None
    covered: CoverageCounts | None = None
    activity: str = ""

    @property
    def out_degree_mean(self) -> float:
        """Mean number of steps from an expanded state; 0 if none was expanded."""
        return self.successors / self.expanded if self.expanded else 0.0

    @property
    def never_enabled(self) -> list[str]:
        """The actions that no state enabled."""
        if self.walked is not None:
            return [name for name, states in self.walked.enabled.items() if not states]
        return [name for name, count in self.actions.items() if not count.generated]

    def count_expanded(self, steps: int) -> None:
        """Count one more state as expanded, with so many steps from it."""
        self.out_degree_min = min(self.out_degree_min, steps) if self.expanded else steps
        self.out_degree_max = max(self.out_degree_max, steps)
        self.expanded += 1
        self.successors += steps
        self.deadlocks += not steps


@attrs.frozen(eq=False)
class PropertyResult:
    """What a run says of one property.

    Attributes:
        traces: shortest counterexamples; of a witness, shortest ways to a state that satisfies it.
        premise: whether its premise was true in any state that was searched; None if it has none.
    """

    property: Property
    verdict: Verdict
    traces: tuple[Trace[Any], ...] = ()
    premise: bool | None = None

    @property
    def says_nothing(self) -> bool:
        """Whether the property holds only because its premise is never true."""
        return self.verdict is Verdict.HOLDS and self.premise is False


@attrs.frozen(eq=False)
class Result:
    """What a run of any engine found.

    Attributes:
        spec: what was searched, with its bounds.
        engine: the name of the engine.
        stop: why the run stopped early; None if every reachable state was searched.
        statistics: the counts.
        properties: one entry for each property checked, in the spec's order.
        settings: the engine's own parameters of this run, by name.
        note: what else has to be said of the run; empty for most.
    """

    spec: Spec[Any]
    engine: str
    stop: Stop | None
    statistics: Statistics
    properties: tuple[PropertyResult, ...]
    settings: dict[str, Any] = attrs.field(factory=dict)
    note: str = ""

    @property
    def exhausted(self) -> bool:
        """Whether every reachable state was searched."""
        return self.stop is None

    @property
    def reason(self) -> str | None:
        """Why the run stopped early, for a person; None if every reachable state was searched."""
        return None if self.stop is None else self.stop.text

    @property
    def interrupted(self) -> bool:
        """Whether a signal stopped the run."""
        return self.stop is not None and self.stop.kind is StopKind.INTERRUPT

    @property
    def verdict(self) -> Verdict:
        """Violated if any property is, else incomplete unless the space was exhausted, else holds."""
        if any(item.verdict is Verdict.VIOLATED for item in self.properties):
            return Verdict.VIOLATED
        return Verdict.HOLDS if self.exhausted else Verdict.INCOMPLETE

    def of(self, name: str) -> PropertyResult:
        """The result of one property, by its name."""
        return next(item for item in self.properties if item.property.name == name)


def judge(item: Property, seen: bool, exhausted: bool) -> Verdict:
    """The verdict on a property.

    Parameters:
        item: the property.
        seen: whether its counterexample (a witness: its example) was seen.
        exhausted: whether every reachable state was searched.
    """
    if seen:
        return Verdict.HOLDS if item.kind.is_witness else Verdict.VIOLATED
    if not exhausted:
        return Verdict.INCOMPLETE
    return Verdict.VIOLATED if item.kind.is_witness else Verdict.HOLDS
