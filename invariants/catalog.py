"""The catalog of shipped specs, keyed by name."""

from __future__ import annotations

from typing import Any

import attrs

from leadline.checker.errors import SpecError
from leadline.checker.mutation.changes import Mutation
from leadline.checker.spec import Spec
from leadline.invariants.families.atomic import ATOMIC
from leadline.invariants.families.clients import CLIENTS
from leadline.invariants.families.control import CONTROL
from leadline.invariants.families.group import GROUP
from leadline.invariants.families.image import IMAGE
from leadline.invariants.families.kafka import KAFKA, RPC
from leadline.invariants.families.quorum import QUORUM
from leadline.invariants.families.txn import TXN
from leadline.model.family import Family
from leadline.model.kafka.releases import releases_like as releases_like
from leadline.model.rules import RuleColumn

__all__ = ["CATALOG", "find"]

FAMILIES: dict[str, Family[Any]] = {
    family.name: family for family in (ATOMIC, RPC, KAFKA, TXN, CONTROL, GROUP, QUORUM, IMAGE, CLIENTS)
}
"""The families of specs, keyed by the part of their specs' names before the slash. A new family is added here."""

CATALOG: dict[str, Spec[Any]] = {
    column.name: family.spec(column) for family in FAMILIES.values() for column in family.columns
}


def column_of(reference: str) -> RuleColumn | None:
    """Return the column of the spec with the given name or alias; see `find`."""
    family = FAMILIES.get(reference.partition("/")[0])
    return None if family is None or _mixed_in(reference) else family.column_of(reference)


def _mixed_in(reference: str) -> Family[Any] | None:
    """Return the family of whose releases a name mixes two, or None if the name is not that of a mix."""
    family, _, releases = reference.partition("/")
    return FAMILIES.get(family) if ".." in releases else None


def find(reference: str) -> Spec[Any] | None:
    """Return a shipped spec by its name or alias.

    Parameters:
        reference: the name or alias. It may be followed by changed rules, as in ``kafka/3.7+elr=on``. Two releases with
            ``..`` between them are a mix, as in ``kafka/2.0..2.1``.

    Returns:
        The spec, or None if no spec has the name or alias.

    Raises:
        SpecError: if a rule or value does not exist, or two releases cannot be mixed.
    """
    if reference in CATALOG:
        return CATALOG[reference]
    if (family := _mixed_in(reference)) is not None:
        if family.mix is None:
            raise SpecError(f"{reference}: only releases of family kafka can be mixed, as in kafka/2.0..2.1")
        return attrs.evolve(family.mix(reference), family=family)
    column = column_of(reference)
    return None if column is None else FAMILIES[reference.partition("/")[0]].spec(column)


def mutations(reference: str) -> list[Mutation]:
    """Return the mutations of the rules of a shipped spec; see `Family.mutations_of`.

    Parameters:
        reference: the name or alias of the spec. See `find`.

    Returns:
        The mutations. The list is empty for a mix, and for a spec that violates properties even without a
        mutation.
    """
    spec = find(reference)
    return [] if spec is None or spec.column is None else spec.family.mutations_of(spec.column)
