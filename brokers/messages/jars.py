"""Find the jars that contain the message definitions of a release."""

from __future__ import annotations

from leadline.brokers.artifacts import class_path, single_jar
from leadline.brokers.errors import BrokerError
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.releases import BrokerRelease

LAST_WITH_OLD_VERSIONS = "3.9.1"
"""The release whose definitions are used for brokers up to 3.9. It defines every version that these brokers support."""


def definitions_of(release: BrokerRelease) -> Definitions:
    """Return the message definitions of a release, or of the newest one of a mix. Jars that are not in the cache are
    downloaded.

    Raises:
        BrokerError: if a jar cannot be downloaded or read.
    """
    release = release.newest
    jars = {jar.name: jar for jar in class_path(release)}
    name = f"kafka-clients-{release.number}.jar"
    if name not in jars:
        raise BrokerError(f"the jars of Kafka {release.number} do not include {name}")
    clients = jars[name]
    if release.version < (4,) and release.number != LAST_WITH_OLD_VERSIONS:
        clients = single_jar(f"org.apache.kafka:kafka-clients:{LAST_WITH_OLD_VERSIONS}")
    metadata = jars.get(f"kafka-metadata-{release.number}.jar") if release.kraft else None
    definitions = Definitions.of_jars(clients, metadata)
    if release.version[:2] == (3, 7):  # the response was not stable yet, and 3.8 has other fields in the same version
        key = definitions.keys["ConsumerGroupDescribe"]
        own = Definitions.of_jars(jars[name]).responses[key]
        definitions.responses = {**definitions.responses, key: own}
    return definitions
