"""A plain client of Kafka. Each request uses a connection of its own, and is not repeated if it fails.

The producers and consumers of libraries retry, refresh their metadata and reconnect without being asked. A run that
holds single frames must know every frame that is sent.
"""

from __future__ import annotations

import itertools
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import attrs

from leadline.brokers.configuration import HOST
from leadline.brokers.messages.batches import Record, read_batches, write_batch
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.messages.requests import UNSUPPORTED_VERSION, RequestHeader, read_response, write_request
from leadline.brokers.ports import Node
from leadline.model.disk.wire import Malformed

CLIENT_ID = "leadline"
_LENGTH = struct.Struct(">i")

NEWEST = {
    "CreateTopics": 5,
    "DescribeTopicPartitions": 0,
    "ElectLeaders": 2,
    "Fetch": 12,
    "ListOffsets": 4,
    "Metadata": 9,
    "Produce": 8,
}
"""The newest version of requests that this client uses. Later ones name topics by ids only, for example."""

EARLIEST, LATEST = -2, -1
"""Offsets that `Client.list_offset` can ask for, in place of a timestamp."""

PREFERRED, UNCLEAN = 0, 1
"""The kinds of elections that `Client.elect` can ask for."""

FETCH_BYTES = 2**20
"""The number of bytes that a fetch asks for. A broker sends at least one batch."""

T = TypeVar("T")


class Unanswered(Exception):
    """A request that was not answered: refused, cut, or too late. Whether it took effect is not known."""


class Refused(Exception):
    """A request that was answered with an error.

    Attributes:
        code: the error code of Kafka's protocol.
    """

    def __init__(self, api: str, code: int, message: str | None = None) -> None:
        super().__init__(f"{api} was refused with error {code}{f': {message}' if message else ''}")
        self.code = code


class Pending(Generic[T]):
    """A request that was sent, and whose answer is awaited.

    Parameters:
        connection: the socket, which is closed once the answer is there or does not come.
        read: makes the result of the answer's frame.
        what: the request, for error messages.
    """

    def __init__(self, connection: socket.socket, read: Callable[[bytes], T], what: str) -> None:
        self._connection, self._read, self._what = connection, read, what

    def result(self, timeout: float) -> T:
        """Wait for the answer.

        Parameters:
            timeout: in seconds.

        Raises:
            Unanswered: if there is none in time. The connection is closed then.
            Refused: if the answer is an error.
        """
        with self._connection as connection:
            end = time.monotonic() + timeout
            try:
                (size,) = _LENGTH.unpack(_receive(connection, _LENGTH.size, end))
                frame = _receive(connection, size, end)
            except OSError as error:
                raise Unanswered(f"{self._what} was not answered: {error}") from error
        try:
            return self._read(frame)
        except Malformed as error:
            raise Unanswered(f"{self._what} was answered by something else: {error}") from error

    def abandon(self) -> None:
        """Close the connection without waiting."""
        self._connection.close()


def _receive(connection: socket.socket, count: int, end: float) -> bytes:
    data = bytearray()
    while len(data) < count:
        connection.settimeout(max(end - time.monotonic(), 0.001))
        chunk = connection.recv(min(count - len(data), 2**20))
        if not chunk:
            raise ConnectionError("the connection was closed")
        data += chunk
    return bytes(data)


@attrs.frozen
class PartitionView:
    """The state of a partition in the metadata of a broker.

    Attributes:
        leader: the leader, or None.
        leader_epoch: its epoch; None before Metadata 7 (2.1).
        replicas, isr: the replicas in the order of the assignment, and the in-sync ones.
        error: the error code, 0 for none.
    """

    leader: int | None
    leader_epoch: int | None
    replicas: tuple[int, ...]
    isr: frozenset[int]
    error: int


@attrs.frozen
class Fetched:
    """The answer to a fetch of a consumer.

    Attributes:
        error: the error code, 0 for none.
        high_watermark: the high watermark of the leader.
        records: the records, without those of control batches.
    """

    error: int
    high_watermark: int
    records: tuple[Record, ...]


