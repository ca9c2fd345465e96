"""Temporary folders: private and removed at the end. If a process is killed, a later one removes its folder."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from leadline.checker.errors import LeadlineError
from leadline.checker.support.locks import FolderLock, is_locked

_PREFIX = "leadline-temporary-"

_LOCK = "temporary.lock"
"""The file that marks such a folder. No other has it, so nothing that a user made is ever removed."""

_YOUNG_SECONDS = 60
"""Seconds in which a new folder may not be locked yet."""


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder that nobody else can read or write, removed at the end of this block.

    Raises:
        OSError: it cannot be made.
    """
    _remove_abandoned()
    folder, owner = Path(tempfile.mkdtemp(prefix=_PREFIX)), os.getpid()
    lock = FolderLock(folder, _LOCK)
    try:
        yield folder
    finally:
        if os.getpid() == owner:  # not in a process that was forked
            lock.release()
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned() -> None:
    """Remove the folders of this user's processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, LeadlineError):
            found = folder.lstat()
            is_old = time.time() - found.st_mtime > _YOUNG_SECONDS
            if found.st_uid == os.getuid() and is_old and not is_locked(folder / _LOCK):
                shutil.rmtree(folder, ignore_errors=True)


def own_folder(name: str) -> Path:
    """A temporary folder that all processes of this user on this host share, and nobody else can use.

    Parameters:
        name: part of the folder's name, the same in all processes.

    Raises:
        LeadlineError: somebody else made it, or can use it.
    """
    folder = Path(tempfile.gettempdir()) / f"leadline-{name}-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise LeadlineError(f"{folder} must be a folder that only you can use: remove it")
    return folder
