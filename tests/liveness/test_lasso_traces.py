"""Lassos in files, in replays and in reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import SpecError, Stop, StopKind, Trace, TraceError, Verdict, explore, invariant, recoverable
from leadline.checker.engines import ENGINES, oracle, progress
from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.compiled.liveness import LivenessCheck
from leadline.checker.liveness import decide
from leadline.checker.liveness.recheck import fault
from leadline.checker.result import Limits
from leadline.checker.settings import CompiledSettings
from leadline.checker.stateful import state_machine
from leadline.checker.traces.itf import decode_trace, encode_trace, read_trace, write_trace
from leadline.checker.traces.replay import replay
from leadline.invariants.catalog import CATALOG
from leadline.reports.html import chapter, page
from leadline.reports.runs.json_report import story_object
from leadline.reports.terminal.trace import plain_text
from leadline.reports.traces.mermaid import mermaid
from leadline.reports.traces.story import story_of
from tests.liveness.graphs import Node
from tests.liveness.test_traps import at, moves, searched
from tests.specs import learning
from tests.suite.command import call


@pytest.fixture
def lasso() -> Trace[Any]:
    """0, 1, and then 2 and 3 for ever, from both of which a step that nothing requires leads to the goal 4."""
    actions = [
        moves("go", {0: (1,), 1: (2,), 2: (3,), 3: (2,)}, fair="weak"),
        moves("goal", {2: (4,)}),
        moves("rescue", {2: (4,), 3: (4,)}),
    ]
    return searched(actions, at(4)).properties[0].traces[0]


@pytest.fixture
def still() -> Trace[Any]:
    return searched([moves("go", {0: (1,)}, fair="weak"), moves("goal", {1: (4,)})], at(4)).properties[0].traces[0]


def test_itf_names_the_state_with_which_the_loop_begins(lasso: Trace[Any], tmp_path: Path) -> None:
    content = encode_trace(lasso)
    assert content["loop"] == lasso.loop == 2
    assert [state["at"] for state in content["states"]] == [{"#bigint": str(at)} for at in (0, 1, 2, 3, 2)]
    write_trace(lasso, tmp_path / "lasso.itf.json")
    again = replay(lasso.spec, read_trace(tmp_path / "lasso.itf.json"))
    assert (again.states, again.instances, again.loop) == (lasso.states, lasso.instances, 2)


@pytest.mark.parametrize("loop", [-1, 5, "2", True, 1.5])
def test_itf_rejects_a_loop_that_is_not_a_state(lasso: Trace[Any], loop: object) -> None:
    with pytest.raises(TraceError, match='"loop" must be the index of a state, from 0 to 4, not'):
        decode_trace(encode_trace(lasso) | {"loop": loop})


def test_replay_names_the_starved_action(lasso: Trace[Any]) -> None:
    recorded = decode_trace(encode_trace(lasso))
    for fairness, said in (
        ({"rescue": "weak"}, "the loop is not fair: rescue is enabled in every state, but never taken"),
        ({"goal": "strong"}, "the loop is not fair: goal is enabled again and again, but never taken"),
        ({"goal": "strong each"}, r"not fair: goal\(instance=0\) is enabled again and again, but never taken"),
    ):
        with pytest.raises(TraceError, match=said):
            replay(attrs.evolve(lasso.spec, fairness=fairness), recorded)
    replay(attrs.evolve(lasso.spec, fairness={"goal": "weak"}), recorded)


def test_replay_rejects_what_is_no_loop_and_no_violation(lasso: Trace[Any]) -> None:
    content = encode_trace(lasso)
    with pytest.raises(TraceError, match="the last state is not equal to state 1, at which the loop begins"):
        replay(lasso.spec, decode_trace(content | {"loop": 1}))
    without = decode_trace({name: value for name, value in content.items() if name != "loop"})
    with pytest.raises(TraceError, match="again is about endless behaviours, but the trace has no loop"):
        replay(lasso.spec, without)
    goal = attrs.evolve(lasso.spec, properties=[at(2)])
    with pytest.raises(TraceError, match="the behaviour does not violate again"):
        replay(goal, decode_trace(content))
    cut = attrs.evolve(lasso.spec, cut=lambda state: state.at == 3)
    assert fault(Trace(cut, lasso.states, lasso.instances, lasso.about, 2)) == (
        "a bound of the search blocks a step in the loop"
    )


def test_trace_checks_its_loop(lasso: Trace[Any]) -> None:
    for loop in (-1, 5, 1):
        with pytest.raises(ValueError, match=r"the loop cannot begin|is not equal to state 1"):
            attrs.evolve(lasso, loop=loop)


def test_terminal_tells_what_repeats_and_what_is_neglected(lasso: Trace[Any], still: Trace[Any]) -> None:
    text = plain_text(lasso)
    assert "from step 4 on, these two steps repeat for ever: go(instance=0); go(instance=0)" in text
    assert "rescue is enabled in every state, but never taken" in text
    assert "goal is enabled again and again, but never taken" in text
    assert "3/5  go(instance=0)  [loop]" in text
    assert "goal is enabled again and again, but never taken" in story_of(lasso).happened[-1].text
    assert "after step 2, nothing happens any more: fairness does not require that it does" in plain_text(still)
    assert "goal is enabled, but never taken" in plain_text(still)
    dead = searched([moves("go", {0: (1,)}, fair="weak")], at(4)).properties[0].traces[0]
    assert "after step 2, nothing happens any more: no action is enabled that changes the state" in plain_text(dead)


def test_report_has_the_sentence_of_a_neglected_action(lasso: Trace[Any]) -> None:
    """A whole action has one if all its steps in the loop have the same."""
    go, goal, rescue = lasso.spec.actions
    goal, rescue = attrs.evolve(goal, sentence="it gets there"), attrs.evolve(rescue, sentence="{instance} helps")
    spec = attrs.evolve(lasso.spec, actions=[go, goal, rescue])
    text = plain_text(oracle.explore(spec, Limits()).properties[0].traces[0])
    assert "goal is enabled again and again, but never taken (it gets there)" in text
    assert "rescue is enabled in every state, but never taken (0 helps)" in text
    two = moves("rescue", {2: (4,), 3: (4,)}, {2: (4,), 3: (4,)})
    spec = attrs.evolve(spec, actions=[go, goal, attrs.evolve(two, sentence="{instance} helps")])
    assert "rescue is enabled in every state, but never taken: it is not fair\n" in plain_text(
        oracle.explore(spec, Limits()).properties[0].traces[0]
    )


def test_report_says_why_fairness_does_not_require_an_action() -> None:
    turn = ({0: (1,), 1: (0,)}, {0: (2,), 1: (2,)})
    for actions, said in (
        (
            [moves("go", *turn, fair="strong")],
            "go(instance=1) is enabled in every state, but never taken: its action is",
        ),
        ([moves("go", turn[0], fair="weak"), moves("out", {1: (2,)}, fair="weak")], "out is enabled again and again, "),
    ):
        text = " ".join(plain_text(searched(actions, at(2)).properties[0].traces[0]).split())
        assert said in text
        assert ("taken: it is only weakly fair" in text) == (len(actions) == 2)
        assert ("fair, but not for each instance" in text) == (len(actions) == 1)


def test_compiled_engine_says_that_it_checks_liveness(lasso: Trace[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    settings = CompiledSettings(workers=1)
    result = learning.explore(lasso.spec, Limits(), lambda each: told.append(each.activity), settings)
    assert told[0] == ""
    assert "checking liveness" in told
    assert result.statistics.activity == ""


def test_report_says_that_a_state_cannot_be_repaired(lasso: Trace[Any]) -> None:
    for by_healing, said in ((False, "no steps lead"), (True, "no steps of healing actions alone lead")):

        @recoverable("the start can be reached", by_healing=by_healing)
        def start(state: Node) -> bool:
            return state.at == 0

        trace = searched([moves("go", {0: (1,)}, effect="perturbing")], start).properties[0].traces[0]
        assert f"after step 2, {said} to a state that satisfies start" in plain_text(trace)


def test_mermaid_has_a_loop_box(lasso: Trace[Any]) -> None:
    lines = mermaid(story_of(lasso)).splitlines()
    begins, ends = lines.index("    loop for ever"), lines.index("    end")
    boxed = [line.partition(": ")[2] for line in lines[begins + 1 : ends]]
    assert boxed == ["4. go(instance=0)", "5. go(instance=0) [violated]"]


def test_page_draws_the_loop(lasso: Trace[Any], still: Trace[Any]) -> None:
    drawn = page("lasso", [chapter(1, story_of(lasso))])
    assert drawn.count('<path class="loop"') == 1
    assert "these steps repeat for ever" in drawn
    assert "nothing happens any more" in page("still", [chapter(1, story_of(still))])


def test_page_says_beside_the_last_state_which_actions_are_neglected(lasso: Trace[Any]) -> None:
    drawn = page("lasso", [chapter(1, story_of(lasso))])
    (box,) = (line for line in drawn.splitlines() if line.startswith('<p class="broken">'))
    reasons = box.removesuffix("</p>").partition(": ")[2].split("<br>")
    assert reasons[0] == "from step 4 on, these two steps repeat for ever: go(instance=0); go(instance=0)"
    assert sorted(reasons[1:]) == [
        "goal is enabled again and again, but never taken: it is not fair",
        "rescue is enabled in every state, but never taken: it is not fair",
    ]


def test_json_has_the_number_of_the_state_with_which_the_loop_begins(lasso: Trace[Any]) -> None:
    assert story_object(story_of(lasso))["loop"] == 3


def test_engines_that_do_not_check_liveness_say_so(lasso: Trace[Any]) -> None:
    said = "cannot check again, which is a liveness property \\(kind 'always eventually'\\): "
    for engine in ("spark", "random"):
        with pytest.raises(SpecError, match=said):
            ENGINES[engine](lasso.spec)
    with pytest.raises(SpecError, match=said):
        state_machine(lasso.spec)


def test_optional_property_is_checked_only_if_it_is_named(lasso: Trace[Any]) -> None:
    spec = attrs.evolve(lasso.spec, properties=(), optional=lasso.spec.properties)
    assert not oracle.explore(spec, Limits()).properties
    assert [item.property.name for item in oracle.explore(spec.with_properties(["again"]), Limits()).properties] == [
        "again"
    ]


def test_result_file_keeps_the_counts(lasso: Trace[Any]) -> None:
    from leadline.reports.runs.json_report import read_run, result_object
    from leadline.reports.runs.run_view import view_of_result

    view = view_of_result(oracle.explore(lasso.spec, Limits()))
    content = json.loads(json.dumps(result_object(view, {})))
    assert content["liveness"]["components"] == 4
    assert read_run(content).statistics.liveness == view.statistics.liveness


def test_optional_property_is_found_in_a_replay() -> None:
    """The left side of an optional property is no premise of the spec, so that no search evaluates it."""
    spec = CATALOG["atomic/kip-320"].with_bounds({"log_size": 1, "records": 1, "max_epoch": 0})
    assert not any(item.name == "someone_leads" for item in spec.premises)
    unfair = attrs.evolve(spec, fairness={"leader_writes": ""})
    (item,) = oracle.explore(unfair.with_properties(["all_written"]), Limits()).properties
    assert replay(unfair, decode_trace(encode_trace(item.traces[0]))).loop == item.traces[0].loop
    with pytest.raises(TraceError, match="the loop is not fair: leader_writes is enabled"):
        replay(spec, decode_trace(encode_trace(item.traces[0])))


def test_default_engine_checks_liveness(lasso: Trace[Any]) -> None:
    result = explore(lasso.spec)
    assert result.engine == "compiled"
    assert result.of("again").traces[0].states == lasso.states


@pytest.mark.parametrize("engine", ["oracle", "compiled"])
@pytest.mark.parametrize("kind", [StopKind.INTERRUPT, StopKind.TIME])
def test_check_that_is_stopped_leaves_liveness_undecided(
    lasso: Trace[Any], kind: StopKind, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The invariant is decided, because every state was searched, but the run is incomplete."""

    @invariant("it ends")
    def small(state: Node) -> bool:
        return state.at < 9

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt if kind is StopKind.INTERRUPT else StopSearch(Stop(kind, "reached 1 seconds"))

    learning.explore(lasso.spec, Limits())  # the first search compiles the loops, and checks liveness for this
    monkeypatch.setattr(decide, "counterexample", stopped)
    monkeypatch.setattr(LivenessCheck, "judged", stopped)
    spec = attrs.evolve(lasso.spec, properties=[small, *lasso.spec.properties])
    result = (oracle if engine == "oracle" else learning).explore(spec, Limits())
    assert result.stop is not None
    assert result.stop.kind is kind
    assert result.verdict is Verdict.INCOMPLETE
    assert [item.verdict for item in result.properties] == [Verdict.HOLDS, Verdict.INCOMPLETE]
    assert result.statistics.liveness is None


