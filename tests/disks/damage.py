"""Damage done to data directories, each with the name of the property that finds it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import attrs

from tests.disks.data_directories import Batch, Disk, Log, batch, marker
from tests.disks.simulator import Partition, Simulation


@attrs.frozen
class Damage:
    """The damage.

    Attributes:
        what: its name.
        found_by: the property that must find it.
        topic, number, broker: where.
    """

    what: str
    found_by: str
    topic: str
    number: int
    broker: int


@attrs.frozen
class Target:
    """A replica that may be damaged: its partition, its broker and its log."""

    partition: Partition
    broker: int
    log: Log

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark or 0

    @property
    def in_isr(self) -> bool:
        """Whether it may be elected, and is not the leader."""
        return self.broker in self.partition.isr and self.broker != self.partition.leader

    @property
    def leading(self) -> Log:
        """The leader's log."""
        return self.partition.leading.log

    def place_of(self, wanted: Callable[[Batch], bool], chance: random.Random) -> tuple[int, int] | None:
        """The segment and the place in it of some batch."""
        places = [
            (segment, place)
            for segment, (_, held) in enumerate(self.log.segments)
            for place, each in enumerate(held)
            if wanted(each)
        ]
        return chance.choice(places) if places else None

    def replace(self, where: tuple[int, int], *new: Batch) -> None:
        """Put other batches in the place of one."""
        segment, place = where
        self.log.segments[segment][1][place : place + 1] = new


def targets(simulation: Simulation, disks: dict[int, Disk]) -> Iterator[Target]:
    """The replicas that there are, of brokers that ran until the end."""
    for partition in simulation.partitions:
        for broker in partition.replicas:
            if broker not in simulation.down and partition.leader not in simulation.down:
                yield Target(partition, broker, disks[broker].logs[partition.topic, partition.number])


def damage(simulation: Simulation, disks: dict[int, Disk], what: str, seed: int) -> Damage | None:
    """Damage one of a cluster's disks.

    Returns:
        What was done; None if there is no place for it.
    """
    chance = random.Random(seed)
    possible = list(targets(simulation, disks))
    chance.shuffle(possible)
    function, found_by = KINDS[what]
    for target in possible:
        if function(target, chance):
            return Damage(what, found_by, target.partition.topic, target.partition.number, target.broker)
    return None


def flip_epoch(target: Target, chance: random.Random) -> bool:
    where = target.place_of(lambda each: True, chance)
    if where is None:
        return False
    old = target.log.segments[where[0]][1][where[1]]
    target.replace(where, old.with_epoch(old.epoch + chance.choice([1, 5, -1 if old.epoch else 2])))
    return True


def truncate_to_stale_high_watermark(target: Target, chance: random.Random) -> bool:
    """An ISR member that started again, and truncated as before KIP-101."""
    starts = [each.first for each in target.log.batches if each.last < (target.partition.leading.high_watermark)]
    if not target.in_isr or len(starts) < 2:
        return False
    offset = chance.choice(starts[1:])
    cut(target.log, offset)
    target.log.high_watermark = offset
    target.log.recovery_point = min(target.log.recovery_point or 0, offset)
    return True


def cut(log: Log, offset: int) -> None:
    log.segments = [(base, [each for each in held if each.first < offset]) for base, held in log.segments]
    log.segments = [(base, held) for base, held in log.segments if base <= offset]
    log.epochs = [(epoch, start) for epoch, start in log.epochs or [] if start <= offset]


def swap_batches(target: Target, chance: random.Random) -> bool:
    segments = [held for _, held in target.log.segments if len(held) > 1]
    if not segments:
        return False
    held = chance.choice(segments)
    place = chance.randrange(len(held) - 1)
    held[place], held[place + 1] = held[place + 1], held[place]
    return True


def drop_segment(target: Target, chance: random.Random) -> bool:
    """One in the middle."""
    segments = target.log.segments
    if target.partition.compacted or len(segments) < 3:
        return False
    del segments[chance.randrange(1, len(segments) - 1)]
    return True


