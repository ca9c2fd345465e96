"""Write lines of text that explain whether a recording conforms to the specs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from leadline.brokers.conformance.check import Checked
from leadline.brokers.conformance.frames import CONTROLLER, Seen, frames_around
from leadline.checker.conformance import Answer, Observation, Rejection, Taken
from leadline.checker.support.messages import counted
from leadline.model.kafka.releases import Column
from leadline.model.kafka.rules import TABLE
from leadline.model.rules import Rule
from leadline.reports.kafka.conformance.report import ConformanceReport, Report, RuleShown

STEPS_BEFORE = 12
FRAMES_AROUND = 4
_UNINTERESTING = (
    "Metadata",
    "ApiVersions",
    "UpdateMetadata",
    "BrokerHeartbeat",
    "ping",
    "exists",
    "getChildren",
    "getData",
)


def lines(report: ConformanceReport) -> Iterator[str]:
    """Yield the lines of the explanation."""
    read = report.read
    release = read.about.get("release")
    kafka = f"recorded from Kafka {release}, " if release else ""
    least = read.configs.get("min.insync.replicas")
    setting = f", min.insync.replicas={least}" if least else ""
    brokers = ", ".join(map(str, read.assignment))
    yield f"{report.path}: {kafka}partition {report.name}, replicas on brokers {brokers}{setting}"
    if reason := read.recording.interrupted_by:
        yield f"the run was interrupted ({reason}); if the recording does not conform, this may be the reason"
    if read.assignment != tuple(range(len(read.assignment))):
        numbers = ", ".join(f"{number} is broker {node}" for number, node in enumerate(read.assignment))
        yield f"  below, replicas are numbered in the order of the assignment: {numbers}"
    if report.own is not None:
        yield ""
        yield from explained(report, report.own)
    yield from other_releases(report)
    if report.rules:
        yield ""
        yield from rule_lines(report.rules)


def other_releases(report: Report) -> Iterator[str]:
    """Yield a line for the releases with the same result, unless only one was checked."""
    others = [each for each in report.checked if each is not report.own]
    if others:
        yield ""
        yield "releases:"
        groups = [
            (said, [each.column.name for each in own]) for said, own in itertools.groupby(report.checked, summary)
        ]
        names = [own[0] if len(own) == 1 else f"{own[0]} to {own[-1]}" for _, own in groups]
        width = max(map(len, names))
        yield from (f"  {name:{width}}  {said}" for name, (said, _) in zip(names, groups, strict=True))
        if any(each.conformance.answer is Answer.UNDECIDED for each in others):
            yield "  the releases share a limit of states: with --spec, a single release gets all of it"


def summary(checked: Checked) -> str:
    """Return the result for one spec in one line."""
    result = checked.conformance
    if result.answer is Answer.CONFORMS:
        return "conforms"
    where = ""
    if result.rejection is not None:
        where = f" at observation {result.rejection.number}: {result.rejection.observation.label}"
    return f"{result.answer.value}{where}" + (f" ({result.reason})" if result.reason else "")


def explained(report: Report, checked: Checked) -> Iterator[str]:
    """Yield lines that explain the result for one spec."""
    result, name = checked.conformance, checked.column.name
    if result.answer is Answer.CONFORMS:
        seen, hidden = counted(result.observations, "observation"), counted(result.hidden_steps, "hidden step")
        yield f"the recording conforms to {name}: {seen}, {hidden}, at most {counted(result.largest, 'possible state')}"
        actions = ", ".join(f"{action} {times}" for action, times in sorted(result.actions.items()))
        yield f"  actions of the model, and how often: {actions}"
    elif result.rejection is None:
        yield f"the recording is not decided for {name}: {result.reason}"
    else:
        at = f"observation {result.rejection.number} of {checked.observations}"
        if result.answer is Answer.REJECTED:
            yield f"the recording{_of_kafka(report)} does not conform to {name}: {at} is not possible"
        else:
            yield f"the recording is not decided for {name}: no explanation was found for {at}"
        if result.reason:
            yield f"  {result.reason}"
        yield from _rejected(report, checked, result.rejection)
        if checked.notes:
            yield ""
    for note, times in checked.notes.items():
        yield f"  left out of the comparison: {note} ({counted(times, 'time')})"


def _of_kafka(report: Report) -> str:
    """Return the recorded release, so that it is not mistaken for the release that the recording is checked against."""
    release = report.read.about.get("release")
    return f" of Kafka {release}" if release else ""


def _rejected(report: Report, checked: Checked, rejection: Rejection[Any]) -> Iterator[str]:
    yield ""
    yield from what_went_wrong(report, checked, rejection)
    yield ""
    yield "the steps before, in an order that the model allows:"
    steps = [*_merged(rejection.candidates[0].path)] if rejection.candidates else []
    yield from (f"  {step}" for step in steps[-STEPS_BEFORE:])
    record = re.search(r"(m\d+)@(\d+)", "".join(steps[-STEPS_BEFORE:]))
    if record is not None:
        yield f"  ({record[0]} is record {record[1]}, which was appended in leader epoch {record[2]})"
    yield ""
    yield "the frames around (number, arrival, what it is, from and to, when it passed the recorder):"
    yield from _frames_around(report, rejection.observation)
    if any(frame.api == "AlterPartition" for frame in getattr(report.read, "frames", ())) and _calls_it_alter_isr(
        report
    ):
        yield "  (up to Kafka 3.1, AlterPartition requests are called AlterIsr)"


def _merged(path: Sequence[Taken[Any]]) -> Iterator[str]:
    """Yield a line for each step. Steps that repeat the one before, because a broker is told again, share its line."""
    for label, same in itertools.groupby(path, key=lambda step: step.label):
        seen = [step.observation for step in same if step.observation is not None]
        numbers = tuple(dict.fromkeys(number for each in seen for number in _numbers(each)))
        if numbers:
            yield label + _frames(numbers)
        else:
            yield label + (f" [{_when(seen[0])}]" if seen else " [inferred: no frame shows it]")


def _calls_it_alter_isr(report: Report) -> bool:
    """Return whether the recorded brokers have sent AlterPartition under the name of before KIP-704 (3.2)."""
    if not isinstance(report, ConformanceReport) or all(each.api != "AlterPartition" for each in report.read.frames):
        return False
    numbers = re.match(r"(\d+)\.(\d+)", str(report.read.about.get("release")))
    return numbers is not None and tuple(map(int, numbers.groups())) < (3, 2)


def what_went_wrong(report: Report, checked: Checked, rejection: Rejection[Any]) -> Iterator[str]:
    """Yield lines that say how the brokers violated a spec, why the spec does not allow this, and which rule would.

    Parameters:
        checked: the result for the spec.
        rejection: the first observation that no possible state explains.
    """
    name = checked.column.name
    yield f"what the brokers did, {_when(rejection.observation)}:"
    yield f"  {rejection.observation.label}"
    if checked is report.own and report.explained_by is not None:
        yield ""
        yield from _explanation(checked, report.explained_by)
    yield ""
    why = f"why brokers of {name} cannot have done this then"
    if checked.conformance.answer is Answer.UNDECIDED:
        why = "why none of the states found allows it"
    reasons: dict[str, list[str]] = {}
    for candidate in rejection.candidates:
        first, *others = candidate.why.split("; ")
        reasons.setdefault(first, others)
    several = "" if rejection.states == 1 else f" ({rejection.states:,} states of the model were possible until then)"
    yield f"{why}{several}:"
    for first, others in reasons.items():
        yield f"  - {first}" + ";" * bool(others)
        yield from (f"    {part}" + ";" * (number < len(others)) for number, part in enumerate(others, start=1))


def _explanation(checked: Checked, explained_by: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Yield lines that name the rules that would explain a recording."""
    if not explained_by:
        yield "no other value of a single rule explains it: brokers of another release may differ in several rules, or"
        yield "the recording lacks something, or brokers did what no release of the model does"
        return
    yield "which rule of the model would explain it: with another value, the recording conforms"
    for name in dict.fromkeys(name for name, _ in explained_by):
        assert isinstance(checked.column, Column)  # mixes are not explained
        rule, own = TABLE[name], checked.column.values[name]
        yield f"  {name}: {rule.question}"
        yield f"    {checked.column.name} has '{own}': {_sentence(rule, own)}"
        values = [value for of, value in explained_by if of == name]
        for value in values:
            behaved = "these brokers behaved as with" if value == values[0] else "or as with"
            sentence = _sentence(rule, value) if value == values[0] else rule.value(value).sentence
            yield f"    {behaved} '{value}': {sentence} ({_source(rule.value(value).source)})"
        if len(values) > 1:
            yield "    (the recording does not tell these apart)"


