"""Adjustments: what a search learns about its spec too late, so that it must start again."""

from __future__ import annotations

import attrs

from leadline.checker.engines.learning.calls import NotRecorded
from leadline.checker.errors import SpecError
from leadline.checker.observing.domains import NewKind
from leadline.checker.observing.nodes import ShapeChanged


class Crowded(Exception):
    """Parts of the state that take many values could be taken apart.

    Attributes:
        patterns: the parts; see `Layout`.
    """

    def __init__(self, patterns: frozenset[str]) -> None:
        self.patterns = patterns
        super().__init__(patterns)


Change = ShapeChanged | Crowded | NotRecorded | NewKind

CHANGES = (ShapeChanged, Crowded, NotRecorded, NewKind)
"""The exceptions after which a search starts again with other adjustments."""


@attrs.frozen
class Adjustments:
    """What earlier attempts at a search have learned about its spec.

    Attributes:
        whole: paths of components to keep whole, because their shape changes.
        apart: parts to take apart; see `Layout`.
        given_states: the trees of actions and predicates whose reads cannot be recorded.
        read_when_copied: slots that count as read when they are copied.
    """

    whole: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    given_states: frozenset[int] = frozenset()
    read_when_copied: frozenset[int] = frozenset()

    def after(self, change: Change) -> Adjustments:
        """The adjustments for the next attempt, after a change that ended this one.

        Raises:
            SpecError: they are those of this attempt, which would end like it.
        """
        adjusted = self._with(change)
        if adjusted == self:
            name = change.name if isinstance(change, NotRecorded) else ""
            raise SpecError(
                f"{name or 'an action, a property or the distance'} is not deterministic: "
                "calls differ from what was learned"
            )
        return adjusted

    def _with(self, change: Change) -> Adjustments:
        match change:
            case ShapeChanged():  # slots are numbered anew
                whole = self.whole | {change.path}
                return attrs.evolve(self, whole=whole, read_when_copied=frozenset())
            case Crowded():
                return attrs.evolve(self, apart=self.apart | change.patterns, read_when_copied=frozenset())
            case NotRecorded():
                return attrs.evolve(self, given_states=self.given_states | {change.tree})
            case NewKind():
                return attrs.evolve(self, read_when_copied=self.read_when_copied | {change.slot})


NO_ADJUSTMENTS = Adjustments()
"""Those of the first attempt."""
