"""Configuration: what a release accepts, and properties files as Java reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadline.brokers.cluster import nodes_of
from leadline.brokers.configuration import (
    broker_properties,
    controller_properties,
    logging_options,
    with_controller,
    write_properties,
    zookeeper_properties,
)
from leadline.brokers.releases import broker_release

DATA = Path("/data")


def test_a_broker_listens_on_loopback_and_advertises_its_proxy() -> None:
    properties = broker_properties(broker_release("2.8.0"), 1, DATA, 15001, 15002)
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:15001"
    assert properties["advertised.listeners"] == "PLAINTEXT://127.0.0.1:15002"
    assert properties["broker.id"] == "1"
    assert "node.id" not in properties


def test_properties_that_a_release_does_not_know_or_refuses_are_left_out() -> None:
    slots = "max.incremental.fetch.session.cache.slots"
    assert slots not in broker_properties(broker_release("1.0.2"), 0, DATA, 1, 2)
    assert broker_properties(broker_release("1.1.0"), 0, DATA, 1, 2)[slots] == "0"
    assert "advertised.listeners" not in controller_properties(broker_release("3.8.1"), DATA, 1, 2)
    assert "127.0.0.1:2" in controller_properties(broker_release("3.9.0"), DATA, 1, 2)["advertised.listeners"]


def test_brokers_find_the_controller_at_its_proxy() -> None:
    assert with_controller(15003)["controller.quorum.voters"].endswith("@127.0.0.1:15003")
    controller = controller_properties(broker_release("4.0.0"), DATA, 15001, 15003)
    assert controller["controller.quorum.voters"].endswith("@127.0.0.1:15003")
    assert controller["listeners"] == "CONTROLLER://127.0.0.1:15001"


def test_zookeeper_accepts_connections_from_this_machine_only() -> None:
    assert zookeeper_properties(DATA, 15001)["clientPortAddress"] == "127.0.0.1"


def test_the_processes_of_a_cluster() -> None:
    assert nodes_of(broker_release("2.8.0"), 2) == ("zookeeper", 0, 1)
    assert nodes_of(broker_release("3.6.0"), 3) == ("controller", 0, 1, 2)


@pytest.mark.parametrize("release", ["3.9.1", "4.0.0"])
def test_the_logging_library_of_the_release_is_configured(tmp_path: Path, release: str) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    (option,) = logging_options(broker_release(release), folder)
    name, _, uri = option.partition("=")
    assert name == ("-Dlog4j2.configurationFile" if release == "4.0.0" else "-Dlog4j.configuration")
    assert uri == next(folder.iterdir()).as_uri()
    assert "%20" in uri


def test_a_folder_with_any_name_reaches_java(tmp_path: Path) -> None:
    write_properties(tmp_path / "p", {"log.dirs": "/grüße\\ x"})
    assert (tmp_path / "p").read_bytes() == rb"log.dirs=/gr\u00fc\u00dfe\\ x" + b"\n"
