"""Actions: the rules by which a state changes.

An action is a named generator function without side effects. It takes a state and parameters, and yields the possible
next states.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import attrs

from leadline.checker.content import content
from leadline.checker.door import STEPS, VALUES, admit, members, parameters_of, refuse_replaced
from leadline.checker.errors import SpecError
from leadline.checker.parameters import (
    Domain,
    check_sentence,
    domain_values,
    match_domains,
    takes_state,
    with_values,
)
from leadline.checker.values import distinct, key

S = TypeVar("S")
P = ParamSpec("P")

Identity = tuple[str, Hashable]
"""The name of an action, and the values of some of its parameters; see `ActionInstance.identity_by`."""

FAIRNESS = {
    "": "the action may be neglected for ever",
    "weak": "if the action is enabled in all states from some time on, it is taken again and again",
    "strong": "if the action is enabled again and again, it is taken again and again",
    "weak each": "weak, for each instance of the action by itself",
    "strong each": "strong, for each instance of the action by itself",
}
"""The values of `Action.fair`. Steps that do not change the state are ignored.

An instance is the action with the values of its parameters, also of those in `Action.drawn`. ``weak`` and ``strong``
apply to the action as a whole: a step of any instance counts as a step of the action. After ``each``, parameters can be
named, as in ``weak each client``: then all instances with the same values of these parameters count as one.
"""

EFFECTS = ("", "healing", "perturbing")
"""The values of `Action.effect`."""


@attrs.frozen(eq=False)
class Action(Generic[S, P]):
    """A rule that says how the state of a spec can change. Calling an action calls the decorated function.

    Attributes:
        name: the name of the function.
        function: a generator function that takes a state and the parameters, and yields the next states. If it yields
            nothing, the action is not enabled in the state.
        domains: the possible values of each parameter, keyed by the parameter's name, in the order of the parameters.
            Parameters in `drawn` are not included.
        sentence: a description of a step. ``{name}`` in it is replaced by the value of the parameter with this name.
        fair: the fairness of the action: a key of `FAIRNESS`, optionally followed by parameter names. Only liveness
            properties depend on it.
        effect: ``"healing"`` if the action repairs something, ``"perturbing"`` if it is a failure or another
            disturbance, or an empty string. Only liveness properties depend on it.
        drawn: for each parameter whose values are drawn from the state, a function that takes the state and returns the
            values. The instances in `Spec.instances` have values only for the other parameters; see
            `ActionInstance.steps`.
    """

    name: str
    function: Callable[..., Iterator[S]]
    domains: dict[str, Domain]
    sentence: str
    fair: str = ""
    effect: str = ""
    drawn: dict[str, Callable[[S], Iterable[object]]] = attrs.field(factory=dict)

    def __call__(self, state: S, *args: P.args, **kwargs: P.kwargs) -> Iterator[S]:
        return self.function(state, *args, **kwargs)

    def instances(self, bounds: object) -> list[ActionInstance[S]]:
        """Return one instance of the action for each combination of parameter values that the bounds allow.

        Raises:
            SpecError: if the values of a parameter are a set or are not iterable, if two values are equal, or if a
                value is not hashable.
        """
        owner = f"action {self.name}"
        values = [domain_values(owner, parameter, domain, bounds) for parameter, domain in self.domains.items()]
        return [ActionInstance(self, combination) for combination in itertools.product(*values)]


@attrs.frozen(repr=False, eq=False)
class ActionInstance(Generic[S]):
    """An action with a value for each of its parameters, such as ``replicate(leader=0, follower=1)``.

    Two instances are equal if they have the same action and the same values; see `leadline.checker.values.key`. Their
    text can be the same although they are not equal, and different although they are.

    Attributes:
        values: the values of the parameters in `Action.domains`.
        drawn: the values of the parameters in `Action.drawn`, or None if the instance stands for all their values.
        allows: a function that takes the states before and after a step, and returns whether the step is taken, or None
            if all are; see `Spec.within_step`.
    """

    action: Action[S, ...]
    values: tuple[Any, ...]
    drawn: tuple[Any, ...] | None = None
    allows: Callable[[S, S], bool] | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """A dict that maps parameter names to values. Parameters without a known value are omitted."""
        known = dict(zip(self.action.domains, self.values, strict=True))
        return known if self.drawn is None else known | dict(zip(self.action.drawn, self.drawn, strict=True))

    def identity_by(self, parameters: Iterable[str]) -> Identity:
        """Return a value that two instances share if and only if their actions have the same name, and the given
        parameters have the same values.
        """
        arguments = self.arguments
        return self.action.name, tuple((name, key(arguments.get(name))) for name in sorted(parameters))

    @functools.cached_property
    def identity(self) -> Identity:
        """The value of `identity_by` for all parameters. Instances of different specs can share it."""
        return self.identity_by(self.arguments)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ActionInstance):
            return NotImplemented
        return self.action is other.action and self.identity == other.identity

    @functools.cached_property
    def _hash(self) -> int:
        return hash(self.identity)

    def __hash__(self) -> int:
        return self._hash

    def successors(self, state: S) -> Iterator[S]:
        """Return an iterator over the next states of a state. It is empty if the action is not enabled in the state."""
        if not self.action.drawn and self.allows is None:
            return self.action.function(state, *self.values)
        return (successor for _, successor in self.steps(state))

    def steps(self, state: S) -> Iterator[tuple[ActionInstance[S], S]]:
        """Return an iterator over the steps from a state. Each step is given as this instance with the values that are
        drawn from the state, and the next state. An instance that has drawn values has no steps if the state does not
        have them.
        """
        found, allows = self._steps(state), self.allows
        if allows is None:
            return found
        # what is no state is kept, so that `Spec.steps` says so
        return (step for step in found if type(step[1]) is not type(state) or allows(state, step[1]))

    def _steps(self, state: S) -> Iterator[tuple[ActionInstance[S], S]]:
        if not self.action.drawn:
            for successor in self.action.function(state, *self.values):
                yield self, successor
            return
        for drawn in self._drawn_in(state):
            instance = attrs.evolve(self, drawn=drawn)
            if self.drawn is None or instance == self:
                for successor in self.action.function(state, **instance.arguments):
                    yield instance, successor

    def _drawn_in(self, state: S) -> list[tuple[Any, ...]]:
        """Return the distinct combinations of the values that are drawn from a state. Each value is hashed, so that a
        recorded call of the action reads it completely.
        """
        owner, combinations = f"action {self.action.name}", []
        for name, values_of in self.action.drawn.items():
            name_of = f"{owner}: the domain of {name!r}"
            values = members(name_of, values_of, VALUES, values_of(state))
            try:
                combinations.append(distinct(values, name_of))
            except TypeError as error:
                if "unhashable" not in str(error):
                    raise
                raise SpecError(f"{owner}: a value drawn from the state must be hashable: {error}") from None
        return list(itertools.product(*combinations))

    @property
    def of_search(self) -> ActionInstance[S]:
        """This instance without drawn values. It is an element of `Spec.instances`."""
        return self if self.drawn is None else attrs.evolve(self, drawn=None)

    @functools.cached_property
    def rank(self) -> int:
        """The content hash of the drawn values. Sorting by it gives the same order in every process."""
        return content("", self.drawn)

    @property
    def sentence(self) -> str:
        """The action's sentence with the values of the parameters, or an empty string if the action has no sentence. If
        a value is not known, the sentence contains the name of the parameter instead. A tuple is listed: ``0, 1``.
        """
        values = {
            name: ", ".join(map(str, value)) if type(value) is tuple else value
            for name, value in self.arguments.items()
        }
        return self.action.sentence.format(**{**{name: name for name in self.action.drawn}, **values})

    def __repr__(self) -> str:
        return self._text

    @functools.cached_property
    def _text(self) -> str:  # each call of an action needs it, for the case that it fails
        return with_values(self.action.name, self.arguments)


@attrs.frozen
class Step(Generic[S]):
    """An action instance, with the states before and after it."""

    before: S
    instance: ActionInstance[S]
    after: S

    @property
    def action(self) -> str:
        """The name of the action."""
        return self.instance.action.name

    @property
    def arguments(self) -> dict[str, Any]:
        """A dict that maps the name of each parameter of the action to its value."""
        return self.instance.arguments


def action(
    sentence: str = "", /, *, fair: str = "", effect: str = "", **domains: Domain
) -> Callable[[Callable[Concatenate[S, P], Iterator[S]]], Action[S, P]]:
    """Return a decorator that makes an action from a generator function.

    The function takes a state and then the parameters, and yields the next states. If it yields nothing, the action is
    not enabled in the state.

    Parameters:
        sentence: a description of a step. ``{name}`` in it is replaced by the value of the parameter with this name.
        fair: the fairness of the action; see `FAIRNESS`.
        effect: ``"healing"``, ``"perturbing"`` or an empty string; see `Action.effect`.
        domains: the possible values of each parameter after the state: an iterable, or a function that returns one. If
            the function's only parameter is named ``state``, it takes the state. Otherwise, it takes the spec's bounds.

    Raises:
        SpecError: if the function is not a generator function, if its parameters do not match `domains` or
            `sentence`, or if `fair` or `effect` is not valid.

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
        owner = f"action {name}"
        admit(owner, function, (), STEPS)
        refuse_replaced(owner, function)
        first, *parameters = parameters_of(owner, function, ["state"])
        if first in domains:
            raise SpecError(f"{owner}: the first parameter must be the state, but {first!r} has a domain")
        match_domains(owner, parameters, domains, "@action", ("fair", "effect"))
        check_sentence(owner, sentence, parameters)
        check_fairness(name, parameters, fair, effect)
        drawn = {parameter: domains[parameter] for parameter in parameters if takes_state(domains[parameter])}
        fixed = {parameter: domains[parameter] for parameter in parameters if parameter not in drawn}
        return Action(name, function, fixed, sentence, fair, effect, drawn)  # type: ignore[arg-type]

    return decorate


