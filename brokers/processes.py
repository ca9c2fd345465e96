"""Child processes that end when this process ends, and their logs."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import psutil

from leadline.brokers.errors import BrokerError
from leadline.brokers.failures import reason

_LAUNCHER = Path(__file__).with_name("launcher.py")
_CHANGES_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")
"""Environment variables that would change how Java runs a broker."""


def java_environment() -> dict[str, str]:
    """Return the environment of this process, without variables that would change how Java runs."""
    return {key: value for key, value in os.environ.items() if key not in _CHANGES_JAVA}


_POLL_SECONDS = 0.02


class OwnedProcess:
    """A child process that ends when this process ends.

    Parameters:
        name: a name for error messages, such as ``broker 1``.
        command: the path of the program, and its arguments.
        log: the file for the output of the process. An existing file is overwritten.
        folder: the working directory.

    Raises:
        BrokerError: if the process cannot be started.
    """

    def __init__(self, name: str, command: Sequence[str], log: Path, folder: Path) -> None:
        self.name, self.log = name, log
        launched = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), *command]
        try:
            self._process = _started_in_lasting_thread(lambda: _start(launched, log, folder, java_environment()))
        except OSError as error:
            raise BrokerError(f"cannot start {name}: {error.strerror or error}") from error

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended. A paused process also counts as running."""
        return self._process.poll() is None

    @property
    def status(self) -> int | None:
        """The exit code, a negative signal number, or None while the process is running."""
        return self._process.poll()

    def kill(self) -> None:
        """Send SIGKILL, and wait until the process has ended. This has no effect if it has already ended."""
        self._process.kill()
        self._process.wait()

    def stop(self, seconds: float) -> bool:
        """Send SIGTERM, and wait until the process has ended.

        Returns:
            True if the process ended within the given number of seconds, False otherwise.
        """
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return not self.is_running

    def pause(self) -> None:
        """Stop the process with SIGSTOP, and wait until all its threads have stopped."""
        self._process.send_signal(signal.SIGSTOP)
        while self.is_running and _thread_states(self.pid) - {"T"}:
            time.sleep(_POLL_SECONDS)

    def resume(self) -> None:
        """Continue a paused process."""
        self._process.send_signal(signal.SIGCONT)

    def listens_on(self, port: int) -> bool:
        """Return whether this process accepts connections on a port of this machine."""
        try:
            connections = psutil.Process(self.pid).net_connections("tcp")
        except psutil.Error:
            return False
        return any(each.status == psutil.CONN_LISTEN and each.laddr[1:] == (port,) for each in connections)

    def wait(self, is_done: Callable[[], bool], seconds: float) -> None:
        """Wait until a condition is true.

        Raises:
            BrokerError: if the process ended first, or if the condition did not become true within the given number of
                seconds.
        """
        end = time.monotonic() + seconds
        while True:
            running = self.is_running  # asked first, because the condition may be that the process has ended
            if is_done():
                return
            if not running:
                raise BrokerError(f"{self.name} ended before it was ready ({_ending(self.status)}): {self.reason()}")
            if time.monotonic() > end:
                raise BrokerError(f"{self.name} was not ready after {seconds:.0f} seconds: {self.reason()}")
            time.sleep(_POLL_SECONDS)

    def logged(self, pattern: str) -> bool:
        """Return whether a regular expression matches anywhere in a line of the log."""
        return re.search(pattern, self._text()) is not None

    def reason(self) -> str:
        """Return the line of the log that most likely gives the reason why the process failed."""
        return reason(self._text())

    def _text(self) -> str:
        try:
            return self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


def _thread_states(pid: int) -> set[str]:
    """Return the states of a process's threads, as letters that are defined in proc(5)."""
    states = set()
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):  # the thread has ended
            states.add(stat.read_text().rpartition(")")[2].split()[0])
    return states


def _ending(status: int | None) -> str:
    if status is None or status >= 0:
        return f"exit code {status}"
    return f"by {signal.Signals(-status).name}"


def _start(command: Sequence[str], log: Path, folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=folder, env=environment,
            start_new_session=True,  # Ctrl-C in a terminal goes to this process only, which ends the others
        )  # fmt: skip


_Start = Callable[[], "subprocess.Popen[bytes]"]
_starts: queue.SimpleQueue[tuple[_Start, Future[subprocess.Popen[bytes]]]] = queue.SimpleQueue()
_thread: threading.Thread | None = None
_lock = threading.Lock()


def _started_in_lasting_thread(start: _Start) -> subprocess.Popen[bytes]:
    """Call `start` in a thread that lasts as long as this process.

    If a process was started with `launcher`, the kernel kills it when the starting thread ends, not when this process
    ends.
    """
    global _thread
    with _lock:
        if _thread is None:
            _thread = threading.Thread(target=_start_processes, name="starts brokers", daemon=True)
            _thread.start()
    future: Future[subprocess.Popen[bytes]] = Future()
    _starts.put((start, future))
    try:
        return future.result()
    except BaseException:  # Ctrl-C: nobody would know of the process
        future.add_done_callback(_end)
        raise


def _start_processes() -> None:
    while True:
        start, future = _starts.get()
        try:
            future.set_result(start())
        except BaseException as error:
            future.set_exception(error)


def _end(future: Future[subprocess.Popen[bytes]]) -> None:
    if future.exception() is None:
        future.result().kill()


def _forget_in_child() -> None:
    global _thread, _lock
    _thread, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_in_child)
