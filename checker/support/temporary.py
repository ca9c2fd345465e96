"""Temporary folders that only this user can access.

A folder is removed after use. If the process that created it is killed, a later process removes the folder.
"""

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
"""The name of the lock file. Only folders that contain a file with this name are removed, so no other folder of the
user is removed."""

_YOUNG_SECONDS = 60
"""The age in seconds below which folders are not removed, because their process may not have locked them yet."""


@contextmanager
def private_folder() -> Iterator[Path]:
    """Return a context manager that creates a private folder and removes it at the end of the ``with`` block.

    Raises:
        OSError: if the folder cannot be created.
    """
    _remove_abandoned()
    folder, owner = Path(tempfile.mkdtemp(prefix=_PREFIX)), os.getpid()
    lock = FolderLock(folder, _LOCK)
    try:
        yield folder
    finally:
        if os.getpid() == owner:  # not in a forked child
            lock.release()
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned() -> None:
    """Remove the folders that this user's processes left behind when they were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, LeadlineError):
            found = folder.lstat()
            is_old = time.time() - found.st_mtime > _YOUNG_SECONDS
            if found.st_uid == os.getuid() and is_old and not is_locked(folder / _LOCK):
                shutil.rmtree(folder, ignore_errors=True)


def own_folder(name: str) -> Path:
    """Return the path of a temporary folder that is shared by all processes of this user on this machine.

    The folder is created if it does not exist. No other user can access it.

    Parameters:
        name: a part of the folder's name.

    Raises:
        LeadlineError: if another user owns the folder or can access it.
    """
    folder = Path(tempfile.gettempdir()) / f"leadline-{name}-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise LeadlineError(f"{folder} exists, but is not a folder that only you can access: remove it")
    return folder
