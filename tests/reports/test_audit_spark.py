"""The audit on Spark has the findings of the audit on one machine, for local and remote directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import pytest

from leadline.invariants.audit.cluster import audit
from leadline.invariants.audit.result import AuditResult
from leadline.invariants.audit.spark import audit_with, merged
from leadline.model.disk.cluster import Survey, survey
from leadline.model.disk.files import LocalFiles, Unreadable
from leadline.model.disk.remote import AnyFiles, canonical, without_secrets
from tests.disks.clusters import small_cluster, standard_batches
from tests.disks.data_directories import partition_record, topic_record
from tests.suite.command import call


def broken(folder: Path) -> list[str]:
    """A cluster whose broker 3 lacks a committed record, and a partition of brokers 3 and 4 without directories."""
    cluster = small_cluster(folder)
    other = UUID(int=2 << 120)
    cluster.metadata.add(topic_record("other", other), partition_record(other, 0, (3, 4), (3, 4), 4, leader_epoch=0))
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0] = cluster.metadata.log()
    log = cluster.log(3)
    log.segments, log.high_watermark, log.recovery_point = [(0, standard_batches()[:3])], 6, 6
    return cluster.write()


def essence(result: AuditResult) -> Any:
    """What does not depend on where and when."""
    findings = [attrs.evolve(finding, path="") for finding in result.findings]
    return findings, result.reasons, result.brokers, result.partitions, result.batches, result.size


def test_on_machines_and_in_shared_storage_the_same_is_found(spark: Any, tmp_path: Path) -> None:
    paths = broken(tmp_path)
    expected = audit(paths, workers=1)
    assert len(expected.errors) == 2
    assert expected.reasons == (
        "the replicas of 1 partition on broker 4 were not given",
        "no directory given has a replica of 1 partition: other-0",
    )
    on_machines = audit_with(spark, paths)
    assert essence(on_machines) == essence(expected)
    assert on_machines.tables == expected.tables
    shared = audit_with(spark, [tmp_path.as_uri()])
    assert essence(shared) == essence(expected)
    assert {finding.path for finding in shared.errors} == {f"{tmp_path.as_uri()}/broker-1/topic-0"}


def test_a_path_on_several_machines_is_one_directory_only_if_it_is_the_same_there(tmp_path: Path) -> None:
    one, two, three = (survey(LocalFiles(), path) for path in broken(tmp_path))

    def at(surveyed: Survey, path: str) -> Survey:
        return attrs.evolve(surveyed, directory=attrs.evolve(surveyed.directory, path=path))

    seen = merged(
        [
            ("a", [at(one, "/kafka"), at(three, "/nfs")]),
            ("a", [at(one, "/kafka"), at(three, "/nfs")]),  # another core of the same machine
            ("b", [at(two, "/kafka"), at(three, "/nfs")]),
        ]
    )
    assert [(each.surveyed.directory.path, each.surveyed.directory.node, each.machines) for each in seen] == [
        ("a:/kafka", 1, ("a",)),
        ("a:/nfs", 3, ("a", "b")),
        ("b:/kafka", 2, ("b",)),
    ]


def test_uris_are_read_as_paths_are(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    paths = broken(tmp_path)
    assert essence(audit([f"{tmp_path.as_uri()}/"], workers=1)) == essence(audit(paths, workers=1))
    files = AnyFiles()
    assert files.listed(f"{tmp_path.as_uri()}/broker-1") == files.listed(f"{tmp_path}/broker-1")
    for bad in (f"{tmp_path.as_uri()}/nowhere", "nosuchscheme://host/path"):
        with pytest.raises(Unreadable, match=r"cannot list|cannot access the file system"):
            files.listed(bad)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("/a/b/", "/a/b"),
        ("/", "/"),
        ("s3://bucket/a/", "s3://bucket/a"),
        ("s3://key:secret@bucket/a?region=x&y=z", "s3://key:secret@bucket?region=x&y=z/a"),
        ("file:///a/b", "file:///a/b"),
    ],
)
def test_paths_to_which_others_can_be_appended(given: str, path: str) -> None:
    assert canonical(given) == path


def test_secrets_in_uris_are_not_shown() -> None:
    text = "cannot list s3://key:secret@bucket?token=t/a/b: no such bucket, or hdfs://host/x"
    assert without_secrets(text) == "cannot list s3://...@bucket/a/b: no such bucket, or hdfs://host/x"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("a", "s3://b/c"),
            "with the spark engine, pass either URIs, which every machine can read, or local paths, not both",
        ),
        (("a", "--workers", "2"), "--workers requires --engine local, not spark"),
        (("a", "--before", "b"), "--before cannot be used with --engine spark"),
        (("a", "--conf", "x"), "invalid --conf x: write NAME=VALUE, as in --conf spark.executor.memory=2g"),
    ],
)
def test_mistakes(tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    assert call("audit", "--engine", "spark", *arguments, folder=tmp_path).complaint == complaint


def test_options_of_another_engine(tmp_path: Path) -> None:
    assert (
        call("audit", "a", "--master", "x", folder=tmp_path).complaint == "--master requires --engine spark, not local"
    )
