"""The definitions of the records that a small metadata log of Kafka 3.9 has, without the jars of the release."""

from __future__ import annotations

import json
import re
from typing import Any

from leadline.brokers.messages.definitions import Definitions, Message

_ENDPOINTS = "Name string, Host string, Port uint16, SecurityProtocol int16"
_FEATURES = "Name string, MinSupportedVersion int16, MaxSupportedVersion int16"
_RECORDS = {
    "0 RegisterBrokerRecord": f"BrokerId int32, IsMigratingZkBroker bool 2+, IncarnationId uuid, BrokerEpoch int64, "
    f"EndPoints []Endpoint({_ENDPOINTS}), Features []Feature({_FEATURES}), Rack string? 0+, Fenced bool, "
    f"InControlledShutdown bool 1+, LogDirs []uuid 3+ #0",
    "2 TopicRecord": "Name string, TopicId uuid",
    "3 PartitionRecord": "PartitionId int32, TopicId uuid, Replicas []int32, Isr []int32, RemovingReplicas []int32, "
    "AddingReplicas []int32, Leader int32, LeaderRecoveryState int8 0+ #0, LeaderEpoch int32, PartitionEpoch int32, "
    "Directories []uuid 1+",
    "4 ConfigRecord": "ResourceType int8, ResourceName string, Name string, Value string? 0+",
    "5 PartitionChangeRecord": "PartitionId int32, TopicId uuid, Isr []int32? 0+ #0, Leader int32=-2 0+ #1, "
    "Replicas []int32? 0+ #2, RemovingReplicas []int32? 0+ #3, AddingReplicas []int32? 0+ #4, "
    "LeaderRecoveryState int8=-1 0+ #5, Directories []uuid? 1+ #8",
    "12 FeatureLevelRecord": "Name string, FeatureLevel int16",
    "17 BrokerRegistrationChangeRecord": "BrokerId int32, BrokerEpoch int64, Fenced int8 0+ #0, "
    "InControlledShutdown int8 1+ #1, LogDirs []uuid 2+ #2",
    "21 ZkMigrationStateRecord": "ZkMigrationState int8",
    "23 BeginTransactionRecord": "Name string? 0+ #0",
    "24 EndTransactionRecord": "",
    "27 RegisterControllerRecord": f"ControllerId int32, IncarnationId uuid, ZkMigrationReady bool, "
    f"EndPoints []Endpoint({_ENDPOINTS}), Features []Feature({_FEATURES})",
}
"""The key and name of each record, and its fields: name, type (with `?` if it can be null, and `=` before its default),
versions (all by default), and the tag."""

_FIELD = re.compile(r"(\w+) ([\w\[\]]+)(?:\(([^)]*)\))?(\?)?(?:=(-?\d+))?(?: (\d\+))?(?: #(\d))?(?:, |$)")


def _fields(text: str) -> list[dict[str, Any]]:
    found = []
    for name, kind, inner, nullable, default, versions, tag in _FIELD.findall(text):
        field = {"name": name, "type": kind, "versions": versions or "0+"}
        field |= {"nullableVersions": "0+", "default": "null"} if nullable else {}
        field |= {"default": default} if default else {}
        field |= {"tag": int(tag), "taggedVersions": versions} if tag else {}
        found.append(field | ({"fields": _fields(inner)} if inner else {}))
    return found


def metadata_definitions() -> Definitions:
    """Return the definitions."""
    messages = []
    for title, fields in _RECORDS.items():
        key, name = title.split()
        about = {"apiKey": int(key), "type": "metadata", "name": name, "validVersions": "0-3", "flexibleVersions": "0+"}
        messages.append(Message.parse(json.dumps({**about, "fields": _fields(fields)})))
    return Definitions(messages)
