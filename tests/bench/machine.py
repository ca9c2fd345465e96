"""The head of `reports/pages/figures.md`: which code was measured, where and when. `make figures` makes the page."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import textwrap
from pathlib import Path

import psutil

from leadline.checker.engines.learning.workers import usable_cores

PROJECT = Path(__file__).parents[2]


def commit() -> str:
    """The commit that is checked out, and whether files differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=PROJECT, capture_output=True, text=True, check=False).stdout

    name = git("rev-parse", "--short=7", "HEAD").strip() or "unknown"
    packages = ("checker", "model", "invariants", "brokers", "reports")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", *packages)
    others = [line for line in changed.splitlines() if not line.endswith("reports/pages/figures.md")]
    return f"{name}, with uncommitted changes" if others else name


def processor() -> str:
    """The model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def load() -> str:
    """The load average of the last minute."""
    return f"load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load average unknown"


def measured() -> str:
    """A sentence that says what was measured, where and when."""
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"Measured on {datetime.date.today():%Y-%m-%d} at commit {commit()}: {usable_cores()} cores "
        f"({processor()}), {memory:.0f} GiB, Python {platform.python_version()}, {load()} at the start."
    )


def print_paragraph(text: str) -> None:
    """Print a paragraph of Markdown, in lines of at most 120 characters."""
    print(textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False), end="\n\n")


def print_section(title: str, text: str) -> None:
    """Print the head of a section: its title, where and when it was measured, and a paragraph."""
    print(f"## {title}\n")
    print_paragraph(measured())
    print_paragraph(text)


if __name__ == "__main__":
    print("# Figures\n")
    print_paragraph(
        "`make figures` measures these figures and writes this page. Other processes and other machines on the same "
        "host disturb seconds: compare only ratios within one table. Each row of the first three tables is a "
        "process of its own."
    )
