"""Find out how many records the requests and responses in a request log contain. The log contains only the size of
records.

- The records in a fetch response end where the follower's next fetch begins. If there is no next fetch, they end at the
  leader's log end offset, if the produce requests determine it.
- The records in a produce request end where those of the next produce request in the same leader epoch begin.

A broker logs a request when it is complete. Therefore, requests that are waiting when a leader is killed are missing:

- For fetched records that are in no produce request, a produce request without a response is added.
- A response to a produce request with acks=all is left out if the followers' fetches do not explain it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from leadline.brokers.conformance.frames import CONTROLLER
from leadline.brokers.conformance.metadata import Image
from leadline.brokers.conformance.reading import metadata_of
from leadline.brokers.messages.leader_and_isr import partition_states
from leadline.brokers.messages.topics import number_of, partitions_in, topics_in
from leadline.brokers.request_logs.request import Request, take_size

Key = tuple[str, int]
"""A partition: the name of the topic, and its number."""

_ALL = -1


@attrs.define(eq=False)
class _Append:
    """A produce request for a partition that was answered with an offset."""

    request: Request
    part: dict[str, Any]
    begin: int
    end: int


@attrs.define(eq=False)
class _Fetched:
    """A response to a follower with an unknown number of records."""

    request: Request
    part: dict[str, Any]
    offset: int


@attrs.define(eq=False)
class _Term:
    """The requests for a partition that a broker handled in one leader epoch.

    Attributes:
        appends: the produce requests.
        unknown: the responses to followers with an unknown number of records.
        fetched: the end offset of the records that were sent to followers.
        reached: for each follower, the highest offset from which it fetched.
    """

    appends: list[_Append] = attrs.field(factory=list)
    unknown: list[_Fetched] = attrs.field(factory=list)
    fetched: int = 0
    reached: dict[int | str, int] = attrs.field(factory=dict)


def add_records(requests: Sequence[Request]) -> tuple[int, list[Request]]:
    """Add record batches to requests and responses.

    Parameters:
        requests: the requests, in order of arrival.

    Returns:
        The number of responses that were left out, and the produce requests that are missing from the files.
    """
    records = _Records()
    for _, request in sorted(((_handled(each), each) for each in requests), key=lambda pair: pair[0]):
        match request.api:
            case "LeaderAndIsr":
                records.lead(request)
            case "Fetch" if request.node == CONTROLLER:
                records.learn(request)
            case "Fetch" if request.source != "client":
                records.fetch(request)
            case "Produce":
                records.produce(request)
    lost = [each for (_, key, _), term in records.terms.items() for each in records.explain(key, term)]
    return records.left_out, lost


def _handled(request: Request) -> float:
    """Return a time that puts a request in order. Records of the metadata log are learned from the response."""
    return request.sent if request.node == CONTROLLER else request.begun


class _Records:
    """The records of all partitions."""

    def __init__(self) -> None:
        self.terms: dict[tuple[int | str, Key, int], _Term] = {}
        self.left_out = 0
        self._names: dict[str, str] = {}
        self._epochs: dict[tuple[int | str, Key], int] = {}
        self._offsets: dict[tuple[Any, ...], int] = {}
        self._waiting: dict[tuple[Any, ...], tuple[_Term, _Fetched]] = {}
        self._images: dict[tuple[int | str, str, int], Image] = {}
        self._learned: dict[int | str, int] = {}
        self._numbers = itertools.count()

    def lead(self, request: Request) -> None:
        """Store the leader epochs that a LeaderAndIsr request announces."""
        for topic in request.body.get("TopicStates") or ():
            self._names[topic.get("TopicId") or ""] = topic["TopicName"]
        for state in partition_states(request.body):
            self._epochs[request.node, (state["TopicName"], state["PartitionIndex"])] = state["LeaderEpoch"]

    def learn(self, request: Request) -> None:
        """Store the leader epochs in the records of the metadata log that a response contains."""
        broker = request.source
        for offset, _, name, body in metadata_of(request.answer or {}):
            if offset <= self._learned.get(broker, -1):
                continue  # it was fetched again
            self._learned[broker] = offset
            if name == "TopicRecord":
                self._names[body["TopicId"]] = body["Name"]
            elif name in ("PartitionRecord", "PartitionChangeRecord"):
                topic, partition = body["TopicId"], body["PartitionId"]
                image = self._images.get((broker, topic, partition), Image()).after(name, body)
                self._images[broker, topic, partition] = image
                self._epochs[broker, (self._names.get(topic, ""), partition)] = image.epoch

    def fetch(self, request: Request) -> None:
        """Store the offsets of a follower's fetch, which show where the records of the previous response end."""
        pair = request.source, request.node
        for key, part in self._parts(request.body):
            offset = self._offsets[*pair, key] = part["FetchOffset"]
            term = self._term(request.node, key)
            before, known = self._waiting.pop((*pair, key), (None, None))
            if before is term and known is not None and offset > known.offset:
                self._end(term, known, offset)
            reached = term.reached
            reached[request.source] = max(offset, reached.get(request.source, 0))
        for key, part in self._parts(request.answer):
            if take_size(part):
                term = self._term(request.node, key)
                fetched = _Fetched(request, part, self._offsets.get((*pair, key), 0))
                term.unknown.append(fetched)
                self._waiting[*pair, key] = term, fetched

    @staticmethod
    def _end(term: _Term, fetched: _Fetched, end: int) -> None:
        fetched.part["Records"] = _batch(fetched.offset, end, None)
        term.fetched = max(term.fetched, end)
        term.unknown.remove(fetched)

    def produce(self, request: Request) -> None:
        """Store a produce request. Until more is known, it has one record per partition."""
        bases = {key: part.get("BaseOffset", -1) for key, part in self._parts(request.answer)}
        for key, part in self._parts(request.body):
            take_size(part)
            self._fill(part, 1)
            base = bases.get(key, -1)
            if base >= 0:
                self._term(request.node, key).appends.append(_Append(request, part, base, base + 1))

    def explain(self, key: Key, term: _Term) -> Iterator[Request]:
        """Find the remaining numbers of records of a leader epoch. Yield the produce requests that are missing."""
        term.appends.sort(key=lambda each: each.begin)
        for append, following in itertools.pairwise(term.appends):
            append.end = following.begin
            self._fill(append.part, append.end - append.begin)
        for fetched in list(term.unknown):
            appended = [each for each in term.appends if each.request.begun <= fetched.request.sent]
            before = max([0, *(each.end for each in appended if each.request.done <= fetched.request.begun)])
            ends = {each.end for each in appended if each.end > fetched.offset and each.end >= before}
            if len(ends) == 1:
                self._end(term, fetched, ends.pop())
            else:
                fetched.request.answer, self.left_out = None, self.left_out + 1
        if not term.appends:
            return
        last = term.appends[-1]
        for _ in range(last.end, term.fetched):
            part: dict[str, Any] = {"Index": key[1]}
            self._fill(part, 1)
            topic = {"Name": key[0], "PartitionData": [part]}
            yield attrs.evolve(
                last.request, body={"Acks": last.request.body["Acks"], "TopicData": [topic]}, answer=None
            )
        for append in term.appends:
            late = any(offset < append.end for offset in term.reached.values())
            if late and append.request.body["Acks"] == _ALL and append.request.answer is not None:
                append.request.answer, self.left_out = None, self.left_out + 1

    def _term(self, node: int | str, key: Key) -> _Term:
        return self.terms.setdefault((node, key, self._epochs.get((node, key), -1)), _Term())

    def _parts(self, body: Mapping[str, Any] | None) -> Iterator[tuple[Key, dict[str, Any]]]:
        """Yield the partitions of a request or response."""
        for topic in topics_in(body or {}):
            topic_id: Any = topic.get("TopicId")
            name = topic.get("Topic") or topic.get("Name") or self._names.get(topic_id, "")
            for part in partitions_in(topic):
                yield (name, number_of(part)), part

    def _fill(self, part: dict[str, Any], count: int) -> None:
        """Add the given number of records. Each has a unique value."""
        values = [f"unknown record {next(self._numbers)}" for _ in range(count)]
        part["Records"] = _batch(0, count, [{"offset": 0, "key": None, "value": value} for value in values])


def _batch(first: int, end: int, records: list[dict[str, Any]] | None) -> dict[str, Any]:
    return {"size": 0, "batches": [{"first": first, "last": end - 1, "leader_epoch": -1, "records": records}]}
