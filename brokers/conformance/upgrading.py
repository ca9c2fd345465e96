"""Which release each node of a mix runs, and when the level changes.

The events `runs` say what a node is when it starts. With KRaft, records of the metadata log change the level and
features. With ZooKeeper, the sources of the controller's requests show which broker is the controller.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from leadline.brokers.client import ELIGIBLE_REPLICAS, METADATA_VERSION
from leadline.brokers.conformance.context import Context
from leadline.brokers.conformance.frames import CONTROLLER
from leadline.brokers.conformance.metadata import created_at
from leadline.brokers.conformance.metadata_applied import at_broker, written
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.conformance.partition import Announcement, PartitionRecording
from leadline.brokers.releases import mixed_release
from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.following import FollowedRelease
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.mixes import Mix
from leadline.model.kafka.rolls import NEW_FEATURES, NEW_LEVEL, OLD_FEATURES
from leadline.model.kafka.state import Partition


def stages_at(read: PartitionRecording, release: FollowedRelease, at: float) -> tuple[int, ...]:
    """Return the stages of the brokers that have a replica, and then of the controller, at a time.

    Raises:
        NotFollowed: if the recording does not say this, or names a stage that the mix does not have.
    """
    active = CONTROLLER if read.kraft else [node for _, begun, node in _controllers(read) if begun <= at][-1]
    if (count := 1 + len(_later_upgrades(read))) > len(release.upgrades):
        raise NotFollowed(f"{read.path} has {count} upgrades, one after the other; expected {release.column.name}")
    runs = [(each["time"], each["node"]) for each in read.events if each["event"] == "runs"]
    stages = [(_upgrade_at(read, time), read.stage_of(node, time)) for time, node in runs]
    stages += [(upgrade, stage) for _, upgrade, stage in _changes(read)]
    if any(stage >= len(release.upgrades[upgrade].stages) for upgrade, stage in stages):
        raise NotFollowed(f"{read.path}: a feature is raised or lowered that is the same in {release.column.name}")
    found = tuple(read.stage_of(node, at) for node in (*read.assignment, active))
    _check_level(read, found[-1])
    return found


def _check_level(read: PartitionRecording, stage: int) -> None:
    """Check that the metadata log, if the recording has its beginning, names the level of a stage (KRaft)."""
    about = str(read.about.get("release"))
    if ".." not in about:
        return
    old = mixed_release(about)
    runs = old if stage < NEW_LEVEL or old.newer is None else old.newer
    for each in read.metadata:
        is_earlier = each.name == "FeatureLevelRecord" and each.offset < created_at(read)
        if is_earlier and each.body["Name"] == METADATA_VERSION and each.body["FeatureLevel"] != runs.metadata_level:
            raise NotFollowed(
                f"{read.path}: {METADATA_VERSION} changes before {read.topic}-{read.partition} is created"
            )


def stage_at(context: Context, broker: int, at: float) -> int:
    """Return the stage with which a broker starts, or 0 if it is not followed as a part of a mix."""
    mixed = isinstance(context.make.release.column, Mix)
    return context.read.stage_of(context.read.assignment[broker], at) if mixed else 0


def upgraded(context: Context) -> Iterator[Observation[Partition]]:
    """Yield the observations of other controllers and, with KRaft, of changes of the level and of features."""
    read, make = context.read, context.make
    begun = [each["time"] for each in read.events if (each["event"], each["node"]) == ("runs", CONTROLLER)]
    for earliest, at, node in [(at, at, CONTROLLER) for at in begun] or _controllers(read):
        if at > min(told.passed for told in context.controller.told):
            yield make.controller_runs(Window(earliest, at), read.stage_of(node, at))
    for upgrade, at in enumerate(_later_upgrades(read), start=1):
        yield make.upgrade_begins(Window(at, at), upgrade)
    known = set[int]()
    for each, upgrade, stage in _changes(read):
        if each.offset not in known:
            known.add(each.offset)
            yield make.level_changed(written(context, each), stage)
        if _upgrade_at(read, each.frame.arrived) == upgrade:  # brokers that start later have applied it
            yield from at_broker(context, each, make.level_applied, stage, upgrade)


def _later_upgrades(read: PartitionRecording) -> list[float]:
    """Return when the second upgrade of a chain begins, and each later one."""
    return [each["time"] for each in read.events if each["event"] == "upgrade"]


def _upgrade_at(read: PartitionRecording, at: float) -> int:
    """Return the number of the upgrade to which a time belongs, from 0."""
    return bisect.bisect_right(_later_upgrades(read), at)


def _changes(read: PartitionRecording) -> Iterator[tuple[Announcement, int, int]]:
    """Yield the records that change the level or a feature after the partition was created, once for each broker that
    received them, in order, with the number of the upgrade and the stage of a cluster that has applied them.
    """
    created, upgrade = created_at(read), dict[int, int]()
    for each in sorted(read.metadata, key=lambda each: (each.offset, each.frame.arrived)):
        if each.name == "FeatureLevelRecord" and each.offset > created:
            number = upgrade.setdefault(each.offset, _upgrade_at(read, each.frame.arrived))
            if each.body["Name"] == METADATA_VERSION:
                yield each, number, NEW_LEVEL
            elif each.body["Name"] == ELIGIBLE_REPLICAS:
                yield each, number, NEW_FEATURES if each.body["FeatureLevel"] else OLD_FEATURES


def _controllers(read: PartitionRecording) -> Iterator[tuple[float, float, object]]:
    """Yield each controller (ZooKeeper) with the times of the last request of the one before and of its own first."""
    active, last = object(), 0.0
    for frame in read.frames:
        if frame.api == "LeaderAndIsr" and frame.request:
            if frame.source != active:
                active = frame.source
                yield last, frame.arrived, active
            last = frame.arrived
