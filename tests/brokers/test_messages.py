"""Messages are decoded and encoded as their definitions say, whatever the bytes are."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import random
import struct
import uuid
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer

from leadline.brokers.errors import BrokerError
from leadline.brokers.messages.definitions import Definitions, Field, Fields, Message, Versions
from leadline.brokers.messages.fields import UNKNOWN_TAGS, decode, default_of, encode, signed, unsigned
from leadline.brokers.messages.requests import (
    RequestHeader,
    read_header,
    read_record,
    read_request,
    read_response,
    write_request,
)
from leadline.model.disk.wire import Malformed, Wire
from tests.brokers import small_messages as small

PING = small.DEFINITIONS.requests[1]

INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def value_of(draw: st.DrawFn, field: Field, version: int, *, element: bool = False) -> Any:
    """Draw a value of a field."""
    if not element and version in field.nullable and draw(st.booleans()):
        return None
    if field.array and not element:
        return [value_of(draw, field, version, element=True) for _ in range(draw(st.integers(0, 3)))]
    if field.fields is not None:
        return body_of(draw, field.fields, version)
    if field.type in INTEGERS:
        half = 2 ** (INTEGERS[field.type] - 1)
        return draw(st.integers(-half, half - 1))
    strategies: dict[str, st.SearchStrategy[Any]] = {
        "uint16": st.integers(0, 2**16 - 1),
        "uint32": st.integers(0, 2**32 - 1),
        "bool": st.booleans(),
        "float64": st.floats(allow_nan=False),
        "uuid": st.uuids(),
        "string": st.text(max_size=200),
    }
    return draw(strategies.get(field.type, st.binary(max_size=200)))


def body_of(draw: st.DrawFn, fields: Fields, version: int) -> dict[str, Any]:
    """Draw a body: every field of the version. Tagged fields are there unless they have their default."""
    ordered, tagged = fields.of_version(version)
    body = {field.name: value_of(draw, field, version) for field in ordered}
    optional = {field.name: (value_of(draw, field, version), default_of(field)) for field in tagged.values()}
    return body | {name: value for name, (value, default) in optional.items() if value != default}


@st.composite
def bodies(draw: st.DrawFn) -> tuple[int, dict[str, Any]]:
    """A version of the small request, and a body of it."""
    version = draw(st.integers(PING.versions.first, PING.versions.last))
    return version, body_of(draw, PING.fields, version)


@settings(max_examples=50)
@given(bodies())
def test_what_was_encoded_is_decoded(drawn: tuple[int, dict[str, Any]]) -> None:
    version, body = drawn
    assert decode(PING, version, Wire(encode(PING, version, body))) == body


@settings(max_examples=50)
@given(bodies(), st.data())
def test_damaged_bytes_are_malformed_or_another_body(drawn: tuple[int, dict[str, Any]], data: st.DataObject) -> None:
    version, body = drawn
    encoded = bytearray(encode(PING, version, body))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] ^= data.draw(st.integers(1, 255))
    encoded = encoded[: data.draw(st.integers(0, len(encoded)))]
    with contextlib.suppress(Malformed):
        assert set(decode(PING, version, Wire(bytes(encoded)))) <= PING.fields.names | {UNKNOWN_TAGS}


def test_bytes_are_those_of_the_definition() -> None:
    body = {"Small": 1, "Flags": 2, "Sure": False, "Part": 1.5, "Word": "ab", "Plain": "c", "Data": b"d",
            "Numbers": [3], "Places": [{"Row": 4}]}  # fmt: skip
    old = bytes.fromhex("0001 0002 00 3ff8000000000000 0002 6162 0001 63 00000001 64 00000000 00000001 00000003")
    assert encode(PING, 0, body) == old + bytes.fromhex("00000001 04")
    new = encode(PING, 3, body | {"Places": [{"Row": 4, "Word": "w"}], "Nest": {"Home": {"Row": 5, "Word": ""}}})
    numbers = bytes.fromhex("0001 0002 00000000 000000000000007f 00 3ff8000000000000") + bytes(16)
    assert new == numbers + bytes.fromhex("03 6162 0001 63 02 64 01 02 00000003 02 04 02 77 00 05 01 00 00 01 00")


def test_tagged_fields_that_the_definition_lacks_are_kept() -> None:
    body = {"Folders": [uuid.UUID(int=9)], "Away": {"Row": 1, "Word": "x", UNKNOWN_TAGS: {3: b"new"}},
            "Nest": {"Home": {"Row": 1}, "Extra": "e"}, UNKNOWN_TAGS: {7: b"later"}}  # fmt: skip
    decoded = decode(PING, 4, Wire(encode(PING, 4, body)))
    assert decoded[UNKNOWN_TAGS] == {7: b"later"}
    assert decoded["Away"][UNKNOWN_TAGS] == {3: b"new"}
    assert decoded["Folders"] == [uuid.UUID(int=9)]
    assert decoded["Nest"]["Extra"] == "e"


def test_defaults_are_those_of_the_definition() -> None:
    decoded = decode(PING, 5, Wire(encode(PING, 5, {})))
    assert (decoded["Small"], decoded["Long"], decoded["Sure"], decoded["Data"]) == (-7, 127, True, None)
    assert (decoded["Word"], decoded["Numbers"], decoded["Id"]) == ("", [], uuid.UUID(int=0))


@pytest.mark.parametrize(
    ("version", "body", "says"),
    [
        (6, {}, "version 6 of PingRequest is not defined"),
        (1, {"Smal": 1}, "unknown field Smal: the fields are Away, Data"),
        (1, {"Small": 2**15}, "a number in PingRequest is out of range"),
        (0, {"Word": None}, "Word must not be null"),
        (1, {"Long": 3}, "Long=3 cannot be encoded in version 1"),
    ],
)
def test_what_cannot_be_encoded_is_refused(version: int, body: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        encode(PING, version, body)
    assert encode(PING, 0, {"Id": uuid.UUID(int=1)}) == encode(PING, 0, {})  # an ignorable field is dropped


@pytest.mark.parametrize(
    ("version", "data", "says"),
    [
        (6, b"", "version 6 of PingRequest is not defined"),
        (0, b"\0", "2 bytes are declared"),
        (0, encode(PING, 0, {}) + b"\0", "followed by 1 unexpected bytes"),
        (0, bytes(13) + b"\xff\xff" + bytes(50), "Word is null but must not be null"),
        (0, bytes(13) + b"\0\1\xff" + bytes(50), "not UTF-8"),
        (0, bytes(13) + bytes(4) + b"\xff" * 8 + b"\x7f\xff\xff\xff" + bytes(9), "2147483647 elements"),
    ],
)
def test_what_cannot_be_decoded_is_malformed(version: int, data: bytes, says: str) -> None:
    with pytest.raises(Malformed, match=says):
        decode(PING, version, Wire(data))


@given(st.integers(-(2**63), 2**63 - 1))
def test_variable_lengths_are_read_again(number: int) -> None:
    assert Wire(signed(number)).signed() == number
    assert Wire(unsigned(abs(number))).unsigned() == abs(number)


@pytest.mark.parametrize("version", range(6))
def test_requests_and_responses_have_the_headers_of_their_versions(version: int) -> None:
    header = RequestHeader(1, version, 77, "me")
    frame = write_request(small.DEFINITIONS, header, {})
    assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
    assert read_header(frame[4:]) == RequestHeader(1, version, 77)
    assert read_request(small.DEFINITIONS, frame[4:])[0] == header
    tags = b"\0" if version >= 3 else b""
    assert frame[12:16] == b"\0\2me"
    assert frame[16:].startswith(tags)
    response = struct.pack(">i", 77) + tags + struct.pack(">h", 5) + tags
    assert read_response(small.DEFINITIONS, header, response) == {"ErrorCode": 5}


def test_the_exceptions_among_headers() -> None:
    # ApiVersions: the header of the response is always old, and with "unsupported version" the body too (KIP-511)
    header = RequestHeader(18, 3, 1)
    assert read_response(small.DEFINITIONS, header, bytes(4) + b"\0\0\2\0\1\0\2\0\3\0\0")["ApiKeys"] == [
        {"ApiKey": 1, "MinVersion": 2, "MaxVersion": 3}
    ]
    old = bytes(4) + b"\0\x23" + b"\0\0\0\1" + b"\0\x12\0\0\0\2"
    assert read_response(small.DEFINITIONS, header, old)["ApiKeys"][0]["MaxVersion"] == 2
    # ControlledShutdown 0: no client id
    assert read_request(small.DEFINITIONS, b"\0\7\0\0" + bytes(4) + b"\0\0\0\x09") == (
        RequestHeader(7, 0, 0),
        {"BrokerId": 9},
    )
    assert read_request(small.DEFINITIONS, b"\0\7\0\1" + bytes(4) + b"\0\1c" + b"\0\0\0\x09")[0].client == "c"


def test_what_the_definitions_lack_is_malformed() -> None:
    for frame, says in [(b"\0", "too short"), (b"\0\x63" + bytes(6), "no request with key 99"),
                        (b"\0\4" + bytes(8), "version 0 of RetiredRequest is not defined")]:  # fmt: skip
        with pytest.raises(Malformed, match=says):
            read_request(small.DEFINITIONS, frame)
    with pytest.raises(Malformed, match="no response with key 7"):
        read_response(small.DEFINITIONS, RequestHeader(7, 0, 1), bytes(8))


def test_records_of_the_metadata_log() -> None:
    assert read_record(small.DEFINITIONS, bytes.fromhex("01 05 01 02 74 02 00000003 00")) == (
        "ChangeRecord",
        1,
        {"Topic": "t", "Isr": [3]},
    )
    with pytest.raises(Malformed, match="no record with key 6"):
        read_record(small.DEFINITIONS, b"\1\6\0")


def test_definitions_are_read_from_jars(tmp_path: Path) -> None:
    clients = small.write_jar(tmp_path / "clients.jar", "common/message", small.CLIENTS)
    metadata = small.write_jar(tmp_path / "metadata.jar", "common/metadata", (small.CHANGE_RECORD,))
    found = Definitions.of_jars(clients, metadata)
    assert found.keys["Ping"] == 1
    assert found.records[5].name == "ChangeRecord"
    assert not Definitions.of_jars(clients).records


def test_a_jar_without_definitions_is_an_error(tmp_path: Path) -> None:
    old = small.write_jar(tmp_path / "old.jar", "common/message", ())
    with pytest.raises(BrokerError, match="contains no message definitions"):
        Definitions.of_jars(old)
    (tmp_path / "text.jar").write_text("no jar")
    for name in ("text.jar", "absent.jar"):
        with pytest.raises(BrokerError, match=f"{name} cannot be read as a jar"):
            Definitions.of_jars(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "within"), [("3+", range(3, 9)), ("1-3", (1, 2, 3)), ("7", (7,)), ("none", ()), (None, ())]
)
def test_ranges_of_versions(text: str | None, within: Sequence[int]) -> None:
    versions = Versions.parse(text)
    assert [version for version in range(9) if version in versions] == list(within)


# --- kio, which has classes for the messages of one release -----------------------------------------------------------

KIO = ["fetch", "produce", "alter_partition", "api_versions", "broker_registration", "create_topics"]

KIO_TYPES = {"error_code": "int16", "timedelta_i32": "int32", "timedelta_i64": "int64", "datetime_i64": "int64"}


def kio_classes() -> list[Any]:
    """kio's classes of some requests and responses."""
    found = [paths for name in KIO for paths in schema_name_map[name].values()]
    return [resolve_name(path) for paths in found for path in paths.values()]


