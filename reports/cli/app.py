"""The command group, and the one place where errors become a line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import os
import re
import sys
from importlib.metadata import version
from typing import Any

import click

from checker.budget import LimitReached
from checker.errors import LeadlineError, error_line
from checker.names import nearest
from reports.cli.bugs import bugs
from reports.cli.check import check
from reports.cli.diff import diff
from reports.cli.explore import explore
from reports.cli.fuzz import fuzz
from reports.cli.graph import graph
from reports.cli.matrix import matrix
from reports.cli.page import page
from reports.cli.report import report
from reports.cli.specs import specs
from reports.cli.trace import replay, trace
from reports.exit_codes import INCOMPLETE, USAGE
from reports.lines import say


class Commands(click.Group):
    """A group that names the nearest commands when it is given one it does not know."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is None and not ctx.resilient_parsing:
            raise click.UsageError(f"unknown command {cmd_name!r}{nearest(cmd_name, self.commands)}")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error  # click would exit with 1, which is a verdict here
        except LimitReached as stop:  # click would take it for Ctrl-C
            raise StoppedEarly(str(stop)) from stop
        except SystemExit as error:
            raise LeadlineError(f"a spec must not exit, but an action or a property did, with {error}") from error


class ReaderGone(Exception):
    """Whoever read our output has gone, as `head` does."""


class StoppedEarly(Exception):
    """A limit was reached before there was anything to report. The text says which."""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("leadline"), prog_name="leadline")
def app() -> None:
    """Model checking for Kafka partition replication.

    \b
    leadline check                            run a suite of checks, as CI does
    leadline specs                            what there is to check
    leadline explore atomic/hw-truncation     search every reachable state
    leadline fuzz atomic/hw-truncation        search at random with Hypothesis
    leadline trace FILE                       show a counterexample that was saved
    leadline bugs                             known bugs, by release
    leadline matrix                           what holds where: protocols, properties, configurations
    leadline page                             what readers of the articles ask, answered by runs

    Exit codes: 0 as expected; 1 a property is violated, or an expectation not met; 2 a mistake in what
    was given; 3 incomplete: a bound, a limit or an interrupt came before a verdict.
    """


for command in (check, bugs, specs, explore, fuzz, trace, replay, matrix, page, graph, report, diff):
    app.add_command(command)


_OF_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""What a full disk, a limit, a terminal that is gone or a closed file give those who write."""


def main() -> None:
    """Run the command line and exit."""
    own = sys.stdout = sys.stdout or io.StringIO()  # None where it was closed before we began
    sys.stderr = sys.stderr or io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character shows ?
    notes = Notes()
    logging.getLogger("leadline").addHandler(notes)
    try:
        code = app.main(prog_name="leadline", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as shown:
        click.echo(shown.ctx.get_help() if shown.ctx else "")
        code = USAGE
    except click.ClickException as error:
        code = _fail(error.format_message())
    except LeadlineError as error:
        code = _fail(str(error))
    except (click.Abort, KeyboardInterrupt):
        print("leadline: interrupted", file=sys.stderr)
        code = INCOMPLETE
    except StoppedEarly as stop:
        _fail(str(stop))
        code = INCOMPLETE
    except (ReaderGone, BrokenPipeError):
        _silence_stdout()
        code = INCOMPLETE
    except OSError as error:
        if error.filename is not None:
            code = _fail(f"cannot use {os.fsdecode(error.filename)[:100]!r}: {error.strerror or error}")
        elif error.errno in _OF_OUTPUT:
            code = _fail(f"cannot write to standard output: {error.strerror}")
            _silence_stdout()
        else:
            code = _fail(f"unexpected {error_line(error)}")
    except RecursionError:
        code = _fail("a value is nested too deeply: a state, a parameter, or what a file holds")
    except MemoryError:
        _fail("there is not enough memory for this")
        code = INCOMPLETE
    except BaseException as error:  # a spec's own code may raise anything anywhere; that is not a verdict
        closed = isinstance(error, ValueError) and own.closed
        code = _fail("the spec closed standard output" if closed else f"unexpected {error_line(error)}")
    finally:
        logging.getLogger("leadline").removeHandler(notes)
    sys.exit(code)


class Notes(logging.Handler):
    """What has to be said while a command runs, on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"leadline: {record.getMessage()}", file=sys.stderr)


def _silence_stdout() -> None:
    """Leave without Python's complaint at exit that what is still buffered cannot be written."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> int:
    line = re.sub(r"\s*[\r\n]\s*", " ", message.strip())
    say(f"leadline: {line}", err=True)
    return USAGE
