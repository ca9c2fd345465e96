"""Temporal formulas: random ones against the twin, and cases in which they are easily decided wrongly."""

from __future__ import annotations

import functools
import operator
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import (
    Formula,
    Kind,
    Limits,
    Property,
    PropertyResult,
    Spec,
    SpecError,
    Verdict,
    always,
    always_eventually,
    eventually,
    implies,
    invariant,
    now,
    step,
    temporal,
    until,
    witness,
)
from leadline.checker.action import Action
from leadline.checker.engines import oracle
from leadline.checker.engines.compiled import liveness
from leadline.checker.liveness import automaton, decide
from leadline.checker.liveness.recheck import fault
from leadline.checker.liveness.violation import alternatives, violation_of
from leadline.checker.observing.digest import code_digest
from leadline.checker.stateful import state_machine
from leadline.checker.traces.itf import read_trace, write_trace
from leadline.checker.traces.replay import replay
from leadline.invariants.catalog import CATALOG
from leadline.reports.traces.story import story_of
from tests.liveness.formulas import compared, said_in, spec_with
from tests.liveness.graphs import Node, drawn, expected, spec_of
from tests.liveness.test_traps import moves
from tests.reference.compare import CHANGING, FORKED, LEARNING, RESUMED, RESUMED_DIRECT, SMALL, Way, compare
from tests.specs import learning

EVERY = bool(os.environ.get("EVERY"))

EXPLORE: dict[str, Callable[[Spec[Node], Limits], Any]] = {"oracle": oracle.explore, "packed": learning.explore}


@pytest.mark.parametrize(("packed", "count"), [(False, 10_000 if EVERY else 200), (True, 1_000 if EVERY else 30)])
def test_random_formulas(packed: bool, count: int) -> None:
    verdicts = Counter[Verdict]()
    said = Counter[str]()
    for seed in range(8, 8 + count):  # so that the shares are right in few formulas, too
        spec = spec_with(seed)
        verdict, wrong = compared(spec, seed, packed=packed)
        assert not wrong
        verdicts[verdict] += 1
        said.update(said_in(spec))
    assert min(verdicts[each] for each in Verdict) >= 0.3 * count
    assert min(said.values()) >= 0.15 * count


@pytest.mark.parametrize("way", [LEARNING, SMALL, RESUMED, RESUMED_DIRECT, CHANGING, FORKED], ids=lambda way: way.name)
def test_random_formulas_in_every_way(way: Way) -> None:
    for seed in range(4):
        _, told = compare(spec_with(seed), [way], keep_going=True, is_ordered=True)
        assert not told


def at(*places: int) -> Formula:
    def here(state: Node) -> bool:
        return state.at in places

    here.__name__ = f"at_{'_'.join(map(str, places))}"
    return now(here)


def goes(before: int, after: int) -> Formula:
    def move(first: Node, last: Node) -> bool:
        return (first.at, last.at) == (before, after)

    move.__name__ = f"from_{before}_to_{after}"
    return step(move)


def found(
    engine: str, actions: list[Action[Node, [int]]], formula: Formula, *, quiet: bool = False, **settings: Any
) -> PropertyResult:
    """What an engine says of a formula; see `EXPLORE`."""

    @temporal("the formula", quiet=quiet)
    def item() -> Formula:
        return formula

    spec = Spec(name="formula", initial_states=lambda _: [Node(0)], actions=actions, properties=[item], **settings)
    result = EXPLORE[engine](spec, Limits())
    told: PropertyResult
    (told,) = result.properties
    assert all(fault(trace) is None for trace in told.traces)
    assert result.verdict is told.verdict
    return told


