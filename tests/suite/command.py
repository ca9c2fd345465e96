"""Running the `leadline` command: in its own process, on a pseudo terminal, or in this process.

`STAIRS` is a spec of which every number can be counted by hand.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from unittest import mock

import attrs
from rich.cells import cell_len

from leadline.reports.cli import run as run_here

COMMAND = str(Path(sys.executable).with_name("leadline"))
"""The installed command. Unlike ``python -m``, it does not import from the working directory first."""

PATIENCE = 60
"""Seconds that a terminal may show nothing new."""

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")
"""What a terminal obeys and does not show: colours and the like, and the addresses of links."""

STAIRS = """\
from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, invariant, witness


@frozen
class Bounds:
    top: int = bound(2, "the highest step", at_least=0, at_most=9)


@frozen
class Climber:
    height: int = 0
    top: int = 0


def initial_states(bounds: Bounds) -> list[Climber]:
    return [Climber(0, bounds.top)]


@action("the climber sets its {foot} foot one step higher", foot=("left", "right"))
def up(state: Climber, foot: str) -> Iterator[Climber]:
    if state.height < state.top:
        yield evolve(state, height=state.height + 1)


@action("the climber goes one step down")
def down(state: Climber) -> Iterator[Climber]:
    if state.height > 0:
        yield evolve(state, height=state.height - 1)


@action("the climber flies")
def fly(state: Climber) -> Iterator[Climber]:
    if state.height > state.top:
        yield state


@invariant("the climber stays on the stairs", source="common sense")
def on_stairs(state: Climber) -> bool:
    return 0 <= state.height <= state.top


@invariant("nobody is on the third step")
def third_step_free(state: Climber) -> Iterator[str]:
    if state.height == 3:
        yield f"the climber is on step {state.height}"


@witness("the climber reaches the top")
def top_reached(state: Climber) -> bool:
    return state.height == state.top


spec = Spec(
    name="stairs",
    summary="one climber on some stairs",
    initial_states=initial_states,
    actions=[up, down, fly],
    properties=[on_stairs, third_step_free, top_reached],
    bounds=Bounds(),
)
"""
"""Two ways to every higher step, one down; it holds with ``top=2``, and fails at the fourth state with 3."""


@attrs.frozen
class Run:
    """The result of a run of the command. On a terminal, ``out`` is all that it showed."""

    code: int
    out: str
    err: str = ""

    @property
    def json(self) -> dict[str, Any]:
        """Standard output, all of it, as one JSON object."""
        content = json.loads(self.out)
        assert isinstance(content, dict)
        return content

    @property
    def complaint(self) -> str:
        """The one line that a mistake must end in."""
        assert (self.code, self.out) == (2, ""), self
        assert self.err.count("\n") == 1, self.err
        assert self.err.endswith("\n"), self.err
        assert self.err.startswith("leadline: "), self.err
        return self.err.removeprefix("leadline: ").strip()

    @property
    def lines(self) -> list[str]:
        """The lines of ``out`` as a person sees them: no escapes, nothing that was overwritten."""
        return [ESCAPE.sub("", line.rstrip("\r").rsplit("\r", 1)[-1]).rstrip() for line in self.out.split("\n")]

    @property
    def width(self) -> int:
        """The columns of the widest line, those overwritten later included."""
        return max(cell_len(ESCAPE.sub("", line)) for line in re.split(r"[\r\n]", self.out))


def write(folder: Path, **files: str) -> Path:
    """Write Python files into a folder, each named by its keyword.

    Returns:
        The folder.
    """
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def environment(**changes: str) -> dict[str, str]:
    """This process's environment, without what decides on colours, widths or cores."""
    left_out = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "PYTHONPATH", "PYTHONIOENCODING", "TTY_COMPATIBLE"}
    left_out.add("PYTHON_CPU_COUNT")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "TERM": "xterm-256color", "PYTHONUTF8": "1", **changes}


def run_leadline(*arguments: str, folder: Path, stdout: IO[str] | None = None, **changes: str) -> Run:
    """Run the installed command in a folder, with some environment variables changed.

    Where standard output goes to a file, ``out`` is empty.
    """
    process = subprocess.run(
        [COMMAND, *arguments],
        cwd=folder,
        env=environment(**changes),
        stdout=stdout or subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return Run(process.returncode, process.stdout or "", process.stderr)


def call(*arguments: str, folder: Path, **changes: str) -> Run:
    """Run the command's own entry point inside this process, which is a second faster. See `leadline`."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = "it did not exit"
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.dict(os.environ, {"PYTHON_CPU_COUNT": "1", **environment(**changes)}, clear=True),
        mock.patch.object(sys, "argv", ["leadline", *arguments]),
        mock.patch.object(sys, "path", [*sys.path]),
    ):
        try:
            run_here()
        except SystemExit as end:
            code = end.code or 0
    return Run(code, out.getvalue(), err.getvalue())


@contextmanager
def terminal(columns: int) -> Iterator[tuple[int, int]]:
    """A pseudo terminal: the end that reads the output, and the end that a process writes to."""
    shown, written = pty.openpty()
    fcntl.ioctl(written, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    try:
        yield shown, written
    finally:
        os.close(shown)


def read_until(shown: int, pattern: str | None = None) -> str:
    """The output of a terminal until a pattern appears; without a pattern, until the process ends."""
    received = b""
    while pattern is None or not re.search(pattern, received.decode("utf-8", "replace")):
        if not select.select([shown], [], [], PATIENCE)[0]:
            raise TimeoutError(f"nothing more was shown for {PATIENCE} s, after {received[-1000:]!r}")
        try:
            piece = os.read(shown, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not piece:
            break
        received += piece
    return received.decode("utf-8", "replace")


def interrupted(*arguments: str, folder: Path, when: str, number: int = signal.SIGINT) -> Run:
    """Run the command with its progress on a terminal; send a signal, by default Ctrl-C, once that shows a pattern."""
    with terminal(80) as (shown, written):
        process = subprocess.Popen(
            [COMMAND, *arguments],
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=written,
            encoding="utf-8",
        )
        os.close(written)
        read_until(shown, when)
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
        return Run(process.returncode, out, read_until(shown))


def on_terminal(*arguments: str, folder: Path, columns: int = 80, **changes: str) -> Run:
    """Run the installed command on a pseudo terminal, both of its outputs on it."""
    with terminal(columns) as (shown, written):
        process = subprocess.Popen(
            [COMMAND, *arguments],
            cwd=folder,
            env=environment(**changes),
            stdin=written,
            stdout=written,
            stderr=written,
        )
        os.close(written)
        out = read_until(shown)
        return Run(process.wait(timeout=120), out)
