"""A web server for exploring the state space of a spec, one step at a time.

The address of a page contains the complete path: the index of the initial state and the index of each choice after it.
Therefore the server keeps no state, every page can be linked to, and the browser's back button undoes a step.

The server is Python's `http.server`. It listens on the loopback interface only, answers only GET requests, and reads no
files. A web framework is not needed, because there are only two addresses.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import attrs

from leadline.checker.errors import LeadlineError, TraceError
from leadline.checker.liveness.recheck import fault
from leadline.checker.properties import Kind, Property
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace, complaint_at_end
from leadline.checker.traces.itf import SUFFIX, encode_trace
from leadline.reports.html import StateVerdict, chapter, page
from leadline.reports.traces.story import story_of

LOOPBACK = "127.0.0.1"

Path = tuple[int, ...]
"""The index of an initial state in `Spec.initials`, followed by the index of each choice in `Spec.successors`."""

MOST_CONNECTIONS = 32
"""The maximum number of connections that the server answers at the same time. It closes further connections."""

PATIENCE_SECONDS = 10.0
"""The time in seconds after which the server closes a connection that sends nothing."""

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
"""The headers of every response. They stop browsers from guessing content types, using frames, or loading resources."""

MOST_STEPS = 1_000
"""The maximum number of states in a path. Longer paths are refused."""

MOST_DIGITS = 9
"""The maximum number of digits in an index. Longer indices are refused."""


def path_of(trace: Trace[object]) -> Path:
    """Return the path that leads to the last state of a trace.

    Raises:
        TraceError: if the trace is too long, or if the spec does not allow the trace.
    """
    if len(trace) > MOST_STEPS:
        raise TraceError(f"a trace of {len(trace):,} states cannot be explored: the limit is {MOST_STEPS:,}")
    numbers = [trace.spec.initials().index(trace.states[0])]
    for step in trace.steps:
        possible = list(trace.spec.successors(step.before))
        taken = step.instance, step.after
        if taken not in possible:
            raise TraceError(f"{trace.spec.name} does not allow {step.instance} in this state")
        numbers.append(possible.index(taken))
    return tuple(numbers)


def trace_of(spec: Spec[object], path: Path) -> Trace[object]:
    """Return the trace along a path, with the first property that it violates, if any.

    A liveness property is violated if the behaviour that repeats the end of the path for ever violates it.

    Parameters:
        path: the path. If it is empty, the trace consists of the first initial state.

    Raises:
        TraceError: if the path contains a choice that does not exist.
        SpecError: if the code of the spec raises an error.
    """
    first, *rest = path or (0,)
    states, instances = [_chosen(spec.initials(), first)], []
    for number in rest:
        instance, state = _chosen(list(spec.successors(states[-1])), number)
        instances.append(instance)
        states.append(state)
    walked = Trace(spec, states, instances)
    if violated := _violated(spec, states):
        return attrs.evolve(walked, about=violated[0])
    return next(filter(None, (lasso(walked, item) for item in spec.liveness)), walked)


def lasso(walked: Trace[object], item: Property) -> Trace[object] | None:
    """Return the counterexample to a liveness property that the end of a trace is, or None if it is none.

    If the last state is equal to an earlier one, the steps in between are repeated for ever. Otherwise, nothing happens
    any more. Whether a state is recoverable needs a search, so no end of a trace is a counterexample to it.
    """
    if item.kind is Kind.RECOVERABLE:
        return None
    last = len(walked.states) - 1
    loops = [index for index, state in enumerate(walked.states) if state == walked.states[last]]
    found = (attrs.evolve(walked, about=item, loop=loop) for loop in (*loops, None))
    return next((trace for trace in found if fault(trace) is None), None)


def _chosen(possible: list[T], number: int) -> T:
    if not 0 <= number < len(possible):
        raise TraceError(
            f"choice {number} in the path does not exist: there are {len(possible)} choices, counted from 0"
        )
    return possible[number]


def _violated(spec: Spec[object], states: Sequence[object]) -> list[Property]:
    return [item for item in spec.checks if not item.kind.is_witness and _complaint(spec, item, states) is not None]


def _complaint(spec: Spec[object], item: Property, states: Sequence[object]) -> str | None:
    return complaint_at_end(spec, item, states)


def verdicts(trace: Trace[object]) -> list[StateVerdict]:
    """Return the verdict of each property on the last state or step of a trace. Liveness properties are judged on the
    endless behaviour that the end of the trace begins.
    """
    found = []
    for item in trace.spec.checks:
        if item.kind.is_liveness:
            violated = lasso(trace, item)
            from_here = (
                "" if violated is None or violated.loop is None else f" for ever from state {violated.loop + 1} on"
            )
            found.append(
                StateVerdict(
                    item.name, f"violated{from_here}" if violated else "not decided here", "violated" * bool(violated)
                )
            )
            continue
        complains = _complaint(trace.spec, item, trace.states) is not None
        if item.kind.is_witness:
            found.append(
                StateVerdict(item.name, "shown" if complains else "not shown here", "holds" if complains else "")
            )
        elif item.kind is Kind.DEADLOCK:
            found.append(
                StateVerdict(item.name, "deadlock" if complains else "none", "violated" if complains else "holds")
            )
        else:
            found.append(
                StateVerdict(item.name, "violated" if complains else "true", "violated" if complains else "holds")
            )
    return found


def walk_page(spec: Spec[object], path: Path) -> str:
    """Return the HTML page for a path.

    The page shows the trace so far, the verdict of each property, and the steps that are enabled in each state.

    Raises:
        LeadlineError: if the path contains a choice that does not exist, or if the code of the spec raises an error.
    """
    path = path or (0,)
    trace = trace_of(spec, path)
    shown = chapter(1, story_of(trace), link=lambda state, choice: _address((*path[: state + 1], choice)))
    links = [("start again", _address((0,))), (f"save as trace{SUFFIX}", f"/trace{SUFFIX}?{_query(path)}")]
    if len(path) > 1:
        links.insert(0, ("undo the last step", _address(path[:-1])))
    return page(f"exploring {spec.name}", [shown], start=shown.shown[-1].name, links=links, verdicts=verdicts(trace))


def _query(path: Path) -> str:
    return f"path={','.join(map(str, path))}"


def _address(path: Path) -> str:
    return f"/?{_query(path)}"


@attrs.frozen
class Answer:
    """A response of the server.

    Attributes:
        kind: the content type.
    """

    status: HTTPStatus
    kind: str
    content: str


def answer(spec: Spec[object], target: str) -> Answer:
    """Return the response to a GET request.

    Parameters:
        target: the target of the request: ``/?path=0,3`` for a page, ``/trace.itf.json?path=0,3`` for a trace file.
    """
    try:
        parts = urlsplit(target)
    except ValueError:  # such as "http://[/"
        return Answer(HTTPStatus.BAD_REQUEST, "text/plain", "this is not an address\n")
    try:
        path = _read_path(parse_qs(parts.query).get("path", ["0"])[0])
        match parts.path:
            case "/":
                return Answer(HTTPStatus.OK, "text/html", walk_page(spec, path))
            case "/trace.itf.json":
                return Answer(
                    HTTPStatus.OK, "application/json", json.dumps(encode_trace(trace_of(spec, path)), indent=1)
                )
    except LeadlineError as error:
        return Answer(HTTPStatus.BAD_REQUEST, "text/plain", f"{error}\n")
    return Answer(HTTPStatus.NOT_FOUND, "text/plain", "there is no page at this address\n")


def _read_path(text: str) -> Path:
    numbers = text.split(",")
    if len(numbers) > MOST_STEPS or not all(
        number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS for number in numbers
    ):
        raise TraceError(f"a path must consist of at most {MOST_STEPS:,} numbers separated by commas, such as 0,3,1")
    return tuple(map(int, numbers))


T = TypeVar("T")

Request = socket.socket | tuple[bytes, socket.socket]


class _Server(ThreadingHTTPServer):
    """A server that handles each connection in its own thread, and limits the number of connections."""

    request_queue_size = 128
    """How many connections wait until they are accepted. With the default of 5, browsers on a busy machine get none."""

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(address, handler)

    def process_request(self, request: Request, client_address: object) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Request, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()


def server(spec: Spec[object], port: int, note: Callable[[str], None] = lambda _: None) -> ThreadingHTTPServer:
    """Create a server for exploring the state space of a spec. Call its method `serve_forever` to run it.

    The server listens on the loopback interface.

    Parameters:
        port: the port to listen on, or 0 for any free port.
        note: a function that is called with an error message if a request fails unexpectedly.

    Raises:
        LeadlineError: if the server cannot listen on the port.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = PATIENCE_SECONDS

        def do_GET(self) -> None:
            given = _given(self)
            content = given.content.encode("utf-8")
            self.send_response(given.status)
            self.send_header("Content-Type", f"{given.kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            for name, value in HEADERS.items():
                self.send_header(name, value)
            if given.kind == "application/json":
                self.send_header("Content-Disposition", 'attachment; filename="trace.itf.json"')
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # the browser closed the connection early
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Do nothing, so that requests are not logged."""

    def _given(handler: BaseHTTPRequestHandler) -> Answer:
        # protects against DNS rebinding: web pages of other sites must not read from this server
        if handler.headers.get("Host", "").rpartition(":")[0] not in (LOOPBACK, "localhost"):
            return Answer(HTTPStatus.FORBIDDEN, "text/plain", "use the address 127.0.0.1\n")
        try:
            return answer(spec, handler.path)
        except (Exception, SystemExit) as error:  # raised by the spec; the server continues
            note(f"unexpected {type(error).__name__}: {error}")
            return Answer(
                HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", f"unexpected {type(error).__name__}: {error}\n"
            )

    try:
        return _Server((LOOPBACK, port), Handler)
    except OSError as error:
        raise LeadlineError(f"cannot listen on port {port}: {error.strerror}") from error
