"""Checks whether a spec depends on the order of a set, by calling its functions again with reordered sets.

The iteration order of a set differs between processes if the set contains strings, bytes or enum members, or values
that contain them. For example, ``next(iter({"a", "b"} - taken))`` can return either member. A search finds only the
states that follow from one of the members, and may wrongly report that a property holds.

After a search, some states are expanded again, alternately from a breadth-first search and a random walk. In each
state, every action and property is called twice: normally, and with every set iterated in a different order; see
`set_iteration`. If the results differ, an error is raised that names the action or the property. Therefore, a function
that uses the first of two members of a set is always found if it does so in an expanded state. If `set_iteration` does
not support the code of the spec, the states are expanded by separate processes with different hash seeds instead; see
`hash_seeds`.

Limits: a difference is found only if it occurs in an expanded state. A spec is not checked if its code cannot create a
set (see `makes_sets`). The specs that are part of leadline are not checked either, because leadline's tests search them
with several hash seeds.
"""

from __future__ import annotations

import contextlib
import dis
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Generic, TypeVar

from leadline.checker.action import ActionInstance
from leadline.checker.engines.budget import Budget
from leadline.checker.engines.hash_seeds import (
    OF_ACTIONS,
    OF_VALUES,
    Functions,
    compare_seeds,
    first_states,
    text_of,
    warn_unchecked,
)
from leadline.checker.engines.run import attempt, conclude
from leadline.checker.errors import SpecError
from leadline.checker.observing.objects import Origin, origin
from leadline.checker.observing.set_iteration import ORDERS, NotUnderstood, Order, Reordering
from leadline.checker.properties import CONDITIONS, OF_STATES
from leadline.checker.result import Limits, Result, Statistics, Stop
from leadline.checker.spec import Spec
from leadline.checker.support.inspection import is_a, stored

S = TypeVar("S")

LEAST_STATES, FIRST_STATES, MOST_STATES = 20, 100, 10_000
"""At least `LEAST_STATES` states are expanded again, up to `FIRST_STATES` if they are at most a tenth of the expanded
states, and never more than `MOST_STATES`."""

SHARE = 100
"""One state is expanded again for each `SHARE` states on which the search has called all functions of the spec, or for
as many calls on different states. This takes about 3 % of the time of the calls, because each function is called again
several times. The number is a count, so that a busy machine checks the same states as an idle one."""

PATIENCE = 30.0
"""The number of seconds after which the check ends with a warning, because a function of the spec might never
return."""

_SETS = ("set", "frozenset", "Set", "MutableSet", "union", "intersection", "difference", "symmetric_difference")
_OTHERS = ("keys", "items", "hash", "id", "eval", "exec", "loads", "load", "literal_eval", "__import__")
_NAMES = frozenset((*_SETS, *_OTHERS, "import_module"))
"""The names that code uses to create sets, or to obtain other values whose order may differ between processes."""

_OPCODES = frozenset(("BUILD_SET", "SET_ADD", "SET_UPDATE", "IMPORT_STAR"))
"""The bytecode instructions that create a set or import unknown names."""

_HARMLESS = frozenset(("attr", "attrs", "hypothesis", "pytest", "numpy"))
"""Installed libraries that are assumed not to create sets for a spec."""


def with_order_checked(spec: Spec[S], search: Callable[[], Result]) -> Result:
    """Search a spec, and check whether it depends on the order of a set.

    Returns:
        The result of `search`. If the search was interrupted, the spec has not been checked.

    Raises:
        SpecError: if an action or a property depends on the order of a set, or if `search` raised it.
    """
    result = search()
    if not result.interrupted:
        check_order(spec, _states(spec, result.statistics))
    return result


