"""A small spec for each word of the language. Each has a property that is violated, and one that holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import evolve, frozen

from leadline.checker import (
    Map,
    Spec,
    action,
    bound,
    bounds,
    component,
    enabled,
    invariant,
    one_of_each,
    permutations,
    product,
    put,
    step_invariant,
    subsets,
    witness,
)


@frozen
class Bounds:
    n: int = bound(3, "processes", at_least=1, at_most=4)
    t: int = bound(0, "faulty processes", at_least=0, at_most=2)

    @bounds.check("n > 3 * t or t == 0")
    def enough(self) -> bool:
        return self.n > 3 * self.t or self.t == 0


@frozen
class Counters:
    counts: tuple[int, ...] = component(each="process")
    turn: int = 0


def processes(bounds: Bounds) -> range:
    return range(bounds.n)


def all_zero(bounds: Bounds) -> list[Counters]:
    return [Counters((0,) * bounds.n)]


@action("process {process} counts", process=processes)
def count(state: Counters, process: int) -> Iterator[Counters]:
    if state.counts[process] <= process:
        yield put(state, "counts", process, state.counts[process] + 1)


@invariant("process {process} counts to one at most", process=processes)
def in_range(state: Counters, process: int) -> bool:
    return state.counts[process] <= 1


@step_invariant("process {process} does not pass {least}", process=processes, least=(1, 3))
def steady(before: Counters, after: Counters, process: int, least: int) -> bool:
    return not before.counts[process] == least < after.counts[process]


@witness("process {process} counts to {number}", process=processes, number=(1, 2))
def counted(state: Counters, process: int, number: int) -> bool:
    return state.counts[process] == number


PARAMETERS: Spec[Any] = Spec(
    name="parameters",
    initial_states=all_zero,
    actions=[count],
    properties=[in_range, steady, counted],
    bounds=Bounds(),
)


def all_done(state: Counters) -> bool:
    return state.counts[0] == 1 and state.turn == 0


@action("process {process} takes its turn", process=range(3))
def take_turn(state: Counters, process: int) -> Iterator[Counters]:
    if state.counts[process] == process == state.turn:
        yield evolve(put(state, "counts", process, process + 1), turn=(process + 1) % 2)


@action()
def skip(state: Counters) -> Iterator[Counters]:
    if state.turn == 1 and state.counts[0] == 1:
        yield evolve(state, turn=0)


@action()
def leave(state: Counters) -> Iterator[Counters]:
    if state.turn == 0 == state.counts[0]:
        yield evolve(state, turn=2)


FINAL: Spec[Any] = Spec(
    name="final",
    initial_states=lambda _: [Counters((0, 0, 0))],
    actions=[take_turn, skip, leave],
    final=all_done,
)


@invariant("a process can count as long as some count is below three")
def can_count(state: Counters) -> bool:
    return any(enabled(count, process=process)(state) for process in range(3)) == (min(state.counts) < 3)


@invariant("process 2 is done only if it has counted", premise=enabled(count, process=2))
def not_done(state: Counters) -> bool:
    return state.counts[2] < 3


ENABLED: Spec[Any] = Spec(
    name="enabled",
    initial_states=all_zero,
    actions=[count],
    properties=[can_count, not_done],
    bounds=Bounds(),
)


@invariant("all have not counted")
def some_wait(state: Counters) -> bool:
    return 0 in state.counts


@invariant("there are enough")
def are_enough(state: Counters) -> bool:
    return len(state.counts) >= 1


CHECK: Spec[Any] = Spec(
    name="check",
    initial_states=all_zero,
    actions=[count],
    properties=[some_wait, are_enough],
    bounds=Bounds(n=4, t=1),
)


@frozen
class Vote:
    by: int
    value: int


@frozen
class Box:
    votes: Map[int, Vote] = Map()
    sent: frozenset[Vote] = frozenset()
    order: tuple[int, ...] = (0, 1, 2)
    quorum: frozenset[int] = frozenset()


@action("process {process} votes for {value}", process=range(3), value=range(2))
def vote(state: Box, process: int, value: int) -> Iterator[Box]:
    if process not in state.votes and len(state.sent) < 2:
        yield put(state, "votes", process, Vote(process, value))


@action("process {process} changes its vote", process=range(3))
def change(state: Box, process: int) -> Iterator[Box]:
    held = state.votes.get(process)
    if held is not None and held.value == 0:
        yield put(state, "votes", process, "value", 1)


@action("process {process} takes its vote back", process=range(3))
def take_back(state: Box, process: int) -> Iterator[Box]:
    if process in state.votes and state.votes[process].value == 1:
        yield evolve(state, votes=state.votes.remove(process))


@invariant("not all vote for 1")
def no_majority(state: Box) -> bool:
    return sum(held.value for held in state.votes.values()) < 3


@invariant("each holds its own vote", process=range(3))
def own_vote(state: Box, process: int) -> bool:
    return process not in state.votes or state.votes[process].by == process


MAPS: Spec[Any] = Spec(
    name="maps",
    initial_states=lambda _: [Box()],
    actions=[vote, change, take_back],
    properties=[no_majority, own_vote],
)


@action("process {process} sends {value}", process=range(3), value=range(2))
def send(state: Box, process: int, value: int) -> Iterator[Box]:
    if all(each.by != process for each in state.sent):
        yield evolve(state, sent=state.sent | {Vote(process, value)})


@action("{message} is lost", message=range(2))
def lose(state: Box, message: int) -> Iterator[Box]:
    for each in sorted(state.sent, key=lambda each: each.by):
        if each.value == message:
            yield evolve(state, sent=state.sent - {each})
            return


@invariant("fewer than three ones are sent")
def few_ones(state: Box) -> bool:
    return sum(each.value for each in state.sent) < 3


@invariant("at most three are sent")
def few(state: Box) -> bool:
    return len(state.sent) <= 3


SETS_OF_PARTS: Spec[Any] = Spec(
    name="sets-of-parts", initial_states=lambda _: [Box()], actions=[send, lose], properties=[few_ones, few]
)


def in_flight(state: Box) -> frozenset[Vote]:
    return state.sent


@action("{message} arrives", message=in_flight)
def arrive(state: Box, message: Vote) -> Iterator[Box]:
    if message.by not in state.votes:
        yield evolve(state, sent=state.sent - {message}, votes=state.votes.put(message.by, message))


@invariant("fewer than two ones arrive")
def few_arrive(state: Box) -> bool:
    return sum(held.value for held in state.votes.values()) < 2


DRAWN: Spec[Any] = Spec(
    name="drawn", initial_states=lambda _: [Box()], actions=[send, arrive], properties=[few_arrive, own_vote]
)


@action("{quorum} meets", quorum=subsets(range(3), at_least=2))
def meet(state: Box, quorum: frozenset[int]) -> Iterator[Box]:
    if quorum != state.quorum:
        yield evolve(state, quorum=quorum)


@action("the order becomes {order}", order=permutations(range(3)))
def arrange(state: Box, order: tuple[int, ...]) -> Iterator[Box]:
    if order[0] in state.quorum:
        yield evolve(state, order=order)


@action("two vote for {values}", values=one_of_each([(0, 1)] * 2))
def vote_both(state: Box, values: tuple[int, ...]) -> Iterator[Box]:
    if state.order == (2, 1, 0):
        yield evolve(state, votes=Map({at: Vote(at, value) for at, value in enumerate(values)}))


@invariant("two do not vote for 1 without all")
def both_need_all(state: Box) -> bool:
    return len(state.quorum) == 3 or Vote(1, 1) not in state.votes.values()


@invariant("the order has three")
def order_of_three(state: Box) -> bool:
    return len(state.order) == 3


CHOICES: Spec[Any] = Spec(
    name="choices",
    initial_states=lambda _: [Box()],
    actions=[meet, arrange, vote_both],
    properties=[both_need_all, order_of_three],
)


def starts(bounds: Bounds) -> tuple[tuple[int, ...], ...]:
    return one_of_each([range(2)] * bounds.n)


@invariant("the counts differ")
def differ(state: Counters) -> bool:
    return state.turn != 1 or state.counts != (1, 1, 3)


PRODUCT: Spec[Any] = Spec(
    name="product",
    initial_states=product(Counters, counts=starts, turn=(0, 1)),
    actions=[count],
    properties=[differ, are_enough],
    bounds=Bounds(),
)


def generated(bounds: Bounds) -> Iterator[Counters]:
    for turn in (0, 1, 0, 1):
        for counts in starts(bounds):
            yield Counters(counts, turn)


GENERATOR: Spec[Any] = Spec(
    name="generator", initial_states=generated, actions=[count], properties=[differ, are_enough], bounds=Bounds()
)


def as_set(bounds: Bounds) -> set[Counters]:
    return set(generated(bounds))


SET: Spec[Any] = Spec(
    name="set", initial_states=as_set, actions=[count], properties=[differ, are_enough], bounds=Bounds()
)

STEADY = {"steady(process=1, least=1)": 3, "steady(process=2, least=1)": 3}

WORDS: dict[str, tuple[Spec[Any], int, dict[str, int]]] = {
    spec.name: (spec, distinct, violated)
    for spec, distinct, violated in (
        (
            PARAMETERS,
            24,
            {"in_range(process=1)": 3, "in_range(process=2)": 3} | STEADY | {"counted(process=0, number=2)": 0},
        ),
        (FINAL, 4, {"deadlock": 2}),
        (ENABLED, 24, {"can_count": 7, "not_done": 4}),
        (CHECK, 120, {"some_wait": 5}),
        (MAPS, 27, {"no_majority": 4}),
        (SETS_OF_PARTS, 27, {"few_ones": 4}),
        (DRAWN, 729, {"few_arrive": 5}),
        (CHOICES, 121, {"both_need_all": 4}),
        (PRODUCT, 48, {"differ": 3}),
        (GENERATOR, 48, {"differ": 3}),
        (SET, 48, {"differ": 3}),
    )
}
"""For each word: the spec, its number of distinct states, and the length of a shortest trace to each violation, or 0
for a witness that is never shown. All are counted by hand.
"""
