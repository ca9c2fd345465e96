"""Searches the mutants of a spec, which are copies of the spec with one mistake each.

Each mutant is searched in its own process. By default, its search ends at the first violation.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeVar

import attrs
import psutil

from leadline.checker.action import action
from leadline.checker.bounds import bounds_text
from leadline.checker.content import content
from leadline.checker.engines import ENGINES, memory
from leadline.checker.engines.set_order import with_order_checked
from leadline.checker.errors import LeadlineError
from leadline.checker.mutation.changes import Mutation, NotMutated
from leadline.checker.mutation.processes import GRACE_SECONDS, Answer, Call, answers
from leadline.checker.observing.digest import code_digest
from leadline.checker.properties import invariant
from leadline.checker.result import Limits, Result, Verdict
from leadline.checker.settings import CompiledSettings
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted
from leadline.checker.traces.itf import encode_state

S = TypeVar("S")

EXACT = 20_000
"""The maximum number of distinct states of a mutant for which its steps are compared with those of the original
spec."""

TIMES, FEWEST = 10, 10_000
"""By default, a mutant may have `TIMES` times as many states as the original spec, and always at least `FEWEST`."""


class Fate(enum.Enum):
    """The verdict on a mutant, for example that it was killed or that it survived."""

    KILLED = "killed"
    """The mutant violates a property."""
    ERROR = "error"
    """The search of the mutant failed, for example because an action raised an exception."""
    EQUIVALENT = "equivalent"
    """The mutant violates no property, and its state graph is the same as that of the original spec."""
    SURVIVED = "survived"
    """The mutant violates no property. Its state graph differs from that of the original spec, or is too large to
    compare.
    """
    INCOMPLETE = "incomplete"
    """A limit ended the search before the mutant violated a property."""
    NOT_MUTATED = "not mutated"
    """Python does not allow the change of the code."""


@attrs.frozen(kw_only=True)
class Outcome:
    """The outcome of the search of one mutant.

    Attributes:
        kind: the kind of the mutation; see `Mutation.kind`.
        violated: a dict that maps each violated property to the number of states in a shortest counterexample. The
            number is 0 for a witness that no state satisfies.
        is_partial: whether the mutant may violate further properties, because a limit ended the search before all
            violations were found.
        text: an explanation of the verdict, or an empty string if the other attributes are sufficient.
        distinct: the number of distinct states.
        generated: the number of states generated.
        seconds: the duration of the search in seconds.
    """

    name: str
    kind: str
    fate: Fate
    violated: dict[str, int] = attrs.field(factory=dict)
    is_partial: bool = False
    text: str = ""
    bounds: str = ""
    distinct: int = 0
    generated: int = 0
    seconds: float = 0.0


@attrs.frozen
class Counts:
    """Statistics that are the same in every run of a search. They are used to compare a mutant with the original spec.

    Attributes:
        distinct, generated, outside, deadlocks, levels: see the attributes of `Statistics` with the same names.
        actions: a (name, number of steps) pair for each action.
    """

    distinct: int
    generated: int
    outside: int
    deadlocks: int
    levels: tuple[int, ...]
    actions: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, result: Result) -> Counts:
        """Create the counts from a search result."""
        found = result.statistics
        actions = tuple((name, count.generated) for name, count in found.actions.items())
        return cls(found.distinct, found.generated, found.outside, found.deadlocks, found.levels, actions)

    def __str__(self) -> str:
        return f"{counted(self.distinct, 'state')} and {self.generated:,} generated"


@attrs.frozen(kw_only=True)
class Original:
    """The original spec, with which its mutants are compared.

    Attributes:
        bounds: the bounds of the search, as text.
        changes: the bounds that differ from those of the spec, as text.
        properties: the names of the properties that hold. The mutants are checked against these properties.
        left_out: the names of the properties that the original spec itself violates.
        vacuous: the names of the properties that hold only because their premise is never true. A mutant can violate
            them only if it makes the premise true.
        steps: the digests of all reachable steps, or None if there are more than `EXACT` states.
        code: a digest of the spec's code.
    """

    bounds: str
    changes: str
    properties: tuple[str, ...]
    left_out: tuple[str, ...]
    vacuous: tuple[str, ...]
    counts: Counts
    steps: frozenset[bytes] | None
    code: str

    @property
    def distinct(self) -> int:
        """The number of distinct states."""
        return self.counts.distinct


@attrs.frozen
class _Bit:
    is_set: bool = False


@action()
def _flip(state: _Bit) -> Iterator[_Bit]:
    yield _Bit(not state.is_set)


@invariant("the bit is not set")
def _is_clear(state: _Bit) -> bool:
    return not state.is_set


_SMALL: Spec[_Bit] = Spec(name="small", initial_states=lambda _: [_Bit()], actions=[_flip], properties=[_is_clear])


class NotSearched(LeadlineError):
    """Raised if the original spec was not searched completely. Its mutants then cannot be compared with it."""


@attrs.frozen(kw_only=True)
class Way:
    """The settings for searching mutants.

    Attributes:
        max_seconds: the time limit for each search, in seconds.
        max_states: the maximum number of distinct states per search. If it is None, the original spec is searched
            without a limit, and the limit for a mutant depends on the number of states of the original spec; see
            `TIMES`.
        all_properties: whether to continue after a violation in order to find every property that a mutant violates.
        workers: the number of mutants that are searched at the same time.
    """

    engine: str = "compiled"
    max_seconds: float = 60.0
    max_states: int | None = None
    all_properties: bool = False
    workers: int = 1

    @property
    def most_seconds(self) -> float:
        """The number of seconds after which a search process is killed."""
        return 2 * self.max_seconds + GRACE_SECONDS

    def search(self, spec: Spec[S], keep_going: bool, max_states: int | None) -> Result:
        """Search a spec in this process and return the result.

        Parameters:
            keep_going: whether to continue after a violation.
            max_states: the maximum number of distinct states, or None for no limit.
        """
        bytes_each = int(memory.SHARE * psutil.virtual_memory().available / self.workers)
        limits = Limits(
            max_states=max_states, max_seconds=self.max_seconds, keep_going=keep_going, max_memory=bytes_each
        )
        settings = CompiledSettings(workers=1) if self.engine == "compiled" else None
        return ENGINES[self.engine](spec, limits, settings=settings)


def originals(spec: Spec[S], mutations: Sequence[Mutation], way: Way) -> dict[str, Original]:
    """Search the original spec once for each set of bounds that the mutations use.

    Parameters:
        way: the settings for the searches.

    Returns:
        A dict that maps each set of bounds, as text, to the result of its search.

    Raises:
        SpecError: if the spec is invalid, fails during a search, or depends on the iteration order of a set. Mutants
            are not checked for such a dependency.
        NotSearched: if a limit was reached before a search was complete.
        KeyboardInterrupt: if the user pressed Ctrl-C.
    """
    # This search imports the modules that the forked processes need. They then do not each import them again.
    if way.search(_SMALL, True, None).interrupted:
        raise KeyboardInterrupt
    found: dict[str, Original] = {}
    for each in {bounds_text(mutation.bounds): mutation for mutation in mutations}.values():
        bounded = spec.with_bounds(each.bounds)
        if bounded.named_bounds not in found:
            call = functools.partial(_original, bounded, way)
            (answer,) = answers([(bounded.name, call)], 1, way.most_seconds)
            if isinstance(answer.found, LeadlineError):
                raise answer.found
            if not isinstance(answer.found, Original):
                raise NotSearched(f"{spec.name} was not searched: {answer.found}")
            found[bounded.named_bounds] = attrs.evolve(answer.found, changes=bounds_text(each.bounds))
    return found


def judged(spec: Spec[S], mutations: Sequence[Mutation], originals: dict[str, Original], way: Way) -> Iterator[Outcome]:
    """Search the mutants of a spec, and yield the outcome for each mutant as soon as its search ends.

    Parameters:
        originals: the results of searching the original spec, as returned by the function `originals`.
        way: the settings for the searches.
    """
    by_name = {mutation.name: mutation for mutation in mutations}

    def call(mutation: Mutation) -> Call[Outcome]:
        original = originals[spec.with_bounds(mutation.bounds).named_bounds]
        return functools.partial(_judge, mutation, spec, original, way)

    calls = ((name, call(mutation)) for name, mutation in by_name.items())
    for answer in answers(calls, way.workers, way.most_seconds):
        yield _outcome(by_name[answer.name], spec, answer)


def _outcome(mutation: Mutation, spec: Spec[S], answer: Answer[Outcome]) -> Outcome:
    found = answer.found
    if isinstance(found, Outcome):
        return attrs.evolve(found, seconds=answer.seconds)
    bounds = spec.with_bounds(mutation.bounds).named_bounds
    fate = Fate.INCOMPLETE if answer.is_late else Fate.NOT_MUTATED if isinstance(found, NotMutated) else Fate.ERROR
    return Outcome(
        name=mutation.name, kind=mutation.kind, fate=fate, text=str(found), bounds=bounds, seconds=answer.seconds
    )


# --- in a separate process ----------------------------------------------------------------------------------


def _original(spec: Spec[S], way: Way) -> Original:
    result = with_order_checked(spec, lambda: way.search(spec, True, way.max_states))
    if not result.exhausted:
        raise NotSearched(
            f"{spec.name} was not searched completely: {result.reason}; "
            "choose smaller bounds with -b, or larger limits with --max-seconds and --max-states"
        )
    wrong = tuple(item.property.name for item in result.properties if item.verdict is Verdict.VIOLATED)
    right = tuple(item.property.name for item in result.properties if item.verdict is Verdict.HOLDS)
    steps = frozenset(_steps(spec)) if result.statistics.distinct <= EXACT else None
    return Original(
        bounds=spec.named_bounds,
        changes="",
        properties=right,
        left_out=wrong,
        vacuous=tuple(item.property.name for item in result.properties if item.says_nothing),
        counts=Counts.of(result),
        steps=steps,
        code=code_digest(spec),
    )


def _judge(mutation: Mutation, spec: Spec[S], original: Original, way: Way) -> Outcome:
    bounded = spec.with_bounds(mutation.bounds)
    mutant = mutation.made(bounded.with_properties(original.properties))
    max_states = way.max_states or max(TIMES * original.distinct, FEWEST)
    result = way.search(mutant, way.all_properties, max_states)
    violated = {
        item.property.name: len(item.traces[0]) if item.traces else 0
        for item in result.properties
        if item.verdict is Verdict.VIOLATED
    }
    statistics, text = result.statistics, ""
    is_partial = way.all_properties and bool(violated) and not result.exhausted
    if violated:
        fate = Fate.KILLED
        if is_partial:
            text = f"{result.reason}; other properties may be violated later"
    elif not result.exhausted:
        fate, text = Fate.INCOMPLETE, f"{result.reason}; no property was violated before that"
    else:
        fate, text = _compared(mutant, result, original)
    return Outcome(
        name=mutation.name,
        kind=mutation.kind,
        fate=fate,
        violated=violated,
        is_partial=is_partial,
        text=text,
        bounds=bounded.named_bounds,
        distinct=statistics.distinct,
        generated=statistics.generated,
    )


def _compared(mutant: Spec[S], result: Result, original: Original) -> tuple[Fate, str]:
    """Return the fate of a mutant that violates no property, and an explanation."""
    states, counts = counted(original.distinct, "state"), Counts.of(result)
    if original.steps is None or result.statistics.distinct > EXACT:
        if counts == original.counts:
            return Fate.SURVIVED, f"no difference in the counts of {states}, too many to compare step by step"
        return Fate.SURVIVED, f"it behaves differently: {counts} instead of {original.counts}"
    steps = _steps(mutant)
    new = Counter(action for step, action in steps.items() if step not in original.steps)
    lost = len(original.steps.difference(steps))
    if not new and not lost:
        return Fate.EQUIVALENT, f"the same {len(steps):,} steps between {states}: no difference within these bounds"
    if not new:
        kept = f"{len(original.steps) - lost:,} of {counted(len(original.steps), 'step')}"
        return Fate.SURVIVED, f"it takes {kept}, and no new one: only a witness could notice"
    taken = ", ".join(f"{action or 'initial states'} {count:,}" for action, count in new.most_common())
    return Fate.SURVIVED, f"no property notices {counted(new.total(), 'new step')}: {taken}"


def _steps(spec: Spec[S]) -> dict[bytes, str]:
    """Return a dict that maps the digest of each reachable step to the name of the step's action.

    The digest is computed from the action instance and the states before and after the step. An initial state counts as
    a step whose action has an empty name.
    """
    first, texts, waiting = spec.initials()[0], dict[S, str](), list[S]()

    def text(state: S) -> str:
        if state not in texts:
            texts[state] = json.dumps(encode_state(state, first), sort_keys=True)
            waiting.append(state)
        return texts[state]

    found = {_digest("", "", "", text(state)): "" for state in spec.initials()}
    while waiting:
        state = waiting.pop()
        for instance, after in spec.successors(state):
            values = str(content("", tuple(instance.arguments.items())))
            found[_digest(texts[state], instance.action.name, values, text(after))] = instance.action.name
    return found


def _digest(*texts: str) -> bytes:
    return hashlib.blake2b("\0".join(texts).encode(), digest_size=12).digest()
