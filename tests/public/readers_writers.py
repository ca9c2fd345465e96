"""Readers and writers, served in turn: Courtois, Heymans and Parnas (1971), with a queue as TLA+'s example has it."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, invariant


@frozen
class Bounds:
    actors: int = bound(2, "processes that read and write", at_least=1, at_most=4)


@frozen
class State:
    readers: frozenset[int] = frozenset()
    writers: frozenset[int] = frozenset()
    waiting: tuple[tuple[str, int], ...] = ()


def actors(bounds: Bounds) -> range:
    return range(bounds.actors)


def wishes(bounds: Bounds) -> tuple[str, ...]:
    return ("read", "write")


def initial_states(bounds: Bounds) -> list[State]:
    return [State()]


@action(actor=actors, wish=wishes)
def ask(state: State, actor: int, wish: str) -> Iterator[State]:
    if (wish, actor) not in state.waiting:
        yield evolve(state, waiting=(*state.waiting, (wish, actor)))


@action()
def begin(state: State) -> Iterator[State]:
    if not state.waiting or state.writers:
        return
    (wish, actor), *others = state.waiting
    if wish == "read":
        yield evolve(state, readers=state.readers | {actor}, waiting=tuple(others))
    elif not state.readers:
        yield evolve(state, writers=state.writers | {actor}, waiting=tuple(others))


@action(actor=actors)
def stop(state: State, actor: int) -> Iterator[State]:
    if actor in state.readers:
        yield evolve(state, readers=state.readers - {actor})
    elif actor in state.writers:
        yield evolve(state, writers=state.writers - {actor})


@invariant("nobody reads while another writes, and only one writes")
def exclusive(state: State) -> bool:
    return not (state.readers and state.writers) and len(state.writers) <= 1


spec = Spec(
    name="readers-writers",
    initial_states=initial_states,
    actions=[ask, begin, stop],
    properties=[exclusive],
    bounds=Bounds(),
)
