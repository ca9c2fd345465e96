"""Puts faults of the past back, and counts the specs until the twin finds each: ``python -m tests.reference.faults``.

Each was a spec that was said to hold and does not, an error without need, or a number that is not so.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType
from typing import Any, cast

import attrs

from leadline.checker import Spec, canonical, coverage, door, places, spec, state, values
from leadline.checker.action import ActionInstance
from leadline.checker.engines import ENGINES, purity
from leadline.checker.engines.learning.calls import Caller
from leadline.checker.liveness import fairness, graph
from leadline.checker.mutation.processes import answers
from tests.reference.__main__ import check, texts
from tests.reference.compare import DEFAULT, LEARNING, ORACLE, SMALL, Way


@attrs.frozen
class Fault:
    """A fault of the past.

    Attributes:
        name: what was wrong.
        put_back: a function that changes the checker in this process so that it has the fault again.
        kinds: the kinds of specs that are searched.
        ways: how they are searched.
    """

    name: str
    put_back: Callable[[], None]
    kinds: Sequence[str]
    ways: Sequence[Way] = (ORACLE, DEFAULT, LEARNING)

    def specs(self, most: int) -> int | None:
        """Put the fault back, and return the number of specs until one differs from what the twin says, or None."""
        self.put_back()
        found = ((kind, seed, text) for seed in itertools.count() for kind in self.kinds for text in texts(kind, seed))
        for number, (_kind, seed, text) in enumerate(itertools.islice(found, most), start=1):
            if check(text, self.ways, keep_going=seed % 3 != 2)[1]:
                return number
        return None


def _set(owner: object, name: str, value: object) -> None:
    setattr(owner, name, value)


def _everywhere(old: object, new: object) -> None:
    """Replace a function in all modules of the checker that have it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("leadline.checker"):
            for key in [key for key, value in vars(module).items() if value is old]:
                setattr(module, key, new)


def _rules(change: Callable[[type, values.Rule], values.Rule]) -> None:
    """Change the rules by which the values of the classes of a spec are compared."""
    original = values._rule_of_object

    def changed(cls: type) -> values.Rule:
        return change(cls, original(cls))

    _set(values, "_rule_of_object", changed)


def constants_are_not_compared() -> None:
    def change(cls: type, rule: values.Rule) -> values.Rule:
        fields = attrs.fields(cls) if attrs.has(cls) else ()
        fixed = {f".{field.name}" for field in fields if values.is_constant(field)}

        def parts(value: object) -> dict[str, object]:
            return {name: part for name, part in rule.parts(value).items() if name not in fixed}

        return attrs.evolve(rule, parts=parts, names=()) if fixed else rule

    _rules(change)


def hidden_contents_are_not_compared() -> None:
    _rules(lambda cls, rule: rule if attrs.has(cls) else values.Rule(values.Form.ATOM))


def _drops(is_affected: Callable[[CodeType], bool]) -> None:
    original = door._returning_line
    _set(door, "_returning_line", lambda code: None if is_affected(code) else original(code))


def returned_verdicts_are_dropped() -> None:
    _drops(lambda code: code.co_name.startswith("p"))
    _set(door, "_whole", lambda owner, function, gives, found: iter(found))


def returned_states_are_dropped() -> None:
    _drops(lambda code: code.co_name.startswith(("act", "many", "pick", "grow", "toggle")))


def conditions_are_text() -> None:
    original = fairness.Condition

    def made(identity: object, strong: bool, name: str, is_group: bool) -> fairness.Condition:
        return original(cast(Any, name), strong, name, is_group)

    _set(fairness, "Condition", made)


def conditions_are_text_of_any_order() -> None:
    conditions_are_text()
    original = canonical.canonical  # drawn values come without an earlier state
    _set(spec, "canonical", lambda value, *before: original(value, *before) if before else value)
    of = graph.StateGraph.of

    class OfTexts(dict[ActionInstance[Any], Any]):
        """The conditions of each instance, which depend on the text of this one, although another one is equal."""

        def __getitem__(self, instance: ActionInstance[Any]) -> Any:
            return fairness.conditions_of(self.spec, instance)

        spec: Spec[Any]

    def made(whole: Spec[Any], *given: Any) -> graph.StateGraph[Any]:
        found = of(whole, *given)
        texts = OfTexts()
        texts.spec = whole
        return attrs.evolve(found, conditions=texts)

    _set(graph.StateGraph, "of", made)


