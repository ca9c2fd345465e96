"""Coverage: which parts of a spec a run has exercised. `Limits.coverage` enables it."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from leadline.checker.state import is_component, is_constant

FEW_VALUES = 12
"""The largest number of values of a field that are listed one by one."""


@attrs.frozen
class InstanceCoverage:
    """Coverage of one action with one combination of parameter values.

    Attributes:
        enabled: the number of distinct expanded states in which it is enabled; for a random search, the number of
            visits to such a state.
        generated: the number of its steps from these states, and from a state whose expansion was cut short by a
            limit; for a random search, the number of steps taken.
        distinct: the number of new distinct states among these; for a random search, an estimate unless
            `WalkCounts.is_exact`.
    """

    enabled: int
    generated: int
    distinct: int


@attrs.frozen
class FieldCoverage:
    """The values of a field of the state.

    Attributes:
        count: the number of distinct values.
        is_exact: whether `count` is exact; otherwise there may be more values.
        values: the values as text, sorted; empty if there are more than `FEW_VALUES`.
    """

    count: int
    is_exact: bool
    values: tuple[str, ...]


@attrs.frozen
class SourceLine:
    """A line of a function.

    Attributes:
        number: the line number in its file, from 1.
        text: the text of the line.
        mark: ``run``; ``never``; ``partly`` if the line ran, but some branch was never taken; empty if the line
            contains no code to run.
        missing: for ``partly``, the lines that the branches not taken lead to; 0 stands for leaving the function.
    """

    number: int
    text: str
    mark: str = attrs.field(validator=attrs.validators.in_(("run", "never", "partly", "")))
    missing: tuple[int, ...] = ()


@attrs.frozen
class FunctionCoverage:
    """A function that a spec calls.

    Attributes:
        name: the name of the function.
        file: the path of its source file, shortened as long as it is unambiguous.
        lines: the lines of the function.
    """

    name: str
    file: str
    lines: tuple[SourceLine, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all of the function ran."""
        return all(line.mark in ("run", "") for line in self.lines)


@attrs.frozen
class CoverageCounts:
    """The coverage of a run.

    Attributes:
        instances: the coverage of each action instance.
        shown: by property, the number of distinct states in which the witness, or the premise of the property, is
            true. It is not counted for step witnesses.
        fields: the values of each field in the distinct states, by path; ``[]`` stands for every element of a tuple.
            States outside of `Spec.within` are not included.
        source: the functions that were called, with the lines that never ran; incomplete functions come first.
        sampled: the number of distinct states in which `shown` was counted, if these are a sample of the visited
            states: a random search does not keep more. `fields` also includes the values of states that have left the
            sample. None: all distinct states were counted.
    """

    instances: dict[str, InstanceCoverage]
    shown: dict[str, int]
    fields: dict[str, FieldCoverage]
    source: tuple[FunctionCoverage, ...] = ()
    sampled: int | None = None


class FieldValues:
    """Collects the values of fields.

    An attrs value is split into its fields. A tuple that is a component or contains attrs values is split into its
    elements.

    Parameters:
        most: the largest number of distinct values of a field that are counted.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[str, set[object]] = {}
        self._stopped: set[str] = set()

    def add(self, value: object, path: str, apart: bool = False) -> None:
        """Record a value.

        Parameters:
            value: a state, or a part of one.
            path: the path of the value.
            apart: whether the value is a component.
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
            if len(values) <= self._most:
                values.add(value)

    def stop(self, path: str) -> None:
        """Record that a part of the state has too many values, so that no more of them are collected."""
        self._stopped.add(path)

    def add_all(self, states: Iterable[object]) -> None:
        """Record the values in some states."""
        for state in states:
            self.add(state, type(state).__name__)

    @property
    def fields(self) -> dict[str, FieldCoverage]:
        """The values of each field, by path."""
        return {path: self._field(path, values) for path, values in sorted(self._values.items())}

    def _field(self, path: str, values: set[object]) -> FieldCoverage:
        is_stopped = any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in self._stopped)
        is_exact = len(values) <= self._most and not is_stopped
        return FieldCoverage(min(len(values), self._most), is_exact, _few(values) if is_exact else ())


def _few(values: set[object]) -> tuple[str, ...]:
    if len(values) > FEW_VALUES:
        return ()
    numbers = [value for value in values if type(value) is int]
    if len(numbers) == len(values):
        return tuple(map(repr, sorted(numbers)))
    return tuple(sorted(map(_text, values)))


def _text(value: object) -> str:
    """The `repr` of a value, in which the elements of sets are sorted."""
    if type(value) is frozenset:
        return f"{{{', '.join(sorted(map(_text, value)))}}}"
    if type(value) is tuple:
        return f"({', '.join(map(_text, value))}{',' * (len(value) == 1)})"
    return repr(value)
