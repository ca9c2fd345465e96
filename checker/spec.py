"""Specs: the models that engines search."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Generic, TypeVar

import attrs

from leadline.checker.action import FAIRNESS, Action, ActionInstance, Step, check_fairness
from leadline.checker.bounds import NoBounds, bounds_text, change_bounds, check_relations, describe_bounds
from leadline.checker.canonical import canonical
from leadline.checker.content import in_order
from leadline.checker.door import (
    DISTANCE,
    DRAWN,
    REASONS,
    STATES,
    STEPS,
    VALUES,
    VERDICT,
    admit,
    guarded,
    mapping,
    members,
    name_of,
    number,
    place,
    refuse_dropped,
    shown,
    verdict,
    wrong_state,
)
from leadline.checker.drawing import Drawing, Event, Message, Row
from leadline.checker.errors import SpecError
from leadline.checker.formulas import Atom
from leadline.checker.parameters import Domain, check_domain, takes_state
from leadline.checker.properties import AT_REST, DEADLOCK, Kind, Premise, Property, premise_property
from leadline.checker.state import check_shape, check_state, roles
from leadline.checker.support.escapes import visible
from leadline.checker.support.inspection import is_frozen
from leadline.checker.support.messages import nearest
from leadline.checker.values import Unfit, distinct, same

S = TypeVar("S")
T = TypeVar("T")

MOST_INITIALS = 10_000_000
"""The maximum number of initial states, including equal ones."""

MOST_COMPLAINTS = 100
"""The maximum number of reasons that `Spec.complaints` returns."""


def as_tuple(values: Iterable[object]) -> tuple[object, ...]:
    """Convert an iterable to a tuple. This function is an attrs converter, which allows callers to pass lists.

    Raises:
        SpecError: if the value is not iterable.
    """
    if not isinstance(values, Iterable):
        raise SpecError(f"a list is required, even for one element: write [{name_of(values)}], not {name_of(values)}")
    return tuple(values)


@attrs.frozen(kw_only=True, eq=False)
class Spec(Generic[S]):
    """A model to search: initial states, actions, properties and bounds.

    Attributes:
        name: the name of the spec on the command line: a name from `leadline specs`, or ``path/to/file.py:name``.
        summary: a sentence that says what the spec models.
        note: an explanation of the name. Reports show it below the name. Empty for most specs.
        initial_states: a function of the bounds that returns or yields the initial states, or the result of `product`.
            States that are the same count as one.
        actions: the actions. Their names must be unique.
        properties: the properties to check. Their names must be unique.
        bounds: a frozen attrs value whose fields were declared with `bound`.
        check_deadlock: whether a state without a next state is a violation. True if `final` is given.
        final: a predicate of a state, or None. It is true in states that need no next state, for example because all
            processes have terminated. Such states are not deadlocks.
        within: a predicate of a state that limits the search, like ``CONSTRAINT`` in TLC, or None. If the predicate is
            false for a state, the properties are still checked for the state and for the step to it, but the search
            does not continue from the state. The state does not count as a distinct state and is not a deadlock.
        within_step: a predicate of the states before and after a step that limits the search, like
            ``ACTION_CONSTRAINT`` in TLC, or None. A step for which it is false is not taken, as if each action had this
            guard. But a state with such a step is not a deadlock, and it is open; see `is_open`.
        distance: a function that estimates how far a state is from a violation, or None. It returns a finite number
            that is at least 0. It guides `leadline.checker.stateful.state_machine` and random searches. It never
            changes the result of an exhaustive search.
        drawing: a description of how reports display the states. By default, they display components and fields.
        optional: additional properties, which are checked only if they are named; see `with_properties`.
        rests_on: the names of witnesses in `properties`, on which *holds* rests: the situations that the properties are
            about. If one of them is not reached, the search says nothing about it, and no property holds.
        fairness: the fairness of actions, keyed by name, where it differs from `Action.fair`. An empty string means
            that the action is not fair. A key that is a tuple of names makes a group of actions fair, of which one has
            to be taken, in addition to what each action has (``WF(A or B)`` in TLA+).
        symmetric: the identities that are interchangeable: for each kind, such as ``broker``, an iterable of them or a
            function of the bounds. Only a search with symmetry uses it; see `leadline.checker.symmetry`.
        cut: a predicate of a state, or None. It is true if a step of a healing or fair action is blocked only by a
            bound of the search, which the modelled system does not have. Such a state is open; see `is_open`.
        family: the family to which the spec belongs, or None. Engines ignore it.
        column: what distinguishes the spec from others of its family, for example a release, or None. Engines ignore
            it.

    Raises:
        SpecError: if an attribute is invalid. The message names the attribute.
    """

    name: str
    summary: str = ""
    note: str = ""
    initial_states: Callable[[Any], Iterable[S]]
    actions: Sequence[Action[S, ...]]
    properties: Sequence[Property] = ()
    bounds: Any = attrs.field(factory=NoBounds)
    check_deadlock: bool = False
    final: Callable[[S], bool] | None = None
    within: Callable[[S], bool] | None = None
    within_step: Callable[[S, S], bool] | None = None
    distance: Callable[[S], float] | None = None
    drawing: Drawing[S] | None = None
    optional: Sequence[Property] = ()
    rests_on: Sequence[str] = ()
    fairness: Mapping[Any, str] = attrs.field(factory=dict)
    symmetric: Mapping[str, Domain] = attrs.field(factory=dict)
    cut: Callable[[S], bool] | None = None
    family: Any = None
    column: Any = None
    _drops_nothing: bool = attrs.field(default=False, init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        for name in ("actions", "properties", "optional", "rests_on"):  # pyright would ignore converters
            object.__setattr__(self, name, as_tuple(getattr(self, name)))
        admit(f"spec {self.name}: initial_states", self.initial_states, ["bounds"], STATES)
        for name in ("final", "within", "distance", "cut"):
            if (function := getattr(self, name)) is not None:
                gives = DISTANCE if name == "distance" else VERDICT
                admit(f"spec {self.name}: {name}", function, ["state"], gives)
        if self.within_step is not None:
            admit(f"spec {self.name}: within_step", self.within_step, ["before", "after"], VERDICT)
        if self.final is not None:
            object.__setattr__(self, "check_deadlock", True)
        if not self.actions:
            raise SpecError(f"spec {self.name} has no actions")
        for action in self.actions:
            if isinstance(action, Property):
                raise SpecError(f"spec {self.name}: {action.name} is a property: name it in properties, not in actions")
            if not isinstance(action, Action):
                raise SpecError(f"spec {self.name}: {name_of(action)} is not an action: decorate it with @action(...)")
        for item in (*self.properties, *self.optional):
            if isinstance(item, Action):
                raise SpecError(f"spec {self.name}: {item.name} is an action: name it in actions, not in properties")
            if isinstance(item, list | tuple):
                raise SpecError(f"spec {self.name}: properties contains a list: write *refines(...), with a star")
            if not isinstance(item, Property):
                raise SpecError(
                    f"spec {self.name}: {name_of(item)} is not a property: decorate it with @invariant(...)"
                )
        for kind, names in (
            ("actions", [action.name for action in self.actions]),
            ("properties", [item.name for item in (*self.properties, *self._deadlock, *self.optional)]),
        ):
            if len(set(names)) < len(names):
                raise SpecError(f"spec {self.name}: two {kind} are named {max(names, key=names.count)!r}")
        self._check_fairness()
        witnesses = [item.name for item in self.properties if item.kind.is_witness]
        for name in self.rests_on:
            if name not in witnesses:
                raise SpecError(f"{self.name} has no witness {name!r}{nearest(name, witnesses)}")
        for item in (*self.properties, *self.optional):
            if item.at_rest and not any(action.effect == "healing" for action in self.actions):
                raise SpecError(
                    f"spec {self.name}: {item.name} is about states at rest, but no action is declared with "
                    'effect="healing"'
                )
        if not isinstance(self.drawing, Drawing | None):
            raise SpecError(f"spec {self.name}: drawing must be a Drawing, not {name_of(self.drawing)}")
        if not is_frozen(type(self.bounds)):
            raise SpecError(
                f"spec {self.name}: bounds must be an instance of a frozen attrs class, not {shown(self.bounds)}"
                f"{f': write {self.bounds.__name__}()' if isinstance(self.bounds, type) else ''}"
            )
        for name, value, *_ in describe_bounds(self.bounds):
            if type(value) not in (int, bool, str):
                raise SpecError(f"spec {self.name}: bound {name} must be an int, a bool or a str, not {value!r}")
        check_relations(self.bounds)
        self._check_symmetric()

    def _check_symmetric(self) -> None:
        if not isinstance(self.symmetric, Mapping):
            raise SpecError(f'spec {self.name}: symmetric must map kinds to values, as in {{"broker": brokers}}')
        for kind, domain in self.symmetric.items():
            check_domain(f"spec {self.name}: symmetric[{kind!r}]", domain)
            if takes_state(domain):
                raise SpecError(f"spec {self.name}: symmetric[{kind!r}] must be a function of the bounds")

    def _refuse_dropped(self) -> None:
        """Check that no function drops what a generator function returns. This is done when the initial states are
        asked for, as every search does: a helper may be defined below the spec, and most copies are never searched.
        """
        if self._drops_nothing:
            return
        refuse_dropped(f"spec {self.name}: initial_states", self.initial_states, STATES)
        for action in self.actions:
            refuse_dropped(f"action {action.name}", action.function, STEPS)
            for domain in filter(callable, (*action.domains.values(), *action.drawn.values())):
                refuse_dropped(f"action {action.name}: a domain", domain, VALUES)
        for item in (*self.properties, *self.optional):
            refuse_dropped(item.owner, item.function, REASONS)
        object.__setattr__(self, "_drops_nothing", True)

    def _check_fairness(self) -> None:
        if not isinstance(self.fairness, Mapping):
            raise SpecError(f"spec {self.name}: fairness must map names of actions to values in {tuple(FAIRNESS)}")
        known = {action.name: action for action in self.actions}
        for names, fair in self.fairness.items():
            group = names if isinstance(names, tuple) else (names,)
            for name in group:
                if name not in known:
                    unknown = f"fairness names an unknown action {shown(name)}{nearest(str(name), known)}"
                    raise SpecError(f"spec {self.name}: {unknown}")
                check_fairness(name, [*known[name].domains, *known[name].drawn], fair, known[name].effect)
            if isinstance(names, tuple):
                self._check_group(names, fair)

    def _check_group(self, names: tuple[str, ...], fair: str) -> None:
        owner = f"spec {self.name}: fairness of the group {', '.join(names)}"
        if len(set(names)) < len(names) or len(names) < 2:
            raise SpecError(f"{owner}: a group must consist of two or more different actions")
        if not fair or fair.endswith(" each"):
            raise SpecError(
                f"{owner} must be 'weak', 'strong', or one of them with parameters, as in 'weak each client'"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out the family and the column, which engines do not need, and which need not be picklable."""
        names = [each.name for each in attrs.fields(type(self)) if each.init and each.name not in ("family", "column")]
        return functools.partial(type(self), **{name: getattr(self, name) for name in names}), ()

    def fair(self, action: Action[S, ...]) -> str:
        """Return the fairness of an action; see `leadline.checker.action.FAIRNESS`."""
        return self.fairness.get(action.name, action.fair)

    @property
    def fair_groups(self) -> list[tuple[tuple[str, ...], str]]:
        """The groups of actions in `fairness`: the names of the actions, and the fairness of the group."""
        return [(names, fair) for names, fair in self.fairness.items() if isinstance(names, tuple)]

    @property
    def checks(self) -> tuple[Property, ...]:
        """The properties, followed by `DEADLOCK` if `check_deadlock` is set. A property with parameters is replaced by
        its instances.

        Raises:
            SpecError: if the values of a parameter are invalid; see `Property.instances`.
        """
        return (*self._properties, *self._deadlock)

    @property
    def all_checks(self) -> tuple[Property, ...]:
        """The properties in `checks`, followed by the instances of the properties in `optional`."""
        return (*self.checks, *self._instances_of(self.optional))

    @property
    def _deadlock(self) -> tuple[Property, ...]:
        return (DEADLOCK,) if self.check_deadlock else ()

    @functools.cached_property
    def _properties(self) -> tuple[Property, ...]:
        return self._instances_of(item for item in self.properties if self._applies(item))

    def _applies(self, item: Property) -> bool:
        if item.applies is None:
            return True
        owner, asked = f"{item.owner}: applies", item.applies
        return verdict(owner, asked, guarded(owner, lambda: asked(self.bounds)))

    def _instances_of(self, properties: Iterable[Property]) -> tuple[Property, ...]:
        return tuple(instance for item in properties for instance in item.instances(self.bounds))

    @functools.cached_property
    def _premises(self) -> dict[Premise, Property]:
        """A dict that maps each distinct premise to a property of kind `Kind.PREMISE`."""
        given = dict.fromkeys(item.premise for item in self._properties if item.premise is not None)
        return {premise: premise_property(premise) for premise in given}

    @property
    def premises(self) -> tuple[Property, ...]:
        """The distinct premises, as properties of kind `Kind.PREMISE`."""
        at_rest = [AT_REST] if any(item.at_rest for item in self.properties) else []
        return (*self._premises.values(), *at_rest)

    def premise_of(self, item: Property) -> Property | None:
        """Return the premise of `item` as a property of kind `Kind.PREMISE`, or None if `item` has no premise."""
        if item.premise is None:
            return AT_REST if item.at_rest else None
        return self._premises.get(item.premise) or premise_property(item.premise)  # one of `optional` has no entry

    @property
    def liveness(self) -> tuple[Property, ...]:
        """The liveness properties, which are checked after a search; see `Kind.is_liveness`."""
        return tuple(item for item in self._properties if item.kind.is_liveness)

    @functools.cached_property
    def _conditions(self) -> dict[Atom, Property]:
        """The predicates in the formulas of the properties, each once. If several have one name, it is numbered."""
        atoms = dict.fromkeys(
            atom for item in self._properties if item.kind is Kind.TEMPORAL for atom in item.formula.atoms
        )
        found: dict[Atom, Property] = {}
        for atom in atoms:
            function, names = atom[1], [each.name for each in found.values()]
            known = (f"{name_of(function)}{f' {number}' if number > 1 else ''}" for number in itertools.count(1))
            found[atom] = _condition(atom, next(name for name in known if name not in names))
        return found

    def condition(self, atom: Atom) -> Property:
        """Return a predicate in a formula as a property: in the formula of a decorated predicate, the property itself,
        and its premise; otherwise one of kind `Kind.CONDITION` or `Kind.STEP_CONDITION`.
        """
        of, predicate = atom
        if isinstance(predicate, Property) and predicate.kind.is_liveness:
            return predicate
        known = self._conditions.get(atom) or (self._premises.get(predicate) if of == "now" else None)
        return known or _condition(atom, name_of(predicate))  # one of `optional` has no entry

    @functools.cached_property
    def opening(self) -> Property | None:
        """The predicate of states that are open although `within` is true, as a property of kind `Kind.CUT`, or None if
        there is no such predicate.
        """
        return _of_predicate(self._or_leaves_out(self.cut, loops=False), "cut", Kind.CUT)

    def is_open(self, state: S) -> bool:
        """Return whether the search may miss steps from a state: `within` is false, `cut` is true, or `within_step` is
        false for a step.

        An open state is never used as evidence that a liveness property is violated: it is not part of the loop of a
        counterexample, and a state from which it can be reached counts as recoverable.

        Raises:
            SpecError: if `within` or `cut` raised an exception or did not return a bool.
        """
        return not self.is_within(state) or (self.opening is not None and self.complaint(self.opening, state) is None)

    @property
    def limits(self) -> dict[str, Callable[..., bool]]:
        """The predicates that say where the search ends, keyed by the names of those attributes that are not None."""
        found = {"within": self.within, "within_step": self.within_step, "cut": self.cut, "final": self.final}
        return {name: each for name, each in found.items() if each is not None}

    @functools.cached_property
    def ending(self) -> Property | None:
        """The predicate of states that need no next state, as a property of kind `Kind.FINAL`, or None if there is no
        such predicate.
        """
        return _of_predicate(
            self._or_leaves_out(self.final, loops=True) if self.check_deadlock else None, "final", Kind.FINAL
        )

    def _or_leaves_out(self, predicate: Callable[[S], bool] | None, *, loops: bool) -> Callable[[S], bool] | None:
        """Return a predicate that is true where another one is, or where `within_step` is false for a step; for the
        parameters, see `LeavesOut`.
        """
        if self.within_step is None:
            return predicate
        return LeavesOut(predicate, self._all_instances, self._allows, self.within, loops)

    def is_final(self, state: S) -> bool:
        """Return whether a state needs no next state: `final` is true, or `within_step` is false for a step from it.

        Raises:
            SpecError: if `final` raised an exception or did not return a bool.
        """
        return self.ending is not None and self.complaint(self.ending, state) is None

    @functools.cached_property
    def healing(self) -> tuple[ActionInstance[S], ...]:
        """The instances of the healing actions; see `Action.effect`."""
        return tuple(instance for instance in self.instances if instance.action.effect == "healing")

    def is_at_rest(self, state: S, differ: Callable[[S, S], bool] = operator.ne) -> bool:
        """Return whether a state is at rest: no step of a healing action changes it, and it is not open.

        In such a state, no healing action can repair anything, so whatever is wrong stays wrong until another action is
        taken. In an open state, the search may miss steps; see `is_open`.

        Parameters:
            differ: a function that returns whether two states differ. Engines pass a function that reads fewer parts of
                the states.

        Raises:
            SpecError: if an action, `within` or `cut` raised an exception, or returned something invalid.
        """

        def changes(instance: ActionInstance[S]) -> bool:
            return any(differ(after, state) for after in instance.successors(state))

        if any(guarded(f"action {each}", functools.partial(changes, each)) for each in self.healing):
            return False
        return not self.is_open(state)

    @functools.cached_property
    def constraint(self) -> Property | None:
        """The predicate `within` as a property of kind `Kind.WITHIN`, or None if there is no such predicate."""
        return _of_predicate(self.within, "within", Kind.WITHIN)

    def is_within(self, state: S) -> bool:
        """Return whether `within` is true for a state. Return True if the spec does not have this predicate.

        Raises:
            SpecError: if `within` raised an exception or did not return a bool.
        """
        return self.constraint is None or self.complaint(self.constraint, state) is None

    def distance_of(self, state: S) -> float:
        """Return the result of `distance` for a state. The spec must define this function.

        Raises:
            SpecError: if `distance` raised an exception, or returned something other than a finite number that is at
                least 0.
        """
        assert self.distance is not None
        function = self.distance
        return number("distance", function, guarded("distance", lambda: function(state)))

    @property
    def named_bounds(self) -> str:
        """The bounds in the form that the option ``-b`` accepts, or ``no bounds``."""
        return bounds_text(attrs.asdict(self.bounds)) or "no bounds"

    @functools.cached_property
    def instances(self) -> tuple[ActionInstance[S], ...]:
        """The instances of all actions, one for each combination of parameter values, in the order of the spec. They
        take the steps that `within_step` allows.

        Raises:
            SpecError: if the values of a parameter are invalid, or if there are no instances at all.
        """
        if self.within_step is None:
            return self._all_instances
        return tuple(attrs.evolve(each, allows=self._allows) for each in self._all_instances)

    def _allows(self, before: S, after: S) -> bool:
        """Return whether a step is taken."""
        owner, asked = f"spec {self.name}: within_step", self.within_step
        assert asked is not None
        return verdict(owner, asked, guarded(owner, lambda: asked(before, after)))

    @functools.cached_property
    def _all_instances(self) -> tuple[ActionInstance[S], ...]:
        found = tuple(instance for action in self.actions for instance in action.instances(self.bounds))
        if not found:
            names = ", ".join(action.name for action in self.actions)
            raise SpecError(
                f"no action can be taken: with {self.named_bounds}, "
                f"every action has a parameter whose domain is empty: {names}"
            )
        return found

    def with_bounds(self, changes: Mapping[str, object]) -> Spec[S]:
        """Return a copy of the spec with some bounds changed.

        Parameters:
            changes: the new values, keyed by the name of the bound.

        Raises:
            SpecError: if a name in `changes` is not the name of a bound, or if a value is not allowed.
        """
        return self._with_same_functions(attrs.evolve(self, bounds=change_bounds(self.bounds, changes)))

    def with_properties(self, names: Iterable[str]) -> Spec[S]:
        """Return a copy of the spec that is restricted to the given properties. Optional witnesses stay optional.

        Parameters:
            names: the names of the properties to keep. The name of a property with parameters stands for all its
                instances; a name such as ``in_range(process=2)`` stands for one instance.

        Raises:
            SpecError: if the spec has no property with one of the given names.
        """
        wanted = list(dict.fromkeys(names))
        declared = (*self.properties, *self._deadlock, *self.optional)
        if all(any(name == item.name for item in declared) for name in wanted):
            chosen = [item for item in declared if item.name in wanted]
        else:
            others = self._instances_of(item for item in self.properties if not self._applies(item))
            known = list(dict.fromkeys((*declared, *self.all_checks, *others)))
            names_known = [item.name for item in known]
            for name in wanted:
                if name not in names_known:
                    raise SpecError(f"{self.name} has no property {name!r}{nearest(name, names_known)}")
            chosen = [item for item in known if item.name in wanted]
            chosen = [item for item in chosen if item.declared not in chosen]
        restricted = attrs.evolve(
            self,
            properties=[item.named for item in chosen if item is not DEADLOCK],
            optional=[item for item in self.optional if item.kind.is_witness and item not in chosen],
            rests_on=[name for name in self.rests_on if name in wanted],
            check_deadlock=DEADLOCK in chosen,
            final=self.final if DEADLOCK in chosen else None,
        )
        return self._with_same_functions(restricted)

    def _with_same_functions(self, other: Spec[S]) -> Spec[S]:
        """Return a spec that has no other functions than this one. What these drop is not looked for again."""
        object.__setattr__(other, "_drops_nothing", self._drops_nothing)
        return other

    def resting_on(self, names: Iterable[str], wanted: Iterable[str] | None = None) -> Spec[S]:
        """Return a copy of the spec in which *holds* rests on witnesses.

        Parameters:
            names: the names of the witnesses, which may be optional.
            wanted: the names of the properties to check besides; see `with_properties`. By default, all of
                `properties`.

        Raises:
            SpecError: if the spec has no property or witness with one of the given names.
        """
        found = list(names)
        every = [item.name for item in (*self.properties, *self._deadlock) if self._applies(item)]
        own = every if wanted is None else list(wanted)
        chosen = self if not found and wanted is None else self.with_properties([*own, *found])
        return attrs.evolve(chosen, rests_on=list(dict.fromkeys(found)))

    @property
    def checks_and_premises(self) -> tuple[Property, ...]:
        """All properties that a search checks: `checks`, followed by `premises`."""
        return (*self.checks, *self.premises)

    def checks_of(self, *kinds: Kind) -> tuple[Property, ...]:
        """Return the properties of the given kinds.

        Returns:
            The properties of these kinds in `checks` and `premises`, the predicates in formulas, `opening`, `ending`
            and `constraint`, in this order.
        """
        constraint = () if self.constraint is None else (self.constraint,)
        opening = () if self.opening is None or not self.liveness else (self.opening,)
        ending = () if self.ending is None else (self.ending,)
        every = (*self.checks_and_premises, *self._conditions.values(), *opening, *ending, *constraint)
        return tuple(item for item in every if item.kind in kinds)

    def initials(self) -> list[S]:
        """Return the distinct initial states, in the order in which `initial_states` returns them.

        Raises:
            SpecError: if there are no initial states, if there are more than `MOST_INITIALS`, if one of them is not a
                valid state, or if `within` is false in all of them.
        """
        return list(self._initials)

    @functools.cached_property
    def _initials(self) -> tuple[S, ...]:
        self._refuse_dropped()
        owner = f"spec {self.name}: initial_states"
        returned = guarded("initial_states", lambda: self.initial_states(self.bounds))
        first_ones = itertools.islice(members(owner, self.initial_states, STATES, returned), MOST_INITIALS + 1)
        states = guarded("initial_states", lambda: [state for state in first_ones])  # noqa: C416  # see `domain_values`
        if len(states) > MOST_INITIALS:
            raise SpecError(
                f"spec {self.name}: initial_states returns more than {MOST_INITIALS:,} states "
                f"with {self.named_bounds}: return fewer, or let the first action choose"
            )
        if not states:
            raise SpecError(f"spec {self.name} has no initial state with {self.named_bounds}")
        first = states[0]
        check_state(first, first)
        for state in states:
            if type(state) is not type(first) or not _hashable(state):
                check_state(state, first)  # it raises an error that names the field
            check_shape(state, first)
        found = [self._canonical(state, first) for state in distinct(states, type(first).__name__)]
        if not any(map(self.is_within, found)):
            raise SpecError(
                f"spec {self.name}: within is false in every initial state with {self.named_bounds}, so nothing would "
                f"be searched{place(self.within)}"
            )
        self._refuse_other_bounds(first)
        for item, state in itertools.product(self.properties, found):
            asked = item.initially
            if asked is not None and (why := guarded(item.owner, functools.partial(asked, state))):
                raise SpecError(f"spec {self.name}: {item.name}: the initial state {visible(str(state))}: {why}")
        return tuple(in_order(found) if isinstance(returned, Set) else found)  # a set has no order

    def _refuse_other_bounds(self, state: S) -> None:
        """Check that an initial state does not hold other bounds than the spec's, such as the default of a field: an
        option ``-b`` would then change nothing.
        """
        waiting: list[tuple[str, object]] = [(type(state).__name__, state)]
        while waiting:
            path, value = waiting.pop()
            kind: Any = type(value)  # mypy does not take `type[object]` for hashable
            if kind is type(self.bounds) and value != self.bounds:
                other = attrs.evolve(self, bounds=value).named_bounds
                raise SpecError(
                    f"spec {self.name}: {path} of an initial state has {other}, but the bounds are "
                    f"{self.named_bounds}: pass the bounds that initial_states is given, as in "
                    f"{path.rpartition('.')[2]}=bounds{place(self.initial_states)}"
                )
            if attrs.has(kind):
                waiting += [(f"{path}.{name}", getattr(value, name)) for name, *_ in roles(kind)]
            elif isinstance(value, tuple):
                waiting += [(f"{path}[{index}]", each) for index, each in enumerate(value)]

    def take(self, instance: ActionInstance[S], state: S) -> list[S]:
        """Return the next states to which one action instance leads from a state. For the details, see `steps`."""
        return [successor for _, successor in self.steps(instance, state)]

    def steps(self, instance: ActionInstance[S], state: S) -> list[tuple[ActionInstance[S], S]]:
        """Return the steps that one action instance takes from a state.

        Returns:
            For each step, the action instance with the values that are drawn from the state, and the next state in
            canonical form (see `canonical`). Empty if the action is not enabled in the state.

        Raises:
            SpecError: if the action raised an exception, or yielded something that is not a valid state.
        """
        steps = guarded(f"action {instance}", lambda: list(instance.steps(state)))
        if not steps:
            return steps
        for _, successor in steps:
            if type(successor) is not type(state):
                raise wrong_state(f"action {instance}", instance.action.function, type(state), successor)
            try:
                check_shape(successor, state)
                if not _hashable(successor):
                    check_state(successor, state)  # it raises an error that names the field
            except SpecError as error:
                raise SpecError(f"action {instance}: {error}") from error
            except RecursionError as error:
                raise SpecError(f"action {instance} yields a state that is nested too deeply to be hashed") from error
        try:
            if instance.action.drawn:  # equal sets have the same text in canonical form
                steps = [(attrs.evolve(taken, drawn=canonical(taken.drawn)), successor) for taken, successor in steps]
            return [(taken, self._canonical(successor, state)) for taken, successor in steps]
        except SpecError as error:
            raise SpecError(f"action {instance}: {error}") from error

    @staticmethod
    def _canonical(state: S, before: S) -> S:
        try:
            return canonical(state, before)
        except Unfit:
            check_state(state, before)  # it raises an error that names the field
            raise

    def taken(self, instance: ActionInstance[S], before: S, after: S) -> ActionInstance[S]:
        """Return an action instance with the values that a step draws from the state. If it leads from one state to the
        other with several values, choose the first ones in an order that is the same in every process. If it does not
        lead there, return the given instance.

        Raises:
            SpecError: see `steps`.
        """
        if not instance.action.drawn or instance.drawn is not None:
            return instance
        taken = (each for each, successor in self.steps(instance, before) if successor == after)
        return min(taken, key=lambda each: each.rank, default=instance)

    def successors(self, state: S) -> Iterator[tuple[ActionInstance[S], S]]:
        """Yield an (action instance, next state) pair for every step from a state.

        Yields:
            The pairs. The instances contain the values that are drawn from the state. If `within` is false for the
            state, there are no pairs.

        Raises:
            SpecError: see `steps` and `is_within`.
        """
        if self.is_within(state):
            for instance in self.instances:
                yield from self.steps(instance, state)

    def complaint(self, item: Property, *states: S, differ: Callable[[S, S], bool] = operator.ne) -> str | None:
        """Return the first reason why a property is false, or None if the property is true; see `Property.complaint`.

        A property at rest counts as true in a state that is not at rest.

        Parameters:
            item: the property.
            states: a state; for a property of steps, the states before and after a step.
            differ: see `is_at_rest`.

        Raises:
            SpecError: if the predicate raised an exception or returned a value of the wrong type.
        """
        if item == AT_REST:
            return None if self.is_at_rest(states[0], differ) else ""
        found = guarded(item.owner, lambda: item.complaint(*states))
        applies = found is None or not item.at_rest or self.is_at_rest(states[0], differ)
        return found if applies else None

    def complaints(self, item: Property, *states: S) -> list[str]:
        """Return the reasons why a property is false; see `Property.complaints`.

        Parameters:
            item: the property.
            states: a state; for a property of steps, the states before and after a step.

        Returns:
            At most `MOST_COMPLAINTS` reasons. Empty if the property is true.

        Raises:
            SpecError: if the predicate raised an exception or returned a value of the wrong type.
        """
        if item.at_rest and self.complaint(item, *states) is None:
            return []
        return guarded(
            f"{item.kind.value} {item.name}",
            lambda: list(itertools.islice(item.complaints(*states), MOST_COMPLAINTS)),
        )

    def rows(self, state: S) -> dict[str, Row]:
        """Return the rows that display a state, keyed by name. If the spec does not draw them, there are none.

        Raises:
            SpecError: if the drawing raised an exception, or returned a value of the wrong type.
        """
        if self.drawing is None:
            return {}
        owner, function = "the drawing's rows", self.drawing.rows
        found = guarded(owner, lambda: mapping(owner, function, function(state), Row))
        return {visible(name): row for name, row in found.items()}

    def along(self, start: S, steps: Sequence[Step[S]], about: Property | None = None) -> list[dict[str, object]]:
        """Return the values that the drawing and a property show along a behaviour, keyed by name: for each state, a
        dict.

        Raises:
            SpecError: if a function of the drawing or the property raised an exception.
        """
        values = [dict[str, object]() for _ in range(len(steps) + 1)]
        if about is not None and (beside := about.beside) is not None:
            reached = [(start, None), *((step.after, step) for step in steps)]
            values = [dict(guarded(about.owner, functools.partial(beside, *each))) for each in reached]
        for name, along in (self.drawing.along if self.drawing is not None else {}).items():
            owner = f"{name} along the trace"
            value = values[0][name] = guarded(owner, functools.partial(along.start, start))
            for after, step in zip(values[1:], steps, strict=True):
                value = after[name] = guarded(owner, functools.partial(along.update, value, step))
        return values

    def messages(self, state: S) -> list[Message]:
        """Return the messages that are in flight in a state. If the spec has no drawing, there are none.

        Raises:
            SpecError: if the drawing raised an exception, or returned a value of the wrong type.
        """
        return [] if self.drawing is None else self._drawn("messages", self.drawing.messages, state, Message)

    def arrivals(self, step: Step[S]) -> list[Message]:
        """Return the messages that arrive in a step. If the spec has no drawing, there are none.

        Raises:
            SpecError: if the drawing raised an exception, or returned a value of the wrong type.
        """
        return [] if self.drawing is None else self._drawn("arrivals", self.drawing.arrivals, step, Message)

    def events(self, steps: Sequence[Step[S]]) -> list[Event]:
        """Return the events that decided the outcome of a behaviour. If the spec has no drawing, there are none.

        Parameters:
            steps: the steps of the behaviour.

        Returns:
            The events in the order of the steps.

        Raises:
            SpecError: if the drawing raised an exception, or returned a value of the wrong type, or if an event refers
                to a state that is not in the behaviour.
        """
        if self.drawing is None:
            return []
        events = self._drawn("events", self.drawing.events, steps, Event)
        for event in events:
            if not 0 <= event.state <= len(steps):
                raise SpecError(
                    f"the drawing's events refer to state {event.state}, but the behaviour ends at state {len(steps)}"
                )
        return sorted(events, key=lambda event: event.state)

    def _drawn(self, what: str, function: Callable[[Any], Iterable[T]], given: object, kind: type[T]) -> list[T]:
        owner = f"the drawing's {what}"
        return guarded(owner, lambda: [*members(owner, function, DRAWN, function(given), kind)])


