"""A family of specs in one folder, as a contributor would add it: two threads and a lock that may be missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from leadline.checker import Spec, action, bound, component, invariant, put
from leadline.checker.state import constant
from leadline.model.family import Family, Mutations
from leadline.model.mistakes import Mistake
from leadline.model.rules import Rule, RuleColumn, RuleTable, Value


@attrs.frozen
class Bounds:
    """The size of the system."""

    threads: int = bound(2, "threads", at_least=1, at_most=4)


@attrs.frozen(eq=False)
class Protocol:
    """The rules of one release."""

    name: str
    summary: str
    may_read: Callable[[State], bool]


@attrs.frozen
class Thread:
    """A thread that adds one to the counter."""

    read: int | None = None
    done: bool = False


@attrs.frozen
class State:
    """The counter, the lock and the threads."""

    counter: int
    threads: tuple[Thread, ...] = component(each="thread")
    protocol: Protocol = constant()


def always(state: State) -> bool:
    """Threads do not wait for each other."""
    return True


def no_other_has_read(state: State) -> bool:
    """A thread waits until no other thread is between its two steps."""
    return all(thread.read is None or thread.done for thread in state.threads)


def threads(bounds: Bounds) -> range:
    """Return the threads, numbered from 0."""
    return range(bounds.threads)


@action("thread {thread} reads the counter", thread=threads)
def read(state: State, thread: int) -> Iterator[State]:
    """Read the counter."""
    if state.threads[thread].read is None and state.protocol.may_read(state):
        yield put(state, "threads", thread, "read", state.counter)


@action("thread {thread} writes back what it read, plus one", thread=threads)
def write(state: State, thread: int) -> Iterator[State]:
    """Write the counter."""
    value, done = state.threads[thread].read, state.threads[thread].done
    if value is not None and not done:
        yield put(attrs.evolve(state, counter=value + 1), "threads", thread, "done", True)


@invariant("no increment is lost")
def no_lost_update(state: State) -> bool:
    """Each thread that is done has added one."""
    return state.counter == sum(thread.done for thread in state.threads)


RULES = (
    Rule(
        "lock",
        "when a thread may read the counter",
        (
            Value("none", "at any time", "release 1", {"may_read": always}),
            Value("waits", "when no other thread is about to write", "release 2", {"may_read": no_other_has_read}),
        ),
    ),
)


@attrs.frozen(eq=False, kw_only=True)
class Column(RuleColumn):
    """A release, such as ``toy/1``."""

    table = RuleTable(RULES)
    makes = Protocol
    bounds: Bounds = attrs.field(factory=Bounds)


def _spec(column: Column, protocol: Protocol) -> Spec[State]:
    return Spec(
        name=f"toy/{protocol.name}",
        summary=column.summary,
        initial_states=lambda bounds: [State(0, (Thread(),) * bounds.threads, protocol)],
        actions=[read, write],
        properties=[no_lost_update],
        bounds=column.bounds,
    )


TOY = Family(
    name="toy",
    columns=(
        Column(name="toy/1", summary="a counter without a lock", values={"lock": "none"}, versions=("1",)),
        Column(name="toy/2", summary="a counter with a lock", values={"lock": "waits"}, versions=("2",)),
    ),
    make=_spec,
    mutations=Mutations(
        mistakes=(Mistake(name="does-not-wait", sentence="threads do not wait", wrong={"may_read": always}),),
        may_be_made_in=lambda column: column.values["lock"] == "waits",
    ),
)
