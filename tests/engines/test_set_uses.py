"""Ordinary ways of using a set are right or refused, whatever the hash seed: the uses of `tests.specs.set_uses`."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.specs.set_uses import DEPENDS, RIGHT

SEEDS = ("0", "1")


@functools.cache
def said() -> list[dict[str, list[Any]]]:
    """What engines answer, under each hash seed in a process of its own."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.specs.set_uses"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
        )
        for seed in SEEDS
    ]
    return [json.loads(process.communicate()[0]) for process in processes]


@pytest.mark.parametrize("name", RIGHT)
def test_a_use_that_the_order_does_not_matter_to_is_right(name: str) -> None:
    for checked, direct, compiled, at_random in (answers[name] for answers in said()):
        assert checked == direct == compiled == said()[0][name][0]
        assert at_random in (None, direct[0])


@pytest.mark.parametrize("name", DEPENDS)
def test_a_use_that_the_order_decides_is_refused(name: str) -> None:
    for checked, direct, compiled, at_random in (answers[name] for answers in said()):
        assert checked.startswith(("refused: action look() ", "refused: invariant never "))
        assert re.search("order (of|in which) a set", checked)
        assert "\n" not in checked
        # without the check, what direct calls find in this process is found, or refused
        if not str(direct).startswith("refused: "):
            assert compiled == direct or str(compiled).startswith("refused: ")
            assert at_random in (None, direct[0]) or str(at_random).startswith("refused: ")
