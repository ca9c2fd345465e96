"""A simulation of a small cluster: brokers that replicate according to KIP-320 and write data directories.

Everything happens that an auditor might take for a loss: retention, compaction, deletion and recreation of topics,
followers that lag or are down, truncation of what was never committed, crashes.
"""

from __future__ import annotations

import random
from pathlib import Path
from uuid import UUID

import attrs

from tests.disks.data_directories import (
    Batch,
    Disk,
    Log,
    Metadata,
    batch,
    cleaned,
    config_record,
    marker,
    no_op_record,
    partition_change_record,
    partition_record,
    register_broker_record,
    remove_topic_record,
    topic_record,
)


@attrs.define
class Replica:
    """A broker's replica of a partition: its log, to be written to disk, and what the broker knows."""

    log: Log
    high_watermark: int = 0
    known_watermarks: list[int] = attrs.field(factory=list)
    fetches_in: int = -1

    @property
    def start(self) -> int:
        return max(self.log.log_start or 0, self.log.segments[0][0])

    def append(self, new: Batch) -> None:
        """Append a batch, and its epoch to the leader epoch checkpoint."""
        self.assign(new.epoch, new.first)
        self.log.segments[-1][1].append(new)

    def assign(self, epoch: int, start: int) -> None:
        """Enter an epoch in the leader epoch checkpoint, as `LeaderEpochFileCache` does."""
        entries = self.log.epochs
        assert entries is not None
        if entries and entries[-1][0] == epoch:
            return
        while entries and (entries[-1][0] >= epoch or entries[-1][1] >= start):
            entries.pop()
        entries.append((epoch, start))

    def truncate(self, offset: int) -> None:
        """Remove the records from an offset on."""
        kept = [(base, [each for each in held if each.first < offset]) for base, held in self.log.segments]
        self.log.segments = [(base, held) for base, held in kept if base < offset] or [(offset, [])]
        self.log.epochs = [(epoch, start) for epoch, start in self.log.epochs or [] if start < offset]
        self.high_watermark = min(self.high_watermark, offset)

    def move_start(self, offset: int) -> None:
        """Remove the records below an offset."""
        entries = self.log.epochs or []
        before = [entry for entry in entries if entry[1] <= offset]
        after = [entry for entry in entries if entry[1] > offset]
        self.log.epochs = [*([(before[-1][0], offset)] if before else []), *after]
        self.high_watermark = max(self.high_watermark, offset)


@attrs.define
class Partition:
    """A partition: what the controllers decided, and the replicas by broker."""

    topic: str
    number: int
    topic_id: UUID
    compacted: bool
    replicas: dict[int, Replica]
    isr: set[int]
    leader: int
    epoch: int = 0
    starts_own_epoch_at: int = 0
    producers: dict[int, int] = attrs.field(factory=dict)

    @property
    def leading(self) -> Replica:
        return self.replicas[self.leader]


