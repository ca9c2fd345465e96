"""What liveness costs: ``python -m tests.bench.bench_liveness [737,794 | 9,985,570]``, as a Markdown table.

The safety search of `atomic/kip-320` is compared with the same search with three liveness properties, all of which hold
under the fairness of the public TLA+ module. TLC with one worker takes 5.3 times its safety search for 737,794 states.

``python -m tests.bench.bench_liveness formulas`` compares the three properties with the same ones as formulas, and as
conjunctions with another formula, which are decided one by one, and as formulas that need an automaton.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import attrs

from leadline.checker import Formula, Kind, Limits, Property, always, eventually, implies, temporal, until
from leadline.checker.engines.compiled.forms import explore
from leadline.checker.engines.compiled.liveness import LivenessCheck
from leadline.checker.formulas import Statement
from leadline.checker.settings import CompiledSettings
from leadline.invariants.catalog import CATALOG
from tests.bench.bench import LARGE, print_table, run

EPOCHS = {"737,794": 2, "9,985,570": 3}
SAFETY = ["-i", "weak_isr", "-i", "strong_isr"]
LIVENESS = [word for name in ("leader_learns", "followers_learn", "all_written") for word in ("-i", name)]


def rows(names: list[str]) -> Iterator[tuple[str, ...]]:
    """A row for each size: user CPU time from the shell with and without liveness, their ratio, and peak memory."""
    for name in names:
        common = ["atomic/kip-320", "-b", f"{LARGE},max_epoch={EPOCHS[name]}"]
        safety, liveness = run([*common, *SAFETY]), run([*common, *SAFETY, *LIVENESS])
        if not safety.states == liveness.states == name:
            raise SystemExit(f"there are {safety.states} and {liveness.states} states, not {name}")
        yield (
            name,
            f"{safety.user:.1f} s",
            f"{liveness.user:.1f} s",
            f"{liveness.user / safety.user:.2f}",
            f"{liveness.peak / liveness.result['distinct_states']:.0f}",
        )


def anything(state: object) -> bool:
    """True of every state."""
    return True


def nothing(state: object) -> bool:
    """True of no state."""
    return False


WAYS: dict[str, Callable[[Formula], Formula]] = {
    "as formulas": lambda formula: formula,
    "as conjunctions": lambda formula: formula & always(eventually(anything)),
    "with an automaton": lambda formula: formula | until(nothing, nothing),
}


def in_words(item: Property, way: Callable[[Formula], Formula]) -> Property:
    """A property as a formula, written in one of `WAYS`."""
    true = cast(Statement, item.function)
    formulas: dict[Kind, Callable[[], Formula]] = {
        Kind.EVENTUALLY_ALWAYS: lambda: eventually(always(true)),
        Kind.LEADS_TO: lambda: always(implies(cast(Statement, item.premise), eventually(true))),
    }

    @temporal(item.sentence)
    def made() -> Formula:
        return way(formulas[item.kind]())

    return attrs.evolve(made, name=item.name)


def words(times: int = 3) -> Iterator[tuple[str, ...]]:
    """A row for each way to write the properties: the CPU time of the decisions, and of all, and both ratios."""
    spec = CATALOG["atomic/kip-320"].with_bounds({"brokers": 3, "log_size": 2, "records": 2, "max_epoch": 2})
    given = [item for item in spec.optional if item.name in LIVENESS]
    ways = {"as kinds": given} | {name: [in_words(item, way) for item in given] for name, way in WAYS.items()}
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(times):
        for name, items in ways.items():
            costs[name].append(_cost(attrs.evolve(spec, properties=items, optional=())))
    least = {name: [min(column) for column in zip(*found, strict=True)] for name, found in costs.items()}
    for name, (decided, whole) in least.items():
        first = least["as kinds"]
        yield name, f"{decided:.3f} s", f"{decided / first[0]:.2f}", f"{whole:.2f} s", f"{whole / first[1]:.2f}"


def _cost(spec: Any) -> tuple[float, float]:
    """The CPU seconds in which liveness is decided, and those of the whole search."""
    spent, judged = 0.0, LivenessCheck.judged

    def timed(self: LivenessCheck[Any], item: Property) -> Any:
        nonlocal spent
        began = time.process_time()
        found = judged(self, item)
        spent += time.process_time() - began
        return found

    LivenessCheck.judged = timed  # type: ignore[method-assign]
    try:
        began = time.process_time()
        result = explore(spec, Limits(), None, CompiledSettings(workers=1))
        whole = time.process_time() - began
    finally:
        LivenessCheck.judged = judged  # type: ignore[method-assign]
    if result.statistics.distinct != 737_794 or result.verdict.value != "holds":
        raise SystemExit(f"{result.verdict.value}: {result.statistics.distinct:,} states")
    return spent, whole


if __name__ == "__main__":
    if sys.argv[1:] == ["formulas"]:
        print_table("written, decided, ratio, whole search, ratio", words())
        raise SystemExit
    print_table("states, safety, with liveness, ratio, peak bytes a state", rows(sys.argv[1:] or list(EPOCHS)))
