"""What was found out about a liveness property."""

from __future__ import annotations

from typing import Generic, TypeVar

import attrs

from leadline.checker.trace import Trace

S = TypeVar("S")


@attrs.frozen(eq=False)
class Judged(Generic[S]):
    """What was found out about a liveness property whose check has finished.

    Attributes:
        trace: a counterexample, or None if the property is true.
        never: for a formula that is true, the left side of an `implies` in it that is true in no behaviour, as text. An
            empty string if there is none.
    """

    trace: Trace[S] | None = None
    never: str = ""
