"""The findings of an audit: violations by property, explained findings as notes, undecided ones as incomplete."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import pytest

from leadline.checker import LeadlineError
from leadline.checker.result import Verdict
from leadline.invariants.audit.cluster import audit, compare
from leadline.invariants.audit.releases import ReleaseRange
from leadline.invariants.audit.result import AuditResult
from leadline.model.disk.files import Entry, LocalFiles, Unreadable
from leadline.model.kafka.releases import KRAFT, RELEASES
from leadline.reports.kafka.audit import counterexamples
from leadline.reports.kafka.audit.counterexamples import with_counterexamples
from leadline.reports.kafka.audit.document import verdict_sentence
from tests.disks.clusters import TOPIC_ID, SmallCluster, checks, notes, short_archive, small_cluster, standard_batches
from tests.disks.data_directories import (
    Batch,
    Disk,
    Log,
    Metadata,
    batch,
    broker_change_record,
    cleaned,
    config_record,
    feature_level_record,
    marker,
    partition_change_record,
    partition_record,
    register_broker_record,
    remove_topic_record,
    topic_record,
)


def test_a_cluster_that_stopped_cleanly_holds(tmp_path: Path) -> None:
    result = small_cluster(tmp_path).audited()
    assert (result.verdict, result.findings, result.reasons) == (Verdict.HOLDS, (), ())
    assert (result.brokers, result.partitions, result.batches) == (3, 1, 3 * (4 + 5))


# What is wrong is found by its name.


def last_batch(log: Log, *new: Batch) -> None:
    log.segments[-1][1][-1:] = new


def test_a_record_that_the_isr_lacks(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    last_batch(cluster.log(3))
    cluster.log(3).high_watermark = cluster.log(3).recovery_point = 6
    result = cluster.audited()
    assert checks(result) == {"strong_isr", "weak_isr"}
    (finding,) = [each for each in result.errors if each.check == "strong_isr"]
    assert (finding.topic, finding.partition, finding.brokers, finding.offset) == ("topic", 0, (1, 3), 6)
    assert finding.sentence.startswith("offset 6 is below the high watermark 10 of broker 1, which has 6-9@1 (CRC ")
    assert finding.situation == (
        "the logs of brokers 1 and 3 are identical up to offset 5 (epoch 1); from offset 6, broker 1 has 1 "
        "batch of epoch 1 (offsets 6-9) and broker 3 has nothing",
        "brokers 1 and 2, in the ISR, have everything below the high watermark 10 and can be elected safely",
        "the longest log ends at 10, on brokers 1 and 2",
    )


def test_a_follower_outside_of_the_isr_may_lag(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, isr=[1, 2])
    last_batch(cluster.log(3))
    cluster.log(3).high_watermark = cluster.log(3).recovery_point = 6
    assert cluster.audited().verdict is Verdict.HOLDS


def test_an_eligible_leader_replica_may_not(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, isr=[1], elr=[3])
    last_batch(cluster.log(3))
    cluster.log(3).high_watermark = cluster.log(3).recovery_point = 6
    result = cluster.audited()
    assert checks(result) == {"strong_isr", "weak_isr"}
    assert "broker 1, in the ISR, has everything" in result.errors[0].text


def test_an_eligible_leader_replica_is_not_called_an_isr_member_and_no_broker_a_leader_where_there_is_none(
    tmp_path: Path,
) -> None:
    cluster = small_cluster(tmp_path, isr=[2], elr=[1, 3], leader=None)
    last_batch(cluster.log(2))
    cluster.log(2).high_watermark = cluster.log(2).recovery_point = 6
    result = cluster.audited()
    situation = result.errors[0].situation
    assert "the partition has no leader in leader epoch 1" in situation
    assert any(sentence.startswith("brokers 1 and 3, in the ELR, have everything") for sentence in situation)
    badges = [row.badges for row in result.tables["topic", 0].rows]
    assert badges == [("no leader", "epoch 1", each) for each in ("eligible", "in the ISR", "eligible")]


def test_who_lacks_a_record_is_said_to_be_in_the_set_that_it_is_in(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, isr=[1, 2], elr=[3])
    for broker in (2, 3):
        last_batch(cluster.log(broker))
        cluster.log(broker).high_watermark = cluster.log(broker).recovery_point = 6
    said = {each.brokers[1]: each.sentence for each in cluster.audited().errors if each.check == "strong_isr"}
    assert "; broker 2 of the quorum's ISR has no record there" in said[2]
    assert "; broker 3 of the quorum's ELR has no record there" in said[3]


def test_a_leader_in_the_elr_is_not_in_the_isr(tmp_path: Path) -> None:
    result = small_cluster(tmp_path, isr=[2], elr=[1]).audited()
    (finding,) = result.errors
    assert (finding.check, finding.sentence) == (
        "leader_in_isr",
        "the quorum's leader is broker 1, the quorum's ISR holds broker 2",
    )


def test_where_there_is_no_leader_nobody_is_said_to_lead_or_to_follow(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, isr=[2, 3], leader=None)
    for broker in (2, 3):
        last_batch(cluster.log(broker))
        cluster.log(broker).high_watermark = cluster.log(broker).recovery_point = 6
    (finding,) = cluster.audited().errors
    assert finding.check == "committed_never_lost"
    assert finding.sentence.endswith("; broker 2, which can be elected since there is no leader, has no record there")
    assert "the partition has no leader in leader epoch 1" in finding.situation


def test_where_nobody_leads_the_isr_is_asked_for_what_its_highest_watermark_promises(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, leader=None)
    assert cluster.audited().verdict is Verdict.HOLDS
    again = small_cluster(tmp_path / "again", leader=None)
    last_batch(again.log(2))
    again.log(2).high_watermark = again.log(2).recovery_point = 6
    assert "strong_isr" in checks(again.audited())


def test_an_isr_member_whose_directory_is_gone(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    del cluster.disks[2].logs["topic", 0]
    result = cluster.audited()
    assert checks(result) == {"strong_isr", "weak_isr"}
    assert [note.sentence for note in notes(result)] == [
        "broker 2 can be elected but has no directory for this partition"
    ]


def test_a_partition_that_is_in_no_directory_is_not_passed_over(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    for disk in cluster.disks.values():
        del disk.logs["topic", 0]
    result = cluster.audited()
    assert (result.verdict, checks(result)) == (Verdict.INCOMPLETE, set())
    assert result.reasons == ("no directory given has a replica of 1 partition: topic-0",)
    assert [note.brokers for note in notes(result)] == [(1,), (2,), (3,)]


def test_a_directory_that_may_be_on_another_disk_is_not_missed(tmp_path: Path) -> None:
    """Broker 2 has registered two log directories, and only one is at hand."""
    cluster = small_cluster(tmp_path)
    cluster.metadata.add(register_broker_record(2, 50, [UUID(int=102), UUID(int=202)]))
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0] = cluster.metadata.log()
    del cluster.disks[2].logs["topic", 0]
    result = cluster.audited()
    assert (result.verdict, checks(result)) == (Verdict.INCOMPLETE, set())
    assert result.reasons == ("the replicas of 1 partition on broker 2 were not given",)


def test_a_leader_that_lost_what_a_follower_knows_to_be_committed(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    last_batch(cluster.log(1))
    cluster.log(1).high_watermark = cluster.log(1).recovery_point = 6
    result = cluster.audited()
    assert checks(result) == {"committed_never_lost", "follower_log_is_prefix"}
    assert "brokers 2 and 3, in the ISR, have everything" in result.errors[0].text


@pytest.mark.parametrize("metadata", [True, False])
def test_two_logs_that_differ_below_both_high_watermarks(tmp_path: Path, metadata: bool) -> None:
    """With or without a metadata log, as before KRaft."""
    cluster = small_cluster(tmp_path, with_metadata=metadata)
    log = cluster.log(2)
    log.segments = [(0, [*standard_batches()[:2], batch(5, 1, 0), batch(6, 4, 2)])]
    result = cluster.audited()
    assert "logs_prefix_consistent" in checks(result)
    assert "log_matching" not in checks(result)
    found = [each for each in result.errors if each.check == "logs_prefix_consistent"]
    assert [(each.brokers, each.offset) for each in found] == [((1, 2), 5), ((2, 3), 5)]


def test_one_offset_and_epoch_given_twice(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, with_metadata=False, high_watermark=5)
    last_batch(cluster.log(3), batch(6, 4, 1, values=[b"other"] * 4))
    result = cluster.audited()
    assert checks(result) == {"log_matching"}
    assert [(each.brokers, each.offset) for each in result.errors] == [((1, 3), 6), ((2, 3), 6)]


def test_what_is_above_the_high_watermark_may_differ(tmp_path: Path) -> None:
    """The tail of a former leader that no other broker has, before it is truncated."""
    cluster = small_cluster(tmp_path, high_watermark=6, isr=[1, 2])
    cluster.log(3).segments = [(0, [*standard_batches()[:2], batch(5, 9, 0)])]
    cluster.log(3).high_watermark = 5
    result = cluster.audited()
    assert (result.verdict, checks(result)) == (Verdict.HOLDS, set())


def test_a_tail_that_a_follower_keeps_though_it_fetched_in_the_leaders_epoch(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, isr=[1, 2], high_watermark=6)
    last_batch(cluster.log(1))
    cluster.log(1).recovery_point = 6
    result = cluster.audited()
    assert checks(result) == {"follower_log_is_prefix"}


def test_an_epoch_that_no_controller_gave(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, isr=[1], high_watermark=6)
    last_batch(cluster.log(3), batch(6, 4, 7))
    cluster.log(3).high_watermark = 6
    assert checks(cluster.audited()) == {"epochs_given_by_controller", "follower_log_is_prefix"}


def test_an_election_that_was_not_clean_is_named_as_a_cause(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, isr=[1])
    cluster.metadata.add(partition_change_record(TOPIC_ID, 0, leader=3, isr=[3], recovering=True))
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0] = cluster.metadata.log()
    last_batch(cluster.log(3), batch(6, 1, 2))
    cluster.log(3).high_watermark = cluster.log(3).recovery_point = 7
    result = cluster.audited()
    assert "committed_never_lost" in checks(result)
    assert (
        "the controllers elected broker 3 uncleanly in leader epoch 2 (offset 6 of the metadata log): "
        "the ISR was broker 1" in result.errors[0].situation
    )


@pytest.mark.parametrize("isr", [[1], [1, 2]])
def test_an_unclean_election_is_always_told_and_what_the_only_isr_member_had_is_lost(
    tmp_path: Path, isr: list[int]
) -> None:
    """The high watermark of broker 1 on disk is older than the records that only it had."""
    cluster = small_cluster(tmp_path, isr=isr, high_watermark=6)
    cluster.metadata.add(partition_change_record(TOPIC_ID, 0, leader=3, isr=[3], recovering=True))
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0] = cluster.metadata.log()
    for broker in (2, 3):
        last_batch(cluster.log(broker), *([batch(6, 1, 2)] if broker == 3 else []))
        cluster.log(broker).recovery_point = 6
    result = cluster.audited()
    told = "the controllers elected broker 3 uncleanly in leader epoch 2 (offset 6 of the metadata log): the ISR was "
    if isr == [1]:
        (finding,) = result.errors
        assert (finding.check, finding.offset) == ("committed_never_lost", 6)
        assert "broker 1, the only member of the ISR before the unclean election of leader epoch 2" in finding.sentence
        assert any(sentence.startswith(told) for sentence in finding.situation)
    else:
        assert (result.verdict, checks(result)) == (Verdict.HOLDS, set())
        assert [(note.check, note.sentence) for note in notes(result)] == [
            ("unclean_elections", f"{told}brokers 1 and 2")
        ]


def unclean_cluster(folder: Path, change: bytes, *, high_watermark: int = 6, **state: Any) -> SmallCluster:
    """A cluster of whose brokers only the first has the last batch, after a change of the partition."""
    cluster = small_cluster(folder, high_watermark=high_watermark, **state)
    cluster.metadata.add(change)
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0] = cluster.metadata.log()
    for broker in (2, 3):
        last_batch(cluster.log(broker))
        cluster.log(broker).recovery_point = 6
    return cluster


def test_an_unclean_election_after_which_only_an_elr_member_was_left(tmp_path: Path) -> None:
    change = partition_change_record(TOPIC_ID, 0, leader=3, isr=[3], elr=[], recovering=True)
    result = unclean_cluster(tmp_path, change, isr=[], elr=[1], leader=None).audited()
    (finding,) = result.errors
    assert "broker 1, the only member of the ELR before the unclean election of leader epoch 2" in finding.sentence
    (told,) = [sentence for sentence in finding.situation if "uncleanly" in sentence]
    assert told.endswith("): the ELR was broker 1")


@pytest.mark.parametrize(
    ("elr", "leader", "told"),
    [
        ([], 3, "the ISR and the ELR were empty"),
        ([1], 1, "the ELR was broker 1, which had stopped uncleanly"),  # the last known leader
    ],
)
def test_unclean_elections_where_nobody_was_left_are_told(
    tmp_path: Path, elr: list[int], leader: int, told: str
) -> None:
    change = partition_change_record(TOPIC_ID, 0, leader=leader, isr=[leader], elr=[], recovering=True)
    result = unclean_cluster(tmp_path, change, isr=[], elr=elr, leader=None).audited()
    assert [(note.check, note.sentence.partition("): ")[2]) for note in notes(result)] == [("unclean_elections", told)]


def test_a_leader_that_a_reassignment_brings_is_not_elected_uncleanly(tmp_path: Path) -> None:
    """One record adds the brokers to the ISR, completes the reassignment and changes the leader."""
    change = partition_change_record(TOPIC_ID, 0, replicas=[2, 3], isr=[2], leader=2)
    result = unclean_cluster(tmp_path, change, isr=[1]).audited()
    assert (result.verdict, result.findings) == (Verdict.HOLDS, ())


@pytest.mark.parametrize("began", [True, False])
def test_what_a_leader_lacked_when_it_was_elected_is_lost_even_if_brokers_crashed(tmp_path: Path, began: bool) -> None:
    """Its leader epoch checkpoint says where its epoch began. Otherwise its log can have lost its end."""
    change = partition_change_record(TOPIC_ID, 0, leader=3, isr=[3], recovering=True)
    cluster = unclean_cluster(tmp_path, change, isr=[1])
    for broker in (1, 3):
        cluster.disks[broker].clean = False
    cluster.log(3).epochs = [(0, 0), (1, 5), *([(2, 6)] if began else [])]
    result = cluster.audited()
    assert result.verdict is (Verdict.VIOLATED if began else Verdict.INCOMPLETE)
    assert checks(result) == ({"committed_never_lost"} if began else set())


def test_elections_are_told_though_the_topic_was_removed(tmp_path: Path) -> None:
    change = partition_change_record(TOPIC_ID, 0, leader=3, isr=[3], recovering=True)
    cluster = unclean_cluster(tmp_path, change, isr=[1])
    cluster.metadata.add(broker_change_record(2, fenced=True), partition_change_record(TOPIC_ID, 0, leader=2, isr=[3]))
    cluster.metadata.add(remove_topic_record(TOPIC_ID))
    for disk in cluster.disks.values():
        disk.logs = {("__cluster_metadata", 0): cluster.metadata.log()}
    result = cluster.audited()
    assert checks(result) == {"leaders_elected_unfenced"}
    removed = "; the topic was removed later (offset 9 of the metadata log)"
    assert [finding.sentence.endswith(removed) for finding in result.findings] == [True, True]
    assert [note.sentence.startswith("the controllers elected broker 3 uncleanly") for note in notes(result)] == [True]


@pytest.mark.parametrize(
    ("resource", "minimum", "level", "verdict"),
    [
        ("topic", "2", 15, Verdict.HOLDS),
        ("", "2", 15, Verdict.HOLDS),
        ("topic", "1", 15, Verdict.VIOLATED),
        ("topic", None, 15, Verdict.VIOLATED),  # the configuration files of the brokers decide
        ("topic", "2", 14, Verdict.VIOLATED),  # before KAFKA-15583, the high watermark advances
    ],
)
def test_below_min_insync_replicas_a_leader_showed_nothing_to_consumers(
    tmp_path: Path, resource: str, minimum: str | None, level: int, verdict: Verdict
) -> None:
    cluster = small_cluster(tmp_path, high_watermark=6)
    cluster.metadata.add(
        feature_level_record("metadata.version", level),
        config_record(resource, "min.insync.replicas", minimum),
        partition_change_record(TOPIC_ID, 0, isr=[1]),
        partition_change_record(TOPIC_ID, 0, leader=3, isr=[3], recovering=True),
    )
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0] = cluster.metadata.log()
    for broker in (2, 3):
        last_batch(cluster.log(broker), *([batch(6, 1, 2)] if broker == 3 else []))
        cluster.log(broker).recovery_point = 6
    result = cluster.audited()
    assert result.verdict is verdict
    said = [note.sentence for note in notes(result)] if verdict is Verdict.HOLDS else result.errors[0].situation
    (told,) = [sentence for sentence in said if "uncleanly" in sentence]
    assert told.endswith("fewer than min.insync.replicas, so its high watermark did not advance") == (
        verdict is Verdict.HOLDS
    )


@pytest.mark.parametrize("changes", [[True], [True, False]])
def test_the_election_of_a_fenced_broker(tmp_path: Path, changes: list[bool]) -> None:
    cluster = small_cluster(tmp_path)
    cluster.metadata.add(*(broker_change_record(3, fenced=fenced) for fenced in changes))
    cluster.metadata.add(partition_change_record(TOPIC_ID, 0, leader=3))
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0] = cluster.metadata.log()
    result = cluster.audited()
    if changes[-1]:
        (finding,) = result.errors
        assert (finding.check, finding.brokers) == ("leaders_elected_unfenced", (3,))
        assert "the controllers elected broker 3 in leader epoch 2 " in finding.sentence
    else:
        assert checks(result) == set()


@pytest.mark.parametrize("cluster", ["", "the-cluster"])
def test_directories_without_a_cluster_id_are_of_the_same_cluster_though_no_batch_is_alike(
    tmp_path: Path, cluster: str
) -> None:
    """As before 2.4, or while brokers are upgraded to it: KIP-101's divergence with a single record."""
    disks = []
    for broker in (1, 2):
        disk = Disk(tmp_path / f"broker-{broker}", broker, cluster=cluster if broker == 1 else "")
        disk.logs["topic", 0] = Log([(0, [batch(0, 1, -1, keys=[broker])])], None, 1, 1, epochs=[])
        disks.append(str(disk.write()))
    result = audit(disks, workers=1)
    assert checks(result) == {"logs_prefix_consistent"}, "records without an epoch can differ beyond a high watermark"
    assert result.brokers == 2
    which = f"{disks[1]} does not have" if cluster else "no directory has"
    assert [note.sentence for note in notes(result)] == [
        f"{which} a cluster id, as before 2.4: all directories are taken for one cluster"
    ]


