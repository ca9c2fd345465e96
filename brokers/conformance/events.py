"""Convert the frames and events of a recording to observations, and find the time window of each step.

A step is executed after its cause has passed the proxy, and before the proxy receives the first frame that shows the
step's effect. For example, a leader handles a fetch request before it sends the response, and a follower handles the
response before it sends its next request.

Decisions of the controller, their announcements, and starts and ends of processes are rare, so they are kept in memory.
Fetch and produce requests are read from the file whenever they are needed, so memory usage does not grow with their
number.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from leadline.brokers.conformance import kraft, metadata_applied, upgrading, zookeeper
from leadline.brokers.conformance.announcements import learned
from leadline.brokers.conformance.clients import ACKS, consumed, produced
from leadline.brokers.conformance.context import Context, Group
from leadline.brokers.conformance.decisions import decided
from leadline.brokers.conformance.epochs import asked
from leadline.brokers.conformance.fetching import fetched
from leadline.brokers.conformance.first_fetches import find_first_fetches
from leadline.brokers.conformance.metadata import bounds_of
from leadline.brokers.conformance.not_followed import NotFollowed, expecting_the_format
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.brokers.conformance.process_events import process_events
from leadline.brokers.conformance.processes import read_processes
from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.following import FollowedRelease, followed_release, rules_of
from leadline.model.kafka.conformance.observations import Observations
from leadline.model.kafka.mixes import Mix
from leadline.model.kafka.releases import Column
from leadline.model.kafka.state import Partition

UNCLEAN = 1


def release_of(read: PartitionRecording, column: Column | Mix, without: str = "") -> FollowedRelease:
    """Return a release with the configuration of a recorded partition.

    Parameters:
        read: the part of the recording that is about the partition.
        column: the release or the mix.
        without: the name of an action to omit from the spec, or an empty string.
    """
    least = read.configs.get("min.insync.replicas") or "1"
    if not (str(least).isdecimal() and int(least)):
        raise NotFollowed(f"{read.path}: min.insync.replicas is {least}; expected a positive whole number")
    configuration: dict[str, Any] = {"min_insync_replicas": int(least), "acks": "1", **bounds_of(read)}
    unclean = read.configs.get("unclean.leader.election.enable")
    if unclean is not None:
        configuration["unclean_leader_election"] = unclean == "true"
    if any(f.api == "ElectLeaders" and f.request and f.body.get("ElectionType") == UNCLEAN for f in read.frames):
        configuration["unclean_elections"] = -1
    if not any(rules.forgets_newer_proposals for rules in rules_of(column)):
        configuration.pop("late_records", None)  # when a leader applies the record makes no difference
    acks = read.acks & ACKS.keys()
    if len(acks) == 1:
        configuration["acks"] = ACKS[next(iter(acks))]
    return followed_release(column, len(read.assignment), without, **configuration)


class Events:
    """Converts the recording of a partition to observations.

    Parameters:
        read: the part of the recording that is about the partition.
        release: the release against whose spec the observations will be checked.

    Attributes:
        beginning: the state before any broker has learned of the partition.
        notes: the number of ignored frames and events, keyed by kind.

    Raises:
        NotFollowed: if the recording cannot be converted to observations.
    """

    def __init__(self, read: PartitionRecording, release: FollowedRelease) -> None:
        self.release = release
        self.notes: Counter[str] = Counter()
        controller = kraft.read_controller(read) if read.kraft else zookeeper.read_controller(read)
        if not controller.told:
            raise NotFollowed(f"the recording does not show that a broker learns of {read.topic}-{read.partition}")
        first = min(controller.told, key=lambda told: told.epoch)
        read.number_epochs([e for e, leader in controller.leaders() if leader >= 0])
        leader = read.replica(first.leader)
        if leader is None:
            raise NotFollowed("the partition has no leader when the recording begins")
        stages = upgrading.stages_at(read, release, first.passed) if isinstance(release.column, Mix) else ()
        self.beginning: Partition = release.beginning(leader, read.isr(list(first.isr)), stages)
        processes = read_processes(read)
        if read.kraft:
            kraft.note_early_starts(read, processes)
        self._context = Context(read, Observations(release), controller, processes, self.notes)
        self._first_fetches = find_first_fetches(read, controller, processes)

    def observations(self) -> Iterator[Observation[Partition]]:
        """Yield the observations, sorted by the start of their time windows. The file is read while iterating.

        Raises:
            NotFollowed: if the recording cannot be converted to observations.
        """
        context, read = self._context, self._context.read
        with expecting_the_format(read.path):
            rare = [*learned(context, self._first_fetches), *decided(context)]
            if read.kraft:
                rare += [*metadata_applied.setting_changes(context), *metadata_applied.directories_assigned(context)]
            if isinstance(self.release.column, Mix):
                rare += upgrading.upgraded(context)
            others = [*asked(context, self._first_fetches), *process_events(context)]
            followers = [_in_order(fetched(context, follower)) for follower in range(len(read.assignment))]
            clients = [_in_order(produced(context)), _in_order(consumed(context))]
            streams = [sorted(rare, key=_begins), *followers, sorted(others, key=_begins), *clients]
            yield from _in_order_of_arrival(read, heapq.merge(*streams, key=_begins))


def _in_order_of_arrival(
    read: PartitionRecording, observations: Iterable[Observation[Partition]]
) -> Iterator[Observation[Partition]]:
    """Yield observations, and check that none begins before the previous one. Frames are read by their numbers."""
    before = 0.0
    for each in observations:
        if each.earliest < before:
            shown = "frame {}".format(*each.source) if isinstance(each.source, tuple) and each.source else "a frame"
            raise NotFollowed(
                f"{read.path}: {shown} arrived before a frame with a lower number; expected numbers in the order of "
                f"arrival"
            )
        before = each.earliest
        yield each


def _begins(observation: Observation[Partition]) -> tuple[float, float]:
    return observation.earliest, observation.latest


def _in_order(groups: Iterable[Group]) -> Iterator[Observation[Partition]]:
    """Yield the observations of groups, sorted by the start of their time windows."""
    waiting: list[tuple[tuple[float, float], int, Observation[Partition]]] = []
    number = 0
    for at, group in groups:
        for each in group:
            heapq.heappush(waiting, (_begins(each), number, each))
            number += 1
        while waiting and waiting[0][0][0] < at:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]
