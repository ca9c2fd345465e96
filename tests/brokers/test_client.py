"""The client sends each request once, on a socket of its own, and tells what came of it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from leadline.brokers.client import Client
from leadline.brokers.messages.requests import read_request
from leadline.brokers.pending import Refused, Unanswered
from tests.brokers import small_messages as small
from tests.brokers.test_proxy import SECONDS, receive

Answer = Callable[[bytes], bytes | None]


@contextmanager
def broker(*answers: Answer) -> Iterator[tuple[int, list[bytes]]]:
    """A broker that answers one request on each of as many connections: its port, and the requests that it got."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            for answer in answers:
                connection, _ = listening.accept()
                with connection:
                    (size,) = struct.unpack(">i", receive(connection, 4))
                    got.append(receive(connection, size))
                    said = answer(got[-1])
                    if said is not None:
                        connection.sendall(struct.pack(">i", len(said)) + said)
                    else:
                        connection.recv(1)  # until the client gives up

        thread = threading.Thread(target=run)
        thread.start()
        yield listening.getsockname()[1], got
        thread.join(SECONDS)


def versions(*keys: tuple[int, int, int]) -> Answer:
    """The answer to ApiVersions."""
    told = struct.pack(">hi", 0, len(keys)) + b"".join(struct.pack(">hhh", *key) for key in keys)
    return lambda request: request[4:8] + told


def pong(error: int) -> Answer:
    return lambda request: request[4:8] + b"\0" + struct.pack(">h", error) + b"\0"


def test_requests_are_of_the_newest_common_version() -> None:
    with broker(versions((1, 0, 4), (18, 0, 3), (999, 0, 1)), pong(6), pong(0)) as (port, got):
        client = Client(small.DEFINITIONS, {1: port}, timeout=SECONDS)
        assert client.ask(1, "Ping", {"Small": 3}) == {"ErrorCode": 6}
        assert client.ask(1, "Ping", {"Small": 4}, version=3) == {"ErrorCode": 0}
    asked = [read_request(small.DEFINITIONS, frame) for frame in got]
    assert [(header.key, header.version, header.client) for header, _ in asked] == [
        (18, 0, "leadline"),
        (1, 4, "leadline"),
        (1, 3, "leadline"),
    ]
    assert len({header.correlation for header, _ in asked}) == 3
    assert [body.get("Small") for _, body in asked] == [None, 3, 4]


def test_without_a_common_version_it_is_refused() -> None:
    for keys in ([(1, 6, 9)], [(18, 0, 0)]):
        with broker(versions(*keys)) as (port, _):
            client = Client(small.DEFINITIONS, {1: port}, timeout=SECONDS)
            with pytest.raises(Refused, match=r"error 35: 1 and this client support no common version"):
                client.ask(1, "Ping", {})


def test_what_is_not_answered() -> None:
    with broker(lambda _: None, lambda _: b"", lambda _: b"\0\0\0\0??") as (port, got):
        client = Client(small.DEFINITIONS, {1: port})
        with pytest.raises(Unanswered, match="Ping to 1 was not answered: timed out"):
            client.ask(1, "Ping", {}, version=0, timeout=0.05)
        with pytest.raises(Unanswered, match="the response to Ping to 1 is invalid"):
            client.ask(1, "Ping", {}, version=0, timeout=SECONDS)
        with pytest.raises(Unanswered, match="the response to Ping to 1 is invalid"):
            client.ask(1, "Ping", {}, version=3, timeout=SECONDS)
        assert len(got) == 3  # never tried again
    with pytest.raises(Unanswered, match="cannot send Ping to 1"):
        client.ask(1, "Ping", {}, version=0)


def test_a_pending_request_is_awaited() -> None:
    release = threading.Event()

    def late(request: bytes) -> bytes:
        release.wait(SECONDS)
        return pong(0)(request) or b""

    with broker(late) as (port, _):
        client = Client(small.DEFINITIONS, {1: port})
        pending = client.send(1, "Ping", {}, lambda body: int(body["ErrorCode"]), version=3)
        release.set()
        assert pending.result(SECONDS) == 0
