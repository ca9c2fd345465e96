"""The parameters of actions and properties, and the values that they can have."""

from __future__ import annotations

import inspect
import itertools
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from typing import Any

from leadline.checker.door import VALUES, admit, members, shown
from leadline.checker.errors import LeadlineError, SpecError, raised
from leadline.checker.values import distinct

Domain = Iterable[object] | Callable[[Any], Iterable[object]]
"""The possible values of a parameter: an iterable, or a function that takes the spec's bounds and returns an
iterable."""


MOST_VALUES = 1_000_000
"""The maximum number of values in a domain."""


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
        domain: the domain of the parameter.

    Raises:
        SpecError: if the values are a set or are not iterable, if there are more than `MOST_VALUES`, if two values are
            equal, or if a value is not hashable.
    """
    name = f"{owner}: the domain of {parameter!r}"
    try:
        given = domain if isinstance(domain, Iterable) else domain(bounds)  # an Enum class is iterable and callable
        some = itertools.islice(members(name, domain, VALUES, given), MOST_VALUES + 1)
        values = [value for value in some]  # noqa: C416  # unlike `list`, Ctrl-C can interrupt it
        different = len(set(values))
    except (LeadlineError, KeyboardInterrupt):
        raise
    except BaseException as error:  # also SystemExit, which `sys.exit` raises
        of_state = ""
        if isinstance(error, AttributeError) and callable(domain):
            of_state = "; it is called with the bounds: name its parameter state to draw the values from the state"
        raise SpecError(f"{name} {raised(error)}{of_state}") from error
    if isinstance(given, Set):
        raise SpecError(f"{name} is a set, which has no order: pass a list or a range")
    if len(values) > MOST_VALUES:
        raise SpecError(f"{name} has more than {MOST_VALUES:,} values")
    if different != len(values):
        distinct(values, name)  # it raises an error if they are not the same
        raise SpecError(f"{name} contains a value twice: {values}")
    return values


def check_domain(owner: str, domain: Domain) -> None:
    """Check that the possible values of a parameter, or a function that gives them, can be used.

    Raises:
        SpecError: if the domain can be iterated over only once, or see `leadline.checker.door.admit`.
    """
    if isinstance(domain, str | Iterator) or not (callable(domain) or isinstance(domain, Iterable)):
        raise SpecError(f"{owner} must be a collection of values or a function of the bounds, not {shown(domain)}")
    if not isinstance(domain, Iterable):
        admit(owner, domain, ["state" if takes_state(domain) else "bounds"], VALUES)


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
        check_domain(f"{owner}: the domain of {parameter!r}", domain)
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
