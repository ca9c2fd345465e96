"""Messages in flight: one request or response between a follower and its leader, and an `AlterPartition` request.

A request contains everything that the leader needs, so the leader never reads the follower's state. A message is lost
when the follower crashes or obeys another leader epoch, except for one late fetch request if the bounds allow it.
"""

from __future__ import annotations

import attrs

from leadline.model.log import Record
from leadline.model.quorum import drawn_isr


@attrs.frozen(cache_hash=True)
class FetchRequest:
    """A follower asks for records. The request can wait in the leader's purgatory while there are none.

    Attributes:
        leader: the receiver.
        epoch: the follower's leader epoch; only leaders with KIP-320 check it.
        offset: the fetch offset, which is the follower's log end offset.
        last_epoch: the leader epoch of its last record (KIP-595); None in earlier releases and for an empty log.
    """

    leader: int
    epoch: int
    offset: int
    last_epoch: int | None = None

    def __str__(self) -> str:
        return f"fetch {self.offset}" + ("" if self.last_epoch is None else f" after epoch {self.last_epoch}")


@attrs.frozen(cache_hash=True)
class FetchResponse:
    """A leader sends at most one record, and its high watermark."""

    records: tuple[Record, ...]
    high_watermark: int

    def __str__(self) -> str:
        return f"{' '.join(map(str, self.records)) or 'nothing'}, HW {self.high_watermark}"


@attrs.frozen(cache_hash=True)
class OffsetOutOfRange:
    """The fetch offset is beyond the leader's log; the response has the leader's log end offset."""

    end_offset: int

    def __str__(self) -> str:
        return f"LEO {self.end_offset}"


@attrs.frozen(cache_hash=True)
class Diverging:
    """The fetch response to a follower whose log differs from its leader's (KIP-595).

    Attributes:
        epoch: the largest epoch known to the leader that is not greater than that of the follower's last record.
        end_offset: the end of that epoch in the leader's log.
        high_watermark: the leader's, if followers adopt it before they truncate (KAFKA-14704); otherwise None.
    """

    epoch: int
    end_offset: int
    high_watermark: int | None = None

    def __str__(self) -> str:
        watermark = "" if self.high_watermark is None else f", HW {self.high_watermark}"
        return f"diverging: epoch {self.epoch} ends at {self.end_offset}{watermark}"


@attrs.frozen(cache_hash=True)
class EpochRequest:
    """`OffsetsForLeaderEpoch`: a follower asks where the epoch of its last record ends (KIP-101).

    Attributes:
        leader: the receiver.
        epoch: the follower's leader epoch; only leaders with KIP-320 check it.
        wanted: the leader epoch whose end is requested.
    """

    leader: int
    epoch: int
    wanted: int

    def __str__(self) -> str:
        return f"epoch {self.wanted}?"


@attrs.frozen(cache_hash=True)
class EpochResponse:
    """The response to `OffsetsForLeaderEpoch`.

    Attributes:
        epoch: the epoch that the response is about (KIP-279); in earlier releases, the requested one.
        end_offset: the end of that epoch in the leader's log; None if the leader does not know it.
    """

    epoch: int
    end_offset: int | None

    def __str__(self) -> str:
        return f"epoch {self.epoch}: {'?' if self.end_offset is None else self.end_offset}"


Message = FetchRequest | FetchResponse | OffsetOutOfRange | Diverging | EpochRequest | EpochResponse


@attrs.frozen(cache_hash=True)
class Proposal:
    """The ISR that a leader proposes to the controller in an `AlterPartition` request (KIP-497).

    Attributes:
        isr: the proposed ISR.
        known: the ISR that the leader knew when it sent the request; with the leader epoch, it stands for the partition
            epoch.
        sent: whether the request is in flight; otherwise the controller has handled it, and the leader does not know.
        awaited: whether the leader still takes it into account; not if it has learned of another ISR since.
        outdated: whether the request has an old broker epoch of a broker (KIP-903).
    """

    isr: frozenset[int]
    known: frozenset[int]
    sent: bool = True
    awaited: bool = True
    outdated: bool = False

    def __str__(self) -> str:
        notes = {
            "answered": not self.sent,
            "no longer awaited": not self.awaited,
            "with an old broker epoch": self.outdated,
        }
        said = ", ".join(note for note, is_so in notes.items() if is_so)
        return drawn_isr(self.isr) + (f" ({said})" if said else "")


@attrs.frozen(cache_hash=True)
class LateFetch:
    """A fetch request that has outlived its connection.

    Attributes:
        request: the request.
        restarted: whether the sender has restarted since, with another broker epoch.
    """

    request: FetchRequest
    restarted: bool = False

    def __str__(self) -> str:
        return f"{self.request}, late{', from before a restart' if self.restarted else ''}"