TO_1, TO_2 = moves("to_1", {0: (1,)}, fair="weak"), moves("to_2", {1: (2,)}, fair="weak")
BACK = moves("back", {1: (0,)})
CASES: dict[str, tuple[list[Action[Node, [int]]], Formula, Verdict]] = {
    "for ever": ([TO_1, TO_2], always(implies(at(2), always(at(2)))), Verdict.HOLDS),
    "not for ever": ([TO_1, TO_2], always(implies(at(1), always(at(1)))), Verdict.VIOLATED),
    "stuttering is no step": ([TO_1, TO_2], always(goes(0, 1) | goes(1, 2)), Verdict.HOLDS),
    "nor is it a step of another kind": ([TO_1], eventually(~goes(0, 1)), Verdict.VIOLATED),
    "a step that must come": ([TO_1, TO_2], eventually(goes(1, 2)), Verdict.HOLDS),
    "a step that may be put off": ([TO_1, TO_2, BACK], eventually(goes(1, 2)), Verdict.VIOLATED),
    "a state and a step, always": ([TO_1], always(~at(1) & ~goes(1, 0)), Verdict.VIOLATED),
    "a state or a step, at some time": ([TO_1], eventually(at(1) | goes(1, 0)), Verdict.HOLDS),
    "a state or a step, always": ([TO_1], always(at(0) | goes(1, 0)), Verdict.HOLDS),
    "a state or another step, until": ([TO_1], until(at(0) | goes(1, 0), at(1)), Verdict.HOLDS),
    "until": ([TO_1, TO_2], until(at(0), at(1)), Verdict.HOLDS),
    "until needs its end": ([BACK], until(at(0), at(1)), Verdict.VIOLATED),
    "until a step": ([TO_1, TO_2], until(at(0), goes(1, 2)), Verdict.HOLDS),
    "until a step from where nothing is required": ([TO_1], until(at(7), goes(0, 1)), Verdict.HOLDS),
    "steps until a state": ([TO_1, TO_2], until(goes(0, 1), at(1)), Verdict.HOLDS),
    "infinitely often": (
        [TO_1, BACK], implies(always(eventually(at(1))), always(eventually(goes(0, 1)))), Verdict.VIOLATED
    ),
    "from some time on": (
        [TO_1, TO_2, BACK], implies(~always(eventually(at(0))), eventually(always(at(2)))), Verdict.HOLDS
    ),
    "at last for ever": ([TO_1, TO_2], eventually(always(at(2))), Verdict.HOLDS),
    "only at the beginning": ([TO_1], implies(at(1), eventually(~at(1))), Verdict.HOLDS),
    "each again and again": (
        [TO_1, BACK], ~(always(eventually(at(0))) & always(eventually(at(1)))), Verdict.VIOLATED
    ),
    "two promises, the second broken": (
        [TO_1, TO_2], implies(at(0), eventually(at(2))) & always(implies(at(1), always(at(1)))), Verdict.VIOLATED
    ),
    "two promises for ever": (
        [TO_1, TO_2], always(implies(at(0), eventually(at(2))) & implies(at(2), always(at(2)))), Verdict.HOLDS
    ),
    "before, and not at the beginning": ([BACK], always(implies(at(1), always(at(1)))), Verdict.HOLDS),
    "for ever before what comes": ([TO_1, TO_2], ~(always(at(0, 1)) & eventually(at(2))), Verdict.HOLDS),
    "one after the other, in one order": ([TO_1, TO_2], ~(eventually(at(2) & eventually(at(1)))), Verdict.HOLDS),
    "two at different times": ([TO_1, TO_2], ~(eventually(at(1)) & eventually(at(2))), Verdict.VIOLATED),
    "nested": ([TO_1, TO_2, BACK], always(implies(eventually(always(at(0, 1))), always(at(0, 1)))), Verdict.HOLDS),
}  # fmt: skip


def test_what_needs_no_automaton() -> None:
    """The negation of each, which is what is looked for, is divided into this many formulas without an automaton."""
    expected = {
        always(implies(at(1), always(at(2)))): 1,
        always(implies(at(1), always(implies(at(2), always(at(3)))))): 1,
        implies(always(eventually(at(1))), always(eventually(at(2)))): 1,
        implies(always(eventually(at(1))), eventually(always(at(2)))): 0,  # two things again and again
        implies(always(eventually(at(1))), always(at(2))): 1,
        implies(eventually(always(at(1))), always(eventually(at(2)))): 1,
        always(at(1)) & always(implies(at(2), eventually(at(3)))): 2,
        always(at(1)) & until(at(2), at(3)) & eventually(at(4)): 2,
        ~(always(at(1)) & eventually(at(2))): 0,
        ~(eventually(at(1)) & eventually(at(2))): 0,
        until(at(2), at(3)): 0,
        always(goes(1, 2)): 0,
    }
    found = {each: sum(violation_of(part) is not None for part in alternatives(~each)) for each in expected}
    assert {str(each): count for each, count in found.items()} == {str(each): count for each, count in expected.items()}


