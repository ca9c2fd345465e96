"""Random specs with interchangeable nodes, as text, and a search of them that tries all permutations.

Every fragment treats all nodes alike, except `ODD`: with one of these, a spec is usually not symmetric.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
from attrs import evolve

from leadline.checker import Bag, Map, Spec
from tests.reference.specs import Text

HEAD = """
from collections.abc import Iterator
from typing import Annotated

from attrs import evolve, frozen

from leadline.checker import Bag, Map, Spec, action, component, identity, invariant, put, step_invariant, witness

Node = Annotated[int, identity("node")]
NODES = range({nodes})


@frozen
class Note:
    source: Node
    target: Node | None
    n: int


@frozen
class Cell:
    n: int = 0
    leader: Node | None = None
    seen: frozenset[Node] = frozenset()
    acks: Map[Node, int] = Map()
    marks: tuple[int, ...] = component(each="node", default=(0,) * {nodes})


@frozen
class State:
    clock: int = 0
    owner: Node | None = None
    notes: frozenset[Note] = frozenset()
    bag: Bag[Node] = Bag()
    order: tuple[Node, ...] = ()
    cells: tuple[Cell, ...] = component(each="node", default=(Cell(),) * {nodes})


def initial_states(_: object) -> Iterator[State]:
    yield from [{initial}]
"""

GUARDS = (
    "state.cells[a].n == {k}", "state.owner is None", "state.owner == a", "a not in state.cells[b].seen",
    "state.cells[a].leader == b", "state.cells[a].leader is None", "a != b", "Note(a, b, {k}) not in state.notes",
    "Note(b, a, {k}) in state.notes", "len(state.cells[a].seen) <= {k}", "state.cells[a].acks.get(b, 0) == {k}",
    "any(a in cell.seen for cell in state.cells)", "all(cell.leader != a for cell in state.cells)",
    "state.cells[a].marks[b] == {k}", "state.clock == {k}", "state.order[-1:] != (a,)", "state.bag[a] == {k}",
    "sum(cell.n for cell in state.cells) <= {k}", "state.cells[b].n <= state.cells[a].n", "state.order.count(a) == {k}",
    "(state.owner is None or state.cells[state.owner].n == {k})", "all(note.target != a for note in state.notes)",
)  # fmt: skip

EFFECTS = (
    "put(state, 'cells', a, 'n', (state.cells[a].n + 1) % 2)", "put(state, 'cells', a, 'leader', b)",
    "put(state, 'cells', a, 'leader', None)", "put(state, 'cells', a, 'seen', state.cells[a].seen | {{b}})",
    "put(state, 'cells', b, 'seen', frozenset())", "put(state, 'cells', a, 'acks', b, {k})",
    "put(state, 'cells', a, 'acks', Map())", "put(state, 'cells', a, 'marks', b, {k})", "evolve(state, owner=a)",
    "evolve(state, owner=None)", "evolve(state, notes=state.notes | {{Note(a, b, {k})}})",
    "evolve(state, notes=frozenset(note for note in state.notes if note.target != a))",
    "evolve(state, bag=state.bag.add(a) if not state.bag[a] else state.bag)",
    "evolve(state, order=(*state.order, a)[-2:])", "evolve(state, clock=1 - state.clock)",
    "put(state, 'cells', b, state.cells[a])", "evolve(state, owner=state.cells[a].leader)",
)  # fmt: skip

DELIVER = """
@action('', note=lambda state: state.notes)
def deliver(state, note):
    yield {effect}
