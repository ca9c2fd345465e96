"""Random properties of random protocols: what a search finds of them when it divides them, without any net.

A spec has a few processes, counters and messages, random initial states and random actions, and `PROPERTIES` random
properties each: conjunctions, nested quantifiers, loops that end early, counts, and code that must not be divided.
"""

from __future__ import annotations

import itertools
import linecache
import random
from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve, frozen

from leadline.checker import Bag, Map, Spec, action, component, invariant, step_invariant, witness

PROPERTIES = 30
"""Properties of a spec."""

INITIALS = 4
"""Initial states of a spec."""


@frozen
class Process:
    at: int = 0
    vote: int | None = None
    log: tuple[int, ...] = ()

    @property
    def is_idle(self) -> bool:
        return self.at == 0

    def voted_for(self, other: int) -> bool:
        return self.vote is not None and self.vote == other


@frozen
class State:
    procs: tuple[Process, ...] = component(each="process")
    counters: tuple[int, ...] = component(each="counter")
    leader: int | None = None
    msgs: frozenset[int] = frozenset()
    bag: Bag[int] = Bag()
    table: Map[int, int] = Map()

    def voters(self) -> Any:
        return (process for process in self.procs if process.vote is not None)


def helper(process: Process, limit: int = 1) -> bool:
    return process.at <= limit or process.is_idle


def all_idle(procs: Sequence[Process]) -> bool:
    return all(process.is_idle for process in procs)


def reaches(state: State, place: int, steps: int) -> bool:
    if steps == 0:
        return state.procs[place].at == 2
    return all(reaches(state, (place + step) % len(state.procs), steps - 1) for step in (0, 1))


SHARED: list[int] = []
CALLS = {"count": 0}


def remembers(number: int, first: bool) -> bool:
    """Whether a number is new since the first call: a function that is pure only within its caller."""
    if first:
        SHARED.clear()
    SHARED.append(number)
    return SHARED.count(number) < 2


def adds_up(number: int, sums: list[int] = []) -> bool:  # noqa: B006
    """Compare a number with the last one; its callers clear the list."""
    sums.append(number)
    return len(sums) < 2 or sums[-2] <= number


class Holder:
    last = -1


def names() -> dict[str, Any]:
    return {
        "Process": Process, "State": State, "helper": helper, "all_idle": all_idle, "reaches": reaches,
        "combinations": itertools.combinations, "itertools": itertools, "remembers": remembers, "SHARED": SHARED,
        "CALLS": CALLS, "Holder": Holder, "adds_up": adds_up, "invariant": invariant, "witness": witness,
        "step_invariant": step_invariant, "evolve": evolve, "__name__": "random_properties",
    }  # fmt: skip


