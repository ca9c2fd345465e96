"""The model checker: the functions and classes for writing specs, and the engines that search their state spaces.

This package does not depend on Kafka. The modules are best read in this order:

- `state`, `bounds`, `action`, `properties` and `spec` define specs.
- `parameters` checks the parameters of actions and properties. `enabled` tests whether an action is enabled.
- `bag`, `map`, `update` and `choices` help to construct the values in states.
- `drawing` defines how reports display states.
- `settings` and `result` define the inputs and outputs of the engines. `trace` and `coverage` define parts of a result.
- `values`, `canonical` and `content` compare values.
- `engines` contains the engines, and `observing` analyses a spec's code for them.
- `traces` saves, replays, reorders and compares traces.
- `liveness` searches the graph of all states and steps for infinite behaviours that violate a property.
- `mutation` tests whether properties detect mistakes in the code.
- `conformance` checks whether a recording of a system is a behaviour of a spec.
- `stateful` tests specs with Hypothesis.
"""

from leadline.checker import bounds
from leadline.checker.action import Action, ActionInstance, Step, action
from leadline.checker.bag import Bag
from leadline.checker.bounds import bound
from leadline.checker.choices import one_of_each, permutations, product, subsets
from leadline.checker.enabled import enabled
from leadline.checker.engines import explore, fuzz
from leadline.checker.errors import LeadlineError, SpecError, TraceError
from leadline.checker.formulas import Formula, always, implies, now, step, until
from leadline.checker.identities import identity
from leadline.checker.map import Map
from leadline.checker.properties import (
    Kind,
    Property,
    always_eventually,
    eventually,
    eventually_always,
    invariant,
    leads_to,
    recoverable,
    step_invariant,
    step_witness,
    temporal,
    witness,
)
from leadline.checker.refinement import refines
from leadline.checker.result import Limits, PropertyResult, Result, Statistics, Stop, StopKind, Verdict
from leadline.checker.spec import Spec
from leadline.checker.state import component, constant
from leadline.checker.trace import Trace
from leadline.checker.update import put

__all__ = [
    "Action",
    "ActionInstance",
    "Bag",
    "Formula",
    "Kind",
    "LeadlineError",
    "Limits",
    "Map",
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
    "always",
    "always_eventually",
    "bound",
    "bounds",
    "component",
    "constant",
    "enabled",
    "eventually",
    "eventually_always",
    "explore",
    "fuzz",
    "identity",
    "implies",
    "invariant",
    "leads_to",
    "now",
    "one_of_each",
    "permutations",
    "product",
    "put",
    "recoverable",
    "refines",
    "step",
    "step_invariant",
    "step_witness",
    "subsets",
    "temporal",
    "until",
    "witness",
]