def test_a_directory_without_a_cluster_id_is_of_the_cluster_with_which_it_has_a_batch_in_common(tmp_path: Path) -> None:
    disks = []
    for broker, cluster, key in ((1, "one", 1), (2, "other", 2), (3, "", 2)):
        disk = Disk(tmp_path / f"broker-{broker}", broker, cluster=cluster)
        disk.logs["topic", 0] = Log([(0, [batch(0, 1, -1, keys=[key])])], None, 1, 1, epochs=[])
        disks.append(str(disk.write()))
    result = audit(disks, workers=1)
    assert checks(result) == set()
    assert [note.brokers for note in notes(result) if "another cluster" in note.sentence] == [(1,)]


def test_ids_of_different_topics_do_not_part_a_cluster(tmp_path: Path) -> None:
    """The topic that both have is without an id, as if its directories were written by brokers before 2.8."""
    disks = []
    for broker in (1, 2):
        disk = Disk(tmp_path / f"broker-{broker}", broker)
        disk.logs["topic", 0] = Log([(0, [batch(0, 1, broker, keys=[broker])])], None, 1, 1)
        disk.logs[f"other-{broker}", 0] = Log([(0, [])], UUID(int=broker << 100), 0, 0)
        disks.append(str(disk.write()))
    assert checks(audit(disks, workers=1)) == {"logs_prefix_consistent"}