@pytest.mark.parametrize("engine", EXPLORE)
@pytest.mark.parametrize("name", CASES)
def test_formulas_by_hand(engine: str, name: str) -> None:
    actions, formula, verdict = CASES[name]
    assert found(engine, actions, formula).verdict is verdict


@pytest.mark.parametrize("engine", EXPLORE)
def test_strong_fairness_and_groups(engine: str) -> None:
    actions = [moves("to_1", {0: (1,)}), moves("back", {1: (0,)}), moves("end", {1: (2,)})]
    formula = implies(eventually(goes(0, 1)), eventually(always(at(2))))
    for fairness, verdict in [
        ({}, Verdict.VIOLATED),
        ({"to_1": "weak", "back": "weak", "end": "weak"}, Verdict.VIOLATED),
        ({"to_1": "weak", "end": "strong"}, Verdict.HOLDS),
        ({("to_1", "end"): "strong"}, Verdict.VIOLATED),
        ({"to_1": "weak", ("back", "end"): "strong"}, Verdict.VIOLATED),
    ]:
        assert found(engine, actions, formula, fairness=fairness).verdict is verdict, fairness


@pytest.mark.parametrize("engine", EXPLORE)
def test_condition_that_the_automaton_never_sees_taken_is_still_enabled(engine: str) -> None:
    """In the behaviour that stays in 0, `to_1` is enabled for ever: the negated formula forbids only its step."""
    assert found(engine, [TO_1], eventually(at(1))).verdict is Verdict.HOLDS
    assert found(engine, [TO_1], ~always(at(0))).verdict is Verdict.HOLDS


@pytest.mark.parametrize("engine", EXPLORE)
def test_a_beginning_is_enough_even_if_it_ends_in_an_open_state(engine: str) -> None:
    grows = moves("grows", {index: (index + 1,) for index in range(9)}, fair="weak")
    low: dict[str, Any] = {"within": lambda state: state.at < 3}
    told = found(engine, [grows], always(at(0, 1, 2)), **low)
    assert told.verdict is Verdict.VIOLATED
    assert ([state.at for state in told.traces[0].states], told.traces[0].loop) == ([0, 1, 2, 3], None)
    assert found(engine, [grows], always(goes(0, 1) | goes(1, 2)), **low).verdict is Verdict.VIOLATED
    for undecided in (
        always(at(0, 1, 2, 3)),
        eventually(at(7)),
        always(implies(at(1), eventually(at(7)))),
        always(implies(at(1), always(at(1, 2, 3)))),
    ):
        assert found(engine, [grows], undecided, **low).verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize("engine", EXPLORE)
def test_one_formula_written_in_several_ways_is_undecided_in_each(engine: str) -> None:
    """Behaviours in which the left side is true lead to an open state, and others stay where it never is."""
    asked, answered = at(1), at(3)
    actions = [moves("stay", {0: (0,)}, fair="weak"), moves("ask", {0: (1,)}), moves("on", {1: (2,)}, fair="weak")]
    for formula in (
        always(implies(asked, eventually(answered))),
        always(~asked | eventually(answered)),
        always(eventually(answered) | ~asked),
        ~eventually(asked & always(~answered)),
        always(~(asked & ~eventually(answered))),
        always(always(~asked) | eventually(answered)),
    ):
        told = found(engine, actions, formula, within=lambda state: state.at < 2)
        assert told.verdict is Verdict.INCOMPLETE, formula


@pytest.mark.parametrize("engine", EXPLORE)
def test_what_never_happens_is_told(engine: str) -> None:
    both = always(implies(at(0), eventually(at(1)))) & always(implies(at(5), at(6)))
    told = found(engine, [TO_1], both)
    assert (told.verdict, told.never, told.says_nothing) == (Verdict.HOLDS, "at_5", True)
    fair = found(engine, [TO_1], implies(always(eventually(at(0))), at(6)))
    assert fair.never == "always(eventually(at_0))"
    assert not found(engine, [TO_1], always(implies(goes(0, 1), eventually(at(1))))).says_nothing
    assert not found(engine, [TO_1], always(~implies(at(5), at(6))) | eventually(at(1))).says_nothing


