"""Parts of the rows that show a partition in diagrams and tables. All families use them. Rows are defined in
`leadline.checker.drawing`.
"""

from __future__ import annotations

from typing import TypedDict

from leadline.checker.drawing import Cell, Mark, Message
from leadline.model.leadership import HasLeader
from leadline.model.log import Log, Record
from leadline.model.quorum import NO_EPOCH, Quorum, Request, drawn_isr

CONTROLLER = "controller"
PRODUCERS = "producers"
CONSUMERS = "consumers"


def broker_row(broker: int) -> str:
    """Return the name of a broker's row."""
    return f"broker {broker}"


def announcement(broker: int, epoch: int, request: Request, name: str = "LeaderAndIsr") -> Message:
    """Return the message that announces a leader epoch to a broker.

    Parameters:
        epoch, request: the leader epoch, and the request that announces it.
        name: the name of the request or, with KRaft, the name of the record in the metadata log.
    """
    detail = f"leader {'none' if request.leader is None else request.leader}, ISR {drawn_isr(request.isr)}"
    return Message(CONTROLLER, broker_row(broker), f"{name}, epoch {epoch}", detail)


def record_cell(record: Record) -> Cell:
    """Return the cell that shows a record, coloured by leader epoch."""
    return Cell(f"m{record.value}", f"epoch {record.epoch}", record.epoch)


REMOVED = Cell("-", "deleted")
"""The cell at each offset below the start of a log."""


class LogFields(TypedDict):
    """The fields of a `leadline.checker.drawing.Row` that show a log."""

    cells: tuple[Cell, ...]
    marks: tuple[Mark, ...]


def drawn_log(log: Log, high_watermark: int) -> LogFields:
    """Return the fields of a row that show a log: its cells, high watermark and log end offset."""
    marks = (Mark("HW", max(high_watermark, 0)), Mark("LEO", log.end_offset))
    cells = map(record_cell, log.between(log.start_offset, log.end_offset))
    return {"cells": (*(REMOVED,) * log.start_offset, *cells), "marks": marks}


def log_columns(log: Log, high_watermark: int) -> dict[str, str]:
    """Return the text of each table column that shows a log, keyed by column."""
    return {"log": log.drawn(high_watermark), "HW": str(high_watermark), "LEO": str(log.end_offset)}


def controller_badges(quorum: Quorum) -> list[str]:
    """Return the badges (short texts) of the controller: the leader, leader epoch and ISR."""
    return [_leader(quorum), _epoch(quorum.epoch), f"ISR: {drawn_isr(quorum.isr)}"]


def controller_columns(quorum: Quorum) -> dict[str, str]:
    """Return the text of each table column that shows the controller, keyed by column."""
    return {"role": _leader(quorum), "epoch": epoch_column(quorum.epoch), "ISR": drawn_isr(quorum.isr)}


def role_badges(broker: int, replica: HasLeader) -> list[str]:
    """Return the badges (short texts) for the leader and leader epoch that a broker has learned."""
    follows = "no leader yet" if replica.leader is None else f"follows {replica.leader}"
    return ["leads" if replica.leader == broker else follows, _epoch(replica.epoch)]


def role_column(broker: int, replica: HasLeader) -> str:
    """Return the table text for the leader that a broker has learned."""
    if replica.leader is None:
        return "-"
    return "leads" if replica.leader == broker else f"follows {replica.leader}"


def epoch_column(epoch: int) -> str:
    """Return the table text for a leader epoch."""
    return "-" if epoch == NO_EPOCH else str(epoch)


def standing(broker: int, quorum: Quorum) -> list[str]:
    """Return a badge (a short text) that says whether a broker is in the quorum's ISR."""
    return ["in the ISR" if broker in quorum.isr else "not in the ISR"]


def _leader(quorum: Quorum) -> str:
    return "no leader" if quorum.leader is None else f"leader: {quorum.leader}"


def _epoch(epoch: int) -> str:
    return "no epoch" if epoch == NO_EPOCH else f"epoch {epoch}"
