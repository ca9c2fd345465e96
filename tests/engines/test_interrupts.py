"""Ctrl-C waits for what must not be done by halves."""

from __future__ import annotations

import signal
import threading

import pytest

from leadline.checker.engines.learning.interrupts import interrupts_wait


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
