"""Definitions of Kafka's messages, read at run time from the jars of a release.

``kafka-clients`` contains the requests, responses and headers (``common/message/*.json``, from 2.2 on), and
``kafka-metadata`` contains the records of KRaft's metadata log (``common/metadata/*.json``). The format of these files
is described in Kafka's ``clients/src/main/resources/common/message/README.md``. The definitions of 3.9.1 contain every
version that releases from 0.10 to 3.9 use; 4.0 removed old versions, so 4.x needs its own definitions.

No Python library decodes these messages. The classes of kio are generated from one release. kio 0.6.5 supports 4.1, so
it lacks everything that 4.0 removed, such as LeaderAndIsr, UpdateMetadata and the versions 0 to 3 of Fetch. It also
lacks all records of the metadata log. kio fails on unknown tagged fields and error codes. kafka-python can interpret
definitions, but not through a documented interface, and ships only the messages that clients use. With the definitions
of 3.9.1, kafka-python 3.0.12 does not decode tagged fields whose tag is written as a string (the log directories in a
broker's registration and heartbeat), and rejects tagged fields within tagged structs, which forward compatibility
allows. All other Python clients contain only the messages that clients use.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import attrs

from leadline.brokers.errors import BrokerError

_COMMENT = re.compile(r"(?m)^\s*//.*$")
_DEFINITION = re.compile(r"common/(message|metadata)/\w+\.json")
_TYPE_OF_ELEMENTS = "[]"


@attrs.frozen
class Versions:
    """A range of versions that includes both ends. It is empty if `first` is larger than `last`."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str | None) -> Versions:
        """Parse a range of versions, such as "3+", "1-4", "7" or "none"."""
        if not text or text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), 2**15 - 1)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last


@attrs.frozen(eq=False)
class Field:
    """A field of a message.

    Attributes:
        name: the name in the definition, for example "HighWatermark".
        type: the type of the value, or of the elements if `array` is true: a primitive type such as "int32", or
            "struct".
        array: whether the value is an array.
        versions, nullable, tagged: the versions of the message in which the field exists, can be null, and is tagged,
            respectively.
        flexible: the versions in which the field has the compact encoding if the message is flexible.
        tag: the number of a tagged field.
        default: the default value as it is written in the definition, or None.
        ignorable: whether a value is silently dropped in versions without the field.
    """

    name: str
    type: str
    array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    flexible: Versions
    tag: int | None
    default: Any
    ignorable: bool
    fields: Fields | None