@attrs.frozen(eq=False)
class LeavesOut(Generic[S]):
    """A predicate of a state: whether another predicate is true, or the constraint of steps is false for a step.

    Attributes:
        predicate: the other predicate, or None.
        instances: the instances of all actions.
        allows: the constraint.
        within: the predicate that limits the search, or None. No step of a state outside is taken.
        loops: whether steps that do not change the state count. No property of behaviours depends on them.
    """

    predicate: Callable[[S], bool] | None
    instances: tuple[ActionInstance[S], ...]
    allows: Callable[[S, S], bool]
    within: Callable[[S], bool] | None
    loops: bool

    def __call__(self, state: S) -> bool:
        if self.predicate is not None and (found := self.predicate(state)) is not False:
            return found  # also what is no bool, and is refused
        if self.within is not None and not self.within(state):
            return False
        for instance in self.instances:
            for after in instance.successors(state):
                if not self.allows(state, after) and (self.loops or not same(after, state)):
                    return True
        return False


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except (TypeError, AttributeError):  # a field that has no value is an AttributeError
        return False
    return True


def _condition(atom: Atom, name: str) -> Property:
    """Return a predicate in a formula as a property."""
    return Property(name, Kind.STEP_CONDITION if atom[0] == "step" else Kind.CONDITION, "", atom[1], "")


def _of_predicate(predicate: Callable[..., bool] | None, name: str, kind: Kind) -> Property | None:
    """Convert a predicate of a spec to a property. `name` is used if the predicate has no name of its own."""
    if predicate is None:
        return None
    return Property(name=getattr(predicate, "__name__", name), kind=kind, sentence="", function=predicate, source="")
