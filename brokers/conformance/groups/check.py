"""Check the recording of a group against the specs of releases."""

from __future__ import annotations

from collections import Counter
from typing import Any

from leadline.brokers.conformance.check import MOST_STEPS, Checked
from leadline.brokers.conformance.groups import classic, consumer
from leadline.brokers.conformance.groups.reading import CLASSIC, CONSUMER, GroupRecording
from leadline.brokers.conformance.not_followed import NotFollowed, expecting_the_format
from leadline.checker.conformance import Limits, follow
from leadline.checker.support.messages import nearest
from leadline.model.group.conformance import classic as classic_model
from leadline.model.group.conformance import consumer as consumer_model
from leadline.model.group.releases import COLUMNS, CONSUMER_COLUMNS, GroupColumn

_PROTOCOLS: dict[str, tuple[Any, Any, tuple[GroupColumn, ...]]] = {
    CLASSIC: (classic, classic_model.hidden, COLUMNS),
    CONSUMER: (consumer, consumer_model.hidden, CONSUMER_COLUMNS),
}
"""How the requests of a protocol become observations, the hidden steps from a state, and the releases."""


def columns_for(read: GroupRecording) -> tuple[GroupColumn, ...]:
    """Return the columns of the protocol of a recorded group."""
    return _PROTOCOLS[read.protocol][2]


def column_for(read: GroupRecording, name: str) -> GroupColumn | None:
    """Return the column with a name, or of a published release, or None if it has none.

    Raises:
        NotFollowed: if the name is that of a spec, such as ``group/2.8``, which does not exist.
    """
    columns = columns_for(read)
    for each in columns:
        if name in (each.name, *each.aliases, *each.versions):
            return each
    if "/" in name:
        names = [each.name for each in columns]
        raise NotFollowed(
            f"{name!r} is not a release with the {read.protocol} protocol of group {read.group}{nearest(name, names)}: "
            f"choose from {', '.join(names)}"
        )
    return None


def check_group(read: GroupRecording, column: GroupColumn, limits: Limits | None = None) -> Checked:
    """Check the recording of a group against the spec of a release.

    Raises:
        NotFollowed: if the recording cannot be converted to observations.
    """
    if any(each.body.get(name) is not None for each in read.exchanges for name in ("GroupInstanceId", "InstanceId")):
        raise NotFollowed(f"group {read.group} has static members (group.instance.id), which are not followed")
    mapping, hidden, _ = _PROTOCOLS[read.protocol]
    protocol, notes = column.protocol(), Counter(read.notes)
    with expecting_the_format(read.path):
        found = sorted(mapping.observations(read, protocol, notes), key=lambda each: (each.earliest, each.latest))
        first = mapping.beginning(read, protocol)
    conformance = follow([first], found, hidden, limits=limits, kept_steps=MOST_STEPS)
    return Checked(column, conformance, len(found), dict(notes))
