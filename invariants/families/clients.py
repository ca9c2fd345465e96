"""The `clients` family: what clients of a replicated log may rely on, and whether other specs keep it.

``clients/log`` is the abstract spec. ``clients/kafka/2.8`` is ``kafka/2.8`` with the properties of a refinement of it
instead of its own. In the same way, the name of any spec of the `atomic`, `rpc` and `kafka` families can be given.
"""

from __future__ import annotations

from typing import Any

import attrs

from leadline.checker.refinement import refines
from leadline.checker.spec import Spec
from leadline.invariants.clients import told_is_kept, told_stays
from leadline.invariants.families.atomic import ATOMIC
from leadline.invariants.families.kafka import KAFKA, RPC
from leadline.model import clients
from leadline.model.family import Family
from leadline.model.kafka.bounds import Bounds
from leadline.model.rules import RuleColumn, RuleTable

PROPERTIES = (told_is_kept, told_stays)

REFINING: dict[str, Family[Any]] = {family.name: family for family in (ATOMIC, RPC, KAFKA)}
"""The families whose specs can be compared with ``clients/log``."""


@attrs.frozen
class Named:
    """What the spec without rules is."""

    name: str
    summary: str


@attrs.frozen(eq=False, kw_only=True)
class Abstract(RuleColumn):
    """The column of ``clients/log``, which has no rules."""

    table = RuleTable(())
    makes = Named


LOG: Spec[clients.Clients] = Spec(
    name="clients/log",
    summary="what clients of a replicated log may rely on: what they know stays",
    initial_states=lambda bounds: [clients.Clients()],
    actions=clients.ACTIONS,
    properties=PROPERTIES,
    bounds=clients.Bounds(),
)

LARGEST = LOG.with_bounds({"records": 9})
"""The abstract spec with as many records as any other spec may have. Only its steps from given states are asked for."""


def _spec(column: RuleColumn, protocol: Any) -> Spec[Any]:
    if isinstance(column, Abstract):
        return LOG
    _, family, _ = column.name.split("/")
    if family == ATOMIC.name:
        spec: Spec[Any] = clients.remembering(REFINING[family].make(column, protocol))
        properties = refines(LARGEST, clients.of_atomic, never=["read"])
    else:
        spec = REFINING[family].make(column, protocol)
        properties = refines(LARGEST, clients.of_kafka)
    return attrs.evolve(
        spec,
        name=f"clients/{family}/{protocol.name.rpartition('/')[2]}",
        summary=column.summary,
        properties=properties,
        optional=(),
        symmetric={},
    )


def _find(reference: str) -> RuleColumn | None:
    """Return the column of a spec of another family whose name follows ``clients/``."""
    _, _, name = reference.partition("/")
    family = REFINING.get(name.partition("/")[0])
    if family is None:
        return _ABSTRACT if reference == LOG.name else None
    if (found := family.find(name)) is None:
        return None
    bounds: Any = found.bounds
    if isinstance(bounds, Bounds):
        bounds = attrs.evolve(bounds, acks="all")  # otherwise, a producer gets an answer for what may be lost
    changed: Any = {"name": f"clients/{found.name}", "summary": f"whether clients may rely on {found.name}"}
    column: RuleColumn = attrs.evolve(found, bounds=bounds, **changed)
    return column


_ABSTRACT = Abstract(name=LOG.name, summary=LOG.summary, values={})

_NAMES = ("clients/atomic/kip-320", "clients/rpc/kip-320", "clients/kafka/2.8", "clients/kafka/2.8.1")


class _OfSeveral(Family[Any]):
    """A family whose columns have the rules of several other families."""

    def like(self, column: RuleColumn) -> list[RuleColumn]:
        return [each for each in self.releases if type(each) is type(column)]


CLIENTS: Family[Any] = _OfSeveral(
    name="clients",
    columns=(_ABSTRACT, *filter(None, map(_find, _NAMES))),
    releases=tuple(filter(None, (_find(f"clients/{each.name}") for each in (*ATOMIC.columns, *KAFKA.releases)))),
    make=_spec,
    find=_find,
)
