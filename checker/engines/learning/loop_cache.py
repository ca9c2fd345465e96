"""Stores the code that Numba compiles in a cache on disk. The code is stored next to the source or in the user's cache
folder. If Numba can write to neither of them, for example in a container with a read-only file system and no home
folder, a temporary folder is used, because Numba does not compile without a writable folder. Cached code is used until
one of the files in `SOURCES` changes. By default, Numba checks only the file that contains the loop, so it would keep
using outdated constants, inlined functions and named tuples from the other files.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import logging
import os
import pkgutil
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile

from leadline.checker.errors import LeadlineError
from leadline.checker.support.temporary import private_folder

SOURCES = (
    "observing/step_slots.py",
    "engines/learning/arrays.py",
    "engines/learning/trees.py",
    "engines/compiled/kernel.py",
    "engines/compiled/orbit_loops.py",
    "engines/compiled/quotient_loops.py",
    "engines/compiled/graph_loops.py",
    "engines/random/kernel.py",
)
"""The files of `leadline.checker` that contain compiled loops or names that compiled loops use."""

_log = logging.getLogger("leadline")


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator like `numba.njit` that caches the compiled code until a file in `SOURCES` changes.

    Parameters:
        options: the options of `numba.njit`, except ``cache``.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(cache=True, **options)(function)
        if not vars(numba.config)["DISABLE_JIT"]:
            dispatcher._cache._cache_file._source_stamp = _stamp()
        return dispatcher

    return compiled


@functools.cache
def _stamp() -> str:
    """Return a hash of the contents of the files in `SOURCES`. It does not depend on their locations or modification
    times.
    """
    digest = hashlib.sha256()
    for name in SOURCES:
        digest.update(pkgutil.get_data("leadline.checker", name) or b"")  # also works if the package is in a zip file
    return digest.hexdigest()


def ensure_cache() -> None:
    """Make sure that Numba can write to a cache folder. If necessary, create a temporary folder.

    Raises:
        LeadlineError: if no folder is writable.
    """
    type.__setattr__(IndexDataCacheFile, "save", _save_if_possible)
    if _can_cache():
        return
    stack = ExitStack()
    try:
        folder = str(stack.enter_context(private_folder()))
    except OSError as error:
        raise LeadlineError(
            f"no folder for compiled code is writable: set NUMBA_CACHE_DIR to a writable folder ({error})"
        ) from error
    atexit.register(stack.close)
    vars(numba.config)["CACHE_DIR"] = folder
    os.environ["NUMBA_CACHE_DIR"] = folder  # for child processes
    _log.warning("compiled code cannot be saved, so every run compiles it: set NUMBA_CACHE_DIR to a writable folder")


_save: Callable[[IndexDataCacheFile, object, object], None] = IndexDataCacheFile.save


def _save_if_possible(self: IndexDataCacheFile, key: object, data: object) -> None:
    """Save compiled code, or log a warning if it cannot be written. This function replaces a method of Numba."""
    try:
        _save(self, key, data)
    except OSError as error:
        _note(error.strerror or str(error))


@functools.cache
def _note(reason: str) -> None:
    """Log a warning that explains why compiled code was not saved. Log each reason only once."""
    _log.warning("compiled code was not saved: %s", reason)


def _can_cache() -> bool:
    try:
        numba.njit(cache=True)(_nothing)
    except RuntimeError:  # "cannot cache function ...: no locator available"
        return False
    return True


def _nothing() -> None:
    """Do nothing. `_can_cache` passes this function to Numba, to test whether Numba can cache code from this folder."""
