"""The parameters of actions and properties, and the values that they can have."""

from __future__ import annotations

import inspect
import itertools
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from typing import Any

from leadline.checker.errors import SpecError, raised

Domain = Iterable[object] | Callable[[Any], Iterable[object]]
"""The possible values of a parameter: an iterable, or a function that takes the spec's bounds and returns an
iterable."""


MOST_VALUES = 1_000_000
"""The maximum number of values in a domain."""


def takes_bounds(function: Callable[..., object]) -> bool:
    """Return whether a function can be called with the bounds as its only argument."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # a function in C, whose parameters Python does not know
        return True
    return True


def takes_state(domain: Domain) -> bool:
    """Return whether a domain is a function whose only parameter is named ``state``."""
    if isinstance(domain, Iterable | type):
        return False
    try:
        return list(inspect.signature(domain).parameters) == ["state"]
    except (TypeError, ValueError):
        return False


def domain_values(owner: str, parameter: str, domain: Domain, bounds: object) -> list[object]:
    """Return the values that a parameter can have.

    Parameters:
        owner: the action or property, for messages, such as ``action send``.
        parameter: the name of the parameter.
        domain: the domain of the parameter.
        bounds: the bounds of the spec.

    Raises:
        SpecError: if the values are a set or are not iterable, if there are more than `MOST_VALUES`, if two values are
            equal, or if a value is not hashable.
    """
    try:
        given = domain if isinstance(domain, Iterable) else domain(bounds)  # an Enum class is iterable and callable
        some = itertools.islice(given, MOST_VALUES + 1)
        values = [value for value in some]  # noqa: C416  # unlike `list`, Ctrl-C can interrupt it
        distinct = len(set(values))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit, which `sys.exit` raises
        of_state = ""
        if isinstance(error, AttributeError) and callable(domain):
            of_state = "; it is called with the bounds: name its parameter state to draw the values from the state"
        raise SpecError(f"{owner}: the domain of {parameter!r} {raised(error)}{of_state}") from error
    if isinstance(given, Set):
        raise SpecError(f"{owner}: the domain of {parameter!r} is a set, which has no order: pass a list or a range")
    if len(values) > MOST_VALUES:
        raise SpecError(f"{owner}: the domain of {parameter!r} has more than {MOST_VALUES:,} values")
    if distinct != len(values):
        raise SpecError(f"{owner}: the domain of {parameter!r} contains a value twice: {values}")
    return values


def parameters_of(owner: str, function: Callable[..., object], states: Sequence[str]) -> list[str]:
    """Return the names of a function's parameters after the states.

    Parameters:
        owner: the action or property, for messages.
        function: the function.
        states: a name for each state that the function takes first.

    Raises:
        SpecError: if a parameter is not positional, or has a default value, or if there are too few parameters.
    """
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) < len(states):
        first = "the first parameter must be the state" if len(states) == 1 else "the first parameters must be states"
        raise SpecError(f"{owner} has {'no' if not parameters else 'too few'} parameters: {first}")
    for parameter in parameters:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
            bare = parameter.replace(annotation=parameter.empty)
            raise SpecError(f"{owner}: {bare} must be a positional parameter without a default value")
    return [parameter.name for parameter in parameters]


def match_domains(
    owner: str, parameters: Sequence[str], domains: Mapping[str, Domain], decorator: str, taken: Sequence[str]
) -> None:
    """Check that each parameter has a domain, and that each domain belongs to a parameter and can be used.

    Parameters:
        owner: the action or property, for messages.
        parameters: the names of the parameters.
        domains: the domain of each parameter, keyed by its name.
        decorator: the decorator to which the domains were given.
        taken: the names that the decorator uses itself.

    Raises:
        SpecError: if the parameters and the domains do not match.
    """
    kind = owner.split()[0]
    for parameter in parameters:
        if parameter in taken:
            raise SpecError(
                f"{owner}: a parameter cannot be named {parameter!r}, because {decorator} uses this name itself"
            )
        if parameter not in domains:
            raise SpecError(
                f"{owner}: parameter {parameter!r} has no domain: declare one with {decorator}({parameter}=...)"
            )
    for parameter, domain in domains.items():
        if parameter not in parameters:
            raise SpecError(f"{owner}: there is a domain for {parameter!r}, but the {kind} has no such parameter")
        if isinstance(domain, str | Iterator) or not (callable(domain) or isinstance(domain, Iterable)):
            raise SpecError(
                f"{owner}: the domain of {parameter!r} must be a collection of values or a function of "
                f"the bounds, not {domain!r}"
            )
        if isinstance(domain, Sized) and not len(domain):
            raise SpecError(f"{owner}: the domain of {parameter!r} is empty: give at least one value")


def check_sentence(owner: str, sentence: str, parameters: Sequence[str]) -> None:
    """Check that a sentence refers only to parameters.

    Raises:
        SpecError: if the sentence refers to anything else, or is not a valid format string.
    """
    try:
        named = {field for _, field, _, _ in string.Formatter().parse(sentence) if field is not None}
    except ValueError as error:
        raise SpecError(f"{owner}: the sentence {sentence!r} is not a valid format string: {error}") from error
    for field in sorted(named - set(parameters)):
        raise SpecError(f"{owner}: the sentence names {{{field}}}, which is not a parameter of the {owner.split()[0]}")


def with_values(name: str, values: Mapping[str, object]) -> str:
    """Return the name of an action or property with the values of its parameters, as in ``send(process=2)``."""
    return f"{name}({', '.join(f'{parameter}={value}' for parameter, value in values.items())})"
