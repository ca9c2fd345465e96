"""The releases of Kafka that could have written the logs of a partition, according to the files on disk."""

from __future__ import annotations

import attrs

from leadline.model.disk.partition import DiskPartition
from leadline.model.kafka.releases import KRAFT, RELEASES, ZOOKEEPER, Column


@attrs.frozen
class ReleaseRange:
    """A range of releases.

    Attributes:
        text: the range in words, such as ``releases before 0.11``.
        names: the catalog names of the releases in the range.
    """

    text: str
    names: frozenset[str]


def _between(
    text: str,
    first: tuple[int, ...] = (),
    end: tuple[int, ...] = (100,),
    controllers: tuple[str, ...] = (KRAFT, ZOOKEEPER),
) -> ReleaseRange:
    """Return the releases from version `first` up to, but not including, version `end`.

    Parameters:
        text: the range in words.
        first, end: the first version, and the version before which the range ends.
        controllers: the kinds of controller. Releases with any other kind are left out.
    """
    return ReleaseRange(
        text,
        frozenset(
            column.name for column in RELEASES if first <= _version(column) < end and column.controller in controllers
        ),
    )


def _version(column: Column) -> tuple[int, ...]:
    return tuple(map(int, column.versions[0].split(".")))


WITH_KRAFT = _between("releases with KRaft", controllers=(KRAFT,))
SINCE_TOPIC_IDS = _between("releases since 2.8", (2, 8))
SINCE_LEADER_EPOCHS = _between("releases since 0.11 with ZooKeeper", (0, 11), controllers=(ZOOKEEPER,))
BEFORE_LEADER_EPOCHS = _between("releases before 0.11", (), (0, 11))


def releases_of(partition: DiskPartition, *, has_metadata: bool) -> ReleaseRange:
    """Return the releases that could have written the logs of a partition.

    Brokers have a metadata log only in KRaft mode. Only brokers of version 2.8 or later store topic ids (KIP-516). With
    ZooKeeper, even these brokers do not store topic ids if ``inter.broker.protocol.version`` is below 2.8 (Apache
    Kafka's KafkaConfig.usesTopicId). Brokers of version 0.11 or later store leader epochs, both in batches and in a
    checkpoint (KIP-101).

    Parameters:
        has_metadata: whether a directory of the cluster contains a metadata log.
    """
    replicas = [replica for _, replica in partition.replicas_of()]
    if has_metadata:
        return WITH_KRAFT
    if partition.topic_id is not None:
        return SINCE_TOPIC_IDS
    if any(replica.epochs is not None or (replica.batches["magic"] >= 2).any() for replica in replicas):
        return SINCE_LEADER_EPOCHS
    return BEFORE_LEADER_EPOCHS
