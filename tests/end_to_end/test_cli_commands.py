"""The command group: it knows its commands without importing them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from leadline.reports.cli.app import COMMANDS, app

HEAVY = ("hypothesis", "jinja2", "networkx", "numba", "numpy", "pyspark", "rich")
OF_RELEASES = ("leadline.invariants.catalog", "leadline.model.txn.state", "leadline.reports.kafka.bugs")
PORT = Path(__file__).parents[1] / "natural" / "queens.py"

PRINT_IMPORTED = f"""
import sys
from leadline.reports.cli import main
try:
    main()
finally:
    print("imported:", *(name for name in {(*HEAVY, *OF_RELEASES)!r} if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_there(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    assert command.name == name
    assert command.help
    assert "Exit code 0: " in command.help or "Exit code 1: " in command.help


def imported(*arguments: str) -> set[str]:
    """Which heavy modules a command imports."""
    done = subprocess.run(
        [sys.executable, "-c", PRINT_IMPORTED, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stderr.split("imported:")[1].split())


@pytest.mark.parametrize(
    ("argument", "heavy"),
    [
        ("--help", set()),
        ("--version", set()),
        ("specs", {"rich", "leadline.invariants.catalog", "leadline.model.txn.state"}),
    ],
    ids=["help", "version", "specs"],
)
def test_what_is_shown_at_once_imports_little(argument: str, heavy: set[str]) -> None:
    assert imported(argument) == heavy


def test_a_search_of_a_users_file_imports_no_release() -> None:
    assert not imported("explore", str(PORT), "--json", "-") & {*OF_RELEASES, "numba"}