@pytest.mark.parametrize("engine", EXPLORE)
def test_quiet_behaviours_have_finitely_many_disturbances(engine: str) -> None:
    actions = [moves("fall", {1: (0,)}, effect="perturbing"), moves("rise", {0: (1,)}, fair="weak")]
    assert found(engine, actions, eventually(always(at(1)))).verdict is Verdict.VIOLATED
    assert found(engine, actions, eventually(always(at(1))), quiet=True).verdict is Verdict.HOLDS


def test_parameters() -> None:
    @temporal("once {place} is passed, it is not seen again", place=range(3))
    def passed(place: int) -> Formula:
        return always(implies(at(place), until(at(place), always(~at(place))) | always(at(place))))

    spec = Spec(name="passed", initial_states=lambda _: [Node(0)], actions=[TO_1, TO_2, BACK], properties=[passed])
    verdicts = {item.property.name: item.verdict for item in oracle.explore(spec, Limits(keep_going=True)).properties}
    assert verdicts == {
        "passed(place=0)": Verdict.VIOLATED,
        "passed(place=1)": Verdict.VIOLATED,
        "passed(place=2)": Verdict.HOLDS,
    }


def as_formula(spec: Spec[Any], item: Property) -> Property:
    """A property of an older kind as a formula."""

    def true(state: Any) -> bool:
        return spec.complaint(item, state) is None

    def before(state: Any) -> bool:
        premise = spec.premise_of(item)
        return premise is not None and spec.complaint(premise, state) is None

    formulas = {
        Kind.EVENTUALLY: eventually(true),
        Kind.ALWAYS_EVENTUALLY: always(eventually(true)),
        Kind.EVENTUALLY_ALWAYS: eventually(always(true)),
        Kind.LEADS_TO: always(implies(before, eventually(true))),
    }
    made = temporal(item.sentence, quiet=item.quiet)(lambda: formulas[item.kind])
    return attrs.evolve(made, name=item.name)


