"""Explains a trace: finds the steps that committed records, and the steps and rules by which these records were lost.

Each family of specs has a `History`, which says which records a step commits and why brokers truncate their logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Never, Protocol, TypeVar

import attrs

from leadline.checker.action import Step
from leadline.checker.drawing import Event
from leadline.model.leadership import HasLeader
from leadline.model.log import Log, Record
from leadline.model.quorum import Quorum


class HasLog(HasLeader, Protocol):
    """A replica with a log and a high watermark."""

    @property
    def log(self) -> Log: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def isr(self) -> frozenset[int]: ...


class HasReplicas(Protocol):
    """A state with a quorum and a replica for each broker, as in `leadline.model.leadership.Leadership`."""

    @property
    def quorum(self) -> Quorum: ...
    @property
    def replicas(self) -> Sequence[HasLog]: ...
    def believes_to_lead(self, broker: int) -> bool: ...
    def believed_leaders(self) -> Iterator[tuple[int, HasLog]]: ...


P = TypeVar("P", bound=HasReplicas)

COMMITTED = "committed"
LOST = "lost"
JOINED = "joined"
COUNTED = "counted"
NOT_AWAITED = "not awaited"


@attrs.frozen
class Commit:
    """A record that a step committed or acknowledged.

    Attributes:
        offset: the offset of the record.
        how: a clause that says in which sense the record was committed, such as ``consumers can read it``.
        label: the label of the commit in diagrams.
    """

    offset: int
    record: Record
    how: str
    label: str = COMMITTED


@attrs.frozen
class Truncation:
    """A step in which a broker decides how much of its log to keep.

    Attributes:
        broker: the broker that truncates.
        how: a phrase that gives the decision and its reason, such as ``truncates to its high watermark, 0``.
        by_high_watermark: whether the broker truncates to its own high watermark.
    """

    broker: int
    how: str
    by_high_watermark: bool = False


@attrs.frozen
class MissedWatermark:
    """A high watermark that was sent to a broker but did not reach it."""

    broker: int
    high_watermark: int


@attrs.frozen
class FollowerEndOffset:
    """A log end offset that a leader stores for a follower, even if the follower's log does not end there."""

    leader: int
    broker: int
    end_offset: int


@attrs.frozen
class Join:
    """A step in which a leader considers a broker caught up and admits it to the ISR.

    Attributes:
        broker: the broker that joins.
        how: a sentence that gives the offsets that the leader compares and the rule that it applies.
    """

    broker: int
    how: str


@attrs.frozen
class Answer:
    """A step in which a leader tells a broker where to truncate.

    Attributes:
        broker: the broker that receives the answer.
        how: a sentence that describes the answer.
    """

    broker: int
    how: str


@attrs.frozen
class Stall:
    """A step after which a leader does not commit a record, although every member of the ISR that it knows has it.

    Attributes:
        offset: the offset of the first such record.
        how: a sentence that says why the leader does not commit it.
    """

    leader: int
    offset: int
    how: str


def none(_: object) -> tuple[Never, ...]:
    """Return an empty tuple. This function is the default for the optional functions of a `History`."""
    return ()


def _zero(_: object) -> int:
    return 0


def _own_isr(state: HasReplicas, leader: int) -> frozenset[int]:
    return state.replicas[leader].isr


def rule(name: str, function: Callable[..., object]) -> str:
    """Describe a protocol's rule by its name and by the name of the function that implements it."""
    return f"rule {name}: {function.__name__.replace('_', ' ')}"


def truncates(before: Log, after: Log) -> str:
    """Return a phrase that describes how a log was truncated."""
    if after.end_offset == before.end_offset:
        return "keeps its whole log"
    return f"truncates its log to {after.end_offset}"


def short(record: Record) -> str:
    """Return the text of a record without its leader epoch. In diagrams, the colour shows the leader epoch."""
    return f"m{record.value}"


