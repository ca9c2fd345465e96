"""Words of specs: properties with parameters, final states, enabled, relations between bounds, values drawn from the
state, maps, choices and products of initial states. Each means the same in all engines.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from attrs import evolve, frozen

from leadline.checker import (
    Limits,
    Map,
    Spec,
    SpecError,
    TraceError,
    Verdict,
    action,
    bound,
    bounds,
    component,
    enabled,
    fuzz,
    invariant,
    leads_to,
    one_of_each,
    permutations,
    product,
    put,
    step_invariant,
    subsets,
    witness,
)
from leadline.checker.engines import oracle
from leadline.checker.settings import CompiledSettings, RandomSettings
from leadline.checker.stateful import PropertyViolated, state_machine
from leadline.checker.traces.itf import read_trace, write_trace
from leadline.checker.traces.replay import replay
from tests.specs import learning
from tests.specs.agreement import answers, assert_same_answers
from tests.specs.going_wrong import ONLY_LEARNED

WITHOUT_NETS = CompiledSettings(workers=1, tuning=attrs.evolve(ONLY_LEARNED, apart_after=1, many_values=3))
ONE_LAYOUT = CompiledSettings(workers=1, tuning=attrs.evolve(ONLY_LEARNED, apart_after=1))


@frozen
class Bounds:
    n: int = bound(4, "processes", at_least=0, at_most=6)
    t: int = bound(1, "faulty processes", at_least=0, at_most=3)

    @bounds.check("n > 3 * t")
    def enough(self) -> bool:
        return self.n > 3 * self.t


@frozen
class Odd:
    """Bounds whose relations go wrong in all ways. Two of them have the same text."""

    at: int = bound(0, "a number", at_least=0, at_most=9)

    @bounds.check("no 1")
    def goes_wrong(self) -> bool:
        match self.at:
            case 1:
                raise ValueError("it is 1")
            case 2:
                raise SystemExit(0)
            case 3:
                return 3  # type: ignore[return-value]
        return True

    @bounds.check("no 4")
    def is_not_4(self) -> bool:
        return self.at != 4

    @bounds.check("no 4")
    def is_not_5_either(self) -> bool:
        return self.at != 5


def two_parameters(self: Bounds, other: object) -> bool:
    return True


def yields(self: Bounds) -> Iterator[bool]:
    yield True


@frozen
class Message:
    to: int
    number: int


@frozen
class State:
    at: tuple[int, ...] = component(each="process", default=(0, 0, 0, 0))
    messages: frozenset[Message] = frozenset()
    votes: Map[int, int] = Map()


def processes(bounds: Bounds) -> range:
    return range(bounds.n)


def in_flight(state: State) -> frozenset[Message]:
    return state.messages


@action("process {process} sends to {to}", process=processes, to=processes)
def send(state: State, process: int, to: int) -> Iterator[State]:
    if process != to and state.at[process] < 2 and len(state.messages) < 2:
        number = state.at[process] + 1
        yield evolve(put(state, "at", process, number), messages=state.messages | {Message(to, number)})


@action("{message} arrives", message=in_flight)
def receive(state: State, message: Message) -> Iterator[State]:
    votes = state.votes.put(message.to, max(message.number, state.votes.get(message.to, 0)))
    yield evolve(state, messages=state.messages - {message}, votes=votes)


@action("process {process} drops its vote", process=processes)
def drop(state: State, process: int) -> Iterator[State]:
    if state.votes.get(process) == 2:
        yield evolve(state, votes=state.votes.remove(process))


@invariant("process {process} is at 1 or below, unless it is process 2", process=processes)
def low(state: State, process: int) -> bool:
    return state.at[process] < 2 or process == 2


@step_invariant("process {process} never goes back", process=processes)
def forwards(before: State, after: State, process: int) -> bool:
    return before.at[process] <= after.at[process]


@witness("process {process} has a vote for {vote}", process=processes, vote=[1, 2])
def has_vote(state: State, process: int, vote: int) -> bool:
    return state.votes.get(process) == vote


@invariant("receiving is possible when a message is in flight", premise=enabled(receive))
def can_receive(state: State) -> bool:
    return enabled(receive)(state) == bool(state.messages)


@invariant("votes are not counted twice")
def votes_ok(state: State) -> bool:
    return all(vote in (1, 2) for vote in state.votes.values()) and len(state.votes) <= 3


def at_rest(state: State) -> bool:
    return not state.messages and 2 not in state.votes.values()


def spec_with(**changes: Any) -> Spec[State]:
    given: dict[str, Any] = {
        "name": "words",
        "initial_states": lambda _: [State()],
        "actions": [send, receive, drop],
        "properties": [low, forwards, has_vote, can_receive, votes_ok],
        "bounds": Bounds(),
        "final": at_rest,
    }
    return Spec(**{**given, **changes})


def test_all_words_mean_the_same_when_they_are_learned() -> None:
    spec, limits = spec_with(), Limits(keep_going=True, depth=5)
    assert_same_answers(spec, limits)
    expected = oracle.explore(spec, limits)
    for settings in (WITHOUT_NETS, ONE_LAYOUT):
        found = learning.explore(spec, limits, settings=settings)
        assert answers(found) == answers(expected)
        assert found.statistics.learning is not None
        # where the layout changes in the middle, all calls before that are counted here
        assert (found.statistics.learning.called > 0) == (settings is WITHOUT_NETS)


def test_a_property_with_parameters_is_checked_for_each_value() -> None:
    result = learning.explore(spec_with(), Limits(keep_going=True, depth=6))
    violated = [item.property.name for item in result.properties if item.verdict is Verdict.VIOLATED]
    assert violated == ["low(process=0)", "low(process=1)", "low(process=3)"]
    assert result.of("low").verdict is Verdict.VIOLATED
    assert result.of("low(process=2)").verdict is Verdict.INCOMPLETE
    assert result.of("low").property.sentence == "process 0 is at 1 or below, unless it is process 2"
    assert low(State(at=(0, 2, 0, 0)), 0)
    assert not low(State(at=(0, 2, 0, 0)), 1)


def test_instances_of_a_property_are_chosen_by_name() -> None:
    spec = spec_with()
    assert [item.name for item in spec.with_properties(["low"]).checks] == [f"low(process={i})" for i in range(4)]
    assert [item.name for item in spec.with_properties(["low(process=2)"]).checks] == ["low(process=2)"]
    assert [item.name for item in spec.with_properties(["deadlock", "votes_ok"]).checks] == ["votes_ok", "deadlock"]
    assert len(spec.with_bounds({"n": 5}).with_properties(["low"]).checks) == 5
    with pytest.raises(SpecError, match=r"has no property 'low\(process=7\)': did you mean 'low\(process="):
        spec.with_properties(["low(process=7)"])


def test_other_engines_check_instances_too() -> None:
    spec = spec_with(properties=[low])
    found = fuzz(spec, settings=RandomSettings(examples=200))
    assert found.of("low").verdict is Verdict.VIOLATED
    assert found.of("low(process=2)").verdict is Verdict.INCOMPLETE
    machine = state_machine(spec.with_properties(["low"]))()
    machine.begin(State())
    moves = machine.visited.steps(State()).moves
    assert set(map(str, moves)) == {f"send(process={one}, to={to})" for one in range(4) for to in range(4) if one != to}
    machine.states += [put(State(), "at", 0, 1), put(State(), "at", 0, 2)]
    machine.instances += [spec.instances[1]] * 2  # type: ignore[list-item]
    with pytest.raises(PropertyViolated, match=r"low\(process=0\) is violated: it requires that process 0"):
        machine._look()


def test_a_trace_names_the_drawn_value_and_can_be_replayed(tmp_path: Any) -> None:
    spec = spec_with(properties=[has_vote], final=None)
    result = learning.explore(spec, settings=CompiledSettings(workers=1))
    (trace,) = result.of("has_vote(process=1, vote=2)").traces
    last = list(trace.steps)[-1].instance
    assert str(last) == "receive(message=Message(to=1, number=2))"
    assert last.sentence == "Message(to=1, number=2) arrives"
    path = tmp_path / "trace.itf.json"
    write_trace(trace, path)
    assert replay(spec, read_trace(path)).states == trace.states
    recorded = json.loads(path.read_text())
    recorded["states"][-1]["#meta"]["parameters"]["message"]["value"]["to"] = 3
    path.write_text(json.dumps(recorded))
    with pytest.raises(
        TraceError, match=r"receive\(message=Message\(to=3, number=2\)\) is not possible .*, and message drawn"
    ):
        replay(spec, read_trace(path))


def test_the_premise_of_a_property_can_take_its_parameters() -> None:
    def is_ahead(state: State, process: int) -> bool:
        return state.at[process] == 2 and process == 3

    @invariant("process {process} is alone", process=processes, premise=is_ahead)
    def alone(state: State, process: int) -> bool:
        return True

    result = oracle.explore(spec_with(properties=[alone], final=None), Limits(depth=4))
    assert [item.premise for item in result.properties] == [False, False, False, True]
    for after in (is_ahead, lambda state: False):
        leads_to("process {process} goes on", after=after, process=processes)(is_ahead)  # is accepted


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: invariant("x", process=range(2))(lambda state, p: True),
            "parameter 'p' has no domain: declare one with @invariant",
        ),
        (
            lambda: invariant("x")(lambda state, p: True),
            r"must take one parameter, state, not \(state, p\): give p a domain, as in @invariant\('...', p=...\)",
        ),
        (
            lambda: invariant("{q}", p=range(2))(lambda state, p: True),
            "the sentence names {q}, which is not a parameter of the invariant",
        ),
        (lambda: invariant("x", message=in_flight)(lambda state, message: True), "cannot be drawn from the state"),
        (
            lambda: action(fair="weak each other", message=in_flight)(receive.function),
            "fair='weak each other' names 'other', which is not a parameter: it has message",
        ),
        (lambda: action(fair="each message", message=in_flight)(receive.function), "fair must be one of 'weak', "),
        (lambda: action(fair="weak each ", message=in_flight)(receive.function), "names '', which is not a parameter"),
        (lambda: enabled(receive, message=1), "'message' of action receive is drawn from the state: leave it out"),
        (lambda: enabled(send, other=1), "action send has no parameter 'other': it has process, to"),
        (lambda: enabled(send, to=1), "give a value of 'process', .*write any\\(enabled\\(send, process=each\\)"),
        (
            lambda: enabled(low),  # type: ignore[arg-type]
            "enabled takes an action, which is decorated with @action",
        ),
        (lambda: spec_with(bounds=Bounds(n=3)), "bounds n=3,t=1 are not allowed: they require n > 3 \\* t"),
        (lambda: spec_with().with_bounds({"t": 2}), "bounds n=4,t=2 are not allowed: they require n > 3 \\* t"),
        (lambda: bounds.check(""), "@bounds.check requires the text of the relation"),
        (lambda: bounds.check("  "), "@bounds.check requires the text of the relation"),
        (lambda: bounds.check(Bounds.enough), "requires the text of the relation"),  # type: ignore[arg-type]
        (lambda: bounds.check("n")(property(Bounds.enough)), "a method of the bounds class, not a property"),  # type: ignore[arg-type]
        (lambda: bounds.check("n")(lambda: True), "method <lambda> must take one parameter, self, not \\(\\)"),  # type: ignore[arg-type, misc]
        (lambda: bounds.check("n")(two_parameters), "method two_parameters must take one parameter, self, not"),  # type: ignore[arg-type]
        (lambda: bounds.check("n")(yields), "method yields must return True or False, but it is a generator function"),  # type: ignore[arg-type]
        (lambda: spec_with(bounds=Odd(at=1)), "'no 1' between bounds raised ValueError: it is 1"),
        (lambda: spec_with(bounds=Odd(at=2)), "'no 1' between bounds must not exit, but raised SystemExit: 0"),
        (
            lambda: spec_with(bounds=Odd(at=3)),
            r"'no 1' between bounds must return True or False, not 3 \(test_words.py, line \d+\)$",
        ),
        (lambda: spec_with(bounds=Odd(at=4)), "bounds at=4 are not allowed: they require no 4"),
        (lambda: spec_with(bounds=Odd(at=5)), "bounds at=5 are not allowed: they require no 4"),
        (lambda: spec_with(final=True), "final must be a function of a state, not True"),
        (lambda: spec_with(bounds=Bounds(n=1, t=0)).with_bounds({"n": 0, "t": 0}), "require n > 3"),
        (
            lambda: subsets(processes),  # type: ignore[arg-type]
            r"not the function processes: write .* lambda bounds: subsets\(processes\(bounds\)\)",
        ),
        (lambda: permutations(3), "permutations takes a collection, not 3"),  # type: ignore[arg-type]
        (lambda: one_of_each([3]), "one_of_each takes a collection, not 3"),  # type: ignore[arg-type]
        (
            lambda: list(spec_with(initial_states=lambda _: [State(votes=Map({1: (2, [3])}))]).initials()),  # type: ignore[arg-type]
            "a state must be hashable, but State.votes contains a list: use tuples, frozensets and Maps",
        ),
        (lambda: product(State), "product needs the values of at least one field"),
        (
            lambda: product(3, x=range(2)),  # type: ignore[arg-type]
            "product takes the state class",
        ),
        (
            lambda: product(State, at="abc"),
            "the domain of 'at' must be a collection of values or a function of the bounds",
        ),
        (
            lambda: spec_with(initial_states=lambda: [State()]),
            r"initial_states must take one parameter, bounds, not \(\)",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


@frozen
class Counter:
    value: int = 0
    other: int = 0


@action()
def up(state: Counter) -> Iterator[Counter]:
    if state.value < 3:
        yield evolve(state, value=state.value + 1)


@action()
def aside(state: Counter) -> Iterator[Counter]:
    if state.value == 1:
        yield Counter(9)


def is_done(state: Counter) -> bool:
    return state.value == 3


def counter(final: Callable[[Counter], bool] | None, **changes: Any) -> Spec[Counter]:
    return Spec(
        name="counter", initial_states=lambda _: [Counter()], actions=[up, aside], final=final, check_deadlock=True
    )


def test_a_final_state_is_not_a_deadlock() -> None:
    everywhere = counter(lambda state: state.value in (3, 9))
    for spec, violated, length in ((everywhere, False, 0), (counter(is_done), True, 3), (counter(None), True, 3)):
        results = [
            oracle.explore(spec, Limits(keep_going=True)),
            learning.explore(spec, Limits(keep_going=True), settings=WITHOUT_NETS),
            fuzz(spec, settings=RandomSettings(examples=100)),
        ]
        for result in results:
            assert (result.of("deadlock").verdict is Verdict.VIOLATED) == violated, result.engine
            for trace in result.of("deadlock").traces:
                assert len(trace) == length
    (trace,) = learning.explore(counter(is_done), settings=WITHOUT_NETS).of("deadlock").traces
    assert trace.states[-1] == Counter(9)
    assert Spec(name="x", initial_states=lambda _: [Counter()], actions=[up], final=is_done).check_deadlock


def test_many_final_states_do_not_hide_a_deadlock() -> None:
    @action(value=range(200))
    def jump(state: Counter, value: int) -> Iterator[Counter]:
        if state.value == 0:
            yield Counter(10 + value)

    spec = Spec(
        name="jumps",
        initial_states=lambda _: [Counter()],
        actions=[jump],
        final=lambda state: state.value != 150,
    )
    for result in (oracle.explore(spec), learning.explore(spec, settings=WITHOUT_NETS)):
        (trace,) = result.of("deadlock").traces
        assert trace.states[-1] == Counter(150), result.engine


def test_initial_states_may_be_a_generator_a_product_or_a_set_and_count_once() -> None:
    def generated(_: object) -> Iterator[Counter]:
        for value in (0, 1, 0, 1, 2):
            yield Counter(value)

    for initial_states in (generated, product(Counter, value=range(3)), lambda _: {Counter(0), Counter(1), Counter(2)}):
        spec = Spec(name="many", initial_states=initial_states, actions=[up, aside])
        assert len(spec.initials()) == 3
        assert_same_answers(spec, Limits())


def test_initial_states_and_values_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline.checker.spec.MOST_INITIALS", 1_000)
    for endless in (lambda _: map(Counter, itertools.count()), lambda _: itertools.repeat(Counter())):
        spec = Spec(name="endless", initial_states=endless, actions=[up])
        with pytest.raises(
            SpecError, match="initial_states returns more than 1,000 states with no bounds: return fewer"
        ):
            oracle.explore(spec)
    assert len(Spec(name="many", initial_states=lambda _: map(Counter, range(1_000)), actions=[up]).initials()) == 1_000
    monkeypatch.setattr("leadline.checker.parameters.MOST_VALUES", 1_000)
    spec = Spec(name="endless", initial_states=product(Counter, value=lambda _: itertools.count()), actions=[up])
    with pytest.raises(SpecError, match="initial states: the domain of 'value' has more than 1,000 values"):
        spec.initials()


def test_initial_states_of_different_classes_are_refused() -> None:
    spec: Spec[Any] = Spec(name="bad", initial_states=lambda _: [Counter(), State()], actions=[up])
    with pytest.raises(SpecError, match="a state must be a Counter, not a State"):
        spec.initials()
    spec = Spec(name="bad", initial_states=lambda _: [Counter(), Counter([])], actions=[up])  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"Counter.value contains a list"):
        spec.initials()


def test_choices() -> None:
    assert subsets("ab") == (frozenset(), {"a"}, {"b"}, {"a", "b"})
    assert subsets(range(3), at_least=2, at_most=2) == ({0, 1}, {0, 2}, {1, 2})
    assert one_of_each([range(2), [5]]) == ((0, 5), (1, 5))
    assert permutations([1, 2], length=1) == ((1,), (2,))


def test_a_map_is_an_immutable_dict() -> None:
    one = Map({"a": 1, "b": 2})
    assert one == Map([("b", 2), ("a", 1)])
    assert hash(one) == hash(Map([("b", 2), ("a", 1)]))
    assert one.put("a", 3) == Map({"a": 3, "b": 2})
    assert one == Map({"a": 1, "b": 2})
    assert one.remove("a") == Map({"b": 2})
    assert put(one, "a", 7) == Map({"a": 7, "b": 2})
    assert put(Map({"a": (1, 2)}), "a", 0, 5) == Map({"a": (5, 2)})
    assert one != {"a": 1, "b": 2}
    with pytest.raises(KeyError):
        one.remove("c")
    with pytest.raises(TypeError):
        one["a"] = 5  # type: ignore[index]


@frozen
class Part:
    number: int = 0


@frozen
class Held:
    map: Map[int, Any] = Map()
    part: Part = component(default=Part())
    flag: bool = False


@action(key=range(3), number=range(3))
def grow(state: Held, key: int, number: int) -> Iterator[Held]:
    if key not in state.map:
        yield put(state, "map", key, Part(number))


@action(key=range(3))
def keep(state: Held, key: int) -> Iterator[Held]:
    if state.map.get(key) == Part(2) and not state.flag:
        yield evolve(state, part=state.map[key], map=state.map.remove(key), flag=True)


@action(key=range(3))
def copy(state: Held, key: int) -> Iterator[Held]:
    if key in state.map and state.map[key] != state.part:
        yield put(state, "map", key, state.part)


@action()
def mix(state: Held) -> Iterator[Held]:
    if len(state.map) == 3 and all(isinstance(value, Part) for value in state.map.values()):
        yield evolve(state, map=Map({2: frozenset({len(state.map), 1}), 0: state.part}))


@invariant("no key 1 with 2", key=range(3))
def never(state: Held, key: int) -> bool:
    return not (key in state.map and state.map[key] == Part(1) and state.part == Part(2) and len(state.map) == 2)


def test_a_map_is_read_by_key() -> None:
    spec = Spec(name="maps", initial_states=lambda _: [Held()], actions=[grow, keep, copy, mix], properties=[never])
    limits = Limits(keep_going=True)
    assert_same_answers(spec, limits)
    found, expected = learning.explore(spec, limits, settings=WITHOUT_NETS), oracle.explore(spec, limits)
    assert answers(found) == answers(expected)
    learned = found.statistics.learning
    assert learned is not None
    assert learned.actions["grow"] < 100  # as many as there are values of a key, not of the map
    assert fuzz(spec, settings=RandomSettings(examples=300)).of("never").verdict is Verdict.VIOLATED


@frozen
class Private:
    _at: int = 0


@pytest.mark.parametrize("explore", [oracle.explore, learning.explore])
def test_put_replaces_a_field_whose_argument_has_another_name(explore: Callable[[Spec[Private]], Any]) -> None:
    @action("one more")
    def more(state: Private) -> Iterator[Private]:
        if state._at < 3:
            yield put(state, "_at", state._at + 1)

    found = explore(Spec(name="private", initial_states=lambda _: [Private()], actions=[more]))
    assert found.statistics.distinct == 4
    with pytest.raises(TypeError, match="other"):
        put(Private(), "other", 1)
