"""Compares what is learned of random programs with direct calls: ``python -m tests.programs 10000 --seed 1``."""

from __future__ import annotations

import argparse
import ast
import gc
import linecache
import sys
import time
import warnings
from collections import Counter

from tests.programs import properties
from tests.programs.programs import source, spec_of
from tests.programs.properties import PROPERTIES
from tests.programs.search import Counts, Different, compare, compare_properties

RANDOMLY = 16
"""One program in this number is searched at random too."""

PROGRAMS = 10**6
"""Programs of one seed; more would be those of the next."""

_SHOWN = {
    ast.AugAssign: "in-place operators",
    ast.ClassDef: "classes",
    ast.DictComp: "dictionary comprehensions",
    ast.For: "loops",
    ast.GeneratorExp: "generator expressions",
    ast.Lambda: "lambdas",
    ast.ListComp: "list comprehensions",
    ast.Match: "match statements",
    ast.NamedExpr: "assignment expressions",
    ast.Nonlocal: "nonlocal",
    ast.SetComp: "set comprehensions",
    ast.Try: "try statements",
    ast.While: "while loops",
    ast.YieldFrom: "yield from",
    ast.Break: "break",
    ast.Continue: "continue",
    ast.Return: "return",
}


def constructs(text: str) -> Counter[str]:
    """How often a program uses what."""
    found = Counter[str]()
    for node in ast.walk(ast.parse(text)):
        if type(node) in _SHOWN:
            found[_SHOWN[type(node)]] += 1
        if isinstance(node, ast.For) and node.orelse:
            found["loops with else"] += 1
        elif isinstance(node, ast.FunctionDef):
            inner = [part for part in ast.walk(node) if part is not node]
            found["functions"] += 1
            found["nested functions"] += sum(isinstance(part, ast.FunctionDef) for part in inner)
            found["recursive functions"] += any(
                isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == node.name
                for part in inner
            )
        elif isinstance(node, ast.Call):
            called = node.func
            found[f"{called.id}()" if isinstance(called, ast.Name) else "methods"] += 1
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.BitXor):
            found["operators of sets"] += 1
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            found["in"] += 1
    return found


def main() -> int:
    """Compare some programs; returns 1 if any are different."""
    parser = argparse.ArgumentParser(prog="tests.programs", description=__doc__)
    parser.add_argument("programs", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--properties",
        action="store_true",
        help=f"compare random properties that are divided into parts, {PROPERTIES} in a program",
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    given = parser.parse_args()
    warnings.simplefilter("ignore", SyntaxWarning)
    began, total, used = time.process_time(), Counts(), Counter[str]()
    searched = different = compared = 0
    gc.freeze()
    for place in range(given.first, given.first + given.programs):
        seed = given.seed * PROGRAMS + place
        text = properties.source(seed) if given.properties else source(seed)
        used += constructs(text)
        try:
            if given.properties:
                counts, checked = compare_properties(text, seed)
                compared += checked
            else:
                counts = compare(spec_of(text, f"program {seed}"), randomly=place % RANDOMLY == 0)
            total = total.plus(counts)
        except KeyboardInterrupt:
            break
        except Exception as error:  # of any kind: a crash is a difference too
            different += 1
            kind = "" if isinstance(error, Different) else f"{type(error).__name__}: "
            print(f"program {seed} is different: {kind}{error}", flush=True)
        searched += 1
        linecache.cache.pop(f"<program {seed}>", None)
        linecache.cache.pop(f"<properties {seed}>", None)
        if place % 100 == 99:
            print(f"{place + 1:,} programs, {different} different", file=sys.stderr, flush=True)
    print(f"{searched:,} programs, {different} different, {total.refused} refused by direct calls too")
    if given.properties:
        print(f"{compared:,} properties compared")
    print(f"{total.states:,} states, {time.process_time() - began:,.0f} seconds of processor time")
    print(
        f"{total.learned:,} calls learned from, {total.partial / max(total.learned, 1):.1%} of which read less than the"
        f" whole state, {total.members / max(total.learned, 1):.1%} a part of a collection; applied"
        f" {total.applied:,} times"
    )
    print(", ".join(f"{count:,} {name}" for name, count in used.most_common()))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