class Fields:
    """The fields of a message or struct, in the order of the definition."""

    def __init__(self, fields: tuple[Field, ...]) -> None:
        self.all = fields
        self._of_version: dict[int, tuple[tuple[Field, ...], Mapping[int, Field]]] = {}

    def of_version(self, version: int) -> tuple[tuple[Field, ...], Mapping[int, Field]]:
        """Return the untagged fields of a version, in order, and its tagged fields, keyed by tag."""
        if version not in self._of_version:
            present = [field for field in self.all if version in field.versions]
            tagged = {field.tag: field for field in present if field.tag is not None and version in field.tagged}
            self._of_version[version] = (tuple(f for f in present if f not in tagged.values()), tagged)
        return self._of_version[version]

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all fields that exist in at least one version."""
        return frozenset(field.name for field in self.all)


@attrs.frozen(eq=False)
class Message:
    """The definition of a request, a response, or a record of the metadata log.

    Attributes:
        name: the name, for example "FetchRequest" or "PartitionChangeRecord".
        kind: "request", "response", "metadata", or a kind that is not used here.
        key: the API key of a request or response, or the type of a record; None for all other kinds.
        flexible: the versions with compact lengths and tagged fields (KIP-482).
    """

    name: str
    kind: str
    key: int | None
    versions: Versions
    flexible: Versions
    fields: Fields

    @property
    def api(self) -> str:
        """The name of the message without "Request" or "Response"."""
        return self.name.removesuffix("Request").removesuffix("Response")

    @classmethod
    def parse(cls, text: str) -> Message:
        """Parse a definition.

        Parameters:
            text: JSON with comments on separate lines. Text after the object is ignored, as in Kafka.
        """
        data, _ = json.JSONDecoder().raw_decode(_COMMENT.sub("", text).lstrip())
        shared = {struct["name"]: struct["fields"] for struct in data.get("commonStructs", [])}
        return cls(
            name=data["name"],
            kind=data["type"],
            key=data.get("apiKey"),
            versions=Versions.parse(data["validVersions"]),
            flexible=Versions.parse(data.get("flexibleVersions")),
            fields=_Structs(shared).fields(data.get("fields", [])),
        )


class _Structs:
    """Builds fields, including the fields of structs. A struct is defined where it is first used, or among the
    message's common structs.
    """

    def __init__(self, shared: Mapping[str, list[dict[str, Any]]]) -> None:
        self.known = dict(shared)

    def fields(self, definitions: list[dict[str, Any]]) -> Fields:
        """Build the fields of a struct."""
        return Fields(tuple(self._field(definition) for definition in definitions))

    def _field(self, definition: dict[str, Any]) -> Field:
        named = str(definition["type"])
        kind = named.removeprefix(_TYPE_OF_ELEMENTS)
        struct = kind[0].isupper()
        if struct and definition.get("fields"):
            self.known[kind] = definition["fields"]
        tag = definition.get("tag")
        return Field(
            name=definition["name"],
            type="struct" if struct else kind,
            array=named.startswith(_TYPE_OF_ELEMENTS),
            versions=Versions.parse(definition["versions"]),
            nullable=Versions.parse(definition.get("nullableVersions")),
            tagged=Versions.parse(definition.get("taggedVersions")),
            flexible=Versions.parse(definition.get("flexibleVersions", "0+")),
            tag=None if tag is None else int(tag),  # some definitions have a string here
            default=definition.get("default"),
            ignorable=definition.get("ignorable", False) in (True, "true"),
            fields=self.fields(self.known[kind]) if struct else None,
        )


class Definitions:
    """The message definitions of a release.

    Attributes:
        requests, responses: the definitions of requests and responses, keyed by API key.
        records: the definitions of metadata records, keyed by record type. Empty for a release without KRaft.
        keys: the API key of each request, keyed by the name of the request without "Request". For example, "Fetch" has
            the API key 1.
    """

    def __init__(self, messages: Iterator[Message] | list[Message]) -> None:
        kinds: dict[str, dict[int, Message]] = {"request": {}, "response": {}, "metadata": {}}
        for message in messages:
            if message.kind in kinds and message.key is not None:
                kinds[message.kind][message.key] = message
        self.requests: Mapping[int, Message] = kinds["request"]
        self.responses: Mapping[int, Message] = kinds["response"]
        self.records: Mapping[int, Message] = kinds["metadata"]
        self.keys: Mapping[str, int] = {message.api: key for key, message in self.requests.items()}

    @classmethod
    def of_jars(cls, clients: Path, metadata: Path | None = None) -> Self:
        """Read the definitions from jars.

        Parameters:
            clients: the jar of kafka-clients: version 3.9.1 for brokers up to 3.9, otherwise the version of the broker.
            metadata: the release's jar of kafka-metadata, or None for a release without KRaft.

        Raises:
            BrokerError: if a jar cannot be read or contains no definitions.
        """
        return cls([Message.parse(text) for jar in (clients, metadata) if jar is not None for text in _texts(jar)])


def _texts(jar: Path) -> Iterator[str]:
    try:
        with zipfile.ZipFile(jar) as archive:
            names = [name for name in sorted(archive.namelist()) if _DEFINITION.fullmatch(name)]
            if not names:
                raise BrokerError(f"{jar} contains no message definitions: use kafka-clients 2.2 or later")
            for name in names:
                yield archive.read(name).decode("utf-8")
    except (OSError, zipfile.BadZipFile) as error:
        raise BrokerError(f"{jar} cannot be read as a jar: {error}") from error
