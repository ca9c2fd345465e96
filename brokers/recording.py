"""Recordings: files with what passed a proxy, written while it passes. The format is described in recording.md."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import attrs
from crc32c import crc32c

from leadline.brokers.frame import Frame
from leadline.brokers.messages.batches import Batch, Record, read_batches
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.messages.requests import read_record
from leadline.checker.errors import LeadlineError
from leadline.model.disk.wire import Malformed, text_of_uuid

FORMAT, VERSION = "leadline recording", 1
LARGEST_VALUE = 1024
"""Byte strings longer than this are recorded by their size and checksum only."""
LARGEST_RECORDS = 2**20
"""Batches of more bytes than this, together, are recorded without their records."""
_RECORDS = {"Records", "UnalignedRecords"}


class RecordingError(LeadlineError):
    """Raised when a recording cannot be written, or when a file is not a complete recording."""


class RecordingWriter:
    """Writes a recording, line by line.

    Until `close` it has a temporary name, so that a file with the given name is complete. As a context manager it is
    closed at the end of the block. If the block raises, the last line says so.

    Parameters:
        path: the name of the complete recording. An older file is replaced at the end.
        about: further fields of the first line, for example the release.

    Raises:
        RecordingError: if the file cannot be created.
    """

    def __init__(self, path: Path, **about: Any) -> None:
        self.path = path
        self._partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._lines = 0
        self._failure: Exception | None = None
        try:
            self._file = self._partial.open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise RecordingError(f"{path} cannot be written: {error.strerror}") from error
        first = {"format": FORMAT, "version": VERSION, "begun": datetime.now(UTC).isoformat(), **about}
        self._put(plain(first))

    def now(self) -> float:
        """Return the seconds since the beginning of the recording. All times in it are of this clock."""
        return round(time.monotonic() - self._begun, 6)

    def write(self, event: str, **more: Any) -> None:
        """Write an event. Any thread may call this. A failure to write is raised by `close`.

        Parameters:
            event: its name.
            more: its fields: anything of JSON, bytes and UUIDs. `time` is added.
        """
        line = plain(more)
        with self._lock:  # lines are in the order of their times
            self._put({"event": event, "time": self.now(), **line})

    def write_frame(self, frame: Frame, definitions: Definitions) -> None:
        """Write a frame that has passed or was dropped. A failure is raised by `close`: frames must go on.

        Parameters:
            frame: the frame.
            definitions: to decode the records of the metadata log in answers of the controller.
        """
        try:
            self.write("frame", **frame_event(frame, definitions))
        except Exception as error:
            self._failure = self._failure or error

    def _put(self, line: Mapping[str, Any]) -> None:
        if self._failure is not None or self._file.closed:
            return
        try:
            self._file.write(json.dumps(line, allow_nan=False) + "\n")
            self._lines += 1
        except (OSError, TypeError) as error:
            self._failure = error

    def close(self, *, interrupted_by: str | None = None) -> None:
        """Complete the recording, and give it its name.

        Parameters:
            interrupted_by: why what was recorded ended early, or None.

        Raises:
            RecordingError: if anything could not be written. There is then no file with the name.
        """
        if self._file.closed:
            return
        with self._lock:
            self._put({"event": "end", "time": self.now(), "lines": self._lines + 1, "interrupted_by": interrupted_by})
            try:
                if self._failure is not None:
                    raise self._failure
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                self._partial.replace(self.path)
            except Exception as error:
                self._discard()
                reason = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
                raise RecordingError(f"{self.path} cannot be written: {reason}") from error

    def _discard(self) -> None:
        with suppress(OSError):
            self._file.close()
        self._partial.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(interrupted_by=kind.__name__ if kind else None)


def plain(value: Any) -> Any:
    """Return a value as JSON can express it: ids in Kafka's notation, and bytes as text, Base64, or a checksum."""
    match value:
        case bytes():
            return _bytes(value)
        case UUID():
            return text_of_uuid(value)
        case Mapping():
            return {str(name): plain(each) for name, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(each) for each in (sorted(value) if isinstance(value, set | frozenset) else value)]
        case float() if not math.isfinite(value):
            return str(value)
    return value


def _bytes(value: bytes) -> Any:
    if len(value) > LARGEST_VALUE:
        return {"size": len(value), "crc32c": crc32c(value)}
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}


def frame_event(frame: Frame, definitions: Definitions) -> dict[str, Any]:
    """Return the fields of a frame's event in a recording.

    Parameters:
        frame: the frame.
        definitions: to decode the records of the metadata log in answers of the controller.
    """
    left_out = {"raw", "state", "body"}
    event = {name: getattr(frame, name) for name in attrs.fields_dict(Frame) if name not in left_out}
    event["arrived"] = event.pop("time")
    metadata = definitions if frame.source == "controller" else None
    event["body"] = None if frame.body is None else _body(frame.body, metadata)
    return event


def _body(value: Any, metadata: Definitions | None) -> Any:
    if isinstance(value, Mapping):
        return {
            name: _batches(each, metadata) if name in _RECORDS and each is not None else _body(each, metadata)
            for name, each in value.items()
        }
    return [_body(each, metadata) for each in value] if isinstance(value, list) else value


def _batches(data: bytes, metadata: Definitions | None) -> dict[str, Any]:
    told: dict[str, Any] = {"size": len(data)}
    try:
        found = read_batches(data, records=len(data) <= LARGEST_RECORDS)
    except Malformed as error:
        return told | {"undecoded": str(error)}
    return told | {"batches": [_batch(batch, metadata) for batch in found]}


def _batch(batch: Batch, metadata: Definitions | None) -> dict[str, Any]:
    told = attrs.asdict(batch, recurse=False)
    if batch.records is not None:
        decoding = None if batch.control else metadata
        told["records"] = [_record(record, decoding) for record in batch.records]
    return told


def _record(record: Record, metadata: Definitions | None) -> dict[str, Any]:
    told = attrs.asdict(record)
    if metadata is not None and record.value is not None:
        try:
            name, version, body = read_record(metadata, record.value)
        except Malformed as error:
            return told | {"undecoded": str(error)}
        told["value"] = {"record": name, "version": version, "body": body}
    return told


@attrs.frozen
class Recording:
    """A complete recording.

    Attributes:
        path: its file.
        about: its first line.
    """

    path: Path
    about: Mapping[str, Any]

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events in their order, as dicts, reading the file as they are needed.

        Raises:
            RecordingError: at the end, if the recording is not complete, or at a line that is not an event.
        """
        lines, last = 0, None
        for lines, last in enumerate(_lines(self.path)):
            if lines and last.get("event") != "end":
                yield last
        if last is None or last.get("event") != "end" or last.get("lines") != lines + 1:
            raise RecordingError(f"{self.path} is not a complete recording: its last line is missing")

    def __attrs_post_init__(self) -> None:
        if self.about.get("format") != FORMAT:
            raise RecordingError(f"{self.path} is not a recording: its first line does not say {FORMAT!r}")
        if self.about.get("version") != VERSION:
            raise RecordingError(f"{self.path} has version {self.about.get('version')}; expected {VERSION}")


def read_recording(path: Path) -> Recording:
    """Open a recording.

    Raises:
        RecordingError: if the file cannot be read, or is not a recording of this version.
    """
    return Recording(path, next(_lines(path), {}))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                try:
                    line = json.loads(text)
                except (ValueError, RecursionError) as error:
                    raise RecordingError(f"{path}:{number}: not a line of a recording") from error
                if not isinstance(line, dict):
                    raise RecordingError(f"{path}:{number}: not a line of a recording")
                yield line
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path} cannot be read: {error}") from error
