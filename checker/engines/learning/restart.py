"""The adjustments that a search makes when it starts again because an assumption about the spec proved wrong."""

from __future__ import annotations

import attrs

from leadline.checker.engines.learning.calls import NotRecorded
from leadline.checker.errors import SpecError
from leadline.checker.observing.nodes import ShapeChanged


class Crowded(Exception):
    """Raised when some parts of the state should be split because their slots have so many values.

    Attributes:
        patterns: the path patterns of these parts; see `Layout`.
    """

    def __init__(self, patterns: frozenset[str]) -> None:
        self.patterns = patterns
        super().__init__(patterns)


Change = ShapeChanged | Crowded | NotRecorded

CHANGES = (ShapeChanged, Crowded, NotRecorded)
"""The exceptions that make a search start again with other adjustments."""


@attrs.frozen
class Adjustments:
    """The findings about a spec from earlier attempts at a search. They determine how the next attempt handles states
    and calls.

    Attributes:
        whole: the paths of components that are stored in one slot each, because their shape changes.
        apart: the path patterns of those parts of the state that are split into several slots; see `Layout`.
        given_states: the indices of the decision trees of functions that are called on real states, because their reads
            cannot be recorded.
    """

    whole: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    given_states: frozenset[int] = frozenset()

    def after(self, change: Change) -> Adjustments:
        """Return the adjustments for the next attempt at the search.

        Parameters:
            change: the exception that ended the current attempt.

        Raises:
            SpecError: if the adjustments would stay the same, so that the next attempt would fail in the same way.
        """
        adjusted = self._with(change)
        if adjusted == self:
            name = change.name if isinstance(change, NotRecorded) else ""
            raise SpecError(
                f"{name or 'an action, a property or the distance'} is not deterministic: "
                "its results differ from those of earlier calls"
            )
        return adjusted

    def _with(self, change: Change) -> Adjustments:
        match change:
            case ShapeChanged():
                return attrs.evolve(self, whole=self.whole | {change.path})
            case Crowded():
                return attrs.evolve(self, apart=self.apart | change.patterns)
            case NotRecorded():
                return attrs.evolve(self, given_states=self.given_states | {change.tree})


NO_ADJUSTMENTS = Adjustments()
"""The adjustments of the first attempt."""
