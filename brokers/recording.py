"""Write and read recordings of the frames that pass through a proxy. The format is described in recording.md."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self
from uuid import UUID

import attrs

from leadline.brokers.frame import Frame
from leadline.brokers.messages.batches import Batch, read_batches
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.messages.requests import read_record
from leadline.checker.errors import LeadlineError
from leadline.model.disk.batches import Record, crc32c
from leadline.model.disk.wire import Malformed, text_of_uuid

FORMAT, VERSION = "leadline recording", 1
LONGEST_END = 4096
"""More bytes than the last line of a recording has."""
LARGEST_VALUE = 1024
"""For byte strings with more bytes than this, only the size and a checksum are recorded."""
LARGEST_RECORDS = 2**20
"""If batches together have more bytes than this, they are recorded without their records, unless these are records of
the metadata log."""
_RECORDS = {"Records", "UnalignedRecords"}


class RecordingError(LeadlineError):
    """Raised when a recording cannot be written, or when a file is not a complete recording."""


class RecordingWriter:
    """Writes a recording to a file, line by line.

    The file has a temporary name until `close` is called, so a file with the given name is always complete. If the
    writer is used as a context manager, it is closed at the end of the ``with`` block. If the block raises an
    exception, the last line of the recording contains the exception.

    Parameters:
        path: the path of the complete recording. An existing file is replaced by `close`.
        hides: a function that changes the event of a frame before it is written, for example to hide records, or None.
        about: additional fields for the first line, for example the release.

    Raises:
        RecordingError: if the file cannot be created.
    """

    def __init__(
        self, path: Path, *, hides: Callable[[dict[str, Any]], dict[str, Any]] | None = None, **about: Any
    ) -> None:
        self.path, self._hides = path, hides
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
        """Return the seconds since the recording began. All times in the recording are measured with this clock."""
        return round(time.monotonic() - self._begun, 6)

    def write(self, event: str, **more: Any) -> None:
        """Write an event. This method is thread-safe. If writing fails, `close` raises the error.

        Parameters:
            more: the fields of the event: JSON values, bytes and UUIDs. The field `time` is added.
        """
        line = plain(more)
        with self._lock:  # lines are in the order of their times
            self._put({"event": event, "time": self.now(), **line})

    def write_frame(self, frame: Frame, definitions: Definitions) -> None:
        """Write a frame that was forwarded or dropped. If writing fails, `close` raises the error.

        Parameters:
            definitions: the definitions for decoding records of the metadata log in responses from the controller.
        """
        try:
            event = frame_event(frame, definitions)
            self.write("frame", **(event if self._hides is None else self._hides(event)))
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
        """Complete the recording, and rename it to its path.

        Parameters:
            interrupted_by: the reason why the recorded run ended early, or None.

        Raises:
            RecordingError: if writing failed. No file is created at the path.
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
    """Convert a value to JSON types: ids to Kafka's notation, and bytes to text, Base64, or a checksum."""
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
    """Return the fields of the event for a frame.

    Parameters:
        definitions: the definitions for decoding records of the metadata log in responses from the controller.
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
            name: _batches_event(each, metadata) if name in _RECORDS and each is not None else _body(each, metadata)
            for name, each in value.items()
        }
    return [_body(each, metadata) for each in value] if isinstance(value, list) else value


def _batches_event(data: bytes, metadata: Definitions | None) -> dict[str, Any]:
    """Return what a recording contains of batches of records.

    Parameters:
        metadata: the definitions for decoding records of the metadata log, or None for other records.
    """
    told: dict[str, Any] = {"size": len(data)}
    try:
        found = read_batches(data, records=metadata is not None or len(data) <= LARGEST_RECORDS)
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
        about: the content of the first line.
        names_lines: whether reading a field that a line, or a part of it, lacks raises an error that names the line,
            instead of KeyError. This takes time.
    """

    path: Path
    about: Mapping[str, Any]
    names_lines: bool = False

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events in order, as dicts. The file is read while iterating.

        Raises:
            RecordingError: if a line is not an event, or the recording is not complete.
        """
        lines, last = 0, None
        for lines, last in enumerate(_lines(self.path)):
            if lines:
                self._check(last, lines + 1)
            if lines and last["event"] != "end":
                yield _Named.of(last, f"{self.path}: {name_of_line(last)}") if self.names_lines else last
        if last is None or last.get("event") != "end":
            raise RecordingError(f"{self.path} is not a complete recording: its last line is missing")
        if last.get("lines") != lines + 1:
            raise RecordingError(
                f"{self.path} is not a complete recording: it has {lines + 1} lines, but its last line says "
                f"{last.get('lines')}"
            )

    @property
    def interrupted_by(self) -> str | None:
        """The reason why the recorded run ended early, or None. The events must be complete."""
        with self.path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - LONGEST_END))
            reason = json.loads(file.read().splitlines()[-1]).get("interrupted_by")
        return None if reason is None else str(reason)

    def _check(self, line: Mapping[str, Any], number: int) -> None:
        event, at = line.get("event"), line.get("time")
        if not isinstance(event, str) or not isinstance(at, int | float) or isinstance(at, bool):
            raise RecordingError(f"{self.path}:{number}: this line does not contain an event and its time in seconds")

    def __attrs_post_init__(self) -> None:
        if not self.about:
            raise RecordingError(f"{self.path} is not a recording: it is empty")
        if self.about.get("format") != FORMAT:
            raise RecordingError(f"{self.path} is not a recording: its first line does not contain {FORMAT!r}")
        if self.about.get("version") != VERSION:
            raise RecordingError(f"{self.path} has version {self.about.get('version')}; expected {VERSION}")


def name_of_line(line: Mapping[str, Any]) -> str:
    """Return the name of an event in error messages."""
    if line["event"] == "frame":
        return f"frame {line.get('number')}"
    return f"the event {line['event']!r} at {line['time']}"


class _Named(dict[str, Any]):
    """A part of a line. Reading a field that it lacks raises an error that names the line."""

    def __init__(self, fields: Mapping[str, Any], line: str) -> None:
        super().__init__({name: _Named.of(value, line) for name, value in fields.items()})
        self._line = line

    @staticmethod
    def of(value: Any, line: str) -> Any:
        if isinstance(value, list):
            return [_Named.of(each, line) for each in value]
        return _Named(value, line) if isinstance(value, dict) else value

    def __or__(self, more: Mapping[str, Any]) -> _Named:  # type: ignore[override]
        return _Named({**self, **more}, self._line)

    def __missing__(self, name: str) -> NoReturn:
        raise RecordingError(f"{self._line}: {name} is missing; see brokers/recording.md")


def read_recording(path: Path) -> Recording:
    """Open a recording for reading.

    Raises:
        RecordingError: if the file cannot be read, or is not a recording of this version.
    """
    return Recording(path, next(_lines(path), {}))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                try:
                    line = json.loads(text, parse_constant=_refuse)
                except (ValueError, RecursionError) as error:
                    raise RecordingError(f"{path}:{number}: this line is not in the format of a recording") from error
                if not isinstance(line, dict):
                    raise RecordingError(f"{path}:{number}: this line is not in the format of a recording")
                yield line
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RecordingError(
            f"{path} cannot be read: it is not UTF-8 text, for example because it is compressed"
        ) from error


def _refuse(constant: str) -> None:
    """Refuse NaN and Infinity, which Python accepts although they are not valid JSON."""
    raise ValueError(constant)