def test_commands_that_do_not_check_liveness_say_so(tmp_path: Path) -> None:
    common = ["atomic/kip-320", "-i", "all_written"]
    for command in (["mutate", *common], ["diff", *common[:1], "atomic/kip-279", *common[1:]], ["fuzz", *common]):
        found = call(*command, folder=tmp_path)
        assert found.code == 2, command
        assert "cannot check all_written, which is a liveness property (kind 'leads to')" in found.err


NUMBERS = """
from leadline.checker import Spec, action, eventually, invariant


@action("the number grows")
def grow(state):
    if state < 3:
        yield state + 1


@eventually("the number is four")
def four(state):
    return state == 4


@invariant("the number is small")
def small(state):
    return state < 9


spec = Spec(name="numbers", initial_states=lambda _: [0], actions=[grow], properties=[four, small])
"""


OPEN = """
from attrs import frozen

from leadline.checker import Spec, action, eventually


@frozen
class Number:
    value: int = 0


@action("the number grows", fair="weak")
def grow(number):
    if number.value < 3:
        yield Number(number.value + 1)


@action("the number becomes four")
def jump(number):
    if number.value == 0:
        yield Number(4)


@eventually("the number is four")
def four(number):
    return number.value == 4


spec = Spec(
    name="numbers",
    initial_states=lambda _: [Number()],
    actions=[grow, jump],
    properties=[four],
    cut=lambda number: number.value == 3,
)
"""


