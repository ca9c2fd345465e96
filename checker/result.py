"""Results: the classes of the objects that every engine returns, and the limits of a run."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from typing import Any

import attrs

from leadline.checker.coverage import CoverageCounts
from leadline.checker.errors import SpecError
from leadline.checker.properties import Property
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace

SOUGHT_STATES = 250_000
"""The number of distinct states after which a violation of any property ends a search, even if `Limits.sought` is
set."""

MOST_TRACES = 10_000
"""The maximum value of `Limits.traces`. There is a maximum because the engine allocates memory for all traces at the
start."""


class Verdict(enum.Enum):
    """The conclusion of a run, about one property or about all of them."""

    HOLDS = "holds"
    """The search was exhaustive and found no violation. For a witness: the search found a state or step that satisfies
    it.
    """
    VIOLATED = "violated"
    """The search found a counterexample. For a witness: the search was exhaustive and found nothing that satisfies
    it.
    """
    INCOMPLETE = "incomplete"
    """The search ended early, for example at a limit. States that it did not reach may change the verdict."""


class StopKind(enum.Enum):
    """The reason why a run stopped before it had searched every reachable state."""

    VIOLATION = "violation"
    """The run found a violation, and `Limits.keep_going` is not set."""
    DEPTH = "depth"
    STATES = "states"
    TIME = "time"
    MEMORY = "memory"
    """The run reached the memory limit, ran out of memory, or exceeded the capacity of the engine."""
    INTERRUPT = "interrupt"
    """The process received a signal to terminate, for example because the user pressed Ctrl-C."""
    OPEN = "open"
    """The run searched every reachable state, but nothing shows whether some properties are true; see
    `leadline.checker.liveness.decide.judges_nothing` and `Spec.rests_on`.
    """
    SAMPLE = "sample"
    """A random search completed all its behaviours. It did not search every reachable state."""


@attrs.frozen
class Stop:
    """The reason why a run stopped early, with a description.

    Attributes:
        kind: the reason.
        text: a description of the reason, phrased as the end of a sentence.
    """

    kind: StopKind
    text: str

    def __str__(self) -> str:
        return self.text


FIRST_VIOLATION = Stop(StopKind.VIOLATION, "stopped at the first violation")


@attrs.frozen
class Limits:
    """The limits of a search, and options for its results. Except for `max_memory`, a limit of None means that there is
    no limit.

    Attributes:
        depth: the maximum number of states on a path from an initial state, including the initial state.
        max_states: the maximum number of distinct states.
        max_seconds: the maximum duration of the search in seconds.
        max_cpu_seconds: the maximum processor time of this process during the search, in seconds. It does not depend on
            what else the machine does.
        max_memory: the maximum memory of the process in bytes. None means most of the free memory of the machine.
        keep_going: whether to continue the search after a violation.
        sought: the names of the most important properties. If given, only a violation of these properties ends the
            search before it has found `SOUGHT_STATES` distinct states. If empty, a violation of any property ends the
            search. A random search ignores this option.
        traces: the number of different shortest counterexamples to find for each property.
        as_found: whether the steps of a trace stay in the order in which the search found them. Otherwise they are
            reordered to switch rarely between components, which takes up to a second for each trace.
        coverage: whether to collect `Statistics.covered`. This approximately doubles the duration of a search.

    Raises:
        SpecError: if a limit is not a positive number, or if `traces` is greater than `MOST_TRACES`.
    """

    depth: int | None = None
    max_states: int | None = None
    max_seconds: float | None = None
    keep_going: bool = False
    traces: int = 1
    max_memory: int | None = None
    coverage: bool = False
    sought: tuple[str, ...] = ()
    max_cpu_seconds: float | None = None
    as_found: bool = False

    def __attrs_post_init__(self) -> None:
        times = ("max_seconds", "max_cpu_seconds")
        for name in ("depth", "max_states", *times, "max_memory", "traces"):
            value = getattr(self, name)
            if value is None:
                continue
            number = type(value) is int or (name in times and type(value) is float)
            if not number or not value > 0:  # nan > 0 is false
                kind = "a number" if name in times else "an integer"
                raise SpecError(f"limit {name}={value} is out of range: it must be {kind} greater than 0")
        if self.traces > MOST_TRACES:
            raise SpecError(f"limit traces={self.traces} is out of range: it must be at most {MOST_TRACES:,}")

    def stop_after(self, violated: Collection[str], distinct: int) -> Stop | None:
        """Return the reason why a search ends after a complete level, or None if the search continues.

        Parameters:
            violated: the names of the properties that have been violated so far.
            distinct: the number of distinct states found so far.
        """
        if not violated or self.keep_going:
            return None
        if self.sought and distinct < SOUGHT_STATES and not set(violated) & set(self.sought):
            return None
        return FIRST_VIOLATION


@attrs.define
class ActionCount:
    """The counts of the steps of one action.

    Attributes:
        generated: the number of steps.
        distinct: the number of steps that led to a new state.
    """

    generated: int = 0
    distinct: int = 0


@attrs.frozen
class Widest:
    """The part of the state with the most distinct values, among the parts that are not split further.

    Attributes:
        path: the location of the part, for example ``State.messages``.
        values: the number of distinct values found.
        type: the name of the type of the values.
    """

    path: str
    values: int
    type: str


UNDIVIDED = "the property as a whole"
"""What calls of a property read that the engine cannot divide into parts; see `WholeRead.reads`."""


@attrs.frozen
class WholeRead:
    """Code that the compiled engine does not support. The engine can learn less from calls that run such code.

    The engine records which parts of a state a call reads. For such code, it has to assume that the call reads
    everything that the code could read.

    Attributes:
        construct: the code, for example ``import``, ``json.dumps`` or ``the condition is_old(m)``.
        function: the function that contains the code.
        file: the name of the source file.
        line: the line of the code, or the first line of the function if the line is unknown.
        reads: a description of the parts of a state that the code is assumed to read, for example ``whole states``.
        used_by: the names of the actions and properties that use the code.
        calls: the number of calls to the actions and properties in `used_by`. Some of these calls would be necessary
            even if the code were supported.
        seconds: the seconds that these calls took in the main process.
    """

    construct: str
    function: str
    file: str
    line: int
    reads: str
    used_by: tuple[str, ...]
    calls: int
    seconds: float = attrs.field(default=0.0, eq=False)


@attrs.frozen
class Costliest:
    """The action or property that was called most often in a search.

    Attributes:
        name: the name of the action or property.
        calls: the number of its calls.
        seconds: the seconds that its calls took in the main process. Action calls from which the engine did not learn
            are not included.
    """

    name: str
    calls: int
    seconds: float = attrs.field(eq=False)


@attrs.frozen
class Learning:
    """Statistics of the compiled engine, which learns the results of calls. See `leadline.checker.engines.compiled`.

    Attributes:
        actions: the number of calls that the engine learned from, keyed by the name of the action.
        properties: the number of calls that the engine learned from, keyed by the name of the property.
        called: the number of calls that the engine did not learn from, because too few states would have used their
            results.
        by_oracle: the number of calls that the oracle engine would have made for the same states.
        memory: the size of the learned results in bytes.
        widest: the part of the state with the most distinct values, or None if all parts are split.
        costliest: the action or property that was called most often, or None if none was called.
    """

    actions: dict[str, int]
    properties: dict[str, int]
    called: int
    by_oracle: int
    memory: int
    widest: Widest | None
    costliest: Costliest | None = None

    @property
    def made(self) -> int:
        """The number of calls made, whether or not the engine learned from them."""
        return sum(self.actions.values()) + sum(self.properties.values()) + self.called

    @property
    def share(self) -> float:
        """The number of calls made, as a fraction of the number of calls that the oracle engine would have made."""
        return self.made / max(self.by_oracle, 1)


@attrs.frozen
class Verified:
    """The counts of comparisons with actual calls. All compared results were equal.

    Attributes:
        checked: the number of uses of learned results that were compared.
        drawn: the number of compared uses that were chosen at random from all uses.
        made: the total number of uses of learned results, or None if the search does not count them. Results for which
            the engine called the function are not included.
        states: the number of stored states that were made again from an initial state, and were the same.
        graph: the number of states whose steps and fairness conditions were compared before liveness was decided.
    """

    checked: int
    drawn: int
    made: int | None
    states: int = 0
    graph: int = 0

    @property
    def one_in(self) -> int:
        """A number n: if one in n uses of learned results were wrong, the search would have found an error with a
        probability of 99 %. The number is 0 if there were too few comparisons. The search is more likely to miss an
        error that occurs only in a part of the search.
        """
        return int(self.drawn / 4.605)  # n draws miss errors at a rate of 4.605 / n with probability exp(-4.605) = 0.01


@attrs.frozen
class WalkCounts:
    """The counts of a random search.

    A behaviour is a sequence of steps from an initial state.

    Attributes:
        behaviours: the number of behaviours started.
        steps: the number of steps taken.
        expanded: the number of states that were expanded in random order. The search checked all next states of such a
            state, unless the state was reached only after the maximum number of steps.
        waiting: the number of states that were found by expanding another state and were not expanded.
        is_exact: whether the numbers of distinct states are exact. Otherwise, they are estimates.
        lengths: the number of behaviours with 0, 1, 2 ... steps.
        depths: the number of distinct states that behaviours first reached after 0, 1, 2 ... steps. Each state is
            counted once, for the smallest number of steps.
        dead_ends: the number of behaviours that ended in a state from which no step leads to a different state.
        outside: the number of behaviours that ended in a state for which `Spec.within` is false.
        enabled: for each action, the number of times that it was enabled in a visited state, whether or not its step
            was taken.
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