"""

DELIVERED = (
    "evolve(state, notes=state.notes - {{note}}, owner=note.target)", "evolve(state, owner=note.source)",
    "evolve(state, notes=frozenset(other for other in state.notes if other.n != note.n))",
    "put(state, 'cells', note.source, 'leader', note.target)",
    "put(state, 'cells', note.source, 'n', 1 - state.cells[note.source].n)",
)  # fmt: skip

CONDITIONS = (
    "state.clock == 0", "state.owner is None", "len(state.notes) <= {k}", "len(state.order) <= {k}",
    "all(cell.n == 0 for cell in state.cells)", "all(cell.leader is None for cell in state.cells)",
    "state.owner is None or state.cells[state.owner].n == {k}",
    "all(place not in cell.seen for place, cell in enumerate(state.cells))",
    "len({{cell.leader for cell in state.cells}}) <= {k} + 1", "sum(len(cell.seen) for cell in state.cells) <= {k} + 1",
    "all(note.source != note.target for note in state.notes)", "sum(sum(cell.marks) for cell in state.cells) <= {k}",
)  # fmt: skip

OF_NODE = (
    "state.owner != node", "state.cells[node].n == 0", "node not in state.cells[node].seen",
    "state.cells[node].acks.get(node, 0) == 0", "state.order[:1] != (node,)", "state.bag[node] == 0",
    "all(cell.leader != node for cell in state.cells)",
)  # fmt: skip

ODD_GUARDS = (
    "a == 0", "a <= b", "state.owner != 1", "a == min(state.cells[b].seen, default=a)", "(a, state.clock) != (1, 1)",
    "state.order != (1, 0)", "a == sorted(NODES, key=lambda node: state.cells[node].n)[0]",
    "Note(0, 1, 1) not in state.notes or a != 0",
    "a == max(NODES, key=lambda node: len(state.cells[node].seen))", "state.cells[1].acks != Map({{0: 1, 1: 1}})",
)  # fmt: skip

ODD_CONDITIONS = (
    "state.cells[0].n == 0", "state.owner != 0", "state.order != (0, 1)", "0 not in state.cells[1].seen",
    "min(state.order, default=0) == 0",
)  # fmt: skip


def text(seed: int, *, is_odd: bool = False) -> Text:
    """Return a spec. If `is_odd`, something in it names a node."""
    chance = random.Random(f"symmetry {seed}")
    nodes = chance.choice((2, 3, 3))
    odd = chance.choice(("guard", "guard", "condition", "within", "initial", "final")) if is_odd else ""

    def some(fragments: tuple[str, ...], count: int) -> list[str]:
        return [each.format(k=chance.randrange(2)) for each in chance.sample(fragments, count)]

    initial = chance.choice(("State()", "State(), State(clock=1)", "*(State(owner=node) for node in NODES)"))
    parts = [HEAD.format(nodes=nodes, initial="State(owner=0)" if odd == "initial" else initial)]
    actions = chance.randint(2, 4)
    for number in range(actions):
        guards = some(GUARDS, chance.randint(1, 2))
        if odd == "guard" and number == 0:
            guards.insert(chance.randrange(2), some(ODD_GUARDS, 1)[0])
        whole = " and ".join(f"({guard})" for guard in guards)
        lines = [f"    if {whole}:", *(f"        yield {each}" for each in some(EFFECTS, chance.randint(1, 2)))]
        if chance.random() < 0.2:
            lines.insert(0, "    a, b = b, a")
        parts.append("\n".join(["@action('', a=NODES, b=NODES)", f"def act{number}(state, a, b):", *lines]))
    conditions = some(CONDITIONS, 3)
    if odd == "condition":
        conditions[0] = some(ODD_CONDITIONS, 1)[0]
    parts += [
        f"@invariant('is so')\ndef is_so(state):\n    return bool({conditions[0]})",
        f"@witness('becomes so')\ndef becomes_so(state):\n    return not ({conditions[1]})",
        f"@step_invariant('stays so')\ndef stays_so(before, after):\n    state = before\n"
        f"    was = bool({conditions[2]})\n    state = after\n    return not was or bool({conditions[2]})",
        f"@invariant('of a node', node=NODES)\ndef of_node(state, node):\n    return bool({some(OF_NODE, 1)[0]})",
    ]
    within = some(ODD_CONDITIONS if odd == "within" else CONDITIONS, 1)[0]
    final = some(ODD_CONDITIONS if odd == "final" else CONDITIONS, 1)[0]
    parts.append(f"def within(state):\n    return bool({within})\n\n\ndef final(state):\n    return bool({final})")
    given = "within=within, " if odd == "within" or chance.random() < 0.3 else ""
    given += "final=final, " if odd == "final" or chance.random() < 0.3 else ""
    names = ", ".join(f"act{number}" for number in range(actions))
    if chance.random() < 0.4:
        parts.append(DELIVER.format(effect=some(DELIVERED, 1)[0]))
        names += ", deliver"
    parts.append(
        "spec = Spec(name='random', initial_states=initial_states, symmetric={'node': NODES}, "
        f"actions=[{names}], {given}properties=[is_so, becomes_so, stays_so, of_node])"
    )
    return Text(f"{seed}{' odd' if is_odd else ''}", "\n\n\n".join(parts), False, 0)


class NotTried(Exception):
    """The spec has more states than are tried, or none."""


@attrs.frozen
class Truth:
    """What is so, by trying every permutation in every state.

    Attributes:
        is_symmetric: whether all permutations leave the spec as it is.
        states, orbits, depth: the counts of the states that satisfy `within`.
        lengths: for each property that is violated, or witness that is satisfied, the states of a shortest trace.
    """

    is_symmetric: bool
    states: int
    orbits: int
    depth: int
    lengths: dict[str, int]


def truth(spec: Spec[Any], most: int) -> Truth:
    """Search a spec by its functions alone, and try every permutation. Raise NotTried if there are too many states."""
    initials = list(dict.fromkeys(spec.initial_states(spec.bounds)))
    nodes = len(initials[0].cells)
    every = [dict(enumerate(order)) for order in itertools.permutations(range(nodes))]
    group = [by for by in every if {moved(state, by) for state in initials} == set(initials)]
    checks = {item.name: item for item in spec.checks}
    levels, steps, lengths = dict.fromkeys(initials, 1), dict[Any, Counter[Any]](), dict[str, int]()
    waiting = list(initials)
    for state in waiting:
        steps[state] = Counter()
        for name, item in checks.items():
            if item.kind.value == "invariant" and not item(state):
                lengths.setdefault(name, levels[state])
            if item.kind.value == "witness" and item(state):
                lengths.setdefault(name, levels[state])
        if spec.within is not None and not spec.within(state):
            continue
        for instance in spec.instances:
            for values, after in _taken(instance, state):
                steps[state][instance.action.name, values, after] += 1
                if after not in levels:
                    levels[after] = levels[state] + 1
                    waiting.append(after)
                if not checks["stays_so"](state, after):
                    lengths.setdefault("stays_so", levels[state] + 1)
        if "deadlock" in checks and not steps[state] and not spec.final(state):  # type: ignore[misc]
            lengths.setdefault("deadlock", levels[state])
        if len(levels) > most:
            raise NotTried
    inside = [state for state in levels if spec.within is None or spec.within(state)]
    if not any(state in initials for state in inside):
        raise NotTried
    return Truth(
        is_symmetric=(len(group) > 1 or len(every) == 1) and _is_symmetric(spec, group, steps),
        states=len(inside),
        orbits=len({frozenset(moved(state, by) for by in group) for state in inside}),
        depth=max((levels[state] for state in inside), default=0),
        lengths=lengths,
    )


def _taken(instance: Any, state: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The steps of an action instance, with the values of its parameters."""
    for values in [(note,) for note in state.notes] if instance.action.drawn else [instance.values]:
        for after in instance.action.function(state, *values):
            yield values, after


