"""Groups of specs, by name, in which properties are known to fail. Properties refer to them in `fails_in`."""

from __future__ import annotations

from leadline.model.kafka.releases import RELEASES

ATOMIC_BEFORE_KIP_320 = ("atomic/hw-truncation", "atomic/kip-101", "atomic/kip-279", "atomic/kip-320-first-try")
"""All specs of the `atomic` family except KIP-320."""

RPC_BEFORE_KIP_320 = ("rpc/hw-truncation", "rpc/kip-101", "rpc/kip-279")
"""All specs of the `rpc` family except KIP-320."""

RPC = (*RPC_BEFORE_KIP_320, "rpc/kip-320")
"""All specs of the `rpc` family. The verdict matrix says in which configurations a property fails."""

ALL_RELEASES = tuple(column.name for column in RELEASES)
"""All releases, for properties that fail in some configuration of each."""


def releases(first: str, last: str) -> tuple[str, ...]:
    """The releases from `first` to `last`, inclusive, in the order of `leadline specs`."""
    return ALL_RELEASES[ALL_RELEASES.index(first) : ALL_RELEASES.index(last) + 1]
