"""Properties of images of the metadata log: what nodes make of the same records, and what their snapshots keep."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.properties import invariant, witness
from leadline.model.image.rules import LOWERED, OLD
from leadline.model.image.state import Cluster, Image, read_back, written


@invariant(
    "each node can write its image as records of the level in force",
    source="KAFKA-16583; PartitionRegistration.toRecord, MetadataLoader.initializeNewPublishers",
)
def image_writable(state: Cluster) -> Iterator[str]:
    """A node writes its image when it starts, and for each snapshot. A broker that cannot do so does not start, and a
    controller halts.
    """
    for number, (node, protocol) in enumerate(zip(state.nodes, state.protocols, strict=True)):
        if written(node.image, protocol) is None:
            said = ", ".join(node.image.partition.directories or ())
            yield f"node {number} takes the directories of replicas to be {said}, at a level {node.image.level}"


@invariant(
    "an image, and the image that is loaded from a snapshot of it, are equal",
    source="KIP-630; PartitionRegistration.toRecord",
)
def snapshot_keeps_image(state: Cluster) -> Iterator[str]:
    """Checks the snapshot that each node would write now. What cannot be written is left to `image_writable`."""
    for number, (node, protocol) in enumerate(zip(state.nodes, state.protocols, strict=True)):
        snapshot = written(node.image, protocol)
        if snapshot is not None and (loaded := read_back(snapshot, protocol)) != node.image:
            yield f"node {number} has {_said(node.image)}, and would load {_said(loaded)}"


@invariant(
    "two nodes that have read the same records have the same image, as far as both know its fields",
    source="KIP-595: the metadata log is a replicated state machine; KAFKA-16583",
)
def same_image(state: Cluster) -> Iterator[str]:
    """Compares nodes whose images end at the same offset. One of them may have started from a snapshot."""
    first, second = (node.image for node in state.nodes)
    if first.offset != second.offset or first == second:
        return
    one, other = (attrs.evolve(each.partition, directories=None) for each in (first, second))
    if one != other or None not in (first.partition.directories, second.partition.directories):
        yield f"node 0 has {_said(first)}, and node 1 has {_said(second)}"


@witness("a replica was added below metadata.version 3.7-IV2")
def replica_added_below_directories(state: Cluster) -> bool:
    return any(node.image.level == OLD and node.image.partition.replicas != (0, 1) for node in state.nodes)


@witness("the ELR is lowered while a partition has one")
def lowered_with_elr(state: Cluster) -> bool:
    return any(node.image.level == LOWERED and bool(node.image.partition.elr) for node in state.nodes)


def _said(image: Image) -> str:
    own = image.partition
    return f"replicas {[*own.replicas]} in directories {[*(own.directories or ())]} and an ELR of {sorted(own.elr)}"


PROPERTIES = (image_writable, snapshot_keeps_image, same_image)

SITUATIONS = (replica_added_below_directories, lowered_with_elr)
"""In which known bugs do harm. Checked only if they are named."""
