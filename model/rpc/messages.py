"""What is in flight between a follower and its leader: one request, or the response to it.

A request says all that the leader needs, so that it never looks at the follower itself. A message is
forgotten when the follower dies or obeys another leader epoch: handled earlier or not at all is all the
difference that would make.
"""

from __future__ import annotations

import attrs

from model.log import Record


@attrs.frozen(cache_hash=True)
class FetchRequest:
    """A follower asks for records. It may wait at the leader, in purgatory, while there are none.

    Attributes:
        leader: the broker that is asked.
        epoch: the leader epoch the follower is in; only KIP-320's leaders look at it.
        offset: the fetch offset: the follower's log end offset.
    """

    leader: int
    epoch: int
    offset: int

    def __str__(self) -> str:
        return f"fetch {self.offset}"


@attrs.frozen(cache_hash=True)
class FetchResponse:
    """A leader sends records, one at most, and its high watermark."""

    records: tuple[Record, ...]
    high_watermark: int

    def __str__(self) -> str:
        return f"{' '.join(map(str, self.records)) or 'nothing'}, HW {self.high_watermark}"


@attrs.frozen(cache_hash=True)
class OffsetOutOfRange:
    """A leader's log ends before the fetch offset; the follower is told where."""

    end_offset: int

    def __str__(self) -> str:
        return f"LEO {self.end_offset}"


@attrs.frozen(cache_hash=True)
class EpochRequest:
    """`OffsetsForLeaderEpoch`: a follower asks where the epoch of its last record ends (KIP-101).

    Attributes:
        leader: the broker that is asked.
        epoch: the leader epoch the follower is in; only KIP-320's leaders look at it.
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


Message = FetchRequest | FetchResponse | OffsetOutOfRange | EpochRequest | EpochResponse
