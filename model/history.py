"""History: when records of a behaviour were committed, when and by which rule they were lost. For all families.

What a family has to say is in `History`: what counts as committed, and how its protocols decide where to truncate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import attrs

from leadline.checker.action import Step
from leadline.checker.drawing import Event
from leadline.model.log import Log, Record
from leadline.model.quorum import Quorum

P = TypeVar("P")

COMMITTED = "committed"
LOST = "lost"
JOINED = "joined"


@attrs.frozen
class Commit:
    """A record that a step committed.

    Attributes:
        offset, record: the record.
        how: how, as a clause: ``consumers can read it``.
        label: what the diagram says.
    """

    offset: int
    record: Record
    how: str
    label: str = COMMITTED


@attrs.frozen
class Truncation:
    """A step in which a broker decided how much of its log to keep.

    Attributes:
        broker: the broker.
        how: what it did and why, without its subject: ``truncates to its high watermark, 0``.
        by_high_watermark: whether its own high watermark decided.
    """

    broker: int
    how: str
    by_high_watermark: bool = False


@attrs.frozen
class MissedWatermark:
    """A high watermark that was sent to a broker and never reached it."""

    broker: int
    high_watermark: int


@attrs.frozen
class FollowerEndOffset:
    """The end offset of a follower's log that its leader has learned, or assumes."""

    leader: int
    broker: int
    end_offset: int


@attrs.frozen
class Join:
    """A step in which a leader considered a broker caught up, and took it into the ISR.

    Attributes:
        broker: the broker that joins.
        how: what the leader knows and decides, as a sentence.
    """

    broker: int
    how: str


def none(_: Any) -> tuple[Any, ...]:
    """No family has to say everything."""
    return ()


def rule(name: str, function: Callable[..., Any]) -> str:
    """A rule of a protocol, as the tables of protocols have it: which it is, and what it says here."""
    return f"rule {name}: {function.__name__.replace('_', ' ')}"


def truncates(before: Log, after: Log) -> str:
    """What became of a log."""
    if after.end_offset == before.end_offset:
        return "keeps its whole log"
    return f"truncates its log to {after.end_offset}"


def short(record: Record) -> str:
    """A record without its leader epoch, which is in the picture."""
    return f"m{record.value}"


