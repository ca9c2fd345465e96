"""Convert the files of `kafka.request.logger` to a recording.

The files contain completed requests and responses with the size of their records. Therefore, the recording contains the
offsets of records, but not their values. What is missing is derived from the files, and from KRaft's metadata log:

- The number of records in requests and responses: see `records`.
- Starts and ends of brokers: see `lives`.
- Changes of the ISR that leaders write to ZooKeeper: see `states`.
- The records of the metadata log in responses of a KRaft controller: see `metadata_log`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.recording import RecordingError, RecordingWriter
from leadline.brokers.request_logs.lines import requests_in
from leadline.brokers.request_logs.lives import Return, returns
from leadline.brokers.request_logs.metadata_log import add_metadata, is_of_kraft, name_controllers
from leadline.brokers.request_logs.records import add_records
from leadline.brokers.request_logs.request import Request
from leadline.brokers.request_logs.states import state_writes

_WITHOUT_METADATA_LOG = (
    "with KRaft, the controller's decisions are in the metadata log, of whose records request logs have only the size: "
    "add --metadata-log DIR, a copy of the directory __cluster_metadata-0 of a controller, and the request logs of the "
    "controllers"
)


class _Writer(RecordingWriter):
    """A writer for a recording with the times in the files."""

    at = 0.0

    def now(self) -> float:
        return round(self.at, 6)


@attrs.frozen
class Converted:
    """The result of converting the files.

    Attributes:
        requests: the number of requests in the recording.
        without_answer: the number of responses that were left out, because the requests that would explain them are
            missing.
        left_out: the partitions that were left out, such as ``t-0``, each with the reason.
    """

    requests: int
    without_answer: int
    left_out: dict[str, str]


def convert(
    files: Sequence[tuple[int, Path]],
    target: Path,
    *,
    clock_error: float,
    kraft: bool,
    metadata_log: Path | None,
    definitions: Callable[[], Definitions],
    **about: Any,
) -> Converted:
    """Convert the files of a cluster's brokers and KRaft controllers to a recording.

    Parameters:
        files: for each file, the id of the process that wrote it, and its path.
        target: the path of the recording.
        clock_error: the maximum error of the times in the files, in seconds. It includes the difference between the
            machines' clocks, and the time between a response and its line in the file.
        kraft: whether the controllers are KRaft controllers.
        metadata_log: the directory of the metadata log on the disk of a KRaft controller, or None.
        definitions: a function that returns the message definitions of the release. It is called with KRaft only.
        about: additional fields for the first line of the recording.

    Raises:
        RecordingError: if a file cannot be read, is not a file of `kafka.request.logger`, or lacks necessary data, or
            if the recording cannot be written.
    """
    requests = [request for node, path in files for request in requests_in(node, path)]
    requests.sort(key=lambda each: each.begun)
    _check_kind(requests, kraft=kraft)
    if kraft:
        if metadata_log is None:
            raise RecordingError(_WITHOUT_METADATA_LOG)
        name_controllers(requests)
        add_metadata(requests, metadata_log, definitions())
    first = requests[0].begun
    for each in requests:
        each.begun, each.sent, each.done = each.begun - first, each.sent - first, each.done - first
    without_answer, lost = add_records(requests)
    writes, left_out = state_writes(requests)
    came_back = list(returns(requests))
    writes += [_registration(each) for each in came_back if each.after == "expired"]
    told = [each for each in (*requests, *lost, *writes) if each.api != "UpdateMetadata"]
    lives = [line for each in came_back if each.after != "expired" for line in _life(each, clock_error)]
    lines = sorted([*lives, *_frames(told, clock_error)], key=lambda line: line[0])
    begun = datetime.fromtimestamp(first, UTC).isoformat()
    with _Writer(target, begun=begun, hashed=True, **about) as recording:
        for at, event, fields in lines:
            recording.at = at
            recording.write(event, **fields)
    return Converted(len(requests), without_answer, {f"{name}-{n}": why for (name, n), why in left_out.items()})


def _check_kind(requests: Sequence[Request], *, kraft: bool) -> None:
    """Check that the requests are those of a cluster with KRaft, or with ZooKeeper.

    Raises:
        RecordingError: if they are not, or if the creation of a topic cannot be among them.
    """
    of_zookeeper = next((each.place for each in requests if each.api == "LeaderAndIsr"), None)
    of_kraft = next((each.place for each in requests if is_of_kraft(each)), None)
    if kraft and of_zookeeper is not None:
        raise RecordingError(
            f"{of_zookeeper}: LEADER_AND_ISR requests are those of a cluster with ZooKeeper: pass such a release, for "
            f"example --release 3.9.1-zk"
        )
    if not kraft and of_kraft is not None:
        raise RecordingError(
            f"{of_kraft}: this request is one of a cluster with KRaft: pass such a release, for example --release "
            f"3.9.1-kraft"
        )
    if not kraft and of_zookeeper is None:
        raise RecordingError(
            "no file has a LEADER_AND_ISR request: pass the files of all brokers, from before the topic was created"
        )


_Line = tuple[float, str, dict[str, Any]]
"""The time, the name and the fields of an event."""


def _life(back: Return, error: float) -> Iterator[_Line]:
    """Yield the events of a broker's end and next start. Its end is before the first request of its next life."""
    ended = max(back.ended - error, 0.0)
    yield ended, back.after, {"node": back.node}
    yield back.started + error, "started", {"node": back.node}


def _registration(back: Return) -> Request:
    """Return the request to ZooKeeper with which a broker registered again after its session had expired."""
    body = {"path": f"/brokers/ids/{back.node}"}
    name, times = f"zookeeper {back.node}", (back.ended, back.ended, back.started)
    return Request("zookeeper", back.node, "create", 0, name, body, {"error": 0}, *times)


def _frames(requests: Sequence[Request], error: float) -> Iterator[_Line]:
    """Yield the frames of requests and responses."""
    ordered = sorted(requests, key=lambda each: each.begun)
    arrivals = [(each.begun, 0, number) for number, each in enumerate(ordered)]
    arrivals += [(each.done, 1, number) for number, each in enumerate(ordered) if each.answer is not None]
    numbers = {(kind, place): number for number, (_, kind, place) in enumerate(sorted(arrivals), 1)}
    connections = {name: n for n, name in enumerate(dict.fromkeys(each.connection for each in ordered), 1)}
    for place, each in enumerate(ordered):
        number, arrived, passed = numbers[0, place], max(each.begun, 0.0) + error, max(each.begun - error, 0.0)
        common = {"connection": connections[each.connection], "api": each.api, "version": each.version}
        ends: dict[str, Any] = {"source": each.source, "target": each.node, "request": True, "answers": None}
        times = {"arrived": arrived, "passed": passed}
        yield arrived, "frame", {"number": number, **common, **ends, **times, "body": each.body}
        if each.answer is not None:
            ends = {"source": each.node, "target": each.source, "request": False, "answers": number}
            times = {"arrived": each.done + error, "passed": max(each.sent - error, passed)}
            number = numbers[1, place]
            yield times["arrived"], "frame", {"number": number, **common, **ends, **times, "body": each.answer}