def definition_of(entity: Any) -> dict[str, Any]:
    """A definition, in Kafka's notation, of a class of kio."""
    version, hints = entity.__version__, get_type_hints(entity)
    every = f"{version}+"
    fields = []
    for field in dataclasses.fields(entity):
        hint, kind = hints[field.name], field.metadata.get("kafka_type", "")
        parts = [part for part in get_args(hint) if part is not NoneType] if NoneType in get_args(hint) else [hint]
        array = get_origin(parts[0]) is tuple
        inner = get_args(parts[0])[0] if array else parts[0]
        kind = KIO_TYPES.get(kind, kind) or inner.__name__
        told = {"name": field.name, "versions": every, "type": f"[]{kind}" if array else kind}
        if NoneType in get_args(hint):
            told["nullableVersions"] = every
        if "tag" in field.metadata:
            told |= {"tag": field.metadata["tag"], "taggedVersions": every}
        if dataclasses.is_dataclass(inner):
            told["fields"] = definition_of(inner)["fields"]
        fields.append(told)
    return {
        "name": entity.__name__, "type": entity.__type__.name, "apiKey": entity.__dict__.get("__api_key__"),
        "validVersions": str(version), "flexibleVersions": every if entity.__flexible__ else "none", "fields": fields,
    }  # fmt: skip


