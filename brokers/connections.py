"""A connection through a proxy. It forwards bytes unchanged, in both directions, frame by frame.

Bytes that are not frames of the expected protocol, such as TLS, are also forwarded: after the first invalid length, the
connection is forwarded as a plain stream, and no rule applies to it.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable

import attrs

from leadline.brokers.attribution import sender_of
from leadline.brokers.dialects import Dialect, Reading
from leadline.brokers.frame import Frame, Party
from leadline.brokers.traffic import Traffic

LARGEST_FRAME = 100 * 2**20
"""The maximum length of a frame, in bytes: the default of Kafka's ``socket.request.max.bytes``."""

_LENGTH = struct.Struct(">i")
_LEAST_FRAME = 4
_CHUNK = 2**16


@attrs.frozen(eq=False)
class Streams:
    """The reader and the writer for one end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class Connection:
    """A connection between a client of a proxy and the process behind the proxy.

    Parameters:
        ends: the client, and the process behind the proxy. If the client is unknown, a request can identify it later.
        dialect: the decoder for the frames.
        traffic: the log of frames, and the rules that hold frames back.
        now: a function that returns the time in seconds.
        done: a function that is called with each frame after it is forwarded or dropped.
    """

    def __init__(
        self,
        number: int,
        ends: tuple[Party, Party],
        dialect: Dialect,
        traffic: Traffic,
        now: Callable[[], float],
        done: Callable[[Frame], None],
    ) -> None:
        self.number, self.ends = number, ends
        self._dialect, self._traffic, self._now, self._done = dialect, traffic, now, done
        self._tasks: list[asyncio.Task[None]] = []
        self.plain: str | None = None
        """The reason why the connection is forwarded as a plain stream, or None if it is forwarded by frame."""
        self.plain_bytes = 0
        """The number of bytes that were forwarded without frames."""

    async def run(self, near: Streams, far: Streams) -> None:
        """Forward bytes until both ends close the connection, or `cut` is called.

        Parameters:
            near: the streams of the client.
            far: the streams of the process behind the proxy.
        """
        self._tasks = [
            asyncio.create_task(self._pump(near.reader, far.writer, True)),
            asyncio.create_task(self._pump(far.reader, near.writer, False)),
        ]
        try:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            self.cut()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for streams in (near, far):
                streams.writer.transport.abort()

    def cut(self) -> None:
        """Close the connection, and drop its held frames."""
        for task in self._tasks:
            task.cancel()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bool) -> None:
        """Forward the bytes that one end sends, until it closes its side of the connection.

        Raises:
            ConnectionError: if an end has closed the connection, or a frame was dropped.
        """
        try:
            while self.plain is None:
                await self._next(reader, writer, request)
            while True:
                self._pass_plain(await _some(reader, _CHUNK), writer)
                await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        if writer.can_write_eof():
            writer.write_eof()

    async def _next(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bool) -> None:
        """Forward the next frame, or detect that the next bytes are not a frame."""
        length = raw = b""
        try:
            while self.plain is None and len(length) < _LENGTH.size:
                length += await _some(reader, _LENGTH.size - len(length))
            if self.plain is None and _LEAST_FRAME <= _LENGTH.unpack(length)[0] <= LARGEST_FRAME:
                size = _LENGTH.unpack(length)[0]
                raw = await reader.readexactly(_LEAST_FRAME)
                if not request or self._dialect.begins_request(size, raw):
                    raw += await reader.readexactly(size - _LEAST_FRAME)
                    await self._pass(length, raw, request, writer)
                    return
        except asyncio.IncompleteReadError as error:  # the sender has closed, perhaps in the middle of a frame
            self._pass_plain(length + raw + error.partial, writer)
            raise
        kind = "request" if request else "response"
        self.plain = self.plain or f"a {kind} of another protocol begins with {(length + raw).hex(' ')}"
        self._pass_plain(length + raw, writer)

    def _pass_plain(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        self.plain_bytes += len(data)
        writer.write(data)

    async def _pass(self, length: bytes, raw: bytes, request: bool, writer: asyncio.StreamWriter) -> None:
        frame = self._frame(raw, request)
        passes = False
        try:
            passes = await self._may_pass(frame)
        finally:
            # the time is taken before the bytes go, so that whatever they cause is later
            self._traffic.settle(frame, passed=passes)
            frame.raw = b""
            if not passes:
                self._done(frame)
        if not passes:
            raise ConnectionAbortedError("a frame was dropped")
        try:
            writer.writelines([length, raw])
            await writer.drain()
        finally:
            self._done(frame)

    async def _may_pass(self, frame: Frame) -> bool:
        """Add a frame to the log, and wait while a rule holds it. Return whether the frame may pass."""
        loop = asyncio.get_running_loop()
        decision: asyncio.Future[bool] = loop.create_future()

        def settle(passes: bool) -> None:
            if not decision.done():
                decision.set_result(passes)

        def decide(passes: bool) -> None:
            loop.call_soon_threadsafe(settle, passes)

        self._traffic.arrive(frame, decide)
        return frame.state != "held" or await decision

    def _frame(self, raw: bytes, request: bool) -> Frame:
        number, arrived = self._traffic.next_number(), self._now()
        try:
            reading = self._dialect.request(raw, number) if request else self._dialect.response(raw)
        except Exception as error:  # a mistake in decoding must not keep bytes from passing
            reading = Reading(undecoded=f"{type(error).__name__}: {error}")
        if request and self.ends[0] == "unknown":
            sender = sender_of(reading.api, reading.client_id, reading.body)
            self.ends = ("unknown" if sender is None else sender, self.ends[1])
        near, far = self.ends
        return Frame(
            number=number,
            connection=self.number,
            time=arrived,
            source=near if request else far,
            target=far if request else near,
            request=request,
            size=len(raw),
            raw=raw,
            **attrs.asdict(reading, recurse=False),
        )


async def _some(reader: asyncio.StreamReader, count: int) -> bytes:
    """Read at least one byte, and at most `count`.

    Raises:
        IncompleteReadError: if there are no more bytes.
    """
    data = await reader.read(count)
    if not data:
        raise asyncio.IncompleteReadError(b"", count)
    return data
