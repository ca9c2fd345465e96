"""Keeps what searches have learned, for later searches of the same process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from leadline.checker.spec import Spec
from leadline.checker.values import same

if TYPE_CHECKING:
    from leadline.checker.engines.learning.tables import TransitionTables


@attrs.define(eq=False)
class Kept:
    """What searches have learned, for later searches with the same actions and initial states.

    These may differ in their properties, in `Spec.within` and in their limits.

    Attributes:
        most: the number of searches of which it is kept.
    """

    most: int = 8
    _tables: list[TransitionTables[Any]] = attrs.field(factory=list, init=False)

    def has(self, spec: Spec[Any]) -> bool:
        """Return whether a search of a spec can continue with what another one has learned."""
        return any(_fits(tables.spec, spec) for tables in self._tables)

    def take(self, spec: Spec[Any]) -> TransitionTables[Any] | None:
        """Return the tables of the latest search with the actions of a spec, or None. They are not kept any more: the
        search with which they continue changes them.
        """
        found = next((tables for tables in reversed(self._tables) if _fits(tables.spec, spec)), None)
        self._tables = [tables for tables in self._tables if tables is not found]
        return found

    def keep(self, tables: TransitionTables[Any]) -> None:
        """Keep the tables of a search that has ended, instead of the oldest ones if there are too many."""
        self._tables = [*self._tables, tables][-self.most :]


def _fits(before: Spec[Any], spec: Spec[Any]) -> bool:
    if before.within_step is not None or spec.within_step is not None or before.instances != spec.instances:
        return False
    ones, others = before.initials(), spec.initials()
    return len(ones) == len(others) and all(map(same, ones, others))
