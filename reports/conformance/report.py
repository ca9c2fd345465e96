"""Following a recording through the specs of one release or of all releases."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import attrs

from leadline.brokers.conformance.check import Checked, check
from leadline.brokers.conformance.partition import (
    NotFollowed,
    PartitionRecording,
    expecting_the_format,
    partitions_of,
    read_partition,
)
from leadline.brokers.recording import read_recording
from leadline.checker.conformance import Answer, Limits
from leadline.checker.errors import LeadlineError
from leadline.checker.support.messages import nearest
from leadline.model.kafka.releases import KRAFT, RELEASES, ZOOKEEPER, Column, column_of
from leadline.model.kafka.rules import RULES
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED

EXIT_CODES = {Answer.CONFORMS: AS_EXPECTED, Answer.REJECTED: VIOLATED, Answer.UNDECIDED: INCOMPLETE}


@attrs.frozen
class RuleShown:
    """A rule with the value that a release has, and what the recording says of each other value.

    Attributes:
        rule: the name of the rule.
        value: the name of the release's value.
        answers: the answer with each other value instead, by its name.
    """

    rule: str
    value: str
    answers: dict[str, Answer]

    @property
    def confirmed(self) -> bool:
        """Whether the recording is rejected with every other value."""
        return all(answer is Answer.REJECTED for answer in self.answers.values())


@attrs.frozen(eq=False, kw_only=True)
class ConformanceReport:
    """What a recording of one partition shows.

    Attributes:
        path: the recording.
        read: the partition.
        checked: the results, for each spec.
        own: the result for the release of the recording or for the spec that was asked for, or None if the recording
            does not name a release that the model has.
        rules: the rules that the recording confirms or not, if that was asked for.
        seconds: how long it took.
    """

    path: Path
    read: PartitionRecording
    checked: tuple[Checked, ...]
    own: Checked | None
    rules: tuple[RuleShown, ...] = ()
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The partition, such as ``t-0``."""
        return f"{self.read.topic}-{self.read.partition}"

    @property
    def exit_code(self) -> int:
        """0 if the recording conforms to the spec that was asked for or to its own release, or to any if it names none;
        1 if it does not; 3 if this is undecided.
        """
        if self.own is not None:
            return EXIT_CODES[self.own.conformance.answer]
        answers = {each.conformance.answer for each in self.checked}
        best = next((a for a in (Answer.CONFORMS, Answer.UNDECIDED) if a in answers), Answer.REJECTED)
        return EXIT_CODES[best]


def conformance_report(
    path: Path,
    spec: str | None,
    partition: str | None,
    *,
    rules: bool = False,
    limits: Limits | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> ConformanceReport:
    """Follow a recording through specs.

    Parameters:
        path: the recording.
        spec: the name of a spec, or None for all releases with the kind of controller of the recording.
        partition: the partition, such as ``t-0``, or None if the recording has only one.
        rules: whether to find out which rules the recording confirms. It needs the release or a spec.
        limits: the limits of the search.
        progress: called with the name of each spec before it is followed.

    Raises:
        LeadlineError: if the file is not a recording, or has no such partition, or there is no such spec; or the
            recording has something that cannot be followed.
    """
    begun = time.monotonic()
    asked = None if spec is None else _column(spec)
    recording = read_recording(path)
    with expecting_the_format(path):
        read = read_partition(recording, *_partition(path, partitions_of(recording), partition))
    kind = KRAFT if read.kraft else ZOOKEEPER
    if asked is not None and asked.controller != kind:
        raise LeadlineError(f"the controllers differ: {asked.controller} in {asked.name}, {kind} in {path}")
    wanted = asked or _release_of(read)
    columns = [asked] if asked else [column for column in RELEASES if column.controller == kind]
    checked, own = [], None
    for column in columns:
        progress(column.name)
        checked.append(check(read, column, limits))
        if wanted is not None and column.values == wanted.values:
            own = checked[-1]
    shown: tuple[RuleShown, ...] = ()
    if rules and own is None:
        raise LeadlineError("the recording does not name a release of Kafka: pass --spec with --rules")
    if rules and own is not None and own.conformance.answer is Answer.CONFORMS:
        shown = tuple(_rules(read, own.column, limits, progress))
    return ConformanceReport(
        path=path, read=read, checked=tuple(checked), own=own, rules=shown, seconds=time.monotonic() - begun
    )


def _rules(
    read: PartitionRecording, column: Column, limits: Limits | None, progress: Callable[[str], None]
) -> Iterator[RuleShown]:
    for rule in RULES:
        own = column.values[rule.name]
        answers = {}
        for value in rule.values:
            if value.name != own:
                what_if = column.with_rules({rule.name: value.name})
                progress(what_if.name)
                answers[value.name] = check(read, what_if, limits).conformance.answer
        yield RuleShown(rule.name, own, answers)


def _column(spec: str) -> Column:
    column = column_of(spec)
    names = [each.name for each in RELEASES]
    if column is None or not column.controller:
        raise LeadlineError(
            f"there is no release {spec!r} to follow{nearest(spec, names)}: pass one of {', '.join(names)}"
        )
    return column


def _release_of(read: PartitionRecording) -> Column | None:
    """Return the release that a recording names, or None if it names none that the model has."""
    release = read.about.get("release")
    kind = KRAFT if read.kraft else ZOOKEEPER
    for name in (f"kafka/{release}", f"kafka/{release}{'-kraft' if read.kraft else '-zk'}"):
        column = column_of(name) if "+" not in name else None
        if column is not None and column.controller == kind:
            return column
    return None


def _partition(path: Path, found: Sequence[tuple[str, int]], wanted: str | None) -> tuple[str, int]:
    names = {f"{topic}-{number}": (topic, number) for topic, number in found}
    if not names:
        raise NotFollowed(f"{path} does not have the creation of a topic: begin the recording before it")
    if wanted is None and len(names) == 1:
        return next(iter(names.values()))
    listed = ", ".join(sorted(names))
    if wanted is None:
        raise LeadlineError(f"{path} has several partitions: pass --partition with one of {listed}")
    if wanted not in names:
        raise LeadlineError(f"{path} has no partition {wanted!r}: pass one of {listed}")
    return names[wanted]
