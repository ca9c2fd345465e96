"""Messages in flight: requests and responses between followers and leaders, and `AlterPartition` requests.

A request contains all data that the leader needs, so the leader never reads the follower's state. A message is lost
when the follower crashes or accepts a request with a new leader epoch. If the bounds allow it, a fetch request can
still arrive after its connection broke.
"""

from __future__ import annotations

import attrs

from leadline.model.log import Record
from leadline.model.quorum import drawn_isr


@attrs.frozen(cache_hash=True)
class FetchRequest:
    """A fetch request of a follower, which can wait in the leader's purgatory while there are no records.

    Attributes:
        leader: the broker to which the request is sent.
        epoch: the leader epoch of the follower. Only leaders with KIP-320 check it.
        offset: the fetch offset, which is the follower's log end offset.
        last_epoch: the leader epoch of the follower's last record (KIP-595), or None in earlier releases and for an
            empty log.
        start: the follower's log start offset (KIP-107), or 0 in earlier releases.
    """

    leader: int
    epoch: int
    offset: int
    last_epoch: int | None = None
    start: int = 0

    def __str__(self) -> str:
        after = "" if self.last_epoch is None else f" after epoch {self.last_epoch}"
        return f"fetch {self.offset}{after}{_start(self.start)}"


@attrs.frozen(cache_hash=True)
class FetchResponse:
    """A fetch response, with at most one record, the leader's high watermark, and its log start offset (KIP-107)."""

    records: tuple[Record, ...]
    high_watermark: int
    start: int = 0

    def __str__(self) -> str:
        return f"{' '.join(map(str, self.records)) or 'nothing'}, HW {self.high_watermark}{_start(self.start)}"


@attrs.frozen(cache_hash=True)
class OffsetOutOfRange:
    """The response to a fetch request whose offset is beyond the leader's log. It gives the leader's log end offset.

    If the start of a log can move, it is the response to the `OffsetsRequest` for this offset.
    """

    end_offset: int

    def __str__(self) -> str:
        return f"LEO {self.end_offset}"


@attrs.frozen(cache_hash=True)
class OffsetsRequest:
    """The ListOffsets request of a follower whose fetch offset is out of its leader's range.

    Attributes:
        leader: the broker to which the request is sent.
        epoch: the leader epoch of the follower. Only leaders with KIP-320 check it.
        earliest: whether the follower asks for the leader's log start offset, and not for its log end offset.
    """

    leader: int
    epoch: int
    earliest: bool = False

    def __str__(self) -> str:
        return f"{'earliest' if self.earliest else 'latest'} offset?"


@attrs.frozen(cache_hash=True)
class EarliestOffset:
    """The response to an `OffsetsRequest` for the leader's log start offset."""

    start: int

    def __str__(self) -> str:
        return f"log starts at {self.start}"


@attrs.frozen(cache_hash=True)
class Failed:
    """Stands in place of a request: an error has ended the fetching of this partition."""

    def __str__(self) -> str:
        return "failed"


@attrs.frozen(cache_hash=True)
class Diverging:
    """The fetch response to a follower whose log differs from its leader's log (KIP-595).

    Attributes:
        epoch: the largest epoch in the leader's log that is not greater than the epoch of the follower's last record.
        end_offset: the end offset of this epoch in the leader's log.
        high_watermark: the leader's high watermark if followers adopt it before they truncate (KAFKA-14704), or None.
        start: the leader's log start offset, which followers adopt together with the high watermark.
    """

    epoch: int
    end_offset: int
    high_watermark: int | None = None
    start: int = 0

    def __str__(self) -> str:
        watermark = "" if self.high_watermark is None else f", HW {self.high_watermark}"
        return f"diverging: epoch {self.epoch} ends at {self.end_offset}{watermark}{_start(self.start)}"


@attrs.frozen(cache_hash=True)
class EpochRequest:
    """An `OffsetsForLeaderEpoch` request, in which a follower asks for the end offset of its last record's epoch
    (KIP-101).

    Attributes:
        leader: the broker to which the request is sent.
        epoch: the leader epoch of the follower. Only leaders with KIP-320 check it.
        wanted: the leader epoch whose end offset is requested.
    """

    leader: int
    epoch: int
    wanted: int

    def __str__(self) -> str:
        return f"epoch {self.wanted}?"


@attrs.frozen(cache_hash=True)
class EpochResponse:
    """The response to an `OffsetsForLeaderEpoch` request.

    Attributes:
        epoch: the epoch to which the response refers (KIP-279). In earlier releases, this is the requested epoch.
        end_offset: the end offset of this epoch in the leader's log, or None if it is unknown.
    """

    epoch: int
    end_offset: int | None

    def __str__(self) -> str:
        return f"epoch {self.epoch}: {'?' if self.end_offset is None else self.end_offset}"


Message = (
    FetchRequest
    | FetchResponse
    | OffsetOutOfRange
    | Diverging
    | EpochRequest
    | EpochResponse
    | OffsetsRequest
    | EarliestOffset
    | Failed
)


def _start(offset: int) -> str:
    return f", log starts at {offset}" if offset else ""


@attrs.frozen(cache_hash=True)
class Proposal:
    """The ISR that a leader proposes to the controller in an `AlterPartition` request (KIP-497).

    Attributes:
        isr: the proposed ISR.
        known: the ISR that the leader knew when it sent the request. Together with the leader epoch, it identifies the
            partition epoch.
        sent: whether the request is in flight. If not, the controller has handled it, but the leader has not received
            the response.
        awaited: whether the leader still uses the proposal. The leader stops using it when it learns that the ISR has
            changed.
        outdated: whether the request contains an outdated broker epoch, because a broker has restarted (KIP-903).
        stale: whether the request contains an outdated partition epoch, because the controller has changed the
            replicas.
        dropped: whether the leader waits for the response although the request has not been sent and never will be
            (KAFKA-12686).
    """

    isr: frozenset[int]
    known: frozenset[int]
    sent: bool = True
    awaited: bool = True
    outdated: bool = False
    stale: bool = False
    dropped: bool = False

    def __str__(self) -> str:
        return drawn_isr(self.isr) + self.notes

    @property
    def notes(self) -> str:
        """Return in parentheses what is special about the proposal, or an empty string."""
        notes = {
            "answered": not self.sent and not self.dropped,
            "dropped": self.dropped,
            "no longer awaited": not self.awaited,
            "names a broker epoch from before a restart": self.outdated,
            "names an old partition epoch": self.stale,
        }
        said = ", ".join(note for note, is_so in notes.items() if is_so)
        return f" ({said})" if said else ""


@attrs.frozen(cache_hash=True)
class LateFetch:
    """A fetch request that is still in flight after its connection broke.

    Attributes:
        request: the fetch request.
        restarted: whether the follower has restarted since it sent the request, so that it has a new broker epoch.
    """

    request: FetchRequest
    restarted: bool = False

    def __str__(self) -> str:
        return f"{self.request}, late{', from before a restart' if self.restarted else ''}"
