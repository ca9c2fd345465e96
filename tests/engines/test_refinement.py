"""Refinement: a spec does only what a more abstract one allows."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Result, Spec, SpecError, Verdict, action, refines
from leadline.checker.engines import oracle
from leadline.checker.settings import CompiledSettings
from leadline.checker.state import constant
from leadline.checker.traces.itf import read_trace, write_trace
from leadline.checker.traces.replay import replay
from leadline.reports.loading import load_spec
from leadline.reports.traces.story import story_of
from tests.natural import consensus, voting
from tests.specs import learning
from tests.specs.agreement import SMALL
from tests.suite.command import call

LIMITS = Limits(keep_going=True)


@attrs.frozen
class At:
    place: int


@attrs.frozen
class There:
    place: int


def searched(spec: Spec[Any]) -> list[Result]:
    return [
        oracle.explore(spec, LIMITS),
        learning.explore(spec, LIMITS, settings=CompiledSettings(workers=1)),
        learning.explore(spec, LIMITS, settings=CompiledSettings(workers=2, tuning=SMALL)),
    ]


def graph(kind: Callable[[int], Any], name: str, edges: set[tuple[int, int]], first: int) -> Spec[Any]:
    """Return a spec with two actions, one for the edges to even places and one for the others."""

    @action("")
    def to_even(state: Any) -> Iterator[Any]:
        yield from (kind(after) for before, after in sorted(edges) if before == state.place and after % 2 == 0)

    @action("", to=lambda state: sorted(after for before, after in edges if before == state.place))
    def to_odd(state: Any, to: int) -> Iterator[Any]:
        if to % 2:
            yield kind(to)

    return Spec(name=name, initial_states=lambda _: [kind(first)], actions=[to_even, to_odd])


def reached(edges: set[tuple[int, int]], first: int) -> set[int]:
    found, waiting = {first}, [first]
    for before in waiting:
        for one, after in edges:
            if one == before and after not in found:
                found.add(after)
                waiting.append(after)
    return found


def mapping(places: dict[int, int]) -> Callable[[At], There]:
    return lambda state: There(places[state.place])


def test_random_refinements_are_judged_by_their_definition() -> None:
    seen = set()
    for seed in range(150):
        chance = random.Random(seed)
        edges = {(chance.randrange(6), chance.randrange(6)) for _ in range(chance.randint(3, 9))}
        mapped = {place: place % 4 if chance.random() < 0.8 else chance.randrange(4) for place in range(6)}
        likely = chance.choice([0.0, 0.3, 1.0])
        wanted = {(mapped[one], mapped[other]) for one, other in edges if chance.random() < likely}
        wanted |= {(chance.randrange(4), chance.randrange(4)) for _ in range(2)}
        abstract = graph(There, "abstract", wanted, mapped[0] if chance.random() < 0.9 else chance.randrange(4))
        concrete = graph(At, "concrete", edges, 0)
        begins_right = abstract.initials() == [There(mapped[0])]
        spec = attrs.evolve(concrete, properties=refines(abstract, mapping(mapped)))
        if not begins_right:
            with pytest.raises(SpecError, match="in which abstract does not begin"):
                oracle.explore(spec)
            continue
        states = reached(edges, 0)
        steps = {(mapped[one], mapped[other]) for one, other in edges if one in states}
        right = {
            "refines_abstract": all(one == other or (one, other) in wanted for one, other in steps),
            "refines_abstract_to_even": any(one != two and two % 2 == 0 for one, two in steps & wanted),
            "refines_abstract_to_odd": any(one != two and two % 2 for one, two in steps & wanted),
        }
        seen |= set(right.items())
        for result in searched(spec) if seed < 30 else searched(spec)[:1]:
            found = {each.property.name: each.verdict is Verdict.HOLDS for each in result.properties}
            assert found == right, (seed, result.engine)
    assert len(seen) == 6  # each of them holds, and is violated


def test_paxos_refines_voting_and_voting_consensus() -> None:
    for name in ("paxos", "voting"):
        spec = load_spec(str(Path(consensus.__file__).with_name(f"{name}.py")))
        for result in searched(spec):
            assert {each.verdict for each in result.properties} == {Verdict.HOLDS}, result.engine


@action("acceptor {acceptor} votes for anything", acceptor=voting.ACCEPTORS, value=consensus.VALUES)
def vote_unsafely(state: voting.Voting, acceptor: int, value: str) -> Iterator[voting.Voting]:
    own = state.acceptors[acceptor]
    if not voting.voted(own, 1):
        after = attrs.evolve(own, ballot=1, votes=own.votes | {(1, value)})
        yield attrs.evolve(state, acceptors=(*state.acceptors[:acceptor], after, *state.acceptors[acceptor + 1 :]))


def test_a_vote_that_is_not_safe_does_not_refine_consensus(tmp_path: Path) -> None:
    spec = attrs.evolve(voting.spec, actions=[*voting.spec.actions, vote_unsafely])
    lengths = set()
    for result in searched(spec):
        found = result.of("refines_consensus")
        assert found.verdict is Verdict.VIOLATED
        (trace,) = found.traces
        lengths.add(len(trace))
        (why,) = spec.complaints(found.property, *trace.states[-2:])
        assert why.startswith("no step of consensus leads from Consensus(chosen=frozenset({'v")
        write_trace(trace, tmp_path / "trace.itf.json")
        assert replay(spec, read_trace(tmp_path / "trace.itf.json")).states == trace.states
    assert len(lengths) == 1


def test_a_mapping_to_one_state_is_told() -> None:
    spec = attrs.evolve(voting.spec, properties=refines(consensus.spec, lambda state: consensus.Consensus()))
    for result in searched(spec):
        assert result.of("refines_consensus").verdict is Verdict.HOLDS
        assert result.of("refines_consensus_choose").verdict is Verdict.VIOLATED
        assert result.verdict is Verdict.VIOLATED
    with pytest.raises(SpecError, match="never names each action of consensus, so that nothing would be compared"):
        refines(consensus.spec, lambda state: consensus.Consensus(), never=["choose"])


def test_a_step_of_an_action_that_is_never_taken_is_violated() -> None:
    abstract = graph(There, "abstract", {(0, 1), (1, 2)}, 0)
    for never, verdict in (([], Verdict.HOLDS), (["to_odd"], Verdict.VIOLATED), (["to_even"], Verdict.VIOLATED)):
        found = refines(abstract, mapping({place: place for place in range(3)}), never=never)
        for result in searched(attrs.evolve(graph(At, "concrete", {(0, 1), (1, 2)}, 0), properties=found)):
            assert result.of("refines_abstract").verdict is verdict


SPEC = """
from leadline.checker import Spec, action, refines
from attrs import frozen

