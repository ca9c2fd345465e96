"""The checker: a vocabulary for specs, and engines that search them. It knows nothing of Kafka."""

from checker.action import Action, ActionInstance, Step, action
from checker.bag import Bag
from checker.bounds import bound
from checker.engines import explore
from checker.errors import LeadlineError, SpecError, TraceError
from checker.properties import Kind, Property, invariant, step_invariant, step_witness, witness
from checker.result import Limits, PropertyResult, Result, Statistics, Stop, StopKind, Verdict
from checker.spec import Spec
from checker.state import component, constant
from checker.trace import Trace
from checker.update import put

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
    "invariant",
    "put",
    "step_invariant",
    "step_witness",
    "witness",
]
