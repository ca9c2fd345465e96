"""Run a program, and kill it when the parent process ends. Linux only.

This is a script and not a module to import. ``python launcher.py PARENT PROGRAM ARGUMENT...`` asks the kernel to send
SIGKILL when the thread that started the script ends (PR_SET_PDEATHSIG), and then replaces itself with the program. A
script is needed because the starting process has several threads, so Python code between fork and exec could deadlock.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Replace this process with the program, unless the parent has already ended."""
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit("this system cannot end a process together with its parent (PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it ended before the kernel was asked
        sys.exit(1)
    try:
        os.execv(program[0], program)
    except OSError as error:
        sys.exit(f"cannot run {program[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
