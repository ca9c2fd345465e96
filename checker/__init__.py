"""The checker: the classes and functions for writing specs, and the engines. It does not depend on Kafka.

Read the modules in this order: `state`, `bounds`, `action`, `properties` and `spec` define specs, with `bag` and
`update` for values in states; `drawing` defines how views display states. `settings`, `result`, `trace` and `coverage`
are the inputs and outputs of the engines. `values`, `canonical` and `content` compare values. The engines in `engines`
search the state space, `observing` analyses a spec's code for them, `traces` works with traces, `mutation` tests
properties, and `stateful` runs specs with Hypothesis.
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