def drop_last_segment(target: Target, chance: random.Random) -> bool:
    segments = target.log.segments
    if len(segments) < 2 or target.high_watermark <= segments[-1][0] or not segments[-1][1]:
        return False
    del segments[-1]
    target.log.epochs = [(epoch, start) for epoch, start in target.log.epochs or [] if start <= target.log.end]
    return target.log.end < target.high_watermark


def roll_back(target: Target, chance: random.Random) -> bool:
    """An older copy of the log is put back, and the checkpoints stay as they were."""
    starts = [each.first for each in target.log.batches if each.last < target.high_watermark]
    if len(starts) < 2:
        return False
    cut(target.log, chance.choice(starts[1:]))
    return True


def empty_isr_member(target: Target, chance: random.Random) -> bool:
    """A disk that was replaced by an empty one, while the broker stayed in the ISR."""
    held = [each for each in target.leading.batches if each.first < target.partition.leading.high_watermark]
    if not target.in_isr or not held or held[-1].last < (target.leading.log_start or 0):
        return False
    target.log.segments, target.log.epochs = [(0, [])], []
    target.log.high_watermark = target.log.recovery_point = 0
    target.log.log_start = target.log.cleaned_to = None
    return True


def sequence_gap(target: Target, chance: random.Random) -> bool:
    """A batch of a producer has a later sequence than the one before leads to, on every broker."""
    batches = [each for each in target.log.batches if each.producer[2] >= 0 and not each.control]
    if target.partition.compacted:
        return False
    later = [
        each
        for place, each in enumerate(batches)
        if each.first >= (target.log.log_start or 0)
        and any(
            other.producer[0] == each.producer[0] and other.first >= (target.log.log_start or 0)
            for other in batches[:place]
        )
    ]
    if not later:
        return False
    old = chance.choice(later)
    count = old.last - old.first + 1
    new = batch(old.first, count, old.epoch, producer=(*old.producer[:2], old.producer[2] + 7), keys=old.keys)
    where = target.place_of(lambda each: each is old, chance)
    assert where is not None
    target.replace(where, new)
    return True


def break_checksum(target: Target, chance: random.Random) -> bool:
    where = target.place_of(lambda each: True, chance)
    if where is None:
        return False
    target.replace(where, target.log.segments[where[0]][1][where[1]].broken())
    return True


def other_batch(target: Target, chance: random.Random) -> bool:
    """Another batch at the same offsets, of the same epoch: one offset and epoch was given twice (KAFKA-18106)."""
    if len(target.partition.replicas) < 2 or target.partition.compacted:
        return False
    others = [replica.log for broker, replica in target.partition.replicas.items() if broker != target.broker]
    start = max((log.log_start or log.segments[0][0]) for log in (target.log, *others))
    ends = [log.end for log in others]
    where = target.place_of(lambda each: start <= each.first and each.last < min(ends) and not each.control, chance)
    if where is None:
        return False
    old = target.log.segments[where[0]][1][where[1]]
    count = old.last - old.first + 1
    values = [b"other" for _ in range(count)]
    target.replace(where, batch(old.first, count, old.epoch, producer=old.producer, keys=old.keys, values=values))
    return True


def other_epoch_below_high_watermarks(target: Target, chance: random.Random) -> bool:
    """A replica has the end of another leader's log, and its high watermark moved on over it."""
    leader = target.leading
    if target.broker == target.partition.leader or target.partition.compacted or not target.log.batches:
        return False
    last = target.log.batches[-1]
    both = min(target.high_watermark, leader.high_watermark or 0)
    if (
        not max(leader.log_start or 0, leader.segments[0][0]) <= last.first < both
        or last.epoch >= target.partition.epoch
    ):
        return False
    epoch = next((epoch for epoch in range(last.epoch + 1, target.partition.epoch + 1)), None)
    if epoch is None or any(each.epoch == epoch for each in leader.batches if each.first == last.first):
        return False
    where = target.place_of(lambda each: each is last, chance)
    assert where is not None
    target.replace(where, batch(last.first, last.last - last.first + 1, epoch))
    target.log.epochs = [
        (known, start) for known, start in target.log.epochs or [] if start < last.first and known < epoch
    ]
    target.log.epochs.append((epoch, last.first))
    return True


