"""`leadline fuzz`: search at random with Hypothesis."""

from __future__ import annotations

import functools
from pathlib import Path

import click

import checker.fuzz
from reports.cli.options import chosen_spec, output_options, spec_options
from reports.cli.outputs import Outputs
from reports.cli.running import only_the_result_on_stdout, run


@click.command()
@spec_options
@click.option(
    "--examples",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    metavar="N",
    help="Hypothesis examples to draw, each of 200 steps or a little more, in one behaviour or several.",
)
@click.option(
    "--steps", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="Most steps in a behaviour."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="The same seed searches the same behaviours."
)
@output_options
def fuzz(
    spec: str,
    bounds: tuple[str, ...],
    names: tuple[str, ...],
    no_invariants: bool,
    examples: int,
    steps: int,
    seed: int,
    trace_out: Path | None,
    json_file: str | None,
    html: Path | None,
) -> int:
    """Search behaviours of SPEC at random, and shorten the counterexamples found.

    The search ends when the examples are used up, or every invariant is violated. For spaces too large to
    exhaust. Finding nothing proves nothing: that ends as incomplete, exit code 3.

    \b
    leadline fuzz atomic/hw-truncation --seed 7
    leadline fuzz atomic/kip-279 -b brokers=3,max_epoch=2 --examples 2000
    """
    settings = {"examples": examples, "steps": steps, "seed": seed}
    with only_the_result_on_stdout(json_file):
        chosen = chosen_spec(spec, bounds, names, no_invariants)
    search = functools.partial(checker.fuzz.fuzz, chosen, examples=examples, steps=steps, seed_value=seed)
    return run(
        lambda progress: search(progress=progress), chosen, "fuzz", settings, Outputs(json_file, trace_out, html)
    )
