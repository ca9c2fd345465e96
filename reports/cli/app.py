"""The group of all commands. It turns each error into an error message and an exit code."""

from __future__ import annotations

import codecs
import contextlib
import errno
import importlib
import io
import logging
import os
import re
import sys
from typing import TextIO

import click
from click.shell_completion import CompletionItem

from leadline.checker.engines.budget import LimitReached
from leadline.checker.errors import LeadlineError, error_line, error_text
from leadline.checker.support.messages import nearest
from leadline.reports.cli import bash as bash  # registers itself
from leadline.reports.exit_codes import INCOMPLETE, USAGE
from leadline.reports.lines import say

GROUPS = {
    "Try Kafka": {
        "specs": "List the specs of Kafka's releases and designs, or show one of them.",
        "explore": "Search every reachable state of a spec.",
        "matrix": "Show what holds in which release and configuration.",
        "bugs": "Search for known bugs in the releases that have them and in the releases that fixed them.",
        "hunt": "Search for all causes of violations, and fix each cause before continuing.",
        "diff": "Show a behaviour that one spec allows and another does not, side by side.",
        "reproduce": "Replay the counterexample of a known bug on real brokers, or start brokers.",
    },
    "My spec": {
        "fuzz": "Search behaviours of a spec at random.",
        "show": "Show saved traces and results, convert them, or draw the state graph of a spec.",
        "replay": "Re-execute a saved trace on the model or on real brokers, and report the first difference.",
        "serve": "Explore a state space in a browser, one step at a time.",
        "mutate": "Change a spec in many ways, and show which properties detect the changes.",
    },
    "My cluster": {
        "advise": "Show the known bugs that an upgrade of Kafka fixes, introduces, or leaves unchanged.",
        "audit": "Check the data directories of real brokers.",
        "record": "Record the traffic between the brokers of an existing cluster.",
        "conform": "Check whether the recorded behaviour of real brokers is a behaviour of the model.",
    },
    "CI": {
        "check": "Run a suite of checks, and write reports for CI systems.",
    },
}
"""The commands, by what a user wants, with a line of help each. It is defined here because importing a command takes
most of a second.
"""

COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}


class Commands(click.Group):
    """A command group that imports a command only when that command runs, and suggests similar names for unknown
    commands.
    """

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            if ctx.resilient_parsing:
                return None
            raise click.UsageError(f"unknown command {cmd_name!r}{nearest(cmd_name, COMMANDS)}")
        module = importlib.import_module(f"leadline.reports.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        named = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return named or click.Command.shell_complete(self, ctx, incomplete)  # Group's would import every command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error  # click would exit with 1, which means "violated" here
        except LimitReached as stop:  # click would treat it as Ctrl-C
            raise StoppedEarly(str(stop)) from stop
        except SystemExit as error:
            raise LeadlineError(
                f"a spec must not exit, but an action or a property raised SystemExit: {error}"
            ) from error


class ReaderGone(Exception):
    """Raised when the process that reads standard output has closed the pipe, as `head` does."""


class StoppedEarly(Exception):
    """Raised when a limit is reached before there is a result to report. The message names the limit."""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="leadline", prog_name="leadline")
def app() -> None:
    """A model checker for specs in plain Python, with specs of Kafka partition replication.

    \b
    leadline explore kafka/3.7  search the spec of a release
    leadline explore spec.py    search your own spec
    leadline advise --help      show how an upgrade of Kafka affects your settings
    leadline check              run the checks of your project

    Exit codes: 0: the result is as expected; 1: a property is violated, or an expectation is not met; 2: usage error;
    3: incomplete, because a bound, a limit or an interrupt ended the search before a verdict was reached.
    """


_OF_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Errors that occur while writing: a full disk, a quota, a closed terminal or file."""


MOST_CHARACTERS = 4_000
"""The maximum number of characters in an error message, which may quote a long name or value from a file."""


IN_ASCII = {"┃": "|", "│": "|", "→": ">", "←": "<", "…": ".", "·": "-"}
"""Replacements, of the same width, for characters that a terminal's encoding lacks. Other characters become ``?``."""


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Escape characters that cannot be encoded. This function is an error handler for `codecs`."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(IN_ASCII.get(each, "?") for each in error.object[error.start : error.end]), error.end


codecs.register_error("leadline", _in_ascii)


def main() -> None:
    """Run the command line and exit."""
    own = sys.stdout = sys.stdout or io.StringIO()  # None if it was closed before the start
    sys.stderr = sys.stderr or io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="leadline")
    notes = Notes()
    log = logging.getLogger("leadline")
    log.setLevel(logging.WARNING)
    log.addHandler(notes)
    try:
        code = app.main(prog_name="leadline", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit:
        raise  # the shell's completion has ended; Commands.invoke handles those of specs
    except click.exceptions.NoArgsIsHelpError as shown:
        click.echo(shown.ctx.get_help() if shown.ctx else "")
        code = USAGE
    except click.MissingParameter as error:
        command = error.ctx.command_path if error.ctx else "leadline"
        code = _fail(f"{error.format_message().removesuffix('.')}: `{command} --help` shows what is needed")
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
        code = _fail("a state, a parameter or the content of a file is nested too deeply")
    except MemoryError:
        _fail("not enough memory")
        code = INCOMPLETE
    except BaseException as error:  # a spec may raise any exception, which must not end with exit code 1
        code = _fail(_unexpected(error, own))
    finally:
        log.removeHandler(notes)
    sys.exit(code)


def _unexpected(error: BaseException, output: TextIO) -> str:
    """Return the message for an error that no other handler has caught."""
    if isinstance(error, ValueError) and output.closed:
        return "the spec closed standard output"
    if isinstance(error, ValueError) and error_text(error).startswith("Exceeds the limit"):
        return "a value is an integer of more than 4,300 digits, which Python cannot print: use smaller values"
    return f"unexpected {error_line(error)}"


class Notes(logging.Handler):
    """A log handler that prints messages on standard error while a command runs."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"leadline: {record.getMessage()}", err=True)


def _silence_stdout() -> None:
    """Redirect standard output to the null device, so that no error is raised when it is flushed at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> int:
    line = re.sub(r"\s*[\r\n]\s*", " ", message.strip())
    line = re.sub(r"\S{400,}", lambda word: f"{word[0][:100]}... ({len(word[0]):,} characters)", line)
    line = f"{line[:MOST_CHARACTERS]}..." if len(line) > MOST_CHARACTERS else line
    say(f"leadline: {line}", err=True)
    return USAGE
