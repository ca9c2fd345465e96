"""How views draw a replica. Shared by all families of specs; `reports/spacetime.py` says what is asked."""

from __future__ import annotations

from typing import Any

from model.leadership import Led
from model.log import Log
from model.quorum import NO_EPOCH, Quorum, drawn_isr

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


def controller_badges(quorum: Quorum) -> list[str]:
    """What the controller holds."""
    leader = "no leader" if quorum.leader is None else f"leader: {quorum.leader}"
    return [leader, _epoch(quorum.epoch), f"ISR: {drawn_isr(quorum.isr)}"]


def role_badges(broker: int, replica: Led) -> list[str]:
    """Whom a broker takes for the leader, and in which epoch."""
    follows = "no leader yet" if replica.leader is None else f"follows {replica.leader}"
    return ["leads" if replica.leader == broker else follows, _epoch(replica.epoch)]


def standing(broker: int, quorum: Quorum) -> list[str]:
    """Whether the quorum counts a broker in."""
    return ["in the ISR" if broker in quorum.isr else "not in the ISR"]


def _epoch(epoch: int) -> str:
    return "no epoch" if epoch == NO_EPOCH else f"epoch {epoch}"
