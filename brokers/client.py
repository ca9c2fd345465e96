"""A simple Kafka client. It opens a new connection for each request, and does not retry failed requests.

The producers and consumers in client libraries retry, refresh their metadata and reconnect on their own. The replay of
a trace cannot use them, because it holds back individual frames and must know every frame that is sent.
"""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from leadline.brokers.configuration import HOST
from leadline.brokers.messages.batches import read_batches, write_batch
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.messages.requests import UNSUPPORTED_VERSION, RequestHeader, read_response, write_request
from leadline.brokers.pending import Pending, Refused, Unanswered
from leadline.brokers.ports import Node
from leadline.model.disk.batches import Record

CLIENT_ID = "leadline"

NEWEST = {
    "AddPartitionsToTxn": 3,
    "AlterPartitionReassignments": 0,
    "ConsumerGroupDescribe": 0,
    "CreateTopics": 5,
    "DescribeGroups": 1,
    "DescribeTopicPartitions": 0,
    "ElectLeaders": 2,
    "EndTxn": 3,
    "Fetch": 10,
    "FindCoordinator": 2,
    "Heartbeat": 3,
    "IncrementalAlterConfigs": 1,
    "InitProducerId": 3,
    "JoinGroup": 5,
    "LeaveGroup": 2,
    "ListOffsets": 4,
    "Metadata": 9,
    "OffsetCommit": 9,
    "OffsetFetch": 5,
    "Produce": 8,
    "SyncGroup": 3,
}
"""The newest version of requests that this client uses. Later versions name topics only by id, for example, followers
also respond to later versions of Fetch (KIP-392), and later versions of EndTxn raise the producer epoch (KIP-890)."""

EARLIEST, LATEST = -2, -1
"""Values that `Client.list_offset` accepts instead of a timestamp."""

METADATA_VERSION, ELIGIBLE_REPLICAS = "metadata.version", "eligible.leader.replicas.version"
"""Features that `Client.set_feature` can change."""

PREFERRED, UNCLEAN = 0, 1
"""The kinds of elections that `Client.elect` can request."""

FETCH_BYTES = 2**20
"""The maximum size of a response to a fetch request, in bytes. A broker sends at least one batch."""

T = TypeVar("T")


@attrs.frozen
class PartitionView:
    """The state of a partition, according to a broker's metadata.

    Attributes:
        leader: the leader, or None if the partition has no leader.
        leader_epoch: the leader epoch, or None if the version of the Metadata response is lower than 7 (before Kafka
            2.1).
        replicas, isr: the replicas in the order in which they were assigned, and the in-sync replicas.
        error: the error code, or 0 if there is no error.
    """

    leader: int | None
    leader_epoch: int | None
    replicas: tuple[int, ...]
    isr: frozenset[int]
    error: int


@attrs.frozen
class Fetched:
    """The response to a consumer's Fetch request.

    Attributes:
        error: the error code, or 0 if there is no error.
        records: the records, except those in control batches.
    """

    error: int
    high_watermark: int
    records: tuple[Record, ...]


