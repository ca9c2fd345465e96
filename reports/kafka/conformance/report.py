"""Check a recording against the spec of one release, or against the specs of all releases."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from leadline.brokers.conformance.check import Checked, Checks
from leadline.brokers.conformance.groups.reading import GroupRecording
from leadline.brokers.conformance.not_followed import LacksField, NotFollowed, expecting_the_format
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.brokers.conformance.reading import partitions_of, read_partition
from leadline.brokers.recording import Recording, read_recording
from leadline.brokers.releases import mixed_release
from leadline.checker.conformance import Answer, Limits
from leadline.checker.errors import LeadlineError
from leadline.checker.support.messages import nearest
from leadline.model.kafka.conformance.following import chain_of, controller_of
from leadline.model.kafka.mixes import Mix
from leadline.model.kafka.releases import KRAFT, RELEASES, ZOOKEEPER, Column, column_of
from leadline.model.kafka.rules import RULES, TABLE
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED

EXIT_CODES = {Answer.CONFORMS: AS_EXPECTED, Answer.REJECTED: VIOLATED, Answer.UNDECIDED: INCOMPLETE}

MOST_TRIED, MOST_EXPLORED = 500, 5_000
"""If a recording is rejected after more observations, or if more states were visited before, other values of rules are
tried only on request: each try follows the recording again.
"""


@attrs.frozen
class RuleShown:
    """A rule of a release, and whether the recording conforms if the rule has a different value.

    Attributes:
        rule: the name of the rule.
        value: the name of the release's value.
        answers: for each other value of the rule, whether the recording conforms to the spec with this value. Keyed by
            the name of the value.
    """

    rule: str
    value: str
    answers: dict[str, Answer]

    @property
    def confirmed(self) -> bool:
        """True if the recording does not conform to the spec with any other value of the rule."""
        return all(answer is Answer.REJECTED for answer in self.answers.values())


@attrs.frozen(eq=False, kw_only=True)
class Report:
    """The results of checking what a recording has about a partition or a group against specs.

    Attributes:
        path: the path of the recording.
        read: the recorded partition or group.
        checked: the result for each spec.
        own: the result for the requested spec or for the recording's own release. None if neither is named.
        explained_by: if `own` does not conform, the rules with a different value with which the recording conforms: the
            name of the rule and of this value, for each. None if this was not tried, or not decided.
        seconds: the duration in seconds.
    """

    path: Path
    read: PartitionRecording | GroupRecording
    checked: tuple[Checked, ...]
    own: Checked | None
    explained_by: tuple[tuple[str, str], ...] | None = None
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The partition, such as ``t-0``, or the group."""
        raise NotImplementedError

    @property
    def exit_code(self) -> int:
        """The exit code: 0 if the recording conforms, 1 if it does not, and 3 if this is undecided. The result for the
        requested spec or the recording's own release decides. If there is neither, it is enough that the recording
        conforms to one release. A run that was interrupted may have ended in a way that was not recorded, so that a
        recording of it is not rejected.
        """
        if self.own is not None:
            code = EXIT_CODES[self.own.conformance.answer]
            return INCOMPLETE if code == VIOLATED and self.read.recording.interrupted_by else code
        answers = {each.conformance.answer for each in self.checked}
        best = next((a for a in (Answer.CONFORMS, Answer.UNDECIDED) if a in answers), Answer.REJECTED)
        return EXIT_CODES[best]


@attrs.frozen(eq=False, kw_only=True)
class ConformanceReport(Report):
    """The results of checking one partition's recording against specs.

    Attributes:
        rules: for each rule, whether the recording confirms its value. Empty unless this was requested.
    """

    read: PartitionRecording
    rules: tuple[RuleShown, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.read.topic}-{self.read.partition}"


def conformance_report(
    path: Path,
    spec: str | None,
    partition: str | None,
    *,
    rules: bool = False,
    limits: Limits | None = None,
    keeps_logs: bool = True,
) -> ConformanceReport:
    """Check a recording against specs.

    Parameters:
        spec: the name of a spec, or None for all releases with the same kind of controller as the recording.
        partition: the partition, such as ``t-0``, or None if the recording has only one.
        rules: whether to determine which rules the recording confirms. This requires a spec, or a recording that names
            its release.
        keeps_logs: whether the states in the results contain whole logs, which the page shows.

    Raises:
        LeadlineError: if the file is not a recording, if the partition, the spec, or the release that the recording
            names does not exist, or if the recording contains an unsupported event.
    """
    recording = read_recording(path)
    try:
        return _report(recording, spec, partition, rules, limits, keeps_logs)
    except LacksField:
        return _report(attrs.evolve(recording, names_lines=True), spec, partition, rules, limits, keeps_logs)


