"""What a run has tried of a spec, and what it has not: `Limits.coverage` asks for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from leadline.checker.state import is_component, is_constant

FEW_VALUES = 12
"""Values of a field that are named one by one."""

MOST_VALUES = 10_000
"""Different values of a field that are counted."""


@attrs.frozen
class InstanceCoverage:
    """What became of one action with one combination of parameters.

    Attributes:
        enabled: the distinct states, of those expanded, that enable it; of a random search, how often it was enabled in
            a visited state, each visit counted.
        generated: its steps from them, and from a state that a limit cut short; of a random search, those taken.
        distinct: the new distinct states among these; of a random search, an estimate unless `WalkCounts.is_exact`.
    """

    enabled: int
    generated: int
    distinct: int


@attrs.frozen
class FieldCoverage:
    """The values that a field of the state takes.

    Attributes:
        count: how many different ones.
        is_exact: whether these are all; otherwise there are more than that.
        values: they themselves, as text, sorted; empty if there are more than `FEW_VALUES`.
    """

    count: int
    is_exact: bool
    values: tuple[str, ...]


@attrs.frozen
class SourceLine:
    """A line of a function.

    Attributes:
        number: in its file, from 1.
        text: the line.
        mark: ``run``; ``never``; ``partly`` if it was run, but some branch was never taken; empty if there is
            nothing to run.
        missing: of ``partly``: the lines to which the branches not taken lead, 0 for leaving the function.
    """

    number: int
    text: str
    mark: str = attrs.field(validator=attrs.validators.in_(("run", "never", "partly", "")))
    missing: tuple[int, ...] = ()


@attrs.frozen
class FunctionCoverage:
    """A function that a spec calls.

    Attributes:
        name: the function's.
        file: the path of its source, as short as it can be told from others.
        lines: its lines.
    """

    name: str
    file: str
    lines: tuple[SourceLine, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all of it was run."""
        return all(line.mark in ("run", "") for line in self.lines)


@attrs.frozen
class CoverageCounts:
    """What a run covered.

    Attributes:
        instances: by action instance.
        shown: by property, the distinct states in which it is true, if it is a witness, or its premise, if it has one.
            Of step witnesses it is not counted.
        fields: the values of each field, by its path, ``[]`` for every element of a tuple. Of distinct states, those
            outside of `Spec.within` not among them.
        source: the functions that were called, with the lines never run; first those that are not complete.
        sampled: the number of distinct states in which `shown` was counted, if that is a sample of those visited: a
            random search does not keep more. `fields` also has the values of states that were in the sample before.
            None: of all distinct states.
    """

    instances: dict[str, InstanceCoverage]
    shown: dict[str, int]
    fields: dict[str, FieldCoverage]
    source: tuple[FunctionCoverage, ...] = ()
    sampled: int | None = None


class FieldValues:
    """Collects the values that fields take.

    An attrs value is taken apart into its fields, and so is a tuple that is a component or holds attrs values.
    """

    def __init__(self) -> None:
        self._values: dict[str, set[Any]] = {}
        self._stopped: set[str] = set()

    def add(self, value: Any, path: str, apart: bool = False) -> None:
        """Take note of a value.

        Parameters:
            value: a state, or a part of one.
            path: where it is.
            apart: whether it is a component.
        """
        if attrs.has(type(value)):
            for field in attrs.fields(type(value)):
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
        """Take note that no more values are looked at, in a part of the state that takes too many."""
        self._stopped.add(path)

    def add_all(self, states: Iterable[Any]) -> None:
        """Take note of the values in some states."""
        for state in states:
            self.add(state, type(state).__name__)

    @property
    def fields(self) -> dict[str, FieldCoverage]:
        """What each field took, by path."""
        return {path: self._field(path, values) for path, values in sorted(self._values.items())}

    def _field(self, path: str, values: set[Any]) -> FieldCoverage:
        is_stopped = any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in self._stopped)
        is_exact = len(values) <= MOST_VALUES and not is_stopped
        return FieldCoverage(min(len(values), MOST_VALUES), is_exact, _few(values) if is_exact else ())


def _few(values: set[Any]) -> tuple[str, ...]:
    if len(values) > FEW_VALUES:
        return ()
    if all(type(value) is int for value in values):
        return tuple(map(repr, sorted(values)))
    return tuple(sorted(map(_text, values)))


def _text(value: Any) -> str:
    """The `repr` of a value, in which the elements of sets are sorted."""
    if type(value) is frozenset:
        return f"{{{', '.join(sorted(map(_text, value)))}}}"
    if type(value) is tuple:
        return f"({', '.join(map(_text, value))}{',' * (len(value) == 1)})"
    return repr(value)
