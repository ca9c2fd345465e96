"""The steps: an active controller writes records, nodes read them, take snapshots, and start again from these.

Any node that has read the whole log may be the active controller. It writes what the level in force has.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.checker.update import field_of, put
from leadline.model.image.rules import DIRECTORIES, ELR, LEVELS, OLD, unassigned
from leadline.model.image.state import NODES, Cluster, Record, applied, read_back, written


def _appended(state: Cluster, node: int, record: Record, event: str) -> Iterator[Cluster]:
    """Yield the state after the active controller has written a record, and read it, unless a bound is reached.

    With the ELR lowered, each change of a partition clears what the controller knows of it
    (`PartitionChangeBuilder.maybeUpdateRecordElr`, 4.1.1).
    """
    image, count = state.nodes[node].image, field_of(state.spent, event)
    if image.offset < len(state.log) or count == field_of(state.bounds, event):
        return
    if record.level is None and image.level != ELR and image.partition.elr:
        record = attrs.evolve(record, elr=frozenset())
    after = applied(image, record, state.protocols[node])
    spent = attrs.evolve(state.spent, **{event: count + 1})
    yield put(attrs.evolve(state, log=(*state.log, record), spent=spent), "nodes", node, "image", after)


@action("node {node}, the active controller, adds or removes replica 2, as an operator asks", node=NODES)
def reassign(state: Cluster, node: int) -> Iterator[Cluster]:
    """From 3.7-IV2 on, a record has all directories (`PartitionChangeBuilder.setAssignmentChanges`)."""
    image = state.nodes[node].image
    replicas = (0, 1, 2) if image.partition.replicas == (0, 1) else (0, 1)
    directories = None if image.level == OLD else unassigned(image.partition, replicas)
    yield from _appended(state, node, Record(replicas, directories), "reassignments")


@action("node {node}, the active controller, writes that replica 1 left the ISR, and is in the ELR", node=NODES)
def shrink_isr(state: Cluster, node: int) -> Iterator[Cluster]:
    """The ISR is then smaller than `min.insync.replicas`."""
    image = state.nodes[node].image
    if image.level == ELR and not image.partition.elr:
        yield from _appended(state, node, Record(elr=frozenset({1})), "shrinks")


@action("node {node}, the active controller, writes the next level, as an operator asks", node=NODES)
def change_level(state: Cluster, node: int) -> Iterator[Cluster]:
    """All nodes must support it. `metadata.version` cannot go back below 3.7-IV2 (`MetadataVersion.didMetadataChange`).
    The records of partitions stay as they are.
    """
    at = LEVELS.index(state.nodes[node].image.level) + 1
    for level in LEVELS[at : at + 1]:
        if all(each.has_directories and (level == DIRECTORIES or each.elr_levels) for each in state.protocols):
            yield from _appended(state, node, Record(level=level), "levels")


@action("node {node} reads the next record of the log", node=NODES)
def read(state: Cluster, node: int) -> Iterator[Cluster]:
    image = state.nodes[node].image
    if image.offset < len(state.log):
        yield put(state, "nodes", node, "image", applied(image, state.log[image.offset], state.protocols[node]))


@action("node {node} takes a snapshot", node=NODES)
def take_snapshot(state: Cluster, node: int) -> Iterator[Cluster]:
    """A node that cannot write its image only logs an error, as it does while it runs (`SnapshotGenerator`)."""
    own = state.nodes[node]
    found = written(own.image, state.protocols[node])
    if found is not None and own.snapshot.offset < own.image.offset:
        yield put(state, "nodes", node, "snapshot", found)


@action("node {node} starts again, from its snapshot", node=NODES)
def restart(state: Cluster, node: int) -> Iterator[Cluster]:
    """It reads the records after the snapshot later."""
    yield put(state, "nodes", node, "image", read_back(state.nodes[node].snapshot, state.protocols[node]))


ACTIONS = (reassign, shrink_isr, change_level, read, take_snapshot, restart)
