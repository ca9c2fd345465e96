"""The log of the frames on all connections of a proxy, and the rules that hold frames.

The proxy's thread adds frames. Any thread can hold and release frames, and wait for them.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

import attrs

from leadline.brokers.frame import Frame, Rule

_NOTICE_SECONDS = 0.5
"""The interval at which a waiting thread checks whether the proxy was closed, in seconds."""


@attrs.define(eq=False)
class _Held:
    """A held frame, its holds, and a function that is called with True when the frame may pass, or with False when it
    is dropped.
    """

    frame: Frame
    holds: set[Hold]
    decide: Callable[[bool], None]


class Traffic:
    """The log of frames, and the holds (active rules).

    Parameters:
        now: a function that returns the time in seconds.
        kept_frames, kept_bytes: the maximum number of frames in memory, and the maximum total size of these frames in
            bytes. Older frames are removed from memory. A recording contains all frames.
    """

    def __init__(self, now: Callable[[], float], *, kept_frames: int = 20_000, kept_bytes: int = 64 * 2**20) -> None:
        self.changed = threading.Condition()
        self._now = now
        self._kept_frames, self._kept_bytes = kept_frames, kept_bytes
        self._log: deque[Frame] = deque()
        self._log_bytes = 0
        self._newest = 0
        self._holds: list[Hold] = []
        self._held: dict[int, _Held] = {}
        self._failure: Exception | None = None
        self._closed = False

    # --- the proxy's thread ---------------------------------------------------------------------------------------

    def next_number(self) -> int:
        """Return the number for the next frame. Only the proxy's thread adds frames, so the number remains correct
        until this thread adds the next frame.
        """
        return self._newest + 1

    def arrive(self, frame: Frame, decide: Callable[[bool], None]) -> None:
        """Add a frame to the log, and hold it if it matches a rule.

        Parameters:
            frame: the frame. Its number must be `next_number`.
            decide: a function that is called once, by any thread, with True when a held frame is released or with False
                when it is dropped.
        """
        with self.changed:
            self._newest = frame.number
            self._log.append(frame)
            self._log_bytes += frame.size
            while len(self._log) > self._kept_frames or (self._log_bytes > self._kept_bytes and len(self._log) > 1):
                self._log_bytes -= self._log.popleft().size
            holds = {hold for hold in self._holds if self._matches(hold.rule, frame)}
            if holds:
                frame.state = "held"
                self._held[frame.number] = _Held(frame, holds, decide)
            self.changed.notify_all()

    def settle(self, frame: Frame, *, passed: bool) -> None:
        """Set the state of a frame to passed or dropped."""
        with self.changed:
            self._held.pop(frame.number, None)
            frame.state = "passed" if passed else "dropped"
            frame.passed = self._now() if passed else None
            self.changed.notify_all()

    def _matches(self, rule: Rule, frame: Frame) -> bool:
        try:
            return rule.matches(frame)
        except Exception as error:  # of the rule's predicate: the next thread that waits raises it
            self._failure = error
            return True

    # --- any thread -----------------------------------------------------------------------------------------------

    def add(self, rule: Rule) -> Hold:
        """Hold all frames that match a rule, including frames that another rule already holds."""
        with self.changed:
            hold = Hold(self, rule)
            self._holds.append(hold)
            for held in self._held.values():
                if self._matches(rule, held.frame):
                    held.holds.add(hold)
            return hold

    def remove(self, hold: Hold) -> None:
        """Remove a hold from the list. The frames that it keeps remain held."""
        with self.changed:
            if hold in self._holds:
                self._holds.remove(hold)

    def held_by(self, hold: Hold) -> list[Frame]:
        """Return the frames that a hold keeps, in the order of arrival."""
        with self.changed:
            return [held.frame for held in self._held.values() if hold in held.holds]

    def let_go(self, hold: Hold, frames: list[Frame], *, drop: bool = False) -> None:
        """Remove frames from a hold. A frame is either dropped at once, or forwarded when no other hold keeps it."""
        with self.changed:
            for frame in frames:
                held = self._held.get(frame.number)
                if held is None or hold not in held.holds:
                    continue
                held.holds.discard(hold)
                if drop or not held.holds:
                    del self._held[frame.number]
                    held.decide(not drop)

    @property
    def log(self) -> tuple[Frame, ...]:
        """The frames in memory, in the order of arrival."""
        with self.changed:
            return tuple(self._log)

    @property
    def newest(self) -> int:
        """The number of the newest frame, or 0 if there are no frames."""
        with self.changed:
            return self._newest

    def wait_until(self, ready: Callable[[], Frame | None], timeout: float, what: object) -> Frame:
        """Wait until a function returns a frame. The function is called after every change.

        Parameters:
            ready: the function. The lock is held while it runs.
            timeout: the timeout in seconds.
            what: a description of the frame, for the error message.

        Raises:
            TimeoutError: if the function does not return a frame in time, or the proxy is closed.
        """
        end = time.monotonic() + timeout
        with self.changed:
            while True:
                self.raise_failure()
                if (found := ready()) is not None:
                    return found
                left = end - time.monotonic()
                if left <= 0 or self._closed:
                    raise TimeoutError(f"no frame arrived within {timeout:g} seconds: {what}")
                self.changed.wait(min(left, _NOTICE_SECONDS))

    def wait(self, rule: Rule, after: int, timeout: float, *, passed: bool) -> Frame:
        """Wait for the first frame that matches a rule and has a number greater than `after`. The parameters are the
        same as for `Proxy.wait`.
        """
        matching: list[Frame] = []
        looked_at = after

        def ready() -> Frame | None:
            nonlocal looked_at
            matching.extend(frame for frame in self._after(looked_at) if rule.matches(frame))
            looked_at = self._newest
            return next((f for f in matching if f.state == "passed" or not passed), None)

        return self.wait_until(ready, timeout, rule)

    def _after(self, number: int) -> Iterator[Frame]:
        new = []
        for frame in reversed(self._log):
            if frame.number <= number:
                break
            new.append(frame)
        return reversed(new)

    def raise_failure(self) -> None:
        """Raise the exception that the predicate of a rule raised, if any."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def close(self) -> None:
        """End all calls that are waiting for a frame."""
        with self.changed:
            self._closed = True
            self.changed.notify_all()


