"""Directories that mean harm: damaged at random, with links, pipes and files that announce more than they hold."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from leadline.checker.result import Verdict
from leadline.invariants.audit.cluster import audit
from leadline.model.disk.batches import LARGEST_OFFSET
from leadline.reports.document.markdown import markdown
from leadline.reports.kafka.audit.document import audit_document, audit_page
from leadline.reports.kafka.audit.findings import audit_findings
from leadline.reports.kafka.audit.json_audit import audit_object
from tests.disks.clusters import checks, notes, small_cluster
from tests.disks.data_directories import batch, lines
from tests.disks.simulator import Simulation


def seen(*paths: str) -> Verdict:
    """Audit directories, and make everything of the result that can be made."""
    result = audit(paths, workers=1)
    audit_object(result)
    audit_findings(result)
    markdown(audit_document("", result, []))
    audit_page("hostile", result, [])
    return result.verdict


def spoil(path: Path, chance: random.Random) -> None:
    """Do something to a file."""
    data = bytearray(path.read_bytes())
    match chance.randrange(8):
        case 0:
            path.write_bytes(data[: chance.randrange(len(data) + 1)])
        case 1:
            path.write_bytes(data + chance.randbytes(chance.randrange(200)))
        case 2:
            path.write_bytes(chance.randbytes(chance.randrange(300)))
        case 3:
            path.unlink()
        case 4:
            path.unlink()
            path.symlink_to("/dev/zero")
        case 5 if len(data) > 61:
            place = chance.randrange(0, len(data) - 8)
            data[place : place + 8] = struct.pack(">q", chance.choice([-1, 2**63 - 1, -(2**63), 2**31, 0]))
            path.write_bytes(data)
        case _:
            for _ in range(chance.randrange(1, 4)):
                if data:
                    data[chance.randrange(len(data))] = chance.randrange(256)
            path.write_bytes(data)


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_done_to_files_an_audit_ends_with_a_verdict(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    for disk in Simulation(seed, steps=60).disks(tmp_path / "whole", clean=bool(seed % 2)).values():
        disk.write()
    for attempt in range(4):
        folder = tmp_path / str(attempt)
        shutil.copytree(tmp_path / "whole", folder, symlinks=True)
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("index"))
        for path in chance.sample(files, min(len(files), chance.randrange(1, 6))):
            spoil(path, chance)
        assert seen(str(folder)) in Verdict


def test_links_pipes_and_sockets_are_not_followed_and_do_not_block(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path / "a")
    paths = cluster.write()
    topic = Path(paths[1]) / "topic-0"
    for name in ("leader-epoch-checkpoint", "partition.metadata"):
        (topic / name).unlink()
    (topic / "leader-epoch-checkpoint").symlink_to("/dev/zero")
    os.mkfifo(topic / "partition.metadata")
    shutil.move(Path(paths[2]) / "topic-0", tmp_path / "elsewhere")
    (Path(paths[2]) / "topic-0").symlink_to(tmp_path / "elsewhere")
    with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(topic):
        server.bind("0.txnindex")
        result = audit(paths, workers=1)
    assert result.verdict is not Verdict.HOLDS
    told = " ".join(result.reasons)
    assert "topic-0 is a link or a special file and was not read" in told
    assert "partition.metadata is not a regular file" in told
    assert "cannot open" in told
    assert "leader-epoch-checkpoint" in told


def test_a_file_that_declares_more_than_it_has_costs_no_memory(tmp_path: Path) -> None:
    """With an address space that is smaller than the announced size."""
    cluster = small_cluster(tmp_path, [1], with_metadata=True)
    (path,) = cluster.write()
    data = batch(0, 3, 1).data
    (Path(path) / "topic-0" / f"{0:020d}.log").write_bytes(data[:8] + struct.pack(">i", 2**31 - 1) + data[12:])
    metadata = Path(path) / "__cluster_metadata-0" / f"{0:020d}.log"
    whole = metadata.read_bytes()
    metadata.write_bytes(whole + batch(50, 1, 1, values=[b"\x01\x03\x00" + b"\xff\xff\xff\xff\x07" * 4]).data)
    (Path(path) / "replication-offset-checkpoint").write_text("0\n9999999999\n")
    huge = Path(path) / "topic-0" / f"{3:020d}.log"
    with huge.open("wb") as file:
        file.truncate(2**41)
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30));"
        "from leadline.invariants.audit.cluster import audit; print(audit([sys.argv[1]], workers=1).verdict.value)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, path],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout.strip() in ("incomplete", "violated")
    result = audit([path], workers=1)
    assert any("but a segment has at most" in reason for reason in result.reasons)
    assert any("declares 9999999999 entries but has 0" in reason for reason in result.reasons)


@pytest.mark.parametrize("name", ["9" * 20, str(LARGEST_OFFSET)])
def test_a_segment_with_an_impossible_name(tmp_path: Path, name: str) -> None:
    (path,) = small_cluster(tmp_path, [1]).write()
    (Path(path) / "topic-0" / f"{name:0>20}.log").write_bytes(b"")
    result = audit([path], workers=1)
    assert result.verdict is Verdict.INCOMPLETE
    assert any("has a name that is not an offset" in reason for reason in result.reasons)


def test_numbers_that_are_too_large(tmp_path: Path) -> None:
    (path,) = small_cluster(tmp_path, [1]).write()
    (Path(path) / "replication-offset-checkpoint").write_text(lines(("topic", 0, 2**63 - 1)))
    (Path(path) / "topic-0" / "leader-epoch-checkpoint").write_text(lines((2**63 - 1, 2**63 - 1)))
    assert checks(audit([path], workers=1)) >= {"hw_within_log"}
    (Path(path) / "replication-offset-checkpoint").write_text(lines(("topic", 0, 2**63)))
    assert any("where a number is expected" in reason for reason in audit([path], workers=1).reasons)


def test_a_log_that_is_damaged_from_end_to_end_is_told_in_a_few_words(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, [1, 2], with_metadata=False, high_watermark=6000)
    for broker, log in ((1, cluster.log(1)), (2, cluster.log(2))):
        held = [batch(place, 1, (place * broker) % 3, values=[b"x"]).broken() for place in range(600)]
        log.segments = [(0, held * 10)]
    result = cluster.audited()
    assert {"batch_crc", "offsets_rise_in_log", "hw_within_log"} <= checks(result)
    assert len(result.findings) < 60
    assert any("more such places" in finding.text for finding in result.errors)
    assert notes(result) == []
