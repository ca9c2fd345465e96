"""The command group: it knows its commands without importing them."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from leadline.reports.cli.app import COMMANDS, app

HEAVY = ("hypothesis", "jinja2", "networkx", "numba", "numpy", "pyspark", "rich")

PRINT_IMPORTED = f"""
import sys
from leadline.reports.cli import main
try:
    main()
finally:
    print("imported:", *(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_there(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    assert command.name == name
    assert command.help
    assert "Exit code 0: " in command.help or "Exit code 1: " in command.help


@pytest.mark.parametrize(
    ("argument", "imported"), [("--help", ""), ("--version", ""), ("specs", "rich")], ids=lambda text: text or "nothing"
)
def test_what_is_shown_at_once_imports_little(argument: str, imported: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRINT_IMPORTED, argument], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr.split("imported:")[1].strip() == imported
