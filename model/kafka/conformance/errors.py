"""What the error codes in the answers mean for the model: one table for all requests that are followed.

An answer with a code that is not in the table says nothing: a produce request may have been executed or not, and any
other answer is ignored. The names are those of `org.apache.kafka.common.protocol.Errors`.
"""

from __future__ import annotations

import attrs

DONE = "the request was executed"
ELECTED = "the request was executed, and made another broker the leader"
MAYBE_DONE = "the request may have been executed, and is sent again"
REFUSED = "the request was refused, whatever the state of the partition is"
NOT_TOLD = "the broker has not heard of the partition"
NOT_LEADING = "the broker does not lead"
OLDER_EPOCH = "the leader epoch in the request is older than the receiver's"
NEWER_EPOCH = "the leader epoch in the request is newer than the receiver's, or the sender has no replica"
OUT_OF_RANGE = "the log has no such offset, or no epoch to compare with"
FEW_IN_SYNC = "the ISR has fewer than min.insync.replicas members"
OTHER_VERSION = "the partition has changed since the sender learned of its state"
INELIGIBLE = "a broker that is fenced, shuts down or has restarted would join the ISR"


@attrs.frozen
class Meaning:
    """What an error code in the answer to a request says.

    Attributes:
        request: the name of the request.
        code, error: the number and the name of the error.
        says: one of the sentences above.
        source: where Kafka's code gives this answer.
    """

    request: str
    code: int
    error: str
    says: str
    source: str


_GET = "ReplicaManager.getPartitionOrError"
_EPOCH = "Partition.checkCurrentLeaderEpoch"
_ALTER = "ReplicationControlManager.validateAlterPartitionData"
_APPEND = "DelayedProduce: the records have their offset, and wait for the ISR"
_LOG = "UnifiedLog.append, before it writes"
_ID = "KafkaApis.handleFetchRequest, FetchSession"

