"""The cache of compiled code.

Compiled code is stored beside the source, or in the user's cache folder, or else in a temporary folder. Numba refuses
to compile if it can write to neither of the first two, as in a container with a read-only root and no home folder. The
code is used until one of the files changes from which loops are compiled. Numba itself would notice only a change in a
loop's own file, and would keep using code with outdated constants, inlined functions and named-tuple fields from the
rest of the files.
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
    "engines/random/arrays.py",
    "engines/random/kernel.py",
)
"""The files of `leadline.checker` from which loops are compiled: those of the loops and of the names they use."""

_log = logging.getLogger("leadline")


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator like `numba.njit` with the cache, for a loop or for a function that is inlined in a loop.

    Parameters:
        options: the options of `numba.njit`.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(cache=True, **options)(function)
        if not vars(numba.config)["DISABLE_JIT"]:
            dispatcher._cache._cache_file._source_stamp = _stamp()
        return dispatcher

    return compiled


@functools.cache
def _stamp() -> str:
    """Return a hash of the contents of the sources. A fresh clone has the same hash and can reuse compiled code."""
    digest = hashlib.sha256()
    for name in SOURCES:
        digest.update(pkgutil.get_data("leadline.checker", name) or b"")  # from a zip too
    return digest.hexdigest()


def ensure_cache() -> None:
    """Make sure that compiled code can be stored, at least in a folder that is deleted when this process ends.

    Raises:
        LeadlineError: no folder is writable.
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
    """Save compiled code like Numba's own method, which this replaces, but do not fail if the disk is full."""
    try:
        _save(self, key, data)
    except OSError as error:
        _note(error.strerror or str(error))


@functools.cache
def _note(reason: str) -> None:
    """Warn once that compiled code is not stored, with the reason."""
    _log.warning("compiled code was not saved: %s", reason)


def _can_cache() -> bool:
    try:
        numba.njit(cache=True)(_nothing)
    except RuntimeError:  # "cannot cache function ...: no locator available"
        return False
    return True


def _nothing() -> None:
    """Do nothing. This function is in the same folder as the loops, so it tests whether they can be cached."""