@attrs.frozen(eq=False)
class History(Generic[P]):
    """Yields the events in a trace that explain how records were lost.

    Attributes:
        commits: returns the records that a step committed or acknowledged.
        truncations: returns the truncations in a step, including crashes that lose records.
        missed: returns the high watermarks that were lost in a step, together with the responses that contained them.
        counted: returns the remote log end offsets that a step changed. See `FollowerEndOffset`.
        joins: returns the brokers that leaders decide to admit to the ISR in a step.
        answers: returns the answers by which leaders tell brokers where to truncate in a step.
        stalls: returns the leaders that do not commit a record after a step, although they could.
        waits: returns sentences that say why brokers wait for ever, or do the same for ever, after a step.
        starts: returns sentences that say why the starts of logs moved in a step.
        kept_from: returns the offset below which records need not survive.
        waited_for: returns the brokers whose log end offsets limit the high watermark of a leader.
    """

    commits: Callable[[Step[P]], Iterable[Commit]]
    truncations: Callable[[Step[P]], Iterable[Truncation]]
    missed: Callable[[Step[P]], Iterable[MissedWatermark]] = none
    counted: Callable[[Step[P]], Iterable[FollowerEndOffset]] = none
    joins: Callable[[Step[P]], Iterable[Join]] = none
    answers: Callable[[Step[P]], Iterable[Answer]] = none
    stalls: Callable[[Step[P]], Iterable[Stall]] = none
    waits: Callable[[Step[P]], Iterable[str]] = none
    starts: Callable[[Step[P]], Iterable[str]] = none
    kept_from: Callable[[P], int] = _zero
    waited_for: Callable[[P, int], frozenset[int]] = _own_isr

    def __call__(self, steps: Sequence[Step[P]]) -> Iterator[Event]:
        """Yield the events that explain the last state of a trace.

        If committed records are missing in the last state, the events explain how they were lost. Otherwise, if
        replicas have different records at the same offset, the events explain how this happened. Otherwise, the events
        explain how acknowledged records were lost, or why a partition is stuck.
        """
        if not steps:
            return
        lost = [self._of_missing(steps, *each) for each in self._first_commits(steps) if each[1].label == COMMITTED]
        found = [event for events in lost for event in events]
        found += self._of_conflicts(steps, written=not found)
        acknowledged = (each for each in self._first_commits(steps) if each[1].label != COMMITTED)
        found = found or [event for each in acknowledged for event in self._of_missing(steps, *each)]
        yield from found or self._of_stalls(steps)
        yield from (Event(state, how) for state, step in enumerate(steps, start=1) for how in self.starts(step))

    def _first_commits(self, steps: Sequence[Step[P]]) -> Iterator[tuple[int, Commit]]:
        """Yield a (step number, commit) pair for the first commit of each record. If a record was never committed,
        yield its first acknowledgement.
        """
        first = dict[tuple[int, Record], tuple[int, Commit]]()
        low = self.kept_from(steps[-1].after)
        for state, step in enumerate(steps, start=1):
            for commit in self.commits(step):
                if commit.offset < low:
                    continue
                known = first.get((commit.offset, commit.record))
                if known is None or known[1].label != COMMITTED == commit.label:
                    first[commit.offset, commit.record] = (state, commit)
        yield from first.values()

    def _of_missing(self, steps: Sequence[Step[P]], committed: int, commit: Commit) -> list[Event]:
        """Return the events that explain how a committed record was lost, or an empty list if it was not lost."""
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
                how = f"broker {broker} {reason.how}, and" if reason else f"{step.instance.sentence}: broker {broker}"
                text = f"{how} loses {record}"
                text += f", {commit.label} in step {committed + 1}" if committed < state else f" at offset {offset}"
                if reason and reason.by_high_watermark:
                    text += ", which its own high watermark does not cover yet"
                    yield from self._missed(steps[: state - 1], broker, commit)
                elif reason:
                    yield from _appended_after_later_epoch(steps[: state - 1], broker, commit)
                    yield from self._answered(steps[: state - 1], broker)
                yield Event(state, text, LOST)
            if drops:
                yield from _elected_without(steps, broker, commit, drops[-1][0])
            else:
                yield from _never_had(steps, broker, commit, committed)
            early = (
                []
                if (late := [*self._miscounted(steps, broker, commit)])
                else [*self._committed_without(steps[:committed], broker, commit)]
            )
            yield from (*late, *early)
            since = next((event.state for event in early if event.label == COUNTED), committed + 1)
            if any(event.label == NOT_AWAITED for event in early):
                since = _member_since(steps[:committed], broker) or since
            yield from self._joined_without(steps, broker, commit, since)
            yield from _became_eligible(steps, broker)
            yield from _overwritten(steps, broker, commit)

    def _miscounted(self, steps: Sequence[Step[P]], broker: int, commit: Commit) -> Iterator[Event]:
        """Yield the steps in which a leader counts a record as replicated to a broker that does not have the record."""
        for state, step in enumerate(steps, start=1):
            for counted in self.counted(step):
                has_it = [_holds(_log(step.after, each), commit) for each in (counted.leader, counted.broker)]
                if counted.broker == broker and counted.end_offset > commit.offset and has_it == [True, False]:
                    text = (
                        f"broker {counted.leader} assumes that broker {broker}'s log end offset is {counted.end_offset}"
                    )
                    yield Event(state, f"{text}, but broker {broker} does not have {short(commit.record)}", COUNTED)

    def _committed_without(self, steps: Sequence[Step[P]], broker: int, commit: Commit) -> Iterator[Event]:
        """Yield the step because of which a leader could commit a record that a broker does not have.

        The high watermark depends on what the leader believes of the other replicas, so this is the last step that
        wrote it: the step in which the leader stopped waiting for the broker, or the one in which it counted a log end
        offset that includes the record, possibly before the record was written.

        Parameters:
            steps: the steps up to the commit.
            commit: the record.
        """
        after = steps[-1].after
        leader = next((each for each, replica in after.believed_leaders() if _holds(replica.log, commit)), broker)
        record, has_it = short(commit.record), _holds(_log(after, broker), commit)
        if leader == broker:
            return
        if broker not in self.waited_for(after, leader):
            if has_it:
                return
            for state, step in reversed(list(enumerate(steps, start=1))):
                if broker in self.waited_for(step.before, leader) and step.before.believes_to_lead(leader):
                    text = f"{step.instance.sentence}: broker {leader} no longer waits for broker {broker}"
                    yield Event(state, f"{text}, which does not have {record}", NOT_AWAITED)
                    return
                if not step.before.believes_to_lead(leader):
                    return
            return
        for state, step in reversed(list(enumerate(steps, start=1))):
            for counted in self.counted(step):
                if (counted.leader, counted.broker) == (leader, broker) and counted.end_offset > commit.offset:
                    text = f"broker {leader} assumes that broker {broker}'s log end offset is {counted.end_offset}"
                    epoch = after.replicas[leader].epoch
                    if step.after.replicas[leader].epoch != epoch:
                        yield Event(state, f"{text}, and still does when it leads in epoch {epoch}", COUNTED)
                    elif not has_it:
                        yield Event(state, f"{text}, and later takes {record} to be there", COUNTED)
                    return

    def _missed(self, steps: Sequence[Step[P]], broker: int, commit: Commit) -> Iterator[Event]:
        """Yield the last step in which a high watermark above a committed record was sent to a broker but did not reach
        it.
        """
        for state, step in reversed(list(enumerate(steps, start=1))):
            own = step.after.replicas[broker].high_watermark
            for missed in self.missed(step):
                if missed.broker == broker and missed.high_watermark > commit.offset >= own:
                    text = (
                        f"{step.instance.sentence}, and the response that carried high watermark "
                        f"{missed.high_watermark} is lost: broker {broker}'s own stays {own}"
                    )
                    yield Event(state, text, "HW lost")
                    return

    def _answered(self, steps: Sequence[Step[P]], broker: int) -> Iterator[Event]:
        """Yield the last step in which a leader told a broker where to truncate."""
        for state, step in reversed(list(enumerate(steps, start=1))):
            for answer in self.answers(step):
                if answer.broker == broker:
                    yield Event(state, answer.how)
                    return

    def _joined_without(self, steps: Sequence[Step[P]], broker: int, commit: Commit, since: int) -> Iterator[Event]:
        """Yield the steps in which a broker joins the ISR although it lacks a committed record, and the reasons why its
        leader admits it.

        Parameters:
            steps: the steps of the trace.
            commit: the record.
            since: the first state in which joining is a cause of the loss: the one after the commit, or an earlier one
                if the leader counted the record before it was written, or did not wait for a member of the ISR.
        """
        why: tuple[int, str] | None = None
        for state, step in enumerate(steps, start=1):
            for join in self.joins(step):
                why = (state, join.how) if join.broker == broker else why
            before, after = step.before.quorum, step.after.quorum
            if broker not in after.isr - before.isr or after.leader == broker != before.leader:
                continue
            if state < since or _holds(_log(step.after, broker), commit):
                continue
            is_written = any(_holds(replica.log, commit) for replica in step.after.replicas)
            text = f"broker {broker} joins the ISR" + f" without {short(commit.record)}" * is_written
            yield from _elected_behind(steps[: state - 1], commit)
            if why is not None and why[0] < state:
                yield Event(why[0], why[1])
            yield Event(state, f"{text}: {why[1]}" if why is not None and why[0] == state else text, JOINED)

    def _truncation(self, step: Step[P], broker: int) -> Truncation | None:
        return next((each for each in self.truncations(step) if each.broker == broker), None)

    def _of_conflicts(self, steps: Sequence[Step[P]], written: bool) -> Iterator[Event]:
        """Yield the events that explain the first offset at which the logs of brokers have different records.

        Parameters:
            steps: the steps of the trace.
            written: whether to include the steps in which these records were first written.
        """
        logs = [replica.log for replica in steps[-1].after.replicas]
        for offset in range(max(log.end_offset for log in logs)):
            held = {log[offset]: None for log in logs if log.has(offset)}
            if len(held) < 2:
                continue
            for record in held if written else ():
                yield from _first_written(steps, offset, record)
            for broker, log in enumerate(logs):
                yield from self._kept(steps, broker, offset, log)
            return

    def _of_stalls(self, steps: Sequence[Step[P]]) -> Iterator[Event]:
        """Yield the events that explain why a leader does not commit a record at the end of a trace."""
        for last in self.stalls(steps[-1]):
            yield from _first_written(steps, last.offset, _log(steps[-1].after, last.leader)[last.offset])
            first = (len(steps), last)
            for state, step in reversed(list(enumerate(steps, start=1))):
                now = [each for each in self.stalls(step) if (each.leader, each.offset) == (last.leader, last.offset)]
                if not now:
                    break
                first = (state, now[0])
            yield Event(first[0], first[1].how, "not committed")
            yield from _stopped(steps)
            return
        for how in self.waits(steps[-1]):
            yield Event(len(steps), how, "stuck")

    def _kept(self, steps: Sequence[Step[P]], broker: int, offset: int, log: Log) -> Iterator[Event]:
        """Yield the last truncation in which a broker kept a record that differs from its leader's record."""
        if not log.has(offset):
            return
        for state, step in reversed(list(enumerate(steps, start=1))):
            reason = self._truncation(step, broker)
            kept = _log(step.after, broker)
            if reason is None or not kept.has(offset) or kept[offset] != log[offset]:
                continue
            leader = step.after.replicas[broker].leader
            other = _log(step.after, leader) if leader is not None else Log()
            if other.has(offset) and other[offset] != log[offset]:
                text = f"broker {broker} {reason.how}; it keeps {short(log[offset])} at offset {offset}, where "
                yield Event(state, f"{text}its leader, broker {leader}, has {short(other[offset])}", "kept")
            return