TABLE = tuple(
    Meaning(*row)
    for row in (
        ("Fetch", 0, "NONE", DONE, "ReplicaManager.readFromLog"),
        ("Fetch", 1, "OFFSET_OUT_OF_RANGE", OUT_OF_RANGE, "Partition.readRecords, UnifiedLog.read"),
        ("Fetch", 3, "UNKNOWN_TOPIC_OR_PARTITION", NOT_TOLD, _GET),
        ("Fetch", 6, "NOT_LEADER_OR_FOLLOWER", NOT_LEADING, f"{_GET}, Replica.updateFetchStateOrThrow"),
        ("Fetch", 74, "FENCED_LEADER_EPOCH", OLDER_EPOCH, f"{_EPOCH}, KIP-320"),
        ("Fetch", 75, "UNKNOWN_LEADER_EPOCH", NEWER_EPOCH, f"{_EPOCH}, Partition.fetchRecords"),
        ("Fetch", 100, "UNKNOWN_TOPIC_ID", NOT_TOLD, f"{_ID}, KIP-516"),
        ("Fetch", 103, "INCONSISTENT_TOPIC_ID", NOT_TOLD, f"{_ID}, KIP-516"),
        ("OffsetForLeaderEpoch", 0, "NONE", DONE, "Partition.lastOffsetForLeaderEpoch"),
        ("OffsetForLeaderEpoch", 3, "UNKNOWN_TOPIC_OR_PARTITION", NOT_TOLD, "ReplicaManager.lastOffsetForLeaderEpoch"),
        ("OffsetForLeaderEpoch", 6, "NOT_LEADER_OR_FOLLOWER", NOT_LEADING, "ReplicaManager.lastOffsetForLeaderEpoch"),
        ("OffsetForLeaderEpoch", 74, "FENCED_LEADER_EPOCH", OLDER_EPOCH, f"{_EPOCH}, KIP-320"),
        ("OffsetForLeaderEpoch", 75, "UNKNOWN_LEADER_EPOCH", NEWER_EPOCH, f"{_EPOCH}, KIP-320"),
        ("Produce", 0, "NONE", DONE, "ReplicaManager.appendRecords"),
        ("Produce", 2, "CORRUPT_MESSAGE", REFUSED, _LOG),
        ("Produce", 3, "UNKNOWN_TOPIC_OR_PARTITION", NOT_TOLD, f"KafkaApis.handleProduceRequest, {_GET}"),
        ("Produce", 6, "NOT_LEADER_OR_FOLLOWER", NOT_LEADING, "Partition.appendRecordsToLeader"),
        ("Produce", 10, "MESSAGE_TOO_LARGE", REFUSED, _LOG),
        ("Produce", 18, "RECORD_LIST_TOO_LARGE", REFUSED, _LOG),
        ("Produce", 19, "NOT_ENOUGH_REPLICAS", FEW_IN_SYNC, "Partition.appendRecordsToLeader"),
        ("Produce", 21, "INVALID_REQUIRED_ACKS", REFUSED, "ReplicaManager.appendRecords"),
        ("Produce", 32, "INVALID_TIMESTAMP", REFUSED, _LOG),
        ("Produce", 43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", REFUSED, _LOG),
        ("Produce", 45, "OUT_OF_ORDER_SEQUENCE_NUMBER", REFUSED, "ProducerAppendInfo.checkSequence"),
        ("Produce", 46, "DUPLICATE_SEQUENCE_NUMBER", REFUSED, "ProducerAppendInfo.checkSequence"),
        ("Produce", 47, "INVALID_PRODUCER_EPOCH", REFUSED, "ProducerAppendInfo.checkProducerEpoch"),
        ("Produce", 59, "UNKNOWN_PRODUCER_ID", REFUSED, "ProducerAppendInfo.checkSequence"),
        ("Produce", 87, "INVALID_RECORD", REFUSED, _LOG),
        ("Produce", 100, "UNKNOWN_TOPIC_ID", NOT_TOLD, "KafkaApis.handleProduceRequest, KIP-516"),
        ("AlterPartition", 0, "NONE", DONE, "ReplicationControlManager.alterPartition"),
        ("AlterPartition", -1, "UNKNOWN_SERVER_ERROR", MAYBE_DONE, "AlterPartitionManager sends it again"),
        ("AlterPartition", 3, "UNKNOWN_TOPIC_OR_PARTITION", REFUSED, _ALTER),
        ("AlterPartition", 7, "REQUEST_TIMED_OUT", MAYBE_DONE, "AlterPartitionManager sends it again"),
        ("AlterPartition", 41, "NOT_CONTROLLER", REFUSED, _ALTER),
        ("AlterPartition", 42, "INVALID_REQUEST", NOT_LEADING, _ALTER),
        ("AlterPartition", 55, "OPERATION_NOT_ATTEMPTED", INELIGIBLE, f"{_ALTER}, up to version 1"),
        ("AlterPartition", 74, "FENCED_LEADER_EPOCH", OLDER_EPOCH, _ALTER),
        ("AlterPartition", 77, "STALE_BROKER_EPOCH", REFUSED, "ClusterControlManager.checkBrokerEpoch"),
        ("AlterPartition", 95, "INVALID_UPDATE_VERSION", OTHER_VERSION, _ALTER),
        ("AlterPartition", 100, "UNKNOWN_TOPIC_ID", REFUSED, _ALTER),
        ("AlterPartition", 107, "INELIGIBLE_REPLICA", INELIGIBLE, f"{_ALTER}, KIP-841"),
        ("AlterPartition", 108, "NEW_LEADER_ELECTED", ELECTED, "ReplicationControlManager.alterPartition"),
        ("LeaderAndIsr", 0, "NONE", DONE, "ReplicaManager.becomeLeaderOrFollower"),
        ("LeaderAndIsr", 11, "STALE_CONTROLLER_EPOCH", REFUSED, "ReplicaManager.becomeLeaderOrFollower"),
        ("LeaderAndIsr", 77, "STALE_BROKER_EPOCH", REFUSED, "KafkaApis.handleLeaderAndIsrRequest, KIP-380"),
        ("LeaderAndIsr", 103, "INCONSISTENT_TOPIC_ID", REFUSED, "ReplicaManager.becomeLeaderOrFollower"),
        ("AssignReplicasToDirs", 0, "NONE", DONE, "ReplicationControlManager.handleAssignReplicasToDirs"),
        ("AssignReplicasToDirs", 77, "STALE_BROKER_EPOCH", REFUSED, "ClusterControlManager.checkBrokerEpoch"),
        ("AssignReplicasToDirs", 102, "BROKER_ID_NOT_REGISTERED", REFUSED, "ClusterControlManager.checkBrokerEpoch"),
    )
)
_APPENDED = {
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT",
    20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    56: "KAFKA_STORAGE_ERROR",
}
APPENDED = tuple(Meaning("Produce", code, name, DONE, _APPEND) for code, name in _APPENDED.items())
"""What errors say if the answer to a produce request has an offset."""

_FOUND = {(each.request, each.code): each for each in TABLE}
_NAMES = {each.code: each.error for each in (*TABLE, *APPENDED)}


def said(request: str, code: int, *, has_offset: bool = False) -> str | None:
    """Return what an error code in the answer to a request says, or None if it says nothing.

    Parameters:
        request: the name of the request.
        code: the error code.
        has_offset: whether the answer to a produce request has the offset of the records.
    """
    if has_offset and (code == 0 or code in _APPENDED):
        return DONE
    found = _FOUND.get((request, code))
    return None if found is None else found.says


def named(code: int) -> str:
    """Return Kafka's name of an error code, or its number if it is not in the table."""
    return _NAMES.get(code, f"error {code}")
