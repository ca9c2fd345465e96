"""Merz's allocator of resources with a schedule.

Functions to sets of resources as components, a schedule as a tuple, arrangements drawn from the state, and three
liveness properties under fairness of each client. It refines `simple_allocator`, also what that promises to happen.

Source: github.com/tlaplus/Examples, specifications/allocator/SchedulingAllocator.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import (
    Spec,
    action,
    always_eventually,
    component,
    invariant,
    leads_to,
    permutations,
    put,
    refines,
)
from tests.natural import simple_allocator
from tests.natural.simple_allocator import Bounds, Client, Resources, Simple, clients, resources, some_resources


@frozen
class State:
    clients: tuple[Client, ...] = component(each="client")
    free: Resources = frozenset()
    schedule: tuple[int, ...] = ()


def waiting(state: State) -> tuple[tuple[int, ...], ...]:
    """The orders in which the clients that are not scheduled yet can be scheduled."""
    new = [client for client, each in enumerate(state.clients) if each.wants and client not in state.schedule]
    return permutations(new) if new else ()


@action("client {client} requests {some}", client=clients, some=some_resources)
def request(state: State, client: int, some: Resources) -> Iterator[State]:
    if state.clients[client] == Client():
        yield put(state, "clients", client, "wants", some)


@action("{some} are allocated to client {client}", client=clients, some=some_resources, fair="weak each client")
def allocate(state: State, client: int, some: Resources) -> Iterator[State]:
    own = state.clients[client]
    if client in state.schedule and some <= state.free & own.wants:
        place = state.schedule.index(client)
        if not any(state.clients[earlier].wants & some for earlier in state.schedule[:place]):
            left = (*state.schedule[:place], *state.schedule[place + 1 :])
            yield evolve(
                put(state, "clients", client, Client(own.wants - some, own.has | some)),
                free=state.free - some,
                schedule=left if some == own.wants else state.schedule,
            )


@action("client {client} returns {some}", client=clients, some=some_resources)
def return_some(state: State, client: int, some: Resources) -> Iterator[State]:
    own = state.clients[client]
    if some <= own.has and (own.wants or some != own.has):
        yield evolve(put(state, "clients", client, "has", own.has - some), free=state.free | some)


@action("client {client}, whose request is satisfied, returns all", client=clients, fair="weak each")
def return_all(state: State, client: int) -> Iterator[State]:
    own = state.clients[client]
    if own.has and not own.wants:
        yield evolve(put(state, "clients", client, "has", frozenset()), free=state.free | own.has)


@action("clients are scheduled in the order {order}", order=waiting, fair="weak")
def schedule(state: State, order: tuple[int, ...]) -> Iterator[State]:
    yield evolve(state, schedule=(*state.schedule, *order))


@invariant("no resource is allocated twice")
def exclusive(state: State) -> bool:
    return sum(len(client.has) for client in state.clients) == len(frozenset().union(*(c.has for c in state.clients)))


@invariant("what earlier clients of the schedule return satisfies client {client}", client=clients)
def satisfiable(state: State, client: int) -> bool:
    if client not in state.schedule:
        return True
    earlier = state.schedule[: state.schedule.index(client)]
    own, before = state.clients[client], [state.clients[each] for each in earlier]
    loose = [each.has for number, each in enumerate(state.clients) if number not in state.schedule]
    coming = state.free.union(*loose, *(each.wants | each.has for each in before))
    return bool(own.wants) and own.wants <= coming and not any(own.has & each.wants for each in before)


@leads_to(
    "client {client} returns what it has", client=clients, after=lambda state, client: not state.clients[client].wants
)
def returns(state: State, client: int) -> bool:
    return not state.clients[client].has


def wants(state: State, client: int, resource: int) -> bool:
    return resource in state.clients[client].wants


@leads_to("client {client} gets {resource}", client=clients, resource=resources, after=wants)
def obtains(state: State, client: int, resource: int) -> bool:
    return resource in state.clients[client].has


@always_eventually("client {client} is satisfied again and again", client=clients)
def satisfied(state: State, client: int) -> bool:
    return not state.clients[client].wants


def unscheduled(state: State) -> Simple:
    return Simple(state.clients, state.free)


spec = Spec(
    name="allocator",
    initial_states=lambda bounds: [State((Client(),) * bounds.clients, frozenset(resources(bounds)))],
    actions=[request, allocate, return_some, return_all, schedule],
    properties=[exclusive, satisfiable, returns, obtains, satisfied, *refines(simple_allocator.spec, unscheduled)],
    bounds=Bounds(),
)
