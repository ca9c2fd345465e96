"""Where compiled code is kept, and for how long.

It is kept beside the source, or in the user's cache, or else in a temporary folder: Numba refuses to compile if it can
write to neither of the first two, as in a container with a read-only root and no home. It is used until one of the
files changes that any loop is compiled from. Numba itself would notice a change in a loop's own file only, and go on
with code that has the constants, the inlined functions and the fields of named tuples of the others as they were.
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
"""Files of `leadline.checker` that loops are compiled from: their own, and those of the names that they use."""

_log = logging.getLogger("leadline")


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with its cache, for a loop or a function inlined in one.

    Parameters:
        options: of `numba.njit`.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(cache=True, **options)(function)
        if not vars(numba.config)["DISABLE_JIT"]:
            dispatcher._cache._cache_file._source_stamp = _stamp()
        return dispatcher

    return compiled


@functools.cache
def _stamp() -> str:
    """What the sources hold, and not when they were written: a fresh clone can use what another has compiled."""
    digest = hashlib.sha256()
    for name in SOURCES:
        digest.update(pkgutil.get_data("leadline.checker", name) or b"")  # from a zip too
    return digest.hexdigest()


def ensure_cache() -> None:
    """Keep compiled code until this process ends, if it cannot be kept for longer.

    Raises:
        LeadlineError: no folder can be written to.
    """
    type.__setattr__(IndexDataCacheFile, "save", _save_if_possible)
    if _can_cache():
        return
    stack = ExitStack()
    try:
        folder = str(stack.enter_context(private_folder()))
    except OSError as error:
        raise LeadlineError(f"no folder for compiled code can be written to: set NUMBA_CACHE_DIR ({error})") from error
    atexit.register(stack.close)
    vars(numba.config)["CACHE_DIR"] = folder
    os.environ["NUMBA_CACHE_DIR"] = folder  # for child processes
    _log.warning("compiled code cannot be kept, so every run compiles it: set NUMBA_CACHE_DIR to a writable folder")


_save: Callable[[IndexDataCacheFile, object, object], None] = IndexDataCacheFile.save


def _save_if_possible(self: IndexDataCacheFile, key: object, data: object) -> None:
    """Replaces Numba's own method, which ends the program if the disk is full."""
    try:
        _save(self, key, data)
    except OSError as error:
        _note(error.strerror or str(error))


@functools.cache
def _note(reason: str) -> None:
    """Say once why compiled code is not kept."""
    _log.warning("compiled code was not kept: %s", reason)


def _can_cache() -> bool:
    try:
        numba.njit(cache=True)(_nothing)
    except RuntimeError:  # "cannot cache function ...: no locator available"
        return False
    return True


def _nothing() -> None:
    """A function in the same folder as those that are compiled."""
