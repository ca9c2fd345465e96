"""The command `leadline graph`, which writes the state graph of a spec in the DOT language."""

from __future__ import annotations

import click

from leadline.checker.engines import searched
from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits, Verdict
from leadline.checker.traces.graph import neighbourhood, state_graph
from leadline.reports.cli.options import chosen_spec, no_invariants_option, spec_options
from leadline.reports.exit_codes import AS_EXPECTED
from leadline.reports.lines import say
from leadline.reports.traces.dot import dot


@click.command()
@spec_options
@no_invariants_option
@click.option(
    "--max-states",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    metavar="N",
    help="If there are more than N states, write only the first counterexample and its neighbouring states.",
)
def graph(spec: str, bounds: tuple[str, ...], names: tuple[str, ...], no_invariants: bool, max_states: int) -> int:
    """Write the state graph of SPEC to standard output, in the DOT language.

    If there are more than --max-states states, write only the first counterexample and the states that are one step
    away from it.

    \b
    leadline graph my_protocol.py | dot -Tsvg > graph.svg

    Exit code 0: the graph is written; 2: usage error, or there are too many states and no counterexample; 3: the
    command was interrupted.
    """
    chosen = chosen_spec(spec, bounds, names, no_invariants)
    search = OracleSearch(chosen, Limits(max_states=max_states, keep_going=True))
    result = search.run()
    if result.interrupted:
        raise KeyboardInterrupt  # the user wants to interrupt the command, not only this search
    if result.exhausted:
        say(dot(chosen, state_graph(chosen, search.arrivals)))
        return AS_EXPECTED
    found = searched(chosen).properties
    traces = [trace for item in found if item.verdict is Verdict.VIOLATED for trace in item.traces]
    if not traces:
        raise LeadlineError(
            f"{chosen.name} has more than {max_states:,} states, and no counterexample to draw: "
            "use smaller bounds or a larger --max-states"
        )
    say(dot(chosen, neighbourhood(traces[0]), traces[0]))
    return AS_EXPECTED