@attrs.frozen
class OrbitCounts:
    """The counts of a search with symmetry, which keeps one state of each orbit. An orbit consists of the states that
    permutations make of each other.

    Attributes:
        permutations: the number of permutations.
        declared: the number of permutations that `Spec.symmetric` declares. There are more of them if they do not all
            leave the set of initial states unchanged.
        states: the number of states in all orbits that were found: the number of states without symmetry. States for
            which `Spec.within` is false are not included.
    """

    permutations: int
    declared: int
    states: int


@attrs.frozen
class LivenessCounts:
    """The counts from checking liveness properties after a search.

    Attributes:
        components: the number of strongly connected components of the graph of all states and steps.
        largest: the number of states of the largest component.
        open: the number of states whose steps are not all known; see `Spec.is_open`. Behaviours that stay in such
            states forever are not checked.
        seconds: the duration in seconds of wall-clock time.
    """

    components: int
    largest: int
    open: int
    seconds: float


@attrs.define
class Statistics:
    """The counts of a run, which are defined as in TLC.

    Attributes:
        distinct: the number of distinct states found, including initial states.
        outside: the number of distinct states found for which `Spec.within` is false. They are not included in
            `distinct`.
        generated: the number of next states generated, including initial states and states that were already known.
        depth: the largest number of states on a shortest path from an initial state, including the initial state. If a
            limit ended the search, the search may have found states one step deeper.
        queue: the number of states that were not completely expanded, or None for a random search. A state is expanded
            when all of its next states have been generated.
        expanded: the number of states that were completely expanded.
        successors: the total number of steps from expanded states.
        out_degree_min: the smallest number of steps from an expanded state. All steps count, whereas the outdegree that
            TLC reports includes only steps to new states.
        out_degree_max: the largest number of steps from an expanded state.
        deadlocks: the number of expanded states that have no step.
        seconds: the duration in seconds of wall-clock time.
        actions: the counts of each action, keyed by name, in the order of the spec.
        level_done: the fraction of the latest level that has been expanded, or None if the engine does not know it. A
            level is the set of states at the same depth.
        memory: the memory in bytes that the states occupy, or 0 if the engine does not know it.
        calls: the number of calls to actions and properties that the engine learned from, or 0 if the engine does not
            learn.
        learning: details of what the compiled engine learned. None for other engines.
        compared: the number of learned results that were compared with a call on a state other than the one from which
            they were learned.
        whole_reads: the code that the engine does not support. The most frequently called code comes first. Empty if
            the engine does not learn. For the Spark engine, only calls made by its driver are included.
        verified: the counts of learned results that were compared with calls. None if the engine does not learn.
        levels: the number of distinct states at each depth. Empty for a random search.
        samples: a (seconds, number of distinct states found by then) pair for each measurement, in order. Empty unless
            `paced` recorded them.
        shards: the number of shards across which the states are distributed, or 0 if the engine has no shards.
        skew: how unevenly the shards share the new states of the last level. This is the excess of the largest shard
            over the mean, as a fraction of the mean. For example, 0.1 means 10 %.
        spilled: the number of bytes written to files.
        free: the number of bytes of memory that the search may still use, for progress reports. None in results.
        walked: the counts of a random search. None for other engines.
        covered: the coverage, or None if `Limits.coverage` is not set.
        liveness: the counts from checking liveness properties. None if this check was not done or not completed.
        orbits: the counts of a search with symmetry. None for other searches. All other counts are then of orbits.
        activity: a description of the current work after the search, such as shortening a trace, for progress reports.
            Empty during the search and in results.
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
    free: int | None = attrs.field(default=None, eq=False)
    walked: WalkCounts | None = None
    covered: CoverageCounts | None = None
    liveness: LivenessCounts | None = None
    orbits: OrbitCounts | None = None
    activity: str = ""

    @property
    def open(self) -> int:
        """The number of open states; see `LivenessCounts`. 0 if no liveness properties were checked."""
        return self.liveness.open if self.liveness is not None else 0

    @property
    def out_degree_mean(self) -> float:
        """The mean number of steps from an expanded state, or 0 if no state was expanded."""
        return self.successors / self.expanded if self.expanded else 0.0

    @property
    def never_enabled(self) -> list[str]:
        """The names of the actions that were not enabled in any state."""
        if self.walked is not None:
            return [name for name, states in self.walked.enabled.items() if not states]
        return [name for name, count in self.actions.items() if not count.generated]

    def count_expanded(self, steps: int) -> None:
        """Count one more expanded state.

        Parameters:
            steps: the number of steps from the state.
        """
        self.out_degree_min = min(self.out_degree_min, steps) if self.expanded else steps
        self.out_degree_max = max(self.out_degree_max, steps)
        self.expanded += 1
        self.successors += steps
        self.deadlocks += not steps


@attrs.frozen(eq=False)
class PropertyResult:
    """The result of a run for one property.

    Attributes:
        verdict: the verdict on the property.
        traces: shortest counterexamples to the property. For a witness, shortest traces to a state or step that
            satisfies the witness.
        premise: whether the premise of the property was true in any state searched. None if the property has no
            premise.
        never: what is true in no state searched, or for a formula in no behaviour, so that a property that holds says
            nothing: the name of the premise, or the left side of an `implies`. Empty if the property says something.
    """

    property: Property
    verdict: Verdict
    traces: tuple[Trace[Any], ...] = ()
    premise: bool | None = None
    never: str = ""

    @property
    def says_nothing(self) -> bool:
        """Whether the property is vacuous: it holds, but only because its premise is never true."""
        return self.verdict is Verdict.HOLDS and self.premise is False


@attrs.frozen(eq=False)
class Result:
    """The result of a run, for any engine.

    Attributes:
        spec: the spec that was searched, with its bounds.
        engine: the name of the engine.
        stop: the reason why the run stopped early, or None if every reachable state was searched.
        statistics: the counts.
        properties: the result for each property checked, in the order of the spec.
        settings: the settings of the engine in this run, keyed by name.
        note: an additional remark. It is usually empty.
        sought: the names of the most important properties, as in `Limits.sought`.
    """

    spec: Spec[Any]
    engine: str
    stop: Stop | None
    statistics: Statistics
    properties: tuple[PropertyResult, ...]
    settings: Mapping[str, object] = attrs.field(factory=dict)
    note: str = ""
    sought: tuple[str, ...] = ()

    @property
    def exhausted(self) -> bool:
        """Whether every reachable state was searched."""
        return self.stop is None

    @property
    def reason(self) -> str | None:
        """The reason why the run stopped early, as text, or None if every reachable state was searched."""
        return None if self.stop is None else self.stop.text

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped by a signal, for example because the user pressed Ctrl-C."""
        return self.stop is not None and self.stop.kind is StopKind.INTERRUPT

    @property
    def verdict(self) -> Verdict:
        """The conclusion of the run.

        It is `VIOLATED` if any property is violated. Otherwise, it is `HOLDS` if the search was exhaustive and every
        property was decided, and `INCOMPLETE` if not.
        """
        if any(item.verdict is Verdict.VIOLATED for item in self.properties):
            return Verdict.VIOLATED
        undecided = any(item.verdict is Verdict.INCOMPLETE for item in self.properties)
        return Verdict.HOLDS if self.exhausted and not undecided else Verdict.INCOMPLETE

    def unreached(self, witnesses: Collection[str]) -> list[str]:
        """Return the names of those of the given witnesses that no state or step is, although all were searched."""
        if self.stop is not None and self.stop.kind is not StopKind.OPEN:
            return []
        named = (item for item in self.properties if any(map(item.property.is_named, witnesses)))
        return [item.property.name for item in named if not item.traces]

    def resting(self) -> Result:
        """Return the result, in which nothing holds if a witness in `Spec.rests_on` was not reached: what held is
        `INCOMPLETE`, and so is the witness. What is violated stays violated.
        """
        missing = self.unreached(self.spec.rests_on)
        if not missing:
            return self
        are = "was" if len(missing) == 1 else "were"
        reason = f"nothing is decided, since {' and '.join(missing)} {are} not reached within these bounds"
        decided = [
            attrs.evolve(item, verdict=Verdict.INCOMPLETE)
            if item.property.name in missing or (item.verdict is Verdict.HOLDS and not item.property.kind.is_witness)
            else item
            for item in self.properties
        ]
        return attrs.evolve(self, stop=self.stop or Stop(StopKind.OPEN, reason), properties=tuple(decided))

    def of(self, name: str) -> PropertyResult:
        """Return the result for the property with the given name.

        For a property with parameters, return the result of the first violated instance. If there is none, return the
        result of the first undecided instance or, if all are decided, of the first instance.

        Raises:
            ValueError: if no such property was checked.
        """
        found = [item for item in self.properties if item.property.is_named(name)]
        return min(found, key=lambda item: _GRAVEST.index(item.verdict))


_GRAVEST = [Verdict.VIOLATED, Verdict.INCOMPLETE, Verdict.HOLDS]


def judge(item: Property, seen: bool, exhausted: bool) -> Verdict:
    """Return the verdict on a property.

    Parameters:
        item: the property.
        seen: whether the search found a counterexample. For a witness, whether it found a state or step that satisfies
            it.
        exhausted: whether every reachable state was searched.
    """
    if seen:
        return Verdict.HOLDS if item.kind.is_witness else Verdict.VIOLATED
    if not exhausted:
        return Verdict.INCOMPLETE
    return Verdict.VIOLATED if item.kind.is_witness else Verdict.HOLDS
