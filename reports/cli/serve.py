"""`leadline serve`: walk a state space in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from checker.errors import TraceError
from checker.traces.itf import SUFFIX, read_trace
from reports.cli.options import chosen_spec
from reports.cli.trace import note, view_of
from reports.exit_codes import AS_EXPECTED
from reports.explorer import LOOPBACK, path_of, server
from reports.lines import say


@click.command()
@click.argument("what", metavar="SPEC|TRACE")
@click.option("-b", "--bounds", multiple=True, metavar="NAME=VALUE,...", help="Change bounds.")
@click.option("-i", "--invariant", "names", multiple=True, metavar="NAME", help="Judge by this property only.")
@click.option("--spec", metavar="SPEC", help="The spec of TRACE, if it is not the shipped one that the file names.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port; by default a free one.")
def serve(what: str, bounds: tuple[str, ...], names: tuple[str, ...], spec: str | None, port: int) -> int:
    """Serve pages of a spec's state space on this machine, until Ctrl-C.

    Each page shows the way so far, what every property says at its end, and every step that is enabled, from any of
    its states. The way can be saved as a trace file. With TRACE (.itf.json), it begins as that trace.

    \b
    leadline serve rpc/kip-320 -b brokers=3
    leadline serve traces/loss.itf.json
    """
    start: tuple[int, ...] = (0,)
    if what.endswith(SUFFIX):
        view = view_of(read_trace(Path(what)), spec, ["serve", what])
        if view.trace is None:
            raise TraceError(f"the trace cannot be explored: {view.note}")
        chosen, start = view.trace.spec, path_of(view.trace)
    else:
        chosen = chosen_spec(what, bounds, names, no_invariants=False)
    with server(chosen, port, note) as running:
        address = f"http://{LOOPBACK}:{running.server_address[1]}/?path={','.join(map(str, start))}"
        say(f"exploring {chosen.name} at {address} until Ctrl-C")
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            return AS_EXPECTED
    return AS_EXPECTED