class Simulation:
    """A cluster, driven at random.

    Parameters:
        seed: of the random numbers.
        steps: how many things happen.
    """

    def __init__(self, seed: int, steps: int = 150) -> None:
        self.random = random.Random(seed)
        self.brokers = list(range(1, self.random.randint(2, 4) + 1))
        self.metadata = Metadata()
        self.heard = dict.fromkeys(self.brokers, 0)
        self.down: set[int] = set()
        self.left_over: list[tuple[int, str, int, Log]] = []
        self.time = 0
        for broker in self.brokers:
            self.metadata.add(register_broker_record(broker, self.metadata.end, [UUID(int=100 + broker)]))
        self.partitions: list[Partition] = []
        for topic in range(self.random.randint(1, 3)):
            self._create(f"topic-{topic}", compacted=self.random.random() < 0.4)
        actions = [
            *[self._produce] * 8,
            *[self._fetch] * 24,
            *[self._advance] * 8,
            *[self._expand] * 3,
            self._shrink,
            self._elect,
            *[self._roll] * 3,
            self._retain,
            self._delete_records,
            self._compact,
            self._hear,
            self._no_op,
        ]
        for step in range(steps):
            self.time += self.random.randint(1, 1000)
            self.random.choice(actions)(self.random.choice(self.partitions))
            if step == steps // 2 and self.random.random() < 0.4:
                self._stop_one()
            if step == 3 * steps // 4 and self.random.random() < 0.4:
                self._recreate()
        self._settle()

    def _up(self, brokers: object) -> list[int]:
        return [broker for broker in brokers if broker not in self.down]  # type: ignore[attr-defined]

    def _create(self, topic: str, *, compacted: bool) -> None:
        topic_id = UUID(int=self.random.getrandbits(120) + (1 << 120))
        self.metadata.add(topic_record(topic, topic_id))
        if compacted:
            self.metadata.add(config_record(topic, "cleanup.policy", "compact"))
        for number in range(self.random.randint(1, 2)):
            up = self._up(self.brokers)
            replicas = self.random.sample(up, self.random.randint(min(2, len(up)), len(up)))
            partition = Partition(
                topic,
                number,
                topic_id,
                compacted,
                {broker: Replica(Log([(0, [])], topic_id, epochs=[])) for broker in replicas},
                set(replicas),
                replicas[0],
            )
            self.metadata.add(partition_record(topic_id, number, replicas, replicas, replicas[0]))
            partition.leading.assign(0, 0)
            self.partitions.append(partition)

    def _change(self, partition: Partition, **changes: object) -> None:
        record = partition_change_record(partition.topic_id, partition.number, **changes)  # type: ignore[arg-type]
        self.metadata.add(record)

    def _produce(self, partition: Partition) -> None:
        leader = partition.leading
        if partition.leader in self.down:
            return
        count = self.random.randint(1, 4)
        producer = self.random.choice([-1, 11, 12])
        sequence = partition.producers.get(producer, 0) if producer >= 0 else -1
        if producer >= 0:
            partition.producers[producer] = sequence + count
        keys = [self.random.randint(0, 5) for _ in range(count)]
        in_transaction = producer == 12 and self.random.random() < 0.5
        new = batch(
            leader.log.end,
            count,
            partition.epoch,
            producer=(producer, 0 if producer >= 0 else -1, sequence),
            keys=keys,
            transactional=in_transaction,
            at=self.time,
        )
        leader.append(new)
        if in_transaction:
            leader.append(marker(leader.log.end, partition.epoch, producer))

    def _fetch(self, partition: Partition) -> None:
        followers = self._up(broker for broker in partition.replicas if broker != partition.leader)
        if not followers or partition.leader in self.down:
            return
        broker = self.random.choice(followers)
        self._copy(partition, broker, self.random.randint(1, 3))

    def _copy(self, partition: Partition, broker: int, most: int) -> None:
        follower, leader = partition.replicas[broker], partition.leading
        if follower.fetches_in != partition.epoch:
            follower.truncate(self._agreement(follower, leader))
            follower.fetches_in = partition.epoch
        if follower.log.end < leader.start:
            covering = [each.first for each in leader.log.batches if each.first <= leader.start <= each.last]
            follower.log.segments, follower.log.epochs = [(covering[0] if covering else leader.start, [])], []
            follower.log.log_start = None
        end = follower.log.end
        for new in [each for each in leader.log.batches if each.first >= end][:most]:
            follower.append(new)
        missing = [each for each in leader.log.batches if each.first >= follower.log.end]
        if not missing and follower.log.end < leader.log.end:  # compaction took the end of the leader's log
            follower.log.segments.append((leader.log.end, []))
        known = min(leader.high_watermark, follower.log.end)
        if known > follower.high_watermark:
            follower.high_watermark = known
            follower.known_watermarks.append(known)

    @staticmethod
    def _agreement(follower: Replica, leader: Replica) -> int:
        """Where a follower truncates: behind the last epoch and offset that both logs have."""
        theirs = leader.log.epochs or []
        for epoch, start in reversed(follower.log.epochs or []):
            if epoch in [other for other, _ in theirs]:
                place = [other for other, _ in theirs].index(epoch)
                end = theirs[place + 1][1] if place + 1 < len(theirs) else leader.log.end
                own = next((first for other, first in follower.log.epochs or [] if other > epoch), follower.log.end)
                return max(min(end, own, follower.log.end), start)
        return max(follower.high_watermark, follower.start) if follower.log.batches else follower.log.end

    def _advance(self, partition: Partition) -> None:
        members = [partition.replicas[broker] for broker in partition.isr]
        leader = partition.leading
        if partition.leader in self.down or any(
            member.fetches_in != partition.epoch for member in members if member is not leader
        ):
            return
        committed = min(member.log.end for member in members)
        if committed > leader.high_watermark:
            leader.high_watermark = committed
            leader.known_watermarks.append(committed)

    def _expand(self, partition: Partition) -> None:
        for broker in self._up(partition.replicas.keys() - partition.isr):
            replica = partition.replicas[broker]
            reached = max(partition.leading.high_watermark, partition.starts_own_epoch_at)
            if replica.fetches_in == partition.epoch and replica.log.end >= reached:
                partition.isr.add(broker)
                self._change(partition, isr=partition.isr)
                return

    def _shrink(self, partition: Partition) -> None:
        others = [broker for broker in partition.isr if broker != partition.leader]
        if others and partition.leader not in self.down:
            partition.isr.discard(self.random.choice(others))
            self._change(partition, isr=partition.isr)

    def _elect(self, partition: Partition) -> None:
        able = self._up(broker for broker in partition.isr if broker != partition.leader)
        if able:
            self._lead(partition, self.random.choice(able))

    def _lead(self, partition: Partition, broker: int) -> None:
        partition.leader = broker
        partition.epoch += 1
        if self.random.random() < 0.5:
            partition.isr = {*self._up(partition.isr), broker}
        self._change(partition, leader=broker, isr=partition.isr)
        leader = partition.leading
        partition.starts_own_epoch_at = leader.log.end
        leader.assign(partition.epoch, leader.log.end)
        leader.fetches_in = partition.epoch
        # a new leader knows of each producer what its log says
        partition.producers = {
            each.producer[0]: each.producer[2] + each.last - each.first + 1
            for each in leader.log.batches
            if each.producer[2] >= 0
        }

    def _roll(self, partition: Partition) -> None:
        broker = self.random.choice(list(partition.replicas))
        log = partition.replicas[broker].log
        if broker not in self.down and log.segments[-1][1] and log.segments[-1][0] < log.end:
            log.segments.append((log.end, []))

    def _retain(self, partition: Partition) -> None:
        broker = self.random.choice(list(partition.replicas))
        replica = partition.replicas[broker]
        segments = replica.log.segments
        if broker in self.down or partition.compacted or len(segments) < 2 or segments[1][0] > replica.high_watermark:
            return
        del segments[0]
        replica.move_start(segments[0][0])

    def _delete_records(self, partition: Partition) -> None:
        leader = partition.leading
        if partition.compacted or partition.leader in self.down or leader.high_watermark <= leader.start + 3:
            return
        offset = self.random.randint(leader.start, leader.high_watermark)
        for broker in self._up(partition.replicas):
            replica = partition.replicas[broker]
            if replica.high_watermark >= offset > replica.start:
                replica.log.log_start = offset
                replica.move_start(offset)
                while len(replica.log.segments) > 1 and replica.log.segments[1][0] <= offset:
                    del replica.log.segments[0]
                if replica.log.segments[0][0] >= offset:
                    replica.log.log_start = None

    def _compact(self, partition: Partition) -> None:
        broker = self.random.choice(list(partition.replicas))
        replica = partition.replicas[broker]
        segments = replica.log.segments
        if broker in self.down or not partition.compacted or len(segments) < 2:
            return
        below = min(segments[-1][0], replica.high_watermark)
        closed = [place for place, (base, held) in enumerate(segments[:-1]) if not held or held[-1].last < below]
        if not closed:
            return
        newest: dict[int, int] = {}
        for place in closed:
            for each in segments[place][1]:
                newest.update({key: each.first + at for at, key in enumerate(each.keys)})
        for place in closed:
            base, held = segments[place]
            segments[place] = (base, [left for each in held if (left := self._cleaned(each, newest)) is not None])
        replica.log.cleaned_to = segments[closed[-1] + 1][0]

    def _cleaned(self, old: Batch, newest: dict[int, int]) -> Batch | None:
        offsets = range(old.first, old.last + 1)
        kept = [at for at, offset in enumerate(offsets) if newest[old.keys[at]] == offset]
        horizon = self.random.random() < 0.2
        if old.control or (len(kept) == old.records and not horizon):
            return old
        if not kept and (old.producer[0] < 0 or self.random.random() < 0.7):
            return None
        return cleaned(old, kept, horizon=horizon)

    def _hear(self, _: Partition) -> None:
        for broker in self._up(self.brokers):
            self.heard[broker] = self.metadata.end

    def _no_op(self, _: Partition) -> None:
        self.metadata.add(no_op_record())
        if self.random.random() < 0.2:
            self.metadata.elect()

    def _stop_one(self) -> None:
        """A broker stops, and never comes back."""
        broker = self.random.choice(self.brokers)
        if len(self._up(self.brokers)) < 2 or any(partition.isr == {broker} for partition in self.partitions):
            return
        self.heard[broker] = self.metadata.end
        self.down.add(broker)
        for partition in self.partitions:
            if broker in partition.isr:
                partition.isr.discard(broker)
                if partition.leader == broker:
                    able = self._up(partition.isr)
                    self._lead(partition, self.random.choice(able))
                else:
                    self._change(partition, isr=partition.isr)

    def _recreate(self) -> None:
        """A topic is deleted and made again; a broker that is down keeps the log of the old one."""
        topic = self.random.choice(self.partitions).topic
        old = [partition for partition in self.partitions if partition.topic == topic]
        self.metadata.add(remove_topic_record(old[0].topic_id))
        for partition in old:
            self.partitions.remove(partition)
            for broker in self.down & partition.replicas.keys():
                replica = partition.replicas[broker]
                replica.log.high_watermark, replica.log.recovery_point = replica.high_watermark, replica.log.end
                self.left_over.append((broker, topic, partition.number, replica.log))
        self._create(topic, compacted=old[0].compacted)

    def _settle(self) -> None:
        """All that is in the logs of the ISR is committed before the cluster stops; a follower may still lag."""
        for partition in self.partitions:
            if partition.leader in self.down:
                continue
            for broker in self._up(partition.isr):
                if broker != partition.leader and self.random.random() < 0.7:
                    self._copy(partition, broker, 1000)
            self._advance(partition)

    def disks(self, folder: Path, *, clean: bool = True) -> dict[int, Disk]:
        """The data directories, when all brokers have stopped, cleanly or not."""
        found = {}
        for broker in self.brokers:
            if broker not in self.down:
                leads = any(partition.leader == broker for partition in self.partitions)
                self.heard[broker] = self.metadata.end - (not leads and self.random.random() < 0.2)
            disk = Disk(folder / f"broker-{broker}", broker, clean=clean or broker in self.down)
            disk.directory = f"directory-{broker}"
            disk.logs["__cluster_metadata", 0] = self.metadata.log(self.heard[broker])
            for partition in self.partitions:
                if broker in partition.replicas:
                    disk.logs[partition.topic, partition.number] = self._written(partition.replicas[broker], disk.clean)
            for holder, topic, number, log in self.left_over:
                if holder == broker:
                    disk.logs.setdefault((topic, number), log)
            found[broker] = disk
        return found

    def _written(self, replica: Replica, clean: bool) -> Log:
        log = replica.log
        log.high_watermark, log.recovery_point = replica.high_watermark, log.end
        if not clean:
            if self.random.random() < 0.5 and replica.known_watermarks:
                log.high_watermark = self.random.choice(replica.known_watermarks[-3:])
            log.recovery_point = self.random.choice([base for base, _ in log.segments])
            torn = batch(log.end, 3, 99).data
            log.tail = self.random.choice([b"", b"", bytes(4096), torn[: self.random.randint(1, len(torn) - 1)]])
            if self.random.random() < 0.3:
                log.epochs = [*(log.epochs or []), ((log.epochs or [(0, 0)])[-1][0] + 1, log.end + 5)]
        return log