@pytest.mark.parametrize("explore", [oracle.explore, learning.explore])
def test_older_kinds_are_words_of_it(
    explore: Callable[[Spec[Any], Limits], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if an automaton decides, which they do not need."""
    for module in (decide, liveness):
        monkeypatch.setattr(module, "violation_of", lambda formula: None)
    for seed in range(1000 if EVERY else 60 if explore is oracle.explore else 15):
        graph = drawn(seed)
        spec = spec_of(graph)
        items = [item for item in spec.properties if item.kind is not Kind.RECOVERABLE]
        told = explore(attrs.evolve(spec, properties=[as_formula(spec, item) for item in items]), Limits())
        for item, result in zip(items, told.properties, strict=True):
            assert result.verdict is expected(graph, item), (seed, item.name)


def test_a_model_of_kafka() -> None:
    spec = CATALOG["atomic/kip-320"].with_bounds({"brokers": 2, "log_size": 1, "records": 1, "max_epoch": 1})
    items = [item for item in spec.optional if item.kind is not Kind.RECOVERABLE]
    assert {item.kind for item in items} >= {Kind.LEADS_TO}
    for fairness in (None, {action.name: "weak" for action in spec.actions if action.effect != "perturbing"}):
        given = spec if fairness is None else attrs.evolve(spec, fairness=fairness)
        kinds = attrs.evolve(given, properties=items, optional=())
        made = attrs.evolve(kinds, properties=[as_formula(kinds, item) for item in items])
        right, told = oracle.explore(kinds, Limits()), learning.explore(made, Limits())
        assert [item.verdict for item in told.properties] == [item.verdict for item in right.properties]


@pytest.mark.parametrize("engine", EXPLORE)
@pytest.mark.parametrize("name", ["not for ever", "a step that may be put off"])
def test_counterexamples_can_be_saved_replayed_and_told(tmp_path: Path, engine: str, name: str) -> None:
    actions, formula, _ = CASES[name]
    (trace,) = found(engine, actions, formula).traces
    write_trace(trace, tmp_path / "trace.itf.json")
    again = replay(trace.spec, read_trace(tmp_path / "trace.itf.json"))
    assert (again.states, again.loop) == (trace.states, trace.loop)
    story = "\n".join(story_of(trace).ending)
    assert ("whatever follows step 3, it stays violated" if trace.loop is None else "repeat for ever") in story


def test_replay_refuses_what_does_not_violate_a_formula() -> None:
    (trace,) = found("oracle", [TO_1, TO_2], always(implies(at(1), always(at(1))))).traces
    short = attrs.evolve(trace, states=trace.states[:2], instances=trace.instances[:1])
    assert str(fault(short)).startswith("what follows the trace decides whether item is true")
    assert fault(attrs.evolve(short, loop=1)) == "the loop is not fair: to_2 is enabled, but never taken"
    stays = attrs.evolve(trace, states=(*trace.states, trace.states[-1])[:3], loop=2)
    assert fault(stays) is None


@invariant("a property, which is no condition")
def _never_one(state: Node) -> bool:
    return state.at != 1


@always_eventually("a property of behaviours, which is no condition")
def _again(state: Node) -> bool:
    return state.at == 0


@witness("a condition")
def _one(state: Node) -> bool:
    return state.at == 1


def test_contradictions_are_found_before_choices() -> None:
    """The first formula would take 2 ** 40 ways if each choice were made before it."""
    zero = at(0)
    formula = ~zero & functools.reduce(operator.and_, [zero | at(place) for place in range(1, 41)])
    assert len(automaton.automaton_of(formula).transitions[0]) == 1


def test_trace_of_an_optional_formula_is_replayed(tmp_path: Path) -> None:
    @temporal("never one")
    def item() -> Formula:
        return always(~at(1))

    spec = Spec(name="formula", initial_states=lambda _: [Node(0)], actions=[TO_1], properties=[], optional=[item])
    (trace,) = oracle.explore(spec.with_properties(["item"]), Limits()).properties[0].traces
    write_trace(trace, tmp_path / "trace.itf.json")
    assert replay(spec, read_trace(tmp_path / "trace.itf.json")).states == trace.states


def test_formulas_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    p = at(0)
    with pytest.raises(
        SpecError, match=r"^at_0 is a formula, which is neither true nor false: combine formulas with &"
    ):
        assert p
    with pytest.raises(SpecError, match=r"now\(...\) needs a predicate of state, not 3"):
        always(3)  # type: ignore[arg-type]
    with pytest.raises(
        SpecError, match=r"the condition <lambda> of a formula must take two parameters, before and after"
    ):
        step(lambda state: True)  # type: ignore[arg-type, misc]
    with pytest.raises(SpecError, match=r"^temporal _takes_a_state must take no parameters, not \(state\)"):
        temporal("x")(_takes_a_state)
    for returned, why in (
        (goes(0, 1), r"temporal item: step\(from_0_to_1\) is about a single step: write always\(...\) or eventually"),
        (None, "temporal item must return a formula, not None"),
    ):
        with pytest.raises(SpecError, match=why):
            found("oracle", [TO_1], returned)  # type: ignore[arg-type]
    for item, kind in ((_never_one, "invariant _never_one"), (_again, "always eventually _again")):
        with pytest.raises(SpecError, match=f"is about the {kind}: write a function, or a witness"):
            found("oracle", [TO_1], always(item))
    assert found("oracle", [TO_1], eventually(_one)).verdict is Verdict.HOLDS
    monkeypatch.setattr(automaton, "MOST_SETS", 5)
    with pytest.raises(SpecError, match="a formula needs an automaton with more than 5 sets of formulas"):
        automaton.automaton_of(always(eventually(at(1))) & always(eventually(at(2))) & always(eventually(at(3))))


def _takes_a_state(state: Node) -> Formula:
    return at(state.at)


def test_engines_that_check_no_liveness_refuse_formulas() -> None:
    @temporal("it comes")
    def comes() -> Formula:
        return eventually(at(1))

    spec = Spec(name="formula", initial_states=lambda _: [Node(0)], actions=[TO_1], properties=[comes])
    with pytest.raises(
        SpecError, match=r"Hypothesis cannot check comes, which is a liveness property \(kind 'temporal'\)"
    ):
        state_machine(spec)


def test_formulas_belong_to_the_digest() -> None:
    def digest(place: int, combined: Callable[[Formula], Formula]) -> object:
        @temporal("the formula")
        def item() -> Formula:
            return combined(at(place))

        spec = Spec(name="formula", initial_states=lambda _: [Node(0)], actions=[TO_1], properties=[item])
        before = code_digest(spec)
        assert spec.checks[0].formula is not None  # what is computed of a property is no content of it
        assert code_digest(spec) == before
        return before

    digests = [digest(0, always), digest(1, always), digest(0, eventually)]
    assert len(set(digests)) == len(digests)
    assert digest(0, always) == digests[0]
