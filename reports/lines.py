"""Print lines of text in a form that terminals and CI systems do not interpret as commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping

import click

from leadline.checker.bounds import bounds_text
from leadline.checker.support.escapes import visible

_AT_START = re.compile(r"^(\s*)::")
"""Matches the text that GitHub interprets as a command at the start of a line, after optional white space."""

_ANYWHERE = re.compile(r"##(?=\w*\[)")
"""Matches the text that GitHub, Azure Pipelines and TeamCity interpret as a command anywhere in a line."""


_LEAST_COLUMNS = 40
"""Lines are not wrapped to less than this, so that what is indented has room."""


FEW_BOUNDS = 8
"""The maximum number of bounds that are all stated: about two lines on a terminal."""


def inert(text: str, *, starts: bool = True) -> str:
    r"""Remove hidden characters from a text, and return it in a form that no CI system interprets as a command.

    Parameters:
        text: a line or a part of a line.
        starts: true if the text is at the start of a line.

    Example:
        >>> print(inert("::stop-commands::x"), inert("a ##[group]b\x1b"))
        \::stop-commands::x a #\#[group]b\x1b
    """
    text = _ANYWHERE.sub(r"#\\#", visible(text))
    return _AT_START.sub(r"\1\\::", text) if starts else text


def stated_bounds(bounds: Mapping[str, object]) -> str:
    """Return bounds as text for readers. Of many bounds, those that are 0 or false are only counted."""
    zero = [name for name, value in bounds.items() if not value]
    if len(bounds) <= FEW_BOUNDS or len(zero) < 2:
        return bounds_text(bounds)
    others = {name: value for name, value in bounds.items() if value}
    return f"{bounds_text(others)} ({len(zero)} other bounds are 0 or false)"


def say(text: str, *, err: bool = False) -> None:
    """Print lines of plain text that no CI system interprets as a command.

    Parameters:
        text: the lines. Names and values in the lines must have been escaped with `visible`, because they may contain
            line breaks.
        err: true to print on standard error.
    """
    click.echo("\n".join(map(inert, text.removesuffix("\n").split("\n"))), err=err)


def say_wrapped(lines: Iterable[str]) -> None:
    """Print lines as `say` does. On a terminal, wrap them between words, and indent what follows as far as its line.

    Without a terminal, lines are whole, so that other programs can search them, unless ``COLUMNS`` is set.

    Parameters:
        lines: the lines, which need not have been escaped.
    """
    is_wrapped = sys.stdout.isatty() or "COLUMNS" in os.environ
    width = max(shutil.get_terminal_size().columns, _LEAST_COLUMNS)
    for line in map(visible, lines):
        indent = line[: len(line) - len(line.lstrip())]
        wrapped = textwrap.wrap(
            line.lstrip(),
            width,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        say("\n".join(wrapped) if is_wrapped and wrapped else line)


def json_text(content: object, *, indent: int) -> str:
    """Return an object as ASCII JSON that no CI system interprets as a command. Parsing the JSON gives the original
    strings.
    """
    return _ANYWHERE.sub(r"#\\u0023", json.dumps(content, indent=indent)) + "\n"  # "##" occurs only in strings