def _source(source: str) -> str:
    """Return the source of a rule, without the articles from which the project comes."""
    return "; ".join(part for part in source.split("; ") if not part.startswith("seed"))


def _sentence(rule: Rule, name: str) -> str:
    """Return the sentence of a value. Some begin with ``the same``, which is what the value before says."""
    names = [value.name for value in rule.values]
    sentence = rule.value(name).sentence
    if not sentence.startswith("the same,"):
        return sentence
    return _sentence(rule, names[names.index(name) - 1]) + sentence.removeprefix("the same")


def _when(observation: Observation[Any]) -> str:
    if observation.latest == float("inf"):
        when = f"after {observation.earliest:.3f} s"
    elif observation.earliest == observation.latest:
        when = f"at {observation.latest:.3f} s"
    elif observation.earliest:
        when = f"between {observation.earliest:.3f} and {observation.latest:.3f} s"
    else:
        when = f"at or before {observation.latest:.3f} s"
    return f"{when}{_frames(_numbers(observation))}"


def _numbers(observation: Observation[Any]) -> tuple[int, ...]:
    return observation.source if isinstance(observation.source, tuple) else ()


def _frames(numbers: Collection[int]) -> str:
    return f" [frame{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}]" if numbers else ""


def _frames_around(report: Report, observation: Observation[Any]) -> Iterator[str]:
    """Yield a line for each frame that shows an observation, and a line for each frame just before or after it."""
    numbers = _numbers(observation)
    for frame in frames_around(report.read.recording, numbers, observation.latest, FRAMES_AROUND, _UNINTERESTING):
        mark = ">" if frame.number in numbers else " "
        yield f" {mark}{_frame(frame)}"


def _frame(frame: Seen) -> str:
    kind = "request" if frame.request else "response"
    kind += " for the metadata log" if frame.api == "Fetch" and CONTROLLER in (frame.source, frame.target) else ""
    passed = "never passed" if frame.passed is None else f"passed {frame.passed:.3f}"
    return f"{frame.number:>6} {frame.arrived:9.3f} {frame.api} {kind}, {frame.source} to {frame.target}, {passed}"


def rule_lines(rules: tuple[RuleShown, ...]) -> Iterator[str]:
    """Yield lines that name the confirmed rules. A rule is confirmed if the recording does not conform with any other
    value of the rule.
    """
    confirmed = [rule for rule in rules if rule.confirmed]
    yield f"rules that the recording confirms: {len(confirmed)} of {len(rules)}"
    for rule in rules:
        refuted = ", ".join(name for name, answer in rule.answers.items() if answer is Answer.REJECTED)
        open_ = ", ".join(name for name, answer in rule.answers.items() if answer is not Answer.REJECTED)
        state = "confirmed" if rule.confirmed else "not told apart from " + open_
        yield f"  {rule.rule}={rule.value}: {state}" + (f"; refuted: {refuted}" if refuted else "")