def roll_leader_back(target: Target, chance: random.Random) -> bool:
    """The leader's disk, checkpoints and all, is an older one; a follower knows a later high watermark."""
    if target.broker != target.partition.leader:
        return False
    known = max(
        (
            replica.log.high_watermark or 0
            for broker, replica in target.partition.replicas.items()
            if broker != target.broker
        ),
        default=0,
    )
    starts = [each.first for each in target.log.batches if each.last < known]
    if len(starts) < 2:
        return False
    offset = chance.choice(starts[1:])
    cut(target.log, offset)
    target.log.high_watermark = min(target.high_watermark, offset)
    target.log.recovery_point = min(target.log.recovery_point or 0, offset)
    return True


def wrong_epoch_file(target: Target, chance: random.Random) -> bool:
    entries = target.log.epochs or []
    if not target.log.batches or len(entries) < 2 or entries[-1][1] >= target.log.end:
        return False
    epoch, start = entries[-1]
    inside = [each.first for each in target.log.batches if each.first > start]
    target.log.epochs = [*entries[:-1], (epoch, chance.choice(inside))] if inside else entries[:-1]
    return True


def bad_marker(target: Target, chance: random.Random) -> bool:
    where = target.place_of(lambda each: each.control, chance)
    if where is None:
        return False
    old = target.log.segments[where[0]][1][where[1]]
    made = marker(old.first, old.epoch, -1)
    target.replace(where, made)
    return True


def wrong_count(target: Target, chance: random.Random) -> bool:
    where = target.place_of(lambda each: each.last > each.first and each.first >= (target.log.cleaned_to or 0), chance)
    if where is None or target.partition.compacted:
        return False
    old = target.log.segments[where[0]][1][where[1]]
    count = old.last - old.first + 1
    target.replace(
        where, batch(old.first, count, old.epoch, producer=old.producer, keys=old.keys, kept=range(count - 1))
    )
    return True


def epoch_from_nowhere(target: Target, chance: random.Random) -> bool:
    """The end of a log is of a leader epoch that no controller has given."""
    if not target.log.batches:
        return False
    last = target.log.batches[-1]
    where = target.place_of(lambda each: each is last, chance)
    assert where is not None
    epoch = target.partition.epoch + 3
    target.replace(where, last.with_epoch(epoch))
    target.log.epochs = [
        *((known, start) for known, start in target.log.epochs or [] if start < last.first),
        (epoch, last.first),
    ]
    return True


KINDS: dict[str, tuple[Callable[[Target, random.Random], bool], str]] = {
    "epoch flipped": (flip_epoch, "epoch_file_matches_log"),
    "tail truncated to a stale high watermark": (truncate_to_stale_high_watermark, "strong_isr"),
    "batches swapped": (swap_batches, "offsets_rise_in_log"),
    "segment dropped": (drop_segment, "offsets_contiguous_in_log"),
    "last segment dropped": (drop_last_segment, "hw_within_log"),
    "log rolled back": (roll_back, "hw_within_log"),
    "ISR member emptied": (empty_isr_member, "strong_isr"),
    "producer sequence gap": (sequence_gap, "producer_sequences_contiguous"),
    "checksum broken": (break_checksum, "batch_crc"),
    "one offset and epoch, two batches": (other_batch, "log_matching"),
    "divergence below the high watermark": (other_epoch_below_high_watermarks, "logs_prefix_consistent"),
    "leader rolled back": (roll_leader_back, "committed_never_lost"),
    "epoch file wrong": (wrong_epoch_file, "epoch_file_matches_log"),
    "transaction marker malformed": (bad_marker, "control_batches_well_formed"),
    "record count wrong": (wrong_count, "batches_well_formed"),
    "epoch that no controller gave": (epoch_from_nowhere, "epochs_given_by_controller"),
}
"""What can be done, by name, with the property that must find it."""
