"""The command `leadline conform`, which checks whether a recording of real brokers is a behaviour of the model."""

from __future__ import annotations

from pathlib import Path

import click

from leadline.checker.conformance import Limits
from leadline.checker.support.escapes import visible
from leadline.reports.cli.outputs import Attempts, Files, format_options
from leadline.reports.conformance.report import conformance_report
from leadline.reports.conformance.text import lines
from leadline.reports.formats.conformance import CONFORMANCE_FORMATS
from leadline.reports.lines import say


@click.command()
@click.argument("recording", type=click.Path(path_type=Path))
@click.option(
    "--spec",
    metavar="SPEC",
    help="The release to check the recording against. By default, the recording is checked against all releases.",
)
@click.option("--partition", metavar="TOPIC-NUMBER", help="The partition to check, if the recording contains several.")
@click.option(
    "--rules",
    is_flag=True,
    help="Show which rules the recording confirms. A rule is confirmed if the recording contradicts every other "
    "value of the rule.",
)
@click.option(
    "--max-hidden-steps",
    type=click.IntRange(0),
    metavar="N",
    default=Limits().hidden_steps,
    show_default=True,
    help="The maximum number of hidden steps (steps for which no frame is recorded) between two observations.",
)
@click.option(
    "--max-states",
    type=click.IntRange(1),
    metavar="N",
    default=Limits().states,
    show_default=True,
    help="The maximum number of states to examine for one observation.",
)
@format_options(CONFORMANCE_FORMATS)
def conform(
    recording: Path,
    spec: str | None,
    partition: str | None,
    rules: bool,
    max_hidden_steps: int,
    max_states: int,
    **wanted: Path | None,
) -> int:
    """Check whether the recorded behaviour of real brokers is a behaviour of the model.

    RECORDING is a file in the format of brokers/recording.md, for example one that leadline reproduce --keep wrote. It
    must include the creation of the topic. Each frame is an observation, which rules out some of the states that the
    model could be in. The recording conforms if at least one state always remains possible. Without --spec, the
    recording is checked against the specs of all releases with the same kind of controller, and the exit code is the
    one for the release of the recording.

    \b
    leadline conform DIR/2.8.0-affected/recording.jsonl
    leadline conform recording.jsonl --spec kafka/3.9 --html page.html

    Exit code 0: the recording conforms; 1: it does not; 2: usage error, or an unsupported event; 3: a limit was
    reached.
    """
    files = Files(CONFORMANCE_FORMATS, wanted)
    limits = Limits(hidden_steps=max_hidden_steps, states=max_states)
    draws = wanted["html"] is not None
    report = conformance_report(recording, spec, partition, rules=rules, limits=limits, keeps_logs=draws)
    if not files.only_json:
        say("\n".join(visible(line) for line in lines(report)))
    attempt = Attempts()
    with attempt:
        files.print(report)
    files.save(report, attempt)
    attempt.raise_failures()
    return report.exit_code
