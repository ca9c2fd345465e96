"""The `leadline` command, on top of everything else."""

import sys

from leadline.reports.cli.signals import Interrupt, handled, leave, no_exit
from leadline.reports.exit_codes import INCOMPLETE


def main() -> None:
    """Run the command line and exit."""
    try:
        with handled(leave):
            from leadline.reports.cli import app  # takes most of a second, in which somebody may press Ctrl-C
        with handled(Interrupt()), no_exit():
            app.main()
    except KeyboardInterrupt:
        print("leadline: interrupted", file=sys.stderr)
        sys.exit(INCOMPLETE)


__all__ = ["main"]
