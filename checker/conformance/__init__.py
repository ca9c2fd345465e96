"""Conformance: whether what was recorded of a system is a behaviour of a spec.

The modules are best read in this order:

- `observation` is what a recorder saw of a step, with the time in which the step was taken.
- `following` says what is visible of each action of a spec, and makes observations of its steps.
- `follow` is the search, with the argument why it is exact. `result` is what it finds.
- `why` says why an action is not possible in a state.
"""

from leadline.checker.conformance.follow import Limits, RecordingError, Undecided, follow
from leadline.checker.conformance.following import HIDDEN, Following, Visible
from leadline.checker.conformance.observation import HiddenStep, Observation
from leadline.checker.conformance.result import Answer, Candidate, Conformance, Rejection, Taken
from leadline.checker.conformance.why import why_not
from leadline.checker.state import history

__all__ = [
    "HIDDEN",
    "Answer",
    "Candidate",
    "Conformance",
    "Following",
    "HiddenStep",
    "Limits",
    "Observation",
    "RecordingError",
    "Rejection",
    "Taken",
    "Undecided",
    "Visible",
    "follow",
    "history",
    "why_not",
]
