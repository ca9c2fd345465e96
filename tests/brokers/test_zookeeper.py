"""ZooKeeper's frames are seen through the proxy, and a second client ends a broker's session."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from leadline.brokers import zookeeper
from leadline.brokers.messages.zookeeper import Session
from leadline.brokers.proxy import Proxy
from tests.brokers import small_messages as small
from tests.brokers.test_proxy import SECONDS, Network, receive, wait

STATE = "/brokers/topics/t/partitions/0/state"


def framed(*parts: bytes) -> bytes:
    frame = b"".join(parts)
    return struct.pack(">i", len(frame)) + frame


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack(">i", len(data)) + data


def ints(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}i", *numbers)


def reply(xid: int, error: int = 0, body: bytes = b"") -> bytes:
    return framed(struct.pack(">iqi", xid, 42, error), body)


def connect_response(session: int, password: bytes = b"p" * 16) -> bytes:
    return framed(ints(0, 30_000), struct.pack(">q", session), text(password), b"\0")


CONNECT = framed(ints(0), struct.pack(">qiq", 0, 40_000, 0), text(bytes(16)), b"\0")
ACL = ints(1, 31) + text("world") + text("anyone")


@pytest.fixture
def network() -> Iterator[Network]:
    with Proxy(small.DEFINITIONS) as proxy:
        made = Network(proxy)
        yield made
        for each in made.sockets:
            each.close()


def test_frames_of_a_session(network: Network) -> None:
    ends = network.connect("zookeeper", client=2)
    assert network.proxy.session(2) is None
    exchanges: list[tuple[bytes, bytes]] = [
        (CONNECT, connect_response(0x1234)),
        (framed(ints(1, 5), text(STATE), text('{"isr":[1]}'), ints(7)), reply(1, 0, bytes(68))),
        (framed(ints(2, 4), text(STATE), b"\1"), reply(2, 0, text('{"isr":[2]}') + bytes(68))),
        (framed(ints(3, 1), text("/controller"), text("{}"), ACL, ints(1)), reply(3, 0, text("/controller"))),
        (framed(ints(4, 2), text("/controller"), ints(-1)), reply(4, -101)),
        (framed(ints(5, 14),
                ints(13), b"\0", ints(-1), text("/controller_epoch"), ints(3),
                ints(5), b"\0", ints(-1), text(STATE), text("new"), ints(8),
                ints(1), b"\0", ints(-1), text("/x"), ints(-1), ACL, ints(0),
                ints(-1), b"\1", ints(-1)), reply(5)),
        (framed(ints(-2, 11)), reply(-2)),
        (framed(ints(6, 4), text("/absent"), b"\0"), reply(6, -101)),
        (framed(ints(7, 77), b"?"), reply(7)),
        (framed(ints(8, -11)), reply(8)),
    ]  # fmt: skip
    for request, response in exchanges:
        ends.near.sendall(request)
        assert receive(ends.far, len(request)) == request
        ends.far.sendall(response)
        assert receive(ends.near, len(response)) == response
    frames = network.proxy.frames
    assert all(f.undecoded is None for f in frames)
    assert [f.answers for f in frames[1::2]] == [f.number for f in frames[::2]]
    assert {f.source for f in frames[::2]} == {2}
    requests = [(f.api, f.body) for f in frames[::2]]
    assert requests == [
        ("connect", {"timeout": 40_000, "session": 0}),
        ("setData", {"path": STATE, "data": b'{"isr":[1]}', "version": 7}),
        ("getData", {"path": STATE}),
        ("create", {"path": "/controller", "data": b"{}", "flags": 1}),
        ("delete", {"path": "/controller", "version": -1}),
        ("multi", {"operations": [
            {"operation": "check", "path": "/controller_epoch", "version": 3},
            {"operation": "setData", "path": STATE, "data": b"new", "version": 8},
            {"operation": "create", "path": "/x", "data": None, "flags": 0},
        ]}),
        ("ping", {}), ("getData", {"path": "/absent"}), ("77", {}), ("close", {}),
    ]  # fmt: skip
    responses: list[dict[str, Any]] = [dict(f.body or {}) for f in frames[1::2]]
    assert responses[0] == {"timeout": 30_000, "session": 0x1234}
    assert responses[2] == {"zxid": 42, "error": 0, "data": b'{"isr":[2]}'}
    assert responses[3]["path"] == "/controller"
    assert responses[7]["error"] == -101
    assert network.proxy.session(2) == Session(0x1234, b"p" * 16)


def test_watches_and_what_cannot_be_decoded(network: Network) -> None:
    ends = network.connect("zookeeper", client=1)
    ends.near.sendall(CONNECT)
    receive(ends.far, len(CONNECT))
    watch = reply(-1, 0, ints(3, 3) + text("/brokers/ids/1"))
    ends.far.sendall(connect_response(0) + watch)
    receive(ends.near, len(connect_response(0) + watch))
    frame = network.proxy.frames[-1]
    assert (frame.api, frame.answers) == ("watch", None)
    assert frame.body == {"zxid": 42, "error": 0, "event": 3, "path": "/brokers/ids/1"}
    assert network.proxy.session(1) is None  # the session that was asked for has ended
    strange = [
        framed(ints(1, 5), text(STATE), ints(2**30)),
        framed(ints(2, 14), ints(99), b"\0", ints(-1)),
        framed(ints(3, 4), text(b"\xff"), b"\0"),
    ]
    for request in strange:
        ends.near.sendall(request)
        assert receive(ends.far, len(request)) == request
    reasons = [str(wait(network.proxy, number).undecoded) for number in (4, 5, 6)]
    assert "bytes are declared" in reasons[0]
    assert reasons[1:] == ["a multi request contains an unknown operation of type 99", "a path is not UTF-8"]


@contextmanager
def server(*handlers: Callable[[bytes], bytes | None]) -> Iterator[tuple[int, list[bytes]]]:
    """A ZooKeeper that answers the frames of one connection: its port, and the frames that it got."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            connection, _ = listening.accept()
            with connection:
                for handler in handlers:
                    (size,) = struct.unpack(">i", receive(connection, 4))
                    got.append(receive(connection, size))
                    answer = handler(got[-1])
                    if answer is None:
                        return
                    connection.sendall(answer)

        thread = threading.Thread(target=run)
        thread.start()
        yield listening.getsockname()[1], got
        thread.join(SECONDS)


