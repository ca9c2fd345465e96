"""The digest of a spec changes with everything that its code can reach, and with nothing else."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from attrs import evolve

from leadline.checker.observing.digest import code_digest
from leadline.invariants.catalog import CATALOG
from tests.suite.command import run_leadline
from tests.suite.samples import sampled

SPEC = """
{imports}
import json
from collections.abc import Iterator
from pathlib import Path
from attrs import frozen
from leadline.checker import Spec, action

LIMITS = json.loads(Path("limits.json").read_text())
{holder}

@frozen
class Pair:
    first: int = 0
    second: int = 0

@action()
def count_first(state: Pair) -> Iterator[Pair]:
    if state.first < {first}:
        yield Pair(state.first + 1, state.second)

@action()
def count_second(state: Pair) -> Iterator[Pair]:
    if state.second < {second}:
        yield Pair(state.first, state.second + 1)

spec = Spec(name="pair", initial_states=lambda bounds: [Pair()], actions=[count_first, count_second])
"""

FORMS = {
    "constants": ("", "A, B = LIMITS['a'], LIMITS['b']", "A", "B"),
    "namespace": ("from types import SimpleNamespace", "N = SimpleNamespace(**LIMITS)", "N.a", "N.b"),
    "dataclass": (
        "from dataclasses import dataclass",
        "@dataclass\nclass Data:\n    a: int\n    b: int\nD = Data(**LIMITS)",
        "D.a",
        "D.b",
    ),
    "attrs": ("", "@frozen\nclass Data:\n    a: int\n    b: int\nD = Data(**LIMITS)", "D.a", "D.b"),
    "plain object": (
        "",
        "class Data:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\nD = Data(**LIMITS)",
        "D.a",
        "D.b",
    ),
    "slots": (
        "",
        "class Data:\n    __slots__ = ('a', 'b')\nD = Data()\nD.a, D.b = LIMITS['a'], LIMITS['b']",
        "D.a",
        "D.b",
    ),
    "class attributes": ("", "class Data:\n    a, b = LIMITS['a'], LIMITS['b']", "Data.a", "Data.b"),
    "inherited": (
        "",
        "class Base:\n    a, b = LIMITS['a'], LIMITS['b']\nclass Data(Base):\n    pass",
        "Data.a",
        "Data.b",
    ),
    "enum": (
        "import enum",
        "Data = enum.Enum('Data', {'A': ('a', LIMITS['a']), 'B': ('b', LIMITS['b'])}, module=__name__)",
        "Data.A.value[1]",
        "Data.B.value[1]",
    ),
    "array": ("from array import array", "D = array('q', [LIMITS['a'], LIMITS['b']])", "D[0]", "D[1]"),
    "deque": ("from collections import deque", "D = deque([LIMITS['a'], 3, LIMITS['b']])", "D[0]", "D[2]"),
    "mapping proxy": ("from types import MappingProxyType", "D = MappingProxyType(LIMITS)", "D['a']", "D['b']"),
    "dictionary": ("", "", "LIMITS['a']", "LIMITS['b']"),
    "nested dictionary": (
        "",
        "D = {'x': [{'limits': LIMITS}]}",
        "D['x'][0]['limits']['a']",
        "D['x'][0]['limits']['b']",
    ),
    "named tuple": (
        "from typing import NamedTuple",
        "class Data(NamedTuple):\n    a: int\n    b: int\nD = Data(**LIMITS)",
        "D.a",
        "D.b",
    ),
    "closure": ("", "def made(a, b):\n    return lambda: (a, b)\nF = made(**LIMITS)", "F()[0]", "F()[1]"),
    "defaults": ("", "def limits(a=LIMITS['a'], *, b=LIMITS['b']):\n    return a, b", "limits()[0]", "limits()[1]"),
    "partial": (
        "from functools import partial",
        "def both(a, b):\n    return a, b\nF = partial(both, LIMITS['a'], LIMITS['b'])",
        "F()[0]",
        "F()[1]",
    ),
    "cached function": (
        "import functools",
        "@functools.cache\ndef limit(name):\n    return json.loads(Path('limits.json').read_text())[name]",
        "limit('a')",
        "limit('b')",
    ),
    "environment": (
        "import os",
        "os.environ.update(A=str(LIMITS['a']), B=str(LIMITS['b']))",
        *("int(os.environ['A'])", "int(os.environ['B'])"),
    ),
}
"""How an action gets at two limits: imports, what holds them, and the two expressions."""

READ_AT_CALL_TIME = ("cached function", "environment")


def write(folder: Path, form: str, a: int, b: int) -> None:
    imports, holder, first, second = FORMS[form]
    (folder / "pair.py").write_text(SPEC.format(imports=imports, holder=holder, first=first, second=second))
    (folder / "limits.json").write_text(f'{{"a": {a}, "b": {b}}}')


def loaded_digest(folder: Path) -> str:
    """The digest of the spec in a file, which is imported again."""
    found = importlib.util.spec_from_file_location("pair", folder / "pair.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    with mock.patch.dict(sys.modules, {"pair": module}), contextlib.chdir(folder):
        found.loader.exec_module(module)
        return code_digest(module.spec)


@pytest.mark.parametrize("form", [form for form in FORMS if form not in READ_AT_CALL_TIME])
def test_the_digest_changes_with_the_data(form: str, tmp_path: Path) -> None:
    write(tmp_path, form, 2, 3)
    first = loaded_digest(tmp_path)
    assert loaded_digest(tmp_path) == first
    for a, b in ((2, 5), (4, 5), (3, 2)):
        write(tmp_path, form, a, b)
        assert loaded_digest(tmp_path) != first, (a, b)


@pytest.mark.parametrize("form", ["namespace", *READ_AT_CALL_TIME])
def test_a_resume_after_data_changed_is_refused(form: str, tmp_path: Path) -> None:
    write(tmp_path, form, 2, 3)
    begun = run_leadline("explore", "pair.py", "--depth", "5", "--checkpoint", "saved", folder=tmp_path)
    assert begun.code == 3, begun.err
    of_digest, of_calls = "from before a change to the spec", "because the spec or its data has changed"
    for a, b in sampled([(3, 2), (2, 5)], 2):
        write(tmp_path, form, a, b)
        refused = run_leadline("explore", "pair.py", "--resume", "saved", folder=tmp_path)
        assert refused.code == 2, (a, b)
        assert of_digest in refused.complaint or of_calls in refused.complaint
        assert refused.err.count("\n") == 1
    write(tmp_path, form, 2, 3)
    resumed = run_leadline("explore", "pair.py", "--resume", "saved", folder=tmp_path)
    assert resumed.code == 0, resumed.err
    assert re.search(r"\b12 distinct\b", resumed.out), resumed.out


def test_a_digest_is_the_same_in_every_process() -> None:
    code = (
        "from leadline.checker.observing.digest import code_digest\n"
        "from leadline.invariants.catalog import CATALOG\n"
        "print(code_digest(CATALOG['atomic/kip-279']))\n"
    )
    found = {code_digest(CATALOG["atomic/kip-279"])}
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        found.add(run.stdout.strip())
    assert len(found) == 1


def test_a_predicate_that_limits_the_search_in_another_way_changes_the_digest() -> None:
    def always(state: object) -> bool:
        return True

    spec = evolve(CATALOG["atomic/kip-279"], check_deadlock=True, within=None, cut=None)
    limits: list[dict[str, Any]] = [{}, {"within": always}, {"cut": always}, {"final": always}]
    assert len({code_digest(evolve(spec, **each)) for each in limits}) == len(limits)