def some_body(fields: Fields, version: int, rng: random.Random) -> dict[str, Any]:
    """A body with values that kio accepts: known error codes, times that exist."""

    def some(field: Field, element: bool) -> Any:
        if field.array and not element:
            return [some(field, True) for _ in range(rng.randrange(3))]
        if field.fields is not None:
            return some_body(field.fields, version, rng)
        if field.type in ("bytes", "records"):
            return rng.randbytes(rng.randrange(200))
        simple = {"string": "x" * rng.randrange(1, 200), "uuid": uuid.UUID(int=rng.randrange(1, 2**128)),
                  "bool": rng.random() < 0.5, "float64": 0.5}  # fmt: skip
        return simple.get(field.type, rng.randrange(1, 100))

    ordered, tagged = fields.of_version(version)
    optional = {field.name: some(field, False) for field in tagged.values()}
    sent = {field.name for field in tagged.values() if optional[field.name] != default_of(field)}
    return {field.name: some(field, False) for field in ordered} | {name: optional[name] for name in sent}


def check_with_kio(entity: Any, message: Message, rng: random.Random) -> None:
    """kio reads what is written here; what kio writes is read here, and is the same."""
    version = int(entity.__version__)
    body = some_body(message.fields, version, rng)
    written = encode(message, version, body)
    buffer = io.BytesIO()
    entity_writer(entity)(buffer, entity_reader(entity)(written, 0)[0])
    assert decode(message, version, Wire(buffer.getvalue())) == decode(message, version, Wire(written)), entity
    assert buffer.getvalue() == written, entity


def test_kio_reads_and_writes_the_same_bytes() -> None:
    rng = random.Random(0)
    for entity in kio_classes():
        check_with_kio(entity, Message.parse(json.dumps(definition_of(entity))), rng)
