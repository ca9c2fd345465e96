"""Properties: conditions that must be true in every state or step, or in at least one state or step."""

from __future__ import annotations

import enum
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, SupportsIndex, cast, overload

import attrs

from leadline.checker.door import (
    FORMULA,
    REASONS,
    VERDICT,
    Gives,
    admit,
    guarded,
    name_of,
    parameters_of,
    reasons,
    refuse_replaced,
    refuse_truth,
    shown,
    wrong,
    wrong_parameters,
)
from leadline.checker.errors import SpecError, raised
from leadline.checker.formulas import Formula, Statement, always, implies, premises, sometime
from leadline.checker.parameters import (
    Domain,
    check_sentence,
    domain_values,
    match_domains,
    takes_state,
    with_values,
)


class Kind(enum.Enum):
    """The kind of a property: whether it is about states or steps, and whether it must be true in all of them or in at
    least one.
    """

    INVARIANT = "invariant"
    """The predicate must be true in every reachable state."""
    STEP_INVARIANT = "step invariant"
    """The predicate must be true for every step. It takes the states before and after the step."""
    WITNESS = "witness"
    """The predicate must be true in at least one reachable state. It shows that the spec can reach such a state."""
    STEP_WITNESS = "step witness"
    """The predicate must be true for at least one step. It takes the states before and after the step."""
    WITHIN = "within"
    """The predicate is true in the states whose next states are searched. See `Spec.within`."""
    CUT = "cut"
    """The predicate is true in the states in which only a bound of the search blocks a step. See `Spec.cut`."""
    FINAL = "final"
    """The predicate is true in the states that need no next state. See `Spec.final`."""
    PREMISE = "premise"
    """The predicate must be true in at least one reachable state. Otherwise, properties with this premise are
    vacuous.
    """
    DEADLOCK = "deadlock"
    """Every reachable state must have a next state or be final. ``Spec(check_deadlock=True)`` and
    ``Spec(final=...)`` enable this check.
    """
    EVENTUALLY = "eventually"
    """In every fair behaviour, the predicate is true in at least one state."""
    LEADS_TO = "leads to"
    """In every fair behaviour, if a state satisfies `Property.premise`, the predicate is true in this state or in a
    later state.
    """
    ALWAYS_EVENTUALLY = "always eventually"
    """In every fair behaviour, the predicate is true again and again."""
    EVENTUALLY_ALWAYS = "eventually always"
    """In every fair behaviour, the predicate is true from some state on."""
    RECOVERABLE = "recoverable"
    """From every reachable state, a state in which the predicate is true can be reached. Fairness has no effect."""
    TEMPORAL = "temporal"
    """In every fair behaviour, the formula that the function returns is true; see `leadline.checker.formulas`."""
    CONDITION = "condition"
    """A predicate of states that occurs in a formula. It is evaluated when formulas are checked."""
    STEP_CONDITION = "step condition"
    """A predicate of steps that occurs in a formula."""

    @property
    def is_witness(self) -> bool:
        """Whether the property must be true in at least one state or step, instead of in all of them."""
        return self in (Kind.WITNESS, Kind.STEP_WITNESS, Kind.PREMISE, *CONDITIONS)

    @property
    def gives(self) -> Gives:
        """What the predicate must give. Only an invariant may yield reasons: where nothing is to be explained, a
        predicate that yields would be true if it yields nothing.
        """
        if self is Kind.TEMPORAL:
            return FORMULA
        return REASONS if self in (Kind.INVARIANT, Kind.STEP_INVARIANT) else VERDICT

    @property
    def of_steps(self) -> bool:
        """Whether the property is about steps instead of states."""
        return self in OF_STEPS

    @property
    def is_liveness(self) -> bool:
        """Whether the property is a liveness property. Such a property is checked after a search, on the graph of all
        states and steps.
        """
        return self in LIVENESS


LIVENESS = (
    Kind.EVENTUALLY,
    Kind.LEADS_TO,
    Kind.ALWAYS_EVENTUALLY,
    Kind.EVENTUALLY_ALWAYS,
    Kind.RECOVERABLE,
    Kind.TEMPORAL,
)
"""The kinds of liveness properties."""

CONDITIONS = (Kind.CONDITION, Kind.STEP_CONDITION)
"""The kinds of the predicates in formulas."""

