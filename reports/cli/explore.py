"""The command `leadline explore`, which searches every reachable state of a spec."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import attrs
import click

from leadline.checker.engines import EXHAUSTIVE
from leadline.checker.engines.budget import Budget
from leadline.checker.result import Limits
from leadline.invariants.promises import promised
from leadline.reports.cli.completion import complete_files
from leadline.reports.cli.options import (
    VERIFY_HELP,
    EngineCommand,
    EngineOption,
    Share,
    chosen_spec,
    conf_option,
    coverage_option,
    diagnose_option,
    look_option,
    master_option,
    max_memory_option,
    no_invariants_option,
    settings_as_options,
    spec_options,
    trace_out_option,
    verbose_option,
    witness_option,
)
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout, run
from leadline.reports.cli.watch import watch_option
from leadline.reports.diagnosis import default_seconds
from leadline.reports.formats import FORMATS


@click.command(cls=EngineCommand)
@spec_options
@witness_option
@no_invariants_option
@click.option(
    "--engine",
    type=click.Choice(list(EXHAUSTIVE)),
    default="compiled",
    show_default=True,
    help="compiled: a fast engine, which builds lookup tables from the spec. spark: like compiled, but distributed "
    "over the machines of a cluster. oracle: plain Python, for tiny specs and for comparison.",
)
@click.option("--depth", type=click.IntRange(1), metavar="N", help="Search only behaviours with at most N states.")
@click.option("--max-states", type=click.IntRange(1), metavar="N", help="Stop after N distinct states.")
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), metavar="S", help="Stop after S seconds.")
@max_memory_option
@click.option(
    "--keep-going", is_flag=True, help="Continue after a violation until every reachable state has been searched."
)
@click.option(
    "--traces",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Show up to N different counterexamples of minimum length to each violated property.",
)
@diagnose_option
@click.option(
    "--symmetry",
    cls=EngineOption,
    is_flag=True,
    default=None,
    help="Search only one of the states that differ in the names of interchangeable components. The spec must declare "
    "them; see Spec.symmetric.",
)
@click.option(
    "--workers",
    cls=EngineOption,
    type=click.IntRange(1, 256),
    metavar="N",
    help="Use N workers. The default is one worker per core.",
)
@click.option(
    "--verify",
    cls=EngineOption,
    type=Share(),
    metavar="SHARE",
    help=VERIFY_HELP,
)
@click.option(
    "--checkpoint",
    cls=EngineOption,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Save the search to DIR, at regular intervals and when it ends. DIR must be new.",
)
@click.option(
    "--checkpoint-every",
    cls=EngineOption,
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help="Save the search every S seconds. The default is 30. Requires --checkpoint or --resume.",
)
@click.option(
    "--resume",
    cls=EngineOption,
    metavar="DIR",
    shell_complete=complete_files(),
    help="Continue the search saved in DIR, and keep saving it there. With spark, DIR can also be a URI.",
)
@click.option(
    "--disk",
    cls=EngineOption,
    type=click.Path(path_type=Path, file_okay=False, exists=True, writable=True),
    metavar="DIR",
    help="Keep the states in temporary files in DIR, for searches that do not fit in memory. Memory then holds only a "
    "table of the states, with 4 to 12 bytes for each.",
)
@master_option
@click.option(
    "--shards",
    cls=EngineOption,
    type=click.IntRange(1, 65_535),
    metavar="N",
    help="Divide the states into N shards. The default is one shard per core.",
)
@click.option(
    "--work-dir",
    cls=EngineOption,
    metavar="URI",
    help="A new folder for the files of the search, given as a path or as a URI such as hdfs://host/dir. All machines "
    "must be able to access it.",
)
@click.option(
    "--keep-files",
    cls=EngineOption,
    is_flag=True,
    default=None,
    help="Keep the files in --work-dir after the search has finished.",
)
@conf_option
@verbose_option
@coverage_option
@look_option
@watch_option
@trace_out_option
@format_options(FORMATS["run"])
def explore(
    spec: str,
    bounds: tuple[str, ...],
    names: tuple[str, ...],
    rests_on: tuple[str, ...],
    no_invariants: bool,
    engine: str,
    depth: int | None,
    max_states: int | None,
    max_seconds: float | None,
    keep_going: bool,
    traces: int,
    diagnose: float | None,
    max_memory: int | None,
    conf: tuple[str, ...],
    coverage: bool,
    looks: tuple[str, ...],
    trace_out: Path | None,
    **others: Any,
) -> int:
    """Search every reachable state of SPEC, breadth-first, and check its properties.

    SPEC is a name that `leadline specs` lists, or path/to/file.py for your own spec; if the file has several specs, use
    path/to/file.py:name. Counterexamples are as short as possible. If several properties are violated, only the
    counterexample to the first property is shown; use -i NAME to show the counterexample to a different property.
    Without --keep-going, the search stops after the first level with a violation. Some properties of Kafka's releases
    are promises to users. If a different property is violated, the search continues for up to 250,000 states, to find
    out whether a promise is also violated.

    \b
    leadline explore atomic/kip-101 -b max_epoch=2
    leadline explore atomic/kip-320 -b brokers=3,log_size=1 -i strong_isr
    leadline explore my_protocol.py --depth 12 --json result.json
    leadline explore atomic/kip-320 -b brokers=3 --checkpoint saved
    leadline explore atomic/kip-320 --engine spark --work-dir hdfs://host/dir

    Exit code 0: every property holds; 1: a property is violated; 2: usage error; 3: incomplete.
    """
    limits = Limits(depth, max_states, max_seconds, keep_going, traces, max_memory, coverage)
    given = {**others, "conf": spark_settings(conf) or None}
    known = attrs.fields_dict(EXHAUSTIVE[engine].settings)
    chosen_settings = {name: given[name] for name in known if given.get(name) is not None}
    with settings_as_options():
        settings = EXHAUSTIVE[engine].settings(**chosen_settings)
        if coverage:
            settings.allow_coverage()
    files = Files(FORMATS["run"], {name: others[name] for name in FORMATS["run"]})
    with only_the_result_on_stdout(files.only_a_report), Budget(limits).enforced():
        chosen = chosen_spec(spec, bounds, names, no_invariants, rests_on=rests_on)
    limits = attrs.evolve(limits, sought=promised(chosen))
    shown = chosen_settings | ({"conf": " ".join(conf)} if conf else {})
    search = functools.partial(EXHAUSTIVE[engine], chosen, limits, settings=settings)
    seconds = diagnose if diagnose is not None else default_seconds(chosen)
    return run(lambda progress: search(progress=progress), chosen, engine, shown, files, trace_out, seconds, looks)


def spark_settings(given: tuple[str, ...]) -> dict[str, str]:
    """Return Spark properties, keyed by name. Raise UsageError if a string is not of the form NAME=VALUE."""
    for text in given:
        if "=" not in text:
            raise click.UsageError(f"invalid --conf {text}: write NAME=VALUE, as in --conf spark.executor.memory=2g")
    return {name: value for name, _, value in (text.partition("=") for text in given)}
