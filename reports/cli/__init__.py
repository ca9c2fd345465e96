"""The `leadline` command."""

import atexit
import os
import sys
import threading
from contextlib import suppress

from leadline.reports.cli.hash_seed import fix_hash_seed
from leadline.reports.cli.signals import Interrupt, handled, leave, no_exit
from leadline.reports.exit_codes import INCOMPLETE


def main() -> None:
    """Run the command line, and then end the process even if other threads are still running."""
    with handled(leave):
        fix_hash_seed()
    try:
        run()
    except SystemExit as end:
        if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
            atexit._run_exitfuncs()  # Python would wait for the thread first
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(end.code if isinstance(end.code, int) else 0)
        raise


def run() -> None:
    """Run the command line, and raise SystemExit with the exit code."""
    try:
        with handled(leave):
            from leadline.reports.cli import app  # takes most of a second, during which a user may press Ctrl-C
        with handled(Interrupt()), no_exit():
            app.main()
    except KeyboardInterrupt:
        print("leadline: interrupted", file=sys.stderr)
        sys.exit(INCOMPLETE)


__all__ = ["main"]
