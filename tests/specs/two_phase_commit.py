"""Two-phase commit: a spec that has nothing to do with Kafka.

The abstract protocol of Gray and Lamport, "Consensus on Transaction Commit" (2004), section 3, with the
state space of the example `2pc` of Stateright: messages are never lost and never consumed, so that one
can be received again and again.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

import attrs

from leadline.checker import Action, Spec, action, invariant, witness
from leadline.checker.bounds import bound
from leadline.checker.state import component


class Stage(enum.Enum):
    """How far a resource manager has come."""

    WORKING = "working"
    PREPARED = "prepared"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Outcome(enum.Enum):
    """The decision of the transaction manager; also the message with the decision."""

    COMMIT = "commit"
    ABORT = "abort"


@attrs.frozen
class Prepared:
    """The message in which a resource manager says that it can commit."""

    rm: int


@attrs.frozen
class TransactionManager:
    """The transaction manager: the outcome, None while undecided, and the senders of `Prepared` messages received."""

    outcome: Outcome | None = None
    prepared: frozenset[int] = frozenset()


@attrs.frozen
class Transaction:
    """Everybody's state, and every message ever sent."""

    rms: tuple[Stage, ...] = component(each="rm")
    tm: TransactionManager = component(default=TransactionManager())
    sent: frozenset[Prepared | Outcome] = frozenset()

    def with_rm(self, rm: int, stage: Stage) -> Transaction:
        """One resource manager at another stage."""
        return attrs.evolve(self, rms=(*self.rms[:rm], stage, *self.rms[rm + 1 :]))

    def decided(self, outcome: Outcome) -> Transaction:
        """The transaction manager decides, and says so to all."""
        return attrs.evolve(self, tm=attrs.evolve(self.tm, outcome=outcome), sent=self.sent | {outcome})


@attrs.frozen
class Bounds:
    """The size of the transaction."""

    rms: int = bound(3, "resource managers", at_least=1, at_most=9)


def each_rm(bounds: Bounds) -> range:
    """Every resource manager."""
    return range(bounds.rms)


@action("the transaction manager hears that resource manager {rm} is prepared", rm=each_rm)
def tm_receives_prepared(state: Transaction, rm: int) -> Iterator[Transaction]:
    if state.tm.outcome is None and Prepared(rm) in state.sent:
        yield attrs.evolve(state, tm=attrs.evolve(state.tm, prepared=state.tm.prepared | {rm}))


@action("the transaction manager commits")
def tm_commits(state: Transaction) -> Iterator[Transaction]:
    if state.tm.outcome is None and len(state.tm.prepared) == len(state.rms):
        yield state.decided(Outcome.COMMIT)


@action("the transaction manager commits as soon as anybody is prepared")
def tm_commits_too_soon(state: Transaction) -> Iterator[Transaction]:
    if state.tm.outcome is None and state.tm.prepared:
        yield state.decided(Outcome.COMMIT)


@action("the transaction manager aborts")
def tm_aborts(state: Transaction) -> Iterator[Transaction]:
    if state.tm.outcome is None:
        yield state.decided(Outcome.ABORT)


@action("resource manager {rm} is prepared and says so", rm=each_rm)
def rm_prepares(state: Transaction, rm: int) -> Iterator[Transaction]:
    if state.rms[rm] is Stage.WORKING:
        yield attrs.evolve(state.with_rm(rm, Stage.PREPARED), sent=state.sent | {Prepared(rm)})


@action("resource manager {rm} chooses to abort", rm=each_rm)
def rm_chooses_to_abort(state: Transaction, rm: int) -> Iterator[Transaction]:
    if state.rms[rm] is Stage.WORKING:
        yield state.with_rm(rm, Stage.ABORTED)


@action("resource manager {rm} is told to commit", rm=each_rm)
def rm_receives_commit(state: Transaction, rm: int) -> Iterator[Transaction]:
    if Outcome.COMMIT in state.sent:
        yield state.with_rm(rm, Stage.COMMITTED)


@action("resource manager {rm} is told to abort", rm=each_rm)
def rm_receives_abort(state: Transaction, rm: int) -> Iterator[Transaction]:
    if Outcome.ABORT in state.sent:
        yield state.with_rm(rm, Stage.ABORTED)


@invariant("no resource manager has aborted while another has committed", source="Gray and Lamport, section 2")
def consistent(state: Transaction) -> Iterator[str]:
    aborted, committed = (
        [rm for rm, stage in enumerate(state.rms) if stage is end] for end in (Stage.ABORTED, Stage.COMMITTED)
    )
    if aborted and committed:
        yield f"{aborted[0]} has aborted, {committed[0]} has committed"


@witness("all resource managers have aborted")
def abort_agreement(state: Transaction) -> bool:
    return set(state.rms) == {Stage.ABORTED}


@witness("all resource managers have committed")
def commit_agreement(state: Transaction) -> bool:
    return set(state.rms) == {Stage.COMMITTED}


def all_working(bounds: Bounds) -> list[Transaction]:
    """The initial state."""
    return [Transaction((Stage.WORKING,) * bounds.rms)]


def two_phase_commit(rms: int = 3, commits: Action[Transaction, []] = tm_commits) -> Spec[Transaction]:
    """The spec; `commits` is when the transaction manager commits."""
    return Spec(
        name="tests/two-phase-commit",
        summary="resource managers agree on whether a transaction happened",
        initial_states=all_working,
        actions=[
            tm_receives_prepared,
            commits,
            tm_aborts,
            rm_prepares,
            rm_chooses_to_abort,
            rm_receives_commit,
            rm_receives_abort,
        ],
        properties=[consistent, abort_agreement, commit_agreement],
        bounds=Bounds(rms),
        check_deadlock=True,
    )
