"""Add the records of KRaft's metadata log to the responses in which a controller sent them to brokers.

A request log has only the size of the records in a response (`FetchResponseDataJsonConverter.write` is called without
records). The offset of the request and this size determine them, given the log. The batches of a response are a part of
one segment, and are sent as they are on the disk. If sizes and batches do not agree, the log is another one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.brokers.conformance.frames import CONTROLLER
from leadline.brokers.hiding import Hiding
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.messages.topics import all_partitions_in
from leadline.brokers.recording import RecordingError, batches_event, plain
from leadline.brokers.request_logs.request import Request, take_size
from leadline.model.disk.batches import read_headers
from leadline.model.disk.directory import METADATA_TOPIC, read_log_directory
from leadline.model.disk.files import LocalFiles, Unreadable

METADATA_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
"""The id of the metadata log (`Uuid.METADATA_TOPIC_ID` in Kafka's code)."""

_LARGEST_FETCH = 8 * 2**20
"""The most bytes of several batches that a broker fetches at once (`KafkaRaftClient.MAX_FETCH_SIZE_BYTES`)."""

_FOR_CONTROLLERS = ("BrokerHeartbeat", "BrokerRegistration")


def is_of_kraft(request: Request) -> bool:
    """Return whether only a cluster with KRaft has such a request."""
    return request.api in _FOR_CONTROLLERS or _is_of_metadata_log(request)


def name_controllers(requests: Sequence[Request]) -> None:
    """Name the controllers in requests, which have the ids of processes, ``controller``.

    Raises:
        RecordingError: if no file is one of a controller, or if a controller is also a broker.
    """
    controllers = {each.node for each in requests if is_of_kraft(each)}
    if not controllers:
        raise RecordingError(
            "no file has a BROKER_REGISTRATION or BROKER_HEARTBEAT request: pass the files of the KRaft controllers too"
        )
    both = sorted({each.body["BrokerId"] for each in requests if each.api in _FOR_CONTROLLERS} & controllers)
    if both:
        raise RecordingError(
            f"node {both[0]} is a broker and a controller at once (process.roles=broker,controller): it sends itself "
            f"no requests, so no file shows when its broker learned what the controller decided"
        )
    for each in requests:
        each.node = CONTROLLER if each.node in controllers else each.node
        each.source = CONTROLLER if each.source in controllers else each.source


def add_metadata(requests: Sequence[Request], directory: Path, definitions: Definitions) -> None:
    """Add the records of the metadata log to the responses of controllers.

    Parameters:
        requests: the requests, with named controllers.
        directory: the directory of the metadata log, or a data directory that contains it.
        definitions: the message definitions of the release.

    Raises:
        RecordingError: if the log cannot be read, or is not the one of which the responses contain parts.
    """
    log = _MetadataLog.read(directory)
    hiding = Hiding()
    for request in requests:
        if request.node != CONTROLLER or not _is_of_metadata_log(request):
            continue
        offset = next(part["FetchOffset"] for part in all_partitions_in(request.body))
        for part in all_partitions_in(request.answer or {}):
            size = take_size(part)
            data = log.slice(offset, size, request.place) if size else None
            part["Records"] = None if data is None else plain(hiding.hidden(_decoded(data, definitions, log.directory)))


def _decoded(data: bytes, definitions: Definitions, directory: Path) -> dict[str, Any]:
    told = batches_event(data, definitions)
    parts = [told, *(record for batch in told.get("batches", ()) for record in batch["records"] or ())]
    for each in parts:
        if "undecoded" in each:
            raise RecordingError(
                f"{directory}: a record cannot be decoded: {each['undecoded']}: --release must be the release of the "
                f"controllers"
            )
    return told


def _is_of_metadata_log(request: Request) -> bool:
    topics = request.body.get("Topics") or () if request.api == "Fetch" else ()
    return any(each.get("Topic") == METADATA_TOPIC or each.get("TopicId") == METADATA_TOPIC_ID for each in topics)


@attrs.frozen(eq=False)
class _Segment:
    path: str
    batches: NDArray[np.void]

    @property
    def end(self) -> int:
        """The offset after the last record."""
        return int(self.batches["last"][-1]) + 1


@attrs.frozen(eq=False)
class _MetadataLog:
    """The metadata log on a disk.

    Attributes:
        directory: the directory of the log.
        segments: the segments that have batches, in order.
    """

    directory: Path
    segments: tuple[_Segment, ...]

    @classmethod
    def read(cls, directory: Path) -> _MetadataLog:
        inner = directory / f"{METADATA_TOPIC}-0"
        directory = inner if inner.is_dir() else directory
        found = read_log_directory(LocalFiles(), str(directory))
        if found.problems:
            raise RecordingError(found.problems[0])
        segments = []
        for _, path in found.segments:
            try:
                with LocalFiles().opened(path) as source:
                    batches = read_headers(source).batches
            except Unreadable as error:
                raise RecordingError(str(error)) from error
            if not batches["intact"].all():
                raise RecordingError(f"{path}: a batch is damaged: its checksum is wrong")
            if len(batches):
                segments.append(_Segment(path, batches))
        if not segments:
            raise RecordingError(
                f"{directory} contains no records of a metadata log: pass the directory {METADATA_TOPIC}-0 of a KRaft "
                f"controller"
            )
        return cls(directory, tuple(segments))

    def slice(self, offset: int, size: int, place: str) -> bytes | None:
        """Return the batches of a response, or None if they have been deleted from the log, after a snapshot.

        Raises:
            RecordingError: if the log does not contain batches of this size at this offset.
        """
        if offset < self.segments[0].batches["first"][0]:
            return None
        if offset >= self.segments[-1].end:
            raise RecordingError(
                f"{place}: the response has records of the metadata log from offset {offset}, but {self.directory} "
                f"ends at offset {self.segments[-1].end}: copy it after the request logs"
            )
        segment = self.segments[bisect_right([each.end for each in self.segments], offset)]
        first = int(np.searchsorted(segment.batches["last"], offset))
        begin, end = int(segment.batches["position"][first]), int(segment.batches["position"][first]) + size
        ends = segment.batches["position"] + segment.batches["size"]
        if end not in ends and not (size >= _LARGEST_FETCH and end < ends[-1]):
            raise RecordingError(
                f"{place}: the response has {size} bytes of the metadata log from offset {offset}, and no batch of "
                f"{segment.path} ends there: it is not the log of these brokers"
            )
        data = bytearray(size)
        with LocalFiles().opened(segment.path) as source:
            source.read_into(memoryview(data), begin)
        return bytes(data)
