"""Explain why the starts of logs moved in a trace, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from leadline.checker.action import Step
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.messages import Diverging, EarliestOffset, Failed, FetchResponse
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.state import Partition


def starts(step: Step[Partition], rule: Callable[[Protocol, str], str]) -> Iterator[str]:
    """Yield a sentence for each broker whose log start offset moves in a step, or whose fetcher fails because of one.

    Parameters:
        step: the step.
        rule: returns text that names a protocol and the rule that determines a field of it.
    """
    for broker, after in enumerate(step.after.replicas):
        before = step.before.replicas[broker]
        if isinstance(after.in_flight, Failed) and before.in_flight != after.in_flight:
            why = _why_failed(step, before, after, rule)
            yield f"broker {broker} {why} ({rule(step.after.rules_of(broker), 'fails_whole_fetcher')})"
        if before.log.start_offset != after.log.start_offset:
            yield f"broker {broker} {_why_moved(step, broker, rule)}"


def _why_failed(step: Step[Partition], before: Replica, after: Replica, rule: Callable[[Protocol, str], str]) -> str:
    protocol = step.after.protocol if before.leader is None else step.after.rules_of(before.leader)
    match before.in_flight:
        case FetchResponse(start=start, high_watermark=told):
            again = f"; it was read after the records ({rule(protocol, 'reads_start_again')})"
            known = f"an answer with log start offset {start} and high watermark {told}"
            why = f"gets {known}{again if protocol.reads_start_again else ''}, and its own high watermark"
        case Diverging(start=start):
            known = f"the answer that its log diverges, with log start offset {start}"
            why = f"gets {known} ({rule(protocol, 'tests_start_first')}), and its own high watermark"
        case _:
            return f"cannot fetch from broker {after.leader}"
    return f"{why} is {after.high_watermark}: it stops fetching from broker {after.leader}"


def _why_moved(step: Step[Partition], broker: int, rule: Callable[[Protocol, str], str]) -> str:
    before, after, protocol = step.before.replicas[broker], step.after.replicas[broker], step.after.rules_of(broker)
    start = after.log.start_offset
    match step.action, before.in_flight:
        case "delete_records", _:
            return f"deletes the records below offset {start}, as an operator has asked"
        case "retain", _:
            return f"deletes the records below offset {start} by its retention ({rule(protocol, 'retains_up_to')})"
        case (("crash" | "crash_after_append" | "crash_losing_tail"), _):
            return f"finds log start offset {start} on its disk, which is older than {before.log.start_offset}"
        case _, EarliestOffset():
            low = ""
            if after.high_watermark < start:
                low = f"; its high watermark stays {after.high_watermark} ({rule(protocol, 'low_hw')})"
            end = before.log.end_offset
            return f"ends at {end}, its leader starts at {start}: it removes its whole log and begins at {start}{low}"
        case _, (FetchResponse() | Diverging()) if start > before.log.start_offset:
            return f"takes log start offset {start} from its leader's answer"
    return f"truncates its log below its start, which is now {start}"
