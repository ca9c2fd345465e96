"""The adjustments with which a search starts again when it learns something about its spec too late."""

from __future__ import annotations

import attrs

from leadline.checker.engines.learning.calls import NotRecorded
from leadline.checker.errors import SpecError
from leadline.checker.observing.domains import NewKind
from leadline.checker.observing.nodes import ShapeChanged


class Crowded(Exception):
    """Raised when parts of the state that take many values could be divided into smaller parts.

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
    """The facts about a spec that earlier attempts at a search have discovered.

    Attributes:
        whole: the paths of components that are not divided into slots, because their shape changes.
        apart: parts to divide into smaller parts; see `Layout`.
        given_states: the trees whose functions are called on real states, because their reads cannot be recorded.
        read_when_copied: slots that count as read when they are copied.
    """

    whole: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    given_states: frozenset[int] = frozenset()
    read_when_copied: frozenset[int] = frozenset()

    def after(self, change: Change) -> Adjustments:
        """Return the adjustments for the next attempt, after a change ended this one.

        Raises:
            SpecError: the adjustments would be the same again, so the next attempt would end in the same way.
        """
        adjusted = self._with(change)
        if adjusted == self:
            name = change.name if isinstance(change, NotRecorded) else ""
            raise SpecError(
                f"{name or 'an action, a property or the distance'} is not deterministic: "
                "its calls differ from those learned earlier"
            )
        return adjusted

    def _with(self, change: Change) -> Adjustments:
        match change:
            case ShapeChanged():  # slots are renumbered
                whole = self.whole | {change.path}
                return attrs.evolve(self, whole=whole, read_when_copied=frozenset())
            case Crowded():
                return attrs.evolve(self, apart=self.apart | change.patterns, read_when_copied=frozenset())
            case NotRecorded():
                return attrs.evolve(self, given_states=self.given_states | {change.tree})
            case NewKind():
                return attrs.evolve(self, read_when_copied=self.read_when_copied | {change.slot})


NO_ADJUSTMENTS = Adjustments()
"""The adjustments of the first attempt."""
