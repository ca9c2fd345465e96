"""Find what the controller told brokers that contradicts what a recording shows elsewhere.

The states of the model do not show this. They have the last decision of the controller only, and an announcement that
teaches a broker nothing is not followed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from leadline.brokers.conformance.frames import Body, Seen
from leadline.brokers.conformance.partition import Announcement, PartitionRecording
from leadline.model.kafka.conformance.words import listed

_READ = (
    *("PartitionId", "Leader", "LeaderEpoch", "Isr", "Replicas", "AddingReplicas", "RemovingReplicas"),
    *("BrokerId", "Fenced", "ResourceName", "Name", "Value", "EligibleLeaderReplicas", "LastKnownElr"),
)
"""The fields of metadata records that are read."""
_DEFAULTS = {"Leader": -2, "Fenced": 0}
"""The values that say that nothing changes (PartitionChangeRecord.json, BrokerRegistrationChangeRecord.json)."""


@attrs.frozen
class Contradiction:
    """A frame that contradicts others.

    Attributes:
        at: the time when the frame arrived.
        frames: the numbers of the frames.
        label: what the controller told a broker.
        why: what the other frames show.
    """

    at: float
    frames: tuple[int, ...]
    label: str
    why: str


def contradictions(
    read: PartitionRecording, writes: Iterable[tuple[Seen, Mapping[str, Any]]]
) -> Iterator[Contradiction]:
    """Yield the contradictions of a recording.

    Parameters:
        read: the recording of the partition.
        writes: the requests that write the state of the partition to ZooKeeper, each with the state.
    """
    return _in_the_metadata_log(read) if read.kraft else _in_requests(read, list(writes))


# --- KRaft ------------------------------------------------------------------------------------------------------------


def _in_the_metadata_log(read: PartitionRecording) -> Iterator[Contradiction]:
    """Yield the records that differ from the one that another broker got at the same offset, in the same epoch."""
    known: dict[tuple[int, int | None], Announcement] = {}
    for each in read.metadata:
        first = known.setdefault((each.offset, each.leader_epoch), each)
        if (each.name, _told(each.body)) != (first.name, _told(first.body)):
            yield Contradiction(
                each.frame.arrived,
                (each.frame.number,),
                f"the controller sends broker {read.replica(each.frame.target)} this record at offset {each.offset} of "
                f"the metadata log: {_record(each)}",
                f"it sent broker {read.replica(first.frame.target)} another record at this offset in frame "
                f"{first.frame.number}: {_record(first)}",
            )


def _told(body: Body) -> dict[str, Any]:
    """Return the fields of a metadata record that are read. Others, and defaults, can be left out of a recording."""
    found = {name: body.get(name) for name in _READ}
    return {name: value for name, value in found.items() if value is not None and value != _DEFAULTS.get(name)}


def _record(each: Announcement) -> str:
    return f"{each.name} {json.dumps(_told(each.body))}" if each.body else f"{each.name} about something else"


# --- ZooKeeper --------------------------------------------------------------------------------------------------------


@attrs.define
class _Epoch:
    """What writes to ZooKeeper, and AlterPartition requests, show of a leader epoch."""

    begun: float
    leader: int | None
    frame: int
    isrs: dict[frozenset[int], None] = attrs.field(factory=dict)


def _in_requests(read: PartitionRecording, writes: list[tuple[Seen, Mapping[str, Any]]]) -> Iterator[Contradiction]:
    """Yield the LeaderAndIsr requests with a leader or an ISR that the epoch never had, or from before the epoch."""
    epochs = _epochs(read, writes)
    for frame in read.frames:
        if frame.api == "LeaderAndIsr" and frame.request and read.replica(frame.target) is not None:
            for state in read.states(frame):
                epoch = epochs.get(state["LeaderEpoch"])
                why = "" if epoch is None else _against(read, frame, state, epoch)
                if why:
                    yield Contradiction(frame.arrived, (frame.number,), _announced(read, frame, state), why)


def _epochs(read: PartitionRecording, writes: Iterable[tuple[Seen, Mapping[str, Any]]]) -> dict[int, _Epoch]:
    """Return the leader epochs that are written to ZooKeeper, with all ISRs that they may have had."""
    epochs: dict[int, _Epoch] = {}
    for frame, state in writes:
        if frame.passed is not None:
            begun = min(frame.arrived, frame.passed)
            epoch = epochs.setdefault(state["leader_epoch"], _Epoch(begun, state["leader"], frame.number))
            epoch.isrs[frozenset(state["isr"])] = None
    for frame in read.frames:
        part = read.part(frame.body) if frame.api == "AlterPartition" else None
        if part is not None and part.get("LeaderEpoch") in epochs:
            ids = part.get("NewIsr") or part.get("Isr") or ()
            epochs[part["LeaderEpoch"]].isrs[frozenset(ids)] = None
    return epochs


def _against(read: PartitionRecording, frame: Seen, state: Body, epoch: _Epoch) -> str:
    """Return why a state in a LeaderAndIsr request contradicts its epoch, or an empty string if it does not."""
    if frame.arrived < epoch.begun:
        return f"this epoch begins later, with the write to ZooKeeper in frame {epoch.frame}"
    if state["Leader"] != epoch.leader:
        return f"in this epoch, {_leads(read, epoch.leader)}, as frame {epoch.frame} writes to ZooKeeper"
    if frozenset(state["Isr"]) not in epoch.isrs:
        isrs = " or ".join(_isr(read, isr) for isr in epoch.isrs)
        return f"in this epoch, the ISR in ZooKeeper is {isrs} (frame {epoch.frame} begins the epoch)"
    return ""


def _announced(read: PartitionRecording, frame: Seen, state: Body) -> str:
    number = read.epoch(state["LeaderEpoch"])
    epoch = f"epoch {number}" if number is not None and number >= 0 else f"Kafka's leader epoch {state['LeaderEpoch']}"
    return (
        f"the controller tells broker {read.replica(frame.target)} that {_leads(read, state['Leader'])} in {epoch} "
        f"with ISR {_isr(read, state['Isr'])}"
    )


def _leads(read: PartitionRecording, node: int | None) -> str:
    replica = read.replica(node)
    return "no broker leads" if replica is None else f"broker {replica} leads"


def _isr(read: PartitionRecording, ids: Iterable[int]) -> str:
    return listed(read.isr(list(ids)))