def test_a_session_is_taken_over_and_closed() -> None:
    session = Session(77, b"secret")
    with server(lambda _: connect_response(77), lambda _: reply(1)) as (port, got):
        assert zookeeper.close_session(port, session)
    assert got[0] == ints(0) + struct.pack(">qiq", 0, 30_000, 77) + text(b"secret") + b"\0"
    assert got[1] == ints(1, -11)
    assert "secret" not in repr(session)


def test_a_session_that_has_ended_cannot_be_closed() -> None:
    with server(lambda _: connect_response(0)) as (port, _):
        assert not zookeeper.close_session(port, Session(77, b""))


def test_a_server_that_goes_away_is_an_error() -> None:
    with server(lambda _: None) as (port, _), pytest.raises(OSError, match="has closed the connection"):
        zookeeper.close_session(port, Session(77, b""))


def test_nodes_are_read_created_and_deleted() -> None:
    opened: Callable[[bytes], bytes] = lambda _: connect_response(1)  # noqa: E731
    closed: Callable[[bytes], bytes] = lambda _: reply(1)  # noqa: E731
    with server(opened, lambda _: reply(1, 0, text("data") + bytes(68)), closed) as (port, got):
        assert zookeeper.read(port, "/node") == b"data"
    assert got[1] == ints(1, 4) + text("/node") + b"\0"
    with server(opened, lambda _: reply(1, -101), closed) as (port, _):
        assert zookeeper.read(port, "/node") is None
    with server(opened, lambda _: reply(1, 0, text("/node")), closed) as (port, got):
        zookeeper.create(port, "/node", b"data")
    assert got[1] == ints(1, 1) + text("/node") + text("data") + ACL + ints(0)
    with (
        server(opened, lambda _: reply(1, -110), closed) as (port, _),
        pytest.raises(zookeeper.ZooKeeperError, match="create of /node was refused with error -110"),
    ):
        zookeeper.create(port, "/node", b"")
    with server(opened, lambda _: reply(1), closed) as (port, got):
        zookeeper.delete(port, "/node")
    assert got[1] == ints(1, 2) + text("/node") + ints(-1)
    with (
        server(opened, lambda _: reply(1, -101), closed) as (port, _),
        pytest.raises(zookeeper.ZooKeeperError, match="delete of /node was refused with error -101"),
    ):
        zookeeper.delete(port, "/node")
    with (
        server(opened, lambda _: reply(1, -4), closed) as (port, _),
        pytest.raises(zookeeper.ZooKeeperError, match="getData of /node was refused with error -4"),
    ):
        zookeeper.read(port, "/node")
