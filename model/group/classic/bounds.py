"""The bounds of a search of the classic protocol."""

from __future__ import annotations

import attrs

from leadline.checker.bounds import bound
from leadline.model.group import bounds


@attrs.frozen
class Bounds(bounds.Bounds):
    """The limits that make the state space finite, and settings of all consumers of the group."""

    transactional: bool = bound(False, "offsets are committed within transactions")
    cooperative: bool = bound(False, "the assignor is CooperativeStickyAssignor (KIP-429)")
