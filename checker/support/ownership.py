"""Ownership: rejecting files that another user may have written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from leadline.checker.errors import LeadlineError

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_OPEN_TO_OTHERS = stat.S_IXGRP | stat.S_IXOTH


def make_private(folder: Path) -> None:
    """Create a folder that only this user can access, and its parent folders. An existing folder is left unchanged.

    Raises:
        OSError: the folder cannot be created.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def refuse_others(folder: Path) -> None:
    """Reject a folder if another user owns the folder or a file in it, or can write to any of them.

    If other users cannot enter the folder, they cannot write to its files, whatever the permissions of the files.

    Raises:
        LeadlineError: the folder is rejected; the message says what to do.
        OSError: the folder cannot be read.
    """
    is_open = bool(folder.stat().st_mode & (_OPEN_TO_OTHERS | _WRITABLE_BY_OTHERS))
    for path in (folder, *sorted(folder.iterdir())):
        found = path.stat()
        if found.st_uid != os.geteuid():
            raise LeadlineError(f"{path} belongs to a different user: copy {folder} and use the copy")
        if is_open and found.st_mode & _WRITABLE_BY_OTHERS:
            raise LeadlineError(
                f"other users can write to {path}: if you trust its content, run chmod -R go-w {folder}"
            )
