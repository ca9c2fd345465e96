"""The `leadline` command, on top of everything else."""

import sys

from reports.exit_codes import INCOMPLETE


def main() -> None:
    """Run the command line and exit."""
    try:
        from reports.cli import app  # takes most of a second, in which somebody may press Ctrl-C
    except KeyboardInterrupt:
        print("leadline: interrupted", file=sys.stderr)
        sys.exit(INCOMPLETE)
    app.main()


__all__ = ["main"]
