"""Small definitions of messages that Kafka does not have, and jars with definitions."""

from __future__ import annotations

import zipfile
from pathlib import Path

from leadline.brokers.messages.definitions import Definitions, Message

PING_REQUEST = """
// Comments may be anywhere on a line of their own.
{
  "apiKey": 1, "type": "request", "name": "PingRequest", "validVersions": "0-5", "flexibleVersions": "3+",
  "commonStructs": [{"name": "Place", "versions": "0+", "fields": [
    {"name": "Row", "type": "int8", "versions": "0+"}, {"name": "Word", "type": "string", "versions": "1+"}]}],
  "fields": [
    // every type
    {"name": "Small", "type": "int16", "versions": "0+", "default": "-7"},
    {"name": "Flags", "type": "uint16", "versions": "0+"},
    {"name": "Wide", "type": "uint32", "versions": "1+", "ignorable": true},
    {"name": "Long", "type": "int64", "versions": "2+", "default": "0x7f"},
    {"name": "Sure", "type": "bool", "versions": "0+", "default": "true"},
    {"name": "Part", "type": "float64", "versions": "0+"},
    {"name": "Id", "type": "uuid", "versions": "1+", "ignorable": true},
    {"name": "Word", "type": "string", "versions": "0+", "nullableVersions": "1+"},
    {"name": "Plain", "type": "string", "versions": "0+", "flexibleVersions": "none"},
    {"name": "Data", "type": "bytes", "versions": "0+", "nullableVersions": "0+", "default": "null"},
    {"name": "Records", "type": "records", "versions": "0+", "nullableVersions": "0+"},
    {"name": "Numbers", "type": "[]int32", "versions": "0+", "nullableVersions": "2+"},
    {"name": "Places", "type": "[]Place", "versions": "0+"},
    {"name": "Nest", "type": "Nest", "versions": "1+", "nullableVersions": "4+", "ignorable": true, "fields": [
      {"name": "Home", "type": "Place", "versions": "1+"},
      {"name": "Extra", "type": "string", "versions": "3+", "taggedVersions": "3+", "tag": 0}]},
    {"name": "Away", "type": "Place", "versions": "3+", "taggedVersions": "3+", "tag": 1, "nullableVersions": "3+",
     "default": "null"},
    {"name": "Folders", "type": "[]uuid", "versions": "3+", "taggedVersions": "4+", "tag": "0", "ignorable": true}
  ]
}
Whatever follows the definition does not matter.
"""

PING_RESPONSE = """{
  "apiKey": 1, "type": "response", "name": "PingResponse", "validVersions": "0-5", "flexibleVersions": "3+",
  "fields": [{"name": "ErrorCode", "type": "int16", "versions": "0+"}]
}"""

PRODUCE_REQUEST = """{
  "apiKey": 0, "type": "request", "name": "ProduceRequest", "validVersions": "0", "flexibleVersions": "none",
  "fields": [{"name": "Acks", "type": "int16", "versions": "0+"},
    {"name": "Records", "type": "records", "versions": "0+"}]
}"""

VERSIONS_REQUEST = """{
  "apiKey": 18, "type": "request", "name": "ApiVersionsRequest", "validVersions": "0-3", "flexibleVersions": "3+",
  "fields": [{"name": "Software", "type": "string", "versions": "3+"}]
}"""

VERSIONS_RESPONSE = """{
  "apiKey": 18, "type": "response", "name": "ApiVersionsResponse", "validVersions": "0-3", "flexibleVersions": "3+",
  "fields": [{"name": "ErrorCode", "type": "int16", "versions": "0+"},
    {"name": "ApiKeys", "type": "[]ApiVersion", "versions": "0+", "fields": [
      {"name": "ApiKey", "type": "int16", "versions": "0+"}, {"name": "MinVersion", "type": "int16", "versions": "0+"},
      {"name": "MaxVersion", "type": "int16", "versions": "0+"}]}]
}"""

SHUTDOWN_REQUEST = """{
  "apiKey": 7, "type": "request", "name": "ControlledShutdownRequest", "validVersions": "0-1",
  "fields": [{"name": "BrokerId", "type": "int32", "versions": "0+"}]
}"""

RETIRED_REQUEST = '{"apiKey": 4, "type": "request", "name": "RetiredRequest", "validVersions": "none"}'

CHANGE_RECORD = """{
  "apiKey": 5, "type": "metadata", "name": "ChangeRecord", "validVersions": "0-1", "flexibleVersions": "0+",
  "fields": [{"name": "Topic", "type": "string", "versions": "0+"},
    {"name": "Isr", "type": "[]int32", "versions": "1+"}]
}"""

CLIENTS = (
    PING_REQUEST,
    PING_RESPONSE,
    PRODUCE_REQUEST,
    VERSIONS_REQUEST,
    VERSIONS_RESPONSE,
    SHUTDOWN_REQUEST,
    RETIRED_REQUEST,
)

DEFINITIONS = Definitions([Message.parse(text) for text in (*CLIENTS, CHANGE_RECORD)])


def write_jar(path: Path, folder: str, texts: tuple[str, ...]) -> Path:
    """Write a jar with definitions and another file."""
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("org/apache/kafka/Kafka.class", b"\xca\xfe\xba\xbe")
        for text in texts:
            jar.writestr(f"{folder}/{Message.parse(text).name}.json", text)
    return path
