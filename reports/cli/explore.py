"""`leadline explore`: search every reachable state."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from checker.engines import ENGINES
from checker.result import Limits
from reports.cli.options import (
    MemorySize,
    Outputs,
    chosen_spec,
    only_the_result_on_stdout,
    output_options,
    run,
    spec_options,
)


@click.command(short_help="Search every reachable state of a spec.")
@spec_options
@click.option(
    "--engine",
    type=click.Choice(list(ENGINES)),
    default="compiled",
    show_default=True,
    help="compiled: fast, with tables learned from the spec. oracle: plain Python, for tiny specs and comparison.",
)
@click.option("--depth", type=click.IntRange(1), metavar="N", help="Search only behaviours of up to N states.")
@click.option("--max-states", type=click.IntRange(1), metavar="N", help="Stop at N distinct states.")
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), metavar="S", help="Stop after S seconds.")
@click.option(
    "--max-memory",
    type=MemorySize(),
    metavar="SIZE",
    help="Stop when the process has taken so much memory, e.g. 800M or 12G; by default most of what is free.",
)
@click.option("--keep-going", is_flag=True, help="Search on after a violation, until the space is exhausted.")
@click.option(
    "--traces",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Show up to N different shortest counterexamples to each violated property.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Search with N threads; by default one for each core. (compiled)",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Save the search in a new folder every half a minute, and at its end. (compiled)",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Go on with the search that was saved in a folder, and save it there. (compiled)",
)
@output_options
def explore(
    spec: str,
    bounds: tuple[str, ...],
    names: tuple[str, ...],
    no_invariants: bool,
    engine: str,
    depth: int | None,
    max_states: int | None,
    max_seconds: float | None,
    keep_going: bool,
    traces: int,
    max_memory: int | None,
    workers: int | None,
    checkpoint: Path | None,
    resume: Path | None,
    trace_out: Path | None,
    json_file: str | None,
    html: Path | None,
) -> int:
    """Search every reachable state of SPEC, breadth-first, and check its properties.

    SPEC is a name that `leadline specs` lists, or path/to/file.py:name for a spec of your own.
    A counterexample is a shortest one. The search ends with the level of the first violation.

    \b
    leadline explore atomic/kip-101 -b max_epoch=2
    leadline explore atomic/kip-320 -b brokers=3,log_size=1 -i strong_isr
    leadline explore my_protocol.py:spec --depth 12 --json result.json
    leadline explore atomic/kip-320 -b brokers=3 --checkpoint saved

    Exit code 0: it holds; 1: violated; 2: a mistake in what was given; 3: incomplete.
    """
    limits = Limits(depth, max_states, max_seconds, keep_going, traces, max_memory)
    given = {"workers": workers, "checkpoint": checkpoint, "resume": resume}
    settings = {name: value for name, value in given.items() if value is not None}
    if settings and engine != "compiled":
        raise click.UsageError(f"--{min(settings)} is for the compiled engine, not for the {engine}")
    if checkpoint is not None and resume is not None:
        raise click.UsageError("--resume goes on saving in its own folder: leave out --checkpoint")
    with only_the_result_on_stdout(json_file):
        chosen = chosen_spec(spec, bounds, names, no_invariants)
    search = functools.partial(ENGINES[engine], chosen, limits)
    return run(
        lambda progress: search(progress, **settings), chosen, engine, settings, Outputs(json_file, trace_out, html)
    )