OF_STATES = (
    Kind.INVARIANT, Kind.WITNESS, *LIVENESS[:-1], Kind.PREMISE, Kind.CONDITION, Kind.CUT, Kind.WITHIN
)  # fmt: skip
"""The kinds of properties whose predicates take one state, except `Kind.FINAL`, which searches call only for states
without a next state.
"""

OF_STEPS = (Kind.STEP_INVARIANT, Kind.STEP_WITNESS, Kind.STEP_CONDITION)
"""The kinds of properties whose predicates take the states before and after a step."""

Predicate = Callable[..., bool | Iterator[str]]
"""A function that returns whether a property is true, or yields a sentence for each reason why it is false."""

Premise = Callable[..., bool]
"""A function that takes a state and returns whether a property applies to the state or to the steps from it. If the
property has parameters, the function may take them too."""


@attrs.frozen(eq=False)
class Property:
    """A condition on states or steps, with a name and a description. Calling a property returns whether it is true.

    Attributes:
        name: the name of the function.
        kind: the kind of the property.
        sentence: a one-sentence description of the property.
        function: the predicate. It takes a state. For a property of steps, it takes the states before and after a step.
        source: the source of the property, such as an article, a KIP or a ticket.
        fails_in: the names of specs that are known to violate the property for some values of their bounds.
        premise: a predicate of a state, or None. The property applies only to states in which the premise is true. A
            step invariant applies only to steps from such states. If no reachable state satisfies the premise, the
            property is vacuous. For a property of kind `Kind.LEADS_TO`, the premise is the predicate on the left side.
        quiet: for a property of behaviours, whether it applies only to behaviours with finitely many perturbing steps.
        by_healing: for a property of kind `Kind.RECOVERABLE`, whether healing actions alone must be able to reach a
            state in which the property is true.
        domains: the possible values of each parameter after the states, keyed by its name. A property that has
            parameters is checked for each combination of their values; see `instances`.
        declared: for an instance, the property with parameters from which it was created. Otherwise None.
        arguments: for an instance, the value of each parameter, keyed by its name.
        at_rest: for an invariant, whether it applies only to states at rest; see `Spec.is_at_rest`. Only
            `Spec.complaint` takes this into account.
        initially: a function that takes an initial state, and returns why the spec must not begin there, or an empty
            string; or None. The spec is refused if there is a reason.
        beside: a function that takes a state and the step to it, or None for an initial state, and returns what reports
            show beside the state, keyed by name; or None.
        applies: a function of the bounds, or None. If it returns false, the property is checked only if it is named.
    """

    name: str
    kind: Kind
    sentence: str
    function: Predicate
    source: str
    fails_in: tuple[str, ...] = ()
    premise: Premise | None = None
    quiet: bool = False
    by_healing: bool = False
    domains: Mapping[str, Domain] = attrs.field(factory=dict)
    declared: Property | None = None
    arguments: Mapping[str, object] = attrs.field(factory=dict)
    at_rest: bool = False
    initially: Callable[[Any], str] | None = None
    beside: Callable[[Any, Any], Mapping[str, object]] | None = None
    applies: Callable[[Any], bool] | None = None

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """Return how to pickle the property. The two constants of this module, which engines compare by identity, stay
        themselves in another process.
        """
        constant = {id(DEADLOCK): "DEADLOCK", id(AT_REST): "AT_REST"}.get(id(self))
        return constant or super().__reduce_ex__(protocol)

    def __call__(self, *states: object) -> bool:
        return self.complaint(*states) is None

    def is_named(self, name: str) -> bool:
        """Return whether a name is the name of this property or, for an instance, of the property in `declared`."""
        return name == self.name or (self.declared is not None and name == self.declared.name)

    @functools.cached_property
    def formula(self) -> Formula:
        """What a property of behaviours says. In the formula of a property with a predicate, the property itself is the
        predicate.

        Raises:
            SpecError: for a property of kind `Kind.TEMPORAL`, if the function does not return a formula, or returns one
                that depends on the first step of a behaviour.
        """
        true = Formula("now", predicate=self)
        match self.kind:
            case Kind.EVENTUALLY:
                return sometime(true)
            case Kind.ALWAYS_EVENTUALLY:
                return always(sometime(true))
            case Kind.EVENTUALLY_ALWAYS:
                return sometime(always(true))
            case Kind.LEADS_TO:
                return always(implies(Formula("now", predicate=self.premise), sometime(true)))
        refuse_truth(self.owner, self.written)
        found = guarded(self.owner, self.function)
        if not isinstance(found, Formula):
            raise wrong(self.owner, self.function, FORMULA, found)
        for _, predicate in found.atoms:
            if isinstance(predicate, Property) and (not predicate.kind.is_witness or predicate.domains):
                kind = f"{predicate.kind.value} {predicate.name}"
                raise SpecError(f"{self.owner}: {found} is about the {kind}: write a function, or a witness")
        if found.is_of_steps:
            raise SpecError(f"{self.owner}: {found} is about a single step: write always(...) or eventually(...)")
        return found

    @property
    def can_be_vacuous(self) -> bool:
        """Whether the property has a premise, or is a formula with an `implies` whose left side may never be true."""
        return self.premise is not None or (self.kind is Kind.TEMPORAL and any(premises(self.formula)))

    @property
    def named(self) -> Property:
        """The property as it is checked if a user names it: whatever `applies` returns."""
        return self if self.applies is None else attrs.evolve(self, applies=None)

    @property
    def written(self) -> Predicate:
        """The function that was decorated. For an instance, it differs from `function`, which already contains the
        arguments.
        """
        return self.whole.function

    @property
    def whole(self) -> Property:
        """For an instance, the property with parameters from which it was created. Otherwise, the property itself."""
        return self if self.declared is None else self.declared

    def instances(self, bounds: object) -> list[Property]:
        """Return the property for each combination of parameter values, such as ``in_range(process=2)``.

        Parameters:
            bounds: the bounds of the spec.

        Returns:
            The instances, which have no parameters. If the property has no parameters, the list contains only the
            property.

        Raises:
            SpecError: if the values of a parameter are invalid (see `domain_values`), if there are none, or if two
                instances would have the same name.
        """
        if not self.domains:
            return [self]
        owner = f"{self.kind.value} {self.name}"
        values = []
        for parameter, domain in self.domains.items():
            values.append(domain_values(owner, parameter, domain, bounds))
            if not values[-1]:
                raise SpecError(f"{owner}: the domain of {parameter!r} is empty with these bounds")
        found: dict[str, Property] = {}
        for combination in itertools.product(*values):
            made = self._with(dict(zip(self.domains, combination, strict=True)))
            if made.name in found:
                raise SpecError(f"{owner}: two combinations of parameter values are both written {made.name}")
            found[made.name] = made
        return list(found.values())

    def _with(self, arguments: dict[str, object]) -> Property:
        premise = self.premise
        if premise is not None and not isinstance(premise, Property):
            taken = parameters_of(f"premise {name_of(premise)}", premise, ["state"])[1:]
            premise = functools.partial(premise, **{name: arguments[name] for name in taken}) if taken else premise
        return attrs.evolve(
            self,
            name=with_values(self.name, arguments),
            sentence=self.sentence.format(**arguments),
            function=functools.partial(self.function, **arguments),
            premise=premise,
            domains={},
            declared=self,
            arguments=arguments,
        )

    def complaint(self, *states: object) -> str | None:
        """Return the first reason why the property is false, or None if the property is true.

        Parameters:
            states: a state; for a property of steps, the states before and after a step.

        Returns:
            A sentence, or an empty string if the predicate does not give a reason.

        Raises:
            SpecError: see `complaints`; or if the predicate raised an exception whose class is not derived from
                `Exception`, as ``pytest.fail`` does.
        """
        try:
            return next(self.complaints(*states), None)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise SpecError(f"{self.owner} {raised(error)}") from error

    def complaints(self, *states: object) -> Iterator[str]:
        """Yield the reasons why the property is false: one sentence for each value that violates it.

        Parameters:
            states: a state; for a property of steps, the states before and after a step.

        Yields:
            The reasons. If the predicate does not give a reason, a single empty string. If the property is true,
            nothing.

        Raises:
            SpecError: if the predicate did not give what a property of its kind must; see `leadline.checker.door`.
        """
        outcome = self.function(*states)
        if outcome is not True:
            yield from reasons(self.owner, self.function, self.kind.gives, outcome)

    @functools.cached_property
    def owner(self) -> str:
        """The kind and the name, for messages."""
        return f"{self.kind.value} {self.name}"