def test_a_topic_id_that_only_one_directory_has_does_not_part_a_cluster(tmp_path: Path) -> None:
    """As of 2.8 with ZooKeeper: KAFKA-13141's divergence with a single record on each broker."""
    disks = []
    for broker, topic_id in ((1, None), (2, TOPIC_ID)):
        disk = Disk(tmp_path / f"broker-{broker}", broker)
        disk.logs["topic", 0] = Log([(0, [batch(0, 1, broker, keys=[broker])])], topic_id, 0, 0)
        disks.append(str(disk.write()))
    result = audit(disks, workers=1)
    assert result.brokers == 2
    assert not [note.sentence for note in notes(result) if "another cluster" in note.sentence]


def test_a_leader_outside_of_the_isr(tmp_path: Path) -> None:
    assert checks(small_cluster(tmp_path, isr=[2, 3]).audited()) == {"leader_in_isr"}


def test_two_directories_for_one_partition(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    twice = Disk(tmp_path / "broker-3-again", 3, directory="another")
    twice.logs["topic", 0] = attrs.evolve(cluster.log(3))
    for number in range(1, 4):
        twice.logs["other", number] = Log([(0, [])], UUID(int=1 << 119), 0, 0)
    cluster.disks[33] = twice
    result = cluster.audited()
    assert checks(result) == {"one_directory_per_replica"}
    assert result.errors[0].text.startswith("broker 3 has topic-0 twice: in ")


@pytest.mark.parametrize(("epoch", "wrong"), [(0, True), (1, False), (5, False)])
def test_a_quorum_epoch_that_is_behind_the_metadata_log(tmp_path: Path, epoch: int, wrong: bool) -> None:
    cluster = small_cluster(tmp_path)
    for disk in cluster.disks.values():
        disk.quorum = f'{{"leaderId":1,"leaderEpoch":{epoch},"data_version":1}}'
    assert checks(cluster.audited()) == ({"quorum_epoch_not_behind_log"} if wrong else set())


SHORT = "broker 2 has high watermark 10, but its log ends at 6"


def test_a_log_that_lost_its_last_segment(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, with_metadata=False)
    log = cluster.log(2)
    log.segments = [(0, log.batches[:3]), (6, log.batches[3:])]
    paths = cluster.write()
    folder = tmp_path / "broker-2" / "topic-0"
    (folder / f"{6:020d}.log").unlink()
    (folder / f"{6:020d}.snapshot").write_bytes(b"")
    result = audit(paths, workers=1)
    assert checks(result) == {"hw_within_log"}
    (finding,) = result.errors
    assert finding.sentence == SHORT
    assert finding.context == (
        "the likely cause is a missing segment, deleted or left out of the copy: the recovery point 10 says "
        "that more was flushed and a producer snapshot says that a segment begins at offset 6",
    )


def test_a_recovery_point_beyond_the_log_of_a_broker_that_stopped_cleanly(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, high_watermark=5, with_metadata=False)
    last_batch(cluster.log(2))
    assert checks(cluster.audited()) == {"recovery_point_within_log"}


def test_a_high_watermark_below_the_log_start(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, with_metadata=False)
    log = cluster.log(2)
    log.segments, log.high_watermark = [(5, log.batches[2:])], 3
    assert checks(cluster.audited()) == {"hw_not_below_log_start"}


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([(0, 0), (1, 6)], "the batch at offset 5 has leader epoch 1, but the leader epoch checkpoint says 0"),
        ([(0, 0)], "the batch at offset 5 has leader epoch 1, but the leader epoch checkpoint says 0"),
        ([(0, 0), (1, 5), (1, 7)], "epoch 1 from offset 7 follows epoch 1 from offset 5"),
        ([(0, 0), (1, 5), (2, 11)], "says that epoch 2 starts at offset 11, but the log ends at 10"),
    ],
)
def test_an_epoch_file_that_contradicts_the_log(tmp_path: Path, entries: list[tuple[int, int]], says: str) -> None:
    cluster = small_cluster(tmp_path, with_metadata=False)
    cluster.log(2).epochs = entries
    result = cluster.audited()
    assert checks(result) == {"epoch_file_matches_log"}
    assert says in result.errors[0].sentence


