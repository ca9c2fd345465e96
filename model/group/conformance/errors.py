"""The error codes of answers to requests of consumers (`org.apache.kafka.common.protocol.Errors`)."""

from __future__ import annotations

NONE = 0
COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 14, 15, 16
ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS = 22, 25, 27
MEMBER_ID_REQUIRED = 79
FENCED_MEMBER_EPOCH, STALE_MEMBER_EPOCH = 110, 113

NOT_READY = frozenset({COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR})
"""The broker is not the coordinator, or not yet, or the change could not be written. It may have been written."""

SENTENCES = {
    NONE: "no error",
    **dict.fromkeys(NOT_READY, "an error of a coordinator that is not ready"),
    ILLEGAL_GENERATION: "ILLEGAL_GENERATION",
    UNKNOWN_MEMBER_ID: "UNKNOWN_MEMBER_ID",
    REBALANCE_IN_PROGRESS: "REBALANCE_IN_PROGRESS",
    MEMBER_ID_REQUIRED: "MEMBER_ID_REQUIRED",
    FENCED_MEMBER_EPOCH: "FENCED_MEMBER_EPOCH",
    STALE_MEMBER_EPOCH: "STALE_MEMBER_EPOCH",
}


def said(code: int) -> str:
    """Return an error code in words."""
    return SENTENCES.get(code, f"error {code}")
