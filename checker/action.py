"""Actions: the rules by which a state changes.

An action is a named generator function without side effects. It takes a state and parameters, and yields the possible
next states.
"""

from __future__ import annotations

import inspect
import itertools
import string
from collections.abc import Callable, Iterable, Iterator, Set, Sized
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import attrs

from leadline.checker.errors import SpecError, raised

S = TypeVar("S")
P = ParamSpec("P")

Domain = Iterable[object] | Callable[[Any], Iterable[object]]
"""The type of the values of a parameter: an iterable, or a function of the spec's bounds that returns an iterable."""


@attrs.frozen(eq=False)
class Action(Generic[S, P]):
    """A rule by which the state of a spec changes. Calling an action calls the decorated function.

    Attributes:
        name: the name of the function.
        function: a generator function that takes a state and the parameters, and yields the next states. If it yields
            nothing, the action is not enabled in the state.
        domains: the possible values of each parameter, by name, in the order of the function's signature.
        sentence: a description of a step. ``{name}`` in it is replaced by the value of the parameter with this name.
    """

    name: str
    function: Callable[..., Iterator[S]]
    domains: dict[str, Domain]
    sentence: str

    def __call__(self, state: S, *args: P.args, **kwargs: P.kwargs) -> Iterator[S]:
        return self.function(state, *args, **kwargs)

    def instances(self, bounds: object) -> list[ActionInstance[S]]:
        """Return one instance of the action for each combination of parameter values that the bounds allow.

        Parameters:
            bounds: the bounds of the spec.

        Raises:
            SpecError: if the values of a parameter are a set or are not iterable, or if two of them are equal, or if
                one of them is not hashable.
        """
        values = [self._values(parameter, domain, bounds) for parameter, domain in self.domains.items()]
        return [ActionInstance(self, combination) for combination in itertools.product(*values)]

    def _values(self, parameter: str, domain: Domain, bounds: object) -> list[object]:
        try:
            given = domain if isinstance(domain, Iterable) else domain(bounds)  # an Enum class is iterable and callable
            values = [value for value in given]  # noqa: C416  # unlike `list`, Ctrl-C can interrupt it
            distinct = len(set(values))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also SystemExit, which `sys.exit` raises
            raise SpecError(f"action {self.name}: the domain of {parameter!r} {raised(error)}") from error
        if isinstance(given, Set):
            raise SpecError(
                f"action {self.name}: the domain of {parameter!r} is a set, which has no order: pass a list or a range"
            )
        if distinct != len(values):
            raise SpecError(f"action {self.name}: the domain of {parameter!r} contains a value twice: {values}")
        return values


@attrs.frozen(repr=False, cache_hash=True)
class ActionInstance(Generic[S]):
    """An action with a value for each parameter, for example ``replicate(leader=0, follower=1)``.

    Attributes:
        action: the action.
        values: the values of the parameters, in the order of the function's signature.
    """

    action: Action[S, ...]
    values: tuple[Any, ...]

    @property
    def arguments(self) -> dict[str, Any]:
        """The values of the parameters, by name."""
        return dict(zip(self.action.domains, self.values, strict=True))

    def successors(self, state: S) -> Iterator[S]:
        """Return an iterator over the next states of a state. It is empty if the action is not enabled in the state."""
        return self.action.function(state, *self.values)

    @property
    def sentence(self) -> str:
        """The action's sentence with the values of the parameters, or an empty string if it has no sentence."""
        return self.action.sentence.format(**self.arguments)

    def __repr__(self) -> str:
        return f"{self.action.name}({', '.join(f'{name}={value}' for name, value in self.arguments.items())})"


@attrs.frozen
class Step(Generic[S]):
    """An action instance with the states before and after it."""

    before: S
    instance: ActionInstance[S]
    after: S

    @property
    def action(self) -> str:
        """The name of the action."""
        return self.instance.action.name

    @property
    def arguments(self) -> dict[str, Any]:
        """The values of the action's parameters, by name."""
        return self.instance.arguments


def action(
    sentence: str = "", /, **domains: Domain
) -> Callable[[Callable[Concatenate[S, P], Iterator[S]]], Action[S, P]]:
    """Return a decorator that makes an action from a generator function.

    The function takes a state and then the parameters, and yields the next states. If it yields nothing, the action is
    not enabled in the state.

    Parameters:
        sentence: a description of a step. ``{name}`` in it is replaced by the value of the parameter with this name.
        domains: for each parameter after the state, its possible values: an iterable, or a function of the spec's
            bounds that returns an iterable.

    Raises:
        SpecError: if the function is not a generator function, or if its parameters do not match `domains` or
            `sentence`.

    Example:
        >>> @action("counter {index} goes up", index=range(3))
        ... def increment(state, index):
        ...     if state[index] < 9:
        ...         yield state[:index] + (state[index] + 1,) + state[index + 1 :]
        >>> list(increment((0, 0, 9), 1))
        [(0, 1, 9)]
    """
    if not isinstance(sentence, str):
        raise SpecError("@action needs parentheses: write @action() or @action(broker=brokers)")

    def decorate(function: Callable[Concatenate[S, P], Iterator[S]]) -> Action[S, P]:
        name = getattr(function, "__name__", repr(function))
        if not inspect.isgeneratorfunction(function):
            raise SpecError(f"action {name} must be a generator function that yields the next states")
        _, *parameters = _parameters(name, function)
        _match_domains(name, parameters, domains)
        _check_sentence(name, sentence, parameters)
        return Action(name, function, {parameter: domains[parameter] for parameter in parameters}, sentence)

    return decorate


def _parameters(name: str, function: Callable[..., object]) -> list[str]:
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters:
        raise SpecError(f"action {name} has no parameters: the first parameter must be the state")
    for parameter in parameters:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
            bare = parameter.replace(annotation=parameter.empty)
            raise SpecError(f"action {name}: {bare} must be a positional parameter without a default value")
    return [parameter.name for parameter in parameters]


def _match_domains(name: str, parameters: list[str], domains: dict[str, Domain]) -> None:
    for parameter in parameters:
        if parameter not in domains:
            raise SpecError(
                f"action {name}: parameter {parameter!r} has no domain: declare one with @action({parameter}=...)"
            )
    for parameter, domain in domains.items():
        if parameter not in parameters:
            raise SpecError(f"action {name}: there is a domain for {parameter!r}, but the action has no such parameter")
        if isinstance(domain, str | Iterator) or not (callable(domain) or isinstance(domain, Iterable)):
            raise SpecError(
                f"action {name}: the domain of {parameter!r} must be a collection of values or a function of "
                f"the bounds, not {domain!r}"
            )
        if isinstance(domain, Sized) and not len(domain):
            raise SpecError(f"action {name}: the domain of {parameter!r} is empty: give at least one value")


def _check_sentence(name: str, sentence: str, parameters: list[str]) -> None:
    try:
        named = {field for _, field, _, _ in string.Formatter().parse(sentence) if field is not None}
    except ValueError as error:
        raise SpecError(f"action {name}: the sentence {sentence!r} is not a valid format string: {error}") from error
    for field in sorted(named - set(parameters)):
        raise SpecError(f"action {name}: the sentence names {{{field}}}, which is not a parameter of the action")
