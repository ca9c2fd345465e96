"""Find the jars that have the definitions of a release's messages."""

from __future__ import annotations

from leadline.brokers.artifacts import class_path, single_jar
from leadline.brokers.errors import BrokerError
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.releases import BrokerRelease

LAST_WITH_OLD_VERSIONS = "3.9.1"
"""The release whose definitions serve brokers up to 3.9. It has every version that they speak; 4.0 removed many."""


def definitions_of(release: BrokerRelease) -> Definitions:
    """Return the definitions for the brokers of a release, and download the jars that the cache does not have.

    Raises:
        BrokerError: if a jar cannot be downloaded or read.
    """
    jars = {jar.name: jar for jar in class_path(release)}
    name = f"kafka-clients-{release.number}.jar"
    if name not in jars:
        raise BrokerError(f"the jars of Kafka {release.number} do not include {name}")
    clients = jars[name]
    if release.version < (4,) and release.number != LAST_WITH_OLD_VERSIONS:
        clients = single_jar(f"org.apache.kafka:kafka-clients:{LAST_WITH_OLD_VERSIONS}")
    metadata = jars.get(f"kafka-metadata-{release.number}.jar") if release.kraft else None
    return Definitions.of_jars(clients, metadata)