def _log(state: HasReplicas, broker: int) -> Log:
    return state.replicas[broker].log


def _holds(log: Log, commit: Commit) -> bool:
    return log.has(commit.offset) and log[commit.offset] == commit.record


def _lacking(state: HasReplicas, commit: Commit) -> list[int]:
    """Return the brokers that should have a committed record but do not.

    All members of the quorum's ISR, and all brokers that believe they lead, should have the record. If all of them have
    it, return the members of a leader's own ISR that do not.
    """
    leaders = list(state.believed_leaders())
    counted = {broker for broker, _ in leaders} | set(state.quorum.isr)
    believed = {member for _, replica in leaders for member in replica.isr}
    for brokers in (counted, believed):
        if lacking := [broker for broker in sorted(brokers) if not _holds(_log(state, broker), commit)]:
            return lacking
    return []


def _member_since(steps: Sequence[Step[P]], broker: int) -> int:
    """Return the state in which a broker joined the controller's ISR, or 0 if it is not a member at the end, or has
    always been one.
    """
    outside = [state for state, step in enumerate(steps, start=1) if broker not in step.before.quorum.isr]
    return outside[-1] if outside and broker in steps[-1].after.quorum.isr else 0


def _became_eligible(steps: Sequence[Step[P]], broker: int) -> Iterator[Event]:
    """Yield the last step in which a broker that is elected later from outside of the ISR became an eligible leader
    replica (KIP-966).
    """
    elected = (state for state, step in enumerate(steps) if _is_elected(step, broker))
    until = max(elected, default=0)
    if not until or broker in steps[until].before.quorum.isr:
        return
    for state, step in reversed(list(enumerate(steps[:until], start=1))):
        if broker in step.after.quorum.elr - step.before.quorum.elr:
            yield Event(
                state, f"{step.instance.sentence}: broker {broker} becomes an eligible leader replica", "eligible"
            )
            return


