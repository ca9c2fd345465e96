"""Remove data that `leadline conform` does not read from recorded frames, and replace records by hashes.

Otherwise, a recording of a production cluster would contain customer data. It would also contain the credentials of
users, which are stored in ZooKeeper and in KRaft's metadata log.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

API_NAMES = {
    "AlterPartition",
    "ApiVersions",
    "AssignReplicasToDirs",
    "BrokerHeartbeat",
    "BrokerRegistration",
    "ConsumerGroupHeartbeat",
    "ControlledShutdown",
    "CreatePartitions",
    "CreateTopics",
    "DeleteTopics",
    "ElectLeaders",
    "Fetch",
    "Heartbeat",
    "JoinGroup",
    "LeaderAndIsr",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetForLeaderEpoch",
    "Produce",
    "StopReplica",
    "SyncGroup",
}
"""The names of requests whose bodies are recorded, with their responses."""

TEXT_OF_COMMITS = "CommittedMetadata"
"""The field of OffsetCommit requests with text of the consumer's own."""

ZOOKEEPER_OPERATIONS = {"create", "create2", "multi", "setData"}
METADATA_RECORDS = {
    "BrokerRegistrationChangeRecord",
    "FeatureLevelRecord",
    "FenceBrokerRecord",
    "PartitionChangeRecord",
    "PartitionRecord",
    "RemoveTopicRecord",
    "TopicRecord",
    "UnfenceBrokerRecord",
}
LEFT_OUT = "not recorded, because leadline conform does not read it"


class Redaction:
    """Changes the events of frames before they are written to a recording.

    Keys and values of records are replaced by keyed hashes. Equal keys or values have equal hashes within a recording.
    The hash key is random and is not kept, so that a value cannot be found by hashing likely values.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def __call__(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return the event of a frame without data that must not be recorded."""
        body = event["body"]
        if body is None:
            return event
        if "zookeeper" in (event["source"], event["target"]):
            return self._zookeeper(event, body)
        if event["api"] not in API_NAMES:
            return {**event, "body": None, "undecoded": LEFT_OUT}
        return {**event, "body": self.hidden(body)}

    def _zookeeper(self, event: dict[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
        operations = body.get("operations", [body])
        if event["api"] not in ZOOKEEPER_OPERATIONS or not all(map(_may_be_read, operations)):
            return {**event, "body": None, "undecoded": LEFT_OUT}
        return event

    def hidden(self, value: Any) -> Any:
        """Return the body of a frame, or a part of it, with records that are replaced by hashes."""
        if isinstance(value, Mapping):
            if "batches" in value:
                return {**value, "batches": [self._batch(each) for each in value["batches"]]}
            return {name: self.hidden(each) for name, each in value.items() if name != TEXT_OF_COMMITS}
        return [self.hidden(each) for each in value] if isinstance(value, list) else value

    def _batch(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        records = batch["records"]
        return {**batch, "records": None if records is None else [self._record(each) for each in records]}

    def _record(self, record: Mapping[str, Any]) -> dict[str, Any]:
        value = record["value"]
        if not isinstance(value, Mapping):
            return {**record, "key": self._hash(record["key"]), "value": self._hash(value)}
        if value["record"] in METADATA_RECORDS or _is_read(value):
            return dict(record)
        return {**record, "key": None, "value": {**value, "body": {}}}

    def _hash(self, data: bytes | None) -> dict[str, str] | None:
        return None if data is None else {"hash": blake2b(data, key=self._key, digest_size=8).hexdigest()}


def _is_read(value: Mapping[str, Any]) -> bool:
    """Return whether a record of the metadata log is one that sets `min.insync.replicas`."""
    return bool(value["record"] == "ConfigRecord" and value["body"].get("Name") == "min.insync.replicas")


def _may_be_read(operation: Mapping[str, Any]) -> bool:
    """Return whether an operation is about a partition's state or a broker's registration. Operations in responses, and
    version checks, contain no data.
    """
    path = str(operation.get("path") or "")
    is_read = path.startswith("/brokers/ids/") or (path.startswith("/brokers/topics/") and path.endswith("/state"))
    return is_read or not operation.get("data")