def equal_values_are_dropped() -> None:
    def distinct(given: Iterable[Any], place: str) -> list[Any]:
        return list(dict.fromkeys(given))

    _everywhere(values.distinct, distinct)


def generators_are_true() -> None:
    admit, verdict = door.admit, door.verdict

    def admitted(owner: str, function: Any, takes: Sequence[str], gives: door.Gives) -> None:
        if not (gives is door.VERDICT and inspect.isgeneratorfunction(function)):
            admit(owner, function, takes, gives)

    def judged(owner: str, function: object, outcome: object) -> bool:
        return not list(outcome) if inspect.isgenerator(outcome) else verdict(owner, function, outcome)

    _everywhere(admit, admitted)
    _everywhere(verdict, judged)


def drawn_values_are_matched_by_position() -> None:
    original = Caller._call

    def call(self: Caller[Any], recorder: Any, steps: Any, direct: list[tuple[ActionInstance[Any], Any]]) -> Any:
        taken = sorted((instance for instance, _ in direct), key=operator.attrgetter("rank"))
        return original(self, recorder, steps, list(zip(taken, (after for _, after in direct), strict=True)))

    _set(Caller, "_call", call)


def constants_may_become_equal() -> None:
    _set(state, "same", operator.eq)
    _set(places, "same", operator.eq)


def instances_are_text() -> None:
    def named(instances: Iterable[ActionInstance[Any]]) -> dict[str, ActionInstance[Any]]:
        return {str(instance): instance for instance in instances}

    _everywhere(coverage.named, named)


def values_are_made_again_by_their_class() -> None:
    _everywhere(purity.fresh, copy.deepcopy)


def a_sample_of_the_initial_states_is_judged() -> None:
    original = ENGINES["compiled"]

    def explore(whole: Spec[Any], *given: Any) -> Any:
        initials, result = whole.initials(), original.search(whole, *given)
        if len(initials) < 3 or result.stop is not None:
            return result
        part = attrs.evolve(whole, initial_states=lambda bounds: initials[: len(initials) // 3])
        of_part = {each.property: each for each in original.search(part, *given).properties}
        properties = (of_part[each.property] if each.property.kind.is_liveness else each for each in result.properties)
        return attrs.evolve(result, properties=tuple(properties))

    ENGINES["compiled"] = attrs.evolve(original, search=explore)


FAULTS = (
    Fault("1 constants are not compared", constants_are_not_compared, ["constants"]),
    Fault("2 a verdict that a generator returns is dropped", returned_verdicts_are_dropped, ["door"]),
    Fault("3 a state that an action returns is dropped", returned_states_are_dropped, ["door"]),
    Fault("4 fairness conditions are text: sets", conditions_are_text_of_any_order, ["sets"], (ORACLE,)),
    Fault("5 fairness conditions are text: equal texts", conditions_are_text, ["text"]),
    Fault("6 equal initial states and drawn values are dropped", equal_values_are_dropped, ["equal"], (ORACLE,)),
    Fault("7 what __eq__ hides is not compared", hidden_contents_are_not_compared, ["objects"], (ORACLE,)),
    Fault("8 a predicate that is a generator is true", generators_are_true, ["door"]),
    Fault("9 drawn values are matched by position", drawn_values_are_matched_by_position, ["drawn"], (LEARNING, SMALL)),
    Fault("10 constants may change to equal values", constants_may_become_equal, ["constants"]),
    Fault("11 instances are matched by text", instances_are_text, ["text"]),
    Fault("12 values are copied by their class", values_are_made_again_by_their_class, ["named"]),
    Fault(
        "13 a sample of the initial states is judged",
        a_sample_of_the_initial_states_is_judged,
        ["initials"],
        (DEFAULT,),
    ),
)


def found(most: int, faults: Sequence[Fault] = FAULTS) -> Iterator[tuple[Fault, object]]:
    """Yield each fault, and the number of specs until the twin found it, or None if it did not find it in most."""
    calls = [(fault.name, functools.partial(fault.specs, most)) for fault in faults]
    by_name = {fault.name: fault for fault in faults}
    for answer in answers(calls, 1, 1_000):
        yield by_name[answer.name], answer.found


def main() -> int:
    """Find all faults; returns 1 if any is not found."""
    missed = 0
    for fault, number in found(int(sys.argv[1]) if len(sys.argv) > 1 else 300):
        print(f"{fault.name}: {number}", flush=True)
        missed += not isinstance(number, int)
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
