"""Claims to work directories, which ensure that only one search at a time uses a directory.

On a local file system, the directory is locked. The other file systems of pyarrow do not have locks, and the clocks of
different machines may differ. On these file systems, the search that owns the directory rewrites a claim file every few
seconds. A search that finds a claim file watches it for some time, and takes over the directory if the file does not
change. If the former owner was only suspended, it notices that the directory was taken over before it writes its next
level, and stops.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from leadline.checker.engines.compiled.storage import Storage
from leadline.checker.errors import LeadlineError
from leadline.checker.support.locks import FolderLock, owner, owner_named
from leadline.checker.support.ownership import make_private, refuse_others

FILE = "owner.json"

REWRITTEN_SECONDS = 10.0
"""The number of seconds between two updates of a claim file."""

WATCHED_SECONDS = 30.0
"""The number of seconds without an update of a claim file after which its folder counts as not in use."""

_log = logging.getLogger("leadline")


class Claim:
    """The right to use a work directory. Call `claimed` to obtain it.

    Attributes:
        note: the reason why the directory could not be locked. Empty if the directory is locked or does not need a
            lock.
    """

    note = ""

    def check(self) -> None:
        """Raise LeadlineError if another search has taken over the directory."""


@contextmanager
def claimed(storage: Storage) -> Iterator[Claim]:
    """Return a context manager that claims a work directory until the end of its ``with`` block.

    Raises:
        LeadlineError: if another search is using the directory, or other users can write to it.
    """
    if not storage.is_local:
        lease = Lease(storage)
        try:
            yield lease
        finally:
            lease.release()
        return
    folder = Path(storage.root)
    try:
        make_private(folder)
        refuse_others(folder)  # the folder contains pickles, which can execute code
    except OSError as error:
        raise LeadlineError(f"cannot write {folder}: {error.strerror}") from error
    lock, claim = FolderLock(folder), Claim()
    claim.note = lock.note
    try:
        yield claim
    finally:
        lock.release()


class Lease(Claim):
    """A claim to a work directory on a file system without locks."""

    def __init__(self, storage: Storage) -> None:
        self._storage, self._id, self._times, self._lost = storage, uuid.uuid4().hex, 0, ""
        self._ended = threading.Event()
        self._refuse_another()
        self._write()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def _refuse_another(self) -> None:
        found = self._found()
        if found:
            using, seconds = owner_named(found), WATCHED_SECONDS
            _log.warning("%s may be using %s: waiting %g seconds to find out", using, self._storage.place, seconds)
            self._ended.wait(seconds)
            if (now := self._found()) not in (found, b""):
                raise LeadlineError(f"{owner_named(now)} is using {self._storage.place}: wait until that search ends")

    def _found(self) -> bytes:
        return self._storage.read_bytes(FILE) if self._storage.exists(FILE) else b""

    def _write(self) -> None:
        self._times += 1
        self._storage.write_bytes(FILE, owner(id=self._id, times=self._times))

    def _keep(self) -> None:
        while not self._ended.wait(REWRITTEN_SECONDS) and not self._lost:
            with suppress(LeadlineError):  # the failure may be temporary
                self._look()
                if not self._lost:
                    self._write()

    def _look(self) -> None:
        found = self._found()
        if self._id.encode() not in found:
            self._lost = f"{owner_named(found)} has taken over {self._storage.place}"

    def check(self) -> None:
        if not self._lost:
            self._look()
        if self._lost:
            raise LeadlineError(self._lost)

    def release(self) -> None:
        """End the claim, so that another search can use the directory."""
        self._ended.set()
        self._keeper.join()
        with suppress(LeadlineError):
            self._look()
            if not self._lost:
                self._storage.remove(FILE)
