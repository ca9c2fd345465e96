"""Functions that read data directories and the partition directories in them, but not the segments of logs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from uuid import UUID

import attrs

from leadline.model.disk import text
from leadline.model.disk.batches import LARGEST_OFFSET
from leadline.model.disk.files import Entry, Files, Unreadable
from leadline.model.disk.text import Partition

METADATA_TOPIC = "__cluster_metadata"
METADATA: Partition = (METADATA_TOPIC, 0)
"""The partition of KRaft's metadata log."""

DEEPEST = 8
"""The number of levels below a given directory that are searched for data directories."""

MOST_DIRECTORIES = 100_000
"""The largest number of directories that are searched for data directories."""

_PARTITION = re.compile(r"([a-zA-Z0-9._-]{1,249})-([0-9]{1,10})")
_SET_ASIDE = re.compile(r"[a-zA-Z0-9._-]{1,249}-[0-9]{1,10}\.[0-9a-zA-Z]+-(delete|future|stray)")
SEGMENT = re.compile(r"([0-9]{20})\.log")


@attrs.frozen(eq=False)
class DataDirectory:
    """A data directory of a broker or of a controller.

    Attributes:
        path: the path of the data directory.
        node: the id of the broker or controller, or None if `meta.properties` does not contain it.
        cluster, directory: the ids of the cluster and of the directory, or empty strings if `meta.properties` does not
            contain them.
        clean: whether the broker was stopped cleanly.
        checkpoints: the offsets in each checkpoint file, keyed by file name. Files that do not exist have no entry.
        partitions: the path of each partition's directory, keyed by partition.
        set_aside: the names of partition directories that are stray or that are being deleted or moved.
        problems: errors from reading the files, one line each.
    """

    path: str
    node: int | None
    cluster: str
    directory: str
    clean: bool
    checkpoints: dict[str, dict[Partition, int]]
    partitions: dict[Partition, str]
    set_aside: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def checkpoint(self, name: str, partition: Partition) -> int | None:
        """Return the offset of a partition in a checkpoint file, or None if the file has no entry for the partition."""
        return self.checkpoints.get(name, {}).get(partition)


def find_data_directories(files: Files, path: str) -> list[str]:
    """Return the paths of the data directories below a directory. If the directory is a data directory, return only its
    path.

    A data directory contains `meta.properties`, an offset checkpoint, or a partition directory. Links are not followed.

    Raises:
        Unreadable: if the directory cannot be listed, or has too many entries.
    """
    found, looked_at = [], 0
    waiting = [(path, 0)]
    while waiting:
        here, depth = waiting.pop(0)
        looked_at += 1
        if looked_at > MOST_DIRECTORIES:
            raise Unreadable(f"{path} contains more than {MOST_DIRECTORIES:,} directories")
        try:
            entries = files.listed(here)
        except Unreadable:
            if here == path:
                raise
            continue
        if _is_data_directory(files, here, entries):
            found.append(here)
        elif depth < DEEPEST:
            waiting += [
                (f"{here}/{entry.name}", depth + 1)
                for entry in entries
                if entry.kind == "directory" and not entry.name.startswith(".")
            ]
    return sorted(found)


def _is_data_directory(files: Files, path: str, entries: list[Entry]) -> bool:
    names = {entry.name for entry in entries if entry.kind == "file"}
    if names & {text.PROPERTIES, *text.OFFSET_CHECKPOINTS}:
        return True
    return any(
        entry.kind == "directory" and _PARTITION.fullmatch(entry.name) and _holds_a_log(files, f"{path}/{entry.name}")
        for entry in entries
    )


def _holds_a_log(files: Files, path: str) -> bool:
    try:
        entries = files.listed(path)
    except Unreadable:
        return False
    names = {entry.name for entry in entries if entry.kind == "file"}
    return bool(names & {text.EPOCHS, text.PARTITION_METADATA}) or any(map(SEGMENT.fullmatch, names))


