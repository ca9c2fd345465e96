"""Small clusters for tests of audits: one topic on a few brokers, to be changed before it is written."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from uuid import UUID

import attrs

from leadline.invariants.audit.cluster import audit
from leadline.invariants.audit.result import AuditResult, Finding
from leadline.reports.kafka.bugs import SHIPPED
from tests.disks.data_directories import (
    Batch,
    Disk,
    Log,
    Metadata,
    batch,
    partition_record,
    register_broker_record,
    topic_record,
)

TOPIC_ID = UUID(int=1 << 120)


def standard_batches() -> list[Batch]:
    """Ten offsets, in epochs 0 and 1."""
    return [batch(0, 3, 0), batch(3, 2, 0), batch(5, 1, 1), batch(6, 4, 1)]


@attrs.define
class SmallCluster:
    """A cluster that is about to be written.

    Attributes:
        folder: where.
        metadata: the metadata log that all have.
        disks: the data directories, by broker.
    """

    folder: Path
    metadata: Metadata
    disks: dict[int, Disk]

    def log(self, broker: int, topic: str = "topic", number: int = 0) -> Log:
        """A broker's log."""
        return self.disks[broker].logs[topic, number]

    def write(self, *brokers: int) -> list[str]:
        """Write the directories of some brokers, or of all."""
        return [str(self.disks[broker].write()) for broker in brokers or self.disks]

    def audited(self, *brokers: int, stopped: bool = False) -> AuditResult:
        """Write it, and audit it."""
        return audit(self.write(*brokers), workers=1, stopped=stopped)


def small_cluster(
    folder: Path,
    brokers: Sequence[int] = (1, 2, 3),
    *,
    isr: Iterable[int] | None = None,
    leader: int | None = 1,
    elr: Iterable[int] | None = None,
    with_metadata: bool = True,
    high_watermark: int = 10,
) -> SmallCluster:
    """A cluster that was stopped cleanly, with nothing wrong."""
    metadata = Metadata()
    for broker in brokers:
        metadata.add(register_broker_record(broker, metadata.end, [UUID(int=100 + broker)]))
    state = partition_record(
        TOPIC_ID, 0, brokers, brokers if isr is None else isr, leader, leader_epoch=1, elr=elr, version=1
    )
    metadata.add(topic_record("topic", TOPIC_ID), state)
    disks = {}
    for broker in brokers:
        disk = Disk(folder / f"broker-{broker}", broker)
        if with_metadata:
            disk.logs["__cluster_metadata", 0] = metadata.log()
        disk.logs["topic", 0] = Log([(0, standard_batches())], TOPIC_ID, high_watermark, 10)
        disks[broker] = disk
    return SmallCluster(folder, metadata, disks)


def checks(result: AuditResult) -> set[str]:
    """The properties that are violated."""
    return {finding.check for finding in result.errors}


def notes(result: AuditResult) -> list[Finding]:
    """The findings that are notes."""
    return [finding for finding in result.findings if finding.severity == "note"]


def short_archive(folder: Path, ticket: str = "KAFKA-15221") -> Path:
    """An archive with one bug: to search for all that leadline ships takes seconds."""
    (bug,) = (each for each in tomllib.loads(SHIPPED.read_text(encoding="utf-8"))["bugs"] if each["ticket"] == ticket)
    path = folder / "bugs.toml"
    path.write_text("\n".join(["[[bugs]]", *(f"{name} = {_toml(value)}" for name, value in bug.items()), ""]))
    return path


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {_toml(each)}' for name, each in value.items())} }}"
    return json.dumps(value)
