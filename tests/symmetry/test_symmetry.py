"""Searches with symmetry: what they count and show, and what they refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest
from attrs import evolve, frozen

from leadline.checker import (
    Bag,
    Limits,
    Map,
    Result,
    Spec,
    SpecError,
    action,
    component,
    constant,
    eventually,
    identity,
    invariant,
    put,
    step_invariant,
    witness,
)
from leadline.checker.engines import ENGINES
from leadline.checker.engines.oracle import explore as by_oracle
from leadline.checker.identities import Known
from leadline.checker.settings import OracleSettings
from tests.suite.command import call
from tests.symmetry.__main__ import WAYS, compared, faults

Node = Annotated[int, identity("node")]
NODES = range(3)


def nodes(bounds: Any) -> range:
    return NODES


@frozen
class Cells:
    """Three counters, and the node that moved last."""

    last: Node | None = None
    cells: tuple[int, ...] = component(each="node", default=(0, 0, 0))


@action("node {node} goes up", node=nodes)
def up(state: Cells, node: int) -> Iterator[Cells]:
    if state.cells[node] < 3 and state.last != node:
        yield put(evolve(state, last=node), "cells", node, state.cells[node] + 1)


@invariant("no node is last twice")
def together(state: Cells) -> bool:
    return max(state.cells) - min(state.cells) < 3


@invariant("node {node} does not reach two first", node=nodes)
def not_first(state: Cells, node: int) -> bool:
    return state.cells[node] < 2 or sum(state.cells) > 3


def spec_of(*functions: Any, **changes: Any) -> Spec[Any]:
    given: dict[str, Any] = {
        "name": "cells",
        "initial_states": lambda _: [Cells()],
        "actions": [up],
        "properties": [],
        "symmetric": {"node": nodes},
    }
    return Spec(**(given | changes))


def oracle(spec: Spec[Any], **limits: Any) -> Result:
    return WAYS["oracle"](spec, Limits(**limits))


def refusal(spec: Spec[Any]) -> str:
    """Why a search with symmetry refuses a spec, in every way."""
    texts = set()
    for way in WAYS.values():
        with pytest.raises(SpecError) as caught:
            way(spec, Limits(keep_going=True))
        texts.add(str(caught.value).partition(". ")[0])
    (text,) = {text.partition(":")[0] for text in texts}
    return min(texts) if text else ""


@pytest.mark.parametrize("seed", range(16))
def test_random_specs_have_the_orbits_verdicts_and_traces_of_all_permutations(seed: int) -> None:
    for is_odd in (False, True):
        _, wrong = compared(seed, WAYS, most=400, is_odd=is_odd)
        assert not wrong


def test_random_specs_are_of_both_kinds() -> None:
    kinds = [compared(seed, {}, most=400, is_odd=True)[0] for seed in range(12)]
    assert {"symmetric", "refused"} <= set(kinds)


@pytest.mark.parametrize("way", WAYS)
def test_orbits_sum_to_the_states_without_symmetry(way: str) -> None:
    spec = spec_of(properties=[together])
    plain, found = by_oracle(spec, Limits(keep_going=True)), WAYS[way](spec, Limits(keep_going=True))
    now = found.statistics
    assert now.orbits is not None
    assert (now.orbits.permutations, now.orbits.declared, now.orbits.states) == (6, 6, plain.statistics.distinct)
    assert now.distinct < plain.statistics.distinct / 4
    assert (now.depth, found.verdict) == (plain.statistics.depth, plain.verdict)


@pytest.mark.parametrize("way", WAYS)
def test_one_instance_that_is_named_is_judged_in_all_states_of_an_orbit(way: str) -> None:
    for node in NODES:
        name = f"not_first(node={node})"
        result = WAYS[way](spec_of(properties=[not_first]).with_properties([name]), Limits())
        (trace,) = result.of(name).traces
        assert len(trace) == len(by_oracle(spec_of(properties=[not_first]), Limits()).of(name).traces[0])
        assert not faults((trace,))


@pytest.mark.parametrize("way", WAYS)
def test_initial_states_leave_a_smaller_group(way: str) -> None:
    spec = spec_of(initial_states=lambda _: [Cells(last=0)])
    now = WAYS[way](spec, Limits()).statistics
    assert now.orbits is not None
    assert (now.orbits.permutations, now.orbits.declared) == (2, 6)
    assert now.orbits.states == by_oracle(spec, Limits()).statistics.distinct


# What is not symmetric is refused.


@action("the first of those with least goes up")
def first_least(state: Cells) -> Iterator[Cells]:
    node = state.cells.index(min(state.cells))
    if state.cells[node] < 3:
        yield put(state, "cells", node, state.cells[node] + 1)


@action("node {node} goes up unless a smaller number did", node=nodes)
def up_in_order(state: Cells, node: int) -> Iterator[Cells]:
    if state.cells[node] < 3 and (state.last is None or state.last <= node):
        yield put(evolve(state, last=node), "cells", node, state.cells[node] + 1)


@action("a preferred node goes up twice", node=nodes)
def preferred(state: Cells, node: int) -> Iterator[Cells]:
    if sum(state.cells) < 4:
        yield put(state, "cells", node, state.cells[node] + (2 if node == 2 else 1))


@action("some nodes go up", node=(0, 1))
def only_two(state: Cells, node: int) -> Iterator[Cells]:
    if state.cells[node] < 2:
        yield put(state, "cells", node, state.cells[node] + 1)


@invariant("node 1 is behind")
def names_one(state: Cells) -> bool:
    return state.cells[1] < 3


@step_invariant("node 1 does not go to three")
def step_names_one(before: Cells, after: Cells) -> bool:
    return not after.cells[1] == 3 > before.cells[1]


@witness("node 1 is ahead")
def sees_one(state: Cells) -> bool:
    return state.cells == (0, 1, 0)


@invariant("node {node} is never last", node=(0, 1))
def of_two(state: Cells, node: Node) -> bool:
    return state.last != node


@pytest.mark.parametrize("wrong", [first_least, up_in_order, preferred, only_two])
def test_actions_that_are_not_symmetric_are_refused(wrong: Any) -> None:
    text = refusal(spec_of(actions=[wrong]))
    assert "spec cells is not symmetric" in text
    assert wrong.name in text


@pytest.mark.parametrize("wrong", [names_one, step_names_one, sees_one])
def test_properties_that_are_not_symmetric_are_refused(wrong: Any) -> None:
    assert f"{wrong.name} is" in refusal(spec_of(properties=[wrong]))


def test_a_property_of_some_nodes_is_refused() -> None:
    assert "the domains of of_two do not allow" in refusal(spec_of(properties=[of_two]))


def test_constraints_and_final_states_that_name_a_node_are_refused() -> None:
    text = r"spec cells is not symmetric: in Cells\(.*?\), {} is \w+, unlike before moving node [^;]*$"
    assert re.search(text.format("within"), refusal(spec_of(within=lambda state: state.cells[1] < 3)))
    assert re.search(text.format("final"), refusal(spec_of(final=lambda state: state.last == 1)))


@action("node {node} goes up, but node 1 not from one state", node=nodes)
def up_but_once(state: Cells, node: int) -> Iterator[Cells]:
    if state.cells[node] < 21 and not (node == 1 and state.cells == (20, 7, 13)):
        yield put(state, "cells", node, state.cells[node] + 1)


@action("node {node} goes up; node 1 forgets who was last", node=nodes)
def up_and_forget(state: Cells, node: int) -> Iterator[Cells]:
    if state.cells[node] < 2:
        changed = put(state, "cells", node, state.cells[node] + 1)
        yield evolve(changed, last=None) if node == 1 else changed


@action("node {node} becomes the last at last", node=nodes)
def become_last(state: Cells, node: int) -> Iterator[Cells]:
    if state.cells[node] == 2:
        yield evolve(state, last=node)


@pytest.mark.parametrize("way", WAYS)
def test_asymmetry_in_one_state_of_ten_thousand_is_refused(way: str) -> None:
    """The calls in which it shows are those of another action, in a state that no search expands."""
    with pytest.raises(SpecError, match=r": in .*, up_but_once\(node=\d\) .*lead.*, unlike before moving") as caught:
        WAYS[way](spec_of(actions=[up_but_once]), Limits())
    assert "(20, 7, 13)" in str(caught.value)


def test_a_write_that_is_seen_only_later_is_refused() -> None:
    """Node 1 writes what the others leave as it is, and it is so already in the first states."""
    assert "up_and_forget" in refusal(spec_of(actions=[up_and_forget, become_last]))


def test_initial_states_that_no_permutation_leaves_are_refused_with_two_states() -> None:
    odd = Cells(cells=(0, 1, 2))
    text = refusal(spec_of(initial_states=lambda _: [odd]))
    assert str(odd) in text
    assert "which is not one" in text


def test_the_state_is_named() -> None:
    with pytest.raises(SpecError, match=r"symmetric: in Cells\(.*\), preferred") as caught:
        oracle(spec_of(actions=[preferred]))
    assert "moving node " in str(caught.value)


# What annotations say.


class Pair(NamedTuple):
    node: Node
    n: int


@frozen
class Message:
    sender: Node
    parts: tuple[int, Node] = (1, 1)


@frozen(cache_hash=True)
class Kinds:
    either: Node | tuple[Node, int] | None = None
    members: frozenset[Message] = frozenset()
    counts: Bag[Node] = Bag()
    keys: Map[Node, Message] = Map()
    pair: Pair = Pair(0, 0)
    unmarked: Any = ()
    told: tuple[int, ...] = component(each="node", default=(5, 6, 7))
    fixed: int = constant(default=1)


SWAPPED: Any = {"node": {0: 1, 1: 0, 2: 2}}


def swapped(value: Any) -> Any:
    return Known({"node": frozenset([int])}, Kinds).of_class(type(value)).move(value, SWAPPED)


NESTED = frozenset([Message(0), Message(2)])
MOVED = [
    (Kinds(either=0), Kinds(either=1)),
    (Kinds(either=(0, 0)), Kinds(either=(1, 0))),
    (Kinds(members=NESTED), Kinds(members=frozenset([Message(1, (1, 0)), Message(2, (1, 0))]))),
    (Kinds(counts=Bag([0, 0, 2])), Kinds(counts=Bag([1, 1, 2]))),
    (Kinds(keys=Map({0: Message(2)})), Kinds(keys=Map({1: Message(2, (1, 0))}))),
    (Kinds(pair=Pair(1, 1)), Kinds(pair=Pair(0, 1))),
    (Kinds(unmarked=(0, NESTED)), Kinds(unmarked=(0, frozenset([Message(1, (1, 0)), Message(2, (1, 0))])))),
    (Kinds(told=(1, 2, 3)), Kinds(told=(2, 1, 3))),
]


@pytest.mark.parametrize(("given", "expected"), MOVED)
def test_identities_are_moved_where_annotations_say(given: Kinds, expected: Kinds) -> None:
    hash(given)
    found = swapped(given)
    told = expected if given.told != Kinds().told else evolve(expected, told=(6, 5, 7))
    expected_pair = told if given.pair != Pair(0, 0) else evolve(told, pair=Pair(1, 0))
    assert found == expected_pair
    assert hash(found) == hash(expected_pair)
    assert swapped(found) == given


def test_values_of_two_kinds_that_look_alike_are_refused() -> None:
    @frozen
    class Unclear:
        node: int

    Unclear.__annotations__["node"] = Node | int
    with pytest.raises(SpecError, match=r"Unclear\.node may hold a int of two kinds"):
        swapped(Unclear(0))


def test_annotations_that_cannot_be_read_are_refused() -> None:
    @frozen
    class Unknown:
        node: int

    Unknown.__annotations__["node"] = "NotDefined"
    with pytest.raises(SpecError, match="the annotations of Unknown say which values are identities, but cannot"):
        swapped(Unknown(0))


def test_a_tuple_without_an_element_for_a_node_is_refused() -> None:
    with pytest.raises(SpecError, match=r"Cells\.cells has 3 elements, one for each node, but node 3 is not the index"):
        oracle(spec_of(symmetric={"node": range(4)}))


# What combines.


def test_liveness_is_refused() -> None:
    @eventually("a node is last")
    def some_last(state: Cells) -> bool:
        return state.last is not None

    with pytest.raises(SpecError, match="a search with symmetry cannot check some_last"):
        oracle(spec_of(properties=[some_last]))


def test_a_spec_that_declares_nothing_is_refused() -> None:
    with pytest.raises(SpecError, match="spec cells does not say what is symmetric"):
        oracle(spec_of(symmetric={}))


def test_too_many_permutations_are_refused() -> None:
    with pytest.raises(SpecError, match="40,320 permutations of what is symmetric are too many"):
        oracle(spec_of(symmetric={"node": range(8)}))


@pytest.mark.parametrize("symmetric", [["node"], {"node": 3}, {"node": lambda state: [0]}])
def test_declarations_that_are_not_valid_are_refused(symmetric: Any) -> None:
    with pytest.raises(SpecError, match="spec cells: symmetric"):
        spec_of(symmetric=symmetric)


def test_coverage_is_refused() -> None:
    with pytest.raises(SpecError, match="coverage cannot be used with symmetry"):
        ENGINES["oracle"](spec_of(), Limits(coverage=True), settings=OracleSettings(symmetry=True))


def test_several_traces_are_of_several_orbits() -> None:
    @invariant("fewer than four")
    def few(state: Cells) -> bool:
        return sum(state.cells) < 4

    traces = oracle(spec_of(properties=[few]), traces=3, keep_going=True).of("few").traces
    ends = {(tuple(sorted(trace.states[-1].cells)), trace.states[-1].cells[trace.states[-1].last]) for trace in traces}
    assert len(traces) == len(ends) == 3
    assert not faults(traces)


@pytest.mark.parametrize("engine", ["oracle", "compiled"])
def test_the_command_says_what_states_stand_for(engine: str, tmp_path: Path) -> None:
    """The result for programs has the same counts."""
    arguments = ("explore", "atomic/kip-320", "-b", "log_size=1,records=1", "-i", "weak_isr", "--engine", engine)
    plain = call(*arguments, "--json", "-", folder=tmp_path)
    shown = call(*arguments, "--symmetry", folder=tmp_path)
    told = call(*arguments, "--symmetry", "--json", "-", folder=tmp_path).json
    states = plain.json["distinct_states"]
    assert told["orbits"] == {"permutations": 2, "declared": 2, "states": states}
    assert f"that 2 permutations make of it, {states} states in all" in shown.out
    assert shown.code == 0


@pytest.mark.parametrize(
    "options", ["--engine spark", "--coverage", "--checkpoint saved", "--resume saved", "-i leader_learns"]
)
def test_the_command_refuses_what_does_not_combine(options: str, tmp_path: Path) -> None:
    run = call("explore", "atomic/kip-320", "--symmetry", *options.split(), folder=tmp_path)
    assert run.code == 2
    assert run.err.count("\n") == 1
    assert "symmetry" in run.err


def test_a_suite_counts_orbits(tmp_path: Path) -> None:
    suite = """
        [[check]]
        spec = "atomic/kip-320"
        bounds = { log_size = 1, records = 1 }
        properties = ["weak_isr"]
        expect = "holds"
        symmetry = true
        distinct_states = COUNT
    """
    arguments = ("-b", "log_size=1,records=1", "-i", "weak_isr", "--symmetry", "--json", "-")
    told = call("explore", "atomic/kip-320", *arguments, folder=tmp_path).json
    for count, code in ((told["distinct_states"], 0), (told["orbits"]["states"], 1)):
        (tmp_path / "leadline.toml").write_text(suite.replace("COUNT", str(count)))
        run = call("check", folder=tmp_path)
        assert run.code == code
        assert ("but there are" in run.out) == (code == 1)
    (tmp_path / "leadline.toml").write_text(
        suite.replace("COUNT", "1").replace("holds", "incomplete") + 'engine = "fuzz"'
    )
    assert 'symmetry requires engine = "explore"' in call("check", folder=tmp_path).err


# Several kinds, other identities, and premises.

Client = Annotated[str, identity("client")]
Server = Annotated[int, identity("server")]
CLIENTS, SERVERS = ("ann", "bob", "cat"), range(2)


@frozen
class Leases:
    """Which client holds a lease of which server, and who waits for one."""

    waiting: frozenset[Client] = frozenset()
    held: Map[Client, Server] = Map()
    load: tuple[int, ...] = component(each="server", default=(0, 0))


@action("{client} asks", client=CLIENTS)
def ask(state: Leases, client: str) -> Iterator[Leases]:
    if client not in state.held:
        yield evolve(state, waiting=state.waiting | {client})


@action("{server} serves {client}", client=CLIENTS, server=SERVERS)
def serve(state: Leases, client: str, server: int) -> Iterator[Leases]:
    if client in state.waiting and state.load[server] < 2:
        given = evolve(state, waiting=state.waiting - {client}, held=state.held.put(client, server))
        yield put(given, "load", server, state.load[server] + 1)


@action("one who waits, drawn from the state, gives up", client=lambda state: state.waiting)
def give_up(state: Leases, client: Client) -> Iterator[Leases]:
    yield evolve(state, waiting=state.waiting - {client})


def is_held(state: Leases, client: str) -> bool:
    return client in state.held


@invariant("the server of {client} has no other", premise=is_held, client=CLIENTS)
def is_alone(state: Leases, client: str) -> bool:
    return client not in state.held or state.load[state.held[client]] == 1


@invariant("server {server} is not full", premise=lambda state: len(state.held) > 3, server=SERVERS)
def is_not_full(state: Leases, server: int) -> bool:
    return state.load[server] < 2


@pytest.mark.parametrize("way", WAYS)
def test_two_kinds_and_names_as_identities(way: str) -> None:
    spec = Spec(
        name="leases",
        initial_states=lambda _: [Leases()],
        actions=[ask, serve, give_up],
        properties=[is_alone, is_not_full],
        symmetric={"client": CLIENTS, "server": SERVERS},
    )
    plain, found = by_oracle(spec, Limits(keep_going=True)), WAYS[way](spec, Limits(keep_going=True))
    orbits = found.statistics.orbits
    assert orbits is not None
    assert (orbits.permutations, orbits.states) == (12, plain.statistics.distinct)
    assert found.statistics.distinct < plain.statistics.distinct / 4
    for item, other in zip(found.properties, plain.properties, strict=True):
        assert (item.verdict, item.premise) == (other.verdict, other.premise)
        assert [len(trace) for trace in item.traces] == [len(trace) for trace in other.traces]
        assert not faults(item.traces)
