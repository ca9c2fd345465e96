"""Results: the types that every engine returns."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs

from leadline.checker.coverage import CoverageCounts
from leadline.checker.errors import SpecError
from leadline.checker.properties import Property
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace

MOST_TRACES = 10_000
"""The largest number of counterexamples that can be requested: memory for all of them is allocated at the start."""


class Verdict(enum.Enum):
    """The conclusion of a run."""

    HOLDS = "holds"
    """The entire state space was searched. For a witness: some state satisfies it."""
    VIOLATED = "violated"
    """There is a counterexample. For a witness: the entire state space was searched and no state satisfies it."""
    INCOMPLETE = "incomplete"
    """The search ended early, for example at a limit. Nothing is known about the states that were not searched."""


class StopKind(enum.Enum):
    """The reason why a run stopped before every reachable state was searched."""

    VIOLATION = "violation"
    """The run found the first violation, and `Limits.keep_going` is not set."""
    DEPTH = "depth"
    STATES = "states"
    TIME = "time"
    MEMORY = "memory"
    """The run reached the memory limit, used up the free memory, or exceeded the capacity of the engine."""
    INTERRUPT = "interrupt"
    """The process received Ctrl-C or another signal to terminate."""
    SAMPLE = "sample"
    """The run was a random search and reached its end."""


@attrs.frozen
class Stop:
    """The reason why a run stopped early.

    Attributes:
        kind: the kind of reason.
        text: a description of the reason, for the end of a sentence.
    """

    kind: StopKind
    text: str

    def __str__(self) -> str:
        return self.text


FIRST_VIOLATION = Stop(StopKind.VIOLATION, "stopped at the first violation")


@attrs.frozen
class Limits:
    """Limits of a search, and options for its results.

    Attributes:
        depth: the maximum number of states on a path, including the initial state; None: no limit.
        max_states: the maximum number of distinct states; None: no limit.
        max_seconds: the maximum duration of the search in seconds; None: no limit.
        max_memory: the maximum memory that the process may use, in bytes; None: most of the machine's free memory.
        keep_going: whether to continue after a violation until the state space is exhausted.
        traces: the number of different shortest counterexamples to find for each property.
        coverage: whether to collect `Statistics.covered`, which about doubles the time.
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
            if not number or not value > 0:  # nan > 0 is false
                kind = "a number" if name == "max_seconds" else "an integer"
                raise SpecError(f"limit {name}={value} is out of range: it must be {kind} greater than 0")
        if self.traces > MOST_TRACES:
            raise SpecError(f"limit traces={self.traces} is out of range: it must be at most {MOST_TRACES:,}")


@attrs.define
class ActionCount:
    """The number of steps that one action generated, and the number of new distinct states among them."""

    generated: int = 0
    distinct: int = 0


@attrs.frozen
class Widest:
    """The part of the state with the most values, among the parts that are not split.

    Attributes:
        path: the path of the part, for example ``State.messages``.
        values: the number of distinct values found.
        type: the name of the values' type.
    """

    path: str
    values: int
    type: str


@attrs.frozen
class WholeRead:
    """Code that is not understood, so that more of a state is recorded as read and less is learned from each call.

    Attributes:
        construct: the code, for example ``import``, ``json.dumps`` or ``the condition is_old(m)``.
        function: the function that contains the code.
        file: the name of the source file.
        line: the line of the code, or the first line of the function if the line is unknown.
        reads: the part of a state that counts as read, for example ``whole states``.
        used_by: the names of the actions and properties that use the code.
        calls: the number of calls of these actions and properties, including calls that the engine did not learn from.
            Some of these calls would be necessary in any case.
    """

    construct: str
    function: str
    file: str
    line: int
    reads: str
    used_by: tuple[str, ...]
    calls: int


