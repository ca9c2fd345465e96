"""Checks a counterexample to a liveness property by calling the functions of the spec again."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from typing import TypeVar

import attrs

from leadline.checker.action import Identity
from leadline.checker.liveness.fairness import Condition, conditions_of, disturbs, heals
from leadline.checker.liveness.truth import truth
from leadline.checker.properties import Kind, Property
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace

S = TypeVar("S")

MOST_SEARCHED = 1_000
"""The maximum number of states to search for one that satisfies a recoverable property."""

WEAK = "it is only weakly fair"
NOT_FAIR = "it is not fair"
PART = "its action is fair, but not for each instance"
GROUP = "it is fair only together with others: {}"


@attrs.frozen
class Neglected:
    """An action, or an instance of an action, that is enabled but never taken in a loop.

    Attributes:
        name: the name of the action, or the instance as text.
        always: whether it is enabled in every state of the loop.
        is_still: whether the loop consists of a single state.
        unfair: whether its fairness condition is violated because it is never taken.
        sentence: the sentence of its steps. Empty if they have different sentences, or none.
        why: a phrase that says why no fairness requires it. Empty if `unfair` is true.
    """

    name: str
    always: bool
    is_still: bool
    unfair: bool
    sentence: str = ""
    why: str = ""

    def __str__(self) -> str:
        often = "" if self.is_still else " in every state" if self.always else " again and again"
        sentence = f" ({self.sentence})" if self.sentence else ""
        return f"{self.name} is enabled{often}, but never taken{sentence}{f': {self.why}' if self.why else ''}"


def neglected(trace: Trace[S]) -> list[Neglected]:
    """Return the actions and action instances that are enabled but never taken in the loop of a lasso.

    Unless its fairness condition is violated, an instance is included only if another instance of its action is taken.
    Violations of fairness conditions come first, and perturbing actions come last.
    """
    assert trace.loop is not None
    spec, states = trace.spec, trace.states[trace.loop :]
    quiet = trace.about is not None and trace.about.quiet
    pairs = list(itertools.pairwise(states)) or [(states[0], states[0])]
    enabled: Counter[Identity] = Counter()
    taken: set[Identity] = set()
    shown: dict[Identity, tuple[str, Identity, bool, Condition | None]] = {}
    sentences: dict[Identity, set[str]] = defaultdict(set)
    parts: dict[Identity, str] = {}  # why a fairness condition says nothing about a part of what it is about
    for before, after in pairs:
        here = set[Identity]()
        for instance, successor in spec.successors(before):
            if successor == before:
                continue
            conditions, disturbing = conditions_of(spec, instance), disturbs(instance)
            whole, own = instance.identity_by(()), instance.identity
            shown.setdefault(whole, (instance.action.name, whole, disturbing, None))
            shown.setdefault(own, (repr(instance), whole, disturbing, None))
            for declared in conditions:
                of = declared.identity if declared.is_group else whole
                shown[declared.identity] = declared.name, of, disturbing, declared
                for part in (own, whole) if declared.is_group else (own,):
                    parts.setdefault(part, GROUP.format(declared.name) if declared.is_group else PART)
            for part in () if conditions else (own, whole):
                parts.setdefault(part, NOT_FAIR)
            names = {whole, own, *(declared.identity for declared in conditions)}
            here |= names
            for each in names:
                sentences[each].add(instance.sentence)
            if successor == after and not (quiet and disturbing):
                taken |= names
        enabled.update(here)
    found = []
    for each, (name, whole, disturbing, condition) in shown.items():
        always = enabled[each] == len(pairs)
        unfair = condition is not None and (condition.strong or always)
        is_part = each != whole and whole not in taken and not unfair
        if each not in taken and not is_part:
            (sentence,) = sentences[each] if len(sentences[each]) == 1 else ("",)
            why = "" if unfair else WEAK if condition is not None else parts.get(each, "")
            found.append((not unfair, disturbing, Neglected(name, always, len(states) == 1, unfair, sentence, why)))
    return [item for _, _, item in sorted(found, key=lambda each: each[:2])]


def fault(trace: Trace[S]) -> str | None:
    """Return why a trace is not a counterexample to its liveness property, or None if it is one.

    The steps of the trace are not checked.
    """
    item = trace.about
    assert item is not None
    spec = trace.spec
    if item.kind is Kind.RECOVERABLE:
        return _recovers(spec, item, trace.states[-1])
    if item.kind is Kind.TEMPORAL and trace.loop is None:
        is_false = truth(trace, item.formula) is False
        return None if is_false else f"what follows the trace decides whether {item.name} is true: {item.sentence}"
    if trace.loop is None:
        return f"{item.name} is about endless behaviours, but the trace has no loop"
    if fair := [each for each in neglected(trace) if each.unfair]:
        return f"the loop is not fair: {fair[0]}"
    if any(spec.is_open(state) for state in trace.states[trace.loop :]):
        return "a bound of the search blocks a step in the loop"
    for step in trace.loop_steps if item.quiet else []:
        ways = [instance for instance, after in spec.successors(step.before) if after == step.after]
        if step.before != step.after and all(map(disturbs, ways)):
            return f"the loop is not quiet: {step.instance} is a perturbing step"
    is_false = truth(trace, item.formula) is False
    return None if is_false else f"the behaviour does not violate {item.name}: {item.sentence}"


def _recovers(spec: Spec[S], item: Property, state: S) -> str | None:
    """Return why the property may be satisfied again after the given state, or None if no reason is found.

    At most `MOST_SEARCHED` states are searched. Reaching an open state is also a reason, because some of its steps are
    not known.
    """
    found, waiting = {state}, [state]
    for before in waiting:
        if spec.complaint(item, before) is None:
            return f"a state that satisfies {item.name} can be reached from the last state: {item.sentence}"
        if spec.is_open(before):
            return "a bound of the search blocks a step in a state that can be reached from the last state"
        for instance, after in spec.successors(before):
            if after not in found and len(found) < MOST_SEARCHED and (not item.by_healing or heals(instance)):
                found.add(after)
                waiting.append(after)
    return None
