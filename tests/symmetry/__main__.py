"""Compares searches with symmetry with all permutations, on random specs: ``python -m tests.symmetry 1000 --seed 1``.

Half of the specs name a node somewhere: most of them are not symmetric, and have to be refused.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest import mock

from leadline.checker import Limits, Result, Spec, SpecError
from leadline.checker.engines import explore, oracle
from leadline.checker.engines.learning.learn_or_call import Effort
from leadline.checker.engines.symmetric import SymmetricSearch
from leadline.checker.settings import CompiledSettings, Tuning
from tests.reference.specs import unload
from tests.symmetry.generated import NotTried, text, truth

Way = Callable[[Spec[Any], Limits], Result]


def by_oracle(spec: Spec[Any], limits: Limits) -> Result:
    """Search with the oracle."""
    return oracle.explore(spec, limits, kind=SymmetricSearch)


def compiled(spec: Spec[Any], limits: Limits) -> Result:
    """Search with the compiled engine."""
    return explore(spec, limits, settings=CompiledSettings(symmetry=True))


def called(spec: Spec[Any], limits: Limits) -> Result:
    """Search with the compiled engine, and learn nothing: each result is that of a call."""
    with mock.patch.object(Effort, "is_worthwhile", return_value=False):
        return compiled(spec, limits)


def in_small_blocks(spec: Spec[Any], limits: Limits) -> Result:
    """Search with the compiled engine: small blocks, and parts of states split soon."""
    tuning = Tuning(block=7, alone=3, asked=2, waiting=3, always=5, apart_after=3, many_values=3)
    return explore(spec, limits, settings=CompiledSettings(symmetry=True, workers=2, verify=0.2, tuning=tuning))


WAYS: dict[str, Way] = {"oracle": by_oracle, "compiled": compiled, "called": called, "small": in_small_blocks}


def compared(seed: int, ways: dict[str, Way], *, most: int, is_odd: bool) -> tuple[str, list[str]]:
    """Return what became of a spec, and how the ways to search it differ from the truth."""
    spec = text(seed, is_odd=is_odd).load()
    try:
        try:
            known = truth(spec, most)
        except NotTried:
            return "not tried", []
        wrong = []
        for name, way in ways.items():
            try:
                result = way(spec, Limits(keep_going=True))
            except SpecError as error:
                if known.is_symmetric or "is not symmetric" not in str(error):
                    wrong.append(f"{name} refuses it: {error}")
                continue
            if not known.is_symmetric:
                wrong.append(f"{name} does not refuse it")
                continue
            now = result.statistics
            assert now.orbits is not None
            if (now.orbits.states, now.distinct, now.depth) != (known.states, known.orbits, known.depth):
                wrong.append(f"{name}: {now.orbits.states}, {now.distinct}, {now.depth} instead of {known}")
            lengths = {item.property.name: len(item.traces[0]) for item in result.properties if item.traces}
            if lengths != known.lengths:
                wrong.append(f"{name}: {lengths} instead of {known.lengths}")
            wrong += [f"{name}: {fault}" for item in result.properties for fault in faults(item.traces)]
        return ("symmetric" if known.is_symmetric else "refused"), wrong
    finally:
        unload(spec)


def faults(traces: tuple[Any, ...]) -> list[str]:
    """Return why traces cannot be replayed with the functions of the spec."""
    found = []
    for trace in traces:
        if trace.states[0] not in trace.spec.initials():
            found.append(f"a trace begins in {trace.states[0]}")
        for step in trace.steps:
            if step.after not in step.instance.action.function(step.before, **step.arguments):
                found.append(f"{step.instance} does not lead from {step.before} to {step.after}")
        about = trace.about
        if about.kind.value != "deadlock":
            end = trace.states[-2:] if about.kind.of_steps else trace.states[-1:]
            if about(*end) != about.kind.is_witness:
                found.append(f"{about.name} is not seen at the end of its trace")
    return found


def main() -> int:
    """Compare some specs; returns 1 if any differ."""
    parser = argparse.ArgumentParser(prog="tests.symmetry", description=__doc__)
    parser.add_argument("specs", type=int, nargs="?", default=100, help="the number of specs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--most", type=int, default=2_000, help="the maximum number of states of a spec")
    parser.add_argument("--way", action="append", choices=sorted(WAYS), help="only this way to search")
    parser.add_argument("--show", action="store_true", help="print the spec of the first seed")
    given = parser.parse_args()
    if given.show:
        print(text(given.seed // 2, is_odd=given.seed % 2 == 1).text)
        return 0
    ways = {name: way for name, way in WAYS.items() if not given.way or name in given.way}
    counts, began, different = Counter[str](), time.monotonic(), 0
    for number in range(given.seed, given.seed + given.specs):
        kind, wrong = compared(number // 2, ways, most=given.most, is_odd=number % 2 == 1)
        counts[kind] += 1
        different += bool(wrong)
        if wrong:
            print(f"{number}:", *wrong, sep="\n  ", flush=True)
    print(dict(counts), f"{different} different, {time.monotonic() - began:.0f} s")
    return different > 0


if __name__ == "__main__":
    sys.exit(main())
