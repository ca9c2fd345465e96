"""Records and logs: the first offsets of epochs, a leader's responses about them, truncation, agreement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.model.atomic.protocols import end_of_own_last_epoch
from leadline.model.atomic.replica import Replica
from leadline.model.log import Log, Record
from tests.model.atomic_states import log


def log_of_epochs(*epochs: int) -> Log:
    """A log with a record of each of these leader epochs, in order."""
    return Log(tuple(Record(value, epoch) for value, epoch in enumerate(epochs)))


SECOND_LEADER_AT_120 = log_of_epochs(*[0] * 120, *[1] * 30)
"""The seeds' leader epochs (0, 0) and (1, 120): the first leader wrote 120 messages, the second goes on there."""


def test_epochs_of_the_seeds_start_at_0_and_at_120() -> None:
    assert SECOND_LEADER_AT_120.first_offset_after(-1) == 0
    assert SECOND_LEADER_AT_120.first_offset_after(0) == 120
    assert [SECOND_LEADER_AT_120[offset].epoch for offset in (0, 119, 120)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("follower", "answer"),
    [
        (log_of_epochs(*[0] * 100), 120),
        (log_of_epochs(*[0] * 130), 120),
        (log_of_epochs(*[0] * 120, 1), 150),
        (Log(), 0),
    ],
    ids=["epoch 0, shorter", "epoch 0, longer: has what was never replicated", "epoch 1: the log end", "empty"],
)
def test_answer_to_offsets_for_leader_epoch_is_where_the_followers_last_epoch_ends(follower: Log, answer: int) -> None:
    assert end_of_own_last_epoch(Replica(follower, high_watermark=7), SECOND_LEADER_AT_120) == answer


def test_a_leader_that_lacks_the_followers_epoch_answers_with_the_start_of_the_next_one_it_has() -> None:
    assert end_of_own_last_epoch(Replica(log("m0@0 m1@1")), log("m0@0 m2@2 m3@3")) == 1


@pytest.mark.parametrize("leader", [Log(), log("m0@0 m1@0")], ids=["empty", "only smaller epochs"])
def test_a_leader_that_knows_no_larger_epoch_sends_the_follower_back_to_its_high_watermark(leader: Log) -> None:
    assert end_of_own_last_epoch(Replica(log("m0@0 m2@1 m3@1"), high_watermark=2), leader) == 2


def test_first_offset_after_the_last_epoch_is_none() -> None:
    assert SECOND_LEADER_AT_120.first_offset_after(1) is None
    assert Log().first_offset_after(-1) is None


@pytest.mark.parametrize(("epoch", "end"), [(-1, 0), (0, 120), (1, 150), (2, 150)])
def test_an_epoch_ends_where_the_next_one_starts_or_the_log_ends(epoch: int, end: int) -> None:
    assert SECOND_LEADER_AT_120.end_of_epoch(epoch) == end


def test_an_epoch_in_which_nothing_was_written_has_no_first_offset_of_its_own() -> None:
    """The next epoch's takes its place: where epoch 1 would have ended, it also started."""
    skipped = log_of_epochs(0, 0, 2)
    assert skipped.first_offset_after(0) == skipped.first_offset_after(1) == 2


def test_empty_log() -> None:
    assert (Log().end_offset, Log().last_epoch, Log().has(0)) == (0, None, False)


def test_end_offset_last_epoch_and_offsets_of_a_log() -> None:
    three = log("m0@0 m1@0 m2@1")
    assert (three.end_offset, three.last_epoch) == (3, 1)
    assert [offset for offset in range(-2, 6) if three.has(offset)] == [0, 1, 2]
    assert three[2] == Record(value=2, epoch=1)


def test_append_adds_at_the_end_and_leaves_the_old_log_as_it_was() -> None:
    old = log("m0@0")
    assert old.append(Record(1, 1)) == log("m0@0 m1@1")
    assert old == log("m0@0")


@pytest.mark.parametrize(("offset", "left"), [(0, ""), (1, "m0@0"), (2, "m0@0 m1@1"), (9, "m0@0 m1@1")])
def test_truncation_keeps_what_is_below_the_offset(offset: int, left: str) -> None:
    assert log("m0@0 m1@1").truncate_to(offset) == log(left)


@pytest.mark.parametrize(
    ("other", "end"),
    [
        ("", 0),
        ("m0@0", 1),
        ("m0@0 m1@0 m2@1", 3),
        ("m0@0 m1@0 m2@1 m3@1", 3),
        ("m0@0 m1@0 m3@2", 2),
        ("m9@0 m1@0", 2),
        ("m9@1 m8@1 m7@1", 0),
        ("m0@2", 0),
    ],
    ids=[
        "empty",
        "shorter",
        "same",
        "longer",
        "other end",
        "other start, but the same record at offset 1",
        "all other",
        "same value of another epoch",
    ],
)
def test_agreement_ends_one_past_the_highest_offset_with_the_same_record(other: str, end: int) -> None:
    one = log("m0@0 m1@0 m2@1")
    assert one.end_of_agreement_with(log(other)) == end
    assert log(other).end_of_agreement_with(one) == end


@pytest.mark.parametrize(
    ("high_watermark", "drawn"), [(0, "┃ m0@0 m1@1"), (1, "m0@0 ┃ m1@1"), (2, "m0@0 m1@1 ┃"), (3, "m0@0 m1@1 ┃")]
)
def test_drawing_marks_the_high_watermark_between_the_records(high_watermark: int, drawn: str) -> None:
    assert log("m0@0 m1@1").drawn(high_watermark) == drawn


logs = st.lists(st.integers(0, 2), max_size=6).map(sorted).map(lambda epochs: log_of_epochs(*epochs))
"""Logs whose epochs never go down. Two of them hold the same record where their epochs are equal."""


@given(logs, st.integers(-1, 3))
def test_first_offset_after_an_epoch_splits_the_log_there(records: Log, epoch: int) -> None:
    split = records.first_offset_after(epoch)
    below = records.truncate_to(records.end_offset if split is None else split)
    assert all(record.epoch <= epoch for record in below.records)
    assert all(record.epoch > epoch for record in records.records[below.end_offset :])


@given(logs, logs)
def test_logs_agree_just_below_where_their_agreement_ends_and_nowhere_above(one: Log, other: Log) -> None:
    end = one.end_of_agreement_with(other)
    assert end == 0 or one[end - 1] == other[end - 1]
    assert all(here != there for here, there in zip(one.records[end:], other.records[end:], strict=False))


@given(logs, logs)
def test_after_truncating_to_their_agreement_a_log_agrees_to_its_end(one: Log, other: Log) -> None:
    left = one.truncate_to(one.end_of_agreement_with(other))
    assert left.end_of_agreement_with(other) == left.end_offset