class Text:
    """Writes a random property.

    Parameters:
        chance: the random numbers.
        states: the names of the parameters.
    """

    def __init__(self, chance: random.Random, states: Sequence[str]) -> None:
        self.chance, self.states = chance, list(states)
        self.numbers: list[str] = []
        self.processes: list[str] = []
        self.made = 0

    def new(self) -> str:
        self.made += 1
        if self.made > 3 and self.chance.random() < 0.25:  # names that are used twice
            return f"v{self.chance.randrange(1, self.made)}"
        return f"v{self.made}"

    def state(self) -> str:
        return self.chance.choice(self.states)

    def process(self) -> str:
        if self.processes and self.chance.random() < 0.85:
            return self.chance.choice(self.processes)
        return f"{self.state()}.procs[{self.chance.randrange(3)}]"

    def number(self) -> str:
        if self.numbers and self.chance.random() < 0.5:
            return self.chance.choice(self.numbers)
        make: Callable[[], str] = self.chance.choice([
            lambda: str(self.chance.randrange(4)),
            lambda: f"{self.process()}.at",
            lambda: f"{self.state()}.counters[{self.chance.randrange(3)}]",
            lambda: f"len({self.process()}.log)",
            lambda: f"abs({self.process()}.at - {self.process()}.at)",
            lambda: f"({self.process()}.vote or 0)",
            lambda: f"len({self.state()}.msgs)",
            lambda: f"{self.state()}.bag[{self.chance.randrange(3)}]",
            lambda: f"{self.state()}.table.get({self.chance.randrange(3)}, 0)",
            lambda: f"len({self.state()}.table)",
        ])  # fmt: skip
        return make()

    def comparison(self) -> str:
        return f"{self.number()} {self.chance.choice(('<=', '<', '==', '!=', '>='))} {self.number()}"

    def atom(self) -> str:
        process, number, state = self.process(), self.number(), self.state()
        make: Callable[[], str] = self.chance.choice([
            self.comparison, self.comparison, self.comparison,
            lambda: f"0 <= {number} < {self.number()} + 2",
            lambda: f"{process}.vote is None",
            lambda: f"({process}.vote is not None and {process}.vote >= {number})",
            lambda: f"({number} == 0 or 6 // {number} > 1)" if " " not in number else self.comparison(),
            lambda: f"({state}.leader is None or {state}.procs[{state}.leader].at < 2)",
            lambda: f"{number} in {state}.msgs",
            lambda: f"{number} in {state}.bag",
            lambda: f"{number} not in {state}.table",
            lambda: f"{state}.bag.total() < 3",
            lambda: f"(1 not in {state}.table or {state}.table[1] <= {number})",
            lambda: f"{state}.table.put(1, 2) != {self.state()}.table",
            lambda: f"{process}.is_idle",
            lambda: f"{process}.voted_for({number})",
            lambda: f"helper({process}, {number})",
            lambda: f"all_idle({state}.procs)",
            lambda: f"reaches({state}, {self.chance.randrange(3)}, 2)",
            lambda: f"isinstance({process}, Process)",
            lambda: f"(lambda v: v.at < 2)({process})",
            lambda: f"bool({process}.log)",
            lambda: f"{process} == {self.process()}",
        ])  # fmt: skip
        return make()

    def clause(self, depth: int) -> str:
        """A ``for`` clause, whose variables are then known."""
        state, name, other = self.state(), self.new(), self.new()
        while other == name:
            other = f"v{self.chance.randrange(100, 200)}"
        one: tuple[list[str], list[str]] = ([name], [])
        pair: tuple[list[str], list[str]] = ([name, other], [])
        target, iterable, (procs, numbers) = self.chance.choice([
            (name, f"{state}.procs", one), (name, f"{state}.procs", one), (name, f"{state}.procs[1:]", one),
            (name, f"reversed({state}.procs)", one), (name, f"[{state}.procs[0], {state}.procs[2]]", one),
            (name, f"({state}.procs[1], {state}.procs[2])", one), (name, f"{state}.voters()", one),
            (f"{other}, {name}", f"enumerate({state}.procs)", ([name], [other])),
            (f"{other}, {name}", f"enumerate({state}.counters, 1)", ([], [name, other])),
            (f"{name}, {other}", f"zip({state}.procs, {state}.procs[1:])", pair),
            (f"{name}, {other}", f"zip({state}.procs, {state}.counters)", ([name], [other])),
            (f"{name}, {other}", f"combinations({state}.procs, 2)", pair),
            (f"{name}, {other}", f"itertools.permutations({state}.counters, 2)", ([], [name, other])),
            (f"{name}, {other}", f"itertools.product({state}.procs, range(2))", ([name], [other])),
            (f"({name}, {other})", f"itertools.pairwise({state}.procs)", pair),
            (name, f"range(len({state}.procs))", ([], [name])), (name, "range(3)", ([], [name])),
            (name, f"{state}.counters", ([], [name])), (name, f"{state}.msgs", ([], [name])),
            (name, f"sorted({state}.msgs)", ([], [name])), (name, f"{self.process()}.log", ([], [name])),
            (name, f"(v.at for v in {state}.procs)", ([], [name])), (name, "(0, 1, 2)", ([], [name])),
            (name, f"{state}.table", ([], [name])), (name, f"sorted({state}.table.values())", ([], [name])),
            (f"{name}, {other}", f"{state}.table.items()", ([], [name, other])),
            (name, f"{state}.bag", ([], [name])),
            (f"{name}, {other}", f"sorted({state}.bag.items())", ([], [name, other])),
        ])  # fmt: skip
        self.processes += procs
        self.numbers += numbers
        return f"for {target} in {iterable}"

    def inside(self, depth: int, write: Callable[[], str]) -> str:
        """Text in a scope: what it binds is not known after it."""
        known = list(self.numbers), list(self.processes)
        found = write()
        self.numbers, self.processes = known
        return found

    def comprehension(self, depth: int, element: Callable[[], str]) -> str:
        def write() -> str:
            clauses = [self.clause(depth)]
            if self.chance.random() < 0.35:
                clauses.append(f"if {self.boolean(depth - 1)}")
            if self.chance.random() < 0.25:
                clauses.append(self.clause(depth))
                if self.chance.random() < 0.3:
                    clauses.append(f"if {self.boolean(depth - 1)}")
            return f"{element()} {' '.join(clauses)}"

        return self.inside(depth, write)

    def boolean(self, depth: int) -> str:
        if depth <= 0 or self.chance.random() < 0.15:
            return self.atom()
        counted: Callable[[], str] = lambda: self.comprehension(depth, self.number)  # noqa: E731
        quantified: Callable[[], str] = lambda: self.comprehension(depth, lambda: self.boolean(depth - 1))  # noqa: E731
        make: Callable[[], str] = self.chance.choice([
            lambda: f"not {self.boolean(depth - 1)}" if self.chance.random() < 0.5 else f"not any({quantified()})",
            lambda: f"({self.boolean(depth - 1)} and {self.boolean(depth - 1)})",
            lambda: f"({self.boolean(depth - 1)} and {self.boolean(depth - 1)} and {self.boolean(depth - 1)})",
            lambda: f"({self.boolean(depth - 1)} or {self.boolean(depth - 1)})",
            lambda: f"({self.boolean(depth - 1)} if {self.boolean(depth - 1)} else {self.boolean(depth - 1)})",
            lambda: f"all({quantified()})", lambda: f"all({quantified()})", lambda: f"any({quantified()})",
            lambda: f"all([{quantified()}])", lambda: f"any({{{quantified()}}})",
            lambda: f"sum({quantified()}) {self.chance.choice(('<=', '!=', '<'))} {self.chance.randrange(5)}",
            lambda: f"sum({self.comprehension(depth, self.number)}) % 5 != {self.chance.randrange(5)}",
            lambda: f"len([{counted()}]) - 1 < sum([{counted()}])",
            lambda: f"max(({self.comprehension(depth, self.number)}), default=0) < 3",
            lambda: f"len({{{self.comprehension(depth, self.number)}}}) <= 2",
            lambda: f"bool({self.boolean(depth - 1)})",
            lambda: f"((w := {self.number()}) < 3 and all(w <= {self.comprehension(depth, self.number)}))",
            lambda: self.atom(),
        ])  # fmt: skip
        return make()

    def block(self, depth: int, in_loop: bool, verdict: Callable[[bool], str]) -> list[str]:
        lines: list[str] = []
        for _ in range(self.chance.choice((1, 1, 2, 3))):
            lines += self.statement(depth, in_loop, verdict)
        return lines

    def statement(self, depth: int, in_loop: bool, verdict: Callable[[bool], str]) -> list[str]:
        indented: Callable[[list[str]], list[str]] = lambda lines: [f"    {line}" for line in lines]  # noqa: E731
        kind = self.chance.choice(
            ("if", "if", "for", "for", "for", "assign", "count", "leave", "return")
            if depth
            else ("if", "assign", "count", "leave")
        )
        match kind:
            case "if":
                lines = [f"if {self.boolean(1)}:"]
                lines += indented(
                    self.block(depth - 1, in_loop, verdict) if depth > 1 else [self.leave(in_loop, verdict)]
                )
                if self.chance.random() < 0.3:
                    lines += [f"elif {self.boolean(1)}:", *indented([self.leave(in_loop, verdict)])]
                if self.chance.random() < 0.3:
                    lines += ["else:", *indented([self.leave(in_loop, verdict)])]
                return lines
            case "for":
                known = list(self.numbers), list(self.processes)
                lines = [f"{self.clause(depth)}:", *indented(self.block(depth - 1, True, verdict))]
                if self.chance.random() < 0.7:
                    self.numbers, self.processes = known  # otherwise, the loop variable is read after the loop
                if self.chance.random() < 0.3:
                    lines += ["else:", *indented(self.block(0, in_loop, verdict))]
                return lines
            case "assign":
                name = self.new()
                value = self.chance.choice((self.number(), self.number(), f"sum({self.comprehension(1, self.number)})"))
                self.numbers.append(name)
                return [f"{name} = {value}"]
            case "count" if self.numbers:
                name = self.chance.choice(self.numbers)
                return [f"{name} += {self.number()}"] if name.isidentifier() else ["pass"]
            case "return" if self.chance.random() < 0.3:
                return [verdict(self.chance.random() < 0.5)]
        return [f"if {self.boolean(1)}:", f"    {self.leave(in_loop, verdict)}"]

    def leave(self, in_loop: bool, verdict: Callable[[bool], str]) -> str:
        ways = [verdict(False), verdict(False), verdict(True)] + (["continue", "break"] if in_loop else [])
        return self.chance.choice(ways)

    def odd(self) -> list[str]:
        """A body that must not be divided, or only in part."""
        state = self.state()
        return self.chance.choice([
            [f"return all(remembers(p.at, i == 0) for i, p in enumerate({state}.procs))"],
            ["seen = set()", f"for p in {state}.procs:", "    if p.at in seen:", "        return False",
             "    seen.add(p.at)", "return True"],
            [f"each = iter({state}.procs)", f"return all(next(each).at == p.at for p in {state}.procs)"],
            ["last = [0]", f"return all(last[0] <= p.at and not last.__setitem__(0, p.at) for p in {state}.procs)"],
            ["def later(n):", "    nonlocal low", "    low = max(low, n)", "    return low < 4", "low = 0",
             f"return all(later(low + c) for c in {state}.counters)"],
            ["Holder.last = -1", f"for p in {state}.procs:", "    if p.at < Holder.last:", "        return False",
             "    Holder.last = p.at", "return True"],
            ["CALLS['count'] = 0", f"for c in {state}.counters:", "    CALLS['count'] += c",
             "    if CALLS['count'] > 3:", "        return False", "return True"],
            [f"return (low := {state}.counters[0]) < 3 and all(low <= c + 1 for c in {state}.counters)"],
            ["adds_up.__defaults__[0].clear()", f"return all(adds_up(c) for c in {state}.counters)"],
            ["try:", f"    return all(2 // c for c in {state}.counters)",
             "except ZeroDivisionError:", "    return True"],
            ["i = 0", f"while i < len({state}.procs):", f"    if {state}.procs[i].at > 1:", "        return False",
             "    i += 1", "return True"],
            [f"match {state}.procs:", "    case (Process(at=0), *rest):", "        return all(p.at < 2 for p in rest)",
             "return True"],
            [f"checks = [lambda p=p: p.at < 2 for p in {state}.procs]", "return all(check() for check in checks)"],
            [f"by_at = {{p.at: p for p in {state}.procs}}", "return all(at < 2 for at in by_at)"],
            [f"some = (p for p in {state}.procs if p.at)", "first = all(p.at < 2 for p in some)",
             "return first or not any(p.at for p in some)"],
            [f"for p in {state}.procs:", "    for q in p.log:", "        if q > 1:", "            break", "    else:",
             "        continue", "    return False", "return True"],
            [f"return all(p.at < 2 for p in {state}.procs) and all(p.at < 9 for p in {state}.procs if p.vote)"],
            [f"p = {state}.procs[0]", f"ok = all(p.at < 2 for p in {state}.procs)", "return ok or p.at == 0"],
            [f"first, *rest = {state}.procs", "return all(first.at <= p.at for p in rest)"],
            [f"a, b = {state}.procs[0], {state}.procs[1]", "a, b = b, a", "return a.at <= b.at or b.vote is None"],
            [f"n = {state}.counters[0]", f"n = sum(n + c for c in {state}.counters)", "return n < 9"],
            ["all = any", f"return all(p.at < 2 for p in {state}.procs)"],
            [f"return {state}.leader is None or (lambda l: l.at < 2 and not l.vote)({state}.procs[{state}.leader])"],
            [f"p = evolve({state}.procs[0], at=2)", f"return all(p.at >= q.at for q in {state}.procs) and p.at > 1"],
            [f"for p in {state}.procs:", "    pass", "return p.at < 2"],
            [f"table = {state}.table.put(2, 1)", f"return all(p.at in table for p in {state}.procs)"],
            [f"table, bag = {state}.table, {state}.bag.add(1)", f"for p in {state}.procs:",
             "    if p.at in table and bag[p.at] > 1:", "        return False", "return len(bag) < 3"],
            [f"{state}.table._items.setdefault(9, []).clear()", f"seen = {state}.table._items[9]",
             f"ok = all(p.at not in seen and not seen.append(p.at) for p in {state}.procs)",
             f"del {state}.table._items[9]", "return ok"],
            [f"for i, p in enumerate({state}.procs):", "    i = p.at", "    if i > 1:", "        break",
             "return i < 2"],
        ])  # fmt: skip

    def body(self) -> list[str]:
        if self.chance.random() < 0.2:
            return self.odd()
        if self.chance.random() < 0.5:
            return [f"return bool({self.boolean(3)})" if self.chance.random() < 0.3 else f"return {self.boolean(3)}"]
        if self.chance.random() < 0.25:
            verdict: Callable[[bool], str] = lambda value: (  # noqa: E731
                "return" if value else f"yield f'{{{self.number()}}} is wrong'"
            )
            lines = self.block(2, False, verdict)
            if not any("yield" in line for line in lines):
                lines.append(verdict(False))
            return lines
        lines = self.block(2, False, lambda value: f"return {value if self.chance.random() < 0.8 else self.boolean(1)}")
        return [*lines, f"return {self.boolean(1)}"]