def _report(
    recording: Recording,
    spec: str | None,
    partition: str | None,
    rules: bool,
    limits: Limits | None,
    keeps_logs: bool,
) -> ConformanceReport:
    begun, path = time.monotonic(), recording.path
    asked = None if spec is None else _column(spec)
    with expecting_the_format(path):
        read = read_partition(recording, *_partition(path, partitions_of(recording), partition))
    kind = KRAFT if read.kraft else ZOOKEEPER
    if asked is not None and controller_of(asked) != kind:
        last = [column.name for column in RELEASES if column.controller == kind][-1]
        raise LeadlineError(
            f"{asked.name} is a release with {controller_of(asked)}, but {path} was recorded with {kind}: "
            f"pass a release with {kind}, such as {last}"
        )
    wanted = asked or _release_of(read, path)
    columns: list[Column | Mix] = [column for column in RELEASES if column.controller == kind]
    if wanted is not None and (asked is not None or isinstance(wanted, Mix)):
        columns = [wanted]
    names = () if wanted is None else (wanted.name, getattr(wanted, "same_as", ""))
    checks = Checks(read, limits, keeps_logs=keeps_logs)
    results: dict[str, Checked] = {}
    for each in sorted(columns, key=lambda each: each.name not in names):  # all share a limit: own release first
        results[each.name] = checks.check(each)
    own = next((results[name] for name in names if name in results), None)
    shown: tuple[RuleShown, ...] = ()
    column = own.column if own is not None and isinstance(own.column, Column) else None
    if rules and own is None:
        raise LeadlineError("--rules requires a release, but the recording does not name one: pass --spec")
    if rules and own is not None and column is None:
        raise LeadlineError(f"--rules requires one release, and {own.column.name} is a mix of two")
    if rules and own is not None and column is not None and own.conformance.answer is Answer.CONFORMS:
        shown = tuple(_rules(read, column, limits))
    explaining = None
    rejected = own is not None and own.conformance.answer is Answer.REJECTED and (rules or _is_small(own))
    if column is not None and rejected:
        limits = limits or Limits()
        less = limits if rules else attrs.evolve(limits, states=min(limits.states, MOST_EXPLORED))
        tried = [
            (each.rule, value, answer) for each in _rules(read, column, less) for value, answer in each.answers.items()
        ]
        explaining = tuple((rule, value) for rule, value, answer in tried if answer is Answer.CONFORMS)
        if not explaining and any(answer is Answer.UNDECIDED for _, _, answer in tried):
            explaining = None
    return ConformanceReport(
        path=path,
        read=read,
        checked=tuple(results[column.name] for column in columns),
        own=own,
        rules=shown,
        explained_by=explaining,
        seconds=time.monotonic() - begun,
    )


def _is_small(own: Checked) -> bool:
    """Return whether a recording was rejected so early that it can be checked against every other value of every rule
    in seconds.
    """
    result = own.conformance
    return result.rejection is not None and result.rejection.number <= MOST_TRIED and result.explored <= MOST_EXPLORED


def _rules(read: PartitionRecording, column: Column, limits: Limits | None) -> Iterator[RuleShown]:
    checks = Checks(read, limits, keeps_logs=False)
    checks.check(column)
    for rule in RULES:
        answers = {}
        for value in other_values(column, rule.name):
            what_if = column.with_rules({rule.name: value})
            answers[value] = checks.check(what_if).conformance.answer
        yield RuleShown(rule.name, column.values[rule.name], answers)


def other_values(column: Column, rule: str) -> list[str]:
    """Return the names of a rule's values, except the value that a release has."""
    return [value.name for value in TABLE[rule].others(column.values[rule])]


def _column(spec: str) -> Column | Mix:
    if ".." in spec:
        return chain_of(spec)
    column = column_of(spec)
    names = [each.name for each in RELEASES]
    if column is None or not column.controller:
        raise LeadlineError(f"{spec!r} is not a known release{nearest(spec, names)}: choose from {', '.join(names)}")
    return column


def _release_of(read: PartitionRecording, path: Path) -> Column | Mix | None:
    """Return the release or the mix that a recording names, or None if it names none.

    Raises:
        LeadlineError: if the model does not have this release with the recorded kind of controller.
    """
    release = read.about.get("release")
    if release is None:
        return None
    if ".." in str(release):
        return chain_of(mixed_release(str(release)).spec)
    kind, suffix = (KRAFT, "-kraft") if read.kraft else (ZOOKEEPER, "-zk")
    for name in (f"kafka/{release}", f"kafka/{release}{suffix}"):
        column = column_of(name) if "+" not in name else None
        if column is not None and column.controller == kind:
            return column
    last = [column.name for column in RELEASES if column.controller == kind][-1]
    raise LeadlineError(
        f"{path}:1: the model has no release {release!r} with {kind}: pass --spec with the release to check against, "
        f"such as {last}"
    )


def _partition(path: Path, found: Sequence[tuple[str, int]], wanted: str | None) -> tuple[str, int]:
    names = {f"{topic}-{number}": (topic, number) for topic, number in found}
    if not names:
        raise NotFollowed(
            f"{path} does not include the creation of a topic: start recording before the topic is created"
        )
    if wanted is None and len(names) == 1:
        return next(iter(names.values()))
    listed = ", ".join(sorted(names))
    if wanted is None:
        raise LeadlineError(f"{path} has several partitions: pass --partition with one of {listed}")
    if wanted not in names:
        raise LeadlineError(f"{path} has no partition {wanted!r}: choose from {listed}")
    return names[wanted]