class Client:
    """Sends requests to brokers.

    Any thread may call its methods.

    Parameters:
        ports: the port of each broker and of the KRaft controller. If a process has a proxy, this is the port of the
            proxy.
        timeout: the default timeout for a request, in seconds.
    """

    def __init__(self, definitions: Definitions, ports: Mapping[Node, int], *, timeout: float = 30.0) -> None:
        self._definitions, self._ports, self._timeout = definitions, ports, timeout
        self._correlations = itertools.count(1)
        self._versions: dict[Node, dict[str, int]] = {}

    def send(
        self, node: Node, api: str, body: Mapping[str, Any], read: Callable[[dict[str, Any]], T], *, version: int
    ) -> Pending[T]:
        """Send a request on a new connection.

        Parameters:
            node: the broker or controller that receives the request.
            api: the name of the request, for example "Metadata".
            body: the fields of the request, keyed by name.
            read: a function that converts the body of the response to the result.

        Raises:
            Unanswered: if the node cannot be reached.
        """
        header = RequestHeader(self._definitions.keys[api], version, next(self._correlations), CLIENT_ID)
        frame = write_request(self._definitions, header, body)
        try:
            connection = socket.create_connection((HOST, self._ports[node]), self._timeout)
            connection.sendall(frame)
        except OSError as error:
            raise Unanswered(f"cannot send {api} to {node}: {error}") from error
        return Pending(connection, lambda raw: read(read_response(self._definitions, header, raw)), f"{api} to {node}")

    def version(self, node: Node, api: str) -> int:
        """Return the newest version of a request that both this client and the given node support. Each node is asked
        only once.

        Raises:
            Unanswered: if the node does not return its supported versions.
            Refused: if no version is supported by both the client and the node.
        """
        if node not in self._versions:
            answer = self.send(node, "ApiVersions", {}, dict, version=0).result(self._timeout)
            self._versions[node] = dict(self._common(answer["ApiKeys"]))
        if api not in self._versions[node]:
            raise Refused(api, UNSUPPORTED_VERSION, f"{node} and this client support no common version")
        return self._versions[node][api]

    def _common(self, keys: Sequence[Mapping[str, int]]) -> Iterator[tuple[str, int]]:
        for each in keys:
            message = self._definitions.requests.get(each["ApiKey"])
            if message is not None:
                newest = min(each["MaxVersion"], message.versions.last, NEWEST.get(message.api, each["MaxVersion"]))
                if newest >= max(each["MinVersion"], message.versions.first):
                    yield message.api, newest

    def ask(
        self,
        node: Node,
        api: str,
        body: Mapping[str, Any],
        *,
        version: int | None = None,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Send a request, and return the body of the response.

        Parameters:
            node: the broker or controller that receives the request.
            api: the name of the request, for example "BrokerHeartbeat".
            body: the fields of the request, keyed by name.
            version: the version of the request, or None for the newest version that both the client and the node
                support.
            timeout: the timeout in seconds.

        Raises:
            Unanswered: if there is no valid response in time.
            Refused: if no version is supported by both the client and the node.
            ValueError: if the body cannot be encoded in this version.
        """
        version = self.version(node, api) if version is None else version
        return self.send(node, api, body, dict, version=version).result(self._timeout if timeout is None else timeout)

    def create_topic(
        self, broker: int, topic: str, assignment: Sequence[Sequence[int]], configs: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic.

        Parameters:
            broker: the broker that receives the request. With ZooKeeper, it must be the controller.
            assignment: for each partition, its replicas, beginning with the preferred leader.

        Raises:
            Unanswered: if there is no valid response in time.
            Refused: if the response contains an error.
        """
        creatable = {
            "Name": topic,
            "NumPartitions": -1,
            "ReplicationFactor": -1,
            "Assignments": [{"PartitionIndex": i, "BrokerIds": list(b)} for i, b in enumerate(assignment)],
            "Configs": [{"Name": name, "Value": value} for name, value in (configs or {}).items()],
        }
        milliseconds = int(self._timeout * 1000)
        answer = self.ask(broker, "CreateTopics", {"Topics": [creatable], "timeoutMs": milliseconds})
        (created,) = answer["Topics"]
        _refuse("CreateTopics", created)

    def metadata(self, broker: int, *, timeout: float | None = None) -> dict[str, Any]:
        """Return a broker's metadata about the cluster and all topics.

        Raises:
            Unanswered: if there is no valid response in time.
        """
        body: dict[str, Any] = {"Topics": None}
        if self.version(broker, "Metadata") >= 4:
            body["AllowAutoTopicCreation"] = False
        return self.ask(broker, "Metadata", body, timeout=timeout)

    def partition(self, broker: int, topic: str, partition: int = 0) -> PartitionView | None:
        """Return the state of a partition in a broker's metadata, or None if the metadata does not contain it.

        Raises:
            Unanswered: if there is no valid response in time.
        """
        for each in self.metadata(broker)["Topics"]:
            for found in each["Partitions"]:
                if (each["Name"], found["PartitionIndex"]) == (topic, partition):
                    leader = found["LeaderId"]
                    return PartitionView(
                        leader=None if leader < 0 else leader,
                        leader_epoch=found.get("LeaderEpoch"),
                        replicas=tuple(found["ReplicaNodes"]),
                        isr=frozenset(found["IsrNodes"]),
                        error=found["ErrorCode"],
                    )
        return None

    def send_produce(
        self,
        broker: int,
        topic: str,
        *values: bytes,
        partition: int = 0,
        acks: int = -1,
        timeout_ms: int = 30_000,
        gzip: bool = False,
    ) -> Pending[int]:
        """Send a Produce request with one batch. When the broker responds, the returned `Pending` provides the offset
        of the first record.

        Parameters:
            topic, partition: the topic and the number of the partition.
            acks: -1 (all) or 1. The value 0 is not supported, because brokers do not respond to requests with this
                value.
            timeout_ms: how long the broker waits for the ISR to replicate the records, in milliseconds.
            gzip: whether to compress the batch, if the broker supports batches of magic 2.

        Raises:
            Unanswered: if the broker cannot be reached.
            ValueError: if acks is not -1 or 1.
        """
        if acks not in (-1, 1):
            raise ValueError(f"acks is {acks}; expected -1 or 1")
        version = self.version(broker, "Produce")
        magic = 2 if version >= 3 else 1 if version == 2 else 0
        records = write_batch(values, int(time.time() * 1000), magic=magic, gzip=gzip and magic == 2)
        data = {"Name": topic, "PartitionData": [{"Index": partition, "Records": records}]}
        body = {"Acks": acks, "TimeoutMs": timeout_ms, "TopicData": [data]}
        if version >= 3:
            body["TransactionalId"] = None
        return self.send(broker, "Produce", body, _produced, version=version)

    def produce(
        self,
        broker: int,
        topic: str,
        *values: bytes,
        partition: int = 0,
        acks: int = -1,
        timeout: float | None = None,
        gzip: bool = False,
    ) -> int:
        """Send a batch, wait until it is acknowledged, and return the offset of its first record. The parameters are
        the same as for `send_produce`.

        Raises:
            Unanswered: if there is no valid response in time.
            Refused: if the response contains an error.
        """
        limit = self._timeout if timeout is None else timeout
        options: dict[str, Any] = {"partition": partition, "acks": acks, "gzip": gzip}
        pending = self.send_produce(broker, topic, *values, timeout_ms=int(limit * 1000), **options)
        return pending.result(limit + 1)

    def fetch(
        self,
        broker: int,
        topic: str,
        offset: int,
        *,
        partition: int = 0,
        max_wait_ms: int = 100,
        epoch: int | None = None,
    ) -> Fetched:
        """Fetch records as a consumer.

        Parameters:
            broker: the leader of the partition.
            topic, partition: the topic and the number of the partition.
            offset: the offset of the first record to fetch.
            max_wait_ms: how long the broker waits for a record, in milliseconds.
            epoch: the leader epoch that the broker is expected to have, or None. Before Kafka 2.1, it is not sent
                (KIP-320).

        Raises:
            Unanswered: if there is no valid response in time.
        """
        wanted = {"Partition": partition, "FetchOffset": offset, "PartitionMaxBytes": FETCH_BYTES}
        body = {"MaxWaitMs": max_wait_ms, "MinBytes": 1, "Topics": [{"Topic": topic, "Partitions": [wanted]}]}
        version = self.version(broker, "Fetch")
        if version >= 3:
            body["MaxBytes"] = FETCH_BYTES
        if version >= 9 and epoch is not None:
            wanted["CurrentLeaderEpoch"] = epoch
        answer = self.ask(broker, "Fetch", body)
        _refuse("Fetch", answer)
        found = answer["Responses"][0]["Partitions"][0]
        batches = [batch for batch in read_batches(found["Records"] or b"") if not batch.control]
        records = tuple(r for batch in batches for r in batch.records or () if r.offset >= offset)
        return Fetched(found["ErrorCode"], found["HighWatermark"], records)

    def read(self, broker: int, topic: str, *, partition: int = 0, offset: int = 0) -> Fetched:
        """Return all records that a consumer can read now, starting at an offset.

        Raises:
            Unanswered: if there is no valid response in time.
        """
        records: list[Record] = []
        while True:
            found = self.fetch(broker, topic, offset, partition=partition)
            records += found.records
            if found.error or not found.records:
                return attrs.evolve(found, records=tuple(records))
            offset = found.records[-1].offset + 1

    def list_offset(self, broker: int, topic: str, timestamp: int = LATEST, *, partition: int = 0) -> int:
        """Return the earliest offset, the latest offset that consumers can see, or the first offset at or after a
        timestamp.

        Parameters:
            broker: the leader of the partition.
            topic, partition: the topic and the number of the partition.
            timestamp: `EARLIEST`, `LATEST`, or a time in milliseconds since 1970.

        Raises:
            Unanswered: if there is no valid response in time.
            Refused: if the response contains an error.
        """
        wanted = {"PartitionIndex": partition, "Timestamp": timestamp}
        body = {"ReplicaId": -1, "Topics": [{"Name": topic, "Partitions": [wanted]}]}
        found = self.ask(broker, "ListOffsets", body)["Topics"][0]["Partitions"][0]
        _refuse("ListOffsets", found)
        return int(found["Offset"])

    def elect(self, broker: int, topic: str, kind: int = PREFERRED, *, partition: int = 0) -> None:
        """Request a leader election (KIP-460).

        Parameters:
            broker: the broker that receives the request. With ZooKeeper, it must be the controller.
            topic, partition: the topic and the number of the partition.
            kind: `PREFERRED` or `UNCLEAN`.

        Raises:
            Unanswered: if there is no valid response in time.
            Refused: if the response contains an error.
        """
        elected = {"Topic": topic, "Partitions": [partition]}
        body: dict[str, Any] = {"TopicPartitions": [elected], "TimeoutMs": int(self._timeout * 1000)}
        if kind != PREFERRED:
            body["ElectionType"] = kind
        answer = self.ask(broker, "ElectLeaders", body)
        _refuse("ElectLeaders", answer)
        for each in answer["ReplicaElectionResults"]:
            for result in each["PartitionResult"]:
                _refuse("ElectLeaders", result)

    def reassign(self, node: Node, topic: str, replicas: Sequence[int] | None, *, partition: int = 0) -> None:
        """Request a reassignment of a partition, or cancel the one in progress (KIP-455).

        Parameters:
            node: the broker or KRaft controller that receives the request.
            topic, partition: the topic and the number of the partition.
            replicas: the new replicas, beginning with the preferred leader, or None to cancel the reassignment.

        Raises:
            Unanswered: if there is no valid response in time.
            Refused: if the response contains an error.
        """
        wanted = {"PartitionIndex": partition, "Replicas": None if replicas is None else list(replicas)}
        body = {"TimeoutMs": int(self._timeout * 1000), "Topics": [{"Name": topic, "Partitions": [wanted]}]}
        answer = self.ask(node, "AlterPartitionReassignments", body)
        _refuse("AlterPartitionReassignments", answer)
        for each in answer["Responses"]:
            for result in each["Partitions"]:
                _refuse("AlterPartitionReassignments", result)

    def configure_topic(self, node: Node, topic: str, name: str, value: str) -> None:
        """Set a configuration property of a topic (KIP-339).

        Parameters:
            node: the broker or KRaft controller that receives the request.

        Raises:
            Unanswered: if there is no valid response in time.
            Refused: if the response contains an error.
        """
        config = {"Name": name, "ConfigOperation": _SET, "Value": value}
        resource = {"ResourceType": _TOPIC, "ResourceName": topic, "Configs": [config]}
        answer = self.ask(node, "IncrementalAlterConfigs", {"Resources": [resource], "ValidateOnly": False})
        for each in answer["Responses"]:
            _refuse("IncrementalAlterConfigs", each)

    def set_feature(self, node: Node, name: str, level: int | None) -> int:
        """Change `metadata.version` or the level of another feature (KIP-584).

        Parameters:
            node: the broker or KRaft controller that receives the request.
            level: the new level, or None for the highest one that the node supports.

        Returns:
            The new level.

        Raises:
            Unanswered: if there is no valid response in time.
            Refused: if the node does not know the feature, or the response contains an error.
        """
        client = {"ClientSoftwareName": CLIENT_ID, "ClientSoftwareVersion": "1"}
        told = self.ask(node, "ApiVersions", client).get("SupportedFeatures", ())
        most = {each["Name"]: each["MaxVersion"] for each in told}
        if name not in most:
            raise Refused("UpdateFeatures", UNSUPPORTED_VERSION, f"{node} does not know the feature {name}")
        wanted = most[name] if level is None else level
        change = {"Feature": name, "MaxVersionLevel": wanted, "UpgradeType": _UPGRADE if wanted else _SAFE_DOWNGRADE}
        body = {"timeoutMs": int(self._timeout * 1000), "FeatureUpdates": [change], "ValidateOnly": False}
        answer = self.ask(node, "UpdateFeatures", body)
        for each in (answer, *answer.get("Results", ())):
            _refuse("UpdateFeatures", each)
        return wanted

    def forget(self, node: Node) -> None:
        """Ask a node again for the requests that it supports, because it now runs another release."""
        self._versions.pop(node, None)

    def describe(self, broker: int, topic: str) -> dict[str, Any]:
        """Return the description of a topic, including its eligible leader replicas (KIP-966). Requires Kafka 3.8 or
        later.

        Raises:
            Unanswered: if there is no valid response in time.
            Refused: if the response contains an error.
        """
        body = {"Topics": [{"Name": topic}], "Cursor": None}
        (found,) = self.ask(broker, "DescribeTopicPartitions", body)["Topics"]
        _refuse("DescribeTopicPartitions", found)
        return dict(found)


_SET, _TOPIC = 0, 2
_UPGRADE, _SAFE_DOWNGRADE = 1, 2


def _refuse(api: str, result: Mapping[str, Any]) -> None:
    """Raise `Refused` if a response, or a part of it, contains an error."""
    if result.get("ErrorCode"):
        raise Refused(api, result["ErrorCode"], result.get("ErrorMessage"))


def _produced(answer: dict[str, Any]) -> int:
    partition = answer["Responses"][0]["PartitionResponses"][0]
    _refuse("Produce", partition)
    return int(partition["BaseOffset"])