def _is_elected(step: Step[P], broker: int) -> bool:
    return step.after.quorum.leader == broker != step.before.quorum.leader


def _never_had(steps: Sequence[Step[P]], broker: int, commit: Commit, committed: int) -> Iterator[Event]:
    """Yield the steps in which a broker that never had a committed record is elected."""
    for state, step in reversed(list(enumerate(steps, start=1))):
        if not any(_holds(replica.log, commit) for earlier in steps[:state] for replica in earlier.before.replicas):
            return  # the record has not been written yet
        if step.after.believes_to_lead(broker) and not step.before.believes_to_lead(broker):
            text = f"broker {broker} leads in epoch {step.after.replicas[broker].epoch} and never had "
            yield Event(state, f"{text}{short(commit.record)}", LOST if state > committed else "")
        if _is_elected(step, broker):
            outside = f", {_standing(step.before.quorum, broker)}" if broker not in step.before.quorum.isr else ""
            yield Event(state, f"the controller elects broker {broker}{outside}; it never had {short(commit.record)}")
            return


def _elected_without(steps: Sequence[Step[P]], broker: int, commit: Commit, lost: int) -> Iterator[Event]:
    """Yield the steps in which a broker that has lost a record is elected, and say who else has the record.

    Yield nothing for the `atomic` family, because its states do not record whether brokers are running.
    """
    for state, step in enumerate(steps, start=1):
        before, replicas = step.before.quorum, step.after.replicas
        if state <= lost or not _is_elected(step, broker) or not hasattr(replicas[broker], "up"):
            continue
        holders = [other for other in range(len(replicas)) if _holds(_log(step.after, other), commit)]
        running = [other for other in holders if getattr(replicas[other], "up", False)]
        has = f"no broker has {short(commit.record)}"
        for other in (running or holders)[:1]:
            why = "is not elected" if other in before.isr else "is not in the ISR"
            yield from _left_with(steps[: state - 1], other, commit, of_isr=bool(running))
            has = f"broker {other} has {short(commit.record)}, but {why if running else 'is down'}"
        yield Event(state, f"the controller elects broker {broker}, {_standing(before, broker)}; {has}", "elected")


