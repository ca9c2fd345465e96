"""The command `leadline replay`, which re-executes a saved counterexample on the model and on real brokers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from leadline.checker.errors import TraceError
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.checker.traces.itf import SUFFIX, TraceFile, read_trace
from leadline.checker.traces.replay import replay as replay_trace
from leadline.reports.cli.completion import complete_files
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout
from leadline.reports.cli.saved_traces import spec_of_file, trace_spec_option
from leadline.reports.exit_codes import AS_EXPECTED, VIOLATED
from leadline.reports.formats import FORMATS
from leadline.reports.lines import say


@click.command()
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_files(SUFFIX))
@trace_spec_option
@click.option(
    "--on",
    metavar="VERSION",
    help="Also execute the steps on real brokers that run this release of Kafka, for example 2.8.0, or two releases "
    "for a trace of a mix, for example 2.7.1..2.8.1.",
)
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the brokers' logs, data directories and recording in this folder. Requires --on.",
)
@format_options(FORMATS["replay"])
def replay(file: Path, spec: str | None, on: str | None, keep: Path | None, **wanted: Path | None) -> int:
    """Re-execute every action of the trace in FILE on the model and, with --on, on real brokers.

    Each recorded state must be reached, and the last state must still violate the property. With --on, the brokers'
    logs, high watermarks, leader, ISR and messages in flight are compared with the model after each step.

    Exit code 0: the model allows the trace, and the brokers behave like the model; 1: the trace is stale, or the
    brokers behave differently, and the first difference is reported; 2: usage error, or the brokers cannot be started;
    3: the brokers did not execute a step.
    """
    if keep is not None and on is None:
        raise click.UsageError("--keep requires --on")
    recorded = read_trace(file)
    if on is not None and recorded.loop is not None:
        raise click.UsageError("--on cannot replay a trace with a loop: brokers cannot repeat it for ever")
    chosen = spec_of_file(recorded, spec, ["replay", str(file)])
    files = Files(FORMATS["replay"], wanted)
    said = {"trace": str(file), "spec": chosen.name, "states": len(recorded.states), "stale": None, "brokers": None}
    with only_the_result_on_stdout(files.only_a_report):
        code = _replayed(recorded, chosen, on, keep, said)
    files.write({**said, "exit_code": code})
    return code


def _replayed(
    recorded: TraceFile, chosen: Spec[Any], on: str | None, keep: Path | None, said: dict[str, object]
) -> int:
    """Replay a trace, print the result, and add it to the object `said`. Return the exit code."""
    try:
        followed = replay_trace(chosen, recorded)
    except TraceError as error:
        said["stale"] = str(error)
        say(f"stale: {visible(str(error))}")
        return VIOLATED
    about = (
        f", which {'shows' if followed.about.kind.is_witness else 'violates'} {followed.about.name}"
        if followed.about is not None
        else ""
    )
    say(visible(f"as recorded: {chosen.name}, {counted(len(followed), 'state')}{about}"))
    if on is None:
        return AS_EXPECTED
    from leadline.reports.cli.reproduce import replay_on  # other commands do not import brokers

    code, said["brokers"] = replay_on(followed, on, keep)
    return code
