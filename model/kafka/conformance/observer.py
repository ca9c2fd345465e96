"""An observer makes the observations of one kind of frame or event, of one partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.following import FollowedRelease
from leadline.model.kafka.state import Partition


@attrs.frozen
class Window:
    """The period in which an event happened, and the frames that show the event.

    Attributes:
        earliest, latest: the beginning and the end of the period.
        source: the numbers of the frames.
        lost: a clause for each of these frames that never reached its receiver, or an empty string.
    """

    earliest: float
    latest: float
    source: tuple[int, ...] = ()
    lost: str = ""


@attrs.frozen(eq=False)
class Observer:
    """Makes the observations of one kind of frame or event.

    Attributes:
        release: the release against whose rules a recording is checked.
    """

    release: FollowedRelease

    def _made(
        self,
        window: Window,
        label: str,
        apply: Callable[[Partition], Iterable[Partition]],
        why: Callable[[Partition], str],
        *exercises: str,
        optional: bool = False,
    ) -> Observation[Partition]:
        return Observation(
            earliest=window.earliest,
            latest=max(window.earliest, window.latest),
            label=label + window.lost,
            apply=apply,
            why=why,
            optional=optional,
            source=window.source,
            exercises=exercises,
        )