def _standing(quorum: Quorum, broker: int) -> str:
    """Return a phrase that says why a broker can be elected."""
    if broker in quorum.isr:
        return "the only member of the ISR" if quorum.isr == {broker} else "a member of the ISR"
    ways = ["an eligible leader replica"] if broker in quorum.elr else []
    ways += ["the last known leader"] if broker == quorum.last_known_leader else []
    return " and ".join(ways) or "which is not in the ISR"


def _stopped(steps: Sequence[Step[P]]) -> Iterator[Event]:
    """Yield the steps in which a broker stops."""
    for state, step in enumerate(steps, start=1):
        for before, after in zip(step.before.replicas, step.after.replicas, strict=True):
            if getattr(before, "up", False) and not getattr(after, "up", True):
                yield Event(state, step.instance.sentence, "stopped")


def _elected_behind(steps: Sequence[Step[P]], commit: Commit) -> Iterator[Event]:
    """Yield the last election if the new leader has a committed record at or above its own high watermark."""
    for state, step in reversed(list(enumerate(steps, start=1))):
        quorum, before = step.after.quorum, step.before.quorum
        if quorum.leader in (None, before.leader):
            continue
        replica = step.after.replicas[quorum.leader]
        if replica.high_watermark <= commit.offset and _holds(replica.log, commit):
            text = f"broker {quorum.leader} is elected for epoch {quorum.epoch}; its own high watermark is "
            text += f"{replica.high_watermark}, which does not cover {short(commit.record)} yet"
            yield Event(state, text, "elected")
        return


