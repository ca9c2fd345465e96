"""A spec that never comes back is stopped by the limit on seconds, wherever it is; one that takes all memory too."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Result, Spec, Verdict, action, invariant
from leadline.checker.engines import budget, oracle
from leadline.checker.engines.budget import Budget, LimitReached
from leadline.checker.engines.memory import Memory
from leadline.checker.engines.spark import launch as distributed
from leadline.checker.settings import CompiledSettings
from tests.specs import learning
from tests.suite.command import call, write


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt without mercy."""
    monkeypatch.setattr(budget, "WATCH_SECONDS", 0.02)
    monkeypatch.setattr(budget, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(budget, "AGAIN_SECONDS", 0.3)


@attrs.frozen
class Clock:
    """A state."""

    hour: int = 0


def endless() -> int:
    """Never come back."""
    for number in itertools.count():
        if number < 0:
            return number
    return 0


@action()
def strike(state: Clock) -> Iterator[Clock]:
    if state.hour < 5:
        yield Clock(state.hour + 1)


@action()
def hang(state: Clock) -> Iterator[Clock]:
    if state.hour == 3:
        yield Clock(endless())


@action()
def hang_and_catch(state: Clock) -> Iterator[Clock]:
    """A spec that does not let itself be interrupted, once."""
    if state.hour == 3:
        try:
            endless()
        except BaseException:
            yield Clock(endless())


@action()
def yield_for_ever(state: Clock) -> Iterator[Clock]:
    while state.hour == 3:
        yield state


@action(number=lambda bounds: (number for number in itertools.count() if number < 0))
def any_number(state: Clock, number: int) -> Iterator[Clock]:
    yield Clock(number)


@invariant("it is never three o'clock for long")
def never_three(state: Clock) -> bool:
    return state.hour != 3 or bool(endless())


@invariant("it is never three o'clock, in many words")
def sentences(state: Clock) -> Iterator[str]:
    while state.hour == 3:
        endless()
        yield ""


def spec_of(*actions: Any, initial: Callable[[Any], Any] = lambda _: [Clock()], properties: Any = ()) -> Spec[Any]:
    return Spec(name="clock", initial_states=initial, actions=actions, properties=properties)


ENDLESS = {
    "an action": spec_of(strike, hang),
    "an action that catches all": spec_of(strike, hang_and_catch),
    "an action's next states": spec_of(strike, yield_for_ever),
    "the values of a parameter": spec_of(strike, any_number),
    "the initial states": spec_of(strike, initial=lambda _: map(Clock, itertools.count())),
    "a call for the initial states": spec_of(strike, initial=lambda _: [Clock(endless())]),
    "an invariant": spec_of(strike, properties=[never_three]),
    "an invariant's sentences": spec_of(strike, properties=[sentences]),
}

ENGINES: dict[str, Callable[..., Result]] = {
    "oracle": oracle.explore,
    "compiled": learning.explore,
    "spark": distributed.explore,
}


@pytest.mark.parametrize("engine", ["oracle", "compiled"])
@pytest.mark.parametrize("what", ENDLESS)
def test_what_never_comes_back_is_stopped(what: str, engine: str) -> None:
    began, spec = time.monotonic(), attrs.evolve(ENDLESS[what])
    result = ENGINES[engine](spec, Limits(max_seconds=0.2))
    assert (result.verdict, result.reason) == (Verdict.INCOMPLETE, "reached 0.2 seconds")
    assert time.monotonic() - began < 10
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


@pytest.mark.parametrize("what", ["an action", "the initial states"])
def test_the_drivers_part_of_a_search_on_spark_is_stopped_too(what: str, java: None) -> None:
    result = ENGINES["spark"](attrs.evolve(ENDLESS[what]), Limits(max_seconds=0.2))
    assert (result.engine, result.verdict, result.reason) == ("spark", Verdict.INCOMPLETE, "reached 0.2 seconds")


@action()
def catch_limits(state: Clock) -> Iterator[Clock]:
    """Return normally; the limit is reached at the end of the search, when the clock is no longer checked."""
    if state.hour == 5:
        with contextlib.suppress(BaseException):
            endless()
    yield from ()


@action()
def catch_signals(state: Clock) -> Iterator[Clock]:
    if state.hour == 3:
        with contextlib.suppress(BaseException):
            if "UNDISTURBED" not in os.environ:
                signal.raise_signal(signal.SIGINT)
            yield Clock(100)


@pytest.mark.parametrize("engine", ["oracle", "compiled"])
@pytest.mark.parametrize(
    ("lossy", "seconds", "reason"), [(catch_limits, 1, "reached 1 seconds"), (catch_signals, None, "interrupted")]
)
def test_a_search_whose_spec_caught_an_interrupt_is_incomplete(
    lossy: Any, seconds: float | None, reason: str, engine: str
) -> None:
    """The call went on without its result: states may be missing, so nothing holds."""
    result = ENGINES[engine](spec_of(strike, lossy), Limits(max_seconds=seconds))
    assert (result.verdict, result.reason) == (Verdict.INCOMPLETE, reason)


def test_a_search_on_spark_whose_spec_caught_an_interrupt_is_incomplete(java: None) -> None:
    result = ENGINES["spark"](spec_of(strike, catch_signals))
    assert (result.engine, result.verdict, result.reason) == ("spark", Verdict.INCOMPLETE, "interrupted")


def test_what_a_lost_call_left_out_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of(strike, catch_signals)
    settings = CompiledSettings(checkpoint=tmp_path / "saved", checkpoint_every=1e-9)
    cut_short = learning.explore(spec, settings=settings)
    assert cut_short.verdict is Verdict.INCOMPLETE
    monkeypatch.setenv("UNDISTURBED", "")
    resumed = learning.explore(spec, settings=CompiledSettings(resume=tmp_path / "saved"))
    assert (resumed.verdict, resumed.statistics.distinct) == (Verdict.HOLDS, 7)


def test_what_was_found_until_then_is_reported() -> None:
    for engine in ("oracle", "compiled"):
        result = ENGINES[engine](attrs.evolve(ENDLESS["an action"]), Limits(max_seconds=0.2))
        assert 3 <= result.statistics.distinct <= 5


def test_a_file_that_never_ends_to_load_is_one_line(tmp_path: Any) -> None:
    write(tmp_path, it="while True:\n    pass\n")
    done = call("explore", "it.py", "--max-seconds", "0.2", folder=tmp_path)
    assert (done.code, done.out, done.err) == (3, "", "leadline: reached 0.2 seconds\n")


def test_memory_that_one_call_takes_is_seen() -> None:
    @action()
    def hoard(state: Clock) -> Iterator[Clock]:
        kept = []
        while state.hour == 3:
            kept.append(bytes(10**5))
        yield Clock(state.hour + 1)

    for engine in ("oracle", "compiled"):
        limit = Memory(None).ceilings[0].used() + 2**27
        result = ENGINES[engine](spec_of(strike, hoard), Limits(max_memory=limit))
        assert result.verdict is Verdict.INCOMPLETE
        assert result.reason
        assert re.fullmatch(r"reached [\d.,]+ [MG]iB of memory", result.reason)


def test_a_search_in_another_thread_is_not_interrupted() -> None:
    """Python interrupts the main thread only. The search looks at the clock itself."""
    found: list[Result] = []
    thread = threading.Thread(target=lambda: found.append(learning.explore(spec_of(strike), Limits(max_seconds=9))))
    thread.start()
    thread.join()
    assert found[0].verdict is Verdict.HOLDS


def test_somebody_elses_alarm_is_left_alone() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: came.append(number))
    try:
        with Budget(Limits(max_seconds=0.01)).enforced():
            time.sleep(0.1)
            signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert came == [signal.SIGALRM]


def test_nothing_is_interrupted_once_the_search_is_at_its_end() -> None:
    own = Budget(Limits(max_seconds=0.01))
    with own.enforced():
        own.relax()
        time.sleep(0.1)
    with pytest.raises(LimitReached, match=r"reached 0\.01 seconds"), own.enforced():
        time.sleep(1)


def test_processor_time_is_not_that_of_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is on what the search itself has done, however long that took, and without paused time."""
    now = {"elapsed": 0.0, "own": 0.0}
    monkeypatch.setattr(time, "monotonic", lambda: now["elapsed"])
    monkeypatch.setattr(time, "process_time", lambda: now["own"])
    limited = Budget(Limits(max_cpu_seconds=5))
    now["elapsed"] = 100.0
    assert limited.out_of_time() is None
    with limited.paused():
        now["own"] = 50.0
        assert limited.out_of_time() is None
    now["own"] = 55.0
    assert limited.out_of_time() is None
    now["own"] = 55.1
    stop = limited.out_of_time()
    assert stop is not None
    assert stop.text == "reached 5 seconds of processor time"
    assert limited.out_of_time(grace=1.0) is None
