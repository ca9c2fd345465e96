"""The command `leadline conform`, which checks whether a recording of real brokers is a behaviour of the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from leadline.brokers.folder import run_folder
from leadline.brokers.quorum.walks import walks as walks_of_quorum
from leadline.brokers.releases import broker_release, mixed_release
from leadline.checker.conformance import Limits
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.reports.cli.options import refuse_options
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.formats import FORMATS
from leadline.reports.kafka.bugs import QUORUM
from leadline.reports.kafka.conformance.text import explained, summary
from leadline.reports.kafka.conformance.walks import CHAOS_SECONDS, drive
from leadline.reports.kafka.conformance.whole import GROUP_SPECS, whole_report
from leadline.reports.lines import say, say_wrapped
from leadline.reports.loading import load_spec


@click.command()
@click.argument("recording", type=click.Path(path_type=Path), required=False)
@click.option(
    "--spec",
    metavar="SPEC",
    help="The release to check the recording against. By default, the recording is checked against all releases.",
)
@click.option("--partition", metavar="TOPIC-NUMBER", help="The partition to check, if the recording contains several.")
@click.option("--group", metavar="NAME", help="The consumer group to check. By default, all groups are checked.")
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
@click.option(
    "--release",
    metavar="RELEASE",
    help="Instead of RECORDING: start real brokers of this release, such as 3.9.1, and check what they do. A mix such "
    "as 3.9.1..4.1.1 is upgraded meanwhile; with --chaos, also 3.9.1..4.1.1..4.3.1, step by step.",
)
@click.option(
    "--walks",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="With --release: execute N random behaviours of the model on the brokers.",
)
@click.option(
    "--quorum",
    is_flag=True,
    help="With --release and --walks: let KRaft's quorum walk at random instead, as KafkaRaftClients in one Java "
    "process, and check that quorum/RELEASE allows what they do.",
)
@click.option(
    "--chaos",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="With --release: in N runs, disturb the brokers at random, for example by killing them.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    metavar="M",
    help="With --chaos: disturb the brokers for M minutes in each run, instead of a quarter of a minute.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="With --release: the initial seed.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With --release: keep the recordings and the brokers' files in this folder.",
)
@format_options(FORMATS["conformance"])
def conform(
    recording: Path | None,
    spec: str | None,
    partition: str | None,
    group: str | None,
    rules: bool,
    max_hidden_steps: int,
    max_states: int,
    release: str | None,
    walks: int,
    quorum: bool,
    chaos: int,
    minutes: float | None,
    seed: int,
    keep: Path | None,
    **wanted: Path | None,
) -> int:
    """Check whether the recorded behaviour of real brokers is a behaviour of the model.

    RECORDING is a file in the format of brokers/recording.md, for example one that leadline reproduce --keep wrote. It
    must include the creation of the topic. Each frame is an observation that rules out some states of the model. The
    recording conforms if at least one possible state remains after every observation. Without --spec, the recording is
    checked against the specs of all releases with the same kind of controller, and the exit code shows the result for
    the release that was recorded.

    The consumer groups in it are checked against the specs of groups, unless --partition or another spec is given.

    With --release instead of RECORDING, the command starts real brokers, records what they do, and checks each
    recording against the spec of the release.

    \b
    leadline conform DIR/2.8.0-affected/recording.jsonl
    leadline conform recording.jsonl --spec kafka/3.9 --html page.html
    leadline conform recording.jsonl --group orders --spec group/2.8
    leadline conform --release 3.9.1 --walks 5 --chaos 2 --keep DIR
    leadline conform --release 4.3.1 --quorum --walks 200

    Exit code 0: the recording conforms; 1: it does not; 2: usage error, or an unsupported event; 3: a limit was
    reached.
    """
    files = Files(FORMATS["conformance"], wanted)
    limits = Limits(hidden_steps=max_hidden_steps, states=max_states)
    if release is not None:
        others: dict[str, Any] = {"RECORDING": recording, "--spec": spec, "--partition": partition, "--group": group}
        others["--rules"] = rules or None
        others |= {f"--{name}": value for name, value in wanted.items()}
        if given := ", ".join(name for name, value in others.items() if value):
            raise click.UsageError(f"{given} cannot be combined with --release: pass a recording that --keep saved")
        if quorum:
            refuse_options({"chaos": chaos, "minutes": minutes}, "cannot be combined with --quorum")
            return _let_walk(release, walks, seed, keep)
        return _drive(release, walks, chaos, CHAOS_SECONDS if minutes is None else 60 * minutes, seed, keep, limits)
    if walks or chaos or keep or minutes or quorum:
        raise click.UsageError("--walks, --quorum, --chaos, --minutes and --keep require --release")
    if recording is None:
        raise click.UsageError("pass a RECORDING, or --release with --walks or --chaos")
    if group is not None and (partition or rules or not (spec or GROUP_SPECS).startswith(GROUP_SPECS)):
        raise click.UsageError("--group cannot be combined with --partition, --rules, or a spec of another family")
    report = whole_report(
        recording, spec, partition, group, rules=rules, limits=limits, draws=wanted["html"] is not None
    )
    if not files.only_a_report:
        say_wrapped(report.lines())
    files.write(report)
    return report.exit_code


def _drive(release: str, walks: int, chaos: int, seconds: float, seed: int, keep: Path | None, limits: Limits) -> int:
    """Run real brokers, print the result of each run, and return the exit code."""
    if not walks and not chaos:
        raise click.UsageError("--release requires --walks or --chaos")
    if walks and release.count("..") > 1:
        raise click.UsageError("--walks requires one release or one upgrade: several can be disturbed with --chaos")
    codes = []
    with run_folder(keep) as folder:
        how: dict[str, Any] = {"walks": walks, "disturbed": chaos, "seed": seed, "limits": limits, "seconds": seconds}
        for run in drive(mixed_release(release), folder, **how):
            checked, report = run.report.checked[0], run.report
            count = counted(checked.observations, "observation")
            say(visible(f"{run.name}: {run.did}"))
            say(visible(f"  {count}: {summary(checked)}"))
            if report.exit_code != AS_EXPECTED:
                say_wrapped(f"  {line}" for line in explained(report, checked))
            codes.append(report.exit_code)
    conforming = codes.count(AS_EXPECTED)
    kept = f"; the recordings are in {keep}" if keep else ""
    say(visible(f"{conforming} of {counted(len(codes), 'run')} of Kafka {release} conform{kept}"))
    return VIOLATED if VIOLATED in codes else INCOMPLETE if INCOMPLETE in codes else AS_EXPECTED


def _let_walk(release: str, count: int, seed: int, keep: Path | None) -> int:
    """Let KRaft's quorum walk, print walks that the model does not allow, and return the exit code."""
    if not count:
        raise click.UsageError("--quorum requires --walks")
    found = broker_release(release)
    spec: Spec[Any] = load_spec(f"{QUORUM}/{found.number}")
    made, steps, rejected, stopped = 0, 0, 0, ""
    with run_folder(keep) as folder:
        try:
            for walk in walks_of_quorum(found, spec, folder / found.number, range(seed, seed + count)):
                made, steps, rejected = made + 1, steps + len(walk.steps), rejected + bool(walk.rejected)
                say(f"walk {walk.seed}: {counted(len(walk.steps), 'step')}{', rejected' if walk.rejected else ''}")
                if walk.rejected:
                    say_wrapped(f"  {step}" for step in walk.steps)
                    say_wrapped([f"  {spec.name} allows no such step: {walk.rejected}"])
        except KeyboardInterrupt:
            stopped = ", interrupted"
    conforming = f"{made - rejected} of {counted(made, 'walk')} of KRaft's quorum of Kafka {found.number} conform"
    say(f"{conforming} to {spec.name}, with {counted(steps, 'step')}{stopped}")
    return VIOLATED if rejected else INCOMPLETE if stopped else AS_EXPECTED
