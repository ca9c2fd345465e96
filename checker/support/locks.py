"""Locks on folders, which prevent two searches from writing to the same folder.

A lock is a `flock` on a file in the folder. The operating system releases the lock when the process ends, for whatever
reason. On a network file system, the lock also excludes processes on other machines if the file system supports such
locks. NFS supports them in Linux 2.6.12 and later. Lustre and GPFS support them only if they are enabled.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import weakref
from contextlib import suppress
from pathlib import Path

from leadline.checker.errors import LeadlineError


class FolderLock:
    """A lock on a folder, which is acquired when the object is created.

    Parameters:
        folder: the folder, which must exist.
        name: the name of the lock file in the folder.

    Attributes:
        note: a warning that the file system does not support locks, or an empty string if it does.

    Raises:
        LeadlineError: if another process holds the lock, or if the lock file cannot be written.
    """

    def __init__(self, folder: Path, name: str = "lock") -> None:
        self._path, self.note = folder / name, ""
        try:
            self._descriptor = self._locked(folder)
        except OSError as error:
            raise LeadlineError(f"cannot write {self._path}: {error.strerror or error}") from error
        _held.add(self)

    def _locked(self, folder: Path) -> int:
        while True:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError) as error:  # some network file systems raise the latter
                using = owner_named(os.read(descriptor, 4096))
                os.close(descriptor)
                raise LeadlineError(
                    f"{using} is using {folder}: wait until that search ends, or choose another folder"
                ) from error
            except OSError as error:
                self.note = (
                    f"{folder} could not be locked, so another search could overwrite it: {error.strerror or error}"
                )
            if self.note or _is_same_file(descriptor, self._path):
                with suppress(OSError):  # on a full disk, the lock works but does not name its owner
                    os.truncate(descriptor, 0)
                    os.write(descriptor, owner())
                return descriptor
            os.close(descriptor)  # another process deleted the file after this process had opened it

    def release(self) -> None:
        """Release the lock and delete the lock file.

        This has no effect if the lock has already been released, or in a forked child process.
        """
        if self in _held:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            self.close()

    def close(self) -> None:
        """Close the lock file without deleting it.

        The folder stays locked while another process, such as the parent of a forked process, has the same file open.
        """
        _held.discard(self)
        os.close(self._descriptor)


_held: weakref.WeakSet[FolderLock] = weakref.WeakSet()
"""The locks that this process holds. A forked child process closes them."""


def is_locked(path: Path) -> bool:
    """Return whether a process holds a lock on a file.

    Raises:
        OSError: if the file does not exist or cannot be opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def owner(**more: object) -> bytes:
    """Return JSON that contains the process id and the host name of this process.

    The JSON is written to a lock file, so that other processes can name this process in their error messages.

    Parameters:
        more: additional entries for the JSON object.
    """
    return json.dumps({"process": os.getpid(), "host": socket.gethostname(), **more}).encode()


def owner_named(data: bytes) -> str:
    """Describe the process that wrote a lock file, for use at the beginning of an error message.

    Parameters:
        data: the content of the lock file, as returned by `owner`.
    """
    try:
        found = json.loads(data)
        return f"another search (process {int(found['process'])} on {ascii(str(found['host']))[1:-1][:100]})"
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return "another search"  # the owner has not written its name yet


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _forget_in_child() -> None:
    for lock in list(_held):
        lock.close()


os.register_at_fork(after_in_child=_forget_in_child)
