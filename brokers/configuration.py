"""The configuration of brokers, KRaft controllers and ZooKeeper, for each release.

Long timeouts keep brokers from acting on their own, so that a held message is not sent again, and leaders and ISRs
change only when a process ends. The settings are taken from the configuration reference of each release and, where it
is incomplete, from the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import javaproperties

from leadline.brokers.releases import BrokerRelease

CONTROLLER_ID = 100
"""The node id of the KRaft controller. It must differ from all broker ids."""

HOST = "127.0.0.1"

_VERY_LONG_MS = "600000"

_BROKER = {
    "num.network.threads": "1",
    "num.io.threads": "4",
    "num.replica.fetchers": "1",
    "background.threads": "2",
    # LogSegment.read returns the first batch even if it is larger: a fetch returns exactly one batch, as in the model.
    "replica.fetch.max.bytes": "1",
    "replica.fetch.wait.max.ms": "500",
    "replica.fetch.backoff.ms": "200",
    "replica.lag.time.max.ms": _VERY_LONG_MS,
    "replica.socket.timeout.ms": _VERY_LONG_MS,
    "controller.socket.timeout.ms": _VERY_LONG_MS,
    "request.timeout.ms": _VERY_LONG_MS,
    "connections.max.idle.ms": "3600000",
    "replica.high.watermark.checkpoint.interval.ms": "500",
    "auto.leader.rebalance.enable": "false",
    "auto.create.topics.enable": "false",
    "unclean.leader.election.enable": "false",
    "log.cleaner.enable": "false",
    "log.retention.ms": "-1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}

_KRAFT = {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "6000",
    "initial.broker.registration.timeout.ms": _VERY_LONG_MS,
    "controller.quorum.request.timeout.ms": _VERY_LONG_MS,  # a held metadata fetch would be sent again
    "metadata.max.idle.interval.ms": "0",  # no NoOpRecords
}


def broker_properties(release: BrokerRelease, broker: int, data: Path, port: int, advertised: int) -> dict[str, str]:
    """Return the configuration of a broker, except the properties that depend on the kind of controller.

    Parameters:
        advertised: the port that clients and other brokers connect to.
    """
    properties = _BROKER | {
        "log.dirs": str(data),
        "listeners": f"PLAINTEXT://{HOST}:{port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{advertised}",
        "node.id" if release.kraft else "broker.id": str(broker),
    }
    if release.version >= (1, 1):
        properties["max.incremental.fetch.session.cache.slots"] = "0"  # every fetch request names all partitions
    return properties


def with_zookeeper(port: int) -> dict[str, str]:
    """Return the properties that connect a broker to ZooKeeper on the given port."""
    return {"zookeeper.connect": f"{HOST}:{port}", "zookeeper.session.timeout.ms": "40000"}


def with_controller(port: int) -> dict[str, str]:
    """Return the properties that connect a broker to the KRaft controller on the given port."""
    return _KRAFT | {"process.roles": "broker", "controller.quorum.voters": f"{CONTROLLER_ID}@{HOST}:{port}"}


def at_level(release: BrokerRelease) -> dict[str, str]:
    """Return the properties that set a broker, with ZooKeeper, to the level of a release."""
    return {"inter.broker.protocol.version": release.level, "log.message.format.version": release.level}


def controller_properties(release: BrokerRelease, data: Path, port: int, advertised: int) -> dict[str, str]:
    """Return the configuration of a KRaft controller. The parameters are the same as for `broker_properties`."""
    properties = _BROKER | with_controller(advertised)
    properties |= {
        "process.roles": "controller",
        "node.id": str(CONTROLLER_ID),
        "log.dirs": str(data),
        "listeners": f"CONTROLLER://{HOST}:{port}",
    }
    if release.version >= (3, 9):  # before, KafkaConfig refuses this property on a controller
        properties["advertised.listeners"] = f"CONTROLLER://{HOST}:{advertised}"
    return properties


def zookeeper_properties(data: Path, port: int) -> dict[str, str]:
    """Return the configuration of a ZooKeeper server. By default, ZooKeeper limits session timeouts to 20 ticks."""
    return {
        "tickTime": "3000",
        "maxSessionTimeout": "600000",
        "dataDir": str(data),
        "clientPort": str(port),
        "clientPortAddress": HOST,
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
    }


def meta_properties(cluster_id: str, node: int) -> dict[str, str]:
    """Return the properties for `meta.properties`, the file that marks a KRaft data directory as formatted."""
    return {"version": "1", "cluster.id": cluster_id, "node.id": str(node)}


def logging_options(release: BrokerRelease, folder: Path) -> list[str]:
    """Write a logging configuration to the given folder, and return the Java options that select it."""
    pattern = "%d{HH:mm:ss.SSS} %p %m (%c)%n"
    if release.version >= (4, 0):
        file = folder / "log4j2.properties"
        content = {
            "appender.out.type": "Console",
            "appender.out.name": "out",
            "appender.out.layout.type": "PatternLayout",
            "appender.out.layout.pattern": pattern,
            "rootLogger.level": "info",
            "rootLogger.appenderRef.out.ref": "out",
        }
        option = f"-Dlog4j2.configurationFile={file.as_uri()}"
    else:
        file = folder / "log4j.properties"
        content = {
            "log4j.rootLogger": "INFO, out",
            "log4j.appender.out": "org.apache.log4j.ConsoleAppender",
            "log4j.appender.out.layout": "org.apache.log4j.PatternLayout",
            "log4j.appender.out.layout.ConversionPattern": pattern,
        }
        option = f"-Dlog4j.configuration={file.as_uri()}"
    write_properties(file, content)
    return [option]


def write_properties(file: Path, properties: Mapping[str, str]) -> None:
    """Write a properties file."""
    file.write_text(javaproperties.dumps(properties, timestamp=None), encoding="ascii")
