"""Checks liveness properties on a graph of states, in plain Python that is simple enough to be obviously correct.

A property of behaviours is violated if some fair behaviour violates it. In a finite graph, every behaviour eventually
stays in the set of states that it visits infinitely often. This set is strongly connected, because the behaviour
reaches each of its states from every other state again and again. A single state is also such a set, because a
behaviour may stop there. Conversely, in every strongly connected set, some behaviour visits all states and takes all
steps infinitely often. Therefore a property is violated if there is a strongly connected set of states that

- lies in the *region*, the states in which the violation continues (for ``always_eventually(P)``, states without P),
- contains a state in which the violation recurs, if this is required (for ``eventually_always(P)``, a state without P),
- satisfies each fairness condition, and
- can be reached from an initial state on a path on which the violation begins (for ``leads_to``, after the left side
  was true).

Without strong fairness, only the maximal sets have to be checked. If a strong condition is enabled in some states of a
set but no step in the set takes it, a subset that contains one of these states is not fair either, but a subset without
them may be fair. Therefore these states are removed, and the remaining states are divided into strongly connected sets
again. (This decides whether there is a run that satisfies a Streett condition.)

Every property of behaviours is a formula. Some formulas say no more than what region, recurrence and beginning of a
violation are; see `violation`. Any other formula is violated by a behaviour in which its negation is true: one that an
automaton accepts. Such a behaviour is a fair one in the `product` of the graph and the automaton, in which an accepting
state recurs.

An open state (see `Spec.is_open`) is never part of such a set, because some of its steps are not known. If no fair
behaviour stays among the other states, nothing could have violated the property, and it is undecided.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TypeVar

import attrs

from leadline.checker.action import ActionInstance
from leadline.checker.formulas import Formula, required
from leadline.checker.liveness.automaton import automaton_of
from leadline.checker.liveness.fairness import Condition, disturbs, heals
from leadline.checker.liveness.graph import StateGraph
from leadline.checker.liveness.judged import Judged, conclude
from leadline.checker.liveness.lasso import FairSet, Need, shortest
from leadline.checker.liveness.product import Product
from leadline.checker.liveness.violation import alternatives, violation_of
from leadline.checker.properties import Kind, Property
from leadline.checker.result import LivenessCounts, Stop, StopKind
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace

S = TypeVar("S")

Ways = dict[tuple[int, bool], tuple[int, bool] | None]
"""The predecessor of each state on a shortest path; see `_ways`."""


@attrs.frozen
class Obligation:
    """The conditions under which a behaviour violates a property.

    Attributes:
        starts: the states in which a violation can begin.
        region: the states in which the violation continues. After the violation has begun, the behaviour stays in these
            states.
        again: a set of states, at least one of which must be visited infinitely often.
    """

    starts: set[int]
    region: set[int]
    again: set[int]


def judged(graph: StateGraph[S], item: Property) -> Judged[S] | None:
    """Decide a liveness property. Return None if it is undecided; see `judges_nothing`."""
    occurring = functools.partial(behaviour_of, graph, quiet=item.quiet)
    return conclude(item, counterexample(graph, item), functools.partial(judges_nothing, graph), occurring)


def judges_nothing(graph: StateGraph[S], item: Property) -> bool:
    """Return whether a liveness property without a counterexample is undecided, because of open states.

    A property of behaviours is undecided if each fair behaviour to which it applies reaches an open state and may
    stay in such states. A property of kind `Kind.RECOVERABLE` is undecided if each state in which it is false leads to
    open states, and none leads to a state in which it is true.

    Parameters:
        graph: the graph of all states and steps of the spec.
    """
    if not graph.open_states:
        return False
    everything = set(range(len(graph.states)))
    if item.kind is Kind.RECOVERABLE:
        true = graph.where(lambda state: graph.spec.complaint(item, state) is None)
        return true != everything and _recovering(graph, item, true) == true
    if needed := [*required(item.formula)]:
        return any(behaviour_of(graph, formula, quiet=item.quiet, endless=True) is None for formula in needed)
    return not any(fair_components(graph, everything - graph.open_states, quiet=item.quiet))


def undecided(items: Sequence[Property]) -> Stop | None:
    """Return the reason why a run with undecided properties is incomplete; see `judges_nothing`. None if there are no
    such properties.
    """
    if not items:
        return None
    names = ", ".join(item.name for item in items)
    return Stop(
        StopKind.OPEN, f"nothing shows whether {names} is true: all behaviours to which it applies lead to open states"
    )


def counterexample(graph: StateGraph[S], item: Property) -> Trace[S] | None:
    """Return a counterexample to a liveness property, or None if there is none. Its loop contains no open state.

    Parameters:
        graph: the graph of all states and steps of the spec.
    """
    if item.kind is Kind.RECOVERABLE:
        return _beyond_recovery(graph, item)
    found = behaviour_of(graph, ~item.formula, quiet=item.quiet)
    if found is None:
        return None
    stem, loop = found.stem, found.loop or found.stem[-1:]
    first = [_instance(graph, *step, quiet=False) for step in itertools.pairwise(stem)]
    repeated = [_instance(graph, *step, quiet=item.quiet) for step in itertools.pairwise(loop)]
    states = [graph.states[index] for index in (*stem, *loop[1:])]
    return Trace(graph.spec, states, [*first, *repeated], item, loop=len(stem) - 1 if found.loop else None)


@attrs.frozen
class Behaviour:
    """A behaviour as indices of states.

    Attributes:
        stem: the states up to the first state of the loop.
        loop: the states of the loop. It begins and ends with the last state of the stem, and is this state alone if
            nothing happens any more. None if whatever follows the stem is possible.
    """

    stem: list[int]
    loop: list[int] | None


def lasso(graph: StateGraph[S], wanted: Obligation, *, quiet: bool) -> Behaviour | None:
    """Return a short fair behaviour that meets an obligation and ends in a loop without an open state, or None if there
    is none.

    Parameters:
        wanted: the conditions that the behaviour has to satisfy.
        quiet: whether the loop must not contain a perturbing step.
    """
    before, order = _ways(graph, wanted)
    inside = {index for index in order if index not in graph.open_states}
    place = {index: place for place, index in enumerate(order)}
    sets = [
        FairSet(
            sorted(component, key=place.__getitem__),
            functools.partial(_after, graph, component, quiet),
            _needs(graph, component, quiet, wanted.again),
        )
        for component in fair_components(graph, inside, quiet=quiet, again=wanted.again)
    ]
    found = shortest(sets, lambda index: len(_way(before, (index, True))) - 1)
    return None if found is None else Behaviour(_way(before, (found[0], True)), found[1])


def behaviour_of(graph: StateGraph[S], formula: Formula, *, quiet: bool, endless: bool = False) -> Behaviour | None:
    """Return a fair behaviour in which a formula is true, or None if there is none.

    Parameters:
        graph: the graph of all states and steps of a spec.
        quiet: whether perturbing steps must end at some time.
        endless: whether the behaviour must end in a loop without an open state. If not, it can also be a beginning that
            makes the formula true whatever follows. Some fair behaviour begins like this, because taking the steps of
            the enabled conditions in turn is fair.
    """
    found = (_behaviour_of(graph, each, quiet=quiet, endless=endless) for each in alternatives(formula))
    return min(filter(None, found), key=lambda each: (len(each.stem), len(each.loop or ())), default=None)


def _behaviour_of(graph: StateGraph[S], formula: Formula, *, quiet: bool, endless: bool) -> Behaviour | None:
    """Return a fair behaviour in which one of the `alternatives` is true; see `behaviour_of`."""
    everything = set(range(len(graph.states)))
    if (wanted := violation_of(formula)) is not None:
        conditions = map(graph.spec.condition, wanted.atoms)
        true = [graph.where(functools.partial(_is_true, graph.spec, item)) for item in conditions]
        starts, region, again = wanted.where(true, everything)
        possible = set(graph.initials) if wanted.at_first else everything
        for states in wanted.where_before(true, everything):
            possible = set(_ways(graph, Obligation(states & possible, everything, everything))[1])
        obligation = Obligation(starts & possible, region, again)
        if endless or not wanted.is_beginning:
            made = lasso(graph, obligation, quiet=quiet)
        else:
            before, order = _ways(graph, obligation)
            made = Behaviour(_way(before, (order[0], True)), None) if order else None
        if made is None or not wanted.before:
            return made  # otherwise, the path need not come through the states before
    found = Product.of_graph(graph, automaton_of(formula), endless=endless)
    if found.decided is not None:
        return Behaviour(found.decided, None)
    everything = set(range(len(found.of)))
    made = lasso(found.graph, Obligation(set(found.graph.initials), everything, found.accepting), quiet=quiet)
    if made is None or made.loop is None:
        return None
    return Behaviour(found.without_waiting(made.stem), found.without_waiting(made.loop))


def _is_true(spec: Spec[S], item: Property, state: S) -> bool:
    return spec.complaint(item, state) is None


def fair_components(
    graph: StateGraph[S], inside: set[int], *, quiet: bool = False, again: set[int] | None = None
) -> Iterator[set[int]]:
    """Yield the maximal strongly connected sets of states that satisfy every fairness condition.

    Parameters:
        graph: the graph of all states and steps of the spec.
        inside: the states that the sets may contain.
        quiet: whether to ignore perturbing steps.
        again: a set of states, at least one of which each set must contain, or None if this is not required.
    """
    waiting = [inside]
    while waiting:
        for component in strongly_connected(graph, waiting.pop(), quiet):
            if again is not None and not component & again:
                continue
            if graph.stops is not None and len(component) == 1 and not component <= graph.stops:
                continue
            enabled = {condition for index in component for condition in graph.enabled[index]}
            neglected = enabled - _taken(graph, component, quiet)
            always = [item for item in neglected if all(item in graph.enabled[index] for index in component)]
            if any(not condition.strong for condition in always):
                continue  # no subset is fair either: it is enabled in all states, and no step takes it
            strong = {condition for condition in neglected if condition.strong}
            if not strong:
                yield component
            else:
                waiting.append({index for index in component if not graph.enabled[index] & strong})


def _taken(graph: StateGraph[S], component: set[int], quiet: bool) -> set[Condition]:
    """Return the fairness conditions that are taken by steps between states of a component; see
    `leadline.checker.liveness.fairness`.
    """
    return {
        condition
        for index in component
        for instance, _ in _inside(graph, component, quiet, index)
        for condition in graph.conditions[instance]
    }


def _inside(
    graph: StateGraph[S], component: set[int], quiet: bool, index: int
) -> Iterator[tuple[ActionInstance[S], int]]:
    """Yield the steps from a state that do not leave a component."""
    for instance, target in graph.steps[index]:
        if target in component and not (quiet and disturbs(instance)):
            yield instance, target


def _needs(graph: StateGraph[S], component: set[int], quiet: bool, again: set[int]) -> list[Need]:
    """Return the conditions that a loop in a component must satisfy; see `FairSet`."""
    needs = [Need(component & again, ())]
    if graph.stops is not None:  # a loop has steps, or stops where it may
        steps = {(index, target) for index in component for _, target in _inside(graph, component, quiet, index)}
        needs.append(Need(component & graph.stops, steps))
    for condition in {condition for index in component for condition in graph.enabled[index]}:
        steps = {
            (index, target)
            for index in component
            for instance, target in _inside(graph, component, quiet, index)
            if condition in graph.conditions[instance]
        }
        idle = {index for index in component if condition not in graph.enabled[index]}
        needs.append(Need(idle if not condition.strong else (), steps))
    return needs


def _after(graph: StateGraph[S], component: set[int], quiet: bool, index: int) -> list[int]:
    """Return the next states of a state that are in the same component."""
    return [target for _, target in _inside(graph, component, quiet, index)]


def _instance(graph: StateGraph[S], before: int, after: int, *, quiet: bool) -> ActionInstance[S]:
    """Return the first action instance that leads from one state to another, preferably one whose action is fair."""
    found = [
        instance for instance, target in graph.steps[before] if target == after and not (quiet and disturbs(instance))
    ]
    return next((instance for instance in found if graph.conditions[instance]), found[0])


def _way(before: Ways, last: tuple[int, bool]) -> list[int]:
    """Return the states on a shortest path; see `_ways`."""
    way: list[int] = []
    at: tuple[int, bool] | None = last
    while at is not None:
        if not way or way[-1] != at[0]:
            way.append(at[0])
        at = before[at]
    return way[::-1]


def strongly_connected(graph: StateGraph[S], inside: set[int], quiet: bool = False) -> list[set[int]]:
    """Return the strongly connected components among the states in `inside`. If `quiet` is set, ignore perturbing
    steps.
    """
    import networkx as nx  # it takes a tenth of a second to import

    drawn: nx.DiGraph[int] = nx.DiGraph()
    drawn.add_nodes_from(sorted(inside))
    for index in sorted(inside):
        for instance, target in graph.steps[index]:
            if target in inside and not (quiet and disturbs(instance)):
                drawn.add_edge(index, target)
    return sorted(map(set, nx.strongly_connected_components(drawn)), key=min)


def _ways(graph: StateGraph[S], wanted: Obligation) -> tuple[Ways, list[int]]:
    """Find the shortest paths to the states in which a violation continues.

    Returns:
        Two values. The first is a dict that maps each state on a shortest path to its predecessor. Each state is paired
        with False if the violation has not begun yet, and with True if it has. The second is a list of the states in
        which the violation continues, sorted by the length of the shortest path.
    """
    before: Ways = {}
    waiting: deque[tuple[int, bool]] = deque()
    order = []

    def found(at: tuple[int, bool], previous: tuple[int, bool] | None) -> None:
        before[at] = previous
        waiting.append(at)
        if not at[1] and at[0] in wanted.starts and (at[0], True) not in before:
            found((at[0], True), at)  # it is as near, so it has to be found before states that are further away

    for initial in graph.initials:
        found((initial, False), None)
    while waiting:
        index, begun = at = waiting.popleft()
        if begun:
            order.append(index)
        for _, target in graph.steps[index]:
            if (target, begun) not in before and (not begun or target in wanted.region):
                found((target, begun), at)
    return before, order


def _beyond_recovery(graph: StateGraph[S], item: Property) -> Trace[S] | None:
    """Return a shortest trace to a state after which the property can never be satisfied again, or None if there is no
    such state.
    """
    spec = graph.spec
    true = graph.where(lambda state: spec.complaint(item, state) is None)
    recovered = _recovering(graph, item, true | graph.open_states)
    everything = set(range(len(graph.states)))
    before, order = _ways(graph, Obligation(everything, everything, everything))
    lost = next((index for index in order if index not in recovered), None)
    if lost is None:
        return None
    way = _way(before, (lost, True))
    instances = [_instance(graph, *step, quiet=False) for step in itertools.pairwise(way)]
    return Trace(spec, [graph.states[index] for index in way], instances, item)


def _recovering(graph: StateGraph[S], item: Property, wanted: set[int]) -> set[int]:
    """Return the states from which one of the wanted states can be reached, by the steps that a property allows."""
    back: list[list[int]] = [[] for _ in graph.states]
    for index, steps in enumerate(graph.steps):
        for instance, target in steps:
            if not item.by_healing or heals(instance):
                back[target].append(index)
    recovered, waiting = set(wanted), list(wanted)
    while waiting:
        for index in back[waiting.pop()]:
            if index not in recovered:
                recovered.add(index)
                waiting.append(index)
    return recovered


def counts(graph: StateGraph[S], seconds: float) -> LivenessCounts:
    """Count the components and the open states of a graph, for the statistics of a run."""
    sizes = [len(component) for component in strongly_connected(graph, set(range(len(graph.states))))]
    return LivenessCounts(len(sizes), max(sizes, default=0), len(graph.open_states), seconds)