@attrs.frozen
class Learning:
    """Statistics on the calls that the compiled engine learned from. See `leadline.checker.engines.compiled`.

    Attributes:
        actions, properties: the number of calls that the engine learned from, by name of the action or property.
        called: the number of calls that the engine did not learn from, because few states would have benefited.
        by_oracle: the number of calls that the oracle would have made for the same states.
        memory: the size of the learned results in bytes.
        widest: the part with the most values; None if all parts are split.
    """

    actions: dict[str, int]
    properties: dict[str, int]
    called: int
    by_oracle: int
    memory: int
    widest: Widest | None

    @property
    def share(self) -> float:
        """The number of calls made, as a fraction of the calls that the oracle would have made."""
        learned = sum(self.actions.values()) + sum(self.properties.values())
        return (learned + self.called) / max(self.by_oracle, 1)


@attrs.frozen
class Verified:
    """The number of learned results that a search compared with calls on real states. None of them was wrong.

    Attributes:
        checked: the number of applications of learned paths that were compared.
        drawn: the number of compared applications that were chosen at random from all applications.
        made: the total number of applications of learned paths; None for a search that does not count them. States for
            which the function was called instead are not included.
    """

    checked: int
    drawn: int
    made: int | None

    @property
    def one_in(self) -> int:
        """A number n such that the search detects, with probability 99 %, that one in n applications is wrong.

        It is 0 if there were too few comparisons. Errors that are concentrated in a part of the search may be detected
        less often.
        """
        return int(self.drawn / 4.605)  # n draws miss errors at a rate of 4.605 / n with probability exp(-4.605) = 0.01


