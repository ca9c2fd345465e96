"""Compares the engines with the twin on random specs of hostile kinds: ``python -m tests.reference 1000 --seed 1``.

``--show 'drawn 17 mutant'`` prints a spec.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from leadline.checker import SpecError
from tests.reference.compare import (
    CHANGING,
    DEFAULT,
    FORKED,
    LEARNING,
    ON_DISK,
    ORACLE,
    RESUMED,
    RESUMED_DIRECT,
    RESUMED_ON_DISK,
    SMALL,
    SPARK,
    Way,
    compare,
    without_liveness,
)
from tests.reference.grammar import KINDS
from tests.reference.specs import Text, pair, refused, unload

OTHERS = (LEARNING, RESUMED, ON_DISK, SMALL, RESUMED_DIRECT, CHANGING, RESUMED_ON_DISK, ON_DISK, FORKED)
"""The ways that are taken by turns, for each spec one."""

REFUSED = ("door", "equal", "constants", "objects")
"""The kinds of which there are specs that are to be refused."""


def ways(number: int, *, spark: bool = False) -> Sequence[Way]:
    """Return the ways to search the spec of a number. The cheap ones are always taken, the others for some specs."""
    if spark:
        return (ORACLE, SPARK)
    return (ORACLE, DEFAULT, OTHERS[number % len(OTHERS)])


def texts(kind: str, seed: int) -> Iterator[Text]:
    """Yield the specs of a kind and a seed."""
    yield from pair(kind, seed)
    if kind in REFUSED and (found := refused(kind, seed)):
        yield found


def check(text: Text, used: Sequence[Way], *, keep_going: bool) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Compare ways to search a spec with the twin; see `compare`."""
    try:
        spec = text.load()
    except SpecError as error:
        is_right = text.name.endswith("refused")
        return "refused", {} if is_right else {"import": (f"refused: {error}",)}
    try:
        told = without_liveness(spec) if SPARK in used else spec
        return compare(told, used, keep_going=keep_going, is_ordered=text.is_ordered)
    finally:
        unload(spec)


def main() -> int:
    """Compare some specs; returns 1 if any are different."""
    parser = argparse.ArgumentParser(prog="tests.reference", description=__doc__)
    parser.add_argument(
        "seeds", type=int, nargs="?", default=10, help="seeds for each kind, each of two or three specs"
    )
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="only this kind (several are possible)")
    parser.add_argument("--show", metavar="NAME", help="print a spec, for example 'drawn 17 mutant'")
    parser.add_argument("--all-ways", action="store_true", help="take every way to search, except Spark, for each spec")
    parser.add_argument("--spark", action="store_true", help="compare Spark instead of the compiled engine")
    parser.add_argument("--most", type=int, default=1, help="stop after this number of specs that differ (1)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    given = parser.parse_args()
    if given.show:
        kind, seed, _ = given.show.split()
        print(*[text.text for text in texts(kind, int(seed)) if text.name == given.show], sep="\n")
        return 0
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in given.kind or KINDS}
    began, different = time.monotonic(), 0
    try:
        for seed in range(given.seed, given.seed + given.seeds):
            for kind, counted in counts.items():
                for place, text in enumerate(texts(kind, seed)):
                    if different >= given.most or time.monotonic() - began > given.seconds:
                        return different > 0
                    used = ways(seed + place, spark=given.spark)
                    if given.all_ways:
                        used = (ORACLE, DEFAULT, *dict.fromkeys(OTHERS))
                    keep_going = seed % 3 != 2
                    verdict, found = check(text, used, keep_going=keep_going)
                    counted[verdict] += 1
                    if found:
                        different += 1
                        counted["different"] += 1
                        print(f"{text.name}{'' if keep_going else ' (stops at the first violation)'}")
                        for told in dict.fromkeys(found.values()):
                            said_by = ", ".join(way for way, each in found.items() if each == told)
                            print(f"  {said_by}:", *told, sep="\n    ", flush=True)
        return different > 0
    finally:
        names = ("holds", "violated", "incomplete", "refused", "different")
        print(f"{'':12}", *(f"{name:>10}" for name in names))
        for kind, counted in counts.items():
            print(f"{kind:12}", *(f"{counted[name]:>10}" for name in names))
        print(f"{time.monotonic() - began:.0f} s, {time.process_time():.0f} s of CPU time")


if __name__ == "__main__":
    sys.exit(main())
