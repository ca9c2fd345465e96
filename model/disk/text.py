"""Functions that read the text files of a data directory: checkpoints, properties, and the state of the Raft quorum.

The formats are defined by Apache Kafka's classes `CheckpointFile`, `LeaderEpochCheckpointFile`,
`PartitionMetadataFile`, `MetaProperties` and `FileQuorumStateStore`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from uuid import UUID

import attrs

from leadline.model.disk.files import Files, Unreadable, read_bytes
from leadline.model.disk.wire import uuid_of_text

HIGH_WATERMARKS = "replication-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANED_TO = "cleaner-offset-checkpoint"
OFFSET_CHECKPOINTS = (HIGH_WATERMARKS, RECOVERY_POINTS, LOG_STARTS, CLEANED_TO)
EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
PROPERTIES = "meta.properties"
QUORUM_STATE = "quorum-state"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

MOST_DIGITS = 19
"""The number of decimal digits of the largest offset, 2**63 - 1."""

Partition = tuple[str, int]
"""The name of a partition: its topic and its number."""


@attrs.frozen
class Epoch:
    """An entry of a leader epoch checkpoint: a leader epoch and the offset at which the epoch starts."""

    epoch: int
    start: int


def offsets(files: Files, path: str) -> dict[Partition, int]:
    """Return the offsets in an offset checkpoint file, keyed by partition.

    Raises:
        Unreadable: if the file is missing, cannot be read, or is not an offset checkpoint.
    """
    found: dict[Partition, int] = {}
    for line in _lines(files, path):
        fields = line.split()
        if len(fields) != 3:
            raise Unreadable(f"{path} has an invalid line: expected a topic, a partition and an offset")
        found[fields[0], _number(path, fields[1])] = _number(path, fields[2])
    return found


def epochs(files: Files, path: str) -> tuple[Epoch, ...]:
    """Return the entries of a leader epoch checkpoint, in the order of the file.

    Raises:
        Unreadable: if the file is missing, cannot be read, or is not a leader epoch checkpoint.
    """
    found = []
    for line in _lines(files, path):
        fields = line.split()
        if len(fields) != 2:
            raise Unreadable(f"{path} has an invalid line: expected an epoch and an offset")
        found.append(Epoch(_number(path, fields[0]), _number(path, fields[1])))
    return tuple(found)


def topic_id(files: Files, path: str) -> UUID | None:
    """Return the topic id in a `partition.metadata` file, or None if the id consists of zeros.

    Raises:
        Unreadable: if the file is missing, cannot be read or has no topic id.
    """
    text = _text(files, path)
    found = re.search(r"^topic_id: ([A-Za-z0-9_-]{22})\s*$", text, re.MULTILINE)
    if found is None:
        raise Unreadable(f"{path} has no topic id")
    wanted = uuid_of_text(found[1])
    return wanted if wanted.int else None


def properties(files: Files, path: str) -> dict[str, str]:
    """Return the properties in a file such as `meta.properties`, keyed by name.

    Raises:
        Unreadable: if the file is missing or cannot be read.
    """
    pairs = (line.partition("=") for line in _text(files, path).splitlines() if not line.startswith(("#", "!")))
    return {name.strip(): value.strip() for name, separator, value in pairs if separator}


def quorum_epoch(files: Files, path: str) -> int:
    """Return the leader epoch in a `quorum-state` file.

    Raises:
        Unreadable: if the file is missing, cannot be read, or has no leader epoch.
    """
    try:
        content = json.loads(_text(files, path))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path} is not valid JSON") from error
    if not isinstance(content, dict) or type(content.get("leaderEpoch")) is not int:
        raise Unreadable(f"{path} has no leader epoch")
    epoch: int = content["leaderEpoch"]
    return epoch


def _lines(files: Files, path: str) -> Iterator[str]:
    """Yield the entries of a checkpoint, which are the lines after the version and the number of entries.

    An empty file has no entries.
    """
    lines = _text(files, path).split("\n")
    if lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        return
    if lines[0].strip() not in ("0", "1"):
        raise Unreadable(f"{path} has an unknown format version")
    expected = _number(path, lines[1].strip()) if len(lines) > 1 else 0
    if expected != len(lines) - 2:
        raise Unreadable(f"{path} declares {expected} entries but has {max(len(lines) - 2, 0)}")
    yield from lines[2:]


def _number(path: str, text: str) -> int:
    if not re.fullmatch(rf"-?[0-9]{{1,{MOST_DIGITS}}}", text) or abs(int(text)) >= 2**63:
        raise Unreadable(f"{path} has {text[:30]!r} where a number is expected")
    return int(text)


def _text(files: Files, path: str) -> str:
    try:
        return read_bytes(files, path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path} is not UTF-8 text") from error
