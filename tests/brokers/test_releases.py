"""Releases that can be started: names, artifacts, and the specs they are compared with."""

from __future__ import annotations

import pytest

from leadline.brokers.errors import BrokerError
from leadline.brokers.releases import broker_release, mixed_release, releases
from leadline.checker.errors import LeadlineError
from leadline.invariants.catalog import CATALOG
from leadline.model.kafka.published import PUBLISHED


def test_every_published_release_can_be_named_and_has_a_spec() -> None:
    assert {release.number for release in releases()} == set(PUBLISHED)
    for release in releases():
        assert broker_release(release.name) == release
        assert release.spec in CATALOG


def test_releases_3_0_to_3_9_have_both_kinds_of_controller() -> None:
    of_each = {number: {each.kraft for each in releases() if each.number == number} for number in PUBLISHED}
    assert {number for number, kinds in of_each.items() if kinds == {False, True}} == {
        number for number in PUBLISHED if number.startswith("3.")
    }
    assert of_each["2.8.2"] == {False}
    assert of_each["4.0.0"] == {True}


@pytest.mark.parametrize(
    ("name", "number", "kraft", "spec"),
    [
        ("2.8.0", "2.8.0", False, "kafka/2.8"),
        ("kafka/2.8", "2.8.0", False, "kafka/2.8"),
        ("0.11", "0.11.0.0", False, "kafka/0.11"),
        ("3.2.0", "3.2.0", False, "kafka/3.1"),
        ("3.2.0-kraft", "3.2.0", True, "kafka/3.2-kraft"),
        ("3.6.2-zk", "3.6.2", False, "kafka/3.6-zk"),
        ("kafka/3.9", "3.9.0", True, "kafka/3.9"),
        ("4.4.0", "4.4.0", True, "kafka/4.3"),
    ],
)
def test_a_release_is_found_by_version_or_spec(name: str, number: str, kraft: bool, spec: str) -> None:
    release = broker_release(name)
    assert (release.number, release.kraft, release.spec) == (number, kraft, spec)


@pytest.mark.parametrize("name", ["4.5", "3.6.9", "2.8.0-kraft", "kafka/3.7+elr=on", "rpc/kip-101", ""])
def test_what_is_not_a_release_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(BrokerError, match="unknown Kafka release") as caught:
        broker_release(name)
    assert "\n" not in str(caught.value)


def test_a_mix_names_two_releases_of_which_the_second_is_newer() -> None:
    mix = mixed_release("2.7.1..2.8.1")
    assert mix.newer is not None
    assert (mix.name, mix.number, mix.newer.number, mix.spec) == ("2.7.1..2.8.1", "2.7.1", "2.8.1", "kafka/2.7..2.8.1")
    assert mixed_release("2.7.1") == broker_release("2.7.1")


def test_upgrades_can_follow_each_other() -> None:
    chain = mixed_release("2.4.1..2.8.2..3.9.1-zk")
    assert chain.newer == mixed_release("2.8.2..3.9.1-zk")
    assert (chain.number, chain.newest.number, chain.spec) == ("2.4.1", "3.9.1", "kafka/2.4..2.8.1..3.9-zk")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("2.7.1..", "unknown Kafka release ''"),
        ("2.8.1..2.7.1", "give the older release first"),
        ("2.7.1..2.7.0", "give the older release first"),
        ("2.8.1..4.1.1", "which is a migration"),
        ("2.4.1..2.8.2..2.8.1", "give the older release first"),
        ("2.4.1..2.8.2..3.9.1", "which is a migration"),
    ],
)
def test_what_is_no_upgrade_is_refused(name: str, reason: str) -> None:
    with pytest.raises(LeadlineError, match=reason):
        mixed_release(name)


@pytest.mark.parametrize(("name", "level"), [("0.10.2.2", "0.10.2"), ("0.11.0.3", "0.11.0"), ("2.7.1", "2.7")])
def test_a_level_has_the_numbers_of_a_minor_release(name: str, level: str) -> None:
    assert broker_release(name).level == level


def test_artifacts_and_java_of_the_oldest_and_the_newest() -> None:
    oldest, newest = broker_release("0.10.2.2"), broker_release("4.4.0")
    assert oldest.artifact == "org.apache.kafka:kafka_2.12:0.10.2.2"
    assert newest.artifact == "org.apache.kafka:kafka_2.13:4.4.0"
    assert 11 in oldest.java
    assert 11 not in newest.java
    assert any("zookeeper" in other for other in broker_release("2.3.1").others)
    assert not any("zookeeper" in other for other in broker_release("2.4.1").others)
