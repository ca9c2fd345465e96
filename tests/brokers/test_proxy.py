"""The proxy passes all bytes on unchanged, and holds, releases, drops and cuts what it is told to."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadline.brokers.frame import Frame, Rule
from leadline.brokers.messages.requests import RequestHeader, write_request
from leadline.brokers.ports import Node
from leadline.brokers.proxy import Proxy
from leadline.brokers.traffic import Traffic
from tests.brokers import small_messages as small

SECONDS = 10.0
BRIEFLY = 0.05


@attrs.frozen
class Ends:
    """The two ends of a connection through the proxy."""

    near: socket.socket
    far: socket.socket


class Network:
    """A proxy in front of servers, whose connections are made one at a time."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.servers: dict[tuple[Node, int | None], tuple[socket.socket, int]] = {}
        self.sockets: list[socket.socket] = []

    def connect(self, node: Node = 1, *, client: int | None = None) -> Ends:
        """Connect to a server through the proxy."""
        server = self.servers.get((node, client))
        if server is None:
            listening = socket.create_server(("127.0.0.1", 0))
            listening.settimeout(SECONDS)
            port = self.proxy.listen(node, listening.getsockname()[1], client=client)
            server = self.servers[node, client] = listening, port
            self.sockets.append(listening)
        near = socket.create_connection(("127.0.0.1", server[1]), SECONDS)
        far, _ = server[0].accept()
        far.settimeout(SECONDS)
        self.sockets += [near, far]
        return Ends(near, far)


@pytest.fixture(scope="module")
def shared() -> Iterator[Proxy]:
    """A proxy for all examples of a test."""
    with Proxy(small.DEFINITIONS) as proxy:
        yield proxy


@pytest.fixture
def network() -> Iterator[Network]:
    with Proxy(small.DEFINITIONS) as proxy:
        made = Network(proxy)
        yield made
        for each in made.sockets:
            each.close()


def ping(correlation: int, *, small_number: int = 0, version: int = 0) -> bytes:
    """A request."""
    return write_request(small.DEFINITIONS, RequestHeader(1, version, correlation, "c"), {"Small": small_number})


def pong(correlation: int, error: int = 0) -> bytes:
    """The response to a request of version 0."""
    return struct.pack(">iih", 6, correlation, error)


def receive(end: socket.socket, count: int) -> bytes:
    """Read bytes, fewer if the connection is closed."""
    data = bytearray()
    while len(data) < count and (chunk := end.recv(min(count - len(data), 2**20))):
        data += chunk
    return bytes(data)


def is_silent(end: socket.socket) -> bool:
    """Whether nothing comes for a moment."""
    end.settimeout(BRIEFLY)
    try:
        return end.recv(1) is None
    except TimeoutError:
        return True
    finally:
        end.settimeout(SECONDS)


def is_closed(end: socket.socket) -> bool:
    """Whether the connection is closed, or is within the time limit."""
    try:
        return end.recv(1) == b""
    except ConnectionError:
        return True


def wait(proxy: Proxy, number: int) -> Frame:
    """Wait for the frame with a number."""
    return proxy.wait(Rule(), after=number - 1, timeout=SECONDS)


# --- passing on -------------------------------------------------------------------------------------------------------


def test_frames_in_pieces_and_several_at_once_pass_unchanged(network: Network) -> None:
    ends = network.connect()
    requests = ping(1) + ping(2, small_number=7) + ping(3)
    for at in range(0, 30, 3):
        ends.near.sendall(requests[at : at + 3])
    ends.near.sendall(requests[30:])
    assert receive(ends.far, len(requests)) == requests
    responses = pong(1) + pong(2, 5) + pong(3)
    ends.far.sendall(responses[:-1])
    assert receive(ends.near, 20) == responses[:20]
    ends.far.sendall(responses[-1:])
    assert receive(ends.near, 10) == responses[20:]
    frames = network.proxy.frames
    assert [(f.number, f.api, f.request, f.correlation, f.answers) for f in frames] == [
        (1, "Ping", True, 1, None), (2, "Ping", True, 2, None), (3, "Ping", True, 3, None),
        (4, "Ping", False, 1, 1), (5, "Ping", False, 2, 2), (6, "Ping", False, 3, 3),
    ]  # fmt: skip
    assert [(f.source, f.target) for f in frames[2:4]] == [("client", 1), (1, "client")]
    assert frames[1].body is not None
    assert frames[1].body["Small"] == 7
    assert frames[4].body == {"ErrorCode": 5}
    assert frames[4].client_id == "c"
    times = [time for f in frames for time in (f.time, f.passed)]
    assert all(f.state == "passed" and f.passed is not None and f.passed >= f.time for f in frames)
    assert None not in times


