"""Set a fixed seed for the hashes of strings, so that repeated runs of a command give identical results.

Python chooses a new seed for the hashes of strings in each process, so the order of a set of strings differs between
runs. Python reads the seed only at startup, so the command restarts itself before it imports any large module. Helper
processes and Spark workers inherit the seed.

Before Python 3.12, the hash of None is its address in memory, which Linux chooses anew for each process. There, the
restarted process and those that it starts have the same addresses in each run, if the system permits it. Elsewhere, and
with a seed that the user has chosen, another counterexample of the same length may be shown; see
`leadline.checker.engines.set_order`.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

SEED = "0"
"""The seed used if the user has not chosen one. It disables randomization."""

ADDR_NO_RANDOMIZE = 0x0040000
"""The flag of a process that has the same addresses in each run; see personality(2) of Linux."""


def fix_hash_seed() -> None:
    """Restart this process with a fixed hash seed, unless the seed is already fixed. Open files stay open."""
    if os.environ.get("PYTHONHASHSEED", "") not in ("", "random"):
        return
    if sys.flags.ignore_environment or not sys.executable or "-" in sys.orig_argv[1:2]:
        return  # Python would not read the variable, or the script comes from standard input and has been read
    os.environ["PYTHONHASHSEED"] = SEED
    if sys.version_info < (3, 12) and sys.platform == "linux":
        with suppress(ImportError, OSError, AttributeError):
            import ctypes  # it takes a hundredth of a second

            personality = ctypes.CDLL(None).personality
            personality(personality(0xFFFFFFFF) | ADDR_NO_RANDOMIZE)  # the large number asks for the present flags
    with suppress(OSError):
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