def invariant(
    sentence: str,
    /,
    *,
    source: str = "",
    fails_in: tuple[str, ...] = (),
    premise: Premise | None = None,
    at_rest: bool = False,
    applies: Callable[[Any], bool] | None = None,
    **domains: Domain,
) -> Callable[[Predicate], Property]:
    """Return a decorator that turns a predicate of a state into an invariant.

    The predicate returns a bool. It can instead yield a sentence for each value that violates the property. Reports
    show these sentences with the counterexample. The predicate can take parameters after the state, as an action does.
    The property is then checked separately for each value.

    Parameters:
        sentence: a one-sentence description of the property. If the property has parameters, ``{name}`` in it is
            replaced by the value of the parameter with this name.
        source: the source of the property, such as an article, a KIP or a ticket.
        fails_in: the names of specs that are known to violate the property.
        premise: a predicate of a state, or a witness. The property applies only where the premise is true; see
            `Property`.
        at_rest: whether the property applies only to states in which no healing action can change anything; see
            `Spec.is_at_rest`. Such a property has no other premise.
        applies: a function of the bounds. Where it returns false, the property would say nothing, and is checked only
            if it is named.
        domains: for each parameter after the state, its possible values; see `action`.

    Raises:
        SpecError: if an argument is not valid, or if the function does not take exactly a state and the parameters.

    Example:
        >>> @invariant("no counter is above nine")
        ... def small(state):
        ...     return all(counter <= 9 for counter in state)
        >>> small((3, 9)), small((3, 10))
        (True, False)
        >>> @invariant("counter {index} is not above nine", index=range(2))
        ... def each_small(state, index):
        ...     return state[index] <= 9
        >>> each_small((3, 10), 0), each_small((3, 10), 1)
        (True, False)
    """
    if type(at_rest) is not bool:
        raise SpecError(f"at_rest must be True or False, not {at_rest!r}")
    if applies is not None:
        admit("applies", applies, ["bounds"], VERDICT)
    if at_rest and premise is not None:
        raise SpecError("a property at rest cannot have a premise: test it in the predicate")
    decorate = _property(Kind.INVARIANT, sentence, source, fails_in, premise, domains)
    return lambda function: attrs.evolve(decorate(function), at_rest=at_rest, applies=applies)


