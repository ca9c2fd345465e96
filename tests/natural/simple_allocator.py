"""Merz's simple allocator of resources: it promises more than it needs to. `allocator` refines it.

Source: github.com/tlaplus/Examples, specifications/allocator/SimpleAllocator.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, put, subsets

Resources = frozenset[int]


@frozen
class Bounds:
    clients: int = bound(3, "clients", at_least=1, at_most=4)
    resources: int = bound(2, "resources", at_least=1, at_most=3)


@frozen
class Client:
    wants: Resources = frozenset()
    has: Resources = frozenset()


@frozen
class Simple:
    clients: tuple[Client, ...] = component(each="client")
    free: Resources = frozenset()


def clients(bounds: Bounds) -> range:
    return range(bounds.clients)


def resources(bounds: Bounds) -> range:
    return range(bounds.resources)


def some_resources(bounds: Bounds) -> tuple[Resources, ...]:
    return subsets(resources(bounds), at_least=1)


@action("client {client} requests {some}", client=clients, some=some_resources)
def request(state: Simple, client: int, some: Resources) -> Iterator[Simple]:
    if state.clients[client] == Client():
        yield put(state, "clients", client, "wants", some)


@action("{some} are allocated to client {client}", client=clients, some=some_resources, fair="strong each client")
def allocate(state: Simple, client: int, some: Resources) -> Iterator[Simple]:
    own = state.clients[client]
    if some <= state.free & own.wants:
        after = put(state, "clients", client, Client(own.wants - some, own.has | some))
        yield evolve(after, free=state.free - some)


@action("client {client} returns {some}", client=clients, some=some_resources)
def return_some(state: Simple, client: int, some: Resources) -> Iterator[Simple]:
    own = state.clients[client]
    if some < own.has:
        yield evolve(put(state, "clients", client, "has", own.has - some), free=state.free | some)


@action("client {client} returns all", client=clients, fair="weak each")
def return_all(state: Simple, client: int) -> Iterator[Simple]:
    own = state.clients[client]
    if own.has:
        yield evolve(put(state, "clients", client, "has", frozenset()), free=state.free | own.has)


spec = Spec(
    name="simple_allocator",
    initial_states=lambda bounds: [Simple((Client(),) * bounds.clients, frozenset(resources(bounds)))],
    actions=[request, allocate, return_some, return_all],
    bounds=Bounds(),
)
