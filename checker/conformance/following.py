"""Defines what a recorder sees of each action of a spec, and checks recordings against the spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import attrs

from leadline.checker.action import Action, ActionInstance, Step
from leadline.checker.conformance.follow import follow
from leadline.checker.conformance.observation import HiddenStep, Observation
from leadline.checker.conformance.result import Conformance
from leadline.checker.conformance.why import why_not
from leadline.checker.errors import SpecError
from leadline.checker.spec import Spec
from leadline.checker.state import without_history

S = TypeVar("S")


@attrs.frozen(eq=False, kw_only=True)
class Visible(Generic[S]):
    """A description of what a recorder sees of an action.

    Attributes:
        shows: a function that returns what a recorder sees of a step. The result is compared with the recorded value.
            The function's arguments are the states before and after the step and the values of the action's parameters.
            None if the action is hidden, so that its steps are not recorded.
        touches: a function that takes the values of the parameters, and returns the names of the components that a step
            reads or writes. None if a step may read or write any component. See `Observation.touches`.
    """

    shows: Callable[..., object] | None
    touches: Callable[..., Iterable[str]] | None = None

    def touched(self, values: Iterable[object]) -> frozenset[str] | None:
        """Return the components that an instance of the action reads or writes, or None for all components."""
        return None if self.touches is None else frozenset(self.touches(*values))


HIDDEN: Visible[Any] = Visible(shows=None)
"""A hidden action that may read or write any component."""


def _all_instances(action: Action[S, ...], spec: Spec[S], state: S) -> Iterable[tuple[Any, ...]]:
    return (instance.values for instance in action.instances(spec.bounds))


@attrs.frozen(eq=False, kw_only=True)
class Following(Generic[S]):
    """A spec, and what a recorder sees of its actions.

    Attributes:
        spec: the spec. Its properties are not used.
        visible: what a recorder sees of each action, keyed by action name.
        instances: a function that returns the parameter values for which an action may be enabled in a state. By
            default, all values within the bounds of the spec are used.

    Raises:
        SpecError: if the keys of `visible` are not exactly the names of the spec's actions.
    """

    spec: Spec[S]
    visible: Mapping[str, Visible[S]]
    instances: Callable[[Action[S, ...], Spec[S], S], Iterable[tuple[Any, ...]]] = _all_instances

    def __attrs_post_init__(self) -> None:
        names = {action.name for action in self.spec.actions}
        for name in sorted(names ^ set(self.visible)):
            what = "does not say what is visible of the action" if name in names else "has no action"
            raise SpecError(f"spec {self.spec.name} {what} {name!r}")

    def hidden(self, state: S) -> Iterator[HiddenStep[S]]:
        """Yield the hidden steps from a state."""
        for action in self.spec.actions:
            visible = self.visible[action.name]
            if visible.shows is None:
                for values in self.instances(action, self.spec, state):
                    instance = ActionInstance(action, values)
                    for after in instance.successors(state):
                        yield HiddenStep(
                            instance.sentence or str(instance), action.name, after, visible.touched(values)
                        )

    def seen(self, step: Step[S]) -> object | None:
        """Return what a recorder sees of a step, or None if its action is hidden."""
        shows = self.visible[step.action].shows
        return None if shows is None else shows(step.before, step.after, *step.instance.values)

    def observation(
        self,
        instance: ActionInstance[S],
        seen: object,
        earliest: float,
        latest: float,
        *,
        optional: bool = False,
        source: object = None,
    ) -> Observation[S]:
        """Return the observation of a step.

        Parameters:
            seen: what the recorder saw of the step; see `Visible.shows`.
            earliest, latest, optional, source: see `Observation`.

        Raises:
            SpecError: if the action is hidden.
        """
        visible = self.visible[instance.action.name]
        shows = visible.shows
        if shows is None:
            raise SpecError(f"{instance.action.name} is hidden: it cannot be observed")

        def apply(state: S) -> Iterator[S]:
            for after in instance.successors(state):
                if shows(state, after, *instance.values) == seen:
                    yield after

        def why(state: S) -> str:
            others = [str(shows(state, after, *instance.values)) for after in instance.successors(state)]
            if others:
                return f"{instance} would show {' or '.join(dict.fromkeys(others))}"
            return f"{instance} is not possible: {why_not(instance, state)}"

        return Observation(
            earliest=earliest,
            latest=latest,
            label=f"{instance.sentence or instance}: {seen}",
            apply=apply,
            why=why,
            touches=visible.touched(instance.values),
            optional=optional,
            source=source,
            exercises=(instance.action.name,),
        )

    def follow(
        self, observations: Iterable[Observation[S]], *, initials: Iterable[S] | None = None, **options: Any
    ) -> Conformance[S]:
        """Determine whether the observations are a behaviour of the spec, and return the result.

        Parameters:
            observations: the observations in the order of `Observation.earliest`.
            initials: the states in which the recording can begin. By default, the initial states of the spec.
            options: the other arguments of `leadline.checker.conformance.follow.follow`.
        """
        touched: list[frozenset[str] | None] = []
        for action in self.spec.actions:
            visible = self.visible[action.name]
            if visible.shows is None and visible.touches is None:
                touched.append(None)
            elif visible.shows is None:
                touched += [visible.touched(instance.values) for instance in action.instances(self.spec.bounds)]
        return follow(
            self.spec.initials() if initials is None else initials,
            observations,
            self.hidden,
            forget=without_history,
            touched_by_hidden=touched,
            **options,
        )
