"""The first protocol of the Nano block chain: blocks that refer to each other by hashes.

Source: github.com/tlaplus/Examples, specifications/NanoBlockchain/Nano.tla and MCNano.tla. The counts published there
are those of a VIEW, which leaves out the hash function.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, invariant, put

Hash = int
Key = int

KEYS = range(2)
NODES = range(2)
BALANCE = 3


@frozen
class Block:
    kind: str
    account: Key | None = None
    previous: Hash | None = None
    source: Hash | None = None
    balance: int | None = None
    destination: Key | None = None
    representative: Key | None = None


@frozen
class Signed:
    block: Block
    data: Hash
    signed_with: Key


Ledger = tuple[Signed | None, ...]


@frozen
class Bounds:
    hashes: int = bound(4, "hashes", at_least=1, at_most=5)


@frozen
class Node:
    ledger: Ledger
    received: frozenset[Signed] = frozenset()


@frozen
class State:
    hash_function: tuple[Block | None, ...]
    nodes: tuple[Node, ...] = component(each="node")
    last_hash: Hash | None = None


def hash_of(state: State, block: Block) -> Hash:
    if block in state.hash_function:
        return state.hash_function.index(block)
    return state.hash_function.index(None)


def hashed(state: State, block: Block, found: Hash) -> State:
    return put(evolve(state, last_hash=found), "hash_function", found, block)


def at(ledger: Ledger, found: Hash | None) -> Block:
    signed = ledger[found] if found is not None else None
    assert signed is not None
    return signed.block


def account_of(ledger: Ledger, found: Hash | None) -> Key | None:
    block = at(ledger, found)
    return block.account if block.kind in ("genesis", "open") else account_of(ledger, block.previous)


def balance_at(ledger: Ledger, found: Hash | None) -> int:
    block = at(ledger, found)
    if block.kind == "open":
        return value_sent(ledger, block.source)
    if block.kind == "receive":
        return balance_at(ledger, block.previous) + value_sent(ledger, block.source)
    if block.kind == "change":
        return balance_at(ledger, block.previous)
    assert block.balance is not None
    return block.balance


def value_sent(ledger: Ledger, found: Hash | None) -> int:
    block = at(ledger, found)
    assert block.balance is not None
    return balance_at(ledger, block.previous) - block.balance


def is_open(ledger: Ledger, account: Key | None) -> bool:
    return any(
        signed is not None and signed.block.kind in ("genesis", "open") and signed.block.account == account
        for signed in ledger
    )


def is_received(ledger: Ledger, source: Hash | None) -> bool:
    return any(
        signed is not None and signed.block.kind in ("open", "receive") and signed.block.source == source
        for signed in ledger
    )


def is_held(ledger: Ledger, found: Hash | None) -> bool:
    return found is not None and ledger[found] is not None


def is_valid(ledger: Ledger, block: Block) -> bool:
    if block.kind == "open":
        return is_sent_to(ledger, block.source, block.account)
    if not is_held(ledger, block.previous):
        return False
    if block.kind == "send":
        assert block.balance is not None
        return block.balance <= balance_at(ledger, block.previous)
    if block.kind == "receive":
        return is_sent_to(ledger, block.source, account_of(ledger, block.previous))
    return True


def is_sent_to(ledger: Ledger, source: Hash | None, account: Key | None) -> bool:
    return is_held(ledger, source) and at(ledger, source).kind == "send" and at(ledger, source).destination == account


def created(state: State, node: int, block: Block) -> Iterator[State]:
    if None not in state.hash_function or not is_valid(state.nodes[node].ledger, block):
        return
    found = hash_of(state, block)
    signed = Signed(block, found, node)
    nodes = tuple(evolve(each, received=each.received | {signed}) for each in state.nodes)
    yield evolve(hashed(state, block, found), nodes=nodes)


def own(state: State, node: int) -> Iterator[Hash]:
    ledger = state.nodes[node].ledger
    for found, signed in enumerate(ledger):
        if signed is not None and account_of(ledger, found) == node:
            yield found


@action("key {key} creates the genesis block", key=KEYS)
def create_genesis(state: State, key: Key) -> Iterator[State]:
    if state.last_hash is not None:
        return
    block = Block("genesis", account=key, balance=BALANCE)
    found = hash_of(state, block)
    nodes = tuple(put(node, "ledger", found, Signed(block, found, key)) for node in state.nodes)
    yield evolve(hashed(state, block, found), nodes=nodes)


@action("node {node} opens its account", node=NODES)
def create_open(state: State, node: int) -> Iterator[State]:
    for representative in KEYS:
        for source in range(len(state.hash_function)):
            yield from created(state, node, Block("open", account=node, source=source, representative=representative))


@action("node {node} sends", node=NODES)
def create_send(state: State, node: int) -> Iterator[State]:
    for previous in own(state, node):
        for destination in KEYS:
            for balance in range(BALANCE + 1):
                yield from created(
                    state, node, Block("send", previous=previous, balance=balance, destination=destination)
                )


@action("node {node} receives", node=NODES)
def create_receive(state: State, node: int) -> Iterator[State]:
    for previous in own(state, node):
        for source in range(len(state.hash_function)):
            yield from created(state, node, Block("receive", previous=previous, source=source))


@action("node {node} changes its representative", node=NODES)
def create_change(state: State, node: int) -> Iterator[State]:
    for previous in own(state, node):
        for representative in KEYS:
            yield from created(state, node, Block("change", previous=previous, representative=representative))


@action("node {node} confirms a block", node=NODES)
def process(state: State, node: int) -> Iterator[State]:
    if None not in state.hash_function:
        return
    at_node = state.nodes[node]
    for signed in at_node.received:
        block, ledger = signed.block, at_node.ledger
        if not is_valid(ledger, block):
            continue
        if block.kind == "open" and is_open(ledger, block.account):
            continue
        if block.kind == "receive" and is_received(ledger, block.source):
            continue
        account = block.account if block.kind == "open" else account_of(ledger, block.previous)
        found = hash_of(state, block)
        if signed.signed_with != account or signed.data != found:
            continue
        changed = put(evolve(at_node, received=at_node.received - {signed}), "ledger", found, signed)
        yield put(hashed(state, block, found), "nodes", node, changed)


@invariant("the types are right")
def type_ok(state: State) -> bool:
    hashes = range(len(state.hash_function))
    return (state.last_hash is None or state.last_hash in hashes) and all(
        len(node.ledger) == len(hashes) and all(signed.data in hashes for signed in node.received)
        for node in state.nodes
    )


@invariant("each block of a ledger is signed by its account")
def is_signed(state: State) -> bool:
    return all(
        signed is None or (signed.signed_with == account_of(node.ledger, found) and signed.data == found)
        for node in state.nodes
        for found, signed in enumerate(node.ledger)
    )


spec = Spec(
    name="nano",
    initial_states=lambda bounds: [State((None,) * bounds.hashes, tuple(Node((None,) * bounds.hashes) for _ in NODES))],
    actions=[create_genesis, create_open, create_send, create_receive, create_change, process],
    properties=[type_ok, is_signed],
    bounds=Bounds(),
)
