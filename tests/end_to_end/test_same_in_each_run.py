"""A command has the same result in each run, also where the order of a set decides which of several shortest
counterexamples is found: the order of a set with None differs between processes before Python 3.12.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leadline.checker.engines.hash_seeds import ADDR_NO_RANDOMIZE, _random_addresses
from tests.suite.command import environment, run_leadline, write

MESSAGES = """
from collections.abc import Iterator
from enum import Enum
from attrs import evolve, frozen
from leadline.checker import Spec, action, always_eventually, invariant, witness

class Colour(Enum):
    RED = "r"
    GREEN = "g"

@frozen
class Message:
    kind: str
    to: int | None
    colour: Colour | None = None

@frozen
class State:
    messages: frozenset = frozenset()
    seen: frozenset = frozenset()
    turn: int = 0

@action("sends", n=range(3))
def send(state: State, n: int) -> Iterator[State]:
    for to in (None, 1, 2):
        message = Message("a" if n else "b", to, Colour.RED if n == 2 else None)
        if message not in state.messages and len(state.messages) < 2:
            yield evolve(state, messages=state.messages | {message})

@action("receives", fair="weak")
def receive(state: State) -> Iterator[State]:
    for message in state.messages:
        if len(state.seen) < 2:
            yield evolve(state, messages=state.messages - {message}, seen=state.seen | {(message.kind, message.to)})

@action("takes", fair="weak", message=lambda state: state.messages)
def take(state: State, message: Message) -> Iterator[State]:
    if len(state.seen) < 2:
        yield evolve(state, messages=state.messages - {message}, turn=1 - state.turn)

@invariant("at most one is seen")
def few(state: State) -> bool:
    return len(state.seen) < 2

@witness("two messages at the second turn, and one was seen")
def second(state: State) -> bool:
    return len(state.messages) == 2 and len(state.seen) == 1 and state.turn == 1

@always_eventually("the messages run out")
def empty(state: State) -> bool:
    return not state.messages

spec = Spec(
    name="messages", initial_states=lambda _: [State()], actions=[send, receive, take],
    properties=[few, second, empty],
)
"""

RUNS = 4


def results(*command: str, folder: Path) -> set[str]:
    """The different results of some runs as text, without what each run measures anew."""
    found = set()
    for _ in range(RUNS):
        run = run_leadline(*command, "--json", "-", folder=folder, PYTHONHASHSEED="")
        assert run.err == "", run.err
        found.add(json.dumps(without_measured(run.json), sort_keys=True))
    return found


def without_measured(value: Any) -> Any:
    if isinstance(value, dict):
        measured = ("date", "memory", "bytes", "second")
        return {name: without_measured(each) for name, each in value.items() if not any(map(name.count, measured))}
    return [without_measured(each) for each in value] if isinstance(value, list) else value


def hashes_of_none(**changes: str) -> set[str]:
    """The different hashes of None in some processes."""
    code = [sys.executable, "-c", "print(hash(None))"]
    return {subprocess.run(code, capture_output=True, env=environment(**changes)).stdout.decode() for _ in range(RUNS)}


needs_fixed_addresses = pytest.mark.skipif(
    sys.version_info < (3, 12)
    and (sys.platform != "linux" or ctypes.CDLL(None).personality(ctypes.CDLL(None).personality(0xFFFFFFFF)) < 0),
    reason="before Python 3.12, the hash of None is an address, and this system does not let a process fix it",
)


@needs_fixed_addresses
@pytest.mark.parametrize(
    "options", [["--engine", "oracle", "-i", "second"], ["-i", "few"], ["--keep-going", "--coverage"]]
)
def test_each_run_finds_the_same(options: list[str], tmp_path: Path) -> None:
    write(tmp_path, it=MESSAGES)
    (found,) = results("explore", "it.py", *options, folder=tmp_path)
    assert '"trace' in found


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the hash of None is the same in each process")
def test_the_processes_that_compare_seeds_have_random_addresses() -> None:
    assert len(hashes_of_none(PYTHONHASHSEED="0")) > 1
    personality = ctypes.CDLL(None).personality
    before = personality(0xFFFFFFFF)
    try:
        if personality(before | ADDR_NO_RANDOMIZE) < 0:
            pytest.skip("this system does not let a process fix its addresses")
        assert len(hashes_of_none()) == 1
        with _random_addresses():
            assert len(hashes_of_none()) > 1
        assert len(hashes_of_none()) == 1
    finally:
        personality(before)
