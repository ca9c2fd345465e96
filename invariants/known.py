"""Where properties are known to fail: specs by name, for what the properties say of themselves."""

from __future__ import annotations

from leadline.model.kafka.releases import RELEASES

ATOMIC_BEFORE_KIP_320 = ("atomic/hw-truncation", "atomic/kip-101", "atomic/kip-279", "atomic/kip-320-first-try")
"""All of the `atomic` family but KIP-320."""

RPC_BEFORE_KIP_320 = ("rpc/hw-truncation", "rpc/kip-101", "rpc/kip-279")
"""All of the `rpc` family but KIP-320."""

RPC = (*RPC_BEFORE_KIP_320, "rpc/kip-320")
"""All of the `rpc` family: what no protocol keeps in every configuration. The verdict matrix says in which."""

ALL_RELEASES = tuple(column.name for column in RELEASES)
"""All releases: what none keeps in every configuration."""


def releases(first: str, last: str) -> tuple[str, ...]:
    """The releases from one to another, both included, in the order of `leadline specs`."""
    return ALL_RELEASES[ALL_RELEASES.index(first) : ALL_RELEASES.index(last) + 1]
