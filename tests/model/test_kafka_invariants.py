"""The properties of the `kafka` family on hand-written states: accepted states, and sentences for others."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from leadline.checker import Property, Verdict
from leadline.checker.engines.compiled import explore
from leadline.invariants import (
    candidates,
    deletion,
    durability,
    followers,
    leadership,
    logs,
    promises,
    watermarks,
    witnesses,
)
from leadline.invariants.catalog import CATALOG
from leadline.invariants.families.kafka import PROPERTIES as KAFKA_PROPERTIES
from leadline.model.kafka.bounds import Spent
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.messages import EpochRequest, EpochResponse, Failed, OffsetOutOfRange, Proposal
from leadline.model.kafka.state import Partition
from leadline.model.log import Log, empty_from
from tests.model.kafka_states import OF_RELEASE, ROOMY, down, follows, leads, partition, told
from tests.suite.samples import sampled

RPC = [name for name in CATALOG if name.startswith("rpc/")]
READ = [told("m0@0", 0, epoch=0)]
PROMISED: dict[str, Any] = {"acked": READ, "bounds": attrs.evolve(ROOMY, acks="all")}
DELETING = attrs.evolve(ROOMY, deletes=1)
STARTED = empty_from(1)


def with_log(replica: Replica, log: Log, **fields: Any) -> Replica:
    return attrs.evolve(replica, log=log, **fields)


ACCEPTED: list[tuple[str, Property, Partition]] = [
    ("the leader has it", promises.committed_never_lost, partition(leads(0, "m0@0 ┃"), exposed=READ)),
    ("a later leader has it", promises.committed_never_lost, partition(leads(0, "┃ m0@0", epoch=1), exposed=READ)),
    ("who lacks it only follows", promises.committed_never_lost, partition(follows(1, "┃", epoch=1), exposed=READ)),
    ("who lacks it is down", promises.committed_never_lost, partition(down("┃"), exposed=READ)),
    (
        "who lacks it led before",
        promises.committed_never_lost,
        partition(leads(0, "┃", epoch=1), exposed=[told("m0@0", 0, epoch=2)]),
    ),
    (
        "who lacks it leads in the same epoch, not in a later one",
        promises.committed_never_lost,
        partition(leads(0, "┃"), exposed=READ),
    ),
    ("it is deleted", promises.committed_never_lost, partition(leads(0, "┃", epoch=1), exposed=READ, deletable=1)),
    (
        "it is deleted",
        candidates.leader_candidates_complete,
        partition(leads(0, "┃", epoch=1), follows(0, "┃"), exposed=READ, deletable=1),
    ),
    ("acknowledged, not readable", promises.committed_never_lost, partition(leads(0, "┃", epoch=1), acked=READ)),
    ("a later leader has it", promises.acked_never_lost, partition(leads(0, "┃ m0@0", epoch=1), acked=READ)),
    ("readable, not acknowledged", promises.acked_never_lost, partition(leads(0, "┃", epoch=1), exposed=READ)),
    ("a later leader has it", promises.durable_as_promised, partition(leads(0, "m0@0 ┃", epoch=1), **PROMISED)),
    (
        "more brokers have lost their log than is promised",
        promises.durable_as_promised,
        partition(leads(0, "┃", epoch=1), spent=Spent(lossy_crashes=1), **PROMISED),
    ),
    ("it tells of it", promises.reads_not_taken_back, partition(leads(0, "m0@0 ┃", epoch=1), exposed=READ)),
    (
        "it does not tell before its epoch's start",
        promises.reads_not_taken_back,
        partition(leads(0, "┃ m0@0", epoch=1), exposed=READ, protocol=OF_RELEASE["kafka/2.2"]),
    ),
    ("no reads from followers", followers.follower_reads, partition(leads(0, "┃ m0@0"), follows(0, "m0@0 ┃"))),
    (
        "what could be read",
        followers.follower_reads,
        partition(leads(0, "┃ m0@0"), follows(0, "m0@0 ┃"), exposed=READ, protocol=OF_RELEASE["kafka/2.4"]),
    ),
    (
        "what a leader shows now",
        followers.follower_reads,
        partition(leads(0, "m1@1 ┃"), follows(0, "m1@1 ┃"), exposed=READ, protocol=OF_RELEASE["kafka/2.4"]),
    ),
    (
        "who is down may lack it",
        candidates.leader_candidates_complete,
        partition(leads(0, "m0@0 ┃"), down("┃"), exposed=READ),
    ),
    (
        "an expansion is waited for",
        candidates.quorum_in_maximal_isr,
        partition(attrs.evolve(leads(0, "┃", isr=[0]), proposal=Proposal(frozenset({0, 1}), frozenset({0})))),
    ),
    ("a zombie may not know", candidates.quorum_in_maximal_isr, partition(leads(0, "┃", isr=[0]), leader=0, epoch=1)),
    ("replicas", candidates.isr_within_replicas, partition(leads(0, "┃"), follows(0, "┃"))),
    (
        "only the members of the ISR that were killed had deleted it",
        deletion.deleted_not_read_again,
        partition(leads(0, "m0@0 ┃", isr=[0]), with_log(follows(0, "┃"), STARTED), isr=[0], deleted=1),
    ),
    (
        "a leader of an empty log",
        deletion.leader_hw_from_start,
        partition(with_log(leads(0, "┃"), STARTED, high_watermark=1), follows(0, "┃"), bounds=DELETING),
    ),
    ("a follower that fetches", deletion.followers_go_on, partition(leads(0, "┃"), follows(0, "┃"), bounds=DELETING)),
    ("apart", candidates.isr_and_elr_disjoint, partition(leads(0, "┃"), down("┃"), isr=[0], elr=[1])),
    ("the last one", candidates.isr_members_active, partition(leads(0, "┃"), isr=[0], fenced=[0])),
    ("out of the ISR", candidates.isr_members_active, partition(leads(0, "┃"), follows(0, "┃"), isr=[0], fenced=[1])),
    ("followers may lack what is not committed", durability.weak_isr, partition(leads(0, "┃ m0@0"), follows(0, "┃"))),
    ("the ISR has it", durability.strong_isr, partition(leads(0, "m0@0 ┃"), follows(0, "┃ m0@0"))),
    ("a broker that is down has it", durability.strong_isr, partition(leads(0, "m0@0 ┃"), down("┃ m0@0"))),
    ("at the log end", watermarks.hw_within_log, partition(leads(0, "m0@0 ┃"))),
    ("the same record", logs.logs_prefix_consistent, partition(leads(0, "m0@0 ┃"), follows(0, "m0@0 ┃"))),
    (
        "a prefix of the leader's log",
        logs.follower_log_is_prefix,
        partition(leads(0, "┃ m0@0 m1@0"), follows(0, "┃ m0@0"), follows(0, "┃")),
    ),
    (
        "the question where to truncate is on its way",
        logs.follower_log_is_prefix,
        partition(leads(0, "┃", epoch=1), follows(0, "┃ m0@0", epoch=1, in_flight=EpochRequest(0, 1, 0))),
    ),
    (
        "the answer where to truncate is on its way",
        logs.follower_log_is_prefix,
        partition(leads(0, "┃", epoch=1), follows(0, "┃ m0@0", epoch=1, in_flight=EpochResponse(0, 0))),
    ),
    ("another epoch", logs.follower_log_is_prefix, partition(leads(0, "┃", epoch=1), follows(0, "┃ m0@0"))),
    ("the leader is down", logs.follower_log_is_prefix, partition(down("┃"), follows(0, "┃ m0@0"))),
    (
        "above a high watermark",
        logs.logs_prefix_consistent,
        partition(leads(0, "m1@1 ┃", epoch=1), follows(0, "┃ m0@0", epoch=1)),
    ),
    (
        "the question where to truncate is on its way",
        logs.logs_prefix_consistent,
        partition(leads(0, "m1@1 ┃", epoch=1), follows(0, "m0@0 ┃", epoch=1, in_flight=EpochRequest(0, 1, 0))),
    ),
    (
        "the answer where to truncate is on its way",
        logs.logs_prefix_consistent,
        partition(leads(0, "m1@1 ┃", epoch=1), follows(0, "m0@0 ┃", epoch=1, in_flight=EpochResponse(0, 0))),
    ),
    ("another epoch", logs.logs_prefix_consistent, partition(leads(0, "m1@1 ┃", epoch=1), follows(0, "m0@0 ┃"))),
    ("both are down", logs.logs_prefix_consistent, partition(down("m0@0 ┃"), down("m1@1 ┃"))),
    ("other epochs", logs.log_matching, partition(leads(0, "m1@1 ┃", epoch=1), follows(0, "m0@0 ┃"))),
    ("epochs go up", logs.epochs_monotonic_in_log, partition(leads(0, "┃ m0@0 m1@1 m2@1"))),
    ("the leader is a member", leadership.leader_in_isr, partition(leads(0, "┃", isr=[0]), isr=[0])),
    ("there is no leader", leadership.leader_in_isr, partition(down("┃"), leader=None, isr=[1])),
    ("another epoch", leadership.one_leader_per_epoch, partition(leads(0, "┃"), leads(1, "┃", epoch=1))),
    ("behind", followers.remote_leo_not_ahead, partition(leads(0, "┃ m0@0", remote=[-1, 0]), follows(0, "┃ m0@0"))),
    ("equal", followers.remote_leo_not_ahead, partition(leads(0, "m0@0 ┃", remote=[-1, 1]), follows(0, "┃ m0@0"))),
    (
        "the follower is in another epoch",
        followers.remote_leo_not_ahead,
        partition(leads(0, "m0@0 ┃", remote=[-1, 1]), follows(0, "┃", epoch=1)),
    ),
    (
        "it follows another broker",
        followers.remote_leo_not_ahead,
        partition(leads(0, "m0@0 ┃", remote=[-1, 1]), follows(2, "┃")),
    ),
    (
        "the follower is down",
        followers.remote_leo_not_ahead,
        partition(leads(0, "m0@0 ┃", remote=[-1, 1]), down("┃")),
    ),
]

REFUSED: list[tuple[str, Property, Partition, str]] = [
    (
        "a later leader has no record there",
        promises.committed_never_lost,
        partition(leads(0, "m0@0 ┃"), leads(1, "┃", epoch=1), exposed=READ),
        "m0@0 at offset 0 could be read from the leader of epoch 0; "
        "broker 1, which leads in epoch 1, has no record there",
    ),
    (
        "a later leader has another record",
        promises.committed_never_lost,
        partition(leads(0, "┃ m1@1", epoch=1), exposed=READ),
        "m0@0 at offset 0 could be read from the leader of epoch 0; broker 0, which leads in epoch 1, has m1@1 there",
    ),
    (
        "a later leader has it elsewhere",
        promises.committed_never_lost,
        partition(leads(0, "┃ m1@0 m0@0", epoch=1), exposed=READ),
        "m0@0 at offset 0 could be read from the leader of epoch 0; broker 0, which leads in epoch 1, has m1@0 there",
    ),
    (
        "a later leader has no record there",
        promises.acked_never_lost,
        partition(leads(0, "┃", epoch=2), acked=READ),
        "m0@0 at offset 0 was acknowledged by the leader of epoch 0; "
        "broker 0, which leads in epoch 2, has no record there",
    ),
    (
        "a later leader has no record there",
        promises.durable_as_promised,
        partition(leads(0, "┃", epoch=1), **PROMISED),
        "m0@0 at offset 0 was acknowledged by the leader of epoch 0; "
        "broker 0, which leads in epoch 1, has no record there",
    ),
    (
        "it tells of less",
        promises.reads_not_taken_back,
        partition(leads(0, "┃ m0@0", epoch=1), exposed=READ),
        "m0@0 could be read at offset 0 in epoch 0; broker 0, which leads in epoch 1, says the log ends at 0",
    ),
    (
        "what nobody has shown",
        followers.follower_reads,
        partition(leads(0, "┃ m1@1"), follows(0, "m0@0 ┃"), protocol=OF_RELEASE["kafka/2.4"]),
        "broker 1 lets consumers read m0@0 at offset 0; leaders have shown nothing there",
    ),
    (
        "a member of the ELR lacks it",
        candidates.leader_candidates_complete,
        partition(leads(0, "m0@0 ┃"), follows(0, "┃"), isr=[0], elr=[1], exposed=READ),
        "broker 1 is in the ELR and has no record at offset 0, where m0@0 could be read",
    ),
    (
        "the leader knows of fewer",
        candidates.quorum_in_maximal_isr,
        partition(leads(0, "┃", isr=[0]), follows(0, "┃")),
        "the controller would elect 0 1, but broker 0 waits only for 0",
    ),
    ("a stranger", candidates.isr_within_replicas, partition(leads(0, "┃"), isr=[0, 7]), ""),
    (
        "a member of the ISR has deleted it",
        deletion.deleted_not_read_again,
        partition(leads(0, "m0@0 ┃"), with_log(follows(0, "┃"), STARTED), deleted=1),
        "the records below offset 1 are deleted, as a leader has answered; broker 0 leads with a log that starts at 0 "
        "and has m0@0 there",
    ),
    (
        "a leader that has removed its whole log",
        deletion.leader_hw_from_start,
        partition(with_log(leads(0, "┃"), STARTED), follows(0, "┃"), bounds=DELETING),
        "broker 0 leads with high watermark 0, but its log starts at 1",
    ),
    (
        "a failed follower",
        deletion.followers_go_on,
        partition(leads(0, "┃"), follows(0, "┃", in_flight=Failed()), bounds=DELETING),
        "broker 1 has stopped fetching from broker 0",
    ),
    ("in both", candidates.isr_and_elr_disjoint, partition(leads(0, "┃"), isr=[0, 1], elr=[1]), ""),
    (
        "a fenced member",
        candidates.isr_members_active,
        partition(leads(0, "┃"), follows(0, "┃"), fenced=[1]),
        "broker 1 is in the ISR, but it is fenced",
    ),
    (
        "a member is down and lacks it",
        durability.weak_isr,
        partition(leads(0, "m0@0 ┃"), down("┃")),
        "offset 0 is below the high watermark 1 of broker 0, which has m0@0 there; "
        "broker 1 of broker 0's own ISR has no record there",
    ),
    (
        "a member of the quorum's ISR lacks it",
        durability.strong_isr,
        partition(leads(0, "m0@0 ┃", isr=[0]), follows(0, "┃")),
        "offset 0 is below the high watermark 1 of broker 0, which has m0@0 there; "
        "broker 1 of the quorum's ISR has no record there",
    ),
    (
        "beyond the log end",
        watermarks.hw_within_log,
        partition(leads(0, "┃"), follows(0, "m0@0", high_watermark=2)),
        "broker 1 has high watermark 2, but its log ends at 1",
    ),
    (
        "the follower is longer, and it fetches",
        logs.follower_log_is_prefix,
        partition(leads(0, "m0@0 ┃"), follows(0, "m0@0 ┃ m1@0 m2@0")),
        "broker 1 follows broker 0 in epoch 0, and has m1@0 at offset 1; the leader has no record there",
    ),
    (
        "different records below both high watermarks",
        logs.logs_prefix_consistent,
        partition(leads(0, "m0@0 m2@1 ┃", epoch=1), follows(0, "m0@0 m1@0 ┃", epoch=1)),
        "at offset 1, below both high watermarks, broker 0 has m2@1 and broker 1 has m1@0",
    ),
    (
        "different records of one epoch",
        logs.log_matching,
        partition(leads(0, "┃ m0@0"), follows(0, "┃ m1@0")),
        "brokers 0 and 1 both have a record of epoch 0 at offset 0, but at offset 0 m0@0 and m1@0",
    ),
    (
        "epochs go down",
        logs.epochs_monotonic_in_log,
        partition(follows(1, "m0@2 ┃ m1@1", epoch=2)),
        "broker 0 has m1@1 after m0@2",
    ),
    (
        "the leader is no member",
        leadership.leader_in_isr,
        partition(leads(0, "┃"), isr=[1]),
        "the quorum's leader is broker 0, the quorum's ISR holds broker 1",
    ),
    (
        "two in one epoch",
        leadership.one_leader_per_epoch,
        partition(leads(0, "┃", epoch=1), leads(1, "┃", epoch=1)),
        "brokers 0 and 1 both lead in epoch 1",
    ),
    (
        "ahead",
        followers.remote_leo_not_ahead,
        partition(leads(0, "m0@0 ┃", remote=[-1, 1]), follows(0, "┃")),
        "broker 0 assumes that broker 1's log end offset is 1, but it is 0",
    ),
]

STEPS_ACCEPTED: list[tuple[str, Property, Partition, Partition]] = [
    ("up", watermarks.hw_monotonic, partition(leads(0, "┃ m0@0")), partition(leads(0, "m0@0 ┃"))),
    ("in a later epoch", watermarks.hw_monotonic, partition(leads(0, "m0@0 ┃")), partition(leads(0, "┃", epoch=1))),
    ("of a follower", watermarks.hw_monotonic, partition(follows(1, "m0@0 ┃")), partition(follows(1, "┃ m0@0"))),
    (
        "the same record",
        promises.reads_monotonic,
        partition(exposed=READ),
        partition(leads(0, "m0@0 ┃", epoch=1), exposed=READ),
    ),
    (
        "not readable yet",
        promises.reads_monotonic,
        partition(exposed=READ),
        partition(leads(0, "┃ m1@1", epoch=1), exposed=READ),
    ),
]

STEPS_ACCEPTED += [
    (
        "who is alive",
        leadership.leaders_elected_alive,
        partition(down("┃"), follows(0, "┃"), leader=None),
        partition(down("┃"), follows(0, "┃"), leader=1, epoch=1),
    ),
    (
        "the same leader",
        leadership.leaders_elected_alive,
        partition(leads(0, "┃"), follows(0, "┃"), fenced=[0]),
        partition(leads(0, "┃"), follows(0, "┃"), fenced=[0], epoch=1),
    ),
    (
        "with all",
        candidates.isr_joined_with_all,
        partition(leads(0, "m0@0 ┃ m1@0"), follows(0, "┃ m0@0"), isr=[0]),
        partition(leads(0, "m0@0 ┃ m1@0"), follows(0, "┃ m0@0"), isr=[0, 1]),
    ),
    (
        "who is down",
        candidates.isr_joined_with_all,
        partition(leads(0, "m0@0 ┃"), down("┃"), isr=[0]),
        partition(leads(0, "m0@0 ┃"), down("┃"), isr=[0, 1]),
    ),
    (
        "who crashes",
        followers.brokers_keep_running,
        partition(leads(0, "m0@0 ┃"), follows(0, "m0@0 ┃ m1@0", in_flight=OffsetOutOfRange(1))),
        partition(leads(0, "m0@0 ┃"), down("m0@0 ┃ m1@0"), spent=Spent(crashes=1)),
    ),
    (
        "who truncates",
        followers.brokers_keep_running,
        partition(leads(0, "m0@0 ┃"), follows(0, "m0@0 ┃ m1@0", in_flight=OffsetOutOfRange(1))),
        partition(leads(0, "m0@0 ┃"), follows(0, "m0@0 ┃")),
    ),
]

STEPS_REFUSED: list[tuple[str, Property, Partition, Partition, str]] = [
    (
        "down",
        watermarks.hw_monotonic,
        partition(leads(0, "m0@0 ┃")),
        partition(leads(0, "┃ m0@0")),
        "broker 0, leading in epoch 0, moved its high watermark from 1 back to 0",
    ),
    (
        "another record",
        promises.reads_monotonic,
        partition(exposed=READ),
        partition(leads(1, "m1@1 ┃", epoch=1), leads(1, "m1@1 ┃", epoch=1), exposed=READ),
        "m0@0 could be read at offset 0; now broker 1 has m1@1 there",
    ),
]

STEPS_REFUSED += [
    (
        "who is fenced",
        leadership.leaders_elected_alive,
        partition(down("┃"), follows(0, "┃"), leader=None),
        partition(down("┃"), follows(0, "┃"), leader=1, epoch=1, fenced=[1]),
        "broker 1 is elected in epoch 1, but the controller does not consider it alive",
    ),
    (
        "with nothing",
        candidates.isr_joined_with_all,
        partition(leads(0, "m0@0 ┃"), follows(0, "┃"), isr=[0]),
        partition(leads(0, "m0@0 ┃"), follows(0, "┃"), isr=[0, 1]),
        "broker 1 joins the ISR and has no record at offset 0, where its leader has m0@0, below its high watermark",
    ),
    (
        "who exits",
        followers.brokers_keep_running,
        partition(leads(0, "m0@0 ┃"), follows(0, "m0@0 ┃ m1@0", in_flight=OffsetOutOfRange(1))),
        partition(leads(0, "m0@0 ┃"), down("m0@0 ┃ m1@0")),
        "broker 1 exits: its log ends at 2, and that of its leader at 1",
    ),
]


def ids(rows: list[Any]) -> list[str]:
    return [f"{row[1].name}: {row[0]}" for row in rows]


@pytest.mark.parametrize(("item", "state"), [row[1:] for row in ACCEPTED], ids=ids(ACCEPTED))
def test_accepts(item: Property, state: Partition) -> None:
    assert item.complaint(state) is None


@pytest.mark.parametrize(("item", "state", "complaint"), [row[1:] for row in REFUSED], ids=ids(REFUSED))
def test_refuses(item: Property, state: Partition, complaint: str) -> None:
    assert item.complaint(state) == complaint


@pytest.mark.parametrize(("item", "before", "after"), [row[1:] for row in STEPS_ACCEPTED], ids=ids(STEPS_ACCEPTED))
def test_accepts_step(item: Property, before: Partition, after: Partition) -> None:
    assert item.complaint(before, after) is None


@pytest.mark.parametrize(
    ("item", "before", "after", "text"), [row[1:] for row in STEPS_REFUSED], ids=ids(STEPS_REFUSED)
)
def test_refuses_step(item: Property, before: Partition, after: Partition, text: str) -> None:
    assert item.complaint(before, after) == text


def test_every_property_accepts_and_refuses_something() -> None:
    checked = {item.name for item in KAFKA_PROPERTIES if not item.kind.is_witness}
    accepted = {row[1].name for row in ACCEPTED} | {row[1].name for row in STEPS_ACCEPTED}
    refused = {row[1].name for row in REFUSED} | {row[1].name for row in STEPS_REFUSED}
    assert accepted == refused == checked


def test_witnesses_on_states_made_by_hand() -> None:
    assert witnesses.record_committed(partition(leads(0, "m0@0 ┃")))
    assert not witnesses.record_committed(partition(leads(0, "┃ m0@0"), follows(0, "m0@0 ┃")))
    assert witnesses.leadership_moves(partition(follows(1, "┃", epoch=1), leads(1, "┃", epoch=1)))
    assert not witnesses.leadership_moves(partition(leads(0, "┃", epoch=1), follows(0, "┃", epoch=1)))
    longer, shorter = partition(follows(1, "┃ m0@0")), partition(follows(1, "┃"))
    assert witnesses.log_truncated(longer, shorter)
    assert not witnesses.log_truncated(shorter, longer)
    alone, both = partition(leads(0, "┃"), isr=[0]), partition(leads(0, "┃"), isr=[0, 1])
    assert witnesses.broker_rejoins_isr(alone, both)
    assert not witnesses.broker_rejoins_isr(both, alone)


WITNESSES = [item.name for item in KAFKA_PROPERTIES if item.kind.is_witness]


@pytest.mark.parametrize("name", sampled(RPC, 3))
def test_every_witness_is_reached_in_every_protocol(name: str) -> None:
    result = explore(CATALOG[name].with_properties(WITNESSES))
    assert [item.verdict for item in result.properties] == [Verdict.HOLDS] * 4


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("record_committed", {"records": 0}),
        ("leadership_moves", {"max_epoch": 0}),
        ("log_truncated", {"records": 0}),
        ("broker_rejoins_isr", {"brokers": 1}),
    ],
)
@pytest.mark.parametrize("spec", sampled(RPC, 3))
def test_witness_is_not_reached_where_the_bounds_forbid_it(spec: str, name: str, bounds: dict[str, int]) -> None:
    result = explore(CATALOG[spec].with_bounds(bounds).with_properties([name]))
    assert result.of(name).verdict is Verdict.VIOLATED


def test_every_property_says_where_it_comes_from() -> None:
    assert [item.name for item in KAFKA_PROPERTIES if not item.source and not item.kind.is_witness] == []
