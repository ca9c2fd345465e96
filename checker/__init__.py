"""The checker: the classes and functions to write specs with, and the engines. It does not depend on Kafka.

Read in this order: `state`, `bounds`, `action`, `properties` and `spec` are the language of specs, with `bag` and
`update` for values in states; `drawing` describes states for views. `settings`, `result`, `trace` and `coverage` go
into an engine or come out of it. `values`, `canonical` and `content` compare values. `engines` search, `observing`
analyses a spec's code for them, `traces` works with traces, `mutation` tests properties, and `stateful` is for
Hypothesis.
"""

from leadline.checker.action import Action, ActionInstance, Step, action
from leadline.checker.bag import Bag
from leadline.checker.bounds import bound
from leadline.checker.engines import explore, fuzz
from leadline.checker.errors import LeadlineError, SpecError, TraceError
from leadline.checker.properties import Kind, Property, invariant, step_invariant, step_witness, witness
from leadline.checker.result import Limits, PropertyResult, Result, Statistics, Stop, StopKind, Verdict
from leadline.checker.spec import Spec
from leadline.checker.state import component, constant
from leadline.checker.trace import Trace
from leadline.checker.update import put

__all__ = [
    "Action",
    "ActionInstance",
    "Bag",
    "Kind",
    "LeadlineError",
    "Limits",
    "Property",
    "PropertyResult",
    "Result",
    "Spec",
    "SpecError",
    "Statistics",
    "Step",
    "Stop",
    "StopKind",
    "Trace",
    "TraceError",
    "Verdict",
    "action",
    "bound",
    "component",
    "constant",
    "explore",
    "fuzz",
    "invariant",
    "put",
    "step_invariant",
    "step_witness",
    "witness",
]
