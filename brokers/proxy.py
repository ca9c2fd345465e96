"""Proxies on the loopback interface in front of brokers, controllers and ZooKeeper."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from leadline.brokers.attribution import dialler_of
from leadline.brokers.configuration import HOST
from leadline.brokers.connections import Connection, Streams
from leadline.brokers.dialects import Dialect, KafkaDialect, ZooKeeperDialect
from leadline.brokers.frame import Frame, Party, Rule
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.messages.zookeeper import Session
from leadline.brokers.ports import Node
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.traffic import Hold, Traffic

_CALL_SECONDS = 30.0

T = TypeVar("T")


class Proxy:
    """Forwards connections to the processes of a cluster, holds the frames that rules select, and records all frames.

    Bytes are forwarded unchanged, even if they cannot be decoded. The proxy has its own thread for connections. All
    methods can be called by any other thread. If the proxy is used as a context manager, it is closed at the end of the
    ``with`` block.

    Parameters:
        recording: receives an event for each connection and for each frame that was forwarded or dropped. None for no
            recording.
    """

    def __init__(self, definitions: Definitions, recording: RecordingWriter | None = None) -> None:
        self._definitions, self._recording = definitions, recording
        begun = time.monotonic()
        self.now: Callable[[], float] = recording.now if recording else lambda: time.monotonic() - begun
        self._traffic = Traffic(self.now)
        self._pids: Callable[[], Mapping[int, Node]] = dict
        self._sessions: dict[int, Session] = {}
        self._connections: dict[int, Connection] = {}
        self._numbers = itertools.count(1)
        self._servers: list[asyncio.Server] = []
        self._closed = False
        self._plain: str | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()

    def listen(
        self,
        node: Node,
        real_port: int,
        *,
        client: int | None = None,
        real_host: str = HOST,
        host: str = HOST,
        port: int = 0,
    ) -> int:
        """Listen on a port for connections to a process.

        Parameters:
            real_port: the port on which the process listens or will listen.
            client: the broker that connects to the new port, or None if several processes may connect.
            port: the port to listen on, or 0 for a free port.

        Returns:
            The port of the proxy.

        Raises:
            OSError: if the port is not available.
        """
        return self._call(self._listen(node, (real_host, real_port), client, host, port))

    async def _listen(self, node: Node, real: tuple[str, int], client: int | None, host: str, port: int) -> int:
        accept = partial(self._accept, node, real, client)
        server = await asyncio.start_server(accept, host, port)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    def attribute(self, pids: Callable[[], Mapping[int, Node]]) -> None:
        """Attribute connections to the processes that the given function returns.

        Parameters:
            pids: a function that returns the nodes, keyed by process id. The proxy's thread calls it for each
                connection.
        """
        self._pids = pids

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The newest frames, in the order of arrival. `Traffic` limits the number of frames in memory."""
        return self._traffic.log

    @property
    def newest(self) -> int:
        """The number of the newest frame, or 0 if there are no frames. It can be passed to `wait` as `after`."""
        return self._traffic.newest

    def hold(self, rule: Rule) -> Hold:
        """Hold all frames that match a rule, including frames that another rule already holds."""
        return self._traffic.add(rule)

    def wait(self, rule: Rule, *, after: int = 0, timeout: float, passed: bool = False) -> Frame:
        """Wait for a frame that matches a rule, and return the first such frame.

        Parameters:
            after: ignore frames up to this number.
            timeout: the timeout in seconds.
            passed: whether to wait until the frame is forwarded. Otherwise, a frame is returned even if it is still
                held.

        Raises:
            TimeoutError: if no such frame arrives in time.
        """
        return self._traffic.wait(rule, after, timeout, passed=passed)

    def session(self, broker: int) -> Session | None:
        """Return the newest ZooKeeper session of a broker, or None if it has no session."""
        return self._sessions.get(broker)

    @property
    def plain(self) -> str | None:
        """The reason why some bytes are forwarded without being decoded, or None if all bytes are decoded."""
        current = (connection.plain for connection in list(self._connections.values()))
        return self._plain or next(filter(None, current), None)

    def cut(self, node: Node) -> None:
        """Close all connections from and to a process, and drop their held frames."""
        self._call(self._cut(node))

    async def _cut(self, node: Node) -> None:
        chosen = [connection for connection in self._connections.values() if node in connection.ends]
        for connection in chosen:
            connection.cut()
        while any(connection.number in self._connections for connection in chosen):
            await asyncio.sleep(0.001)

    def note(self, event: str, **more: Any) -> None:
        """Write an event to the recording, if there is one. See recording.md for the names of events."""
        if self._recording is not None:
            self._recording.write(event, **more)

    def close(self) -> None:
        """Close all connections, drop the held frames, and stop the proxy."""
        if self._closed:
            return
        self._closed = True
        self._traffic.close()
        self._call(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CALL_SECONDS)
        self._loop.close()

    async def _shut(self) -> None:
        for server in self._servers:
            server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_default_executor()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the proxy's thread, and wait for it."""
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(_CALL_SECONDS)

    async def _accept(
        self,
        node: Node,
        real: tuple[str, int],
        client: int | None,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Serve a connection until it ends, or until the proxy is closed."""
        try:
            with suppress(asyncio.CancelledError):  # asyncio reports a cancelled callback as an error
                await self._serve(node, real, client, Streams(reader, writer))
        finally:
            writer.transport.abort()

    async def _serve(self, node: Node, real: tuple[str, int], client: int | None, near: Streams) -> None:
        """Serve a connection. Close it immediately if the process behind the proxy is not listening."""
        source = await self._source(near.writer) if client is None else client
        try:
            far = Streams(*await asyncio.open_connection(*real))
        except OSError:
            return
        number = next(self._numbers)
        connection = Connection(
            number, (source, node), self._dialect(node, source), self._traffic, self.now, self._record_frame
        )
        self._connections[number] = connection
        self.note("connected", connection=number, source=source, target=node)
        try:
            await connection.run(near, far)
        finally:
            del self._connections[number]
            self._plain = self._plain or connection.plain
            self.note("closed", connection=number, plain=connection.plain, plain_bytes=connection.plain_bytes)

    async def _source(self, writer: asyncio.StreamWriter) -> Party:
        port, proxy_port = (writer.get_extra_info(name)[1] for name in ("peername", "sockname"))
        return await self._loop.run_in_executor(None, lambda: dialler_of(port, proxy_port, self._pids()))

    def _dialect(self, node: Node, source: Party) -> Dialect:
        if node != "zookeeper":
            return KafkaDialect(self._definitions)
        return ZooKeeperDialect(partial(self._granted, source))

    def _granted(self, source: Party, session: Session) -> None:
        if isinstance(source, int) and session.id:
            self._sessions[source] = session

    def _record_frame(self, frame: Frame) -> None:
        if self._recording is not None:
            self._recording.write_frame(frame, self._definitions)