@pytest.mark.parametrize("entries", [[], [(0, 0), (1, 5), (2, 10)]])
def test_an_epoch_may_have_no_record_yet_and_an_old_log_no_epochs(
    tmp_path: Path, entries: list[tuple[int, int]]
) -> None:
    cluster = small_cluster(tmp_path)
    cluster.log(2).epochs = entries
    assert cluster.audited().verdict is Verdict.HOLDS


def producer_log(*sequences: int, at: tuple[int, ...] = (0, 0, 0), epoch: int = 0) -> list[Batch]:
    return [
        batch(2 * place, 2, 0, producer=(5, epoch, sequence), at=at[place]) for place, sequence in enumerate(sequences)
    ]


@pytest.mark.parametrize(
    ("batches", "wrong"),
    [
        (producer_log(0, 2, 4), False),
        (producer_log(0, 2, 5), True),
        (producer_log(0, 2, 0), True),
        (producer_log(2**31 - 2, 0, 2), False),  # after the last sequence comes 0
        (producer_log(2**31 - 1, 1, 3), False),
        (producer_log(0, 2, 9, at=(0, 0, 25 * 3600 * 1000)), False),  # a producer that was forgotten
        ([*producer_log(0, 2), *(attrs.evolve(each) for each in producer_log(0, 0, 0, epoch=1)[2:])], False),
        ([*producer_log(0), marker(2, 0, 5), batch(3, 2, 0, producer=(5, 0, 2))], False),
    ],
)
def test_sequences_of_producers(tmp_path: Path, batches: list[Batch], wrong: bool) -> None:
    cluster = small_cluster(tmp_path, [1], with_metadata=False, high_watermark=0)
    cluster.log(1).segments, cluster.log(1).recovery_point = [(0, batches)], 0
    assert checks(cluster.audited()) == ({"producer_sequences_contiguous"} if wrong else set())


@pytest.mark.parametrize("broken", [True, False])
def test_a_checksum(tmp_path: Path, broken: bool) -> None:
    cluster = small_cluster(tmp_path)
    batches = standard_batches()
    batches[1] = batches[1].broken() if broken else batches[1]
    cluster.log(2).segments = [(0, batches)]
    paths = cluster.write()
    result = audit(paths, workers=1)
    assert checks(result) == ({"batch_crc"} if broken else set())
    if broken:
        assert result.errors[0].sentence == (
            f"broker 2: the batch at offset 3 (byte {len(batches[0].data)} of {0:020d}.log) has a wrong checksum"
        )
    assert audit(paths, workers=1, checksums=False).verdict is Verdict.HOLDS


def test_batches_in_the_wrong_order_and_batches_that_are_not_there(tmp_path: Path) -> None:
    one, two, three, four = standard_batches()
    cluster = small_cluster(tmp_path / "swapped")
    cluster.log(2).segments = [(0, [one, three, two, four])]
    assert checks(cluster.audited()) == {"offsets_rise_in_log"}
    cluster = small_cluster(tmp_path / "gone")
    cluster.log(2).segments = [(0, [one, two, four])]
    result = cluster.audited()
    assert checks(result) == {"offsets_contiguous_in_log", "strong_isr", "weak_isr"}
    assert result.errors[0].sentence == "broker 2: offset 5 is missing from the log"


def test_a_gap_between_the_last_batch_and_the_last_segment(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, with_metadata=False)
    cluster.log(2).segments = [(0, standard_batches()[:3]), (10, [])]
    assert "offsets_contiguous_in_log" in checks(cluster.audited())


def test_what_is_no_batch_in_the_middle_of_a_log(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, with_metadata=False)
    cluster.disks[2].clean = False
    log = cluster.log(2)
    log.segments = [(0, log.batches[:2]), (5, log.batches[2:])]
    paths = cluster.write()
    with (tmp_path / "broker-2" / "topic-0" / f"{0:020d}.log").open("ab") as file:
        file.write(b"what is no batch at all, for sure")
    result = audit(paths, workers=1)
    assert checks(result) == {"batches_well_formed"}
    assert "has bytes that are not a batch from byte" in result.errors[0].sentence


# What Kafka does all the time is explained.


