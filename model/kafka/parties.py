"""Who decides a rule while brokers and controllers run different releases, and what opens it.

A check belongs to the release of the party that makes it. A field of a request or a record belongs to its sender, and
depends on a level: the `inter.broker.protocol.version` of a broker, the `metadata.version` of a cluster, or the level
of a feature. A check of a field that is missing passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

LEADER = "the leader"
FOLLOWER = "the follower"
BROKER = "each broker"
CONTROLLER = "the controller"

RELEASE = "release"
LEVEL = "level"
FEATURE = "feature"

PARTY = "leadline.party"
GATE = "leadline.gate"


def decided_by(party: str, gate: str = RELEASE) -> Any:
    """Declare a field of `leadline.model.kafka.protocols.Protocol`, with who decides it.

    Parameters:
        party: `LEADER`, `FOLLOWER`, `BROKER` (each for its own replica) or `CONTROLLER`.
        gate: what the field needs besides the release of the party: nothing more (`RELEASE`); the
            `inter.broker.protocol.version` of the party or, with KRaft, the `metadata.version` of the cluster
            (`LEVEL`); or the level of a feature (`FEATURE`). Which level opens it is said at the value of the rule,
            in `leadline.model.rules.Value.opens`.
    """
    return attrs.field(metadata={PARTY: party, GATE: gate})


_NEEDS = {RELEASE: "", LEVEL: " and its level", FEATURE: " and the level of a feature"}


def who_decides(protocol: type, fields: Iterable[str]) -> str:
    """Return who decides a rule in a mix of releases, as text.

    Parameters:
        protocol: the class `Protocol`.
        fields: the fields that the values of the rule set. They are named if not all belong to the same party.
    """
    known, found = attrs.fields_dict(protocol), dict[str, list[str]]()
    for field in fields:
        about = known[field].metadata
        found.setdefault(about[PARTY] + _NEEDS[about[GATE]], []).append(field)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{who} ({', '.join(names)})" for who, names in found.items())
