"""Writes random functions by the grammar: fills the holes of rules, and knows which names stand for what."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from tests.programs.grammar import FIELDS, LEAVES, RULES, SHOWN, STATEMENTS

KNOWN = 0.55
"""How often an expression is a name, if there is one of its type."""

FIELD = 0.7
"""How often it is a field of a state, if there is one of its type."""

SELDOM = 0.1
"""How often a rule is taken that is about parts which no state has."""

TOP = 2
"""The depth of a function's own statements."""


class Name(NamedTuple):
    """A name that an expression may use.

    Attributes:
        text: the name.
        kind: its type.
        function: the number of the function that it is a variable of.
        is_variable: whether that function may assign it again.
    """

    text: str
    kind: str
    function: int = 0
    is_variable: bool = False


class NothingFits(Exception):
    """A hole asks for a variable, and there is none."""


class Writer:
    """Writes one function.

    Parameters:
        chance: where the random choices come from.
        fields: the fields of states.
        names: the parameters of the function.
        returns: the type of what it returns; empty if it is a generator.
    """

    def __init__(self, chance: random.Random, fields: Sequence[str], names: Sequence[Name], returns: str) -> None:
        self._chance, self._names, self._returns = chance, list(names), returns
        self._fresh, self._functions, self._function = itertools.count(), itertools.count(1), 0
        self._of_state: dict[str, list[str]] = {}
        for field in fields:
            for kind in _WIDER.get(FIELDS[field], (FIELDS[field],)):
                self._of_state.setdefault(kind, []).append(field)
        there = {kind for field in fields for kind in _WITH.get(FIELDS[field], ())}
        self._missing = {kind for kinds in _WITH.values() for kind in kinds} - there

    def expression(self, kind: str, depth: int) -> str:
        """An expression of a type.

        Parameters:
            kind: the type; ``S`` for the name of a state.
            depth: how many expressions may be within one another.
        """
        if kind == "S":
            return self._chance.choice([name.text for name in self._names if name.kind == "state"])
        known = [_read(name) for name in self._names if name.kind in _NARROWER.get(kind, (kind,))]
        if known and kind != "own" and self._chance.random() < KNOWN:
            return self._chance.choice(known[-4:])
        fields = self._of_state.get(kind)
        if fields and (self._chance.random() < FIELD or depth <= 0):
            return f"{self.expression('S', 0)}.{self._chance.choice(fields)}"
        if depth <= 0:
            return self._chance.choice(known) if known else LEAVES[kind]
        return f"({self.filled(self._rule(_RULES[kind]), depth - 1)})"

    def filled(self, rule: str, depth: int) -> str:
        """A rule on one line with its holes filled."""
        return self._fill(self._renamed(rule), depth)

    def bind(self, names: str | None) -> None:
        """Let expressions use more names, given as in a hole: ``V:int, W:iset``."""
        for binding in (names or "").replace(" ", "").split(","):
            if binding:
                text, kind = binding.split(":")
                self._names.append(Name(text, kind, self._function))

    def block(self, depth: int = TOP, *, may_return: bool = True) -> list[str]:
        """The lines of some statements. The variables that they declare stay known."""
        lines: list[str] = []
        for _ in range(self._chance.randint(2, 4) if depth == TOP else self._chance.choice((1, 1, 2))):
            while True:
                before, rule = len(self._names), self._rule(_STATEMENTS)
                if (depth <= 0 and _NESTED.search(rule)) or ("$R" in rule and not may_return):
                    continue
                try:
                    lines += self._statement(rule, depth, may_return)
                except NothingFits:
                    del self._names[before:]
                    continue
                break
        return lines

    def digest(self) -> str:
        """A number in which variables of the function show; empty if there are none."""
        own = [name for name in self._names if name.is_variable and name.function == 0]
        self._chance.shuffle(own)
        return " + ".join(SHOWN[name.kind].format(name.text) for name in own[:4])

    def _rule(self, rules: Sequence[str]) -> str:
        while True:
            rule = self._chance.choice(rules)
            if self._chance.random() < SELDOM or self._missing.isdisjoint(_KINDS.findall(rule)):
                return rule

    def _renamed(self, rule: str) -> str:
        """A rule in which capital letters are names that are not used elsewhere."""
        fresh = {letter: f"{letter.lower()}{next(self._fresh)}" for letter in sorted(set(_LETTER.findall(rule)))}
        return _LETTER.sub(lambda found: fresh[found[0]], rule)

    def _fill(self, text: str, depth: int) -> str:
        def hole(found: re.Match[str]) -> str:
            mark, kind, bound = found.groups()
            if mark:
                return self._variable(kind, mark == "!")
            before = len(self._names)
            self.bind(bound)
            made = self.expression(self._returns if kind == "R" else kind, depth)
            del self._names[before:]
            return made

        return _HOLE.sub(hole, text)

    def _variable(self, kind: str, is_assigned: bool) -> str:
        """A variable of a type.

        Parameters:
            kind: the type.
            is_assigned: whether it is to be assigned, or else to be changed in place.

        Raises:
            NothingFits: there is none.
        """
        wanted = ("iset", "mset") if kind == "iset" else (kind,)
        found = [
            name.text
            for name in self._names
            if name.kind in wanted and name.is_variable and (name.function == self._function or not is_assigned)
        ]
        if not found:
            raise NothingFits
        return self._chance.choice(found)

    def _statement(self, rule: str, depth: int, may_return: bool) -> list[str]:
        lines = self._renamed(rule).splitlines()
        declared = lines.pop(0)[2:] if lines[0].startswith("+ ") else ""
        made: list[str] = []
        for line in lines:
            nested = _NESTED.fullmatch(line)
            if nested is not None:
                made += [nested[1] + inner for inner in self._nested(nested[2], nested[3], depth, may_return)]
            else:
                made.append(self._fill(line if self._returns else _RETURN.sub("return", line), 1))
        for declaration in declared.split():
            text, kind = declaration.split(":")
            self._names.append(Name(text, kind, self._function, kind != "state"))
        return made

    def _nested(self, what: str, bound: str, depth: int, may_return: bool) -> list[str]:
        before, around = len(self._names), self._function
        if what == "function":
            self._function = next(self._functions)
        self.bind(bound)
        lines = self.block(depth - 1, may_return=may_return and what == "block")
        del self._names[before:]
        self._function = around
        return lines


