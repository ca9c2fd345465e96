"""Cases in which checkers of liveness are known to be wrong, each a graph of a few states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from leadline.checker import (
    Property,
    Spec,
    SpecError,
    Verdict,
    action,
    always_eventually,
    eventually,
    eventually_always,
    leads_to,
    recoverable,
)
from leadline.checker.action import Action
from leadline.checker.engines import compiled, oracle
from leadline.checker.result import Limits, Result
from tests.liveness.graphs import Node
from tests.specs import learning

Steps = Mapping[int, tuple[int, ...]]

ENGINES: dict[str, Callable[[Spec[Node], Limits], Result]] = {"oracle": oracle.explore, "compiled": learning.explore}

explore = ENGINES["oracle"]


@pytest.fixture(autouse=True, params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs with each engine."""
    monkeypatch.setitem(globals(), "explore", ENGINES[request.param])


def moves(name: str, *instances: Steps, fair: str = "", effect: str = "") -> Action[Node, [int]]:
    """An action with an instance for each mapping from states to next states."""

    def move(state: Node, instance: int) -> Iterator[Node]:
        for after in instances[instance].get(state.at, ()):
            yield Node(after)

    move.__name__ = name
    return action("", fair=fair, effect=effect, instance=range(len(instances)))(move)


def searched(
    actions: list[Action[Node, [int]]], item: Property, cut: tuple[int, ...] = (), within: tuple[int, ...] = ()
) -> Result:
    spec = Spec(
        name="trap",
        initial_states=lambda bounds: [Node(0)],
        actions=actions,
        properties=[item],
        cut=(lambda state: state.at in cut) if cut else None,
        within=(lambda state: state.at in within) if within else None,
    )
    return explore(spec, Limits())


def at(*states: int) -> Property:
    @always_eventually("one of these states comes again and again")
    def again(state: Node) -> bool:
        return state.at in states

    return again


def loop_of(result: Result) -> list[int]:
    """The states of the loop of the counterexample."""
    trace = result.properties[0].traces[0]
    assert trace.loop is not None
    return [state.at for state in trace.states[trace.loop :]]


def test_nothing_has_to_happen() -> None:
    assert loop_of(searched([moves("go", {0: (1,), 1: (0,)})], at(1))) == [0]


def test_step_that_changes_nothing_is_not_enabled() -> None:
    stay = moves("stay", {0: (0,)}, fair="weak")
    assert loop_of(searched([stay, moves("go", {0: (1,)})], at(1))) == [0]


def test_fair_step_that_changes_nothing_does_not_satisfy_fairness() -> None:
    actions = [moves("go", {0: (0, 1)}, fair="weak")]
    assert searched(actions, at(1)).verdict is Verdict.HOLDS


def test_weak_fairness_is_not_strong() -> None:
    """The fair step is enabled in every second state of a loop only."""
    turn = moves("turn", {0: (1,), 1: (0,)})
    assert loop_of(searched([turn, moves("out", {0: (2,)}, fair="weak")], at(2))) in ([0, 1, 0], [1])
    fair_turn = moves("turn", {0: (1,), 1: (0,)}, fair="weak")
    assert loop_of(searched([fair_turn, moves("out", {0: (2,)}, fair="weak")], at(2))) == [0, 1, 0]
    assert searched([fair_turn, moves("out", {0: (2,)}, fair="strong")], at(2)).verdict is Verdict.HOLDS


def test_fairness_of_an_action_is_not_that_of_each_instance() -> None:
    """One instance leads round and round, the other out."""
    for strength in ("weak", "strong"):
        whole = moves("go", {0: (1,), 1: (0,)}, {0: (2,), 1: (2,)}, fair=strength)
        each = moves("go", {0: (1,), 1: (0,)}, {0: (2,), 1: (2,)}, fair=f"{strength} each")
        assert loop_of(searched([whole], at(2))) == [0, 1, 0]
        assert searched([each], at(2)).verdict is Verdict.HOLDS


def test_fair_loop_behind_an_unfair_one() -> None:
    """0 and 1 are a loop that is not fair, and 2 and 3 one that is fair, which is reached only through it."""
    actions = [
        moves("turn", {0: (1,), 1: (0,), 2: (3,), 3: (2,)}, fair="weak"),
        moves("go on", {1: (2,)}, fair="strong"),
    ]
    assert set(loop_of(searched(actions, at(9)))) == {2, 3}
    assert searched(actions, at(2)).verdict is Verdict.HOLDS


def test_loop_needs_two_cycles_of_one_component() -> None:
    """Each of two cycles through state 0 takes one of two strongly fair actions; only both together are fair."""
    actions = [
        moves("left", {0: (1,)}, fair="strong"),
        moves("right", {0: (2,)}, fair="strong"),
        moves("back", {1: (0,), 2: (0,)}, fair="weak"),
    ]
    assert sorted(loop_of(searched(actions, at(9)))) == [0, 0, 0, 1, 2]
    assert searched(actions, at(1)).verdict is Verdict.HOLDS