def fair_parameters(fair: str) -> list[str]:
    """Return the parameter names in a fairness, such as ``client`` in ``weak each client``."""
    return fair.partition(" each ")[2].split(", ") if " each " in fair else []


def check_fairness(name: str, parameters: Iterable[str], fair: object, effect: object = "") -> None:
    """Check the fairness and the effect of an action.

    Parameters:
        parameters: the names of the action's parameters.
        fair, effect: the fairness and the effect of the action.

    Raises:
        SpecError: if `fair` or `effect` is not valid, or if a perturbing action is fair.
    """
    named = fair_parameters(fair) if isinstance(fair, str) else []
    if not isinstance(fair, str) or (fair.removesuffix(f" {', '.join(named)}") if named else fair) not in FAIRNESS:
        kinds = ", ".join(repr(kind) for kind in FAIRNESS if kind)
        raise SpecError(f"action {name}: fair must be one of {kinds}, not {fair!r}")
    known = list(parameters)
    for parameter in named:
        if parameter not in known:
            has = f"it has {', '.join(known)}" if known else "it has no parameters"
            raise SpecError(f"action {name}: fair={fair!r} names {parameter!r}, which is not a parameter: {has}")
    if not isinstance(effect, str) or effect not in EFFECTS:
        raise SpecError(f"action {name}: effect must be 'healing' or 'perturbing', not {effect!r}")
    if fair and effect == "perturbing":
        raise SpecError(f"action {name} is perturbing, so it cannot be fair: nothing guarantees that it is taken")
