"""Check everything in a recording that a release has a spec for: a partition, and consumer groups."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import attrs

from leadline.brokers.conformance.check import Checked
from leadline.brokers.conformance.groups.check import check_group, column_for, columns_for
from leadline.brokers.conformance.groups.reading import GroupRecording, groups_of, read_group
from leadline.brokers.conformance.not_followed import NotFollowed, expecting_the_format
from leadline.brokers.conformance.reading import partitions_of
from leadline.brokers.recording import Recording, read_recording
from leadline.checker.conformance import Limits
from leadline.checker.errors import LeadlineError
from leadline.checker.support.messages import nearest
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.kafka.conformance.report import ConformanceReport, Report, conformance_report
from leadline.reports.kafka.conformance.text import explained, lines, other_releases

GROUP_SPECS = "group/"


@attrs.frozen(eq=False, kw_only=True)
class GroupReport(Report):
    """The results of checking a recorded group against specs."""

    read: GroupRecording

    @property
    def name(self) -> str:
        return f"group {self.read.group}"


@attrs.frozen(eq=False, kw_only=True)
class WholeReport:
    """The results for a recording.

    Attributes:
        path: the path of the recording.
        partition: the results for the partition, or None if it was not checked.
        groups: the results for each group.
        unchecked: what was not checked, with the reasons: partitions of several, and groups that cannot be followed.
    """

    path: Path
    partition: ConformanceReport | None
    groups: tuple[GroupReport, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Report, ...]:
        """The results for the partition and the groups."""
        return (*(() if self.partition is None else (self.partition,)), *self.groups)

    @property
    def exit_code(self) -> int:
        """The exit code: 1 if a part does not conform, 3 if one is undecided, and otherwise 0."""
        codes = {each.exit_code for each in self.parts}
        return next((code for code in (VIOLATED, INCOMPLETE) if code in codes), AS_EXPECTED)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the explanation."""
        if self.partition is not None:
            yield from lines(self.partition)
        for number, each in enumerate(self.groups):
            if number or self.partition is not None:
                yield ""
            yield from _group_lines(each)
        if self.unchecked:
            yield ""
            yield f"not checked: {', '.join(self.unchecked)}"


def whole_report(
    path: Path, spec: str | None, partition: str | None, group: str | None, *, rules: bool, limits: Limits, draws: bool
) -> WholeReport:
    """Check the partition and the groups of a recording against specs.

    Parameters:
        spec, partition, rules, limits: see `conformance_report`. A spec of groups selects groups, and another one the
            partition.
        group: the group to check, or None for all groups, unless a partition is named.
        draws: whether the states in the results contain whole logs.

    Raises:
        LeadlineError: see `conformance_report`; also if the group does not exist.
        NotFollowed: if nothing can be followed.
    """
    recording = read_recording(path)
    of_groups = spec is not None and spec.startswith(GROUP_SPECS)
    groups, unchecked, wants_partition = list[str](), list[str](), not of_groups and group is None
    if of_groups or group is not None or (partition is None and spec is None and not rules):
        with expecting_the_format(path):
            groups = groups_of(recording)
            if groups and wants_partition:
                unchecked = [f"{topic}-{number}" for topic, number in partitions_of(recording)]
                wants_partition = len(unchecked) == 1
    if group is not None and group not in groups:
        raise LeadlineError(f"{path} has no member of a group {group!r}{nearest(group, groups)}")
    if of_groups and not groups:
        raise LeadlineError(f"{path} has no consumer that joins a group")
    checked = None
    if wants_partition:
        checked = conformance_report(path, spec, partition, rules=rules, limits=limits, keeps_logs=draws)
    found, refused = [], [f"partition {each} (pass --partition)" for each in unchecked[1:] and unchecked]
    for each in groups:
        if group in (None, each):
            try:
                found.append(_group_report(recording, each, spec, limits))
            except NotFollowed as error:
                if not (checked or len(groups) > 1) or group is not None:
                    raise
                refused.append(f"group {each} ({error})")
    if not found and checked is None:
        raise NotFollowed(f"{path}: nothing was checked: {'; '.join(refused)}")
    return WholeReport(path=path, partition=checked, groups=tuple(found), unchecked=tuple(refused))


def _group_report(recording: Recording, group: str, spec: str | None, limits: Limits) -> GroupReport:
    begun = time.monotonic()
    with expecting_the_format(recording.path):
        read = read_group(recording, group)
    release = str(recording.about.get("release")).removesuffix("-zk").removesuffix("-kraft")
    column = column_for(read, spec or release)
    columns = columns_for(read) if spec is None or column is None else (column,)
    results: dict[str, Checked] = {}
    for each in sorted(columns, key=lambda each: each is not column):  # all share a limit: own release first
        results[each.name] = check_group(read, each, limits)
        limits = attrs.evolve(limits, total=max(limits.total - results[each.name].conformance.explored, 0))
    own = None if column is None else results[column.name]
    seconds = time.monotonic() - begun
    checked = tuple(results[each.name] for each in columns)
    return GroupReport(path=recording.path, read=read, checked=checked, own=own, seconds=seconds)


def _group_lines(report: GroupReport) -> Iterator[str]:
    read = report.read
    members, release = len(read.members), read.about.get("release")
    kafka = f"recorded from Kafka {release}, " if release else ""
    yield f"{report.path}: {kafka}{report.name} with the {read.protocol} protocol, member ids: {members}"
    if reason := read.recording.interrupted_by:
        yield f"the run was interrupted ({reason}); if the recording does not conform, this may be the reason"
    yield from (f"  member {number} is {member_id}" for member_id, number in read.members.items())
    if report.own is not None:
        yield ""
        yield from explained(report, report.own)
    yield from other_releases(report)
