"""Coverage: the parts of a spec that a run has exercised. Coverage is collected if `Limits.coverage` is set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import attrs

from leadline.checker.action import ActionInstance
from leadline.checker.spec import Spec
from leadline.checker.state import is_component
from leadline.checker.values import is_constant

S = TypeVar("S")

FEW_VALUES = 12
"""The maximum number of values of a field that are listed. If there are more, only their number is reported."""


MOST_DRAWN = 1_000
"""The maximum number of combinations of drawn values that are listed for an instance in `Spec.instances`. If there are
more, only this instance is reported.
"""

MOST_VALUES = 10_000
"""The distinct values of a field are counted up to this number."""


@attrs.frozen
class InstanceCoverage:
    """The coverage of one action with one combination of parameter values.

    Attributes:
        enabled: the number of distinct expanded states in which the action is enabled. A random search counts a state
            on every visit.
        generated: the number of steps that the action takes from these states, even if a limit interrupts the expansion
            of a state. A random search counts the steps that it took.
        distinct: the number of these steps that led to a new state. For a random search, it is an estimate unless
            `WalkCounts.is_exact` is true.
    """

    enabled: int
    generated: int
    distinct: int


@attrs.frozen
class FieldCoverage:
    """The values of one field in the states of a run.

    Attributes:
        count: the number of distinct values found.
        is_exact: whether all values were collected. If false, the field may have more values.
        values: the values as text, sorted. Empty if there are more than `FEW_VALUES`.
    """

    count: int
    is_exact: bool
    values: tuple[str, ...]


@attrs.frozen
class SourceLine:
    """A line of the source code of a function.

    Attributes:
        number: the line number in the file, from 1.
        text: the text of the line.
        mark: ``run`` if the line ran, ``never`` if it never ran, ``partly`` if it ran but one of its branches was never
            taken, or an empty string if the line contains no code.
        missing: for ``partly``, the target line numbers of the branches that were not taken. 0 stands for a branch that
            leaves the function.
    """

    number: int
    text: str
    mark: str = attrs.field(validator=attrs.validators.in_(("run", "never", "partly", "")))
    missing: tuple[int, ...] = ()


@attrs.frozen
class FunctionCoverage:
    """The coverage of a function that a spec calls.

    Attributes:
        name: the name of the function.
        file: the path of the source file, shortened as far as possible without becoming ambiguous.
        lines: the lines of the function.
    """

    name: str
    file: str
    lines: tuple[SourceLine, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every line and every branch of the function ran."""
        return all(line.mark in ("run", "") for line in self.lines)


@attrs.frozen
class CoverageCounts:
    """The coverage of a search.

    Attributes:
        instances: the coverage of each action instance, keyed by the instance as text; see `named`. An action that
            draws values from the state has an instance for each combination of drawn values that is enabled in an
            expanded state, except in a random search.
        shown: for each property that is a witness or has a premise, the number of distinct states in which the witness
            or the premise is true. Step witnesses are not counted.
        fields: the values of each field in the distinct states, keyed by the path of the field. In a path, ``[]`` means
            every element of a tuple. States for which `Spec.within` is false are not included.
        source: the functions that were called. Functions with lines that never ran come first.
        sampled: the sample size, if a random search counted `shown` only in a sample of its states. None if `shown` was
            counted in all distinct states. `fields` includes all states that were ever in the sample.
    """

    instances: dict[str, InstanceCoverage]
    shown: dict[str, int]
    fields: dict[str, FieldCoverage]
    source: tuple[FunctionCoverage, ...] = ()
    sampled: int | None = None


