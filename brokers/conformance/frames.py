"""The decoded frames of a recording."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import attrs

from leadline.brokers.recording import Recording

NONE = -1
CONTROLLER, ZOOKEEPER = "controller", "zookeeper"
NEVER = math.inf
Body = Mapping[str, Any]


@attrs.frozen
class Seen:
    """A frame of a recording. `leadline.brokers.frame.Frame` describes the fields.

    Attributes:
        number, source, target, request, api, version, body, connection: the recorded values.
        answers: the number of the request to which a response belongs, or None.
        arrived: the time when the frame arrived at the proxy.
        passed: the time when the frame was forwarded, or None if it was not forwarded.
    """

    number: int
    source: int | str
    target: int | str
    request: bool
    api: str
    version: int
    body: Body
    connection: int
    answers: int | None
    arrived: float
    passed: float | None

    @property
    def begins(self) -> float:
        """The earliest time at which the receiver may have received the frame. In a recording that was not made by a
        proxy, times can be bounds, so `passed` may be before `arrived`.
        """
        return self.arrived if self.passed is None else min(self.arrived, self.passed)


def seen_frame(line: Mapping[str, Any]) -> Seen | None:
    """Return the frame in a line of a recording, or None if the line is another event or was not decoded."""
    if line["event"] != "frame" or line["body"] is None:
        return None
    return Seen(**{field.name: line[field.name] for field in attrs.fields(Seen)})


def seen_frames(recording: Recording) -> Iterator[Seen]:
    """Yield the decoded frames of a recording, in the order of their lines. The file is read while iterating."""
    yield from filter(None, map(seen_frame, recording.events()))


def frames_around(
    recording: Recording, numbers: Collection[int], at: float, near: int, without: Collection[str]
) -> list[Seen]:
    """Return frames of a recording, and the frames just before and after each of them, in order of arrival.

    Parameters:
        numbers: the numbers of the frames. If there are none, the last frame that arrived before `at` is used instead.
        at: a time.
        near: the number of frames before and after each frame.
        without: names of requests that are left out, with their responses.
    """
    found = array("q")
    before = -1
    for frame in seen_frames(recording):
        if frame.api not in without:
            found.append(frame.number)
            before = max(before, frame.number) if frame.arrived < at else before
    ordered = sorted(found)
    places = [place for place, number in enumerate(ordered) if number in numbers]
    places = places or [place for place, number in enumerate(ordered) if number == before]
    shown = {ordered[i] for place in places for i in range(max(0, place - near), min(len(ordered), place + near + 1))}
    return sorted((each for each in seen_frames(recording) if each.number in shown), key=lambda each: each.number)
