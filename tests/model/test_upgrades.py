"""Known bugs in mixes of two releases: which party has to run the fixed release, and which bug needs the level."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from leadline.checker.engines import explore
from leadline.checker.result import Limits, Verdict
from leadline.invariants.catalog import find

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


def test_a_committed_record_is_lost_in_a_mix_of_releases_that_lose_none() -> None:
    assert verdict("kafka/2.7", DIVERGE, "committed_never_lost") is Verdict.HOLDS
    assert verdict("kafka/2.8.1", DIVERGE, "committed_never_lost") is Verdict.HOLDS
    mixed = verdict("kafka/2.7..2.8.1", {**DIVERGE, **FIRST_LEADER}, "committed_never_lost")
    assert mixed is Verdict.VIOLATED
