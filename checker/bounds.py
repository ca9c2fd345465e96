"""Bounds: the numbers, words and switches that limit the size of a spec's state space.

The bounds of a spec are the fields of a frozen attrs class, each declared with `bound`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, TypeVar

import attrs

from leadline.checker.door import VERDICT, admit, guarded, verdict
from leadline.checker.errors import LeadlineError, SpecError, raised
from leadline.checker.support.messages import nearest

_HELP = "leadline.help"
_RANGE = "leadline.range"
_RELATION = "_leadline_relation"

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
"""Matches an integer in ASCII digits. `int` would also accept underscores and the digits of other scripts."""

B = TypeVar("B")
T = TypeVar("T")


@attrs.frozen
class NoBounds:
    """An empty set of bounds, for specs that declare none."""


def bound(
    default: T,
    text: str,
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    choices: tuple[str, ...] = (),
) -> T:
    """Return an attrs field that declares a bound. A bound has the type of its default: int, bool or str.

    The field validates its value whenever an instance of the class is created.

    Parameters:
        default: the value of the bound if the user does not specify one.
        text: a short description of the bound, which `leadline specs` shows.
        at_least: the smallest allowed value of an int.
        at_most: the largest allowed value of an int.
        choices: the allowed values of a str.

    Raises:
        SpecError: if the default is not an int, a bool or a str, or is not an allowed value, or if `at_least`,
            `at_most` or `choices` is used with a default of the wrong type.
    """
    if type(default) not in (int, bool, str):
        raise SpecError(f"a bound must be an int, a bool or a str, not {type(default).__name__} {default!r}")
    if (at_least is not None or at_most is not None) and type(default) is not int:
        raise SpecError(f"bound {text!r}: at_least and at_most require a default that is an int, not {default!r}")
    if choices and type(default) is not str:
        raise SpecError(f"bound {text!r}: choices requires a default that is a str, not {default!r}")
    right = _right_values(type(default), at_least, at_most, choices)

    def fits(value: object) -> bool:
        if type(value) is not type(default):
            return False
        if choices:
            return value in choices
        if not isinstance(value, int):
            return True
        return (at_least is None or value >= at_least) and (at_most is None or value <= at_most)

    def validate(_: object, field: attrs.Attribute[T], value: T) -> None:
        if not fits(value):
            raise SpecError(f"bound {field.name}={value} is out of range: it must be {right}")

    if not fits(default):
        raise SpecError(f"the default {default!r} of bound {text!r} is out of range: it must be {right}")
    return attrs.field(default=default, validator=validate, metadata={_HELP: text, _RANGE: right})


def check(text: str) -> Callable[[Callable[[B], bool]], Callable[[B], bool]]:
    """Return a decorator that declares a method of a bounds class as a relation between bounds.

    The method returns whether the relation is true. If it returns False, the spec rejects the bounds with an error
    message that contains the text.

    Parameters:
        text: the relation, such as ``n > 3 * t``.

    Raises:
        SpecError: if the text is missing, or if the decorated object is not a method that takes only ``self`` and
            returns a value.

    Example:
        >>> @attrs.frozen
        ... class Bounds:
        ...     n: int = bound(4, "processes", at_least=1)
        ...     t: int = bound(1, "faulty processes", at_least=0)
        ...     @check("n > 3 * t")
        ...     def enough(self):
        ...         return self.n > 3 * self.t
        >>> check_relations(Bounds(n=3))
        Traceback (most recent call last):
        leadline.checker.errors.SpecError: bounds n=3,t=1 are not allowed: they require n > 3 * t
    """
    if not isinstance(text, str) or not text.strip():
        raise SpecError("@bounds.check requires the text of the relation, as in @bounds.check('n > 3 * t')")

    def decorate(function: Callable[[B], bool]) -> Callable[[B], bool]:
        if not isinstance(function, FunctionType):
            kind = type(function).__name__
            raise SpecError(f"@bounds.check({text!r}) must decorate a method of the bounds class, not a {kind}")
        admit(f"@bounds.check({text!r}): method {function.__name__}", function, ["self"], VERDICT)
        setattr(function, _RELATION, text)
        return function

    return decorate


def relations(bounds: object) -> list[tuple[str, Callable[[Any], bool]]]:
    """Return the methods that are decorated with `check`, each with the text of its relation."""
    members: dict[str, object] = {}
    for cls in reversed(type(bounds).__mro__):
        members.update(vars(cls))
    functions = [member for member in members.values() if isinstance(member, FunctionType)]
    return [(getattr(member, _RELATION), member) for member in functions if hasattr(member, _RELATION)]


def check_relations(bounds: object) -> None:
    """Check that the relations between bounds are true.

    Raises:
        SpecError: if a relation is false, raises an exception or does not return a bool.
    """
    for text, relation in relations(bounds):
        owner = f"the relation {text!r} between bounds"
        if not verdict(owner, relation, guarded(owner, functools.partial(relation, bounds))):
            given = bounds_text({name: value for name, value, *_ in describe_bounds(bounds)})
            raise SpecError(f"bounds {given} are not allowed: they require {text}")


def _right_values(kind: type, at_least: int | None, at_most: int | None, choices: tuple[str, ...]) -> str:
    if choices:
        return "one of " + ", ".join(choices)
    if kind is bool:
        return "true or false"
    if kind is str:
        return "a word"
    if at_least is None and at_most is None:
        return "an integer"
    if at_most is None:
        return f"an integer of {at_least} or more"
    return f"an integer from {at_least} to {at_most}" if at_least is not None else f"an integer up to {at_most}"


def describe_bounds(bounds: object) -> list[tuple[str, object, str, str]]:
    """Return a (name, value, description, allowed values) tuple for each bound."""
    kind: type = type(bounds)
    return [
        (field.name, getattr(bounds, field.name), field.metadata.get(_HELP, ""), field.metadata.get(_RANGE, ""))
        for field in attrs.fields(kind)
    ]


def bounds_text(bounds: Mapping[str, object]) -> str:
    """Return bounds as text, in the form that the option ``-b`` accepts, for example ``brokers=3,log_size=2``."""
    return ",".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in bounds.items()
    )


def change_bounds(bounds: B, changes: Mapping[str, object]) -> B:
    """Return a copy of the bounds with some values replaced.

    Parameters:
        bounds: a frozen attrs value.
        changes: the new values, keyed by the name of the bound. A str is converted to the type of the bound.

    Raises:
        SpecError: if a name in `changes` is not the name of a bound, or if a value is not allowed.
    """
    names = [name for name, *_ in describe_bounds(bounds)]
    for name in changes:
        if name not in names:
            raise SpecError(f"unknown bound {name!r}{nearest(name, names)}")
    read = {name: _read(value, type(getattr(bounds, name))) for name, value in changes.items()}
    evolve: Callable[..., B] = attrs.evolve
    try:
        return evolve(bounds, **read)
    except LeadlineError:
        raise
    except Exception as error:  # of the spec's code
        raise SpecError(
            f"bounds {bounds_text(changes)} are not allowed: {type(bounds).__name__} {raised(error)}"
        ) from error


def parse_bounds(text: str) -> dict[str, str]:
    """Parse text such as ``brokers=3,log_size=2`` into a dict that maps names to values. All values are strings.

    Raises:
        SpecError: if a part of the text is not ``name=value``, where the value can be empty, or if a name occurs twice.
    """
    changes: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals):
            raise SpecError(f"invalid bound {part!r}: write name=value, e.g. brokers=3,log_size=2")
        if name in changes:
            raise SpecError(f"bound {name} is given twice")
        changes[name] = value
    return changes


def _read(value: object, kind: type) -> object:
    """Convert a value from the command line to an int or a bool.

    Text that cannot be converted is returned unchanged. The validator of the bound then rejects the text.
    """
    if not isinstance(value, str) or kind is str:
        return str(value) if kind is str and type(value) is int else value
    if kind is bool:
        return {"true": True, "false": False}.get(value.lower(), value)
    return int(value) if _INTEGER.fullmatch(value) else value