def _read(name: Name) -> str:
    """A name as an expression. Of a list that may change, a copy, so that no loop over it goes on forever."""
    return f"{name.text}[:]" if name.kind == "mlist" else name.text


def lines_of(text: str) -> list[str]:
    """The rules of a text."""
    return [line.strip() for line in text.splitlines() if line.strip()]


_WITH = {
    "msgs": ("msgs", "msg"),
    "procs": ("procs", "proc"),
    "marks": ("marks",),
    "optional": ("optional",),
    "bag": ("bag",),
}
"""Types of which there are few values if no field has them."""

_WIDER = {"iset": ("iset", "ints", "own", "coll"), "seq": ("seq", "ints", "coll"), "bag": ("bag", "ints", "coll")}
"""What else a field of a type is."""

_NARROWER: dict[str, tuple[str, ...]] = {
    "iset": ("iset", "mset"),
    "seq": ("seq", "mlist"),
    "dict": ("dict", "mdict"),
}
_NARROWER["coll"] = (*_NARROWER["iset"], *_NARROWER["seq"], *_NARROWER["dict"], "bag")
_NARROWER["ints"] = (*_NARROWER["coll"], "ints")
"""Which names are of a type."""

_RULES = {kind: lines_of(text) for kind, text in RULES.items()}
_STATEMENTS = [rule.strip("\n") for rule in STATEMENTS.split("---\n")]

_LETTER = re.compile(r"(?<![\w$!@'.])[A-FT-Z](?!\w)")
_KINDS = re.compile(r"\$[!@]?(\w+)")
_HOLE = re.compile(r"\$([!@]?)(\w+)(?:\(((?:\w+:\w+(?:, ?)?)+)\))?")
_NESTED = re.compile(r"( *)\$(block|function)(?:\(([^)]*)\))?")
_RETURN = re.compile(r"return \$R(?:\([^)]*\))?")