def instance_coverage(
    spec: Spec[S],
    enabled: Mapping[ActionInstance[S], int],
    generated: Mapping[ActionInstance[S], int],
    distinct: Mapping[ActionInstance[S], int],
) -> dict[str, InstanceCoverage]:
    """Return the coverage of each action instance, keyed by the instance as text; see `named`.

    Parameters:
        enabled, generated, distinct: see `InstanceCoverage`. The keys are action instances, with and without drawn
            values. A missing key stands for 0.
    """
    drawn: dict[ActionInstance[S], list[ActionInstance[S]]] = {}
    for instance in generated:
        if instance.drawn is not None:
            drawn.setdefault(instance.of_search, []).append(instance)
    shown: list[ActionInstance[S]] = []
    for instance in spec.instances:
        several = drawn.get(instance, [])
        shown += sorted(several, key=_in_text_order) if 0 < len(several) <= MOST_DRAWN else [instance]
    return {
        name: InstanceCoverage(*(counted.get(each, 0) for counted in (enabled, generated, distinct)))
        for name, each in named(shown).items()
    }


def named(instances: Iterable[ActionInstance[S]]) -> dict[str, ActionInstance[S]]:
    """Return a dict that contains the given action instances, keyed by their text. If several instances have the same
    text, a number is added to the text of the second one and of those that follow, as in ``send(to=m) (2)``.
    """
    found: dict[str, ActionInstance[S]] = {}
    for instance in instances:
        name, number = str(instance), 2
        while name in found:
            name, number = f"{instance} ({number})", number + 1
        found[name] = instance
    return found


def _in_text_order(instance: ActionInstance[S]) -> tuple[int, str, int]:
    """Return a sort key that puts shorter texts first, so that ``send(to=9)`` comes before ``send(to=10)``."""
    return len(str(instance)), str(instance), instance.rank


class FieldValues:
    """Collects the distinct values of each field in some states.

    An attrs value is split into its fields. A tuple is split into its elements if it is a component or contains attrs
    values.

    """

    def __init__(self) -> None:
        self._values: dict[str, set[object]] = {}
        self._stopped: set[str] = set()

    def add(self, value: object, path: str, apart: bool = False) -> None:
        """Record a state, or the value of a part of a state.

        Parameters:
            path: the location of the value in the state.
            apart: whether the value is a component. A component that is a tuple is split into its elements.
        """
        kind: type = type(value)
        if attrs.has(kind):
            for field in attrs.fields(kind):
                if not is_constant(field):
                    self.add(getattr(value, field.name), f"{path}.{field.name}", is_component(field))
        elif type(value) is tuple and value and (apart or any(attrs.has(type(item)) for item in value)):
            for item in value:
                self.add(item, f"{path}[]", True)
        else:
            values = self._values.setdefault(path, set())
            if len(values) <= MOST_VALUES:
                values.add(value)

    def stop(self, path: str) -> None:
        """Record that a part of the state has too many values, and stop collecting its values.

        Parameters:
            path: the location of the part in the state.
        """
        self._stopped.add(path)

    def add_all(self, states: Iterable[object]) -> None:
        """Record the values of the fields of some states."""
        for state in states:
            self.add(state, type(state).__name__)

    @property
    def fields(self) -> dict[str, FieldCoverage]:
        """The values of each field, keyed by the path of the field."""
        return {path: self._field(path, values) for path, values in sorted(self._values.items())}

    def _field(self, path: str, values: set[object]) -> FieldCoverage:
        is_stopped = any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in self._stopped)
        is_exact = len(values) <= MOST_VALUES and not is_stopped
        return FieldCoverage(min(len(values), MOST_VALUES), is_exact, _few(values) if is_exact else ())


def _few(values: set[object]) -> tuple[str, ...]:
    if len(values) > FEW_VALUES:
        return ()
    numbers = [value for value in values if type(value) is int]
    if len(numbers) == len(values):
        return tuple(map(repr, sorted(numbers)))
    return tuple(sorted(map(_text, values)))


def _text(value: object) -> str:
    """Return the `repr` of a value, but with the elements of sets sorted."""
    if type(value) is frozenset:
        return f"{{{', '.join(sorted(map(_text, value)))}}}"
    if type(value) is tuple:
        return f"({', '.join(map(_text, value))}{',' * (len(value) == 1)})"
    return repr(value)
