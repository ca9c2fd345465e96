"""What is in flight: between a follower and its leader one request or the response to it, and an `AlterPartition`.

A request says all that the leader needs, so that it never looks at the follower itself. A message is dropped
when the follower dies or obeys another leader epoch, except for one late fetch request where the bounds allow it.
"""

from __future__ import annotations

import attrs

from leadline.model.log import Record
from leadline.model.quorum import drawn_isr


@attrs.frozen(cache_hash=True)
class FetchRequest:
    """A follower asks for records. It may wait at the leader, in purgatory, while there are none.

    Attributes:
        leader: the broker that is asked.
        epoch: the leader epoch the follower is in; only leaders with KIP-320 look at it.
        offset: the fetch offset: the follower's log end offset.
        last_epoch: the leader epoch of its last record (KIP-595); None before, and if it has no record.
    """

    leader: int
    epoch: int
    offset: int
    last_epoch: int | None = None

    def __str__(self) -> str:
        return f"fetch {self.offset}" + ("" if self.last_epoch is None else f" after epoch {self.last_epoch}")


@attrs.frozen(cache_hash=True)
class FetchResponse:
    """A leader sends records, one at most, and its high watermark."""

    records: tuple[Record, ...]
    high_watermark: int

    def __str__(self) -> str:
        return f"{' '.join(map(str, self.records)) or 'nothing'}, HW {self.high_watermark}"


@attrs.frozen(cache_hash=True)
class OffsetOutOfRange:
    """A leader's log ends before the fetch offset; the follower learns where it ends."""

    end_offset: int

    def __str__(self) -> str:
        return f"LEO {self.end_offset}"


@attrs.frozen(cache_hash=True)
class Diverging:
    """The fetch response to a follower whose log differs from its leader's (KIP-595).

    Attributes:
        epoch: the largest epoch that the leader knows up to that of the follower's last record.
        end_offset: where that epoch ends in the leader's log.
        high_watermark: the leader's, where followers take it before they truncate (KAFKA-14704); else None.
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
        leader: the broker that is asked.
        epoch: the leader epoch the follower is in; only leaders with KIP-320 look at it.
        wanted: the leader epoch that is asked about.
    """

    leader: int
    epoch: int
    wanted: int

    def __str__(self) -> str:
        return f"epoch {self.wanted}?"


@attrs.frozen(cache_hash=True)
class EpochResponse:
    """The answer to `OffsetsForLeaderEpoch`.

    Attributes:
        epoch: the epoch that the answer is about (KIP-279); before, the one that was asked about.
        end_offset: where it ends in the leader's log; None if the leader cannot say.
    """

    epoch: int
    end_offset: int | None

    def __str__(self) -> str:
        return f"epoch {self.epoch}: {'?' if self.end_offset is None else self.end_offset}"


Message = FetchRequest | FetchResponse | OffsetOutOfRange | Diverging | EpochRequest | EpochResponse


@attrs.frozen(cache_hash=True)
class Proposal:
    """The ISR that a leader asks the controller for, by `AlterPartition` (KIP-497).

    Attributes:
        isr: the ISR it wants.
        known: the ISR it knew when it sent that: with the leader epoch, this stands for the partition epoch.
        sent: whether the request is on its way; else the controller has handled it, and the leader has not heard.
        awaited: whether the leader still reckons with it; not if it has heard of another ISR meanwhile.
        outdated: whether it names a broker by a broker epoch which that broker no longer has (KIP-903).
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
    """A fetch request that outlives the connection it was sent over.

    Attributes:
        request: the request.
        restarted: whether its sender has started again since, with another broker epoch.
    """

    request: FetchRequest
    restarted: bool = False

    def __str__(self) -> str:
        return f"{self.request}, late{', from before a restart' if self.restarted else ''}"