@pytest.mark.parametrize("count", [1, 4, 7, 20])
def test_half_a_frame_passes_when_its_sender_closes(network: Network, count: int) -> None:
    ends = network.connect()
    ends.near.sendall(ping(1) + ping(2)[:count])
    ends.near.shutdown(socket.SHUT_WR)
    assert receive(ends.far, 1000) == ping(1) + ping(2)[:count]
    ends.far.sendall(pong(1))
    ends.far.close()
    assert receive(ends.near, 1000) == pong(1)


HELLO = bytes.fromhex("16 03 01 02 00 01 00 01 fc 03 03")


@pytest.mark.parametrize(
    "data", [HELLO, b"ruok", b"GET / HTTP/1.1\r\n", b"\xff" * 9, bytes(4), b"\0\0\0\x10\x7f\x7f\0\0"]
)
def test_another_protocol_passes_at_once_and_no_rule_holds_it(network: Network, data: bytes) -> None:
    hold = network.proxy.hold(Rule())
    ends = network.connect()
    ends.near.sendall(data)
    assert receive(ends.far, len(data)) == data
    ends.far.sendall(b"\x15\x03")
    assert receive(ends.near, 2) == b"\x15\x03"
    ends.near.sendall(ping(1))
    assert receive(ends.far, len(ping(1))) == ping(1)
    assert hold.held == []


pieces = st.lists(
    st.builds(ping, st.integers(0, 9), small_number=st.integers(-9, 9), version=st.integers(0, 5))
    | st.binary(max_size=40)
    | st.builds(lambda data: struct.pack(">i", len(data)) + data, st.binary(max_size=40)),
    max_size=6,
)


@settings(max_examples=40)
@given(there=pieces, back=pieces, chunk=st.integers(1, 60))
def test_any_bytes_pass_unchanged(shared: Proxy, there: list[bytes], back: list[bytes], chunk: int) -> None:
    network = Network(shared)
    ends = network.connect()
    for sender, receiver, data in [(ends.near, ends.far, b"".join(there)), (ends.far, ends.near, b"".join(back))]:
        for at in range(0, len(data), chunk):
            sender.sendall(data[at : at + chunk])
        sender.shutdown(socket.SHUT_WR)
        assert receive(receiver, len(data) + 1) == data
    for each in network.sockets:
        each.close()


def test_what_cannot_be_decoded_passes_as_a_frame(network: Network) -> None:
    ends = network.connect()
    unknown_key, unknown_version, short_body = (
        struct.pack(">ihhih", 10, key, version, 5, -1) for key, version in [(55, 0), (1, 9), (1, 0)]
    )
    ends.near.sendall(unknown_key + unknown_version + short_body)
    assert receive(ends.far, 42) == unknown_key + unknown_version + short_body
    ends.far.sendall(pong(99) + struct.pack(">ii", 4, 5))
    assert receive(ends.near, 18) == pong(99) + struct.pack(">ii", 4, 5)
    found = [(f.api, f.body, f.answers, f.undecoded) for f in network.proxy.frames]
    assert found[:2] == [
        ("key 55", None, None, "no request with key 55 is defined"),
        ("Ping", None, None, "version 9 of PingRequest is not defined"),
    ]
    assert "bytes are declared" in str(found[2][3])
    assert found[3] == ("?", None, None, "it answers no request of this connection")
    assert (found[4][0], found[4][2]) == ("Ping", 3)


