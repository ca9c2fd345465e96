"""How views draw a replica. Shared by all families of specs; `reports/spacetime.py` says what is asked."""

from __future__ import annotations

from typing import Any

from model.log import Log

Message = tuple[str, str, str]
"""The row that sends, the row that receives, and what is sent."""

CONTROLLER = "controller"
PRODUCERS = "producers"
CONSUMERS = "consumers"


def broker_row(broker: int) -> str:
    """The row of a broker."""
    return f"broker {broker}"


def leader_and_isr(broker: int, epoch: int) -> Message:
    """The request of a leader epoch, as one broker gets it."""
    return CONTROLLER, broker_row(broker), f"LeaderAndIsr, epoch {epoch}"


def drawn_log(log: Log, high_watermark: int) -> dict[str, Any]:
    """The cells of a log, coloured by leader epoch, with its high watermark and log end offset."""
    cells = [(f"m{record.value}", record.epoch) for record in log.records]
    return {"cells": cells, "marks": {"HW": high_watermark, "LEO": log.end_offset}}
