"""Groups of specs in which properties are known to fail. They are passed to properties as the argument `fails_in`."""

from __future__ import annotations

from leadline.model.kafka.releases import RELEASES

ATOMIC_BEFORE_KIP_320 = ("atomic/hw-truncation", "atomic/kip-101", "atomic/kip-279", "atomic/kip-320-first-try")
"""All specs of the `atomic` family except ``atomic/kip-320``."""

RPC_BEFORE_KIP_320 = ("rpc/hw-truncation", "rpc/kip-101", "rpc/kip-279")
"""All specs of the `rpc` family except ``rpc/kip-320``."""

RPC = (*RPC_BEFORE_KIP_320, "rpc/kip-320")
"""All specs of the `rpc` family. The matrix of verdicts says within which bounds a property fails."""

ALL_RELEASES = tuple(column.name for column in RELEASES)
"""The specs of all releases, for properties that fail in each release within some bounds."""


def releases(first: str, last: str) -> tuple[str, ...]:
    """Return the releases from `first` to `last`, inclusive, in the order in which `leadline specs` lists them."""
    return ALL_RELEASES[ALL_RELEASES.index(first) : ALL_RELEASES.index(last) + 1]
