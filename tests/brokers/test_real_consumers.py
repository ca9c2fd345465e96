"""Real consumers of a group, of Kafka and of the Python registry: what is recorded of them conforms."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from leadline.brokers.releases import broker_release
from tests.conformance.consumers import python_of, record
from tests.suite.command import call

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only"),
]


@pytest.mark.parametrize(
    ("release", "client", "how", "spec"),
    [
        ("2.8.1", "java", "range", "group/2.8.1"),
        ("2.8.1", "kafka-python", "range", "group/2.8.1"),
        ("3.9.1", "confluent-kafka", "cooperative", "group/3.4.1"),
        ("4.1.1", "java", "cooperative", "group/4.0"),
        ("4.1.1", "java", "consumer", "group/4.0-consumer"),
        ("4.1.1", "confluent-kafka", "consumer", "group/4.0-consumer"),
    ],
)
def test_a_group_with_joins_leaves_and_a_kill_conforms(
    release: str, client: str, how: str, spec: str, tmp_path: Path
) -> None:
    if client != "java":
        try:
            python_of(client)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"{client} cannot be installed from the Python registry: {error.stderr.decode()[-200:]}")
    record(broker_release(release), client, how, tmp_path, tmp_path / "recording.jsonl")
    run = call("conform", "recording.jsonl", folder=tmp_path)
    assert (run.code, run.err) == (0, "")
    assert f"the recording conforms to {spec}: " in run.out
