"""Conformance checking: determines whether a recording of a system is a behaviour of a spec.

The modules are best read in this order:

- `observation` defines an observation: what was recorded about a step, and the time window of the step.
- `following` defines what is recorded about each action of a spec, and creates observations of steps.
- `follow` contains the search, and explains why its answer is exact. `result` defines the result of the search.
- `why` explains why an action is not enabled in a state.
"""

from leadline.checker.conformance.follow import UNCOUNTED, Limits, RecordingError, Undecided, follow, uncut
from leadline.checker.conformance.following import HIDDEN, Following, Visible
from leadline.checker.conformance.observation import HiddenStep, Observation
from leadline.checker.conformance.result import Answer, Candidate, Conformance, Rejection, Taken
from leadline.checker.conformance.why import why_not
from leadline.checker.state import history

__all__ = [
    "HIDDEN",
    "UNCOUNTED",
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
    "uncut",
    "why_not",
]
