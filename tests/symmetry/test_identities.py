"""Identities of all shapes: every way to search moves them alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import pytest
from attrs import evolve, frozen

from leadline.checker import Bag, Limits, Spec, SpecError, action, component, constant, identity, invariant, put
from leadline.checker.engines.learning.permutations import RowPermutations
from leadline.checker.identities import Known
from leadline.checker.observing.layout import Layout
from leadline.checker.symmetry import Symmetry
from tests.symmetry.__main__ import WAYS


@frozen
class Id:
    """An identity that is an attrs value, which engines split where it is a component."""

    number: int


Whole = Annotated[Id, identity("id")]
Name = Annotated[tuple[str, int], identity("label")]
IDS = (Id(0), Id(1), Id(2))
NAMES = (("a", 0), ("b", 1), ("c", 2))


@frozen
class Places:
    owner: Whole
    named: Name
    leader: Whole = component()
    name: Name = component()


@action("{owner} and {named} take over", owner=IDS, named=NAMES)
def take_over(state: Places, owner: Id, named: tuple[str, int]) -> Iterator[Places]:
    if state.leader == state.owner:
        yield evolve(state, owner=owner, named=named)


@invariant("a leader is an owner")
def is_owner(state: Places) -> bool:
    return state.leader == state.owner or state.name == state.named


@pytest.mark.parametrize("way", WAYS)
def test_identities_that_have_parts_are_moved_as_a_whole(way: str) -> None:
    initials = [Places(owner, name, owner, name) for owner in IDS for name in NAMES]
    spec = Spec(
        name="parts",
        initial_states=lambda _: initials,
        actions=[take_over],
        properties=[is_owner],
        symmetric={"id": IDS, "label": NAMES},
    )
    result = WAYS[way](spec, Limits(keep_going=True))
    orbits = result.statistics.orbits
    assert orbits is not None
    assert (orbits.permutations, orbits.states, result.statistics.distinct) == (36, 81, 4)
    (trace,) = result.of("is_owner").traces
    assert trace.states[0] in initials
    assert len(trace) == 2


Node = Annotated[int, identity("node")]
NODES = (0, 1)


@frozen
class Short:
    votes: tuple[Node, Node] = component(default=(0, 0, 0))


@action("{node} is voted for", node=NODES)
def vote(state: Any, node: int) -> Iterator[Any]:
    yield put(state, "votes", 2, node)


@pytest.mark.parametrize("way", WAYS)
def test_a_tuple_of_another_length_than_its_annotation_is_refused(way: str) -> None:
    spec = Spec(name="short", initial_states=lambda _: [Short()], actions=[vote], symmetric={"node": NODES})
    with pytest.raises(SpecError, match=r"spec short is not symmetric: in .*, vote"):
        WAYS[way](spec, Limits())


@frozen
class Two:
    node: Node = 0
    peer: Annotated[int, identity("peer")] = 0


@action("{peer} is next", peer=NODES)
def follow(state: Two, peer) -> Iterator[Two]:  # type: ignore[no-untyped-def]
    yield evolve(state, peer=peer)


@pytest.mark.parametrize("way", WAYS)
def test_a_domain_of_two_kinds_needs_an_annotation(way: str) -> None:
    initials = [Two(node, peer) for node in NODES for peer in NODES]
    spec = Spec(
        name="two", initial_states=lambda _: initials, actions=[follow], symmetric={"node": NODES, "peer": NODES}
    )
    with pytest.raises(SpecError, match=r"the values of follow\(peer\) are those of node and peer: annotate it"):
        WAYS[way](spec, Limits())


@pytest.mark.parametrize("hint", [Sequence[Node], Mapping[int, Node] | None, tuple[Sequence[Node], ...], list[Node]])
def test_identities_in_annotations_that_are_not_followed_are_refused(hint: Any) -> None:
    known = Known({"node": frozenset([int])}, Two)
    with pytest.raises(SpecError, match=r"Two\.nodes has identities in a (Sequence|Mapping|list): annotate it as a"):
        known.of_hint(hint, "Two.nodes")
    assert known.of_hint(Sequence[Annotated[int, identity("other")]], "Two.nodes") is known.anything


@pytest.mark.parametrize("hint", [tuple[int, ...], Bag[int]])
def test_a_mark_of_a_whole_collection_is_refused(hint: Any) -> None:
    with pytest.raises(SpecError, match=r"Two\.nodes is marked as an identity, but it is a (tuple|Bag): mark what is"):
        Known({"node": frozenset([int])}, Two).of_hint(Annotated[hint, identity("node")], "Two.nodes")


@action("{node} is chosen", node=range(2))
def choose(state: Two, node) -> Iterator[Two]:  # type: ignore[no-untyped-def]
    yield evolve(state, node=node)


@action("{node} is chosen", node=range(2))
def choose_marked(state: Two, node: Node) -> Iterator[Two]:
    yield evolve(state, node=node)


@pytest.mark.parametrize("way", WAYS)
def test_a_parameter_that_nothing_marks_is_named(way: str) -> None:
    def spec(taken: Any) -> Spec[Any]:
        initials = [Two(node) for node in NODES]
        return Spec(name="two", initial_states=lambda _: initials, actions=[taken], symmetric={"node": range(2)})

    with pytest.raises(
        SpecError, match=r"; if choose\(node\) is a node, use the domain in Spec\.symmetric, or annotate"
    ):
        WAYS[way](spec(choose), Limits())
    assert WAYS[way](spec(choose_marked), Limits()).statistics.distinct == 1


@frozen
class Seen:
    seen: frozenset[Node] = frozenset()


def test_permutations_of_rows_are_right_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Spec(name="seen", initial_states=lambda _: [Seen()], actions=[vote], symmetric={"node": range(3)})
    symmetry, layout = Symmetry(spec), Layout(Seen(), apart=frozenset(["seen"]))
    permutations = RowPermutations(layout, symmetry)
    row, slot_of = layout.row(Seen(frozenset([0]))), layout.slot_of
    left = [True] * 3

    def interrupted(*given: Any) -> int:
        slot = slot_of(*given)
        if left and left.pop():
            raise KeyboardInterrupt
        return slot

    monkeypatch.setattr(layout, "slot_of", interrupted)
    while True:
        try:
            permutations.extend()
            break
        except KeyboardInterrupt:
            pass
    for which, by in enumerate(symmetry.group):
        assert layout.state(permutations.row(which, row)) == symmetry.state(by, Seen(frozenset([0])))


@frozen
class Numbered:
    number: int = constant()


@frozen
class Led:
    leader: Node | None = None
    bad: bool = False
    cells: tuple[Numbered | None, ...] = component(each="node", default=(None, None))


@action("{node} leads", node=NODES)
def lead(state: Led, node: int) -> Iterator[Led]:
    if state.leader is None:
        yield evolve(state, leader=node)


@action("{node} begins", node=NODES)
def begin(state: Led, node: int) -> Iterator[Led]:
    if state.leader == node and state.cells[node] is None:
        yield put(state, "cells", node, Numbered(node))


@action("{node} goes", node=NODES)
def go(state: Led, node: int) -> Iterator[Led]:
    cell = state.cells[node]
    if cell is not None and cell.number == 1:
        yield evolve(state, bad=True)


@invariant("nothing is bad")
def is_good(state: Led) -> bool:
    return not state.bad


@pytest.mark.parametrize("way", WAYS)
def test_constants_that_differ_between_elements_are_refused(way: str) -> None:
    spec = Spec(
        name="led",
        initial_states=lambda _: [Led()],
        actions=[lead, begin, go],
        properties=[is_good],
        symmetric={"node": NODES},
    )
    with pytest.raises(SpecError, match=r"constant Numbered\.number is not the same in every state"):
        WAYS[way](spec, Limits())


@frozen
class Group:
    members: frozenset[Annotated[str, identity("name")]] = frozenset()


@pytest.mark.parametrize("way", WAYS)
def test_a_state_that_begins_with_nothing_but_an_empty_collection(way: str) -> None:
    names = ("a", "b", "c")

    @action("{name} joins", name=names)
    def join(state: Group, name: str) -> Iterator[Group]:
        if name not in state.members:
            yield Group(state.members | {name})

    spec = Spec(name="group", initial_states=lambda _: [Group()], actions=[join], symmetric={"name": names})
    found = WAYS[way](spec, Limits()).statistics
    assert found.orbits is not None
    assert (found.distinct, found.orbits.states) == (4, 8)
