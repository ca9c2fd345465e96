"""A fixed hash seed, so that identical runs of the command are identical.

Python draws a new seed for the hashes of strings in each process, and with it another order of sets of strings. The
seed is read when Python starts, so the command starts once more, before anything heavy is imported. Helper processes
and Spark's workers inherit the seed. Hashes that depend on an address (of functions, of classes, and of None before
Python 3.12) still differ between runs: see `leadline.checker.engines.set_order`.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

SEED = "0"
"""The seed where the user has not chosen one: no randomization."""


def fix_hash_seed() -> None:
    """Start this process again with a fixed seed, unless it has one. The arguments, files and signals stay."""
    if os.environ.get("PYTHONHASHSEED", "") not in ("", "random"):
        return
    if sys.flags.ignore_environment or not sys.executable or "-" in sys.orig_argv[1:2]:
        return  # Python would not read the variable, or the script comes from standard input and has been read
    os.environ["PYTHONHASHSEED"] = SEED
    with suppress(OSError):
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
