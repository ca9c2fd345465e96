"""What liveness costs: ``python -m tests.bench.bench_liveness [737,794 | 9,985,570]``, as a Markdown table.

The safety search of `atomic/kip-320` is compared with the same search with three liveness properties, all of which hold
under the fairness of the public TLA+ module. TLC with one worker takes 5.3 times its safety search for 737,794 states.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

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


if __name__ == "__main__":
    print_table("states, safety, with liveness, ratio, peak bytes a state", rows(sys.argv[1:] or list(EPOCHS)))