def test_retention_moves_the_log_start(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    one, two, three, four = standard_batches()
    cluster.log(2).segments = [(5, [three, four])]
    cluster.log(3).segments, cluster.log(3).log_start = [(0, [one, two, three, four])], 4
    assert cluster.audited().verdict is Verdict.HOLDS


@pytest.mark.parametrize("how", ["policy", "kafka's own topic", "checkpoint"])
def test_compaction_is_done_by_each_broker_for_itself(tmp_path: Path, how: str) -> None:
    cluster = small_cluster(tmp_path)
    one, two, three, four = standard_batches()
    if how == "policy":
        cluster.metadata.add(config_record("topic", "cleanup.policy", "compact"))
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0] = cluster.metadata.log()
        log = disk.logs["topic", 0]
        log.segments = [(0, [one, two, three]), (6, [four])]
        if how == "kafka's own topic":
            disk.logs["__consumer_offsets", 0] = attrs.evolve(disk.logs.pop(("topic", 0)), topic_id=None)
    cleaned_log = cluster.log(2, "__consumer_offsets" if how == "kafka's own topic" else "topic")
    cleaned_log.segments = [(0, [cleaned(one, [1], horizon=True), three]), (6, [four])]
    cleaned_log.cleaned_to = 6
    result = cluster.audited()
    assert checks(result) == set()


def test_what_is_missing_beyond_what_was_cleaned_is_missing(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    one, two, _, four = standard_batches()
    cluster.metadata.add(config_record("topic", "cleanup.policy", "compact"))
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0] = cluster.metadata.log()
    cluster.log(1).cleaned_to = cluster.log(2).cleaned_to = 3
    cluster.log(2).segments = [(0, [one, two, four])]
    assert "offsets_contiguous_in_log" in checks(cluster.audited())


def test_a_replica_may_have_been_cleaned_by_a_broker_that_is_gone(tmp_path: Path) -> None:
    """Broker 2 has fetched from a broker that was a replica once, and is not at hand."""
    cluster = small_cluster(tmp_path)
    one, _, three, four = standard_batches()
    cluster.metadata.add(config_record("topic", "cleanup.policy", "compact"))
    cluster.metadata.add(partition_change_record(TOPIC_ID, 0, replicas=[1, 2, 3, 9]))
    cluster.metadata.add(partition_change_record(TOPIC_ID, 0, replicas=[1, 2, 3]))
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0] = cluster.metadata.log()
    cluster.log(2).segments = [(0, [one, three, four])]
    assert checks(cluster.audited()) == set()


def test_a_topic_that_was_made_again_while_a_broker_was_away(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, [1, 2, 3], isr=[1, 2])
    cluster.disks[3].logs["topic", 0] = Log([(0, [batch(0, 9, 4)])], UUID(int=1 << 118), 9, 9)
    result = cluster.audited()
    assert (result.verdict, checks(result)) == (Verdict.HOLDS, set())
    (note,) = notes(result)
    assert (note.check, note.brokers) == ("topic_ids_agree", (3,))
    assert "was deleted and created again" in note.sentence
    broken = small_cluster(tmp_path / "again", [1, 2, 3])
    broken.disks[3].logs["topic", 0] = Log([(0, [])], UUID(int=1 << 118), 0, 0)
    assert checks(broken.audited()) == {"topic_ids_agree"}  # it may be elected, and cannot have what is committed