def source(seed: int, *, properties: int = PROPERTIES) -> str:
    """The text of the random properties of a seed, which all compile."""
    chance, parts, made = random.Random(seed), list[str](), 0
    while made < properties:
        kind = chance.choice(("invariant", "invariant", "invariant", "witness", "step_invariant"))
        states = ["before", "s"] if kind == "step_invariant" else ["s"]
        lines = [f"@{kind}('p{made}')", f"def p{made}({', '.join(states)}):"]
        lines += [f"    {line}" for line in Text(chance, states).body()]
        if kind == "witness" and any("yield" in line for line in lines):
            continue  # the door refuses it
        try:
            compile("\n".join(lines), "<property>", "exec", dont_inherit=True)
        except SyntaxError:
            continue  # an assignment expression where none may be
        parts += [*lines, ""]
        made += 1
    return "\n".join(parts)


def spec_of(text: str, seed: int, *, without: frozenset[str] = frozenset()) -> Spec[State]:
    """The spec with the properties of a text, and the random protocol of a seed.

    Parameters:
        text: the text.
        seed: the seed of the protocol.
        without: the names of properties that are left out.
    """
    chance, file = random.Random(seed), f"<properties {seed}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    made = names()
    exec(compile(text, file, "exec", dont_inherit=True), made)
    found = [value for key, value in made.items() if key.startswith("p") and key[1:].isdigit()]
    initials = [_state(chance) for _ in range(INITIALS)]
    guard, step, other = (chance.randrange(3) for _ in range(3))

    @action(i=range(3))
    def move(s: State, i: int) -> Any:
        if s.procs[i].at != guard:
            process = evolve(s.procs[i], at=(s.procs[i].at + step) % 3)
            yield evolve(s, procs=(*s.procs[:i], process, *s.procs[i + 1 :]))

    @action(i=range(3))
    def vote(s: State, i: int) -> Any:
        if s.procs[i].vote is None and s.counters[i] >= other:
            process = evolve(s.procs[i], vote=s.leader, log=(*s.procs[i].log, i)[:2])
            yield evolve(s, procs=(*s.procs[:i], process, *s.procs[i + 1 :]))

    @action(i=range(3))
    def count(s: State, i: int) -> Any:
        if i in s.msgs:
            yield evolve(s, counters=(*s.counters[:i], (s.counters[i] + 1) % 4, *s.counters[i + 1 :]))

    @action()
    def lead(s: State) -> Any:
        yield evolve(s, leader=None if s.leader == guard else guard, msgs=s.msgs ^ {step})

    @action(i=range(3))
    def note(s: State, i: int) -> Any:
        if i in s.table:
            yield evolve(s, table=s.table.remove(i), bag=s.bag.add(i) if s.bag.total() < 2 else Bag([guard]))
        elif s.procs[i].at == step:
            yield evolve(s, table=s.table.put(i, s.counters[i] % 3))

    return Spec(
        name=f"random properties {seed}",
        initial_states=lambda _: initials,
        actions=[move, vote, count, lead, note],
        properties=[item for item in found if item.name not in without],
    )


def _state(chance: random.Random) -> State:
    def process() -> Process:
        log = tuple(chance.randrange(3) for _ in range(chance.choice((0, 1, 2))))
        return Process(chance.randrange(3), chance.choice((None, 0, 1, 2)), log)

    return State(
        procs=tuple(process() for _ in range(3)),
        counters=tuple(chance.randrange(4) for _ in range(3)),
        leader=chance.choice((None, 0, 1, 2)),
        msgs=frozenset(chance.sample(range(4), chance.randrange(4))),
        bag=Bag(chance.choices(range(3), k=chance.randrange(3))),
        table=Map({key: chance.randrange(3) for key in chance.sample(range(3), chance.randrange(3))}),
    )
