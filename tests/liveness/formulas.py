"""Random temporal formulas on random graphs: what the checker says of them, and what is so.

``python -m tests.liveness.formulas 10000`` compares that many. ``--packed`` compares the compiled engine.
"""

from __future__ import annotations

import argparse
import functools
import operator
import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs

from leadline.checker import Formula, Limits, Property, Spec, Verdict, always, eventually, implies, now, step, temporal
from leadline.checker import until as until_
from leadline.checker.engines import oracle
from leadline.checker.engines.compiled.forms import explore
from leadline.checker.liveness import decide
from leadline.checker.liveness.graph import StateGraph
from leadline.checker.liveness.recheck import fault
from leadline.checker.settings import CompiledSettings, Tuning
from leadline.checker.trace import Trace
from tests.liveness.graphs import Drawn, Node, drawn, spec_of
from tests.reference.formulas import is_vacuous, judge, not_violated
from tests.reference.search import Search

DEEPEST = 4
"""The maximum depth of a formula; see `depth`."""


def depth(formula: Formula) -> int:
    """The number of operators on the longest way to a predicate, apart from "not"."""
    return max(map(depth, formula.operands), default=0) + (formula.operator not in ("not", "now", "step"))


def formula_of(graph: Drawn, seed: int) -> Formula:
    """A random formula over the states of a random graph, which is not about a single step. Every third one needs no
    automaton; half of these say several things, or of some states that they come before others.
    """
    chance = random.Random(seed)
    atoms = [*(_state(graph, chance) for _ in range(3)), *(_step(graph, chance) for _ in range(2))]
    if seed % 3 == 0:
        return ~_violation(atoms[:3], chance) if seed % 2 == 0 else _several(atoms, chance)

    def of(deep: int) -> Formula:
        if deep == 0 or (deep < DEEPEST - 1 and chance.random() < 0.15):
            return chance.choice(atoms)

        def deeper() -> Formula:
            return of(deep - 1)

        match chance.randrange(9):
            case 0:
                return ~deeper()
            case 1:
                return deeper() & deeper()
            case 2:
                return deeper() | deeper()
            case 3:
                return implies(deeper(), deeper())
            case 4 | 5:
                return always(deeper())
            case 6:
                return eventually(deeper())
        return until_(deeper(), deeper())

    found = of(DEEPEST)
    while found.is_of_steps or depth(found) < 3 or len([*_temporal(found)]) > 5:
        found = of(DEEPEST)
    return found


def _violation(atoms: list[Formula], chance: random.Random) -> Formula:
    """A random formula as in `leadline.checker.liveness.violation`."""

    def state() -> Formula:
        one, other = chance.choice(atoms), ~chance.choice(atoms)
        return chance.choice([one, other, one | other, ~one & ~other])

    parts = [state(), always(state()), always(eventually(state())), ~eventually(state()), ~eventually(always(state()))]
    formula = functools.reduce(operator.and_, chance.sample(parts[: chance.choice([3, 5])], chance.randint(1, 3)))
    return formula if chance.random() < 0.3 else eventually(formula)


def _several(atoms: list[Formula], chance: random.Random) -> Formula:
    """A random conjunction of negated formulas as `_violation` makes them, and of other formulas."""

    def later() -> Formula:
        found = _violation(atoms[:3], chance)
        for _ in range(chance.randrange(3)):
            state, again = chance.choice(atoms[:3]), always(eventually(chance.choice(atoms[:3])))
            found = eventually(found & chance.choice([state, ~state, state & again, again, eventually(always(state))]))
        return found

    while True:
        said = [~later() for _ in range(chance.randint(1, 3))]
        said += [always(chance.choice(atoms[3:]))] if chance.random() < 0.2 else []
        formula = functools.reduce(operator.and_, said)
        formula = always(formula) if chance.random() < 0.3 else formula
        if len(_temporal(formula)) <= 5:  # the twin's time doubles with each
            return formula


def _temporal(formula: Formula) -> list[Formula]:
    return [part for each in formula.operands for part in _temporal(each)] + [formula] * formula.is_temporal


def _state(graph: Drawn, chance: random.Random) -> Formula:
    true = frozenset(index for index in range(graph.size) if chance.random() < chance.choice((0.2, 0.5, 0.8)))

    def p(state: Any) -> bool:
        return state.at in true

    p.__name__ = f"in_{'_'.join(map(str, sorted(true)))}"
    return now(p)