def step_invariant(
    sentence: str,
    /,
    *,
    source: str = "",
    fails_in: tuple[str, ...] = (),
    premise: Premise | None = None,
    **domains: Domain,
) -> Callable[[Predicate], Property]:
    """Return a decorator that turns a predicate of the states before and after a step into a step invariant.

    A step invariant must be true for every step. The parameters are the same as those of `invariant`.

    Raises:
        SpecError: if an argument is not valid, or if the function does not take exactly two states and the
            parameters.
    """
    return _property(Kind.STEP_INVARIANT, sentence, source, fails_in, premise, domains)


def witness(sentence: str, /, *, source: str = "", **domains: Domain) -> Callable[[Predicate], Property]:
    """Return a decorator that turns a predicate of a state into a witness.

    A witness must be true in at least one reachable state.

    Parameters:
        sentence: a one-sentence description of the property.
        source: the source of the property, such as an article, a KIP or a ticket.

    Raises:
        SpecError: if the sentence is missing, or if the function does not take exactly a state and the parameters.
    """
    return _property(Kind.WITNESS, sentence, source, domains=domains)


def step_witness(sentence: str, /, *, source: str = "", **domains: Domain) -> Callable[[Predicate], Property]:
    """Return a decorator that turns a predicate of the states before and after a step into a step witness.

    A step witness must be true for at least one step.

    Parameters:
        sentence: a one-sentence description of the property.
        source: the source of the property, such as an article, a KIP or a ticket.

    Raises:
        SpecError: if the sentence is missing, or if the function does not take exactly two states and the
            parameters.
    """
    return _property(Kind.STEP_WITNESS, sentence, source, domains=domains)


@overload
def eventually(sentence: Statement, /) -> Formula: ...


@overload
def eventually(
    sentence: str, /, *, source: str = "", quiet: bool = False, **domains: Domain
) -> Callable[[Predicate], Property]: ...


