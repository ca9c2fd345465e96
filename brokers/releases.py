"""The Kafka releases that can be run as real brokers, with their artifacts, controllers and Java versions."""

from __future__ import annotations

import attrs

from leadline.brokers.errors import BrokerError
from leadline.checker.support.messages import nearest
from leadline.model.kafka.conformance.following import chain_of
from leadline.model.kafka.published import PUBLISHED, known_like
from leadline.model.kafka.releases import KRAFT, RELEASES, Column, column_of

_SPECS = "kafka/"

_RELOAD4J = ("org.slf4j:slf4j-reload4j:1.7.36", "ch.qos.reload4j:reload4j:1.2.25")
_LOG4J_2 = tuple(f"org.apache.logging.log4j:log4j-{name}:2.24.3" for name in ("slf4j-impl", "api", "core"))
_JAXB = ("javax.xml.bind:jaxb-api:2.3.1",)
_ZOOKEEPER = ("org.apache.zookeeper:zookeeper:3.4.12",)

METADATA_LEVELS = {
    "3.3": 7, "3.4": 8, "3.5": 11, "3.6": 14, "3.7": 19, "3.8": 20, "3.9": 21, "4.0": 25, "4.1": 27, "4.2": 29,
    "4.3": 30, "4.4": 33,
}  # fmt: skip
"""The highest `metadata.version` of each minor version (`MetadataVersion` in Kafka's code, without unstable ones)."""


@attrs.frozen
class BrokerRelease:
    """A Kafka release, combined with one kind of controller.

    Attributes:
        name: the version, with ``-zk`` or ``-kraft`` if the controller is not the default of the release.
        kraft: whether the controller is a KRaft controller. Otherwise, it is a broker elected with ZooKeeper.
        spec: the name of the spec that describes the release, such as ``kafka/2.8``.
        newer: the release to which a cluster is being upgraded. None except for a mix, such as ``2.7.1..2.8.1``.
            In a chain of upgrades, it is a mix itself.
    """

    name: str
    version: tuple[int, ...]
    kraft: bool
    spec: str
    newer: BrokerRelease | None = None

    @property
    def newest(self) -> BrokerRelease:
        """The last release of a mix or a chain, or the release itself."""
        return self if self.newer is None else self.newer.newest

    @property
    def number(self) -> str:
        """The version as text, such as ``2.8.0``."""
        return ".".join(map(str, self.version))

    @property
    def level(self) -> str:
        """The highest `inter.broker.protocol.version` or `metadata.version` of the release, such as ``2.8``."""
        return ".".join(map(str, self.version[: 3 if self.version < (1,) else 2]))

    @property
    def metadata_level(self) -> int | None:
        """The number of the highest `metadata.version` of the release, or None before 3.3."""
        return METADATA_LEVELS.get(self.level)

    @property
    def artifact(self) -> str:
        """The Maven coordinates of the broker, which must be downloaded with its dependencies.

        Releases before 2.4 were built with Scala 2.12 or older, and releases since 4.0 with Scala 2.13 only.
        """
        return f"org.apache.kafka:kafka_{'2.13' if self.version >= (2, 4) else '2.12'}:{self.number}"

    @property
    def others(self) -> tuple[str, ...]:
        """The Maven coordinates of additional artifacts, which are downloaded without their dependencies.

        If the broker depends on a different version of such an artifact, that version is replaced.

            * A logging library, without which brokers do not log, or do not start.
            * `javax.xml.bind`, which was removed from Java. Releases 0.10.2 and 0.11 need it to create cluster ids
              (KAFKA-4501).
            * For 2.0 to 2.3, a ZooKeeper client that resolves addresses on Java 14 and newer (ZOOKEEPER-3779).
        """
        if self.version < (1, 0):
            return _JAXB
        if self.version >= (4, 0):
            return _LOG4J_2
        return (*_RELOAD4J, *_ZOOKEEPER) if (2, 0) <= self.version < (2, 4) else _RELOAD4J

    @property
    def java(self) -> range:
        """The supported versions of Java. Since 4.0, brokers require Java 17 or later (KIP-1013)."""
        return range(17 if self.version >= (4, 0) else 8, 26)


def broker_release(name: str) -> BrokerRelease:
    """Return the release of Kafka with the given name.

    Parameters:
        name: a version such as ``2.8.0``, a minor version such as ``2.8`` (for its first release), or the name of a
            spec such as ``kafka/3.6.2-zk``.

    Raises:
        BrokerError: if the release does not exist, or if the name refers to a spec with changed rules.
    """
    short = name.removeprefix(_SPECS)
    column = column_of(_SPECS + short) if "+" not in short else None
    if column is None:
        similar = nearest(short, [each.name for each in releases()])
        raise BrokerError(
            f"unknown Kafka release {name!r}{similar or ': expected a release such as 2.8.0 or 3.6.2-zk'}"
        )
    version = short.removesuffix("-zk").removesuffix("-kraft")
    return _release(column, version if version in PUBLISHED else known_like(version)[0])


def mixed_release(name: str) -> BrokerRelease:
    """Return the release with the given name, or the mix of two releases, such as ``2.7.1..2.8.1``. A chain of
    upgrades, such as ``2.4.1..2.8.2..3.9.1-zk``, is a mix whose newer release is a mix, too.

    Raises:
        LeadlineError: if a release is not newer than the one before it; also see `broker_release`, and
            `leadline.model.kafka.mixes.mix_of`.
    """
    first, mixes, last = name.partition("..")
    old = broker_release(first)
    if not mixes:
        return old
    new = mixed_release(last)
    if new.version <= old.version:
        raise BrokerError(f"{name} is not an upgrade: give the older release first")
    mix = chain_of(f"{old.spec}..{new.spec.removeprefix(_SPECS)}")
    return attrs.evolve(old, name=f"{old.name}..{new.name}", spec=mix.name, newer=new)


def releases() -> tuple[BrokerRelease, ...]:
    """Return all releases, oldest first. Releases from 3.0 to 3.9 are listed once for each kind of controller."""
    found = [_release(column, version) for column in RELEASES for version in column.versions]
    return tuple(sorted(found, key=lambda release: (release.version, release.kraft)))


def _release(column: Column, version: str) -> BrokerRelease:
    return BrokerRelease(
        version + column.suffix,
        tuple(map(int, version.split("."))),
        column.controller == KRAFT,
        column.same_as or column.name,
    )