def test_a_crash_leaves_torn_ends_and_old_checkpoints(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    for broker, tail in {1: b"", 2: batch(10, 3, 1).data[:50], 3: bytes(4096)}.items():
        cluster.disks[broker].clean = False
        log = cluster.log(broker)
        log.tail, log.recovery_point, log.high_watermark = tail, 5, 8
        log.epochs = [(0, 0), (1, 5), (2, 14)]
    result = cluster.audited()
    assert (result.verdict, checks(result)) == (Verdict.INCOMPLETE, set())
    assert {(note.check, note.brokers) for note in notes(result)} == {
        ("batches_well_formed", (2,)),
        ("batches_well_formed", (3,)),
        ("epoch_file_matches_log", (1,)),
        ("epoch_file_matches_log", (2,)),
        ("epoch_file_matches_log", (3,)),
    }


def test_a_batch_whose_end_a_crash_has_lost_is_torn_and_one_before_it_damaged(tmp_path: Path) -> None:
    one, two, three, four = standard_batches()
    cluster = small_cluster(tmp_path / "torn", [1], high_watermark=5)
    cluster.disks[1].clean = False
    cluster.log(1).segments, cluster.log(1).recovery_point = [(0, [one, two, three, four.broken()])], 5
    result = cluster.audited()
    assert (checks(result), [note.check for note in notes(result)]) == (set(), ["batches_well_formed"])
    cluster = small_cluster(tmp_path / "damaged", [1], high_watermark=5)
    cluster.disks[1].clean = False
    cluster.log(1).segments, cluster.log(1).recovery_point = [(0, [one, two.broken(), three, four])], 0
    assert checks(cluster.audited()) == {"batch_crc"}


# What a copy cannot tell is left open.


def test_what_ran_when_it_was_copied_is_not_of_one_moment(tmp_path: Path) -> None:
    """A member of the ISR that lacks the end of the log: in a copy that may be older, and with all brokers stopped."""
    cluster = small_cluster(tmp_path / "a")
    cluster.disks[3].clean = False
    last_batch(cluster.log(3))
    cluster.log(3).high_watermark, cluster.log(3).recovery_point = 6, 0
    result = cluster.audited()
    assert (result.verdict, checks(result)) == (Verdict.INCOMPLETE, set())
    (reason,) = result.reasons
    assert reason.startswith("the directories are not of one moment, which strong_isr, weak_isr, ")
    assert "broker 3 was not stopped cleanly, or running when copied (no .kafka_cleanshutdown)" in reason
    assert result.verdict_on(next(check for check in result.checks if check.name == "strong_isr")) is Verdict.INCOMPLETE
    assert checks(audit([str(tmp_path / "a")], workers=1, stopped=True)) == {"strong_isr", "weak_isr"}


def test_what_differs_is_wrong_whenever_it_was_copied(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    for disk in cluster.disks.values():
        disk.clean = False
    last_batch(cluster.log(3), batch(6, 4, 1, values=[b"other"] * 4))
    assert {"log_matching", "logs_prefix_consistent", "strong_isr"} <= checks(cluster.audited())


def test_a_copy_that_is_older_than_the_others_is_seen_by_the_metadata_log(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    end = cluster.metadata.end
    cluster.metadata.add(register_broker_record(3, 70, [UUID(int=103)]))
    for broker in (1, 2):
        cluster.disks[broker].logs["__cluster_metadata", 0] = cluster.metadata.log()
    assert cluster.log(3, "__cluster_metadata").end == end
    last_batch(cluster.log(3))
    cluster.log(3).high_watermark = cluster.log(3).recovery_point = 6
    result = cluster.audited()
    assert (result.verdict, checks(result)) == (Verdict.INCOMPLETE, set())
    assert "broker 3 was restarted after it was copied, according to the metadata log" in result.reasons[0]


def test_brokers_that_are_not_at_hand_are_named(tmp_path: Path) -> None:
    result = small_cluster(tmp_path).audited(1, 3)
    assert (result.verdict, checks(result)) == (Verdict.INCOMPLETE, set())
    assert result.reasons == ("the replicas of 1 partition on broker 2 were not given",)


def test_without_a_metadata_log_nobody_says_who_is_in_the_isr(tmp_path: Path) -> None:
    result = small_cluster(tmp_path, with_metadata=False).audited()
    assert (result.verdict, checks(result)) == (Verdict.INCOMPLETE, set())
    assert result.reasons[0].startswith("there is no metadata log, so leaders and ISRs are unknown: ")


def test_a_metadata_log_whose_end_is_missing(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0].epochs = [(1, 0), (2, 50)]
    result = cluster.audited()
    assert checks(result) == {"epoch_file_matches_log"}  # of brokers that were stopped cleanly
    for disk in cluster.disks.values():
        disk.clean = False
    running = small_cluster(tmp_path / "running")
    for disk in running.disks.values():
        disk.clean = False
        disk.logs["__cluster_metadata", 0].epochs = [(1, 0), (2, 50)]
    result = running.audited()
    assert checks(result) == set()
    assert "the end of the metadata log is missing from " in result.reasons[0]


@pytest.mark.parametrize("how", ["ignored", "large file"])
def test_segments_that_were_left_out_of_the_copy(tmp_path: Path, how: str) -> None:
    """By a list of files to ignore, which all brokers' segments are on, or as files that a host keeps elsewhere."""
    cluster = small_cluster(tmp_path)
    paths = cluster.write()
    for path in paths:
        segment = Path(path) / "topic-0" / f"{0:020d}.log"
        segment.unlink()
        if how == "large file":
            segment.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    result = audit(paths, workers=1)
    assert (result.verdict, checks(result)) == (Verdict.INCOMPLETE, set())
    assert result.reasons == ("the segments of 1 partition were left out of the copy: topic-0",)
    assert len(notes(result)) == 3


def test_segments_that_only_one_broker_lacks_are_missing(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    paths = cluster.write()
    (tmp_path / "broker-2" / "topic-0" / f"{0:020d}.log").unlink()
    result = audit(paths, workers=1)
    assert "hw_within_log" in checks(result)
    assert "there is no segment" in result.errors[0].text


def test_a_segment_that_cannot_be_read(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    paths = cluster.write()
    segment = tmp_path / "broker-2" / "topic-0" / f"{0:020d}.log"
    segment.unlink()
    os.mkfifo(segment)
    result = audit(paths, workers=1)
    assert (result.verdict, checks(result)) == (Verdict.INCOMPLETE, set())
    assert f"{segment} is not a regular file" in result.reasons


@attrs.frozen
class FilesWithoutAccess(LocalFiles):
    """A file system on which one directory cannot be listed. Permissions do not keep root, who runs tests, from it."""

    closed: str

    def listed(self, path: str) -> list[Entry]:
        if path == self.closed:
            raise Unreadable(f"cannot list {path}: Permission denied")
        return super().listed(path)


@pytest.mark.parametrize("later", [False, True])
def test_a_partition_directory_that_cannot_be_listed(tmp_path: Path, later: bool) -> None:
    """Which records it has is not known, so that no property is violated, and none holds."""
    paths = small_cluster(tmp_path).write()
    closed = f"{tmp_path}/broker-2/topic-0"
    files = FilesWithoutAccess(closed)
    result = compare(paths, paths, workers=1, files=files) if later else audit(paths, workers=1, files=files)
    assert (result.verdict, checks(result)) == (Verdict.INCOMPLETE, set())
    assert f"cannot list {closed}: Permission denied" in result.reasons


# Whose directories these are.


def test_a_copy_of_another_node_with_the_same_id_is_left_out(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    old = Disk(tmp_path / "old", 2, directory="d-old")
    old.logs["__cluster_metadata", 0] = cluster.metadata.log(4)
    old.logs["topic", 0] = Log([(0, standard_batches()[:1])], TOPIC_ID, 3, 3)
    cluster.disks[20] = old
    result = cluster.audited()
    assert (result.verdict, result.brokers) == (Verdict.HOLDS, 3)
    (note,) = notes(result)
    assert (note.check, note.brokers) == ("directories", (2,))
    assert "is left out" in note.sentence


def test_a_directory_that_was_only_formatted_is_no_broker(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    cluster.disks[20] = Disk(tmp_path / "formatted", 2, directory="another")
    result = cluster.audited()
    assert (result.verdict, result.brokers) == (Verdict.HOLDS, 3)
    assert "was formatted for the same node" in notes(result)[0].sentence


def test_another_cluster_beside_is_audited_by_itself_whatever_its_id(tmp_path: Path) -> None:
    """The same cluster id, copied from an example, the same node ids, and topics of the same name."""
    cluster = small_cluster(tmp_path / "one")
    other = small_cluster(tmp_path / "two")
    values = Metadata(epoch=3)
    values.add(topic_record("topic", UUID(int=1 << 117)))
    values.add(partition_record(UUID(int=1 << 117), 0, [1, 2, 3], [1, 2, 3], 1, leader_epoch=1))
    for disk in other.disks.values():
        disk.logs["__cluster_metadata", 0] = values.log()
        disk.logs["topic", 0] = Log([(0, [batch(0, 2, 0, values=[b"a", b"b"])])], UUID(int=1 << 117), 2, 2)
    result = audit([*cluster.write(), *other.write()], workers=1)
    assert (result.verdict, checks(result), result.brokers) == (Verdict.HOLDS, set(), 6)
    assert ["another cluster" in note.sentence for note in notes(result)] == [True]


def test_brokers_with_two_cluster_ids_from_before_topic_ids_are_two_clusters(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, [1, 2], with_metadata=False)
    for broker, disk in cluster.disks.items():
        disk.cluster = f"cluster-{broker}"
        disk.logs["topic", 0] = Log([(0, [batch(0, 4, 0, values=[str(broker).encode()] * 4)])], None, 4, 4)
    result = cluster.audited()
    assert checks(result) == set()
    assert ["another cluster" in note.sentence for note in notes(result)] == [True]


def test_brokers_with_one_cluster_id_from_before_topic_ids_are_one_cluster_though_no_batch_is_alike(
    tmp_path: Path,
) -> None:
    """As after KIP-101's scenario with a single record."""
    cluster = small_cluster(tmp_path, [1, 2], with_metadata=False)
    for broker, disk in cluster.disks.items():
        disk.logs["topic", 0] = Log([(0, [batch(0, 1, broker, values=[str(broker).encode()])])], None, 1, 1)
    result = cluster.audited()
    assert (checks(result), notes(result)) == ({"logs_prefix_consistent"}, [])


def test_a_broker_with_several_log_directories_is_one_broker(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    second = Disk(tmp_path / "broker-2-second", 2, directory="second")
    second.logs["topic", 0] = cluster.disks[2].logs.pop(("topic", 0))
    cluster.disks[22] = second
    result = cluster.audited()
    assert (result.verdict, result.brokers) == (Verdict.HOLDS, 3)
    again = small_cluster(tmp_path / "again")
    second = Disk(tmp_path / "again" / "second", 2, directory="second", clean=False)
    second.logs["topic", 0] = again.disks[2].logs.pop(("topic", 0))
    again.disks[22] = second
    assert again.audited().verdict is Verdict.INCOMPLETE


def test_a_directory_that_does_not_say_whose_it_is_is_audited_by_its_name(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, [1, 2], with_metadata=False)
    paths = cluster.write()
    for path in paths:
        (Path(path) / "meta.properties").unlink()
    result = audit(paths, workers=1)
    assert (checks(result), result.brokers) == (set(), 2)
    assert [note.brokers for note in notes(result)] == [(-2,), (-1,)]
    assert "broker-1 does not have the id of its broker, which is called -1 here" in notes(result)[1].sentence


def test_what_is_not_known_is_not_passed_over(tmp_path: Path) -> None:
    """A high watermark, a topic or a leader that is not in any given directory."""
    cluster = small_cluster(tmp_path / "watermark")
    cluster.log(2).high_watermark = None
    assert cluster.audited().reasons == ("no checkpoint has the high watermark of 1 partition: topic-0",)
    cluster = small_cluster(tmp_path / "topic")
    for disk in cluster.disks.values():
        disk.logs["unheard", 3] = Log([(0, standard_batches())], UUID(int=1 << 90), 10, 10)
    assert cluster.audited().reasons == ("the metadata log has no such topic id for 1 partition: unheard-3",)
    cluster = small_cluster(tmp_path / "leader")
    cluster.metadata.add(partition_change_record(TOPIC_ID, 0, leader=1))
    cluster.disks[2].logs["__cluster_metadata", 0] = cluster.metadata.log()
    assert cluster.audited().reasons == (
        "no broker given knows that it leads 1 partition in the current leader epoch: topic-0",
    )


def test_logs_that_are_set_aside_are_not_audited_and_that_is_said(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, [1])
    (path,) = cluster.write()
    (Path(path) / f"topic-1.{'a' * 32}-delete").mkdir()
    result = audit([path], workers=1)
    assert result.verdict is Verdict.HOLDS
    assert [note.sentence.removeprefix(path) for note in notes(result)] == [
        " has 1 log set aside (-delete, -future or -stray), not audited"
    ]


def test_controllers_leave_no_sign_of_a_clean_stop_and_are_not_brokers(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    controller = Disk(tmp_path / "controller", 100, clean=False)
    controller.logs["__cluster_metadata", 0] = cluster.metadata.log()
    cluster.disks[100] = controller
    result = cluster.audited()
    assert (result.verdict, result.brokers) == (Verdict.HOLDS, 3)


def test_a_controller_is_not_a_broker_though_its_metadata_log_cannot_be_read(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, [1, 2], with_metadata=False)
    controller = Disk(tmp_path / "controller", 100, clean=False)
    log = cluster.metadata.log()
    log.segments[0][1][0] = attrs.evolve(log.batches[0], data=log.batches[0].data[:-1] + b"?")
    controller.logs["__cluster_metadata", 0] = log
    cluster.disks[100] = controller
    result = cluster.audited()
    assert (checks(result), result.brokers) == ({"batch_crc"}, 2)


def test_metadata_logs_that_diverge_are_a_finding(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path)
    log = cluster.log(3, "__cluster_metadata")
    log.segments[0][1][2] = batch(2, 1, 1, values=[b"\x01\x14\x00\x00"])
    result = cluster.audited()
    assert checks(result) == {"log_matching"}
    assert verdict_sentence(result) == "log_matching, in the metadata log"


def test_there_must_be_something_to_audit(tmp_path: Path) -> None:
    with pytest.raises(LeadlineError, match="is not a broker's data directory and does not contain one"):
        audit([str(tmp_path)])
    with pytest.raises(LeadlineError, match="No such file or directory"):
        audit([f"{tmp_path}/nowhere"])
    (tmp_path / "meta.properties").write_text("node.id=1\n")
    result = audit([str(tmp_path)], workers=1)
    assert result.verdict is Verdict.INCOMPLETE
    assert "the directories given have no partitions" in result.reasons


# Two moments of one cluster.


def compared(before: SmallCluster, after: SmallCluster) -> Any:
    return compare(before.write(), after.write(), workers=1)


def later(cluster: SmallCluster) -> None:
    """Something has happened since, and the controllers know."""
    cluster.metadata.add(partition_change_record(TOPIC_ID, 0, leader=2))
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0] = cluster.metadata.log()
        disk.logs["topic", 0].segments[-1][1].append(batch(10, 2, 2))
        disk.logs["topic", 0].high_watermark = disk.logs["topic", 0].recovery_point = 12


def test_a_later_moment_has_what_was_committed_and_more(tmp_path: Path) -> None:
    before, after = small_cluster(tmp_path / "a"), small_cluster(tmp_path / "b")
    later(after)
    result = compared(before, after)
    assert (result.verdict, result.findings) == (Verdict.HOLDS, ())


def test_what_was_committed_at_the_earlier_moment_and_is_gone(tmp_path: Path) -> None:
    before, after = small_cluster(tmp_path / "a"), small_cluster(tmp_path / "b")
    later(after)
    for disk in after.disks.values():
        disk.logs["topic", 0].segments = [(0, [*standard_batches()[:3], batch(6, 6, 2)])]
    result = compared(before, after)
    assert checks(result) == {"committed_never_lost", "committed_kept"}
    (finding, *_) = [each for each in result.errors if each.check == "committed_kept"]
    assert finding.offset == 6
    assert "had 6-9@1" in finding.sentence
    assert finding.sentence.endswith("no copy has it")
    assert all("can be elected safely" not in line for line in finding.situation)


def test_a_copy_that_still_has_what_another_one_lost_is_named(tmp_path: Path) -> None:
    before, after = small_cluster(tmp_path / "a"), small_cluster(tmp_path / "b")
    later(after)
    after.log(1).segments = [(0, [*standard_batches()[:3], batch(6, 6, 2)])]
    (finding, *_) = [each for each in compared(before, after).errors if each.check == "committed_kept"]
    assert finding.brokers == (1,)
    assert finding.sentence.endswith("broker 2 and broker 3 still have it")


def test_a_bug_that_loses_committed_records_is_named_for_two_moments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = small_cluster(tmp_path / "a"), small_cluster(tmp_path / "b")
    later(after)
    for disk in after.disks.values():
        disk.logs["topic", 0].segments = [(0, [*standard_batches()[:3], batch(6, 6, 2)])]
    monkeypatch.setattr(counterexamples, "SHIPPED", short_archive(tmp_path, "KAFKA-15495"))
    said = context_of(compared(before, after), "committed_kept")
    assert said.startswith("1 known bug of releases with KRaft can lose committed records, and the disks do not say ")
    assert "which one did: KAFKA-15495." in said


def test_a_high_watermark_that_goes_back_within_an_epoch(tmp_path: Path) -> None:
    before, after = small_cluster(tmp_path / "a"), small_cluster(tmp_path / "b")
    after.log(1).high_watermark = 5
    assert checks(compared(before, after)) == {"hw_monotonic"}


def test_what_retention_and_compaction_took_since_is_not_lost(tmp_path: Path) -> None:
    before, after = small_cluster(tmp_path / "a"), small_cluster(tmp_path / "b")
    _, two, _, four = standard_batches()
    after.metadata.add(config_record("topic", "cleanup.policy", "compact,delete"))
    for disk in after.disks.values():
        disk.logs["__cluster_metadata", 0] = after.metadata.log()
        disk.logs["topic", 0].segments = [(3, [cleaned(two, [])]), (6, [four])]
        disk.logs["topic", 0].cleaned_to = 6
    assert checks(compared(before, after)) == set()


def test_a_replica_outside_of_the_isr_may_be_fetching_anew(tmp_path: Path) -> None:
    before, after = small_cluster(tmp_path / "a"), small_cluster(tmp_path / "b", isr=[1, 2])
    log = after.log(3)
    log.segments, log.high_watermark, log.recovery_point = [(0, standard_batches()[:1])], 3, 3
    assert checks(compared(before, after)) == set()


def test_a_topic_that_was_deleted_or_made_again_since(tmp_path: Path) -> None:
    before, after = small_cluster(tmp_path / "a"), small_cluster(tmp_path / "b")
    other = UUID(int=1 << 117)
    after.metadata.add(remove_topic_record(TOPIC_ID))
    after.metadata.add(topic_record("topic", other), partition_record(other, 0, [1, 2, 3], [1, 2, 3], 1))
    for disk in after.disks.values():
        disk.logs["__cluster_metadata", 0] = after.metadata.log()
        disk.logs["topic", 0] = Log([(0, [batch(0, 1, 0, values=[b"new"])])], other, 1, 1)
    result = compared(before, after)
    assert checks(result) == set()
    assert "was deleted and created again between the two moments" in notes(result)[0].sentence
    gone = small_cluster(tmp_path / "c")
    gone.metadata.add(remove_topic_record(TOPIC_ID))
    for disk in gone.disks.values():
        disk.logs = {("__cluster_metadata", 0): gone.metadata.log()}
    result = compare([str(tmp_path / "a")], gone.write(), workers=1)
    assert checks(result) == set()
    assert "is missing at the later moment" in notes(result)[0].sentence


def test_moments_that_are_swapped_are_noticed(tmp_path: Path) -> None:
    before, after = small_cluster(tmp_path / "a"), small_cluster(tmp_path / "b")
    later(after)
    result = compared(after, before)
    assert "are --before and --after swapped?" in result.reasons[0]
    assert "committed_kept" in checks(result)


def test_a_log_that_was_copied_before_its_checkpoint(tmp_path: Path) -> None:
    """The high watermark of a broker that ran is beyond the end, and nothing says that more was flushed."""
    cluster = small_cluster(tmp_path, [1], with_metadata=False)
    cluster.disks[1].clean = False
    cluster.log(1).recovery_point = 0
    last_batch(cluster.log(1))
    (path,) = cluster.write()
    result = audit([path], workers=1)
    assert (result.verdict, checks(result)) == (Verdict.INCOMPLETE, set())
    assert [(note.check, note.offset) for note in notes(result)] == [("hw_within_log", 6)]
    assert any("the logs of 1 partition end before the high watermark" in reason for reason in result.reasons)
    assert checks(audit([path], workers=1, stopped=True)) == {"hw_within_log"}


def test_a_metadata_log_that_begins_after_its_only_snapshot(tmp_path: Path) -> None:
    """The snapshot that it begins with is missing, so that nothing is known of the partitions."""
    cluster = small_cluster(tmp_path, [1])
    log = cluster.log(1, "__cluster_metadata")
    begins = log.batches[2].first
    log.segments, log.epochs = [(begins, log.batches[2:])], [(1, begins)]
    (path,) = cluster.write()
    snapshot = Path(path) / "__cluster_metadata-0" / f"{begins - 1:020d}-0000000001.checkpoint"
    snapshot.write_bytes(b"")
    result = audit([path], workers=1)
    assert (result.verdict, checks(result)) == (Verdict.INCOMPLETE, set())
    assert any("and there is no snapshot of the records before it" in reason for reason in result.reasons)


# Which known bugs explain it.


def context_of(result: AuditResult, check: str) -> str:
    """What is said about the first violation of a property after the archive was searched."""
    found, _ = with_counterexamples(result)
    return next(finding for finding in found.errors if finding.check == check).context[-1]


def given_twice(folder: Path, *, with_metadata: bool) -> SmallCluster:
    """Brokers 1 and 2 gave the same offset and epoch to different records."""
    cluster = small_cluster(folder, [1, 2], isr=[1], with_metadata=with_metadata)
    last_batch(cluster.log(2), batch(6, 4, 1, values=[b"other"] * 4))
    for log in (cluster.log(1), cluster.log(2)):
        log.high_watermark = 5
    return cluster


def test_bugs_that_explain_a_finding_are_of_releases_that_can_have_written_the_disks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KAFKA-1120 was fixed in 2.2, and KAFKA-18106 is the same with KRaft."""
    kraft = given_twice(tmp_path / "kraft", with_metadata=True).audited()
    monkeypatch.setattr(counterexamples, "SHIPPED", short_archive(tmp_path, "KAFKA-18106"))
    assert context_of(kraft, "log_matching").startswith("a known bug ends in the same way: KAFKA-18106: With KRaft, ")
    monkeypatch.setattr(counterexamples, "SHIPPED", short_archive(tmp_path / "kraft", "KAFKA-1120"))
    assert context_of(kraft, "log_matching") == (
        "no archived trace ends exactly so: each bug that `leadline bugs` has for releases with KRaft ends another way "
        "in its shortest trace, which does not rule the bug out"
    )


@pytest.mark.parametrize("electable", [True, False])
def test_a_bug_that_elects_a_fenced_broker_explains_only_elections_of_the_last_known_leader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, electable: bool
) -> None:
    isr, leader = ([1, 2, 3], 1) if electable else ([], None)
    cluster = small_cluster(tmp_path, isr=isr, leader=leader, elr=[])
    change = partition_change_record(TOPIC_ID, 0, leader=3, isr=isr or [3], recovering=not electable)
    cluster.metadata.add(broker_change_record(3, fenced=True), change)
    for disk in cluster.disks.values():
        disk.logs["__cluster_metadata", 0] = cluster.metadata.log()
    monkeypatch.setattr(counterexamples, "SHIPPED", short_archive(tmp_path, "KAFKA-19522"))
    said = context_of(cluster.audited(), "leaders_elected_unfenced")
    known = "a known bug ends in the same way: KAFKA-19522: "
    assert said.startswith("no archived trace ends exactly so" if electable else known)


def test_bugs_of_transactions_explain_nothing_on_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their releases have the same versions, and their traces are not about replicas."""
    monkeypatch.setattr(counterexamples, "SHIPPED", short_archive(tmp_path, "KAFKA-14053"))
    searched: list[str] = []
    every = ReleaseRange("all releases", frozenset(column.name for column in RELEASES))
    assert list(counterexamples.known(every, searched.append)) == []
    assert searched == []


def test_a_search_for_bugs_that_was_interrupted_does_not_say_that_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(counterexamples, "known", interrupted)
    cluster = given_twice(tmp_path, with_metadata=True)
    assert context_of(cluster.audited(), "log_matching") == "the search for known bugs that explain it was interrupted"


def test_releases_that_can_have_written_a_log(tmp_path: Path) -> None:
    def releases(*, with_metadata: bool = False, topic_id: UUID | None = TOPIC_ID) -> set[str]:
        name = f"{with_metadata}-{topic_id is None}"
        cluster = given_twice(tmp_path / name, with_metadata=with_metadata)
        for broker in cluster.disks:
            cluster.log(broker).topic_id = topic_id
        (finding,) = (each for each in cluster.audited().errors if each.check == "log_matching")
        assert finding.releases is not None
        return set(finding.releases.names)

    assert releases(with_metadata=True) == {column.name for column in RELEASES if column.controller == KRAFT}
    assert releases() == {each.name for each in RELEASES[[each.name for each in RELEASES].index("kafka/2.8") :]}
    old = releases(topic_id=None)
    assert {"kafka/0.11", "kafka/2.7.2"} <= old
    assert {"kafka/2.8", "kafka/3.9-zk"} <= old, "with inter.broker.protocol.version=2.7"
    assert not old & {"kafka/0.10.2", "kafka/3.9", "kafka/4.0"}
