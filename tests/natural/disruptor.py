"""The LMAX disruptor: a ring buffer with several producers and consumers.

Source: github.com/tlaplus/Examples, specifications/Disruptor/Disruptor_MPMC.tla and RingBuffer.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, constant, invariant, put


@frozen
class Bounds:
    writers: int = bound(2, "writers", at_least=1, at_most=3)
    readers: int = bound(3, "readers", at_least=1, at_most=3)
    size: int = bound(4, "slots of the buffer", at_least=1, at_most=8)
    published: int = bound(10, "the largest sequence that is claimed", at_least=1)


@frozen
class Slot:
    value: int | None = None
    readers: frozenset[int] = frozenset()
    writers: frozenset[int] = frozenset()
    published: bool = False


@frozen
class Writer:
    claimed: int = -1
    is_inside: bool = False


@frozen
class Reader:
    read: int = -1
    is_inside: bool = False
    consumed: tuple[int | None, ...] = ()


@frozen
class State:
    slots: tuple[Slot, ...] = component(each="slot")
    writers: tuple[Writer, ...] = component(each="writer")
    readers: tuple[Reader, ...] = component(each="reader")
    next: int = 0
    most: int = constant(default=10)


def writers(bounds: Bounds) -> range:
    return range(bounds.writers)


def readers(bounds: Bounds) -> range:
    return range(bounds.readers)


def is_published(state: State, sequence: int) -> bool:
    size = len(state.slots)
    return state.slots[sequence % size].published == (sequence // size % 2 == 0)


@action("writer {w} claims the next sequence", w=writers)
def begin_write(state: State, w: int) -> Iterator[State]:
    size, sequence = len(state.slots), state.next
    if not state.writers[w].is_inside and all(reader.read >= sequence - size for reader in state.readers):
        at = sequence % size
        slot = evolve(state.slots[at], writers=state.slots[at].writers | {w}, value=sequence)
        yield evolve(put(put(state, "slots", at, slot), "writers", w, Writer(sequence, True)), next=sequence + 1)


@action("writer {w} publishes", w=writers)
def end_write(state: State, w: int) -> Iterator[State]:
    own = state.writers[w]
    if own.is_inside:
        at = own.claimed % len(state.slots)
        slot = state.slots[at]
        slot = evolve(slot, writers=slot.writers - {w}, published=not slot.published)
        yield put(put(state, "slots", at, slot), "writers", w, "is_inside", False)


@action("reader {r} begins to read", r=readers)
def begin_read(state: State, r: int) -> Iterator[State]:
    own = state.readers[r]
    following = own.read + 1
    if not own.is_inside and is_published(state, following):
        at = following % len(state.slots)
        slot = state.slots[at]
        reader = evolve(own, is_inside=True, consumed=(*own.consumed, slot.value))
        yield put(put(state, "slots", at, "readers", slot.readers | {r}), "readers", r, reader)


@action("reader {r} ends its read", r=readers)
def end_read(state: State, r: int) -> Iterator[State]:
    own = state.readers[r]
    if own.is_inside:
        at = (own.read + 1) % len(state.slots)
        done = put(state, "slots", at, "readers", state.slots[at].readers - {r})
        yield put(done, "readers", r, evolve(own, read=own.read + 1, is_inside=False))


@invariant("nobody reads a slot that is written, and one writer at most is in a slot")
def no_data_races(state: State) -> bool:
    return all((not slot.readers or not slot.writers) and len(slot.writers) <= 1 for slot in state.slots)


@invariant("the types are right")
def type_ok(state: State) -> bool:
    return (
        state.next >= 0
        and all(slot.value is None or slot.value >= 0 for slot in state.slots)
        and all(writer.claimed >= -1 for writer in state.writers)
        and all(reader.read >= -1 and None not in reader.consumed for reader in state.readers)
    )


def initial_states(bounds: Bounds) -> Iterator[State]:
    yield State(
        (Slot(),) * bounds.size, (Writer(),) * bounds.writers, (Reader(),) * bounds.readers, most=bounds.published
    )


spec = Spec(
    name="disruptor",
    initial_states=initial_states,
    actions=[begin_write, end_write, begin_read, end_read],
    properties=[no_data_races, type_ok],
    bounds=Bounds(),
    within=lambda state: state.next <= state.most,
)
