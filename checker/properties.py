"""Properties: predicates that must be true in every state, in every step, or in at least one state or step."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from leadline.checker.errors import SpecError, raised


class Kind(enum.Enum):
    """The kind of a property. It determines whether the property is about states or steps, and when it must be true."""

    INVARIANT = "invariant"
    """True in every reachable state."""
    STEP_INVARIANT = "step invariant"
    """True for the states before and after every step."""
    WITNESS = "witness"
    """True in at least one reachable state. Otherwise, a run proves nothing."""
    STEP_WITNESS = "step witness"
    """True for the states before and after at least one step."""
    CONSTRAINT = "constraint"
    """True in every state whose next states are searched. See `Spec.within`."""
    PREMISE = "premise"
    """True in at least one reachable state. Otherwise, the properties with this premise are vacuous. See `Property`."""
    DEADLOCK = "deadlock"
    """Every reachable state has a next state. Enabled by ``Spec(check_deadlock=True)``."""

    @property
    def is_witness(self) -> bool:
        """Whether the property only needs to be true once."""
        return self in (Kind.WITNESS, Kind.STEP_WITNESS, Kind.PREMISE)

    @property
    def of_steps(self) -> bool:
        """Whether the property is about steps rather than states."""
        return self in (Kind.STEP_INVARIANT, Kind.STEP_WITNESS)


Predicate = Callable[..., bool | Iterator[str]]
"""Returns whether the property is true, or yields a sentence for each reason why it is false."""

Premise = Callable[[Any], bool]
"""Returns whether a property applies to a state, or to the steps from it."""


@attrs.frozen(eq=False)
class Property:
    """A predicate with a name, a sentence and a source. Calling it returns whether it is true.

    Attributes:
        name: the name of the function.
        kind: the kind of the property.
        sentence: a one-sentence description of the property.
        function: the predicate. It takes a state or, for a property of steps, the states before and after a step.
        source: the source of the rule, such as an article, a KIP or a ticket.
        fails_in: the names of specs that are known to violate the property within some bounds.
        premise: a predicate of a state; for a step invariant, of the state before the step. Where it is false, the
            property does not apply; if it is false in every state, the property is vacuous. None: the property is never
            vacuous.
    """

    name: str
    kind: Kind
    sentence: str
    function: Predicate
    source: str
    fails_in: tuple[str, ...] = ()
    premise: Premise | None = None

    def __call__(self, *states: object) -> bool:
        return self.complaint(*states) is None

    def complaint(self, *states: object) -> str | None:
        """The reason why the property is false for a state or step: the first of `complaints`; None if it is true.

        Raises:
            SpecError: see `complaints`; or the predicate raised something other than an `Exception`, as
                ``pytest.fail`` does.
        """
        try:
            return next(self.complaints(*states), None)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise SpecError(f"{self.kind.value} {self.name} {raised(error)}") from error

    def complaints(self, *states: object) -> Iterator[str]:
        """Yield the reasons why the property is false for a state or step, a sentence for each offending value.

        Yields:
            One empty string if the predicate does not give a reason; nothing if the property is true.

        Raises:
            SpecError: the predicate returned neither a bool nor an iterator of sentences.
        """
        outcome = self.function(*states)
        if outcome is False:
            yield ""
        elif outcome is not True:
            if not isinstance(outcome, Iterator):
                raise SpecError(f"{self.kind.value} {self.name} must return True or False, not {outcome!r}")
            for sentence in outcome:
                if not isinstance(sentence, str):
                    raise SpecError(
                        f"{self.kind.value} {self.name} must yield a str that describes what is wrong, not {sentence!r}"
                    )
                yield sentence


def invariant(
    sentence: str, *, source: str = "", fails_in: tuple[str, ...] = (), premise: Premise | None = None
) -> Callable[[Predicate], Property]:
    """Decorate a predicate of one state as an invariant.

    Parameters:
        sentence: a one-sentence description of the property.
        source: the source of the rule.
        fails_in: the names of specs that are known to violate the property.
        premise: a predicate of a state, or a witness; see `Property`.

    Returns:
        A decorator. The predicate returns a bool, or yields a sentence for each offending value, so
        that a counterexample can say what is wrong.

    Raises:
        SpecError: the function is not a valid invariant.

    Example:
        >>> @invariant("no counter is above nine")
        ... def small(state):
        ...     return all(counter <= 9 for counter in state)
        >>> small((3, 9)), small((3, 10))
        (True, False)
    """
    return _property(Kind.INVARIANT, sentence, source, fails_in, premise)


def step_invariant(
    sentence: str, *, source: str = "", fails_in: tuple[str, ...] = (), premise: Premise | None = None
) -> Callable[[Predicate], Property]:
    """Decorate a predicate of the states before and after a step as a step invariant. See `invariant`."""
    return _property(Kind.STEP_INVARIANT, sentence, source, fails_in, premise)


def witness(sentence: str, *, source: str = "") -> Callable[[Predicate], Property]:
    """Decorate a predicate that some reachable state must satisfy as a witness. See `invariant`."""
    return _property(Kind.WITNESS, sentence, source)


def step_witness(sentence: str, *, source: str = "") -> Callable[[Predicate], Property]:
    """Decorate a predicate of the states before and after some step as a step witness. See `invariant`."""
    return _property(Kind.STEP_WITNESS, sentence, source)


DEADLOCK = Property(
    name="deadlock",
    kind=Kind.DEADLOCK,
    sentence="every state has a next state",
    function=lambda state: True,
    source="",
)
"""The property that `Spec(check_deadlock=True)` adds. Engines check the state's successors, not this predicate."""


