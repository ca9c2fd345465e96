"""The state: a metadata log with records of one partition, and what nodes have made of it.

A partition record has all fields that Kafka's releases disagree about, and no others: the replicas, the log directory
of each (KIP-858), and the replicas that are eligible to lead (ELR, KIP-966). Levels decide which of them are written.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.bounds import bound
from leadline.checker.state import component, constant
from leadline.model.image.rules import MIGRATING, OLD, RELEASES, Protocol, Registration

NODES = range(2)


@attrs.frozen
class Bounds:
    """The limits that make the state space finite."""

    other: str = bound("", "the release of node 1, if it is another one", choices=("", *RELEASES))
    reassignments: int = bound(1, "requests of an operator to add replica 2, or to remove it", at_least=0, at_most=9)
    levels: int = bound(3, "changes of metadata.version and of the ELR's level", at_least=0, at_most=3)
    shrinks: int = bound(1, "times that replica 1 leaves the ISR, and is in the ELR", at_least=0, at_most=9)


@attrs.frozen(cache_hash=True)
class Spent:
    """How often each event that `Bounds` limits has happened."""

    reassignments: int = 0
    levels: int = 0
    shrinks: int = 0


@attrs.frozen(cache_hash=True)
class Record:
    """A record of the log: a change of the `Registration`, or another level. None stands for a field that it lacks."""

    replicas: tuple[int, ...] | None = None
    directories: tuple[str, ...] | None = None
    elr: frozenset[int] | None = None
    level: str | None = None


@attrs.frozen(cache_hash=True)
class Image:
    """What a node has made of the log up to an offset, with the level in force; or a snapshot of that."""

    offset: int
    level: str
    partition: Registration


@attrs.frozen(cache_hash=True)
class Node:
    """A controller or a broker: the image in its memory, and its last snapshot."""

    image: Image
    snapshot: Image


@attrs.frozen(cache_hash=True)
class Cluster:
    """The log, after the record that creates the partition, and the nodes."""

    log: tuple[Record, ...]
    spent: Spent
    nodes: tuple[Node, ...] = component(each="node")
    protocols: tuple[Protocol, ...] = constant()
    bounds: Bounds = constant()


def written(image: Image, protocol: Protocol) -> Image | None:
    """Return the snapshot of an image, or None if the node cannot write it.

    Below 3.7-IV2, a record has no directories, and it is an error if one is known (`PartitionRegistration.toRecord`,
    3.7.0). Nothing is said if an ELR is left out (4.0.0).
    """
    own = image.partition
    if image.level == OLD and own.directories is not None and {*own.directories} - {MIGRATING}:
        return None
    directories = None if image.level == OLD else own.directories
    elr = own.elr if image.level in protocol.elr_levels else frozenset[int]()
    return attrs.evolve(image, partition=Registration(own.replicas, directories, elr))


def read_back(snapshot: Image, protocol: Protocol) -> Image:
    """Return the image of a node that has loaded a snapshot. A release that knows of directories takes missing ones for
    those of a partition that is older than they are (`PartitionRegistration.defaultToMigrating`).
    """
    own = snapshot.partition
    directories = (own.directories or (MIGRATING,) * len(own.replicas)) if protocol.has_directories else None
    return attrs.evolve(snapshot, partition=attrs.evolve(own, directories=directories))


def applied(image: Image, record: Record, protocol: Protocol) -> Image:
    """Return the image after the next record (`PartitionRegistration.merge`)."""
    own, offset = image.partition, image.offset + 1
    if record.level is not None:
        return attrs.evolve(image, offset=offset, level=record.level)
    replicas = own.replicas if record.replicas is None else record.replicas
    directories = protocol.moved(own, replicas) if record.directories is None else record.directories
    elr = own.elr if record.elr is None else record.elr
    return attrs.evolve(image, offset=offset, partition=Registration(replicas, directories, elr))


def initial_states(bounds: Bounds, protocols: tuple[Protocol, ...]) -> Iterator[Cluster]:
    """Yield the initial state: all nodes have a snapshot with a partition on two brokers, at the lowest level."""
    snapshot = Image(0, OLD, Registration((0, 1), None))
    nodes = tuple(Node(read_back(snapshot, protocol), snapshot) for protocol in protocols)
    yield Cluster((), Spent(), nodes, protocols, bounds)
