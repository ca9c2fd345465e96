"""Derive from requests what was written to ZooKeeper about partitions, if leaders change the ISR there (up to 2.6).

No request to a broker contains the change. But each change has the next version of the partition's state in ZooKeeper
(`zkVersion`), and the controller tells all brokers the states that it reads after a change, in UpdateMetadata requests.
So the changes are known if no version is missing. A version of the epoch of the one before was written by the leader,
and any other by the controller.

A leader notifies the controller of its changes after 5 seconds without a further one (`maybePropagateIsrChanges` in
`ReplicaManager`). If it changes the ISR twice before, the first of them is in no file. Such a partition is left out.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from leadline.brokers.messages.leader_and_isr import partition_states
from leadline.brokers.request_logs.request import Request

_IN_DELETION = -2
"""The leader of a partition that is being deleted (`LeaderAndIsr.LeaderDuringDelete`)."""

Key = tuple[str, int]


@attrs.frozen
class _Told:
    """A state of a partition that a request contains."""

    version: int
    epoch: int
    leader: int
    isr: tuple[int, ...]
    request: Request


def state_writes(requests: Sequence[Request]) -> tuple[list[Request], dict[Key, str]]:
    """Return the writes to ZooKeeper that requests show, and remove the partitions of which not all are shown.

    Parameters:
        requests: the requests, in order of arrival. States of partitions that are left out are removed from them.

    Returns:
        The writes, and the reason for each partition that is left out.
    """
    if any(each.api == "AlterPartition" for each in requests):
        return [], {}
    found: dict[Key, list[_Told]] = defaultdict(list)
    for request in requests:
        if request.api in ("LeaderAndIsr", "UpdateMetadata"):
            for state in partition_states(request.body):
                if state["Leader"] != _IN_DELETION:
                    version = state["ZkVersion"] if "ZkVersion" in state else state["PartitionEpoch"]  # since 3.3
                    numbers = version, state["LeaderEpoch"], state["Leader"]
                    told = _Told(*numbers, tuple(state["Isr"]), request)
                    found[state["TopicName"], state["PartitionIndex"]].append(told)
    writes: list[Request] = []
    left_out: dict[Key, str] = {}
    for key, states in found.items():
        versions = sorted({each.version for each in states})
        gap = next(((a, b) for a, b in itertools.pairwise(versions) if b > a + 1), None)
        if gap is not None:
            left_out[key] = (
                f"its state in ZooKeeper had the versions {gap[0]} and {gap[1]}, and no request shows those in between"
            )
        else:
            writes += _writes(key, states)
    if left_out:
        _remove(requests, left_out)
    return writes, left_out


def _writes(key: Key, states: Sequence[_Told]) -> Iterator[Request]:
    """Yield the write of each version of a partition's state, in order."""
    first = {each.version: each for each in reversed(states)}
    lowest, before = 0.0, None
    for version in sorted(first):
        told = first[version]
        latest = min(each.request.begun for each in states if each.version >= version)
        by_leader = before is not None and before.epoch == told.epoch
        if by_leader:
            learned = [
                each.request.begun
                for each in states
                if each.request.api == "LeaderAndIsr" and (each.request.node, each.epoch) == (told.leader, told.epoch)
            ]
            lowest = max(lowest, min(learned, default=0.0))
        lowest = min(lowest, latest)
        source = told.leader if by_leader else told.request.source
        yield _write(key, told, source, lowest, latest, is_new=version == 0)
        before = told


def _write(key: Key, told: _Told, source: int | str, earliest: float, latest: float, *, is_new: bool) -> Request:
    state = {"leader": told.leader, "leader_epoch": told.epoch, "isr": list(told.isr), "version": 1}
    return Request(
        node="zookeeper",
        source=source,
        api="create" if is_new else "setData",
        version=0,
        connection=f"zookeeper {source}",
        body={"path": f"/brokers/topics/{key[0]}/partitions/{key[1]}/state", "data": json.dumps(state)},
        answer={"error": 0},
        begun=earliest,
        sent=earliest,
        done=latest,
        place=told.request.place,
    )


def _remove(requests: Sequence[Request], left_out: dict[Key, str]) -> None:
    def is_kept(topic: str, state: dict[str, Any]) -> bool:
        return (topic, state["PartitionIndex"]) not in left_out

    for request in requests:
        if request.api == "LeaderAndIsr":
            ungrouped = request.body.get("UngroupedPartitionStates") or ()
            if ungrouped:
                request.body["UngroupedPartitionStates"] = [s for s in ungrouped if is_kept(s["TopicName"], s)]
            for topic in request.body.get("TopicStates") or ():
                topic["PartitionStates"] = [s for s in topic["PartitionStates"] if is_kept(topic["TopicName"], s)]
