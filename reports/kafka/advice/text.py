"""The sentences about advice that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.support.messages import counted
from leadline.reports.kafka.advice.advice import Advice, Concern, Finding, Group
from leadline.reports.kafka.advice.settings import Kind, Remark
from leadline.reports.kafka.bugs import SETTINGS


@attrs.frozen
class Section:
    """The text about a group of findings.

    Attributes:
        findings: the bugs, by what they mean to a user.
        nothing: the sentence to show if there are no bugs.
    """

    title: str
    findings: dict[Concern, list[Finding]]
    nothing: str = ""

    @property
    def summary(self) -> str:
        """The number of bugs of each kind, with the tickets of all but those against internal properties."""
        said = []
        for concern, findings in self.findings.items():
            tickets = ", ".join(finding.bug.ticket for finding in findings)
            named = "" if concern is Concern.INTERNAL else f" ({tickets})"
            said.append(f"{counted(len(findings), 'bug')} {_SUMMARIES[concern]}{named}")
        return ", ".join(said) or "no known bug"


_SUMMARIES = {
    Concern.PROMISE: "against promises to users",
    Concern.COPIES: "by which copies differ",
    Concern.STUCK: "by which something is stuck or not done as asked",
    Concern.INTERNAL: "against internal properties",
}


def sections(advice: Advice) -> Iterator[Section]:
    """Yield a section for each group of findings, in the order of the report. Most empty groups are left out."""
    before, after = advice.before.version, advice.after.version
    bugs = f"none of the {advice.searched} bugs of replication in the archive"
    none = f"nothing is known: {bugs}, which proves nothing (see the end)"
    titles = {
        Group.FIXED: (f"fixed: possible with {before}, but not with {after}", none),
        Group.NEW: (f"newly possible with {after}", none),
        Group.STAYS: (f"stays: possible with {before} and {after}, by the bug or by design", none),
        Group.NOT_PROMISED: ("not promised by these settings, even without the bug", ""),
        Group.AVOIDED: ("avoided by these settings: a search that finds the bug otherwise does not find it", ""),
        Group.UNDECIDED: ("not decided", ""),
    }
    if not advice.is_upgrade:
        titles[Group.FIXED] = titles[Group.FIXED][0], ""
        titles[Group.NEW] = titles[Group.NEW][0], ""
        titles[Group.STAYS] = f"possible with {after}, by the bug or by design", none
    for group, (title, nothing) in titles.items():
        section = Section(title, advice.of(group), nothing)
        if section.findings or nothing:
            yield section


def rows(advice: Advice) -> list[tuple[str, str, str]]:
    """Return the name of each effective setting, with its value and origin before and after the upgrade."""
    names = SETTINGS | {"acks": "acks (of producers)"}
    clusters = (advice.before, advice.after)
    shown = []
    for name, kafka_name in names.items():
        one, other = (_value(cluster.settings[name].value, cluster.settings[name].origin) for cluster in clusters)
        shown.append((kafka_name, one, other))
    given = advice.settings.given.get("replication.factor")
    replicas = _value(given.value, given.origin) if given else "not given: any number (--replication-factor)"
    selector = advice.settings.given.get("replica.selector.class")
    reads = f"yes ({selector.origin})" if selector and selector.value else "no: replica.selector.class is not set"
    return [*shown, ("replicas", replicas, replicas), ("consumers read from followers", reads, reads)]


def _value(value: object, origin: str) -> str:
    return f"{str(value).lower() if isinstance(value, bool) else value} ({origin})"


def notes(advice: Advice) -> list[str]:
    """Return the remarks for users about the settings before and after the upgrade."""
    return [*dict.fromkeys([*advice.before.notes, *advice.after.notes, *_unclean(advice), *_flush(advice)])]


def _unclean(advice: Advice) -> Iterator[str]:
    """Yield a note if ``unclean.leader.election.enable`` takes effect only after the upgrade."""
    before, after = (cluster.settings["unclean_leader_election"] for cluster in (advice.before, advice.after))
    if after.value and not before.value:
        yield (
            f"unclean.leader.election.enable=true ({after.origin}) takes effect with the upgrade: before, "
            f"{before.origin}"
        )


def _flush(advice: Advice) -> Iterator[str]:
    if advice.before.flushes_each:
        origin = advice.settings.given["log.flush.interval.messages"].origin
        yield (
            f"each record is flushed when it is written ({origin}), so a broker loses the end of its log only with its "
            "disk. Bugs whose bounds have lossy_crashes need such a loss"
        )


def not_promised(advice: Advice) -> list[str]:
    """Return a sentence for each guarantee that the settings do not give before or after the upgrade."""
    before, after = advice.before.not_promised, advice.after.not_promised
    said = [each if each in after else f"before: {each}" for each in before]
    return said + [f"after: {each}" for each in after if each not in before]


KINDS: dict[Kind, str] = {
    "used": "used for what is said here",
    "abstract": "about replication, but the model does not need the values",
    "misplaced": "without effect in the file",
    "unknown": "not known",
    "unrelated": "not about replication",
}
"""What is done with settings."""


def remarks(advice: Advice) -> Iterator[tuple[str, list[Remark]]]:
    """Yield a sentence about each kind of setting in the files, with the remarks on the settings of this kind."""
    for kind, words in KINDS.items():
        if own := [remark for remark in advice.settings.remarks if remark.kind == kind]:
            yield f"{counted(len(own), 'setting')}: {words}", own
