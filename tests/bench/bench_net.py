"""How often the net notices errors in one application of a thousand: ``python -m tests.bench.bench_net``.

It makes 100 searches of each size (``--searches``), prints how many notice, and fails if fewer than 97 of 100 do. If 99
of 100 are to be expected, this happens by chance in 1 of 50 runs of the script.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.specs.seeded_errors import is_noticed

SIZES = 45, 250
"""Sizes of grids: 2,025 states with some 30,000 applications, and 62,500 with a million."""

FEWEST = 0.97


def main() -> int:
    """Make the searches, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--searches", type=int, default=100, help="searches of each size")
    searches, is_good = parser.parse_args().searches, True
    for size in SIZES:
        began = time.process_time()
        noticed = sum(is_noticed(size, seed) for seed in range(searches))
        seconds = time.process_time() - began
        print(
            f"{size * size:,} states: {noticed} of {searches} searches notice; {seconds:.0f} s of CPU time", flush=True
        )
        is_good &= noticed >= FEWEST * searches
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