def eventually(
    sentence: str | Statement, /, *, source: str = "", quiet: bool = False, **domains: Domain
) -> Callable[[Predicate], Property] | Formula:
    """Return a decorator that turns a predicate of a state into a liveness property. In every fair behaviour, the
    predicate must be true in at least one state. Given a formula or a predicate instead of a sentence, return the
    formula that it is true now or at a later position; see `leadline.checker.formulas`.

    A behaviour is an infinite sequence of states that begins with an initial state. Each state either leads to the next
    by a step or is equal to it (stuttering). A behaviour is fair if it satisfies the fairness of all actions; see
    `Action.fair`.

    Parameters:
        sentence: a one-sentence description of the property.
        source: the source of the property, such as an article, a KIP or a ticket.
        quiet: whether the property applies only to behaviours with finitely many perturbing steps; see `Action.effect`.

    Raises:
        SpecError: if an argument is not valid, or if the function does not take exactly a state and the parameters.
    """
    if isinstance(sentence, Formula) or callable(sentence):
        return sometime(sentence)
    return _liveness(Kind.EVENTUALLY, sentence, source, domains, quiet=quiet)


def always_eventually(
    sentence: str, /, *, source: str = "", quiet: bool = False, **domains: Domain
) -> Callable[[Predicate], Property]:
    """Return a decorator that turns a predicate of a state into a liveness property. In every fair behaviour, the
    predicate must be true again and again. The parameters are the same as those of `eventually`.
    """
    return _liveness(Kind.ALWAYS_EVENTUALLY, sentence, source, domains, quiet=quiet)


def eventually_always(
    sentence: str, /, *, source: str = "", quiet: bool = False, **domains: Domain
) -> Callable[[Predicate], Property]:
    """Return a decorator that turns a predicate of a state into a liveness property. In every fair behaviour, the
    predicate must be true from some state on. The parameters are the same as those of `eventually`.
    """
    return _liveness(Kind.EVENTUALLY_ALWAYS, sentence, source, domains, quiet=quiet)


def leads_to(
    sentence: str, /, *, after: Premise, source: str = "", quiet: bool = False, **domains: Domain
) -> Callable[[Predicate], Property]:
    """Return a decorator that turns a predicate of a state into a liveness property. In every fair behaviour, if
    `after` is true in a state, the decorated predicate must be true in this state or in a later state.

    Parameters:
        sentence, source, quiet: see `eventually`.
        after: the left side of the property, which is a predicate of a state or a witness. If the left side is never
            true, the property is vacuous.

    Raises:
        SpecError: if an argument is not valid, or if the function does not take exactly a state and the parameters.
    """
    return _liveness(Kind.LEADS_TO, sentence, source, domains, quiet=quiet, premise=after)


def recoverable(
    sentence: str, /, *, source: str = "", by_healing: bool = False, **domains: Domain
) -> Callable[[Predicate], Property]:
    """Return a decorator that turns a predicate of a state into a liveness property. From every reachable state, it
    must be possible to reach a state in which the predicate is true.

    Parameters:
        sentence: a one-sentence description of the property.
        source: the source of the property, such as an article, a KIP or a ticket.
        by_healing: whether steps of healing actions alone must be able to reach such a state; see `Action.effect`.

    Raises:
        SpecError: if an argument is not valid, or if the function does not take exactly a state and the parameters.
    """
    return _liveness(Kind.RECOVERABLE, sentence, source, domains, by_healing=by_healing)


def temporal(
    sentence: str, /, *, source: str = "", quiet: bool = False, **domains: Domain
) -> Callable[[Callable[..., Formula]], Property]:
    """Return a decorator that turns a function that returns a temporal formula into a liveness property. In every fair
    behaviour, the formula must be true. The function takes the parameters of the property, and no state.

    Parameters:
        sentence, source, quiet, domains: see `eventually`.

    Raises:
        SpecError: if an argument is not valid, or if the function does not take exactly the parameters.

    Example:
        >>> from leadline.checker import always, implies
        >>> @temporal("what is chosen stays chosen")
        ... def stays():
        ...     def chosen(state):
        ...         return state > 0
        ...     return always(implies(chosen, always(chosen)))
        >>> str(stays.formula)
        'always(implies(chosen, always(chosen)))'
    """
    decorate = _liveness(Kind.TEMPORAL, sentence, source, domains, quiet=quiet)
    return cast(Callable[[Callable[..., Formula]], Property], decorate)


def _liveness(
    kind: Kind,
    sentence: str,
    source: str,
    domains: Mapping[str, Domain],
    *,
    premise: Premise | None = None,
    quiet: bool = False,
    by_healing: bool = False,
) -> Callable[[Predicate], Property]:
    for name, value in (("quiet", quiet), ("by_healing", by_healing)):
        if type(value) is not bool:
            raise SpecError(f"{name} must be True or False, not {value!r}")
    decorate = _property(kind, sentence, source, (), premise, domains)
    return lambda function: attrs.evolve(decorate(function), quiet=quiet, by_healing=by_healing)