class Client:
    """Sends requests to brokers.

    Any thread may call its methods.

    Parameters:
        definitions: the messages of the release.
        ports: the port to dial for each broker, and for the KRaft controller: of its proxy, or its own.
        timeout: how long to wait for an answer where no other time is given, in seconds.
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
            node: the broker or controller to send it to.
            api: the name of the request, for example "Metadata".
            body: the request, by the names of the definitions.
            read: makes the result of the body of the answer.
            version: the version of the request.

        Raises:
            Unanswered: if the node cannot be reached.
        """
        header = RequestHeader(self._definitions.keys[api], version, next(self._correlations), CLIENT_ID)
        frame = write_request(self._definitions, header, body)
        try:
            connection = socket.create_connection((HOST, self._ports[node]), self._timeout)
            connection.sendall(frame)
        except OSError as error:
            raise Unanswered(f"{api} could not be sent to {node}: {error}") from error
        return Pending(connection, lambda raw: read(read_response(self._definitions, header, raw)), f"{api} to {node}")

    def version(self, node: Node, api: str) -> int:
        """Return the newest version of a request that this client and a node speak. The node is asked once.

        Raises:
            Unanswered: if the node does not tell its versions.
            Refused: if there is no common version.
        """
        if node not in self._versions:
            answer = self.send(node, "ApiVersions", {}, dict, version=0).result(self._timeout)
            self._versions[node] = dict(self._common(answer["ApiKeys"]))
        if api not in self._versions[node]:
            raise Refused(api, UNSUPPORTED_VERSION, f"{node} has no version of it that this client speaks")
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
        """Send a request, and return the body of the answer.

        Parameters:
            node: the broker or controller to send it to.
            api: the name of the request, for example "BrokerHeartbeat".
            body: the request, by the names of the definitions.
            version: the version of the request, or None for the newest common one.
            timeout: how long to wait for the answer, in seconds.

        Raises:
            Unanswered: if there is no answer in time.
            Refused: if there is no common version.
            ValueError: if the version cannot express the body.
        """
        version = self.version(node, api) if version is None else version
        return self.send(node, api, body, dict, version=version).result(self._timeout if timeout is None else timeout)

    def create_topic(
        self, broker: int, topic: str, assignment: Sequence[Sequence[int]], configs: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic.

        Parameters:
            broker: the broker to ask: before KRaft, the controller.
            topic: its name.
            assignment: the replicas of each partition, the preferred leader first.
            configs: its configuration.

        Raises:
            Unanswered, Refused: if it was not created, or not known to be.
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
        if created["ErrorCode"]:
            raise Refused("CreateTopics", created["ErrorCode"], created.get("ErrorMessage"))

    def metadata(self, broker: int, *, timeout: float | None = None) -> dict[str, Any]:
        """Return a broker's metadata of the cluster and of all topics.

        Raises:
            Unanswered: if there is no answer in time.
        """
        body: dict[str, Any] = {"Topics": None}
        if self.version(broker, "Metadata") >= 4:
            body["AllowAutoTopicCreation"] = False
        return self.ask(broker, "Metadata", body, timeout=timeout)

    def partition(self, broker: int, topic: str, partition: int = 0) -> PartitionView | None:
        """Return the state of a partition in a broker's metadata, or None if the metadata do not have the partition.

        Raises:
            Unanswered: if there is no answer in time.
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
        self, broker: int, topic: str, value: bytes, *, partition: int = 0, acks: int = -1, timeout_ms: int = 30_000
    ) -> Pending[int]:
        """Send a record. The result is its offset.

        Parameters:
            broker: the broker to send it to.
            topic, partition: the partition.
            value: the value of the record.
            acks: -1 for all, or 1. With 0 there is no answer; that is refused.
            timeout_ms: how long the broker waits for the ISR, in milliseconds.

        Raises:
            Unanswered: if the broker cannot be reached.
            ValueError: if acks is not -1 or 1.
        """
        if acks not in (-1, 1):
            raise ValueError(f"acks is {acks}; expected -1 or 1")
        version = self.version(broker, "Produce")
        magic = 2 if version >= 3 else 1 if version == 2 else 0
        records = write_batch([value], int(time.time() * 1000), magic=magic)
        data = {"Name": topic, "PartitionData": [{"Index": partition, "Records": records}]}
        body = {"Acks": acks, "TimeoutMs": timeout_ms, "TopicData": [data]}
        if version >= 3:
            body["TransactionalId"] = None
        return self.send(broker, "Produce", body, _produced, version=version)

    def produce(
        self, broker: int, topic: str, value: bytes, *, partition: int = 0, acks: int = -1, timeout: float | None = None
    ) -> int:
        """Send a record, wait until it is acknowledged, and return its offset. See `send_produce`.

        Raises:
            Unanswered, Refused: if it was not acknowledged.
        """
        limit = self._timeout if timeout is None else timeout
        pending = self.send_produce(broker, topic, value, partition=partition, acks=acks, timeout_ms=int(limit * 1000))
        return pending.result(limit + 1)

    def fetch(
        self,
        broker: int,
        topic: str,
        offset: int,
        *,
        partition: int = 0,
        max_wait_ms: int = 100,
        max_bytes: int = 2**20,
    ) -> Fetched:
        """Fetch as a consumer.

        Parameters:
            broker: the broker to ask: the leader.
            topic, partition: the partition.
            offset: the first offset.
            max_wait_ms: how long the broker waits for a record, in milliseconds.

        Raises:
            Unanswered: if there is no answer in time.
        """
        wanted = {"Partition": partition, "FetchOffset": offset, "PartitionMaxBytes": FETCH_BYTES}
        body = {"MaxWaitMs": max_wait_ms, "MinBytes": 1, "Topics": [{"Topic": topic, "Partitions": [wanted]}]}
        if self.version(broker, "Fetch") >= 3:
            body["MaxBytes"] = FETCH_BYTES
        answer = self.ask(broker, "Fetch", body)
        if answer.get("ErrorCode"):
            raise Refused("Fetch", answer["ErrorCode"])
        found = answer["Responses"][0]["Partitions"][0]
        batches = [batch for batch in read_batches(found["Records"] or b"") if not batch.control]
        records = tuple(r for batch in batches for r in batch.records or () if r.offset >= offset)
        return Fetched(found["ErrorCode"], found["HighWatermark"], records)

    def read(self, broker: int, topic: str, *, partition: int = 0, offset: int = 0) -> Fetched:
        """Read every record that a consumer can read now, from an offset on.

        Raises:
            Unanswered: if there is no answer in time.
        """
        records: list[Record] = []
        while True:
            found = self.fetch(broker, topic, offset, partition=partition)
            records += found.records
            if found.error or not found.records:
                return attrs.evolve(found, records=tuple(records))
            offset = found.records[-1].offset + 1

    def list_offset(self, broker: int, topic: str, timestamp: int = LATEST, *, partition: int = 0) -> int:
        """Return an offset: the earliest, the latest that a consumer can read, or the first after a timestamp.

        Parameters:
            broker: the broker to ask: the leader.
            topic, partition: the partition.
            timestamp: `EARLIEST`, `LATEST`, or milliseconds since 1970.

        Raises:
            Unanswered, Refused: if the broker does not tell.
        """
        wanted = {"PartitionIndex": partition, "Timestamp": timestamp}
        body = {"ReplicaId": -1, "Topics": [{"Name": topic, "Partitions": [wanted]}]}
        found = self.ask(broker, "ListOffsets", body)["Topics"][0]["Partitions"][0]
        if found["ErrorCode"]:
            raise Refused("ListOffsets", found["ErrorCode"])
        return int(found["Offset"])

    def elect(self, broker: int, topic: str, kind: int = PREFERRED, *, partition: int = 0) -> None:
        """Request an election of a leader (KIP-460).

        Parameters:
            broker: the broker to ask: before KRaft, the controller.
            topic, partition: the partition.
            kind: `PREFERRED` or `UNCLEAN`.

        Raises:
            Unanswered, Refused: if there was none, or it is not known.
        """
        elected = {"Topic": topic, "Partitions": [partition]}
        body: dict[str, Any] = {"TopicPartitions": [elected], "TimeoutMs": int(self._timeout * 1000)}
        if kind != PREFERRED:
            body["ElectionType"] = kind
        answer = self.ask(broker, "ElectLeaders", body)
        results = [{"ErrorCode": answer.get("ErrorCode", 0)}]
        results += [result for each in answer["ReplicaElectionResults"] for result in each["PartitionResult"]]
        for result in results:
            if result["ErrorCode"]:
                raise Refused("ElectLeaders", result["ErrorCode"], result.get("ErrorMessage"))

    def describe(self, broker: int, topic: str) -> dict[str, Any]:
        """Return the description of a topic with its eligible leader replicas (KIP-966), which brokers have since 3.8.

        Raises:
            Unanswered, Refused: if the broker does not tell.
        """
        body = {"Topics": [{"Name": topic}], "Cursor": None}
        (found,) = self.ask(broker, "DescribeTopicPartitions", body)["Topics"]
        if found["ErrorCode"]:
            raise Refused("DescribeTopicPartitions", found["ErrorCode"])
        return dict(found)


def _produced(answer: dict[str, Any]) -> int:
    partition = answer["Responses"][0]["PartitionResponses"][0]
    if partition["ErrorCode"]:
        raise Refused("Produce", partition["ErrorCode"], partition.get("ErrorMessage"))
    return int(partition["BaseOffset"])
