"""The command group, and the one place where errors become a line and an exit code."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version

import click

from checker.bounds import nearest
from checker.errors import LeadlineError
from reports.cli.check import check
from reports.cli.explore import explore
from reports.cli.fuzz import fuzz
from reports.cli.specs import specs
from reports.cli.trace import replay, trace
from reports.exit_codes import INCOMPLETE, USAGE


class Commands(click.Group):
    """A group that names the nearest commands when it is given one it does not know."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is None and not ctx.resilient_parsing:
            raise click.UsageError(f"unknown command {cmd_name!r}{nearest(cmd_name, self.commands)}")
        return command


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

    Exit codes: 0 as expected; 1 a property is violated, or an expectation not met; 2 a mistake in what
    was given; 3 incomplete: a bound, a limit or an interrupt came before a verdict.
    """


for command in (check, specs, explore, fuzz, trace, replay):
    app.add_command(command)


def main() -> None:
    """Run the command line and exit."""
    try:
        code = app.main(standalone_mode=False)
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
    except BrokenPipeError:
        # whoever read our output has gone, as `head` does; leave without Python's complaint at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = INCOMPLETE
    sys.exit(code)


def _fail(message: str) -> int:
    print(f"leadline: {' '.join(message.split())}", file=sys.stderr)
    return USAGE