DEADLOCK = Property(
    name="deadlock",
    kind=Kind.DEADLOCK,
    sentence="every state has a next state",
    function=lambda state: True,
    source="",
)
"""The property that ``Spec(check_deadlock=True)`` and ``Spec(final=...)`` add. Engines do not call its function, but
check for next states.
"""

AT_REST = Property(
    name="at rest",
    kind=Kind.PREMISE,
    sentence="no healing action can change the state",
    function=lambda state: True,
    source="",
    at_rest=True,
)
"""The premise of all properties at rest. `Spec.complaint` evaluates it."""


def premise_property(premise: Premise) -> Property:
    """Convert a premise to a property of kind `Kind.PREMISE`."""
    if isinstance(premise, Property):
        return attrs.evolve(premise, kind=Kind.PREMISE)
    if isinstance(premise, functools.partial):
        name = with_values(getattr(premise.func, "__name__", "premise"), premise.keywords)
    else:
        name = getattr(premise, "__name__", "premise")
    return Property(name=name, kind=Kind.PREMISE, sentence="", function=premise, source="")


def _check_premise(premise: object, domains: Mapping[str, Domain]) -> None:
    """Check that a premise is a witness, or a function that takes a state and returns a bool.

    Parameters:
        domains: the domains of the property's parameters, which the function may take after the state.

    Raises:
        SpecError: if the premise is neither of these.
    """
    if isinstance(premise, Property):
        if premise.kind is not Kind.WITNESS:
            raise SpecError(f"a premise must be a predicate of a state, not the {premise.kind.value} {premise.name}")
        if premise.domains:
            raise SpecError(f"a premise must be a predicate of a state, but the witness {premise.name} has parameters")
        return
    if not callable(premise) or type(premise).__hash__ is None:
        raise SpecError(f"a premise must be a function of a state, not {shown(premise)}")
    owner = f"premise {name_of(premise)}"
    admit(owner, premise, (), VERDICT)
    if not set(parameters_of(owner, premise, ["state"])[1:]) <= set(domains):
        hint = f": it may also take {', '.join(domains)}" if domains else ""
        raise wrong_parameters(owner, premise, ["state"], hint)


def _property(
    kind: Kind,
    sentence: str,
    source: str,
    fails_in: tuple[str, ...] = (),
    premise: Premise | None = None,
    domains: Mapping[str, Domain] | None = None,
) -> Callable[[Predicate], Property]:
    a_kind = f"{'an' if kind.value[0] in 'aei' else 'a'} {kind.value}{' property' if kind.is_liveness else ''}"
    decorator = f"@{kind.value.replace(' ', '_')}"
    if not isinstance(sentence, str) or not sentence:
        raise SpecError(f"{a_kind} needs a sentence that describes it, as in {decorator}('...')")

    domains = domains or {}
    if premise is not None:
        _check_premise(premise, domains)
    states = [] if kind is Kind.TEMPORAL else ["before", "after"] if kind.of_steps else ["state"]

    def decorate(function: Predicate) -> Property:
        name = name_of(function)
        owner = f"{kind.value} {name}"
        admit(owner if callable(function) else a_kind, function, (), kind.gives)
        refuse_replaced(owner, function)
        taken, parameters = _split(parameters_of(owner, function, states), len(states))
        if domains:
            for state in taken:
                if state in domains:
                    raise SpecError(f"{owner}: {state!r} has a domain, but it is a state")
            match_domains(owner, parameters, domains, decorator, _TAKEN)
            if drawn := [parameter for parameter, domain in domains.items() if takes_state(domain)]:
                raise SpecError(
                    f"{owner}: the values of {drawn[0]!r} cannot be drawn from the state: use all(...) in the property"
                )
            check_sentence(owner, sentence, parameters)
        elif parameters:
            hint = f": give {parameters[0]} a domain, as in {decorator}('...', {parameters[0]}=...)"
            raise wrong_parameters(owner, function, states, hint)
        in_order = {parameter: domains[parameter] for parameter in parameters}
        return Property(name, kind, sentence, function, source, tuple(fails_in), premise, domains=in_order)

    return decorate


_TAKEN = ("sentence", "source", "fails_in", "premise", "quiet", "after", "by_healing")


def _split(names: list[str], count: int) -> tuple[list[str], list[str]]:
    return names[:count], names[count:]
