"""The `leadline` command, on top of everything else."""

from reports.cli.app import main

__all__ = ["main"]
