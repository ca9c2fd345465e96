"""Tiny specs whose state spaces can be counted by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from leadline.checker import Property, Spec, Trace, action, invariant, step_invariant, step_witness, witness
from leadline.checker.bounds import bound
from leadline.checker.state import component, constant

# A walk on a drawn graph. An edge is a word of three letters: "axb" leads from a by x to b.

Edge = tuple[Any, str, Any]


def edges(words: str) -> tuple[Edge, ...]:
    """``"axb bya"``: from a by x to b, and from b by y to a."""
    return tuple((word[0], word[1], word[2]) for word in words.split())


@attrs.frozen
class Graph:
    """A drawn graph, with marks on nodes and on pairs of nodes."""

    edges: tuple[Edge, ...]
    starts: tuple[Any, ...]
    bad: frozenset[Any] = frozenset()
    bad_steps: frozenset[tuple[Any, Any]] = frozenset()
    good: frozenset[Any] = frozenset()
    good_steps: frozenset[tuple[Any, Any]] = frozenset()


@attrs.frozen
class Walker:
    """Where the walk is."""

    node: Any
    graph: Graph = constant()


def walk(state: Walker, label: str) -> Iterator[Walker]:
    """Along every edge with the label; an edge that is drawn twice is walked twice."""
    for source, its_label, target in state.graph.edges:
        if (source, its_label) == (state.node, label):
            yield attrs.evolve(state, node=target)


@invariant("no bad node is visited")
def no_bad_node(state: Walker) -> bool:
    return state.node not in state.graph.bad


@step_invariant("no bad step is taken")
def no_bad_step(before: Walker, after: Walker) -> bool:
    return (before.node, after.node) not in before.graph.bad_steps


@witness("a good node is visited")
def good_node(state: Walker) -> bool:
    return state.node in state.graph.good


@step_witness("a good step is taken")
def good_step(before: Walker, after: Walker) -> bool:
    return (before.node, after.node) in before.graph.good_steps


def walk_spec(graph: Graph, *properties: Property, check_deadlock: bool = False) -> Spec[Walker]:
    """A walk on a graph, with one instance of one action for each label; without edges, for one that no edge has."""
    labels = sorted({label for _, label, _ in graph.edges}) or ["none"]
    return Spec(
        name="walk",
        initial_states=lambda _: [Walker(node, graph) for node in graph.starts],
        actions=[action("by {label}", label=labels)(walk)],
        properties=properties,
        check_deadlock=check_deadlock,
    )


def walks(
    words: str,
    *properties: Property,
    starts: str = "a",
    bad: str = "",
    bad_steps: str = "",
    good: str = "",
    good_steps: str = "",
    check_deadlock: bool = False,
) -> Spec[Walker]:
    """A walk on a graph in words. Nodes are letters (``bad="bd"``), steps are words (``bad_steps="ab bd"``)."""
    graph = Graph(
        edges=edges(words),
        starts=tuple(starts),
        bad=frozenset(bad),
        bad_steps=frozenset((word[0], word[1]) for word in bad_steps.split()),
        good=frozenset(good),
        good_steps=frozenset((word[0], word[1]) for word in good_steps.split()),
    )
    return walk_spec(graph, *properties, check_deadlock=check_deadlock)


def path(trace: Trace[Walker]) -> str:
    """The nodes along a walk: ``"abc"``."""
    return "".join(state.node for state in trace.states)


def route(trace: Trace[Walker]) -> str:
    """The labels along a walk: ``"xy"``."""
    return "".join(instance.values[0] for instance in trace.instances)


# Counters that go up, side by side.


@attrs.frozen
class CountersBounds:
    """The size of the grid."""

    counters: int = bound(2, "counters", at_least=1, at_most=9)
    limit: int = bound(2, "the value at which a counter stops", at_least=0, at_most=99)
    ceiling: int = bound(9, "the largest sum that is allowed", at_least=0)


@attrs.frozen
class Counter:
    """One counter."""

    value: int = 0


@attrs.frozen
class Counters:
    """All of them."""

    counters: tuple[Counter, ...] = component(each="counter")
    bounds: CountersBounds = constant()

    @property
    def total(self) -> int:
        """The sum of the values."""
        return sum(counter.value for counter in self.counters)


@action("counter {index} goes up", index=lambda bounds: range(bounds.counters))
def increment(state: Counters, index: int) -> Iterator[Counters]:
    counter = state.counters[index]
    if counter.value < state.bounds.limit:
        risen = Counter(counter.value + 1)
        yield attrs.evolve(state, counters=(*state.counters[:index], risen, *state.counters[index + 1 :]))


@invariant("the sum of the counters is not above the ceiling", source="a test")
def below_ceiling(state: Counters) -> Iterator[str]:
    if state.total > state.bounds.ceiling:
        yield f"the sum is {state.total}, the ceiling {state.bounds.ceiling}"


@witness("every counter is at its limit")
def all_at_limit(state: Counters) -> bool:
    return all(counter.value == state.bounds.limit for counter in state.counters)


def counters_at_zero(bounds: CountersBounds) -> list[Counters]:
    """All counters at zero."""
    return [Counters((Counter(),) * bounds.counters, bounds)]


def counters(*properties: Property, check_deadlock: bool = False, **changes: int) -> Spec[Counters]:
    """A grid of (limit + 1) ** counters states."""
    return Spec(
        name="tests/counters",
        initial_states=counters_at_zero,
        actions=[increment],
        properties=properties,
        bounds=CountersBounds(**changes),
        check_deadlock=check_deadlock,
    )


def values(state: Counters) -> tuple[int, ...]:
    """The counters' values."""
    return tuple(counter.value for counter in state.counters)


# A clock with three hours.


@attrs.frozen
class Clock:
    """The hour, 0 to 2."""

    hour: int = 0


@action("an hour passes")
def tick(state: Clock) -> Iterator[Clock]:
    yield Clock((state.hour + 1) % 3)


@action("nothing happens")
def stutter(state: Clock) -> Iterator[Clock]:
    yield state


@action("the alarm rings")
def ring(state: Clock) -> Iterator[Clock]:
    if state.hour == 7:
        yield state


@step_invariant("the hour never goes back")
def forward(before: Clock, after: Clock) -> bool:
    return before.hour <= after.hour


def midnight(_: Any) -> list[Clock]:
    """The clock at 0."""
    return [Clock()]


def clock(*actions: Any, properties: Sequence[Property] = ()) -> Spec[Clock]:
    """A clock that does these things."""
    return Spec(name="clock", initial_states=midnight, actions=actions, properties=properties)