def test_strong_fairness_divides_a_component() -> None:
    """The component 0, 1, 2 is not fair, because the step from 1 leads out; without 1, the loop of 0 and 2 is fair."""
    actions = [
        moves("turn", {0: (1, 2), 1: (0,), 2: (0,)}, fair="weak"),
        moves("out", {1: (3,)}, fair="strong"),
    ]
    assert sorted(set(loop_of(searched(actions, at(3))))) == [0, 2]


def test_predicate_that_is_true_on_the_way_to_the_loop_only() -> None:
    actions = [moves("go", {0: (1,), 1: (2,), 2: (3,), 3: (2,)}, fair="weak")]

    @eventually("state 1 comes")
    def comes(state: Node) -> bool:
        return state.at == 1

    @eventually_always("state 1 stays")
    def stays(state: Node) -> bool:
        return state.at == 1

    @leads_to("state 1 comes after the start", after=lambda state: state.at == 0)
    def follows(state: Node) -> bool:
        return state.at == 1

    @leads_to("state 1 comes back", after=lambda state: state.at == 2)
    def comes_back(state: Node) -> bool:
        return state.at == 1

    assert searched(actions, comes).verdict is Verdict.HOLDS
    assert searched(actions, follows).verdict is Verdict.HOLDS
    for item in (at(1), stays, comes_back):
        assert set(loop_of(searched(actions, item))) == {2, 3}, item.name


def test_lasso_through_the_initial_state() -> None:
    result = searched([moves("go", {0: (1,), 1: (0,)}, fair="weak")], at(9))
    assert loop_of(result) == [0, 1, 0]
    assert result.properties[0].traces[0].loop == 0


def test_fair_step_may_leave_the_states_without_the_goal() -> None:
    """It is enabled, so the loop that never takes it is not fair, although it leads to the goal at once."""
    assert (
        searched([moves("turn", {0: (1,), 1: (0,)}), moves("goal", {0: (2,)}, fair="strong")], at(2))
        .properties[0]
        .traces[0]
        .loop
        is not None
    )
    actions = [moves("turn", {0: (1,), 1: (0,)}, fair="weak"), moves("goal", {0: (2,)}, fair="strong")]
    assert searched(actions, at(2)).verdict is Verdict.HOLDS


def test_quiet_leaves_out_loops_of_perturbing_steps() -> None:
    actions = [moves("fail", {0: (1,)}, effect="perturbing"), moves("heal", {1: (0,)}, fair="weak", effect="healing")]

    @eventually_always("all is well at last")
    def well(state: Node) -> bool:
        return state.at == 0

    @eventually_always("all is well at last if nothing fails any more", quiet=True)
    def well_when_quiet(state: Node) -> bool:
        return state.at == 0

    assert loop_of(searched(actions, well)) == [0, 1, 0]
    assert searched(actions, well_when_quiet).verdict is Verdict.HOLDS


def test_recovery_by_healing_steps_alone() -> None:
    actions = [moves("fail", {0: (1,), 2: (0,)}, effect="perturbing"), moves("heal", {1: (2,)}, effect="healing")]

    @recoverable("the start can be reached")
    def start(state: Node) -> bool:
        return state.at == 0

    @recoverable("the start can be reached by healing", by_healing=True)
    def start_by_healing(state: Node) -> bool:
        return state.at == 0

    assert searched(actions, start).verdict is Verdict.HOLDS
    trace = searched(actions, start_by_healing).properties[0].traces[0]
    assert [state.at for state in trace.states] == [0, 1]
    assert trace.loop is None


@pytest.mark.parametrize("open_by", ["cut", "within"])
def test_no_violation_rests_on_an_open_state(open_by: str) -> None:
    """State 1 has no step because of a bound, so nothing is known of what follows it."""
    actions = [moves("go", {0: (1,)}, fair="weak")]
    cut, within = ((1,), ()) if open_by == "cut" else ((), (0,))

    @recoverable("state 2 can be reached")
    def reached(state: Node) -> bool:
        return state.at == 2

    for item in (at(2), reached):
        assert searched(actions, item).verdict is Verdict.VIOLATED
        result = searched(actions, item, cut, within)
        assert result.verdict is Verdict.INCOMPLETE  # and nothing shows whether it is true
        assert result.statistics.liveness is not None
        assert result.statistics.liveness.open == 1


def test_way_to_a_loop_may_lead_through_an_open_state() -> None:
    actions = [moves("go", {0: (1,), 1: (2,), 2: (3,), 3: (2,)}, fair="weak")]
    assert set(loop_of(searched(actions, at(9), cut=(1,)))) == {2, 3}


