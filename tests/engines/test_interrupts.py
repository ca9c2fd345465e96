"""Ctrl-C waits for what must not be done by halves."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time

import pytest

from leadline.checker.engines.learning.interrupts import interrupts_wait
from leadline.checker.mutation.processes import answers
from leadline.checker.observing.lazy import lazy_instances
from leadline.checker.observing.recording import Recorder
from leadline.reports.loading import load_spec
from tests.specs.learning import explore


def test_an_interrupt_waits_for_the_end_of_the_outermost() -> None:
    done = []

    def work() -> None:
        with interrupts_wait():
            with interrupts_wait():
                signal.raise_signal(signal.SIGINT)
                done.append("inner")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inner", "outer"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGALRM], ids=lambda number: number.name)
def test_other_signals_wait_if_python_handles_them(number: signal.Signals) -> None:
    """And are handled as they would have been."""
    came: list[int] = []
    before = signal.signal(number, lambda number, _: came.append(number))
    try:
        with interrupts_wait():
            signal.raise_signal(number)
            signal.raise_signal(number)
            assert came == []
        assert came == [number]
        signal.signal(number, signal.SIG_IGN)
        with interrupts_wait():
            assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_an_interrupt_is_not_lost_with_an_error() -> None:
    def work() -> None:
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            raise ValueError

    with pytest.raises(KeyboardInterrupt):
        work()


def test_other_threads_change_nothing() -> None:
    def work() -> None:
        with interrupts_wait():
            seen.append(signal.getsignal(signal.SIGINT))

    seen = [signal.getsignal(signal.SIGINT)]
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen[0] is seen[1]


def test_an_interrupt_while_a_call_is_recorded_leaves_nothing_that_other_calls_would_meet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An object with the id of an instance that was left would be taken for it, also in the next search."""
    ended, real = list[int](), Recorder.end

    def end(recorder: Recorder) -> None:
        ended.append(len(lazy_instances))
        if len(ended) == 200:
            raise KeyboardInterrupt
        real(recorder)

    monkeypatch.setattr(Recorder, "end", end)
    found = explore(load_spec("atomic/kip-101"))
    assert found.interrupted
    assert ended[-1], "a call was being recorded"
    assert not lazy_instances


def test_a_process_forked_there_defers_signals_until_it_has_its_own_handlers() -> None:
    """And then, it can be within such a block itself."""
    done = multiprocessing.get_context("fork").SimpleQueue()

    def forked() -> None:
        signal.raise_signal(signal.SIGINT)
        done.put("no handler yet")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with interrupts_wait():
                signal.raise_signal(signal.SIGINT)
                done.put("in its own block")
        except KeyboardInterrupt:
            done.put("interrupted")

    with interrupts_wait():
        process = multiprocessing.get_context("fork").Process(target=forked)
        process.start()
        process.join()
    assert [done.get() for _ in range(3)] == ["no handler yet", "in its own block", "interrupted"]


_at_fork: list[signal.Signals] = []


def _raise_at_fork() -> None:
    while _at_fork:
        signal.raise_signal(_at_fork.pop())


os.register_at_fork(after_in_parent=_raise_at_fork)


def test_a_signal_during_a_fork_is_not_lost() -> None:
    """Python only prints an exception that is raised in a function that is called at a fork."""
    _at_fork.append(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        list(answers([("sleeps", lambda: time.sleep(60))], 1, 60.0))
    assert multiprocessing.active_children() == []
