"""Random programs: the text of a spec, made from a seed, and the spec."""

from __future__ import annotations

import linecache
import random
from collections.abc import Sequence
from typing import Any

from leadline.checker import Action, Spec
from leadline.checker.properties import Property
from tests.programs import names
from tests.programs.grammar import DECLARED, INITIAL, WRITES
from tests.programs.writer import Name, Writer, lines_of

INITIALS = 10
"""Initial states. What is learned from the first of them is used in the others."""

CHECKS = [("invariant", ["s"]), ("invariant", ["s"]), ("witness", ["s"]), ("step_invariant", ["before", "s"])]


def source(seed: int) -> str:
    """The text of the random spec of a seed."""
    chance = random.Random(seed)
    while True:
        text = _source(chance)
        try:
            compile(text, "<program>", "exec", dont_inherit=True)
        except SyntaxError:
            continue  # an assignment expression where none may be
        return text


def _source(chance: random.Random) -> str:
    fields = ["numbers", *chance.sample(sorted(DECLARED.keys() - {"numbers"}), chance.choice((2, 3, 3, 4)))]
    parts = ["@frozen", "class State:"]
    parts += [f"    {field}: {DECLARED[field]}" for field in fields]
    parts += ["    out: int = 0", "", "INITIALS = [", *_initials(chance, fields), "]", ""]
    for place in range(chance.choice((1, 1, 2))):
        parts += [*_action(chance, fields, f"step{place}"), ""]
    for place, (kind, states) in enumerate(chance.sample(CHECKS, chance.choice((1, 1, 2)))):
        parts += [f"@{kind}('p{place}')", *_check(chance, fields, f"p{place}", states), ""]
    return "\n".join(parts)


def _initials(chance: random.Random, fields: Sequence[str]) -> list[str]:
    """Initial states, whose fields have few values each, so that states have parts in common."""

    def numbers() -> list[int]:
        return [chance.choice((0, 1, 2, 3)) for _ in range(chance.choice((0, 1, 2, 3)))]

    def value(field: str) -> str:
        pairs = [(chance.randrange(2), chance.randrange(3)) for _ in range(chance.randrange(4))]
        small, marks = ([chance.choice(some) for _ in range(3)] for some in ((0, 0, 1, 2), (None, 0, 1)))
        few, more = numbers(), numbers()
        optional = chance.choice((None, frozenset(few)))
        return INITIAL[field].format(few=few, more=more, pairs=pairs, small=small, marks=marks, optional=optional)

    pools = {field: [value(field) for _ in range(3)] for field in fields}
    return [
        f"    State({', '.join(f'{field}={chance.choice(pools[field])}' for field in fields)}),"
        for _ in range(INITIALS)
    ]


def _check(chance: random.Random, fields: Sequence[str], name: str, states: Sequence[str]) -> list[str]:
    """The text of a property's function."""
    writer = Writer(chance, fields, [Name(state, "state") for state in states], "bool")
    body, shown = writer.block(), writer.digest()
    if shown and chance.random() < 0.8:
        body.append(f"return ({shown}) % {chance.choice((2, 3))} != 1")
    else:
        body.append(f"return {writer.expression('bool', 2)}")
    return [f"def {name}({', '.join(states)}):", *(f"    {line}" for line in body)]


def _action(chance: random.Random, fields: Sequence[str], name: str) -> list[str]:
    """The text of an action."""
    writer = Writer(chance, fields, [Name("s", "state"), Name("k", "int")], "")
    body, shown = writer.block(), writer.digest()
    targets = {*chance.sample([*fields, "out"], chance.choice((1, 1, 2))), *(["out"] if shown else [])}

    def step(bound: str = "", **changes: str) -> str:
        writer.bind(bound)
        for field in sorted(targets - changes.keys()):
            is_shown = field == "out" and shown and chance.random() < 0.8
            changes[field] = f"({shown}) % 4" if is_shown else writer.filled(chance.choice(lines_of(WRITES[field])), 2)
        return f"evolve(s, {', '.join(f'{field}={value}' for field, value in changes.items())})"

    def asked() -> str:
        return writer.expression("bool", 1)

    match chance.randrange(6):
        case 0:
            body += [f"if {asked()}:", f"    yield {step()}"]
        case 1:
            body += [f"for each in {writer.expression('iset', 2)}:"]
            body += [f"    if {writer.filled('$bool(each:int)', 2)}:", f"        yield {step('each:int')}"]
        case 2:
            body += [f"yield from ({step('each:int')} for each in {writer.expression('iset', 1)})"]
        case 3 if "marks" in fields:  # copies of elements that the call after it looks at
            body += ["if k:", f"    yield from {name}({step(marks='(*s.marks[1:], 1)')}, k - 1)"]
            body += ["elif s.marks[0] is None:", f"    yield {step()}"]
        case 3 | 4:
            body += [f"if k and {asked()}:", f"    yield from {name}({step()}, k - 1)"]
            body += [f"elif {asked()}:", f"    yield {step()}"]
        case _:
            body += [f"made = {step()}", "yield made"]
    return ["@action(k=range(2))", f"def {name}(s, k):", *(f"    {line}" for line in body)]


def spec_of(text: str, name: str) -> Spec[Any]:
    """The spec that a text is of. Its functions have a source, as those of a file do.

    Parameters:
        text: the text.
        name: a name that no other text has.
    """
    file = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    made: dict[str, Any] = {key: value for key, value in vars(names).items() if key[:2] != "__"}
    made["__name__"] = "random_program"
    exec(compile(text, file, "exec", dont_inherit=True), made)
    own = [value for key, value in made.items() if key not in vars(names)]
    return Spec(
        name=name,
        initial_states=lambda _: made["INITIALS"],
        actions=[value for value in own if isinstance(value, Action)],
        properties=[value for value in own if isinstance(value, Property)],
    )