def test_suite_and_hunt_do_not_leave_liveness_out_silently(tmp_path: Path) -> None:
    (tmp_path / "numbers.py").write_text(NUMBERS)
    (tmp_path / "leadline.toml").write_text('[[check]]\nspec = "numbers.py"\nengine = "fuzz"\nexpect = "incomplete"\n')
    suite = call("check", folder=tmp_path)
    assert suite.code == 2
    assert 'engine = "fuzz" cannot check four, which is a liveness property' in suite.err


def test_a_hunt_judges_liveness_and_says_what_stays_open(tmp_path: Path) -> None:
    never = OPEN.replace("number.value < 3", "number.value < 2")
    for name, text in (("open", OPEN), ("never", never)):
        (tmp_path / f"{name}.py").write_text(text)
        found = call("hunt", f"{name}.py", "--json", f"{name}.json", "--html", f"{name}.html", folder=tmp_path)
        (own,) = json.loads((tmp_path / f"{name}.json").read_text())["specs"]
        if name == "open":
            assert (found.code, [(each["verdict"], each["open"]) for each in own["searches"]]) == (0, [("holds", 1)])
            assert "5, 1 open" in (tmp_path / "open.html").read_text()
        else:
            assert found.err == "leadline: found in never.py: four in 3 states: without a name, no cure (four)\n"
            assert (found.code, [each["loop"] for each in own["causes"]]) == (1, [2])
            assert "no cure (four), in never.py:spec" in (tmp_path / "never.html").read_text()


def test_summaries_say_how_many_states_are_open(tmp_path: Path) -> None:
    (tmp_path / "numbers.py").write_text(OPEN)
    (tmp_path / "leadline.toml").write_text('[[check]]\nspec = "numbers.py"\nexpect = "holds"\n')
    (tmp_path / "matrix.toml").write_text(
        'specs = ["numbers.py"]\nproperties = ["four"]\n[[configurations]]\nname = "all"\n'
    )
    assert "holds, 5 states, 1 of them open" in call("check", folder=tmp_path).out
    assert "holds (5, 1 open)" in call("matrix", "matrix.toml", folder=tmp_path).out
