"""Random models of hostile kinds, as the text of a module: classes, a state, actions. See `specs` for their properties.

Everything that a model does depends on values only, and not on the order of a set. Each value is one of a *pool* of a
few.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import attrs

HEAD = """\
import datetime
import enum
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from attrs import evolve, field, frozen

from leadline.checker import *
"""

CLASSES = {
    "Message": """\
@frozen
class Message:
    kind: str
    term: int = field(repr=False)
""",
    "Pair": """\
class Pair(NamedTuple):
    left: int
    right: int
""",
    "Word": """\
class Word(str, enum.Enum):
    YES = "yes"
    NO = "no"
""",
    "Hue": """\
class Hue(enum.Enum):
    RED = 0
    BLUE = 1
""",
    "Version": """\
class Version(tuple):
    def __new__(cls, major, minor):
        return tuple.__new__(cls, (major, minor))
""",
    "Ordered": """\
class Ordered(dict):
    def __hash__(self):
        return hash(frozenset(self.items()))
""",
    "Slots": """\
class Slots:
    __slots__ = ("name", "hidden")

    def __init__(self, name, hidden):
        self.name, self.hidden = name, hidden

    def __eq__(self, other):
        return isinstance(other, Slots) and other.name == self.name

    def __hash__(self):
        return hash(self.name)
""",
    "Shown": """\
class Shown:
    def __init__(self, name, hidden):
        self.name, self.hidden = name, hidden

    def __eq__(self, other):
        return isinstance(other, Shown) and other.name == self.name

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f"Shown({self.name})"
""",
    "Process": """\
@frozen
class Process:
    number: int = constant()
    term: int = 0
""",
    "Node": """\
@frozen
class Node:
    term: int = 0
    on: bool = False