def _is_symmetric(spec: Spec[Any], group: list[dict[int, int]], steps: Mapping[Any, Counter[Any]]) -> bool:
    for by in group:
        for state, own in steps.items():
            twin = moved(state, by)
            if twin not in steps:
                return False
            permuted = Counter[Any]()
            for (name, values, after), count in own.items():
                others = tuple(by[each] if isinstance(each, int) else _moved_note(each, by) for each in values)
                permuted[name, others, moved(after, by)] += count
            if permuted != steps[twin]:
                return False
            for item in spec.checks:
                other = item
                if item.arguments:
                    wanted = by[int(str(item.arguments["node"]))]
                    other = next(each for each in spec.checks if each.arguments == {"node": wanted})
                if item.kind.value in ("invariant", "witness") and item(state) != other(twin):
                    return False
                if item.kind.of_steps and any(item(state, to) != item(twin, moved(to, by)) for _, _, to in own):
                    return False
            if spec.within is not None and spec.within(state) != spec.within(twin):
                return False
            is_inside = spec.within is None or spec.within(state)
            if spec.final is not None and is_inside and not own and spec.final(state) != spec.final(twin):
                return False
    return True


def _moved_note(note: Any, by: Mapping[int, int]) -> Any:
    return evolve(note, source=by[note.source], target=None if note.target is None else by[note.target])


def moved(state: Any, by: Mapping[int, int]) -> Any:
    """What a permutation makes of a state, written for these states alone."""

    def node(value: int | None) -> int | None:
        return None if value is None else by[value]

    def placed(items: tuple[Any, ...]) -> tuple[Any, ...]:
        found = {by[place]: item for place, item in enumerate(items)}
        return tuple(found[place] for place in range(len(items)))

    cells = [
        evolve(
            cell,
            leader=node(cell.leader),
            seen=frozenset(by[each] for each in cell.seen),
            acks=Map({by[key]: count for key, count in cell.acks.items()}),
            marks=placed(cell.marks),
        )
        for cell in state.cells
    ]
    return evolve(
        state,
        owner=node(state.owner),
        notes=frozenset(_moved_note(note, by) for note in state.notes),
        bag=Bag.of({by[each]: count for each, count in state.bag.items()}),
        order=tuple(by[each] for each in state.order),
        cells=placed(tuple(cells)),
    )
