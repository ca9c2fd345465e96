"""Checks a recording against a spec: computes the set of possible states, observation by observation.

A recording is a set of observations, each with a time window. The recording is a behaviour of the spec if each
observation can be assigned a time within its window, and hidden steps can be inserted, so that the result is a sequence
of steps of the spec from an initial state. Optional observations may be left out.

Two observations may be in either order if their windows overlap. An order of all observations is called *possible* if
suitable times exist. This is the case if and only if, whenever A precedes B, the window of B does not end before the
window of A begins. The windows do not restrict the order in any other way.

The search handles the observations in the order of their *deadlines*, the ends of their windows. The search stores
nodes. A node consists of a state and the *early* observations, which were taken before their deadlines. At each
deadline, one observation is due. Every node is extended by sequences of hidden steps and observations with open
windows. Each sequence ends with the observation that is due. A window is open if it begins no later than the current
deadline.

**The search finds exactly the possible orders.** In any possible order, consider the steps up to the last observation
with one of the first `k` deadlines. If one of these steps is an observation with a later deadline, it precedes one of
the first `k` observations, so its window begins no later than the deadline of that observation. Its window is open, and
the search takes it early. Conversely, the search takes an observation early only before observations whose deadlines
are not before the beginning of its window, and after observations whose deadlines are not after its own deadline.
Therefore every order that the search builds is possible.

**A node is dropped if another node reaches it** through open observations or hidden steps alone. The answer remains
exact: any steps that explain the rest of the recording from the dropped node also explain it from the other node, if
the steps to the dropped node are taken first. These steps are still possible before the next deadline, because windows
that are open now are open then. If nodes reach each other, the first one is kept. A node is also dropped if another
node has the same state and has taken only some of its early observations, and the others are optional: whatever
explains the rest from the dropped node does so from the other node, which leaves out the others.

**An observation is taken early only if it is connected to the observation that is due.** Two observations or hidden
steps are connected if they touch a common component, directly or through a chain of open observations and hidden steps.
Consider a sequence that ends with the observation that is due. Steps that are not connected to this observation commute
with all connected steps. They can be moved behind the observation, because their deadlines are later. Therefore the
search takes only connected observations. This is exact only if `touches` is complete, which the tests of a mapping
check.

**An observation that only checks a state is taken as soon as it is possible**, if it is not optional. Whatever explains
the rest without it also does so with it, because it changes nothing and has to be taken once. So many requests that
overlap, and change nothing, do not multiply the nodes.

The number of hidden steps between two deadlines is limited, and so is the number of nodes at one deadline and at all
deadlines together. If no node remains, but a limit was reached at this or an earlier deadline, the answer is undecided
instead of rejected.

**Parts of states can be cut**, so that states do not grow. Regularly, `cut` replaces all possible states by smaller
ones. This is exact if an observation or hidden step has the same result in a smaller state as in the original one,
apart from the parts that were cut, or raises `Undecided` in the smaller state. Any steps that are found in smaller
states are then possible in the original ones. Conversely, if steps in the original states are not found, `Undecided`
was raised. In this case, a node that remains still explains the recording, but if no node remains, the answer is
undecided, as with a limit. Two nodes that become equal have the same continuations, so one of them is dropped.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

import attrs

from leadline.checker.conformance.observation import HiddenStep, Observation
from leadline.checker.conformance.result import Answer, Candidate, Conformance, Rejection, Taken
from leadline.checker.errors import LeadlineError

S = TypeVar("S")
T = TypeVar("T")

Hidden = Callable[[S], Iterable[HiddenStep[S]]]
"""A function that returns the hidden steps from a state."""

SETTLE_EVERY = 64
"""The number of deadlines after which memory is freed: states are cut, the steps that all nodes share are removed from
the nodes, and cached results are dropped.
"""
MOST_CACHED = 20_000
UNCOUNTED = 100
"""The number of states for each observation that do not count towards `Limits.total`, so that a long recording is not
undecided only because it is long.
"""
MOST_REASONS = 4


class RecordingError(LeadlineError):
    """Raised if a recording cannot be checked, for example because its observations are not in order."""


class Undecided(Exception):
    """Raised by an observation or a hidden step if its effect on a state is unknown, because a part of the state was
    removed.

    The argument is a clause that says which part is missing.
    """


@attrs.frozen(kw_only=True)
class Limits:
    """The limits of the search.

    Attributes:
        hidden_steps: the maximum number of hidden steps between two deadlines.
        states: the maximum number of states to visit for one observation.
        total: the maximum number of states to visit for all observations together, beyond `UNCOUNTED` for each.
    """

    hidden_steps: int = 12
    states: int = 10_000
    total: int = 200_000


def no_hidden_steps(state: object) -> tuple[()]:
    """Return no hidden steps. Use this function if everything that the system does is observed."""
    return ()


def unchanged(state: S) -> S:
    """Return the given state."""
    return state


def uncut(states: list[S]) -> list[S]:
    """Return the given states."""
    return states


@attrs.define(eq=False)
class _Path(Generic[S]):
    """The steps that lead to a node, as a linked list from the last step to the first.

    Attributes:
        before: the steps before the last one, or None.
        length: the number of steps since the beginning of the recording.
        settled: whether this step and all earlier ones were removed from the list, because all nodes share them.
    """

    before: _Path[S] | None
    step: Taken[S]
    length: int
    settled: bool = False


def _longer(path: _Path[S] | None, step: Taken[S]) -> _Path[S]:
    return _Path(path, step, 1 if path is None else path.length + 1)


def _steps(path: _Path[S] | None) -> list[Taken[S]]:
    """Return the steps of a path that have not been settled, in order."""
    steps: list[Taken[S]] = []
    while path is not None and not path.settled:
        steps.append(path.step)
        path = path.before
    return steps[::-1]


@attrs.frozen(eq=False)
class _Node(Generic[S]):
    early: frozenset[int]
    state: S
    path: _Path[S] | None

    @property
    def key(self) -> tuple[frozenset[int], S]:
        return self.early, self.state


def follow(
    initials: Iterable[S],
    observations: Iterable[Observation[S]],
    hidden: Hidden[S] = no_hidden_steps,
    *,
    forget: Callable[[S], S] = unchanged,
    cut: Callable[[list[S]], list[S]] = uncut,
    touched_by_hidden: Iterable[frozenset[str] | None] = (None,),
    limits: Limits | None = None,
    kept_steps: int | None = None,
    prunes: bool = True,
    settled: Callable[[Taken[S]], None] | None = None,
) -> Conformance[S]:
    """Determine whether a recording is a behaviour of a spec, and return the result.

    The docstring of the module explains why the answer is exact. Memory usage does not depend on the number of
    observations if the observations come from an iterator, `kept_steps` is set, and the states do not grow or are cut.

    Parameters:
        initials: the possible states at the beginning of the recording.
        observations: the observations in the order of `Observation.earliest`.
        hidden: a function that returns the hidden steps from a state.
        forget: a function that removes the parts of a state that no observation can determine, such as history. It is
            applied to every state.
        cut: a function that takes all possible states, and returns them in the same order without the parts that later
            observations are unlikely to depend on. Observations and hidden steps must raise `Undecided` if they do
            depend on such a part. `cut` is applied at the beginning and after every `SETTLE_EVERY` deadlines. A step of
            the behaviour can therefore begin in a cut copy of the state in which the previous step ended.
        touched_by_hidden: the values of `HiddenStep.touches` for all hidden steps of the spec.
        kept_steps: the maximum number of steps to return, counted from the end of the behaviour. None returns all
            steps.
        prunes: whether to drop nodes that another node reaches. False is used only to test that pruning does not change
            the answer.
        settled: a function that is called with each step of the behaviour, in order, as soon as all possible behaviours
            contain the step.

    Raises:
        RecordingError: if there is no initial state, or the observations are not in the order of `earliest`.
    """
    search = _Search(hidden, forget, cut, tuple(touched_by_hidden), limits or Limits(), kept_steps, prunes, settled)
    return search.run(initials, observations)


class _Search(Generic[S]):
    def __init__(
        self,
        hidden: Hidden[S],
        forget: Callable[[S], S],
        cut: Callable[[list[S]], list[S]],
        touched_by_hidden: tuple[frozenset[str] | None, ...],
        limits: Limits,
        kept_steps: int | None,
        prunes: bool,
        settled: Callable[[Taken[S]], None] | None,
    ) -> None:
        self._hidden, self._forget, self._cut, self._touched_by_hidden = hidden, forget, cut, touched_by_hidden
        self._limits, self._kept_steps, self._prunes, self._settled = limits, kept_steps, prunes, settled
        self._nodes: list[_Node[S]] = []
        self._open: dict[int, Observation[S]] = {}
        self._applied: dict[int, dict[S, list[S]]] = {}
        self._hidden_of: dict[S, list[HiddenStep[S]]] = {}
        self._states: dict[S, S] = {}
        self._limit_reached, self._cut_matters = "", False
        self._explored = self._largest = self._hidden_steps = 0
        self._actions: Counter[str] = Counter()
        self._steps: deque[Taken[S]] = deque(maxlen=kept_steps)

    def run(self, initials: Iterable[S], observations: Iterable[Observation[S]]) -> Conformance[S]:
        self._nodes = [_Node(frozenset(), state, None) for state in dict.fromkeys(map(self._forget, initials))]
        if not self._nodes:
            raise RecordingError("the spec has no initial state in which the recording can begin")
        self._cut_states()
        number = 0
        for number, due in enumerate(self._by_deadline(observations), 1):
            after, reached = self._advance(due, self._limits.total + UNCOUNTED * number)
            if not after:
                rejection = self._rejection(self._open[due], number, reached)
                answer = Answer.UNDECIDED if self._limit_reached else Answer.REJECTED
                return self._ended(number - 1, answer, rejection, self._limit_reached)
            self._nodes = self._pruned(after, due) if self._prunes else after
            self._largest = max(self._largest, len(self._nodes))
            del self._open[due]
            self._applied.pop(due, None)
            if number % SETTLE_EVERY == 0:
                self._settle()
                self._cut_states()
                self._applied.clear()
                self._hidden_of.clear()
                self._states.clear()
        return self._ended(number, Answer.CONFORMS)

    # --- the order ------------------------------------------------------------------------------------------------

    def _by_deadline(self, observations: Iterable[Observation[S]]) -> Iterator[int]:
        """Yield the observations in the order of their deadlines, and keep those with open windows in `_open`."""
        deadlines: list[tuple[float, float, int]] = []
        rest = iter(observations)
        following = next(rest, None)
        number, last = 0, -float("inf")
        while deadlines or following is not None:
            while following is not None and (not deadlines or following.earliest <= deadlines[0][0]):
                if following.earliest < last:
                    raise RecordingError(
                        f"observation {following.label!r} is out of order: it begins before the previous one"
                    )
                last = following.earliest
                self._open[number] = following
                heapq.heappush(deadlines, (following.latest, following.earliest, number))
                number += 1
                following = next(rest, None)
            yield heapq.heappop(deadlines)[2]

    # --- one deadline ---------------------------------------------------------------------------------------------

    def _advance(self, due: int, most: int) -> tuple[list[_Node[S]], list[_Node[S]]]:
        """Take the observation that is due. Return the nodes after it, and all nodes that were visited. No more nodes
        are visited when the search has visited `most`.
        """
        observation = self._open[due]
        connected = self._connected(due)
        checks = [number for number in connected if self._open[number].checks and not self._open[number].optional]
        after: dict[tuple[frozenset[int], S], _Node[S]] = {}
        seen = {node.key for node in self._nodes}
        reached: list[_Node[S]] = []
        level, hidden_steps = list(self._nodes), 0
        while level:
            deeper: list[_Node[S]] = []
            while level:
                popped = level.pop()
                node = self._checked(popped, checks)
                if node is not popped and node.key in seen:
                    continue
                seen.add(node.key)
                reached.append(node)
                if len(reached) > self._limits.states or self._explored + len(reached) > most:
                    self._limit_reached = self._too_many(len(reached))
                    self._explored += len(reached)
                    return list(after.values()), reached
                if due in node.early:
                    done = _Node(node.early - {due}, node.state, node.path)
                    after.setdefault(done.key, done)
                    continue
                for successor in self._after(due, node.state):
                    if (key := (node.early, successor)) not in after:
                        after[key] = _Node(*key, self._extended(node, observation, successor))
                if observation.optional:
                    after.setdefault(node.key, node)
                for other in connected:
                    if other not in node.early:
                        early = node.early | {other}
                        for successor in self._after(other, node.state):
                            if (key := (early, successor)) not in seen:
                                seen.add(key)
                                level.append(_Node(*key, self._extended(node, self._open[other], successor)))
                for step in self._hidden_steps_from(node.state):
                    if (key := (node.early, step.after)) not in seen:
                        seen.add(key)
                        deeper.append(_Node(*key, self._hidden_extended(node, step)))
            if deeper and hidden_steps == self._limits.hidden_steps:
                self._limit_reached = f"more than {hidden_steps} hidden steps between two observations are possible"
                break
            level, hidden_steps = deeper, hidden_steps + 1
        self._explored += len(reached)
        return list(after.values()), reached

    def _checked(self, node: _Node[S], checks: Iterable[int]) -> _Node[S]:
        """Return a node after all observations that only check its state, and are possible in it."""
        for number in checks:
            if number not in node.early and self._after(number, node.state):
                path = self._extended(node, self._open[number], node.state)
                node = _Node(node.early | {number}, node.state, path)
        return node

    def _too_many(self, visited: int) -> str:
        if visited > self._limits.states:
            return f"more than {self._limits.states:,} states are possible at one observation"
        return "too many states are possible at all observations together"

    def _connected(self, due: int) -> list[int]:
        """Return the other open observations that are connected to the one that is due."""
        components = self._open[due].touches
        others = {number: self._open[number].touches for number in self._open if number != due}
        if components is None:
            return list(others)
        connected: list[int] = []
        hidden = list(self._touched_by_hidden)
        grown = True
        while grown:
            grown = False
            for touches in [each for each in hidden if each is None or each & components]:
                if touches is None:
                    return list(others)
                hidden.remove(touches)
                components, grown = components | touches, True
            for number, touches in list(others.items()):
                if touches is None or touches & components:
                    del others[number]
                    connected.append(number)
                    if touches is None:
                        return connected + list(others)
                    components, grown = components | touches, True
        return connected

    def _after(self, number: int, state: S) -> list[S]:
        known = self._applied.setdefault(number, {})
        if state not in known:
            if len(known) >= MOST_CACHED:
                known.clear()
            known[state] = self._decided(lambda: map(self._kept, self._open[number].apply(state)))
        return known[state]

    def _hidden_steps_from(self, state: S) -> list[HiddenStep[S]]:
        if state not in self._hidden_of:
            if len(self._hidden_of) >= MOST_CACHED:
                self._hidden_of.clear()
            steps = self._decided(lambda: self._hidden(state))
            steps = [attrs.evolve(step, after=self._kept(step.after)) for step in steps]
            self._hidden_of[state] = [step for step in steps if step.after != state]
        return self._hidden_of[state]

    def _kept(self, state: S) -> S:
        """Return the state without what observations cannot determine. Equal states become one object, so that most
        comparisons of states compare objects only.
        """
        state = self._forget(state)
        return self._states.setdefault(state, state)

    def _decided(self, compute: Callable[[], Iterable[T]]) -> list[T]:
        """Return the distinct results, in order, up to the first one that is undecided."""
        found: dict[T, None] = {}
        try:
            for result in compute():
                found[result] = None
        except Undecided as reason:
            self._limit_reached, self._cut_matters = str(reason), True
        return list(found)

    # --- pruning --------------------------------------------------------------------------------------------------

    def _pruned(self, nodes: list[_Node[S]], due: int) -> list[_Node[S]]:
        """Drop each node that another node reaches through open observations or hidden steps. Return the remaining
        nodes.
        """
        nodes = self._least(nodes, due)
        if len(nodes) < 2:
            return nodes
        by_key = {node.key: node for node in nodes}
        kept: list[_Node[S]] = []
        covered: set[tuple[frozenset[int], S]] = set()
        for node in sorted(nodes, key=lambda node: len(node.early)):
            if node.key in covered:
                continue
            kept.append(node)
            covered.add(node.key)
            unvisited = [node]
            while unvisited:
                for key in self._moves(unvisited.pop(), due):
                    if key in by_key and key not in covered:
                        covered.add(key)
                        unvisited.append(by_key[key])
        return kept

    def _least(self, nodes: list[_Node[S]], due: int) -> list[_Node[S]]:
        """Drop each node that differs from another one only in optional observations that it has taken in addition."""
        optional = {number for number, each in self._open.items() if each.optional and number != due}
        if len(nodes) < 2 or not optional:
            return nodes
        alike: dict[tuple[S, frozenset[int]], list[_Node[S]]] = {}
        for node in nodes:
            alike.setdefault((node.state, node.early - optional), []).append(node)
        return [
            node for group in alike.values() for node in group if not any(other.early < node.early for other in group)
        ]

    def _moves(self, node: _Node[S], due: int) -> Iterator[tuple[frozenset[int], S]]:
        for other in self._open:
            if other != due and other not in node.early:
                for successor in self._after(other, node.state):
                    yield node.early | {other}, successor
        for step in self._hidden_steps_from(node.state):
            yield node.early, step.after

    # --- the behaviour --------------------------------------------------------------------------------------------

    def _extended(self, node: _Node[S], observation: Observation[S], after: S) -> _Path[S]:
        return _longer(node.path, Taken(observation.label, observation, "", node.state, after))

    def _hidden_extended(self, node: _Node[S], step: HiddenStep[S]) -> _Path[S]:
        return _longer(node.path, Taken(step.label, None, step.action, node.state, step.after))

    def _settle(self) -> None:
        """Remove steps from the paths of the nodes if all nodes share these steps."""
        paths = [node.path for node in self._nodes]
        while any(path is not paths[0] for path in paths):
            longest = max(0 if path is None else path.length for path in paths)
            paths = [path.before if path is not None and path.length == longest else path for path in paths]
        shared = paths[0]
        if shared is not None and not shared.settled:
            for step in _steps(shared):
                self._count(step)
            shared.before, shared.settled = None, True

    def _cut_states(self) -> None:
        """Remove the parts of the nodes' states that later observations are unlikely to depend on."""
        states = self._cut([node.state for node in self._nodes])
        nodes: dict[tuple[frozenset[int], S], _Node[S]] = {}
        for node, state in zip(self._nodes, states, strict=True):
            shorter = _Node(node.early, state, node.path)
            nodes.setdefault(shorter.key, shorter)
        self._nodes = list(nodes.values())

    def _count(self, step: Taken[S]) -> None:
        self._steps.append(step)
        if self._settled is not None:
            self._settled(step)
        if step.observation is None:
            self._hidden_steps += 1
            self._actions[step.action] += 1
        else:
            self._actions.update(step.observation.exercises)

    def _rejection(self, observation: Observation[S], number: int, reached: list[_Node[S]]) -> Rejection[S]:
        candidates: dict[str, Candidate[S]] = {}
        for node in reached:
            try:
                why = observation.why(node.state)
            except Undecided as reason:
                why = str(reason)
            if why not in candidates:
                early = tuple(self._open[number].label for number in sorted(node.early))
                candidates[why] = Candidate(node.state, tuple(self._last_steps(node.path)), why, early)
            if len(candidates) == MOST_REASONS:
                break
        before = tuple(dict.fromkeys(node.state for node in self._nodes))
        return Rejection(observation, number, before, tuple(candidates.values()), len(reached))

    def _last_steps(self, path: _Path[S] | None, most: int = 12) -> list[Taken[S]]:
        return [*list(self._steps)[-most:], *_steps(path)][-most:]

    def _ended(
        self, observations: int, answer: Answer, rejection: Rejection[S] | None = None, reason: str = ""
    ) -> Conformance[S]:
        for step in _steps(self._nodes[0].path):
            self._count(step)
        return Conformance(
            answer=answer,
            observations=observations,
            behaviour=tuple(self._steps),
            hidden_steps=self._hidden_steps,
            actions=dict(self._actions),
            largest=max(self._largest, 1),
            explored=self._explored,
            rejection=rejection,
            reason=reason,
            cut_matters=self._cut_matters,
        )
