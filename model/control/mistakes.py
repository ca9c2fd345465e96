"""The values of rules that `leadline mutate` tries in releases of the `control` family."""

from __future__ import annotations

from collections.abc import Mapping

_CANCELLED: Mapping[str, int | str] = {
    "brokers": 3,
    "replicas": 2,
    "reassignments": 1,
    "cancellations": 1,
    "target": "0-2",
    "records": 0,
    "failovers": 0,
    "crashes": 0,
}
"""The bounds within which a reassignment is cancelled and nothing fails."""

RULES_SHOWN_WITH: Mapping[tuple[str, str], Mapping[str, int | str]] = {
    ("controller_election", "later"): {"records": 0, "crashes": 0, "failovers": 2},
    ("own_node", "starts"): {"records": 0, "crashes": 0, "lost_elections": 1},
    ("controller_writes", "unless-written-since"): {"records": 0},
    ("controller_epoch", "adopts"): {"records": 0, "crashes": 0},
    ("controller_requests", "obeyed"): {"records": 0},
    ("broker_change", "ids"): {"records": 2, "failovers": 0, "crashes": 0, "lossy_crashes": 1},
    ("broker_epoch", "none"): {"records": 2, "failovers": 0, "lossy_crashes": 1, "lost_answers": 1},
    ("stop_replica", "newer"): _CANCELLED,
    ("shrinks_unassigned", "no"): _CANCELLED,
    ("shrinks_unassigned", "yes"): {"records": 0},
    ("stop_replica", "any"): {"records": 0},
    ("stop_replica", "not-older"): {"records": 0},
    ("reassigning", "admin"): {"records": 0},
    ("newer_leader", "refused"): {"records": 0},
}
"""The bounds within which a value of a rule violates a property of a release with a different value."""

RIGHT_TOO: Mapping[tuple[str, str], str] = {
    ("reassigning", "admin"): "it only prevents that a reassignment is cancelled",
    ("stop_replica", "any"): "the requests of a controller to a broker stay in order in the model (KAFKA-9539)",
    ("stop_replica", "not-older"): "it is the rule of later releases",
    ("shrinks_unassigned", "yes"): "it is the rule of later releases",
    ("own_node", "starts"): "it is the cure of KAFKA-13407",
    ("broker_change", "epochs"): "it is the rule of later releases",
}
"""The reasons why a value of a rule does no harm to a release with a different value."""


WITH_A_LOG = frozenset({"broker_change", "newer_leader"})
"""The rules of the controller that concern releases with KRaft."""

WITHOUT_A_LOG = frozenset({"metadata", "newer_leader"})
"""The rules that are not mutated with ZooKeeper: the first is another system, with columns of its own. The second
concerns requests that a controller with ZooKeeper cannot answer wrongly, because its write fails.
"""


def concerns(rule: str, values: Mapping[str, str]) -> bool:
    """Return whether a different value for a rule can affect a release.

    Parameters:
        rule: the name of the rule.
        values: the values of the column.
    """
    return rule in WITH_A_LOG if values["metadata"] == "log" else rule not in WITHOUT_A_LOG


def may_be_mutated(values: Mapping[str, str]) -> bool:
    """Return whether a release satisfies all properties within its default bounds. This is true of release 2.3 and
    later, except with KRaft before 3.3.

    Parameters:
        values: the values of the column.
    """
    fences = values["controller_writes"] == "fenced" and values["dead_at_start"] == "leave"
    return fences and values["newer_leader"] != "refused"
