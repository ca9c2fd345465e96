"""The `image` family: images of KRaft's metadata log, in Kafka's releases."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import attrs

from leadline.checker.spec import Spec
from leadline.invariants.images import PROPERTIES, SITUATIONS
from leadline.model.columns import columns_of
from leadline.model.family import Family
from leadline.model.image import rules
from leadline.model.image.actions import ACTIONS
from leadline.model.image.state import Bounds, Cluster, Spent, initial_states
from leadline.model.kafka.published import aliases
from leadline.model.rules import RuleColumn


@attrs.frozen(eq=False, kw_only=True)
class Column(RuleColumn):
    """The value of each rule in a release."""

    table = rules.TABLE
    makes = rules.Protocol
    bounds: Bounds = attrs.field(factory=Bounds)

    @property
    def aliases(self) -> tuple[str, ...]:
        """The names of the other releases with these rules, and of minor versions that begin here."""
        return aliases(self.name, self.versions)


COLUMNS = columns_of(Column, "image", "images of the metadata log in Kafka", rules.CHANGES)


def _initial_states(bounds: Bounds, protocol: rules.Protocol) -> Iterator[Cluster]:
    other = [column.protocol() for column in COLUMNS if column.short_name == bounds.other]
    return initial_states(bounds, (protocol, *(other or [protocol])))


def _spec(column: Column, protocol: rules.Protocol) -> Spec[Cluster]:
    return Spec(
        name=f"image/{protocol.name}",
        summary=protocol.summary,
        initial_states=functools.partial(_initial_states, protocol=protocol),
        actions=ACTIONS,
        properties=PROPERTIES,
        optional=SITUATIONS,
        bounds=column.bounds,
    )


IMAGE: Family[Column] = Family(
    name="image",
    columns=COLUMNS,
    make=_spec,
    perturbations=tuple(field.name for field in attrs.fields(Spent)),
)
