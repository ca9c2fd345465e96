"""Known bugs in mixes of two releases: which party has to run the fixed release, and which bug needs the level."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import cast

import attrs
import pytest

from leadline.checker.engines import explore
from leadline.checker.result import Limits, Verdict
from leadline.invariants.catalog import find
from leadline.model.kafka.mixes import mix_of
from leadline.model.kafka.releases import KRAFT, RELEASES, ZOOKEEPER
from leadline.reports.matrix import SHIPPED, Configuration, Matrix, read_matrix, releases_of_mix
from leadline.reports.toml_files import Values
from tests.suite.samples import sampled

OLD = {"upgraded": "", "controller": "old"}
FOLLOWER = {"upgraded": "1", "controller": "old"}
FIRST_LEADER = {"upgraded": "0", "controller": "old"}
CONTROLLER = {"upgraded": "", "controller": "new"}
BROKERS = {"upgraded": "0-1", "controller": "old"}
ALL = {"upgraded": "0-1", "controller": "new"}
RAISED = {**ALL, "level": "new"}

ACKS = {"acks": "all"}
NO_SHRINKS = {**ACKS, "isr_shrinks": 0}
LATE = {**NO_SHRINKS, "max_epoch": 1, "crashes": 0, "lossy_crashes": 1, "late_requests": 1, "missed_bounces": 0}
RESTART = {**ACKS, "records": 1, "max_epoch": 1, "crashes": 2, "missed_bounces": 1, "unclean_leader_election": False}
DIVERGE = {**NO_SHRINKS, "max_epoch": 2, "crashes": 1}
READS = {**NO_SHRINKS, "records": 1, "max_epoch": 2, "crashes": 1, "missed_bounces": 0}
READ_FOLLOWERS = {**DIVERGE, "missed_bounces": 0}
SHUT_DOWN = {**ACKS, "records": 1, "max_epoch": 1, "crashes": 0, "shutdowns": 1, "isr_shrinks": 1}
JOIN = {**ACKS, "records": 1, "max_epoch": 1, "crashes": 0, "lossy_crashes": 1, "missed_bounces": 0}
LAST_KNOWN = {**ACKS, "min_insync_replicas": 2, "records": 1, "max_epoch": 2, "crashes": 3}


def verdict(name: str, bounds: Mapping[str, object], prop: str) -> Verdict:
    spec = find(name)
    assert spec is not None
    return explore(spec.with_bounds(bounds).with_properties([prop]), Limits()).verdict


@pytest.mark.parametrize(
    ("mix", "prop", "bounds", "violated", "holds"),
    [
        # KAFKA-1211, KIP-101: followers ask for epochs from inter.broker.protocol.version 0.11 on
        ("kafka/0.10.2..0.11", "committed_never_lost", RESTART, [OLD, FIRST_LEADER, FOLLOWER, ALL], [RAISED]),
        # KAFKA-7235: brokers of 2.2 check broker epochs, which controllers send from level 2.2 on
        ("kafka/2.1..2.2", "log_matching", LATE, [OLD, CONTROLLER, BROKERS, ALL], [RAISED]),
        # KAFKA-2334: the leader answers ListOffsets
        ("kafka/2.1..2.2", "reads_not_taken_back", READS, [OLD, FOLLOWER, CONTROLLER], [BROKERS, RAISED]),
        # KAFKA-13141 in a mix: leaders of 2.7 count what only followers since 2.8 send
        ("kafka/2.7..2.8.1", "committed_never_lost", DIVERGE, [FIRST_LEADER], [FOLLOWER, BROKERS]),
        ("kafka/2.7..3.9-zk", "committed_never_lost", DIVERGE, [FIRST_LEADER], []),
        ("kafka/2.7.2..2.8.1", "committed_never_lost", DIVERGE, [], [FIRST_LEADER]),
        # KAFKA-14704: the follower takes the high watermark of a diverging response
        ("kafka/3.3..3.4.1", "follower_reads", READ_FOLLOWERS, [OLD, FOLLOWER, CONTROLLER], [BROKERS]),
        # KAFKA-14140: the controller refuses brokers that shut down
        ("kafka/3.1..3.3-zk", "isr_members_active", SHUT_DOWN, [OLD, BROKERS], [CONTROLLER]),
        # KAFKA-14617: fetch requests name broker epochs from metadata.version 3.5 on
        ("kafka/3.4.1..3.5", "isr_joined_with_all", JOIN, [OLD, CONTROLLER, BROKERS, ALL], [RAISED]),
        # KAFKA-19522: the controller elects
        ("kafka/4.0+elr=on-unchecked..4.1", "leaders_elected_alive", LAST_KNOWN, [BROKERS], [CONTROLLER]),
    ],
)
def test_a_known_bug_ends_with_the_party_that_decides(
    mix: str,
    prop: str,
    bounds: dict[str, object],
    violated: list[dict[str, object]],
    holds: list[dict[str, object]],
) -> None:
    for placement in violated:
        assert verdict(mix, {**bounds, **placement}, prop) is Verdict.VIOLATED, placement
    for placement in holds:
        assert verdict(mix, {**bounds, **placement}, prop) is Verdict.HOLDS, placement


def violated(name: str, bounds: Mapping[str, object]) -> set[str]:
    spec = find(name)
    assert spec is not None
    result = explore(spec.with_bounds(bounds), Limits(keep_going=True))
    assert result.exhausted
    return {each.property.name for each in result.properties if each.verdict is Verdict.VIOLATED}


def worse_than_both(mix: str, bounds: Mapping[str, object], placement: Mapping[str, object]) -> set[str]:
    """The properties that a mix violates, and neither of its releases within the same bounds."""
    pair = mix_of(mix)
    own = {**attrs.asdict(pair.old.bounds), **bounds}
    return violated(mix, {**own, **placement}) - violated(pair.old.name, own) - violated(pair.new.name, own)


PAIRS = read_matrix(SHIPPED.with_name("upgrades.toml")).specs
"""All neighbouring releases, and upgrades over several."""


@pytest.mark.parametrize("mix", sampled([name for name in PAIRS if not name.startswith("kafka/2.7..")], 9))
def test_a_mix_is_no_worse_than_both_of_its_releases(mix: str) -> None:
    for placement in (FOLLOWER, FIRST_LEADER):
        assert worse_than_both(mix, {**READS, "unclean_leader_election": False}, placement) == set()


def test_the_pairs_are_all_neighbouring_releases_and_upgrades_over_several() -> None:
    for line in (ZOOKEEPER, KRAFT):
        columns = [each for each in RELEASES if each.controller == line and each.name != "kafka/3.2-kraft"]
        neighbours = [f"{old.name}..{new.short_name}" for old, new in itertools.pairwise(columns)]
        assert [name for name in neighbours if name not in PAIRS] == []
    assert len(PAIRS) == 28 + 11


def test_a_matrix_says_which_releases_of_a_mix_violate_a_property_too() -> None:
    bounds = cast(Values, {**DIVERGE, **FIRST_LEADER})
    matrix = Matrix(
        specs=["kafka/2.7..2.8.1", "kafka/2.7.2..2.8.1"],
        configurations=[Configuration(name="mixed", bounds=bounds)],
        properties=["committed_never_lost", "follower_reads"],
    )
    worse, better = matrix.columns()
    assert worse.cells["committed_never_lost"].text == "violated (12), only in the mix"
    assert worse.cells["follower_reads"].text.endswith(", 2.8.1 too")
    assert better.cells["committed_never_lost"].verdict is Verdict.HOLDS


def test_a_spec_that_is_no_mix_is_compared_with_nothing() -> None:
    spec = find("kafka/2.7")
    assert spec is not None
    assert releases_of_mix(spec) == []


def test_a_committed_record_is_lost_in_a_mix_of_releases_that_lose_none() -> None:
    assert verdict("kafka/2.7", DIVERGE, "committed_never_lost") is Verdict.HOLDS
    assert verdict("kafka/2.8.1", DIVERGE, "committed_never_lost") is Verdict.HOLDS
    mixed = verdict("kafka/2.7..2.8.1", {**DIVERGE, **FIRST_LEADER}, "committed_never_lost")
    assert mixed is Verdict.VIOLATED