@attrs.frozen(eq=False)
class History(Generic[P]):
    """How to find the turning points of a family's behaviours. Called with the steps, it yields them.

    Attributes:
        commits: the records that a step committed.
        truncations: the decisions of a step on what to keep of a log; a crash that loses records is one.
        missed: the high watermarks that were lost on their way in a step.
        counted: the remote log end offsets that a step changed.
        joins: the decisions of a step to take a broker into the ISR.
    """

    commits: Callable[[Step[P]], Iterable[Commit]]
    truncations: Callable[[Step[P]], Iterable[Truncation]]
    missed: Callable[[Step[P]], Iterable[MissedWatermark]] = none
    counted: Callable[[Step[P]], Iterable[FollowerEndOffset]] = none
    joins: Callable[[Step[P]], Iterable[Join]] = none

    def __call__(self, steps: Sequence[Step[P]]) -> Iterator[Event]:
        """The turning points of a behaviour: of committed records that are missing at its end, or else of records
        that differ at one offset."""
        if not steps:
            return
        lost = [self._of_missing(steps, *each) for each in self._first_commits(steps) if each[1].label == COMMITTED]
        found = [event for events in lost for event in events]
        found += self._of_conflicts(steps, written=not found)
        acknowledged = (each for each in self._first_commits(steps) if each[1].label != COMMITTED)
        yield from found or (event for each in acknowledged for event in self._of_missing(steps, *each))

    def _first_commits(self, steps: Sequence[Step[P]]) -> Iterator[tuple[int, Commit]]:
        """Each record once: when it was committed, or else when it was acknowledged."""
        first = dict[tuple[int, Record], tuple[int, Commit]]()
        for state, step in enumerate(steps, start=1):
            for commit in self.commits(step):
                known = first.get((commit.offset, commit.record))
                if known is None or known[1].label != COMMITTED == commit.label:
                    first[commit.offset, commit.record] = (state, commit)
        yield from first.values()

    def _of_missing(self, steps: Sequence[Step[P]], committed: int, commit: Commit) -> list[Event]:
        """How a record was lost; nothing if it was not, or not after it was committed."""
        found = list(self._how_lost(steps, committed, commit))
        return found if any(event.label in (LOST, JOINED) and event.state > committed for event in found) else []

    def _how_lost(self, steps: Sequence[Step[P]], committed: int, commit: Commit) -> Iterator[Event]:
        record, offset = short(commit.record), commit.offset
        yield Event(
            committed, f"{record}, at offset {offset}, is {commit.label}: {commit.how}", commit.label, good=True
        )
        for broker in _lacking(steps[-1].after, commit):
            drops = [
                (state, step)
                for state, step in enumerate(steps, start=1)
                if _holds(_log(step.before, broker), commit) and not _holds(_log(step.after, broker), commit)
            ]
            for state, step in drops:
                reason = self._truncation(step, broker)
                how = reason.how if reason else "no longer has it"
                text = f"broker {broker} {how}, and loses {record}"
                text += f", {commit.label} in step {committed + 1}" if committed < state else f" at offset {offset}"
                if reason and reason.by_high_watermark:
                    text += ", which its own high watermark does not cover yet"
                    yield from self._missed(steps[: state - 1], broker, commit)
                yield Event(state, text, LOST)
            if drops:
                yield from _elected_without(steps, broker, commit, drops[-1][0])
            else:
                yield from _never_had(steps, broker, commit)
            yield from self._miscounted(steps, broker, commit)
            yield from self._joined_without(steps, broker, commit, committed)
            yield from _overwritten(steps, broker, commit)

    def _miscounted(self, steps: Sequence[Step[P]], broker: int, commit: Commit) -> Iterator[Event]:
        """That a leader with a record takes a broker without it for one that has it."""
        for state, step in enumerate(steps, start=1):
            for counted in self.counted(step):
                has_it = [_holds(_log(step.after, each), commit) for each in (counted.leader, counted.broker)]
                if counted.broker == broker and counted.end_offset > commit.offset and has_it == [True, False]:
                    text = f"broker {counted.leader} takes {counted.end_offset} for broker {broker}'s log end offset"
                    yield Event(state, f"{text}, but broker {broker} does not have {short(commit.record)}", "counted")

    def _missed(self, steps: Sequence[Step[P]], broker: int, commit: Commit) -> Iterator[Event]:
        """The last time that a broker would have learned that a record is committed, and did not."""
        for state, step in reversed(list(enumerate(steps, start=1))):
            own = step.after.replicas[broker].high_watermark  # type: ignore[attr-defined]
            for missed in self.missed(step):
                if missed.broker == broker and missed.high_watermark > commit.offset >= own:
                    text = (
                        f"{step.instance.sentence}, and the response that carried high watermark "
                        f"{missed.high_watermark} is lost: broker {broker}'s own stays {own}"
                    )
                    yield Event(state, text, "HW lost")
                    return

    def _joined_without(self, steps: Sequence[Step[P]], broker: int, commit: Commit, committed: int) -> Iterator[Event]:
        """That a broker joined the ISR without a record that was committed before, and why its leader let it."""
        why: tuple[int, str] | None = None
        for state, step in enumerate(steps, start=1):
            for join in self.joins(step):
                why = (state, join.how) if join.broker == broker else why
            before, after = _quorum(step.before), _quorum(step.after)
            if state <= committed or broker not in after.isr - before.isr or _holds(_log(step.after, broker), commit):
                continue
            text = f"broker {broker} joins the ISR without {short(commit.record)}"
            yield from _elected_behind(steps[: state - 1], commit)
            if why is not None and why[0] < state:
                yield Event(why[0], why[1])
            yield Event(state, f"{text}: {why[1]}" if why is not None and why[0] == state else text, JOINED)

    def _truncation(self, step: Step[P], broker: int) -> Truncation | None:
        return next((each for each in self.truncations(step) if each.broker == broker), None)

    def _of_conflicts(self, steps: Sequence[Step[P]], written: bool) -> Iterator[Event]:
        """How brokers came to have different records at one offset, the first at which they do.

        Parameters:
            steps: the steps.
            written: whether to say where each record was written first.
        """
        logs = [replica.log for replica in steps[-1].after.replicas]  # type: ignore[attr-defined]
        for offset in range(max(log.end_offset for log in logs)):
            held = {log[offset]: None for log in logs if log.has(offset)}
            if len(held) < 2:
                continue
            for record in held if written else ():
                yield from _first_written(steps, offset, record)
            for broker, log in enumerate(logs):
                yield from self._kept(steps, broker, offset, log)
            return

    def _kept(self, steps: Sequence[Step[P]], broker: int, offset: int, log: Log) -> Iterator[Event]:
        """The last decision of a broker that left a record which differs from its leader's."""
        if not log.has(offset):
            return
        for state, step in reversed(list(enumerate(steps, start=1))):
            reason = self._truncation(step, broker)
            kept = _log(step.after, broker)
            if reason is None or not kept.has(offset) or kept[offset] != log[offset]:
                continue
            leader = step.after.replicas[broker].leader  # type: ignore[attr-defined]
            other = _log(step.after, leader) if leader is not None else Log()
            if other.has(offset) and other[offset] != log[offset]:
                text = f"broker {broker} {reason.how}; it keeps {short(log[offset])} at offset {offset}, where "
                yield Event(state, f"{text}its leader, broker {leader}, has {short(other[offset])}", "kept")
            return


