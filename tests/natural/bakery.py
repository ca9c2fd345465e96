"""Lamport's bakery algorithm with numbers that are read while they change. Every state that satisfies the inductive
invariant is an initial state.

Source: github.com/tlaplus/Examples, specifications/Bakery-Boulangerie/Bakery.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, invariant, one_of_each, put, subsets


@frozen
class Bounds:
    processes: int = bound(2, "processes", at_least=2, at_most=3)
    most: int = bound(2, "the largest number that is drawn", at_least=1, at_most=4)


@frozen
class Process:
    num: int = 0
    flag: bool = False
    unchecked: frozenset[int] = frozenset()
    max: int = 0
    nxt: int = 0
    pc: str = "ncs"


@frozen
class State:
    procs: tuple[Process, ...] = component(each="process")


WORDS = ("ncs", "e1", "e2", "e3", "e4", "w1", "w2", "cs", "exit")


def processes(bounds: Bounds) -> range:
    return range(bounds.processes)


def most(bounds: Bounds) -> list[int]:
    return [bounds.most]


def goes(state: State, at: int, process: Process, pc: str) -> State:
    return put(state, "procs", at, evolve(process, pc=pc))


@action("process {p} leaves the noncritical section", p=processes)
def ncs(state: State, p: int) -> Iterator[State]:
    if state.procs[p].pc == "ncs":
        yield goes(state, p, state.procs[p], "e1")


@action("process {p} sets its flag", p=processes)
def e1(state: State, p: int) -> Iterator[State]:
    own = state.procs[p]
    if own.pc == "e1":
        others = frozenset(range(len(state.procs))) - {p}
        yield goes(state, p, evolve(own, flag=not own.flag), "e1")
        yield goes(state, p, evolve(own, flag=True, unchecked=others, max=0), "e2")


@action("process {p} reads the numbers", p=processes)
def e2(state: State, p: int) -> Iterator[State]:
    own = state.procs[p]
    if own.pc == "e2" and not own.unchecked:
        yield goes(state, p, own, "e3")
    elif own.pc == "e2":
        for other in own.unchecked:
            read = max(own.max, state.procs[other].num)
            yield goes(state, p, evolve(own, unchecked=own.unchecked - {other}, max=read), "e2")


@action("process {p} writes its number", p=processes, most=most)
def e3(state: State, p: int, most: int) -> Iterator[State]:
    own = state.procs[p]
    if own.pc == "e3":
        for number in range(most + 1):
            yield goes(state, p, evolve(own, num=number), "e3")
        for number in range(own.max + 1, most + 1):
            yield goes(state, p, evolve(own, num=number), "e4")


@action("process {p} clears its flag", p=processes)
def e4(state: State, p: int) -> Iterator[State]:
    own = state.procs[p]
    if own.pc == "e4":
        others = frozenset(range(len(state.procs))) - {p}
        yield goes(state, p, evolve(own, flag=not own.flag), "e4")
        yield goes(state, p, evolve(own, flag=False, unchecked=others), "w1")


@action("process {p} looks at another flag", p=processes)
def w1(state: State, p: int) -> Iterator[State]:
    own = state.procs[p]
    if own.pc == "w1" and not own.unchecked:
        yield goes(state, p, own, "cs")
    elif own.pc == "w1":
        for other in own.unchecked:
            if not state.procs[other].flag:
                yield goes(state, p, evolve(own, nxt=other), "w2")


@action("process {p} waits for a smaller number", p=processes)
def w2(state: State, p: int) -> Iterator[State]:
    own = state.procs[p]
    if own.pc == "w2":
        other = state.procs[own.nxt].num
        if other == 0 or (own.num, p) < (other, own.nxt):
            yield goes(state, p, evolve(own, unchecked=own.unchecked - {own.nxt}), "w1")


@action("process {p} leaves the critical section", p=processes)
def cs(state: State, p: int) -> Iterator[State]:
    if state.procs[p].pc == "cs":
        yield goes(state, p, state.procs[p], "exit")


@action("process {p} resets its number", p=processes, most=most)
def exit(state: State, p: int, most: int) -> Iterator[State]:
    own = state.procs[p]
    if own.pc == "exit":
        for number in range(most + 1):
            yield goes(state, p, evolve(own, num=number), "exit")
        yield goes(state, p, evolve(own, num=0), "ncs")


def before(state: State, i: int, j: int) -> bool:
    one, other = state.procs[i], state.procs[j]
    return one.num > 0 and (
        other.pc in ("ncs", "e1", "exit")
        or (other.pc == "e2" and (i in other.unchecked or other.max >= one.num))
        or (other.pc == "e3" and other.max >= one.num)
        or (
            other.pc in ("e4", "w1", "w2")
            and (one.num, i) < (other.num, j)
            and (other.pc == "e4" or i in other.unchecked)
        )
    )


@invariant("no two processes are in the critical section")
def mutual_exclusion(state: State) -> bool:
    return sum(process.pc == "cs" for process in state.procs) <= 1


@invariant("the types are right")
def type_ok(state: State) -> bool:
    return all(
        process.num >= 0
        and process.max >= 0
        and process.pc in WORDS
        and 0 <= process.nxt < len(state.procs)
        and process.unchecked <= frozenset(range(len(state.procs)))
        for process in state.procs
    )


@invariant("the inductive invariant")
def inv(state: State) -> bool:
    for i, own in enumerate(state.procs):
        others = [j for j in range(len(state.procs)) if j != i]
        if own.pc in ("e4", "w1", "w2", "cs") and own.num == 0:
            return False
        if own.pc in ("e2", "e3") and not own.flag:
            return False
        if own.pc == "w2" and own.nxt == i:
            return False
        if own.pc in ("w1", "w2") and i in own.unchecked:
            return False
        if own.pc in ("w1", "w2") and not all(before(state, i, j) for j in others if j not in own.unchecked):
            return False
        if own.pc == "w2":
            other = state.procs[own.nxt]
            reads = other.pc == "e3" or (other.pc == "e2" and i not in other.unchecked)
            if reads and other.max < own.num:
                return False
        if own.pc == "cs" and not all(before(state, i, j) for j in others):
            return False
    return True


def initial_states(bounds: Bounds) -> Iterator[State]:
    numbers, everyone = range(bounds.most + 1), range(bounds.processes)
    fields = [numbers, (False, True), subsets(everyone), numbers, everyone, WORDS]
    each = [Process(*values) for values in one_of_each(fields)]  # type: ignore[arg-type]
    for procs in one_of_each([each] * bounds.processes):
        state = State(procs)
        if inv(state):
            yield state


spec = Spec(
    name="bakery",
    initial_states=initial_states,
    actions=[ncs, e1, e2, e3, e4, w1, w2, cs, exit],
    properties=[mutual_exclusion, type_ok, inv],
    bounds=Bounds(),
)
