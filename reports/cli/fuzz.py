"""The command `leadline fuzz`, which searches a spec at random."""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import click

from leadline.checker.door import guarded
from leadline.checker.engines import ENGINES, searched
from leadline.checker.engines.budget import Budget, LimitReached
from leadline.checker.engines.progress import Progress
from leadline.checker.errors import LeadlineError
from leadline.checker.properties import Kind
from leadline.checker.result import Limits, Result, StopKind
from leadline.checker.settings import MOST_EXAMPLES, MOST_STEPS, MOST_WORKERS, RandomSettings
from leadline.checker.spec import Spec
from leadline.checker.support.messages import nearest
from leadline.checker.trace import Trace
from leadline.checker.traces.continued import continued, continuing
from leadline.checker.traces.itf import SUFFIX, read_trace
from leadline.checker.traces.replay import replay
from leadline.reports.cli.completion import complete_files
from leadline.reports.cli.options import (
    chosen_spec,
    coverage_option,
    look_option,
    max_memory_option,
    no_invariants_option,
    spec_options,
    trace_out_option,
    verify_option,
)
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout, run
from leadline.reports.cli.watch import watch_option
from leadline.reports.formats import FORMATS

MOST_STATES = 1_000_000
"""The maximum number of states that a search for a witness finds, at which a random search is to begin."""


@click.command()
@spec_options
@no_invariants_option
@click.option(
    "--safety",
    is_flag=True,
    help="Leave out the liveness properties of SPEC, which a random search cannot check.",
)
@click.option(
    "--from",
    "begin",
    metavar="FILE|WITNESS",
    shell_complete=complete_files(SUFFIX),
    help="Begin at the last state of a saved trace of SPEC or, given a witness of SPEC, at the end of a shortest trace "
    "to it, for which up to 1,000,000 states are searched.",
)
@click.option(
    "--examples",
    type=click.IntRange(1, MOST_EXAMPLES),
    default=RandomSettings().examples,
    show_default=True,
    metavar="N",
    help="Number of behaviours to search.",
)
@click.option(
    "--steps",
    type=click.IntRange(1, MOST_STEPS),
    default=RandomSettings().steps,
    show_default=True,
    metavar="N",
    help="Maximum number of steps in a behaviour. States further than this from the initial state are not searched.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="Seed for the random choices. The same seed gives the same result.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help="Stop after S seconds. This includes the time spent shortening counterexamples. Shortening may exceed the "
    "limit by up to 3 seconds.",
)
@max_memory_option
@click.option(
    "--keep-going",
    is_flag=True,
    help="Try all N behaviours (see --examples), even after every invariant has been violated.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, MOST_WORKERS),
    metavar="N",
    help="Divide the work among N workers. The default is one worker per core, or only one worker with "
    "--coverage. The results do not depend on N.",
)
@click.option(
    "--uniform",
    is_flag=True,
    help="Take only random walks from the initial states, and check only the steps taken. By default, the search "
    "instead visits most states in random order, and checks every step that is enabled in them.",
)
@verify_option
@coverage_option
@look_option
@watch_option
@trace_out_option
@format_options(FORMATS["run"])
def fuzz(
    spec: str,
    bounds: tuple[str, ...],
    names: tuple[str, ...],
    no_invariants: bool,
    safety: bool,
    begin: str | None,
    max_seconds: float | None,
    max_memory: int | None,
    keep_going: bool,
    coverage: bool,
    looks: tuple[str, ...],
    trace_out: Path | None,
    **others: Any,
) -> int:
    """Search behaviours of SPEC at random, and shorten the counterexamples that are found.

    Use this command for state spaces that are too large to search exhaustively. The search ends when all N behaviours
    of --examples have been searched, or when every invariant is violated. A random search cannot show that a property
    holds, so without a violation the result is incomplete.

    \b
    leadline fuzz atomic/hw-truncation --seed 7
    leadline fuzz atomic/kip-279 -b brokers=3,max_epoch=2 --max-seconds 60
    leadline fuzz my_protocol.py --from traces/two_leaders.itf.json

    Exit code 1: a property is violated; 2: usage error; 3: no violation was found.
    """
    logging.getLogger("leadline").setLevel(logging.INFO)
    limits = Limits(max_seconds=max_seconds, max_memory=max_memory, keep_going=keep_going, coverage=coverage)
    files = Files(FORMATS["run"], {name: others.pop(name) for name in FORMATS["run"]})
    settings = RandomSettings(**others)
    with only_the_result_on_stdout(files.only_a_report), Budget(limits).enforced():
        loaded: dict[Path, ModuleType] = {}
        chosen = chosen_spec(spec, bounds, names, no_invariants, loaded)
        if safety:
            kept = [item.name for item in chosen.checks if not item.kind.is_liveness]
            if chosen.checks and not kept:
                raise LeadlineError("--safety leaves nothing to check: only liveness properties were chosen")
            chosen = chosen.with_properties(kept)
        first = _trace_to(chosen_spec(spec, bounds, (), False, loaded), begin) if begin is not None else None
    start = chosen if first is None else continuing(first, chosen)
    search = functools.partial(ENGINES["random"], start, limits, settings=settings)

    def result(progress: Progress | None) -> Result:
        found = search(progress=progress)
        if first is None:
            return found
        return attrs.evolve(continued(found, first), settings={**found.settings, "from": begin})

    shown = {**settings.shown, **({"from": begin} if begin is not None else {})}
    return run(result, chosen, "random", shown, files, trace_out, looks=looks)


def _trace_to(spec: Spec[object], begin: str) -> Trace[object]:
    """Return the trace at whose end a search begins.

    Parameters:
        begin: the name of a trace file, or of a witness of the spec.

    Raises:
        LeadlineError: if the file is not a trace of the spec, or if the witness is not reached.
    """
    if begin.endswith(SUFFIX):
        return replay(spec, attrs.evolve(read_trace(Path(begin)), about=None, loop=None))
    known = {item.name: item for item in spec.all_checks if item.kind.is_witness}
    if begin not in known:
        raise LeadlineError(
            f"--from {begin}: {spec.name} has no witness of this name{nearest(begin, known)}; "
            f"the name of a trace ends in {SUFFIX}"
        )
    witness = known[begin]

    def never(*states: object) -> bool:
        return guarded(witness.owner, lambda: not witness(*states))

    kind = Kind.STEP_INVARIANT if witness.kind.of_steps else Kind.INVARIANT  # whose violation ends the search
    only = spec.with_properties([begin])  # a deadlock does not end it
    sought = attrs.evolve(only, properties=[attrs.evolve(witness, kind=kind, function=never)], rests_on=())
    found = searched(sought, Limits(max_states=MOST_STATES))
    for trace in found.of(begin).traces:
        return attrs.evolve(trace, about=None)
    if found.stop is not None and found.stop.kind is StopKind.TIME:
        raise LimitReached(found.stop)
    raise LeadlineError(f"--from {begin}: no step leads there in the first {found.statistics.distinct:,} states")
