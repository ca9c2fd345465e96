"""Truncate a log as a power loss would, so that unflushed batches are lost."""

from __future__ import annotations

import os
from pathlib import Path

from leadline.brokers.errors import BrokerError
from leadline.model.disk import text
from leadline.model.disk.batches import read_headers
from leadline.model.disk.directory import read_log_directory
from leadline.model.disk.files import LocalFiles, Unreadable

_RECOVERY_POINTS = "recovery-point-offset-checkpoint"
_CLEAN = ".kafka_cleanshutdown"


def cut_log(data: Path, topic: str, partition: int, to_offset: int) -> None:
    """Truncate a log, as if the machine had lost power before the batches at its end were flushed.

    Checkpoints and the leader epoch file are kept, because brokers flush them. Indexes are kept, because a broker
    rebuilds them after an unclean shutdown.

    Parameters:
        data: the data directory of a broker that is not running.
        topic, partition: the topic and the number of the partition.
        to_offset: the new log end offset. It must be the first offset of a batch, or the current log end offset.

    Raises:
        BrokerError: if the offset is inside a batch or after the end of the log, if the broker flushed a batch after
            the offset or was shut down cleanly, or if the log cannot be read or written.
    """
    directory = data / f"{topic}-{partition}"
    try:
        _refuse_flushed(data, topic, partition, to_offset)
        segments = read_log_directory(LocalFiles(), str(directory)).segments
        if not segments:
            raise BrokerError(f"{directory} does not contain a log")
        if to_offset < segments[0][0]:
            raise BrokerError(
                f"the log in {directory} begins at offset {segments[0][0]}: "
                f"it cannot be truncated to offset {to_offset}"
            )
        kept = [path for base, path in segments if base <= to_offset]
        _cut_segment(Path(kept[-1]), to_offset, is_last=len(kept) == len(segments))
        for base, path in segments[len(kept) :]:
            for file in directory.glob(f"{base:020d}.*"):
                file.unlink()
            Path(path).unlink(missing_ok=True)
    except (OSError, Unreadable) as error:
        raise BrokerError(f"cannot truncate {directory}: {error}") from error


def _refuse_flushed(data: Path, topic: str, partition: int, to_offset: int) -> None:
    if (data / _CLEAN).exists():
        raise BrokerError(f"the broker with the data directory {data} was shut down cleanly, so its logs are flushed")
    points = data / _RECOVERY_POINTS
    flushed = text.offsets(LocalFiles(), str(points)).get((topic, partition), 0) if points.exists() else 0
    if to_offset < flushed:
        raise BrokerError(
            f"{topic}-{partition} is flushed up to offset {flushed}: "
            f"a power loss cannot truncate it to offset {to_offset}"
        )


def _cut_segment(segment: Path, to_offset: int, *, is_last: bool) -> None:
    with LocalFiles().opened(str(segment)) as source:
        headers = read_headers(source)
    starts = {int(batch["first"]): int(batch["position"]) for batch in headers.batches}
    if is_last or not len(headers.batches):
        end = int(headers.batches[-1]["last"]) + 1 if len(headers.batches) else int(segment.stem)
        starts.setdefault(end, headers.end)
    if to_offset in starts:
        os.truncate(segment, starts[to_offset])
    elif is_last or to_offset <= int(headers.batches[-1]["last"]):
        raise BrokerError(f"{segment} has no batch that begins at offset {to_offset}: expected one of {sorted(starts)}")