@leads_to("nothing", after=lambda state: state.at == 5)
def nothing(state: Node) -> bool:
    return False


def test_left_side_that_is_never_true_is_vacuous_and_hides_no_other_verdict() -> None:
    spec = Spec(
        name="trap",
        initial_states=lambda bounds: [Node(0)],
        actions=[moves("go", {0: (1,)})],
        properties=[nothing, at(0)],
    )
    result = explore(spec, Limits())
    assert [item.verdict for item in result.properties] == [Verdict.HOLDS, Verdict.VIOLATED]
    assert [item.says_nothing for item in result.properties] == [True, False]
    assert searched([moves("go", {0: (1,)})], nothing, cut=(1,)).verdict is Verdict.INCOMPLETE


def test_properties_of_behaviours_that_all_leave_the_bounds_are_undecided() -> None:
    """The number only grows, and the search ends at 3: nothing shows what is so for ever."""
    grows = moves("go", {index: (index + 1,) for index in range(4)}, fair="weak")

    @always_eventually("0 comes again and again")
    def again(state: Node) -> bool:
        return state.at == 0

    @eventually("7 comes")
    def comes(state: Node) -> bool:
        return state.at == 7

    @eventually_always("0 stays")
    def stays(state: Node) -> bool:
        return state.at == 0

    @leads_to("0 comes after 2", after=lambda state: state.at == 2)
    def follows(state: Node) -> bool:
        return state.at == 0

    @recoverable("0 can come")
    def can_come(state: Node) -> bool:
        return state.at == 0

    properties = [again, comes, stays, follows, can_come]
    start = {"name": "trap", "initial_states": lambda bounds: [Node(0)]}
    spec: Spec[Node] = Spec(**start, actions=[grows], properties=properties, within=lambda state: state.at < 4)  # type: ignore[arg-type]
    result = explore(spec, Limits())
    assert {item.verdict for item in result.properties} == {Verdict.INCOMPLETE}
    names = "again, comes, stays, follows, can_come"
    words = "all behaviours to which it applies lead to open states"
    assert result.reason == f"nothing shows whether {names} is true: {words}"
    rests = moves("rest", {1: (5,), 5: (1,)}, fair="weak")  # a behaviour that stays, after 0 and before 2
    spec = Spec(**start, actions=[grows, rests], properties=properties, within=lambda state: state.at in (0, 1, 2, 5))  # type: ignore[arg-type]
    found = explore(spec, Limits(keep_going=True))
    assert [item.verdict.value for item in found.properties] == [
        *("violated", "violated", "violated", "incomplete", "incomplete"),
    ]
    assert str(found.reason).startswith("nothing shows whether follows, can_come is true")


def test_an_error_about_a_sample_of_the_initial_states_is_none_about_all() -> None:
    """The first states do not show what a spec with many initial states does."""

    @leads_to("the last one moves on", after=lambda state: state.at == 2_400)
    def moves_on(state: Node) -> bool:
        return state.at == 3_000

    spec: Spec[Node] = Spec(
        name="many",
        initial_states=lambda bounds: [Node(index) for index in range(2_500)],
        actions=[moves("go", {2_400: (3_000,)}, fair="weak")],
        properties=[moves_on],
        within=lambda state: state.at > 2_300,
    )
    for search in (explore, compiled.explore):
        result = search(spec, Limits())
        assert (result.verdict, result.statistics.distinct) == (Verdict.HOLDS, 200)
        assert not result.properties[0].says_nothing


def test_limit_leaves_liveness_undecided() -> None:
    spec = Spec(
        name="line",
        initial_states=lambda bounds: [Node(0)],
        actions=[moves("go", {index: (index + 1,) for index in range(5)})],
        properties=[at(9)],
    )
    result = explore(spec, Limits(depth=3))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.properties[0].verdict is Verdict.INCOMPLETE


def test_perturbing_action_cannot_be_fair() -> None:
    with pytest.raises(SpecError, match="action fail is perturbing, so it cannot be fair"):
        moves("fail", {}, fair="weak", effect="perturbing")


def test_spec_overrides_the_fairness_of_actions() -> None:
    actions = [moves("go", {0: (1,)})]
    spec = Spec(
        name="s", initial_states=lambda _: [Node(0)], actions=actions, properties=[at(1)], fairness={"go": "weak"}
    )
    assert explore(spec, Limits()).verdict is Verdict.HOLDS
    for wrong, said in (({"gone": "weak"}, "unknown action 'gone'"), ({"go": "fair"}, "fair must be one of 'weak'")):
        with pytest.raises(SpecError, match=said):
            Spec(name="s", initial_states=lambda _: [Node(0)], actions=actions, fairness=wrong)