def read_data_directory(files: Files, path: str) -> DataDirectory:
    """Read the files of a data directory, except the logs. Errors from reading a file are added to `problems`.

    Raises:
        Unreadable: if the directory cannot be listed.
    """
    entries = files.listed(path)
    kinds = {entry.name: entry.kind for entry in entries}
    problems: list[str] = []
    properties, checkpoints = dict[str, str](), {}
    if text.PROPERTIES in kinds:
        with _noted(problems):
            properties = text.properties(files, f"{path}/{text.PROPERTIES}")
    for name in filter(kinds.__contains__, text.OFFSET_CHECKPOINTS):
        with _noted(problems):
            checkpoints[name] = text.offsets(files, f"{path}/{name}")
    problems += [f"{path}/{name} is a link or a special file and was not read" for name in _odd(kinds)]
    number = properties.get("node.id", properties.get("broker.id", ""))
    return DataDirectory(
        path=path,
        node=int(number) if re.fullmatch("[0-9]{1,10}", number) else None,
        cluster=properties.get("cluster.id", ""),
        directory=properties.get("directory.id", ""),
        clean=kinds.get(text.CLEAN_SHUTDOWN) == "file",
        checkpoints=checkpoints,
        partitions={(found[1], int(found[2])): f"{path}/{found[0]}" for found in _partitions(kinds)},
        set_aside=tuple(name for name in kinds if _SET_ASIDE.fullmatch(name)),
        problems=tuple(problems),
    )


@contextmanager
def _noted(problems: list[str]) -> Iterator[None]:
    """Add the error to the problems if a file cannot be read in the ``with`` block."""
    try:
        yield
    except Unreadable as error:
        problems.append(str(error))


def _partitions(kinds: Mapping[str, str]) -> Iterator[re.Match[str]]:
    for name, kind in kinds.items():
        found = _PARTITION.fullmatch(name)
        if kind == "directory" and found is not None:
            yield found


def _odd(kinds: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of Kafka files and directories that are links or special files."""
    ours = {text.PROPERTIES, text.CLEAN_SHUTDOWN, *text.OFFSET_CHECKPOINTS}
    for name, kind in kinds.items():
        if (kind != "file" and name in ours) or (kind == "other" and _PARTITION.fullmatch(name)):
            yield name


@attrs.frozen(eq=False)
class LogDirectory:
    """A partition directory.

    Attributes:
        path: the path of the directory.
        segments: the base offset and the path of each segment, sorted by base offset.
        epochs: the entries of the leader epoch checkpoint, or None if the file does not exist.
        topic_id: the topic id, or None if `partition.metadata` does not contain it.
        snapshots: the offsets of the producer snapshots.
        swapping: whether compaction was interrupted while it was replacing segments.
        is_one: whether this is a partition directory, that is, whether it contains a file of a partition.
        is_listed: whether its files could be listed. If not, it is not known which segments it has.
        problems: errors from reading the files, one line each.
    """

    path: str
    segments: tuple[tuple[int, str], ...]
    epochs: tuple[text.Epoch, ...] | None
    topic_id: UUID | None
    snapshots: tuple[int, ...]
    swapping: bool
    is_one: bool
    problems: tuple[str, ...]
    is_listed: bool = True


def no_directory(path: str) -> LogDirectory:
    """Return an empty `LogDirectory` for a partition directory that does not exist."""
    return LogDirectory(path, (), None, None, (), swapping=False, is_one=True, problems=())


def read_log_directory(files: Files, path: str) -> LogDirectory:
    """Read a partition directory, except the content of segments.

    Errors from reading a file are added to `problems`.
    """
    problems: list[str] = []
    try:
        entries = files.listed(path)
    except Unreadable as error:
        return LogDirectory(
            path, (), None, None, (), swapping=False, is_one=True, problems=(str(error),), is_listed=False
        )
    names = {entry.name: entry.kind for entry in entries}
    segments = [(int(found[1]), f"{path}/{name}") for name in names if (found := SEGMENT.fullmatch(name))]
    problems += [f"{file} has a name that is not an offset" for base, file in segments if base >= LARGEST_OFFSET]
    segments = [(base, file) for base, file in segments if base < LARGEST_OFFSET]
    epochs, topic_id = None, None
    if text.EPOCHS in names:
        with _noted(problems):
            epochs = text.epochs(files, f"{path}/{text.EPOCHS}")
    if text.PARTITION_METADATA in names:
        with _noted(problems):
            topic_id = text.topic_id(files, f"{path}/{text.PARTITION_METADATA}")
    return LogDirectory(
        path=path,
        segments=tuple(sorted(segments)),
        epochs=epochs,
        topic_id=topic_id,
        snapshots=tuple(
            sorted(int(found[1]) for name in names if (found := re.fullmatch(r"([0-9]{20})\.snapshot", name)))
        ),
        swapping=any(name.endswith(".swap") for name in names),
        is_one=bool(segments) or text.EPOCHS in names or text.PARTITION_METADATA in names,
        problems=tuple(problems),
    )
