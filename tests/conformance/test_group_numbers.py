"""Recordings of consumer groups in which one generation, epoch, member id or owned partition is altered: at least 95 of
100 are noticed.

`LEADLINE_ALL_NUMBERS=1` alters every one, which takes some minutes. Without it, a sample is altered.
"""

from __future__ import annotations

import os
import random
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.conformance.groups.check import check_group, column_for
from leadline.brokers.conformance.groups.reading import FOLLOWED, read_group
from leadline.brokers.conformance.groups.subscription import bytes_of
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.recording import Recording, plain, read_recording
from leadline.checker.conformance import Answer

RECORDINGS = Path(__file__).parent / "group_recordings"
NAMES = [path.stem for path in sorted(RECORDINGS.glob("*.jsonl"))]
ALL = bool(os.environ.get("LEADLINE_ALL_NUMBERS"))
SAMPLE = 60
LEAST = 0.95

GENERATIONS = {"GenerationId", "GenerationIdOrMemberEpoch", "MemberEpoch"}
MEMBER_IDS = {"MemberId", "Leader"}
PARTITIONS = 3

Place = tuple[str | int, ...]


class Altered(Recording):
    """A recording in memory."""

    lines: list[dict[str, Any]]

    def events(self) -> Iterator[dict[str, Any]]:
        yield from self.lines


def opened(name: str) -> Altered:
    found = read_recording(RECORDINGS / f"{name}.jsonl")
    altered = Altered(found.path, found.about)
    object.__setattr__(altered, "lines", list(found.events()))
    return altered


def answer(recording: Recording) -> Answer | None:
    """The answer for the release of a recording, or None if it cannot be followed."""
    try:
        read = read_group(recording, "g")
        column = column_for(read, recording.about["release"])
        assert column is not None
        return check_group(read, column).conformance.answer
    except NotFollowed:
        return None


def values(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value in a body, and every field of bytes as a whole."""
    if isinstance(value, dict) and "base64" not in value:
        for name, each in value.items():
            yield from values(each, (*place, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from values(each, (*place, number))
    else:
        yield place, value


def partitions_at(data: bytes, *, subscription: bool) -> Iterator[int]:
    """Where a subscription or an assignment has the number of an owned partition."""
    at = 2

    def number() -> int:
        nonlocal at
        at += 4
        return int(struct.unpack_from(">i", data, at - 4)[0])

    def skip(length: int) -> None:
        nonlocal at
        at += max(length, 0)

    def skip_name() -> None:
        skip(2 + struct.unpack_from(">h", data, at)[0])

    if not data or (subscription and data[:2] == b"\0\0"):
        return
    if subscription:
        for _ in range(number()):
            skip_name()
        skip(number())
    for _ in range(number()):
        skip_name()
        for _ in range(number()):
            yield at
            skip(4)


def others(place: Place, value: Any, member_ids: list[str]) -> Iterator[tuple[str, Any]]:
    """What a value is altered to, and what kind of alteration this is."""
    name = next(each for each in reversed(place) if isinstance(each, str))
    if name in GENERATIONS and value >= 0:
        yield from ((name, value + more) for more in (1, -1, 5))
    elif name in MEMBER_IDS and value:
        yield f"{name} of another", member_ids[(member_ids.index(value) + 1) % len(member_ids)]
        yield f"{name} of nobody", value[:-1] + ("0" if value[-1] != "0" else "1")
    elif name == "Partitions" and isinstance(value, int):
        yield "owned partition", (value + 1) % PARTITIONS
    elif name in ("Metadata", "Assignment") and value is not None:
        data = bytes_of(value)
        assert data is not None
        for at in partitions_at(data, subscription=name == "Metadata"):
            other = (struct.unpack_from(">i", data, at)[0] + 1) % PARTITIONS
            yield f"owned partition in {name}", plain(data[:at] + struct.pack(">i", other) + data[at + 4 :])


def alterations(recording: Altered) -> Iterator[tuple[str, Any, str | int, Any]]:
    """Every alteration: its kind, the part of a body, the name of the field, and its value."""
    member_ids = list(read_group(recording, "g").members)
    for line in recording.lines:
        if line["event"] != "frame" or line["api"] not in FOLLOWED:
            continue
        for place, value in list(values(line["body"])):
            part = line["body"]
            for each in place[:-1]:
                part = part[each]
            for kind, other in others(place, value, member_ids):
                sent = "request" if line["request"] else "response"
                yield f"{line['api']} {sent}: {kind}", part, place[-1], other


@pytest.mark.parametrize("name", NAMES)
def test_what_is_altered_is_noticed(name: str) -> None:
    recording = opened(name)
    assert answer(recording) is Answer.CONFORMS
    found = list(alterations(recording))
    chosen = found if ALL else random.Random(name).sample(found, SAMPLE)
    unnoticed = Counter[str]()
    for kind, part, field, other in chosen:
        before = part[field]
        part[field] = other
        if answer(recording) is Answer.CONFORMS:
            unnoticed[kind] += 1
        part[field] = before
    assert sum(unnoticed.values()) <= (1 - LEAST) * len(chosen), (len(chosen), unnoticed)
    if ALL:
        print(name, len(chosen), dict(unnoticed))