def _step(graph: Drawn, chance: random.Random) -> Formula:
    likely = chance.choice((0.3, 0.6, 0.9))
    pairs = [(before, after) for before in range(graph.size) for after in range(graph.size)]
    true = frozenset(pair for pair in pairs if chance.random() < likely)

    def s(before: Any, after: Any) -> bool:
        return (before.at, after.at) in true

    s.__name__ = f"by_{'_'.join(f'{before}{after}' for before, after in sorted(true))}"
    return step(s)


def spec_with(seed: int) -> Spec[Node]:
    """A random graph with a random formula. It is often what is fair that makes it true. In a third of the graphs,
    hardly any behaviour stays among the known states, and the formula is mostly one that no beginning violates.
    """
    graph, formula, chance = drawn(seed), formula_of(drawn(seed), seed), random.Random(str(seed))
    if chance.random() < 0.35:
        graph = attrs.evolve(graph, cut=frozenset(at for at in range(graph.size) if chance.random() < 0.9))
        formula = eventually(formula) if len(_temporal(formula)) < 5 else formula

    @temporal("the formula", quiet=seed % 5 == 0)
    def item() -> Formula:
        return formula

    return attrs.evolve(spec_of(graph), properties=[item])


def said_in(spec: Spec[Node]) -> Iterator[str]:
    """What a formula and its graph have, of that of which many are to be compared."""
    (item,) = spec.properties
    operators = set(_operators(item.formula))
    if depth(item.formula) > 2:
        yield "depth three or more"
    yield from (each for each in ("until", "step") if each in operators)
    if any(fair.startswith("strong") for _, fair in spec.fair_groups):
        yield "a group with strong fairness"


def _operators(formula: Formula) -> list[str]:
    return [formula.operator, *(each for operand in formula.operands for each in _operators(operand))]


def compared(spec: Spec[Node], seed: int, *, packed: bool) -> tuple[Verdict, list[str]]:
    """Compare what the checker says of a random formula with what the twin says.

    Parameters:
        spec, seed: the formula and its graph, and from what they are; see `spec_with`.
        packed: whether to ask the compiled engine, with packed states, instead of the oracle's algorithm.

    Returns:
        The right verdict, and what is different.
    """
    (item,) = spec.checks
    twin = Search(spec)
    twin.run()
    right = judge(twin, item.formula, quiet=item.quiet)
    vacuous = right == "holds" and is_vacuous(twin, item.formula, quiet=item.quiet)
    if packed:
        (result,) = explore(spec, Limits(), None, CompiledSettings(workers=1, tuning=Tuning(learn_after=0))).properties
        said, never, traces = result.verdict.value, result.never, list(result.traces)
    else:
        search = oracle.OracleSearch(spec.with_properties([]), Limits())
        search.run()
        judged = decide.judged(StateGraph.of(spec, search.arrivals), item)
        said = "incomplete" if judged is None else "violated" if judged.trace is not None else "holds"
        never, traces = judged.never if judged else "", [judged.trace] if judged and judged.trace else []
    wrong = [] if said == right else [f"{seed}: said is {said}, so is {right}: {item.formula}"]
    wrong += [] if bool(never) == vacuous else [f"{seed}: said to be never: {never!r}, vacuous is {vacuous}"]
    wrong += [f"{seed}: {why}" for trace in traces if (why := _wrong(trace, item))]
    return Verdict(right), wrong


def _wrong(trace: Trace[Any], item: Property) -> str:
    """Why a counterexample is wrong, or an empty string."""
    if not all(each.after in trace.spec.take(each.instance, each.before) for each in trace.steps):
        return "a step is not possible"
    return not_violated(trace, item.formula) or fault(trace) or ""


def main() -> int:
    """Compare some formulas; returns 1 if any are different."""
    parser = argparse.ArgumentParser(prog="tests.liveness.formulas", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--packed", action="store_true", help="compare the compiled engine")
    given = parser.parse_args()
    counts, different = Counter[str](), 0
    for seed in range(given.seed, given.seed + given.count):
        spec = spec_with(seed)
        verdict, wrong = compared(spec, seed, packed=given.packed)
        counts[verdict.value] += 1
        counts.update(said_in(spec))
        different += bool(wrong)
        print(*wrong, sep="\n", end="\n" if wrong else "", flush=True)
    print(*(f"{name}: {count}" for name, count in sorted(counts.items())), f"different: {different}", sep=", ")
    return different > 0


if __name__ == "__main__":
    sys.exit(main())
