"""Real brokers do what the model of their release allows. `make real` runs these tests, and `.ci/run` the first."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.brokers.test_real_wire import release_of
from tests.suite.command import call

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only"),
]


@pytest.mark.parametrize("name", ["3.9.1", "2.8.2", "0.11.0.3", "4.1.1", "3.9.1..4.1.1"])
def test_a_random_behaviour_on_brokers_conforms(name: str, tmp_path: Path) -> None:
    release_of(name.partition("..")[0])
    run = call("conform", "--release", name, "--walks", "1", "--seed", "4", "--keep", "kept", folder=tmp_path)
    assert run.code == 0, run.out + run.err
    assert f"1 of 1 run of Kafka {name} conform" in run.out


@pytest.mark.parametrize("name", ["3.9.1", "2.8.2"])
def test_brokers_that_are_disturbed_conform(name: str, tmp_path: Path) -> None:
    release_of(name)
    run = call("conform", "--release", name, "--chaos", "1", "--keep", "kept", folder=tmp_path)
    assert run.code == 0, run.out + run.err