def test_a_mistake_in_decoding_does_not_keep_bytes(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("leadline.brokers.dialects.read_request", fails)
    ends = network.connect()
    ends.near.sendall(ping(1))
    assert receive(ends.far, len(ping(1))) == ping(1)
    assert network.proxy.frames[0].undecoded == "RuntimeError: no"


def test_a_frame_of_100_mb_passes_and_is_forgotten(network: Network) -> None:
    ends = network.connect()
    big = write_request(small.DEFINITIONS, RequestHeader(0, 0, 1), {"Acks": 1, "Records": bytes(100_000_000)})
    sender = threading.Thread(target=ends.near.sendall, args=(big,))
    sender.start()
    checksum, left = 0, len(big)
    while left:
        chunk = ends.far.recv(2**20)
        checksum, left = zlib.crc32(chunk, checksum), left - len(chunk)
    sender.join()
    assert checksum == zlib.crc32(big)
    ends.near.sendall(ping(2))
    receive(ends.far, len(ping(2)))
    assert [(f.api, f.size) for f in network.proxy.frames] == [("Ping", len(ping(2)) - 4)]
    assert network.proxy.newest == 2


def test_a_peer_that_vanishes_closes_the_connection(network: Network) -> None:
    for end in ("near", "far"):
        ends = network.connect()
        ends.near.sendall(ping(1))
        receive(ends.far, len(ping(1)))
        gone, other = (ends.near, ends.far) if end == "near" else (ends.far, ends.near)
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
        gone.close()
        assert is_closed(other)


def test_nobody_listens_behind_the_proxy(network: Network) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = network.proxy.listen(3, server.getsockname()[1])
    with socket.create_connection(("127.0.0.1", port), SECONDS) as near:
        assert is_closed(near)


def test_produce_without_acknowledgement_awaits_no_response(network: Network) -> None:
    ends = network.connect()
    silent = write_request(small.DEFINITIONS, RequestHeader(0, 0, 1), {"Acks": 0, "Records": b""})
    ends.near.sendall(silent + ping(1))
    receive(ends.far, len(silent + ping(1)))
    ends.far.sendall(pong(1))
    receive(ends.near, 10)
    assert network.proxy.frames[-1].answers == 2


def test_memory_is_bounded() -> None:
    traffic = Traffic(lambda: 0.0, kept_frames=3, kept_bytes=100)
    for size in (1, 1, 1, 1, 99, 500):
        number = traffic.next_number()
        frame = Frame(number, 1, 0.0, 0, 1, True, "Ping", 0, 0, None, None, {}, None, size, b"")
        traffic.arrive(frame, lambda _: None)
        traffic.settle(frame, passed=True)
    assert [f.size for f in traffic.log] == [500]
    assert traffic.newest == 6


# --- rules ------------------------------------------------------------------------------------------------------------


def test_held_frames_wait_in_order_and_hold_what_follows(network: Network) -> None:
    one, two = network.connect(), network.connect(2)
    hold = network.proxy.hold(Rule(api="Ping", request=True, where=lambda body: body["Small"] > 0))
    one.near.sendall(ping(1) + ping(2, small_number=1) + ping(3) + ping(4, small_number=2))
    held = hold.wait(timeout=SECONDS)
    assert (held.correlation, held.state, held.passed) == (2, "held", None)
    assert receive(one.far, len(ping(1))) == ping(1)
    two.near.sendall(ping(5, small_number=3))
    assert hold.wait(2, timeout=SECONDS).correlation == 5
    assert [f.correlation for f in hold.held] == [2, 5]
    assert is_silent(one.far)
    hold.release(held)
    assert hold.wait(2, timeout=SECONDS).correlation == 4
    assert receive(one.far, 2 * len(ping(1))) == ping(2, small_number=1) + ping(3)
    one.far.sendall(pong(1))
    assert receive(one.near, 10) == pong(1)  # the other direction goes on
    hold.release()
    assert receive(one.far, len(ping(4))) == ping(4, small_number=2)
    assert receive(two.far, len(ping(5))) == ping(5, small_number=3)
    one.near.sendall(ping(6, small_number=4))
    assert hold.wait(timeout=SECONDS).correlation == 6
    hold.end()
    one.near.sendall(ping(7, small_number=5))
    assert receive(one.far, 2 * len(ping(6))) == ping(6, small_number=4) + ping(7, small_number=5)
    assert held.passed is not None
    assert held.raw == b""


def test_rules_select_by_ends_and_kind(network: Network) -> None:
    ends, other = network.connect(), network.connect(2)
    hold = network.proxy.hold(Rule(source=1, target="client", request=False))
    for each in (ends, other):
        each.near.sendall(ping(1))
        receive(each.far, len(ping(1)))
        each.far.sendall(pong(1))
    assert receive(other.near, 10) == pong(1)
    assert hold.wait(timeout=SECONDS).source == 1
    assert is_silent(ends.near)


def test_dropping_closes_the_connection(network: Network) -> None:
    ends, other = network.connect(), network.connect()
    hold = network.proxy.hold(Rule(request=True))
    ends.near.sendall(ping(1) + ping(2))
    frame = hold.wait(timeout=SECONDS)
    hold.drop(frame)
    assert is_closed(ends.far)
    assert is_closed(ends.near)
    assert (frame.state, frame.passed) == ("dropped", None)
    other.near.sendall(ping(3))
    hold.end()
    assert receive(other.far, len(ping(3))) == ping(3)
    hold.release(frame)  # too late: nothing happens


def test_cutting_closes_the_connections_of_a_node_with_what_is_held(network: Network) -> None:
    from_1, to_1, unrelated = network.connect(2, client=1), network.connect(1), network.connect(2)
    hold = network.proxy.hold(Rule(request=True))
    for each in (from_1, to_1, unrelated):
        each.near.sendall(ping(1))
    frames = [hold.wait(n, timeout=SECONDS) for n in (1, 2, 3)]
    network.proxy.cut(1)
    assert sorted(f.state for f in frames) == ["dropped", "dropped", "held"]
    assert [f.source for f in hold.held] == ["client"]
    assert is_closed(from_1.near)
    assert is_closed(to_1.far)
    hold.end()
    assert receive(unrelated.far, len(ping(1))) == ping(1)


def test_a_frame_waits_for_every_hold_and_a_new_one_takes_over(network: Network) -> None:
    ends = network.connect()
    first = network.proxy.hold(Rule(api="Ping"))
    ends.near.sendall(ping(1))
    frame = first.wait(timeout=SECONDS)
    second = network.proxy.hold(Rule(request=True))
    assert second.held == [frame]
    first.end()
    assert is_silent(ends.far)
    second.release(frame)
    assert receive(ends.far, len(ping(1))) == ping(1)
    ends.near.sendall(ping(2))
    assert second.wait(timeout=SECONDS).correlation == 2
    second.end(drop=True)
    assert is_closed(ends.far)


def test_waiting_for_frames(network: Network) -> None:
    ends = network.connect()
    hold = network.proxy.hold(Rule(request=False))
    ends.near.sendall(ping(1) + ping(2))
    receive(ends.far, 2 * len(ping(1)))
    assert network.proxy.wait(Rule(api="Ping"), after=1, timeout=SECONDS).correlation == 2
    ends.far.sendall(pong(1, 3))
    answer = Rule(request=False, where=lambda body: body["ErrorCode"] == 3)
    assert network.proxy.wait(answer, timeout=SECONDS).state == "held"
    with pytest.raises(TimeoutError, match=r"no frame arrived within 0.05 seconds: any response from any to any where"):
        network.proxy.wait(answer, timeout=BRIEFLY, passed=True)
    threading.Timer(BRIEFLY, hold.end).start()
    assert network.proxy.wait(answer, timeout=SECONDS, passed=True).state == "passed"
    with pytest.raises(TimeoutError, match=r"no frame arrived within .* seconds: Pong frame from 1 to any"):
        network.proxy.wait(Rule(source=1, api="Pong"), timeout=BRIEFLY)


def test_what_a_predicate_raises_is_raised_where_one_waits(network: Network) -> None:
    ends = network.connect()
    hold = network.proxy.hold(Rule(where=lambda body: bool(body["Smal"])))
    ends.near.sendall(ping(1))
    with pytest.raises(KeyError, match="Smal"):
        hold.wait(timeout=SECONDS)
    assert is_silent(ends.far)  # held to be safe
    hold.end()
    assert receive(ends.far, len(ping(1))) == ping(1)
    with pytest.raises(KeyError, match="Smal"):
        network.proxy.wait(Rule(where=lambda body: bool(body["Smal"])), timeout=SECONDS)


def test_an_error_in_attribution_closes_the_connection(network: Network) -> None:
    def fails() -> dict[int, Node]:
        raise RuntimeError("no processes")

    network.connect()
    network.proxy.attribute(fails)
    with socket.create_connection(("127.0.0.1", network.servers[1, None][1]), SECONDS) as near:
        assert is_closed(near)


def test_closing_the_proxy_closes_everything_and_ends_waits() -> None:
    with Proxy(small.DEFINITIONS) as proxy:
        network = Network(proxy)
        ends = network.connect()
        hold = proxy.hold(Rule())
        ends.near.sendall(ping(1))
        frame = hold.wait(timeout=SECONDS)
    assert is_closed(ends.near)
    assert is_closed(ends.far)
    assert frame.state == "dropped"
    with pytest.raises(TimeoutError):
        hold.wait(timeout=SECONDS)
    proxy.close()
    for each in network.sockets:
        each.close()


# --- attribution ------------------------------------------------------------------------------------------------------

DIAL = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.recv(1)"


def test_frames_belong_to_the_process_that_dialled(network: Network) -> None:
    network.connect(2)
    listening, port = network.servers[2, None]
    pids: dict[int, Node] = {2**30: 9}  # a process that does not exist any more
    network.proxy.attribute(lambda: pids)
    processes = [subprocess.Popen([sys.executable, "-S", "-c", DIAL, str(port)]) for _ in range(2)]
    try:
        pids[processes[0].pid] = 7
        for _ in processes:
            far, _ = listening.accept()
            network.sockets.append(far)
            far.sendall(pong(1))
        targets = {network.proxy.wait(Rule(target=party), timeout=SECONDS).target for party in (7, "unknown")}
        assert targets == {7, "unknown"}
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_the_client_is_this_process(network: Network) -> None:
    ends = network.connect()
    ends.near.sendall(ping(1))
    assert wait(network.proxy, 1).source == "client"
