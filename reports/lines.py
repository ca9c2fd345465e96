"""Lines of text that cannot control the terminal that shows them or the CI system that reads the log."""

from __future__ import annotations

import json
import re

import click

from leadline.checker.support.escapes import visible

_AT_START = re.compile(r"^(\s*)::")
"""What GitHub reads as a command at the start of a line, after any white space."""

_ANYWHERE = re.compile(r"##(?=\w*\[)")
"""What GitHub, Azure Pipelines and TeamCity read as a command anywhere in a line."""


def inert(text: str, *, starts: bool = True) -> str:
    r"""A part of a line without hidden characters, which no CI system reads as a command.

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
        text: the lines. Names and values in them must be `visible`; otherwise they may start a line of their own.
        err: whether to print on standard error.
    """
    click.echo("\n".join(map(inert, text.removesuffix("\n").split("\n"))), err=err)


def json_text(content: object, *, indent: int) -> str:
    """An object as JSON in ASCII, which no CI system reads as a command. JSON parsers read its strings unchanged."""
    return _ANYWHERE.sub(r"#\\u0023", json.dumps(content, indent=indent)) + "\n"  # "##" occurs only in strings


def say_json(content: object, *, indent: int) -> None:
    """Print an object as JSON."""
    say(json_text(content, indent=indent))
