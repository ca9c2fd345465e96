"""Set a fixed seed for the hashes of strings, so that repeated runs of a command give identical results.

Python chooses a new seed for the hashes of strings in each process, so the order of a set of strings differs between
runs. Python reads the seed only at startup, so the command restarts itself before it imports any large module. Helper
processes and Spark workers inherit the seed. Some hashes depend on a memory address: those of functions, of classes,
and (before Python 3.12) of None. These hashes still differ between runs; see `leadline.checker.engines.set_order`.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

SEED = "0"
"""The seed used if the user has not chosen one. It disables randomization."""


def fix_hash_seed() -> None:
    """Restart this process with a fixed hash seed, unless the seed is already fixed. Open files stay open."""
    if os.environ.get("PYTHONHASHSEED", "") not in ("", "random"):
        return
    if sys.flags.ignore_environment or not sys.executable or "-" in sys.orig_argv[1:2]:
        return  # Python would not read the variable, or the script comes from standard input and has been read
    os.environ["PYTHONHASHSEED"] = SEED
    with suppress(OSError):
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
