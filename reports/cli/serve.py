"""The command `leadline serve`, which serves web pages for exploring a state space."""

from __future__ import annotations

from pathlib import Path as File

import click

from leadline.checker.errors import TraceError
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.traces.itf import SUFFIX, read_trace
from leadline.reports.cli.completion import complete_spec
from leadline.reports.cli.options import bounds_option, chosen_spec, invariant_option, rule_option, with_rules_changed
from leadline.reports.cli.saved_traces import note, trace_spec_option, view_of
from leadline.reports.exit_codes import AS_EXPECTED
from leadline.reports.explorer import LOOPBACK, Path, path_of, server
from leadline.reports.lines import say


@click.command()
@click.argument("what", metavar="SPEC|TRACE", shell_complete=complete_spec(".py", SUFFIX))
@rule_option
@bounds_option
@invariant_option
@trace_spec_option
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="The port to listen on. By default, a free port is chosen.",
)
def serve(
    what: str, rules: tuple[str, ...], bounds: tuple[str, ...], names: tuple[str, ...], spec: str | None, port: int
) -> int:
    """Serve web pages for exploring a spec's state space on this machine, until Ctrl-C is pressed.

    Each page shows the steps so far, the verdict of every property on the last state, and every enabled step. You can
    undo steps and save them as a trace file. With TRACE (.itf.json), the first page shows that trace.

    \b
    leadline serve rpc/kip-320 -b brokers=3
    leadline serve kafka/3.7 --rule elr=on
    leadline serve traces/loss.itf.json

    Exit code 0: the server was stopped with Ctrl-C; 2: usage error.
    """
    if what.endswith(SUFFIX):
        given = [("--rule", rules), ("-b", bounds), ("-i", names)]
        if unused := ", ".join(option for option, values in given if values):
            raise click.UsageError(f"{unused} requires a SPEC, but {what} is a trace, which names its own spec")
        chosen, start = _trace(what, spec)
    else:
        if spec is not None:
            raise click.UsageError(
                f"--spec requires a TRACE, a file whose name ends with {SUFFIX}, but {what} is a spec"
            )
        chosen, start = chosen_spec(with_rules_changed(what, rules), bounds, names, no_invariants=False), (0,)
    with server(chosen, port, note) as running:
        address = f"http://{LOOPBACK}:{running.server_address[1]}/?path={','.join(map(str, start))}"
        try:
            say(f"exploring {visible(chosen.name)} at {address} until Ctrl-C")
            running.serve_forever()
        except KeyboardInterrupt:
            return AS_EXPECTED
    return AS_EXPECTED


def _trace(file: str, spec: str | None) -> tuple[Spec[object], Path]:
    """Read a trace file. Return the spec of the trace, and the path that leads to the trace's last state.

    Raises:
        LeadlineError: if the file cannot be read, or if its spec does not allow the trace.
    """
    view = view_of(read_trace(File(file)), spec, ["serve", file])
    if view.trace is None:
        raise TraceError(f"the trace cannot be explored: {view.reason}")
    return view.trace.spec, path_of(view.trace)
