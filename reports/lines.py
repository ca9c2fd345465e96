"""Lines of text that control nothing: neither the terminal that shows them nor the CI system that reads the log."""

from __future__ import annotations

import json
import re
from typing import Any

import click

from leadline.checker.support.visible import visible

_AT_START = re.compile(r"^(\s*)::")
"""What GitHub takes for a command at the start of a line, after any white space."""

_ANYWHERE = re.compile(r"##(?=\w*\[)")
"""What GitHub, Azure Pipelines and TeamCity take for a command wherever it is in a line."""


def inert(text: str, *, starts: bool = True) -> str:
    r"""A part of a line in which nothing is hidden, and that no CI system takes for a command.

    Parameters:
        text: the part.
        starts: whether the line starts with it.

    Example:
        >>> print(inert("::stop-commands::x"), inert("a ##[group]b\x1b"))
        \::stop-commands::x a #\#[group]b\x1b
    """
    text = _ANYWHERE.sub(r"#\\#", visible(text))
    return _AT_START.sub(r"\1\\::", text) if starts else text


def say(text: str, *, err: bool = False) -> None:
    """Print lines of plain text.

    Parameters:
        text: the lines. A name or a value in them must be `visible`, or it may begin a line of its own.
        err: whether to print on standard error.
    """
    click.echo("\n".join(map(inert, text.removesuffix("\n").split("\n"))), err=err)


def say_json(content: Any, *, indent: int) -> None:
    """Print an object as JSON, which holds all texts as they are, in ASCII."""
    text = json.dumps(content, indent=indent)
    click.echo(_ANYWHERE.sub(r"#\\u0023", text))  # where it can only be in a string
