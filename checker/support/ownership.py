"""Functions that protect against files that another user of the machine may have written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from leadline.checker.errors import LeadlineError

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_OPEN_TO_OTHERS = stat.S_IXGRP | stat.S_IXOTH


def make_private(folder: Path) -> None:
    """Create a folder that only this user can access, and its parent folders if they do not exist.

    A folder that already exists is left unchanged.

    Raises:
        OSError: if the folder cannot be created.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def refuse_others(folder: Path) -> None:
    """Check that a folder and its files belong to this user, and that no other user can write to them.

    If other users cannot enter the folder, the permissions of its files are not checked, because they have no effect.

    Raises:
        LeadlineError: if another user owns or can write to the folder or a file. The message says how to correct this.
        OSError: if the folder cannot be read.
    """
    is_open = bool(folder.stat().st_mode & (_OPEN_TO_OTHERS | _WRITABLE_BY_OTHERS))
    for path in (folder, *sorted(folder.rglob("*"))):
        found = path.stat()
        if found.st_uid != os.geteuid():
            raise LeadlineError(f"{path} belongs to a different user: copy {folder} and use the copy")
        if is_open and found.st_mode & _WRITABLE_BY_OTHERS:
            raise LeadlineError(
                f"other users can write to {path}: if you trust its content, run chmod -R go-w {folder}"
            )