def _states(spec: Spec[S], statistics: Statistics) -> int:
    """Return the number of states to expand again after a search."""
    learning = statistics.learning
    whole = statistics.expanded
    if learning is not None:
        functions = len(spec.instances) + len(spec.checks_of(*OF_STATES))
        whole = min(whole, (statistics.calls + learning.called) // functions)
    return max(min(FIRST_STATES, statistics.expanded // 10), whole // SHARE)


def check_order(spec: Spec[S], states: int = FIRST_STATES) -> None:
    """Check that a spec does not depend on the order of a set. If this cannot be checked, log a warning.

    Parameters:
        states: the number of states to expand, if there are so many. It is raised to `LEAST_STATES` and limited to
            `MOST_STATES`.

    Raises:
        SpecError: if an action or a property depends on the order of a set.
    """
    modules = _modules(spec)
    if not any(map(makes_sets, modules)):
        return
    try:
        stop = _checked(spec, modules, min(MOST_STATES, max(LEAST_STATES, states)))
    except NotUnderstood:
        compare_seeds(spec, modules)
    else:
        if stop is not None:
            warn_unchecked(spec.name, stop.text)


def _checked(spec: Spec[S], modules: Sequence[ModuleType], states: int) -> Stop | None:
    """Check a spec in this process. Return the reason why the check ended early, or None if it was completed."""
    if any(map(_is_installed, modules)):
        raise NotUnderstood("an installed library may create sets")
    reordering, budget = Reordering(modules, _functions(spec)), Budget(Limits(max_seconds=PATIENCE))
    try:
        with budget.enforced():
            return conclude(budget, attempt(budget, lambda: _Check(spec, reordering).run(states)))
    finally:
        reordering.restore()


class _Check(Generic[S]):
    """Calls a spec's functions with sets in different orders, and compares the results.

    Parameters:
        reordering: the object that changes the order in which the functions of the spec iterate over sets.
    """

    def __init__(self, spec: Spec[S], reordering: Reordering) -> None:
        self._spec, self._functions, self._reordering, self._turn = spec, Functions(spec), reordering, 0

    def run(self, states: int) -> Stop | None:
        """Expand the given number of states, if there are so many.

        Raises:
            SpecError: if an action, a property or the initial states depend on the order of a set.
            NotUnderstood: if the code of the spec is not supported by `set_iteration`.
        """
        spec = self._spec
        initials = spec.initials()
        self._compare(lambda: {f"initial_states of {spec.name}": frozenset(spec.initial_states(spec.bounds))}, "")
        self._compare(lambda: {f"a parameter in {spec.name}": frozenset(map(str, self._instances()))}, "")
        for count in first_states(initials, self._expand):
            if count == states:
                break
        return None

    def _expand(self, state: S) -> list[S]:
        """Call the spec's functions on a state with sets in two orders, and compare the results. Return the next
        states.
        """
        successors = self._functions.successors(state)
        self._compare(lambda: self._functions.found(state, successors), f", for example in {text_of(state)}")
        return successors

    def _instances(self) -> Iterator[ActionInstance[S]]:
        return (instance for action in self._spec.actions for instance in action.instances(self._spec.bounds))

    def _compare(self, find: Callable[[], dict[str, object]], where: str) -> None:
        """Call a function normally and with every set in a different order. Raise SpecError if the results differ.

        Parameters:
            find: the function. It returns a mapping from the names of actions or properties to their results.
            where: a phrase for the error message that says in which state the function was called.
        """
        self._turn += 1
        found = find()
        other = self._found_in(ORDERS[self._turn % len(ORDERS)], find)
        for name, result in found.items():
            if other[name] != result:
                if self._found_in(list, find) != found:
                    raise NotUnderstood(f"{name} returns a different result when its use of sets is recorded")
                remedy = OF_ACTIONS if name.startswith("action ") else OF_VALUES
                raise SpecError(f"{name} depends on the order of a set{where}: {remedy}")

    def _found_in(self, order: Order, find: Callable[[], dict[str, object]]) -> dict[str, object]:
        with self._reordering.active(order):
            found = find()
        if self._reordering.not_understood:
            raise NotUnderstood(self._reordering.not_understood)
        return found


# --- decides whether a spec needs to be checked ---


def _functions(spec: Spec[S]) -> list[object]:
    functions: list[object] = [spec.initial_states, *(action.function for action in spec.actions)]
    functions += [function for action in spec.actions for function in action.drawn.values()]
    functions += [item.function for item in (*spec.properties, *spec.checks_of(*CONDITIONS))]
    return [*functions, *spec.limits.values()]


def _is_installed(module: ModuleType) -> bool:
    return origin(module.__name__) is Origin.INSTALLED


def _modules(spec: Spec[S]) -> list[ModuleType]:
    """Return the modules of a spec's functions and all modules that they import, except for known libraries."""
    waiting = [getattr(function, "__module__", None) for function in _functions(spec)]
    found: dict[str, ModuleType] = {}
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name or "")
        if name is None or module is None or name in found or _is_known(name):
            continue
        found[name] = module
        for value in list(vars(module).values()):
            waiting.append(module_name(value))
    return list(found.values())


def module_name(value: object) -> str | None:
    """Return the name of a module, or of the module that defines a class or function. Return None if the module is
    unknown.
    """
    named = stored(value, "__name__") if is_a(value, ModuleType) else getattr(type(value), "__module__", None)
    if is_a(value, type) or callable(value):
        with contextlib.suppress(Exception):
            named = getattr(value, "__module__", named)
    return named if isinstance(named, str) else None


def _is_known(name: str) -> bool:
    """Return whether a module belongs to Python, to leadline, or to a library that creates no sets for a spec."""
    top = name.partition(".")[0]
    return top in {"leadline", *_HARMLESS} or origin(name) in (Origin.PYTHON, Origin.LEADLINE)


def makes_sets(module: ModuleType) -> bool:
    """Return whether a module may create sets. This is assumed for installed modules and modules without source."""
    file = getattr(module, "__file__", None)
    if file is None or not file.endswith(".py") or origin(module.__name__) is Origin.INSTALLED:
        return True
    try:
        return _code_makes_sets(compile(Path(file).read_bytes(), file, "exec"))
    except (OSError, SyntaxError, ValueError):
        return True


def _code_makes_sets(code: CodeType) -> bool:
    if not _NAMES.isdisjoint(code.co_names):
        return True
    before = None
    for instruction in dis.get_instructions(code):
        is_constant_set = before is not None and before.opname == "LOAD_CONST" and type(before.argval) is frozenset
        if instruction.opname in _OPCODES or (is_constant_set and instruction.opname != "CONTAINS_OP"):
            return True
        before = instruction
    return any(_code_makes_sets(inner) for inner in code.co_consts if isinstance(inner, CodeType))