class Hold:
    """An active rule. Frames that match it wait, in order, until they are released or dropped.

    Frames in one direction of a connection keep their order: a held frame also delays the frames behind it. Those
    frames are not visible until the held frame is released. A frame that matches several holds waits until each of them
    has released it.
    """

    def __init__(self, traffic: Traffic, rule: Rule) -> None:
        self._traffic = traffic
        self.rule = rule

    @property
    def held(self) -> list[Frame]:
        """The waiting frames, oldest first."""
        return self._traffic.held_by(self)

    def wait(self, n: int = 1, *, timeout: float) -> Frame:
        """Wait until there are `n` waiting frames, and return the `n`-th of them.

        Parameters:
            n: the position among the waiting frames, from 1.
            timeout: the timeout in seconds.

        Raises:
            TimeoutError: if there are fewer frames when the timeout expires.
        """

        def ready() -> Frame | None:
            held = self.held
            return held[n - 1] if len(held) >= n else None

        return self._traffic.wait_until(ready, timeout, f"held: {self.rule}")

    def release(self, frame: Frame | None = None) -> None:
        """Release one frame, or all waiting frames. The rule remains active.

        A frame passes when all holds have released it. A frame that is no longer waiting, because its connection was
        cut, is ignored; see `Frame.state`.
        """
        self._traffic.let_go(self, self.held if frame is None else [frame])

    def drop(self, frame: Frame) -> None:
        """Drop a frame, and close its connection, because TCP cannot lose a single frame."""
        self._traffic.let_go(self, [frame], drop=True)

    def end(self, *, drop: bool = False) -> None:
        """Deactivate the rule, and release or drop all waiting frames."""
        self._traffic.remove(self)
        self._traffic.let_go(self, self.held, drop=drop)