def _log(state: Any, broker: int) -> Log:
    log: Log = state.replicas[broker].log
    return log


def _quorum(state: Any) -> Quorum:
    quorum: Quorum = state.quorum
    return quorum


def _holds(log: Log, commit: Commit) -> bool:
    return log.has(commit.offset) and log[commit.offset] == commit.record


def _lacking(state: Any, commit: Commit) -> list[int]:
    """The brokers that should have a committed record and do not: leaders, and members of the true ISR.

    If they all have it, those that a leader believes to be in the ISR.
    """
    leaders = list(state.believed_leaders())
    counted = {broker for broker, _ in leaders} | set(state.quorum.isr)
    believed = {member for _, replica in leaders for member in replica.isr}
    for brokers in (counted, believed):
        if lacking := [broker for broker in sorted(brokers) if not _holds(_log(state, broker), commit)]:
            return lacking
    return []


def _never_had(steps: Sequence[Step[Any]], broker: int, commit: Commit) -> Iterator[Event]:
    """That a broker leads, or is in the ISR, without a record that it never had."""
    for state, step in reversed(list(enumerate(steps, start=1))):
        if step.after.believes_to_lead(broker) and not step.before.believes_to_lead(broker):
            text = f"broker {broker} leads in epoch {step.after.replicas[broker].epoch} and never had "
            yield Event(state, f"{text}{short(commit.record)}", LOST)
        quorum, before = step.after.quorum, step.before.quorum
        if quorum.leader == broker != before.leader:
            outside = ", which is not in the ISR" if broker not in before.isr else ""
            yield Event(state, f"the controller elects broker {broker}{outside}; it never had {short(commit.record)}")
            return


def _elected_without(steps: Sequence[Step[Any]], broker: int, commit: Commit, lost: int) -> Iterator[Event]:
    """That a broker that has lost a record is elected, while another one runs that has it.

    The atomic family does not say of a broker whether it runs.
    """
    for state, step in enumerate(steps, start=1):
        quorum, before = _quorum(step.after), _quorum(step.before)
        if state <= lost or quorum.leader != broker or before.leader == broker or before.epoch == quorum.epoch:
            continue
        others = [
            other
            for other, replica in enumerate(step.after.replicas)
            if other not in before.isr and getattr(replica, "up", False) and _holds(replica.log, commit)
        ]
        if others:
            why = "the only member of the ISR" if before.isr == {broker} else "a member of the ISR"
            which = "which is not in the ISR" if broker not in before.isr else why
            yield from _left_with(steps[:state], others[0], commit)
            has = f"broker {others[0]} has {short(commit.record)}, but is not in the ISR"
            yield Event(state, f"the controller elects broker {broker}, {which}; {has}", "elected")


def _elected_behind(steps: Sequence[Step[Any]], commit: Commit) -> Iterator[Event]:
    """That the last leader elected had a record above its own high watermark."""
    for state, step in reversed(list(enumerate(steps, start=1))):
        quorum, before = _quorum(step.after), _quorum(step.before)
        if quorum.leader in (None, before.leader):
            continue
        replica = step.after.replicas[quorum.leader]
        if replica.high_watermark <= commit.offset and _holds(replica.log, commit):
            text = f"broker {quorum.leader} is elected for epoch {quorum.epoch}; its own high watermark is "
            text += f"{replica.high_watermark}, which does not cover {short(commit.record)} yet"
            yield Event(state, text, "elected")
        return


def _left_with(steps: Sequence[Step[Any]], broker: int, commit: Commit) -> Iterator[Event]:
    """When a broker last left the ISR, if it had a record then."""
    for state, step in reversed(list(enumerate(steps, start=1))):
        if broker in _quorum(step.before).isr - _quorum(step.after).isr:
            if _holds(_log(step.after, broker), commit):
                text = f"{step.instance.sentence}: broker {broker}, which has {short(commit.record)}, leaves the ISR"
                yield Event(state, text, "left")
            return


def _overwritten(steps: Sequence[Step[Any]], broker: int, commit: Commit) -> Iterator[Event]:
    for state, step in enumerate(steps, start=1):
        before, after = _log(step.before, broker), _log(step.after, broker)
        if after.has(commit.offset) and not before.has(commit.offset) and not _holds(after, commit):
            text = f"broker {broker} puts {short(after[commit.offset])} at offset {commit.offset}"
            yield Event(state, f"{text}, where {short(commit.record)} belongs", "overwritten")


def _first_written(steps: Sequence[Step[Any]], offset: int, record: Record) -> Iterator[Event]:
    for state, step in enumerate(steps, start=1):
        for broker, replica in enumerate(step.after.replicas):
            if replica.log.has(offset) and replica.log[offset] == record:
                text = f"broker {broker} writes {short(record)} at offset {offset} in epoch {record.epoch}"
                yield Event(state, text, "written", good=True)
                return
