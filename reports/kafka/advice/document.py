"""Say what advice there is: the settings in effect, the known bugs, the rules that change, and the settings' files."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.support.messages import counted
from leadline.reports.document import (
    Block,
    Document,
    Fold,
    Heading,
    Items,
    Paragraph,
    Section,
    Span,
    Words,
    table,
    words,
)
from leadline.reports.kafka.advice.advice import Advice, Concern, Finding, Group
from leadline.reports.kafka.advice.path import blocks_of_path, blocks_of_searches
from leadline.reports.kafka.advice.quorum import blocks_of_quorum
from leadline.reports.kafka.advice.settings import Kind, Remark
from leadline.reports.kafka.bugs import SETTINGS


def advice_document(advice: Advice) -> Document:
    """Return the document of advice."""
    title = f"Upgrade from {advice.title}" if advice.is_upgrade else f"Known bugs of {advice.title}"
    return Document(title, (*_blocks(advice), Paragraph(words(advice.nothing), "note")))


def _blocks(advice: Advice) -> Iterator[Block]:
    remarks = list(_kinds_of_settings(advice))
    yield Items((*_summaries(advice, remarks),))
    yield from blocks_of_path(advice.path)
    if advice.path:
        yield Heading("the known bugs, with these settings")
    versions = (advice.before.version, advice.after.version) if advice.is_upgrade else (advice.after.version,)
    rows = [row[: len(versions) + 1] for row in _rows(advice)]
    yield table("settings in effect", ("setting in effect", *versions), rows)
    yield from (Paragraph((Span(f"note: {note}"),), "note") for note in notes(advice))
    yield from (Paragraph((Span(line),)) for line in _not_promised(advice))
    for number, (title, of_concerns, nothing) in enumerate(_sections(advice), start=1):
        yield Heading(title, f"section-{number}")
        if not of_concerns:
            yield Paragraph(words(nothing))
        for concern, findings in of_concerns.items():
            yield Paragraph(words(f"{concern.value}:"), "quiet")
            for finding in findings:
                yield from _finding(finding)
    yield from blocks_of_searches(advice.path)
    yield from blocks_of_quorum(advice.quorum)
    if advice.is_upgrade:
        rules = table("rules that change", ("rule", "before", "after", "source"), advice.rules)
        heading = words(f"rules of replication that change: {len(advice.rules)}")
        yield Fold(heading, (rules,)) if advice.rules else Paragraph(heading)
    yield Heading("the settings in the files", "settings")
    for number, (sentence, own) in enumerate(remarks, start=1):
        is_open = own[0].kind in ("unknown", "misplaced")
        yield Section(words(sentence), (_remarks(own),), f"settings-{number}", is_open)


def _summaries(advice: Advice, remarks: list[tuple[str, list[Remark]]]) -> Iterator[Words]:
    """Yield a line for each part of the document that a reader has to see, with a link to it."""
    if advice.path:
        later = sum(step.later for step in advice.path)
        said = counted(len(advice.path) - later, "step") + (f", and {counted(later, 'choice')} later" if later else "")
        yield words(Span("the upgrade, step by step", "", "path"), f": {said}")
    for number, (title, findings, _) in enumerate(_sections(advice), start=1):
        yield words(Span(title, "", f"section-{number}"), f": {_summary(findings)}")
    for sentence, own in remarks:
        if own[0].kind in ("unknown", "misplaced"):
            yield Span(sentence, "", "settings"), Span(f": {', '.join(remark.name for remark in own)}")


def _finding(finding: Finding) -> Iterator[Block]:
    looks = "violated" if finding.concern is Concern.PROMISE else "strong"
    yield Paragraph((Span(finding.bug.ticket, looks), Span(f"  {finding.harm}")))
    yield Items(tuple(map(words, (finding.bug.sentence, *finding.reasons))))
    yield from (Paragraph((Span(command, "code"),), "command") for command in finding.commands)


def _remarks(own: list[Remark]) -> Items:
    if not any(remark.text for remark in own):
        return Items((words(", ".join(remark.name for remark in own)),))
    return Items(tuple((Span(remark.name, "code"), Span(f" ({remark.place}): {remark.text}")) for remark in own))


_SUMMARIES = {
    Concern.PROMISE: "against promises to users",
    Concern.COPIES: "by which copies differ",
    Concern.STUCK: "by which something is stuck or not done as asked",
    Concern.INTERNAL: "against internal properties",
}


def _summary(of_concerns: dict[Concern, list[Finding]]) -> str:
    """Return the number of bugs of each kind, with the tickets of all but those against internal properties."""
    said = []
    for concern, findings in of_concerns.items():
        tickets = ", ".join(finding.bug.ticket for finding in findings)
        named = "" if concern is Concern.INTERNAL else f" ({tickets})"
        said.append(f"{counted(len(findings), 'bug')} {_SUMMARIES[concern]}{named}")
    return ", ".join(said) or "no known bug"


def _sections(advice: Advice) -> Iterator[tuple[str, dict[Concern, list[Finding]], str]]:
    """Yield the title of each group of findings, the bugs by what they mean to a user, and the sentence to show if
    there are none. Most empty groups are left out.
    """
    before, after = advice.before.version, advice.after.version
    bugs = f"none of the {advice.searched} bugs of replication in the archive"
    none = f"nothing is known: {bugs}, which proves nothing (see the end)"
    like = f" (which has the rules of {shared}, by its sources)" if (shared := advice.after.shared) else ""
    titles = {
        Group.FIXED: (f"fixed: possible with {before}, but not with {after}", none),
        Group.NEW: (f"newly possible with {after}{like}", none),
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
        if (findings := advice.of(group)) or nothing:
            yield title, findings, nothing


def _rows(advice: Advice) -> list[tuple[str, str, str]]:
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


def _not_promised(advice: Advice) -> list[str]:
    """Return a sentence for each guarantee that the settings do not give before or after the upgrade."""
    before, after = advice.before.not_promised, advice.after.not_promised
    said = [each if each in after else f"before: {each}" for each in before]
    return said + [f"after: {each}" for each in after if each not in before]


_KINDS: dict[Kind, str] = {
    "used": "used for what is said here",
    "abstract": "about replication, but the model does not need the values",
    "misplaced": "without effect in the file",
    "unknown": "not known",
    "unrelated": "not about replication",
}
"""What is done with settings."""


def _kinds_of_settings(advice: Advice) -> Iterator[tuple[str, list[Remark]]]:
    """Yield a sentence about each kind of setting in the files, with the remarks on the settings of this kind."""
    for kind, said in _KINDS.items():
        if own := [remark for remark in advice.settings.remarks if remark.kind == kind]:
            yield f"{counted(len(own), 'setting')}: {said}", own