def _left_with(steps: Sequence[Step[P]], broker: int, commit: Commit, *, of_isr: bool) -> Iterator[Event]:
    """Yield the last step in which a broker ceased to be an eligible leader replica, or left the ISR if `of_isr` is
    true, if the broker had the committed record at that time.
    """
    for state, step in reversed(list(enumerate(steps, start=1))):
        before, after = step.before.quorum, step.after.quorum
        left = of_isr and broker in before.isr - after.isr
        if left or broker in before.elr - after.elr - after.isr:
            if _holds(_log(step.after, broker), commit):
                what = "leaves the ISR" if left else "is no longer an eligible leader replica"
                text = f"{step.instance.sentence}: broker {broker}, which has {short(commit.record)}, {what}"
                yield Event(state, text, "left")
            return


def _overwritten(steps: Sequence[Step[P]], broker: int, commit: Commit) -> Iterator[Event]:
    """Yield the steps after which a broker has a different record at the offset of a committed record."""
    is_written = False
    for state, step in enumerate(steps, start=1):
        before, after = _log(step.before, broker), _log(step.after, broker)
        is_written = is_written or any(_holds(replica.log, commit) for replica in step.after.replicas)
        if after.has(commit.offset) and not before.has(commit.offset) and not _holds(after, commit):
            held, record = after[commit.offset], short(commit.record)
            text = f"broker {broker} puts {short(held)} at offset {commit.offset}, where "
            if is_written:
                yield Event(state, f"{text}{record} belongs", "overwritten")
            else:
                yield Event(state, f"{text}another broker writes {record} later", "written")


def _appended_after_later_epoch(steps: Sequence[Step[P]], broker: int, commit: Commit) -> Iterator[Event]:
    """Yield the steps in which a broker appends a record of an older epoch at an offset above a committed record."""
    for state, step in enumerate(steps, start=1):
        before, after = _log(step.before, broker), _log(step.after, broker)
        end = before.end_offset
        if not commit.offset < end < after.end_offset or not before.has(end - 1) or not after.has(end):
            continue
        if after[end].epoch < before[end - 1].epoch:
            text = f"broker {broker} appends {after[end]} after {before[end - 1]}, whose leader epoch is later"
            yield Event(state, text, "disordered")


def _first_written(steps: Sequence[Step[P]], offset: int, record: Record) -> Iterator[Event]:
    for state, step in enumerate(steps, start=1):
        for broker, replica in enumerate(step.after.replicas):
            if replica.log.has(offset) and replica.log[offset] == record:
                text = f"broker {broker} writes {short(record)} at offset {offset} in epoch {record.epoch}"
                yield Event(state, text, "written", good=True)
                return
