"""Consoles, which use colours only on a terminal.

Before names and values are printed, the function `visible` must replace their line breaks and other invisible
characters. The function `inert` makes every printed line harmless, whatever the line contains.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Any

import attrs
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.segment import Segment
from rich.text import Text

from leadline.checker.result import Verdict
from leadline.reports.lines import inert

STYLES = {Verdict.HOLDS: "green", Verdict.VIOLATED: "bold red", Verdict.INCOMPLETE: "yellow"}


def console(stderr: bool = False, live: bool = False, quiet: bool = False) -> Console:
    """Return a console for standard output or standard error, which is as wide as its terminal.

    Without a terminal, the console has no colours, and is 100 columns wide unless the environment variable ``COLUMNS``
    is set. If ``NO_COLOR`` is set, the console has no colours.

    Parameters:
        stderr: true for standard error.
        live: true if lines are overwritten, for example to show progress. Since this needs control characters, the
            console does not remove them, so the caller must apply `visible` to every string.
        quiet: true if the console should print nothing.
    """
    stream = sys.stderr if stderr else sys.stdout
    out = WholeConsole(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        quiet=quiet,
        width=None if stream.isatty() or "COLUMNS" in os.environ else 100,
    )
    if not live:
        out.push_render_hook(PlainLines())
    return out


class WholeConsole(Console):
    """A console that does not cut off long lines, and raises an error if its output is closed."""

    def print(self, *objects: object, **options: Any) -> None:
        """Print objects. Lines that are wider than the terminal are not cut off."""
        super().print(*objects, **{"crop": False, **options})

    def on_broken_pipe(self) -> None:
        """Raise the `BrokenPipeError` again. `rich` calls this method when it handles the error."""
        raise BrokenPipeError


class PlainLines(RenderHook):
    """A `rich` hook that removes the padding of printed lines and applies `inert` to them."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Return replacements for the objects to print. `rich` calls this method before it prints them."""
        return [_Plain(renderable) for renderable in renderables]


@attrs.frozen
class _Plain:
    renderable: ConsoleRenderable

    def __rich_console__(self, out: Console, options: ConsoleOptions) -> Iterator[Segment]:
        lines = list(Segment.split_lines(out.render(self.renderable, options)))
        for number, line in enumerate(lines, start=1):
            while line and not line[-1].text.rstrip():
                line.pop()
            starts = True
            for place, segment in enumerate(line, start=1):
                text = segment.text.rstrip() if place == len(line) else segment.text
                yield Segment(inert(text, starts=starts), segment.style)
                starts = starts and not text.strip()
            if number < len(lines) or options.max_width:
                yield Segment.line()


def is_plain(out: Console) -> bool:
    """Return whether a console shows no colours, so that changes must be marked with characters."""
    return out.no_color or out.color_system is None


@attrs.frozen
class WrappedBounds:
    """Text with bounds. It is also wrapped after the comma before a name, so that a name that fits on a line is whole.

    It is not a subclass of `Text`, because `rich` would join it with neighbouring text and apply its own wrapping.
    """

    text: Text

    def __rich_console__(self, out: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        breaks, begin = [], 0
        for part in re.finditer(r"(?:[^ ,]|,(?=[^a-z ]))+[ ,]*", self.text.plain):
            end = part.start() + len(part[0].rstrip())
            if begin < part.start() and end - begin > options.max_width:
                begin = part.start()
                breaks.append(begin)
        for line in self.text.divide(breaks):
            line.rstrip()
            yield line