@attrs.frozen
class WalkCounts:
    """Counts of the behaviours of a random search.

    Attributes:
        behaviours: the number of behaviours started.
        steps: the number of steps taken.
        expanded: the number of states expanded in random order. All their next states were checked, except for states
            at the maximum number of steps.
        waiting: the number of states that were found by expanding a state but were not expanded themselves.
        is_exact: whether the counts of distinct states are exact; otherwise they are estimates.
        lengths: for each number of steps, the number of behaviours with this length.
        depths: for each number of steps, the number of distinct states that no behaviour reached in fewer steps.
        dead_ends: the number of behaviours that ended in a state without a step to a different state.
        outside: the number of behaviours that ended in a state outside of `Spec.within`.
        enabled: for each action, how often it was enabled, whether or not it was taken.
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
        distinct: the number of distinct states reached, including initial states.
        outside: the number of distinct states reached outside of `Spec.within`, not included in `distinct`.
        generated: the number of next states generated, including initial states and repetitions.
        depth: the largest number of states on a shortest path, including the initial state. If a limit ended the
            search, it may have found states one step deeper.
        queue: the number of states found whose next states were not all generated; None for a random search, which has
            no queue.
        expanded: the number of states whose next states were all generated.
        successors: the total number of steps from expanded states.
        out_degree_min, out_degree_max: the smallest and largest number of steps from an expanded state. Every step
            counts; the outdegree that TLC reports counts only steps to new states.
        deadlocks: the number of expanded states without a step.
        seconds: wall-clock time in seconds.
        actions: counts by action name, in the spec's order.
        level_done: the fraction of the last level started that is expanded; None if the engine does not know.
        memory: the size of the states found in bytes; 0 if the engine does not know.
        calls: the number of calls of actions and properties that the engine learned from; 0 for engines that do not
            learn.
        learning: details of what was learned; None for all engines except the compiled engine.
        compared: the number of comparisons of a result learned from one state with a call on a different state.
        whole_reads: code that is not understood, sorted by the number of calls, largest first; empty for engines that
            do not learn. The Spark engine reports only the code and the calls of its driver.
        verified: comparisons of a random sample of all applications of learned results; None for engines that do not
            learn.
        levels: the number of distinct states found at each depth; empty for a random search.
        samples: pairs of elapsed seconds and distinct states found by then, in order; empty unless recorded by `paced`.
        shards: the number of shards that the states are distributed over; 0 if the engine does not use shards.
        skew: by how much the largest shard's number of new states in the last level exceeds the mean, as a fraction:
            0.1 for 10 %.
        spilled: the number of bytes written to files.
        walked: the counts of a random search; None for other engines.
        covered: the coverage; None unless `Limits.coverage` is set.
        activity: the current work after the search itself, such as shortening, for progress reports; empty during the
            search and in results.
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
    whole_reads: tuple[WholeRead, ...] = ()
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
        """The mean number of steps from an expanded state; 0 if no state was expanded."""
        return self.successors / self.expanded if self.expanded else 0.0

    @property
    def never_enabled(self) -> list[str]:
        """The actions that no state enabled."""
        if self.walked is not None:
            return [name for name, states in self.walked.enabled.items() if not states]
        return [name for name, count in self.actions.items() if not count.generated]

    def count_expanded(self, steps: int) -> None:
        """Count one more expanded state, with `steps` steps from it."""
        self.out_degree_min = min(self.out_degree_min, steps) if self.expanded else steps
        self.out_degree_max = max(self.out_degree_max, steps)
        self.expanded += 1
        self.successors += steps
        self.deadlocks += not steps


@attrs.frozen(eq=False)
class PropertyResult:
    """The result of a run for one property.

    Attributes:
        property: the property.
        verdict: the verdict on the property.
        traces: shortest counterexamples; for a witness, shortest traces to a state that satisfies it.
        premise: whether the premise was true in any searched state; None if the property has no premise.
    """

    property: Property
    verdict: Verdict
    traces: tuple[Trace[Any], ...] = ()
    premise: bool | None = None

    @property
    def says_nothing(self) -> bool:
        """Whether the property is vacuous: it holds only because its premise is never true."""
        return self.verdict is Verdict.HOLDS and self.premise is False


@attrs.frozen(eq=False)
class Result:
    """The result of a run of any engine.

    Attributes:
        spec: the spec that was searched, with its bounds.
        engine: the name of the engine.
        stop: the reason why the run stopped early; None if every reachable state was searched.
        statistics: the counts.
        properties: a result for each property checked, in the spec's order.
        settings: the engine's own settings in this run, by name.
        note: an additional remark; usually empty.
    """

    spec: Spec[Any]
    engine: str
    stop: Stop | None
    statistics: Statistics
    properties: tuple[PropertyResult, ...]
    settings: Mapping[str, object] = attrs.field(factory=dict)
    note: str = ""

    @property
    def exhausted(self) -> bool:
        """Whether every reachable state was searched."""
        return self.stop is None

    @property
    def reason(self) -> str | None:
        """The reason why the run stopped early, in words; None if every reachable state was searched."""
        return None if self.stop is None else self.stop.text

    @property
    def interrupted(self) -> bool:
        """Whether a signal stopped the run."""
        return self.stop is not None and self.stop.kind is StopKind.INTERRUPT

    @property
    def verdict(self) -> Verdict:
        """`VIOLATED` if any property is violated; otherwise `HOLDS` if the search was exhaustive, else `INCOMPLETE`."""
        if any(item.verdict is Verdict.VIOLATED for item in self.properties):
            return Verdict.VIOLATED
        return Verdict.HOLDS if self.exhausted else Verdict.INCOMPLETE

    def of(self, name: str) -> PropertyResult:
        """Return the result for the property with this name."""
        return next(item for item in self.properties if item.property.name == name)


def judge(item: Property, seen: bool, exhausted: bool) -> Verdict:
    """Return the verdict on a property.

    Parameters:
        item: the property.
        seen: whether a counterexample was found; for a witness, a state or step that satisfies it.
        exhausted: whether every reachable state was searched.
    """
    if seen:
        return Verdict.HOLDS if item.kind.is_witness else Verdict.VIOLATED
    if not exhausted:
        return Verdict.INCOMPLETE
    return Verdict.VIOLATED if item.kind.is_witness else Verdict.HOLDS
