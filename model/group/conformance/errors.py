"""The error codes of answers to requests of consumers (`org.apache.kafka.common.protocol.Errors`)."""

from __future__ import annotations

NONE = 0
ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS = 22, 25, 27
MEMBER_ID_REQUIRED = 79
FENCED_MEMBER_EPOCH, STALE_MEMBER_EPOCH = 110, 113

NOT_COORDINATOR = 16
NOT_READY = frozenset({14, 15, NOT_COORDINATOR})
"""The broker is not the coordinator, or not yet, or the change could not be written. It may have been written."""

OTHERS = frozenset({-1, 3, 7, 12, 23, 24, 26, 28, 29, 30, 35, 42, 81, 82, 111, 112})
"""Errors that have other reasons than the state of the group, such as authorisation, sizes, or a time-out."""

_NAMES = {code: name for name, code in globals().items() if isinstance(code, int)} | {NONE: "no error"}


def said(code: int) -> str:
    """Return an error code in words."""
    return _NAMES.get(code, f"error {code}")
