"""Compiled code is used only as long as everything that it was compiled from is the same."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leadline.checker.engines.learning.loop_cache import SOURCES

PROJECT = Path(__file__).parents[2]
FOLDER = Path("leadline/checker")

LOOP = """
from leadline.checker.engines.learning import trees as constants

@njit()
def number() -> int:
    return constants.NUMBER
"""

CALL = """
from leadline.checker.engines.random.kernel import number
print(number(), sum(number.stats.cache_hits.values()))
"""


def called(copied: Path) -> str:
    changes = {"PYTHONPATH": str(copied), "PATH": os.environ["PATH"], "NUMBA_CACHE_DIR": str(copied / "compiled")}
    command = [sys.executable, "-c", CALL]
    return subprocess.run(command, cwd=copied, env=changes, capture_output=True, text=True, check=True).stdout.strip()


def test_a_constant_that_another_file_changes_is_compiled_again(tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(PROJECT / "src", copied, ignore=shutil.ignore_patterns("__pycache__"))
    with (copied / FOLDER / "engines/random/kernel.py").open("a", encoding="utf-8") as file:
        file.write(LOOP)
    constants = copied / FOLDER / "engines/learning/trees.py"
    before = constants.read_text(encoding="utf-8")
    constants.write_text(f"{before}\nNUMBER = 1\n", encoding="utf-8")
    assert [called(copied), called(copied)] == ["1 0", "1 1"]
    constants.write_text(f"{before}\nNUMBER = 2\n", encoding="utf-8")
    assert called(copied) == "2 0"


@pytest.mark.parametrize("name", SOURCES)
def test_loops_are_compiled_from_these_files_only(name: str) -> None:
    tree = ast.parse((PROJECT / "src" / FOLDER / name).read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    own = {
        str(module).removeprefix("leadline.checker.").replace(".", "/") + ".py"
        for module in imported
        if "checker" in str(module)
    }
    assert own <= {*SOURCES, "engines/learning/loop_cache.py"}