@frozen
class Clock:
    hour: int

@action("an hour passes")
def tick(clock):
    yield Clock((clock.hour + 1) % 12)

hours = Spec(name="hours", initial_states=lambda bounds: [Clock(0)], actions=[tick])

@frozen
class Watch:
    minute: int

@action("a minute passes", by=(1,))
def pass_minutes(watch, by):
    yield Watch((watch.minute + by) % 720)

def hour_of(watch):
    return {mapped}

spec = Spec(
    name="watch", initial_states=lambda bounds: [Watch(0)], actions=[pass_minutes], properties=refines(hours, hour_of)
)
"""


@pytest.mark.parametrize(
    ("mapped", "code", "said"),
    [
        ("Clock(watch.minute // 60)", 0, "refines_hours_tick"),
        ("Clock(watch.minute // 60 % 11)", 1, "no step of hours leads from Clock(hour=10) to Clock(hour=0)"),
        (
            "Clock(6)",
            2,
            "the initial state Watch(minute=0): it is mapped to Clock(hour=6), in which hours does not begin",
        ),
        ("Clock(0)", 1, "refines_hours_tick  never shown"),
        ("watch.minute // 60", 2, "the mapping to hours must return a Clock, not 0"),
        ("Clock(watch.second)", 2, "raised AttributeError"),
    ],
)
def test_what_a_user_reads(mapped: str, code: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "watch.py").write_text(SPEC.replace("{mapped}", mapped), encoding="utf-8")
    run = call("explore", "watch.py:spec", "--keep-going", folder=tmp_path)
    assert run.code == code
    assert said in run.out + run.err
    assert "Traceback" not in run.err


def test_each_step_has_its_counterpart_beside_it(tmp_path: Path) -> None:
    (tmp_path / "watch.py").write_text(SPEC.replace("{mapped}", "Clock(watch.minute // 360 * 6)"), encoding="utf-8")
    run = call("explore", "watch.py:spec", "--html", "run.html", "--trace-out", ".", folder=tmp_path)
    assert run.code == 1
    assert "360*\n       hours: no step leads here*\n       hours.hour: 6*\n\nrefines_hours is violated" in run.out
    assert "no step leads here" in (tmp_path / "run.html").read_text(encoding="utf-8")
    saved = "watch.py-spec-refines_hours.itf.json"
    shown = json.loads(call("show", saved, "--spec", "watch.py:spec", "--format", "json", folder=tmp_path).out)
    seen = [tuple(state["along"].values()) for state in shown["states"]]
    assert seen == [("-", "0"), *[("nothing changes", "0")] * 359, ("no step leads here", "6")]


def test_a_step_with_a_counterpart_names_it() -> None:
    result = oracle.explore(voting.spec.with_bounds({"ballots": 1}), LIMITS)
    frames = story_of(result.of("refines_consensus_choose").traces[0]).frames
    assert [frame.along["consensus"] for frame in frames[:-1]] == ["-", *["nothing changes"] * (len(frames) - 2)]
    assert frames[-1].along == {"consensus": "choose(value=v1)", "consensus.chosen": "{v1}"}


@attrs.frozen
class Flag:
    on: object


@action("")
def turn(flag: Flag) -> Iterator[Any]:
    yield Flag(1) if flag.on == 0 else 1


@pytest.mark.parametrize(
    ("mapped", "said"),
    [
        (lambda state: Flag(state.place), "action turn() of flag must yield a Flag, not 1"),
        (lambda state: Flag(state.place == 1), "it is mapped to Flag(on=False), in which flag does not begin"),
        (lambda state: Flag(float(state.place)), "it is mapped to Flag(on=0.0), in which flag does not begin"),
        (lambda state: Flag(set()), "a state must be hashable, but Flag.on contains a set"),
    ],
)
def test_values_that_are_not_those_of_the_abstract_spec_are_refused(mapped: Callable[[At], Flag], said: str) -> None:
    flag = Spec(name="flag", initial_states=lambda _: [Flag(0)], actions=[turn])
    concrete = graph(At, "concrete", {(0, 1), (1, 2)}, 0)
    for explore in (oracle.explore, learning.explore):
        with pytest.raises(SpecError) as error:
            explore(attrs.evolve(concrete, properties=refines(flag, mapped)))
        assert said in str(error.value)


def test_a_list_of_properties_among_properties_is_refused() -> None:
    given: list[Any] = [refines(consensus.spec, voting.chosen)]
    with pytest.raises(SpecError, match="properties contains a list: write"):
        attrs.evolve(voting.spec, properties=given)


def test_two_mappings_have_names() -> None:
    other = refines(consensus.spec, voting.chosen, name="also")
    spec = attrs.evolve(voting.spec, properties=[*refines(consensus.spec, voting.chosen), *other])
    assert [item.name for item in spec.properties][2:] == ["also", "also_choose"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((voting.vote, voting.chosen), "refines takes the abstract spec and a mapping, not"),
        ((consensus.spec, 3), "the mapping to consensus must be a function of a state, not 3"),
        ((consensus.spec, lambda: 3), "the mapping to consensus must take one parameter, state, not ()"),
    ],
)
def test_wrong_arguments_are_refused(given: tuple[Any, Any], said: str) -> None:
    with pytest.raises(SpecError) as error:
        refines(*given)
    assert str(error.value).startswith(said)


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(SpecError, match=r"consensus has no action 'chose': did you mean 'choose'\?"):
        refines(consensus.spec, voting.chosen, never=["chose"])


@attrs.frozen
class Limited:
    place: object
    limit: int = constant(default=2)


def test_mapped_states_are_compared_with_their_types_and_constants() -> None:
    """As those of a spec are: 1 and True are two states, and so are states with different constants."""

    @action("")
    def abstract_up(state: Limited) -> Iterator[Limited]:
        if state.place is True:
            yield Limited(5)
        elif int(state.place) < state.limit:  # type: ignore[call-overload]
            yield Limited(state.place + 1)  # type: ignore[operator]

    @action("")
    def up(state: At) -> Iterator[At]:
        if state.place < 3:
            yield At(state.place + 1)

    abstract = Spec(name="abstract", initial_states=lambda _: [Limited(0)], actions=[abstract_up])
    for mapping in (
        lambda state: Limited(state.place, 2 if state.place == 0 else 5),
        lambda state: Limited((0, 1, True, 5)[state.place]),
    ):
        found = refines(abstract, mapping)
        spec = Spec(name="concrete", initial_states=lambda _: [At(0)], actions=[up], properties=found)
        for result in searched(spec):
            assert result.of("refines_abstract").verdict is Verdict.VIOLATED