def _bare(function: Callable[..., object]) -> str:
    """The signature of a function, without annotations."""
    signature = _signature(function)
    bare = [item.replace(annotation=item.empty) for item in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))


def premise_property(premise: Premise) -> Property:
    """Convert a premise to a property that, like a witness, some reachable state must satisfy."""
    if isinstance(premise, Property):
        return attrs.evolve(premise, kind=Kind.PREMISE)
    name = getattr(premise, "__name__", "premise")
    return Property(name=name, kind=Kind.PREMISE, sentence="", function=premise, source="")


def _signature(function: Callable[..., object]) -> inspect.Signature:
    """The signature of a function. Raises SpecError: Python does not know the signature, as for `bool`."""
    try:
        return inspect.signature(function)
    except ValueError:
        name = getattr(function, "__name__", repr(function))
        raise SpecError(f"{name} cannot be a predicate, because its parameters are unknown: use a function") from None


def _takes(function: Callable[..., object], count: int) -> bool:
    """Whether a function takes exactly `count` states."""
    parameters = _signature(function).parameters.values()
    return len(parameters) == count and all(item.kind is item.POSITIONAL_OR_KEYWORD for item in parameters)


def _check_premise(premise: object) -> None:
    """Check a premise. Raises SpecError: it is invalid."""
    if isinstance(premise, Property):
        if premise.kind is not Kind.WITNESS:
            raise SpecError(f"a premise must be a predicate of a state, not the {premise.kind.value} {premise.name}")
    elif not callable(premise) or type(premise).__hash__ is None:
        raise SpecError(f"a premise must be a function of a state, not {premise!r}")
    elif not _takes(premise, 1):
        raise SpecError(
            f"premise {getattr(premise, '__name__', premise)} must take one parameter, state, not {_bare(premise)}"
        )
    elif inspect.isgeneratorfunction(premise):
        raise SpecError(f"premise {getattr(premise, '__name__', premise)} must return True or False, but it yields")


def _property(
    kind: Kind, sentence: str, source: str, fails_in: tuple[str, ...] = (), premise: Premise | None = None
) -> Callable[[Predicate], Property]:
    a_kind = f"{'an' if kind is Kind.INVARIANT else 'a'} {kind.value}"
    if not isinstance(sentence, str) or not sentence:
        raise SpecError(f"{a_kind} needs a sentence that describes it, as in @{kind.value.replace(' ', '_')}('...')")

    if premise is not None:
        _check_premise(premise)
    parameters = "two parameters, before and after" if kind.of_steps else "one parameter, state"

    def decorate(function: Predicate) -> Property:
        name = getattr(function, "__name__", repr(function))
        if not callable(function):
            raise SpecError(f"{a_kind} must be a function, not {function!r}")
        if not _takes(function, 2 if kind.of_steps else 1):
            raise SpecError(f"{kind.value} {name} must take {parameters}, not {_bare(function)}")
        return Property(name, kind, sentence, function, source, tuple(fails_in), premise)

    return decorate
