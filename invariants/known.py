"""Where properties are known to fail: specs by name, for what the properties say of themselves."""

from __future__ import annotations

ATOMIC_BEFORE_KIP_320 = ("atomic/hw-truncation", "atomic/kip-101", "atomic/kip-279", "atomic/kip-320-first-try")
"""All of the `atomic` family but KIP-320."""

RPC_BEFORE_KIP_320 = ("rpc/hw-truncation", "rpc/kip-101", "rpc/kip-279")
"""All of the `rpc` family but KIP-320."""

RPC = (*RPC_BEFORE_KIP_320, "rpc/kip-320")
"""All of the `rpc` family: what no protocol keeps in every configuration. The verdict matrix says in which."""
