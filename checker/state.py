"""States, which are frozen attrs values. The fields of a state are its parts.

A field that is declared with `component` is a separate part of the state. Its value is a nested attrs value, or a tuple
whose length never changes, for example a tuple with one replica for each broker. Engines handle each component
separately, and reports draw a row for each component. A field that is declared with `constant` has the same value in
every state of a run, for example the bounds. It is ignored when states are compared. A field that is declared with
`history` records what happened. Properties read it; actions only write it. Any other field is usually handled as a
whole.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import attrs

from leadline.checker.bag import Bag
from leadline.checker.errors import SpecError
from leadline.checker.map import Map
from leadline.checker.support.inspection import is_frozen
from leadline.checker.values import CONSTANT, first_unfit, is_constant, same

S = TypeVar("S")

_COMPONENT = "leadline.component"
_HISTORY = "leadline.history"


def component(*, each: str = "", default: Any = attrs.NOTHING) -> Any:
    """Return an attrs field for a component of a state.

    The value of the field must be an attrs value or a tuple whose length never changes.

    Parameters:
        each: the name of one element of the tuple, for example ``"broker"`` if there is one replica for each broker.
        default: the default value of the field, as for `attrs.field`.
    """
    return attrs.field(default=default, metadata={_COMPONENT: each or True})


def constant(*, default: Any = attrs.NOTHING) -> Any:
    """Return an attrs field whose value is the same in all states of a run.

    Actions can read the field. It is ignored when states are compared, hashed or printed.

    Parameters:
        default: the default value of the field, as for `attrs.field`.
    """
    return attrs.field(default=default, eq=False, repr=False, metadata={CONSTANT: True})


def history(*, blank: Any) -> Any:
    """Return an attrs field for a part of a state that records what happened: actions write it, properties read it.

    The field must not affect whether an action is enabled, or how an action changes other fields. The field is left out
    when a recording of a system is checked against a spec, because no observation can determine its value.

    Parameters:
        blank: the placeholder for the field's value when the field is left out.
    """
    return attrs.field(metadata={_HISTORY: blank})


def without_history(state: S) -> S:
    """Return a copy of a state in which each field that is declared with `history` has its blank value."""
    kind: Any = type(state)  # mypy does not take `type[S]` for hashable
    changes = {
        field.name: field.metadata[_HISTORY]
        for field in _history_fields(kind)
        if getattr(state, field.name) is not field.metadata[_HISTORY]
    }
    if not changes:
        return state
    changed: S = attrs.evolve(state, **changes)  # type: ignore[misc]
    return changed


@functools.cache
def _history_fields(cls: type) -> tuple[attrs.Attribute[Any], ...]:
    return tuple(field for field in attrs.fields(cls) if _HISTORY in field.metadata) if attrs.has(cls) else ()


def is_component(field: attrs.Attribute[object]) -> bool:
    """Return whether an attrs field was declared with `component`."""
    return _COMPONENT in field.metadata


def element_name(field: attrs.Attribute[object]) -> str:
    """Return the name of one element of a component that is a tuple. By default, this is the name of the field."""
    each = field.metadata.get(_COMPONENT)
    return each if isinstance(each, str) else field.name


def variables(value: object) -> tuple[attrs.Attribute[Any], ...]:
    """Return the fields of an attrs value or class that are not constants.

    Parameters:
        value: an attrs value or an attrs class.
    """
    return _variables_of(value if isinstance(value, type) else type(value))


@functools.cache
def _variables_of(cls: type) -> tuple[attrs.Attribute[Any], ...]:
    return tuple(field for field in attrs.fields(cls) if not is_constant(field))


def changed_parts(before: object, after: object) -> set[str]:
    """Return the names of the parts of a state that a step changed.

    Returns:
        The names of the changed components, such as ``broker 0``. The set contains an empty string if the step changes
        a field that is not a component, or if it changes nothing.
    """
    changed = set()
    for field in variables(before):
        was, now = getattr(before, field.name), getattr(after, field.name)
        if was is now or was == now:
            continue
        if is_component(field) and isinstance(was, tuple):
            differ = (index for index, pair in enumerate(zip(was, now, strict=True)) if pair[0] != pair[1])
            changed |= {f"{element_name(field)} {index}" for index in differ}
        else:
            changed.add(field.name if is_component(field) else "")
    return changed or {""}


@functools.cache
def check_state_class(cls: type) -> None:
    """Check that instances of a class can be used as states.

    Raises:
        SpecError: if the class is not a frozen attrs class, or if it does not compare its instances field by field.
    """
    if not attrs.has(cls) or "__attrs_attrs__" not in vars(cls):
        raise SpecError(
            f"a state must be an instance of a frozen attrs class, but {cls.__name__} is not an attrs class"
        )
    if not is_frozen(cls):
        raise SpecError(f"a state must not change, but {cls.__name__} is not frozen: use @attrs.frozen")
    if cls.__eq__ is object.__eq__:
        raise SpecError(f"states are compared by value, but {cls.__name__} has eq=False: remove eq=False")
    if not attrs.inspect(cls).added_eq:
        raise SpecError(f"states are compared field by field, but {cls.__name__} defines __eq__: remove it")
    for field in variables(cls):
        if getattr(field, "eq_key", None) is not None:
            raise SpecError(
                f"states are compared by value, but {cls.__name__}.{field.name} passes a function as eq: remove eq"
            )
        if not field.eq:
            raise SpecError(
                f"states are compared by value, but {cls.__name__}.{field.name} has eq=False: remove eq=False, or use "
                "constant() if the field has the same value in every state"
            )


def check_state(state: object, initial: object) -> None:
    """Check that a state is hashable and has the same structure as an initial state.

    Parameters:
        state: the state to check.
        initial: an initial state of the same run.

    Raises:
        SpecError: if the state is not valid. The message names the field or the class.
    """
    if type(state) is not type(initial):
        raise SpecError(f"a state must be a {type(initial).__name__}, not {_described(state)}")
    for path, value in _leaves(state):
        try:
            hash(value)
        except TypeError:
            what = _described(_unhashable(value))
            raise SpecError(
                f"a state must be hashable, but {type(state).__name__}.{path} contains {what}: "
                "use tuples, frozensets and Maps"
            ) from None
        if found := first_unfit(value, f"{type(state).__name__}.{path}"):
            raise SpecError(f"states are compared by value, but {found[0]} contains {found[1]}")
    check_shape(state, initial)


def check_shape(value: object, first: object) -> None:
    """Check that a state has the same constants as an earlier state, and components of the same kind and length.

    Parameters:
        value: the state to check.
        first: an earlier state of the same class. Parts that are the same object in both states are not checked again.

    Raises:
        SpecError: if the state is not valid. The message names the field.
    """
    cls: type = type(value)
    may_share = value is not first
    for name, is_fixed, is_part in roles(cls):
        now, before = getattr(value, name), getattr(first, name)
        if may_share and now is before:
            continue
        full_name = f"{cls.__name__}.{name}"
        if is_fixed:
            if not same(now, before):
                raise changed_constant(cls, name)
            continue
        if not is_part:  # a constant of a value that is no component is compared with the value
            continue
        _check_component(full_name, now, before)
        both_tuples = isinstance(now, tuple) and isinstance(before, tuple)
        for inner, inner_before in zip(now, before, strict=True) if both_tuples else [(now, before)]:
            inner_cls: type = type(inner)
            if not (may_share and inner is inner_before) and roles(inner_cls):
                check_shape(inner, inner_before if type(inner) is type(inner_before) else inner)


def changed_constant(cls: type, name: str) -> SpecError:
    """Return the error for a constant field whose value is not the same in every state."""
    return SpecError(f"constant {cls.__name__}.{name} is not the same in every state: declare it without constant()")


@functools.cache
def roles(cls: type) -> tuple[tuple[str, bool, bool], ...]:
    """Return a (name, is constant, is component) tuple for each field of an attrs class.

    For a class that is not an attrs class, return an empty tuple.
    """
    fields = attrs.fields(cls) if attrs.has(cls) else ()
    return tuple((field.name, is_constant(field), is_component(field)) for field in fields)


def _check_component(name: str, value: object, first: object) -> None:
    if not (attrs.has(type(value)) or isinstance(value, tuple)):
        raise SpecError(f"component {name} must be an instance of an attrs class or a tuple, not {_described(value)}")
    if isinstance(value, tuple) != isinstance(first, tuple):
        raise SpecError(
            f"component {name} must keep its class, but it changed from {_described(first)} to {_described(value)}"
        )
    if isinstance(value, tuple) and isinstance(first, tuple) and len(value) != len(first):
        raise SpecError(
            f"component {name} must keep its length, but it changed from {len(first)} to {len(value)} elements"
        )


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    cls: type = type(value)
    check_state_class(cls)
    for field in variables(value):
        inner, inner_path = getattr(value, field.name, attrs.NOTHING), f"{path}{field.name}"
        if inner is attrs.NOTHING:
            raise SpecError(f"{inner_path} of a {cls.__name__} has no value: set it in __attrs_post_init__")
        elements: Mapping[str, object] = {inner_path: inner}
        if is_component(field) and isinstance(inner, tuple):
            elements = {f"{inner_path}[{index}]": element for index, element in enumerate(inner)}
        for element_path, element in elements.items():
            if attrs.has(type(element)):
                yield from _leaves(element, f"{element_path}.")
            else:
                yield element_path, element


def _unhashable(value: object) -> object:
    """Return the innermost unhashable member of a collection, or the value itself if it has no such member."""
    members: list[object] = []
    if isinstance(value, tuple | frozenset | Bag | Map):
        members += [*value, *value.values()] if isinstance(value, Map) else value
    for member in members:
        try:
            hash(member)
        except TypeError:
            return _unhashable(member)
    return value


def _described(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
