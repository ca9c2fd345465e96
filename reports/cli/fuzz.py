"""`leadline fuzz`: search behaviours at random."""

from __future__ import annotations

import functools
from pathlib import Path

import click

import checker.engines.random.search
from checker.settings import RandomSettings
from reports.cli.options import chosen_spec, coverage_option, output_options, spec_options
from reports.cli.outputs import Outputs
from reports.cli.running import only_the_result_on_stdout, run


@click.command()
@spec_options
@click.option(
    "--examples",
    type=click.IntRange(1),
    default=RandomSettings().examples,
    show_default=True,
    metavar="N",
    help="Behaviours to search.",
)
@click.option(
    "--steps",
    type=click.IntRange(1, checker.engines.random.search.MOST_STEPS),
    default=RandomSettings().steps,
    show_default=True,
    metavar="N",
    help="Most steps in a behaviour.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="The same seed searches the same behaviours."
)
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), metavar="S", help="Stop after S seconds.")
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Share the work among N workers; by default one for each core. The results do not depend on it.",
)
@click.option(
    "--uniform",
    is_flag=True,
    help="Choose all steps with the same probability, instead of preferring states that were visited seldom.",
)
@coverage_option
@output_options
def fuzz(
    spec: str,
    bounds: tuple[str, ...],
    names: tuple[str, ...],
    no_invariants: bool,
    examples: int,
    steps: int,
    seed: int,
    max_seconds: float | None,
    workers: int | None,
    uniform: bool,
    coverage: bool,
    trace_out: Path | None,
    json_file: str | None,
    html: Path | None,
) -> int:
    """Search behaviours of SPEC at random, and shorten the counterexamples found.

    For spaces that are too large to exhaust. The search ends after N behaviours, or when every invariant is
    violated. Finding nothing proves nothing: that ends as incomplete, exit code 3.

    \b
    leadline fuzz atomic/hw-truncation --seed 7
    leadline fuzz atomic/kip-279 -b brokers=3,max_epoch=2 --max-seconds 60
    """
    settings = {"examples": examples, "steps": steps, "seed": seed, **({"uniform": True} if uniform else {})}
    with only_the_result_on_stdout(json_file):
        chosen = chosen_spec(spec, bounds, names, no_invariants)
    search = functools.partial(
        checker.engines.random.search.fuzz,
        chosen,
        examples=examples,
        steps=steps,
        seed_value=seed,
        max_seconds=max_seconds,
        workers=workers,
        uniform=uniform,
        coverage=coverage,
    )
    return run(
        lambda progress: search(progress=progress), chosen, "fuzz", settings, Outputs(json_file, trace_out, html)
    )