""",
}

NOON = "datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)"
ONE = "datetime.datetime(2026, 1, 1, 13, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))"

POOLS = {
    "numbers": ("0", "1", "2", "3"),
    "words": ("'x'", "'y'", "'z'"),
    "collide": ("0", "8", "16"),
    "many": ("0", "1", "2", "3", "4"),
    "same text": ("1", "'1'", "'None'", "None"),
    "messages": ("Message('vote', 1)", "Message('vote', 2)", "Message('call', 1)"),
    "fractions": ("Decimal('1.0')", "Fraction(1, 3)", "2", "0.25"),
    "pairs": ("Pair(0, 1)", "Pair(1, 0)", "Pair(1, 1)"),
    "tuples": ("(0, 'x')", "(0, ('x',))", "()"),
    "union": ("None", "Pair(0, 1)", "Message('vote', 1)", "'x'", "3", "Hue.RED"),
    "nodes": ("Node(0)", "Node(1)", "Node(1, True)"),
    "enums": ("Hue.RED", "Hue.BLUE", "Word.YES"),
    "versions": ("Version(0, 1)", "Version(1, 0)", "Version(1, 2)"),
    "dicts": ("Ordered([(1, 1), (2, 2)])", "Ordered()", "Ordered([(1, 2)])"),
    "slots": ("Slots(0, 0)", "Slots(1, 0)", "Slots(2, 1)"),
    "shown": ("Shown(0, 0)", "Shown(1, 0)", "Shown(2, 1)"),
    "processes": ("Process(0, 1)", "Process(0, 0)", "Process(0, 2)"),
    "times": (NOON, "datetime.datetime(2026, 1, 1, 11, tzinfo=datetime.timezone.utc)"),
    "sets": ("frozenset((0, 8))", "frozenset((8, 1))", "frozenset()"),
    "floats": ("0.0", "1.5", "-2.0"),
}
"""Values that can be in one place of a state, and are not equal to each other."""

EQUAL = {
    "numbers": ("True", "1.0", "Decimal(1)"),
    "words": (),
    "collide": ("False", "0.0"),
    "many": ("2.0",),
    "same text": ("True",),
    "messages": (),
    "fractions": ("Decimal('1.00')", "1", "Fraction(1, 4)"),
    "pairs": ("(0, 1)",),
    "tuples": ("(False, 'x')",),
    "union": ("(0, 1)", "3.0"),
    "nodes": ("Node(0, 0)", "Node(True)"),
    "enums": ("'yes'",),
    "versions": ("(0, 1)",),
    "dicts": ("Ordered([(2, 2), (1, 1)])",),
    "slots": ("Slots(0, 1)",),
    "shown": ("Shown(0, 1)",),
    "processes": ("Process(1, 1)",),
    "times": (ONE,),
    "sets": ("frozenset((0.0, 8))",),
    "floats": ("-0.0", "0"),
}
"""For each pool, values that are equal to one of its values and not the same."""


@attrs.frozen
class Kind:
    """A kind of hostile models.

    Attributes:
        pools: the pools from which values are taken.
        fields: the fields that every model of this kind has.
        others: fields of which it has some.
        drawn: how likely the values of a parameter are drawn from the state.
        fair: how likely an action is fair.
        effects: how likely an action has an effect.
        most: the maximum number of states.
        equal: how likely there are values in one place that are equal and not the same.
    """

    pools: tuple[str, ...]
    fields: tuple[str, ...] = ()
    others: tuple[str, ...] = ("n", "flip", "a", "box", "members", "cells")
    drawn: float = 0.35
    fair: float = 0.6
    effects: float = 0.15
    most: int = 200
    equal: float = 0.0


KINDS = {
    "plain": Kind(("numbers", "words")),
    "drawn": Kind(
        ("numbers", "numbers", "words", "nodes"), ("flip", "a", "box"), ("n", "members", "bits"), drawn=0.9, fair=0.9
    ),
    "sets": Kind(
        ("collide", "collide", "sets", "pairs"),
        ("members",),
        ("a", "n", "box", "family", "bag"),
        drawn=0.7,
        fair=0.9,
    ),
    "text": Kind(
        ("same text", "messages", "slots"), ("a",), ("box", "members", "n", "flip", "bag"), drawn=0.5, fair=0.8
    ),
    "constants": Kind(("numbers", "processes"), ("procs",), ("n", "flip", "leader", "crew", "a", "limit"), drawn=0.3),
    "initials": Kind(("numbers", "same text"), ("group", "n", "a"), ("flip", "box", "bits"), most=2500),
    "unions": Kind(("union", "same text"), ("a",), ("things", "table", "box", "n")),
    "fairness": Kind(("numbers",), ("n", "a"), ("flip", "bits"), fair=1.0, drawn=0.5),
    "numbers": Kind(("fractions", "floats", "times"), ("a", "flag"), ("n", "box", "table", "bag")),
    "named": Kind(("pairs", "versions", "enums", "tuples"), ("a",), ("box", "members", "things", "table")),
    "bounds": Kind(("numbers", "words"), ("n",), ("flip", "a", "cells", "box", "bits"), effects=0.8),
    "objects": Kind(("dicts", "shown", "slots", "processes"), ("a",), ("n", "flip", "box", "things"), equal=0.4),
    "equal": Kind(
        tuple(name for name, equal in EQUAL.items() if equal), ("a",), ("b", "box", "table", "bag", "n"), equal=1.0
    ),
    "door": Kind(("numbers", "words"), ("n",), ("flip", "a", "box", "cells")),
}


@attrs.define
class Model:
    """A random model.

    Attributes:
        text: the text of its module, up to the properties.
        settings: further arguments of the spec, as text.
        atoms: conditions on a state, with ``{s}`` for the state.
        is_ordered: whether the order of all steps is determined.
    """

    kind: str
    chance: random.Random
    pool: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    text: str = ""
    settings: list[str] = attrs.field(factory=list)
    atoms: list[str] = attrs.field(factory=list)
    is_ordered: bool = True
    actions: list[str] = attrs.field(factory=list)
    domains: list[str] = attrs.field(factory=list)

    def value(self, names: Sequence[str] = ()) -> str:
        """Return an expression for a value of the pool."""
        found = [self.chance.choice(self.pool), self.chance.choice(self.pool), *names, *names]
        found += ["s.a"] if "a" in self.fields else []
        found += ["s.members[0]", "s.members[-1]"] if "members" in self.fields else []
        return self.chance.choice(found)


DECLARED = {
    "n": ("n: int", "0"),
    "group": ("group: int", "0"),
    "flip": ("flip: bool", "False"),
    "flag": ("flag: bool", "True"),
    "a": ("a: Any", "{0}"),
    "b": ("b: Any", "{1}"),
    "box": ("box: frozenset", "frozenset(({0}, {1}))"),
    "bag": ("bag: Bag", "Bag([{0}])"),
    "table": ("table: Map", "Map()"),
    "members": ("members: tuple", "({all})"),
    "cells": ("cells: tuple = component(each='cell')", "(Node(), Node())"),
    "things": ("things: tuple = component(each='thing')", "({0}, {1})"),
    "bits": ("bits: tuple = component(each='bit')", "(0, 0)"),
    "procs": ("procs: tuple = component(each='process')", "(Process(0), Process(1))"),
    "leader": ("leader: Any", "None"),
    "crew": ("crew: frozenset", "frozenset()"),
    "limit": ("limit: Any = constant()", "4"),
    "family": ("family: frozenset", "frozenset((frozenset(),))"),
}


def model(kind: str, chance: random.Random) -> Model:
    """Return a random model of a kind. It may have too few or too many states."""
    what = KINDS[kind]
    made = Model(kind, chance)
    name = chance.choice(what.pools)
    size = min(len(POOLS[name]), 5 if name == "many" else chance.choice((2, 3, 3)))
    pool = chance.sample(POOLS[name], size)
    if EQUAL[name] and chance.random() < what.equal:
        other = chance.choice(EQUAL[name])
        pool[0] = POOLS[name][_TWIN.get(other, 0)]
        pool.insert(1, other)
    made.pool = tuple(dict.fromkeys(pool))
    others = [each for each in what.others if each not in what.fields]
    made.fields = (*what.fields, *chance.sample(others, min(len(others), chance.choice((1, 2, 2)) + (not what.fields))))
    _atoms(made)
    for number in range(chance.choice((2, 3, 3, 4))):
        _action(made, number)
    if kind == "fairness":
        _many_conditions(made)
    if name == "collide" and kind == "sets" and chance.random() < 0.6:
        _quorum(made)
    if kind == "drawn" and name in ("many", "words") and chance.random() < 0.6:
        _orders(made)
    _settings(made)
    classes = [each for each in CLASSES if each in _used(made)]
    made.text = "\n\n".join([HEAD, *(CLASSES[each] for each in classes), _state(made), *made.domains, *made.actions])
    return made


_TWIN = {"Decimal(1)": 1, "True": 1, "1.0": 1, "Fraction(1, 4)": 3, "1": 0, "3.0": 4, "(0, 1)": 1, "Node(True)": 1}
"""For values of `EQUAL`, the index of the value in the pool to which it is equal, unless it is the first."""


def _used(made: Model) -> str:
    declared = " ".join(DECLARED[each][1] for each in made.fields)
    return " ".join([*made.pool, *made.actions, *made.domains, declared])


def _state(made: Model) -> str:
    lines = ["@frozen", "class State:", *(f"    {DECLARED[each][0]}" for each in made.fields)]
    pool, chance = made.pool, made.chance

    def initial(number: int) -> str:
        turned = (*pool[number % len(pool) :], *pool[: number % len(pool)])
        given = [f"{each}={DECLARED[each][1].format(*turned, *pool, all=', '.join(pool))}" for each in made.fields]
        return f"State({', '.join(given)})"

    many = made.kind == "initials"
    if many and chance.random() < 0.7:
        values = {"group": "range(3)"}
        values |= {"n": "range(40)" if chance.random() < 0.02 else "range(3)", "a": f"[{', '.join(pool)}]"}
        values |= {"flip": "(False, True)"} if "flip" in made.fields else {}
        values |= {"bits": "one_of_each([(0, 1)] * 3)"} if "bits" in made.fields else {}
        values |= {"box": f"subsets([{', '.join(pool)}])"} if "box" in made.fields else {}
        call = ", ".join(f"{name}={domain}" for name, domain in values.items())
        return "\n".join([*lines, "", "", f"initial_states = product(State, {call})", ""])
    count = chance.choice((1, 1, 1, 2, 3)) if not many else 3
    states = [initial(number if chance.random() < 0.8 else 0) for number in range(count)]
    how = chance.random()
    listed = ", ".join(states)
    body = f"    return [{listed}]" if how < 0.7 else f"    yield from ({listed},)"
    if how > 0.9:
        body, made.is_ordered = f"    return {{{listed}}}", made.is_ordered and count == 1
    return "\n".join([*lines, "", "", "def initial_states(bounds):", body, ""])


def _atoms(made: Model) -> None:
    """Fill in the conditions on a state."""
    pool = made.pool
    for each in made.fields:
        match each:
            case "n":
                made.atoms += [f"{{s}}.n == {number}" for number in range(3)]
            case "group":
                made.atoms += [f"{{s}}.group == {number}" for number in range(3)]
            case "flip" | "flag":
                made.atoms += [f"{{s}}.{each}", f"not {{s}}.{each}"]
            case "a" | "b":
                made.atoms += [f"{{s}}.{each} == {value}" for value in pool]
                made.atoms += [f"type({{s}}.{each}) is type({value})" for value in pool[:2]]
            case "box":
                made.atoms += [f"{value} in {{s}}.box" for value in pool]
                made.atoms += [f"{value} not in {{s}}.box" for value in pool[:2]]
                made.atoms += ["len({s}.box) == 1", "not {s}.box"]
            case "bag":
                made.atoms += [f"{{s}}.bag[{value}] == {number}" for value in pool[:2] for number in (0, 1, 2)]
                made.atoms += ["{s}.bag.total() > 1"]
            case "table":
                made.atoms += [f"{{s}}.table.get({value}) == 1" for value in pool]
                made.atoms += [f"{value} in {{s}}.table" for value in pool[:2]]
            case "members":
                made.atoms += [f"{{s}}.members[{place}] == {value}" for value in pool for place in (0, 1)]
            case "cells":
                made.atoms += [f"{{s}}.cells[{place}].term == {number}" for place in (0, 1) for number in (0, 1)]
                made.atoms += ["any(cell.on for cell in {s}.cells)", "{s}.cells[0] == {s}.cells[1]"]
                made.atoms += ["sum(cell.term for cell in {s}.cells) == 2"]
            case "things":
                made.atoms += [f"{{s}}.things[{place}] == {value}" for place in (0, 1) for value in pool]
                made.atoms += ["{s}.things[0] == {s}.things[1]"]
            case "bits":
                made.atoms += ["{s}.bits[0]", "{s}.bits[1] == 0", "sum({s}.bits) == 1"]
            case "procs":
                made.atoms += ["{s}.procs[0].term == 1", "{s}.procs[1].term == 0", "{s}.procs[0] == {s}.procs[1]"]
            case "leader":
                made.atoms += ["{s}.leader is None", "{s}.leader is not None and {s}.leader.term == 1"]
                made.atoms += [f"{{s}}.leader is not None and {{s}}.leader.number == {each}" for each in (0, 1)]
            case "crew":
                made.atoms += ["not {s}.crew", "any(each.number == 1 for each in {s}.crew)", "len({s}.crew) == 2"]
            case "family":
                made.atoms += ["frozenset() in {s}.family", "len({s}.family) == 2"]
                made.atoms += [f"any({value} in each for each in {{s}}.family)" for value in pool[:2]]


def _action(made: Model, number: int) -> None:
    """Add a random action."""
    chance = made.chance
    name = f"act{number}"
    parameters: dict[str, str] = {}
    values: list[str] = []
    if chance.random() < made_of(made).drawn:
        parameters["m"] = _domain(made, f"values{number}")
        values.append("m")
    elif chance.random() < 0.4 and len(made.pool) > 1:
        parameters["m"] = f"[{', '.join(made.pool)}]"
        values.append("m")
    if chance.random() < 0.5:
        parameters["i"] = chance.choice(["(0, 1)", "range(2)", "lambda bounds: [1, 0]"])
    guards = [chance.choice(made.atoms).format(s="s") for _ in range(chance.choice((0, 1, 1, 2)))]
    if "m" in parameters and chance.random() < 0.4 and {"a", "box"} & {*made.fields}:
        guards.append(chance.choice([each for each in _ABOUT if each[1] in made.fields])[0])
    body = _body(made, guards, values, "i" in parameters)
    fair, effect = "", ""
    if chance.random() < made_of(made).effects:
        effect = chance.choice(("healing", "healing", "perturbing"))
    if effect != "perturbing" and chance.random() < made_of(made).fair:
        each = [" each " + name for name in parameters] + [" each"] * 2
        fair = chance.choice(("weak", "weak", "strong")) + (chance.choice(["", *each]) if parameters else "")
    given = [repr(" ".join([name, *(f"{{{each}}}" for each in parameters)]))]
    given += [f"{each}={domain}" for each, domain in parameters.items()]
    given += [f"fair={fair!r}"] if fair else []
    given += [f"effect={effect!r}"] if effect else []
    lines = [f"@action({', '.join(given)})", f"def {name}({', '.join(['s', *parameters])}):"]
    made.actions.append("\n".join([*lines, *(f"    {line}" for line in body), ""]))


_ABOUT = (("m != s.a", "a"), ("m == s.a", "a"), ("m in s.box", "box"), ("m not in s.box", "box"))


def made_of(made: Model) -> Kind:
    return KINDS[made.kind]


def _body(made: Model, guards: list[str], values: list[str], has_index: bool) -> list[str]:
    chance = made.chance
    guard = " and ".join(guards) or "True"
    step = _step(made, values, has_index)
    match chance.randrange(8):
        case 0 | 1 | 2 if guards:
            return [f"if {guard}:", f"    yield {step}"]
        case 3 if guards:
            return [f"if not ({guard}):", "    return", f"yield {step}"]
        case 4:
            return [f"yield {step}", f"if {guard}:", f"    yield {_step(made, values, has_index)}"]
        case 5 if "n" in made.fields:
            return [
                f"for number in range({chance.choice((2, 3))}):",
                f"    if s.n != number and {guard}:",
                f"        yield evolve({step}, n=number)",
            ]
        case 6 if "box" in made.fields and "a" in made.fields:
            made.is_ordered = False
            return ["for each in s.box:", f"    if each != s.a and {guard}:", "        yield evolve(s, a=each)"]
        case 7:
            return [f"made = {step}", f"if {guard}:", "    yield made"]
    return [f"if {guard}:", f"    yield {step}"]


def _step(made: Model, values: list[str], has_index: bool) -> str:
    """Return an expression for a next state."""
    chance = made.chance
    changes = []
    for each in chance.sample(made.fields, chance.choice((1, 1, 2))):
        changes.append(f"{each}={_change(made, each, made.value(values), 'i' if has_index else '0', chance)}")
    return f"evolve(s, {', '.join(changes)})"


def _change(made: Model, name: str, value: str, index: str, chance: random.Random) -> str:
    match name:
        case "group":
            return "s.group"  # no step changes it
        case "n":
            return chance.choice(("(s.n + 1) % 3", "(s.n + 1) % 3", "0", "min(s.n + 1, 2)"))
        case "flip":
            return chance.choice(("not s.flip", "not s.flip", "True", "False"))
        case "flag":
            return "not s.flag"
        case "b":
            return chance.choice(made.pool)
        case "box":
            wholes = [f"frozenset([{value}])", f"frozenset(each for each in s.box if each != {value})"]
            wholes += (
                ["frozenset(s.members[:2])", "frozenset([frozenset(s.members)])"] if "members" in made.fields else []
            )
            return chance.choice([f"s.box | {{{value}}}", f"s.box - {{{value}}}", f"s.box ^ {{{value}}}", *wholes])
        case "bag":
            added = f"s.bag.add({value}) if s.bag[{value}] < 2 else s.bag"
            return chance.choice((added, f"s.bag.remove({value}) if {value} in s.bag else s.bag"))
        case "table":
            return chance.choice((f"s.table.put({value}, {chance.randrange(2)})", "Map()"))
        case "members":
            last = f"({', '.join(made.pool[::-1])},)"
            return chance.choice(("s.members[::-1]", "(*s.members[1:], s.members[0])", last, last))
        case "cells":
            part = chance.choice((f"'term', (s.cells[{index}].term + 1) % 3", f"'on', not s.cells[{index}].on"))
            return f"put(s.cells, {index}, {part})"
        case "things":
            return f"put(s.things, {index}, {value})"
        case "bits":
            return f"put(s.bits, {index}, 1 - s.bits[{index}])"
        case "procs":
            return f"put(s.procs, {index}, 'term', 1 - s.procs[{index}].term)"
        case "leader":
            found = [f"s.procs[{index}]", "s.procs[0]", "None"] if "procs" in made.fields else ["None"]
            return chance.choice(found)
        case "crew":
            return chance.choice((f"s.crew | {{s.procs[{index}]}}", "frozenset()", f"frozenset([s.procs[{index}]])"))
        case "limit":
            return chance.choice(("s.limit", "4", "s.limit / 1", "s.limit * 1.0"))
        case "family":
            inner = chance.choice(
                (f"frozenset([{value}])", "s.box" if "box" in made.fields else "frozenset()", "frozenset()")
            )
            return chance.choice((f"frozenset([{inner}])", f"frozenset([{inner}, frozenset()])"))
    return value


def _domain(made: Model, name: str) -> str:
    """Add a function that draws values from the state, and return its name."""
    chance, pool = made.chance, made.pool
    some = ", ".join(chance.sample(pool, min(2, len(pool))))
    backwards = ", ".join(some.split(", ")[::-1]) if some.count("(") == 0 else some
    asked = chance.choice(made.atoms).format(s="state")
    ways = [(f"[{some}] if {asked} else [{backwards}]", True)]
    ways += [(f"{{{some}}}", False), (f"frozenset([{some}, {pool[0]}])", False)]
    if "box" in made.fields:
        order = "state.flip" if "flip" in made.fields else chance.choice(made.atoms).format(s="state")
        ways += [("state.box", False), (f"[each for each in state.box if each != {pool[0]}]", False)]
        if "members" not in made.fields:  # otherwise, the set can have members that are not in the pool
            by = "" if made.pool[0].isdigit() or made.pool[0].startswith("'") else "key=rank, "
            ways += [(f"sorted([each for each in state.box], {by}reverse={order})", True)] * 4
        ways += [(f"set(state.box) | {{{pool[-1]}}}", False)]
    if "members" in made.fields:
        ways += [("state.members", True), ("reversed(state.members)", True), ("[state.members[0]]", True)]
        ways += [("[frozenset(state.members)]", True), ("[frozenset(state.members[:2]), state.members[0]]", True)]
        ways += [("[frozenset(state.members)]", True)] * (8 if made.kind == "sets" else 0)
    if "bag" in made.fields:
        ways += [("state.bag", False), ("tuple(state.bag)", False)]
    if "table" in made.fields:
        ways += [("state.table", False), ("sorted(state.table, key=str)", False)]
    if "things" in made.fields:
        ways += [("state.things", True), ("{*state.things}", False)]
    text, is_ordered = chance.choice(ways)
    made.is_ordered = made.is_ordered and is_ordered
    if "rank" in text and not any("def rank" in each for each in made.domains):
        listed = f"({', '.join(pool)},)"
        made.domains.append(f"def rank(value):\n    return {listed}.index(value)\n")
    made.domains.append(f"def {name}(state):\n    return {text}\n")
    return name


def _many_conditions(made: Model) -> None:
    """Add actions with more than sixty fairness conditions, of which few are enabled at a time."""
    chance = made.chance
    if chance.random() < 0.6:
        fair = chance.choice(("weak", "strong", "weak each k", "strong each k"))
        made.settings.append(f"fairness={{('many0', 'many1'): {fair!r}}}")
    for number in range(2):
        strength = chance.choice(("weak", "strong"))
        guard = chance.choice(("k % 3 == s.n", "k % 2 == s.n % 2", "k == s.n * 7", "k < 40 or s.n == 1"))
        change = chance.choice(("n=k % 3", "n=(s.n + k) % 3", f"a={chance.choice(made.pool)}, n=k % 2"))
        made.actions.append(
            f"@action('many{number} {{k}}', k=range({chance.choice((35, 40, 70))}), fair='{strength} each')\n"
            f"def many{number}(s, k):\n    if {guard}:\n        yield evolve(s, {change})\n"
        )


def _orders(made: Model) -> None:
    """Add an action that draws the members of a set, in an order that a part of the state determines."""
    chance = made.chance
    made.domains.append("def orders(state):\n    return sorted([each for each in state.box], reverse=state.flip)\n")
    change = chance.choice(("a=m", "a=m, flip=not s.flip", "a=m, flip=False"))
    grown = chance.choice(("s.box | {k}", "s.box | {k}", "s.box ^ {k}"))
    guard = f"if {chance.choice(made.atoms).format(s='s')}:\n        " if chance.random() < 0.5 else ""
    fair = chance.choice(("weak", "strong"))
    made.actions += [
        f"@action('pick {{m}}', m=orders, fair='{fair} each')\ndef pick(s, m):\n    yield evolve(s, {change})\n",
        "@action('toggle')\ndef toggle(s):\n    yield evolve(s, flip=not s.flip)\n",
        f"@action('grow {{k}}', k=[{', '.join(made.pool)}])\ndef grow(s, k):\n    {guard}"
        f"yield evolve(s, box={grown})\n",
    ]


def _quorum(made: Model) -> None:
    """Add an action that draws a set from a tuple, and one that changes the order of the tuple."""
    chance = made.chance
    other = chance.choice([each for each in made.fields if each != "members"])
    change = _change(made, other, made.value(), "0", chance)
    drawn = chance.choice(("state.members", "state.members", "state.members[:2]"))
    fair = chance.choice(("weak", "strong", "strong"))
    made.domains.append(f"def quorum(state):\n    return [frozenset({drawn})]\n")
    made.actions += [
        f"@action('go {{q}}', q=quorum, fair='{fair} each')\ndef go(s, q):\n    yield evolve(s, {other}={change})\n",
        "@action('turn')\ndef turn(s):\n    yield evolve(s, members=s.members[::-1])\n",
    ]


def _settings(made: Model) -> None:
    chance = made.chance
    one, two = chance.choice(made.atoms), chance.choice(made.atoms)
    if made.kind != "bounds":
        if chance.random() < 0.2:
            made.settings.append("check_deadlock=True")
        return
    wanted = chance.sample(("within", "within_step", "cut", "final"), chance.choice((1, 1, 2)))
    for name in wanted:
        before, after = ("before", "after") if name == "within_step" else ("s", "s")
        text = f"{one.format(s=before)} and {two.format(s=after)}"
        text = f"not ({text})" if name.startswith("within") else f"bool({text})"
        made.settings.append(f"{name}=lambda {', '.join(dict.fromkeys((before, after)))}: {text}")
