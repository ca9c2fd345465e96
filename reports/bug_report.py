"""The report on searches for known bugs: the phrases for its text and its HTML page, and its JSON object."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.support.messages import counted
from leadline.reports.bugs import Bug, BugResult, UnmodelledBug
from leadline.reports.diagnosis import Diagnosis
from leadline.reports.narrative import told
from leadline.reports.runs.phrases import states_text

PARTS = {
    "affected": "",
    "as released": ", as it was released",
    "fixed": ", which fixed it",
    "put back": ", with the old rule",
    "later": "",
}
"""The words that follow a release, by the kind of release (see `BugSearch.part`)."""


@attrs.frozen(eq=False)
class BugsReport:
    """The results of searches for known bugs.

    Attributes:
        outcomes: the searches with their results, grouped by bug.
        unreached: the bugs that the model cannot show.
        diagnoses: the diagnoses of bugs, keyed by ticket. Empty if no diagnosis was requested.
    """

    outcomes: Sequence[BugResult]
    unreached: Sequence[UnmodelledBug]
    diagnoses: Mapping[str, Diagnosis] = attrs.field(factory=dict)

    @property
    def by_bug(self) -> list[tuple[Bug, list[BugResult]]]:
        """The bugs in the report, each with the results of its searches."""
        return [(bug, list(own)) for bug, own in itertools.groupby(self.outcomes, key=lambda each: each.run.bug)]


def described(outcomes: Sequence[BugResult]) -> list[BugResult]:
    """Return the results that are described one by one: all except those for later releases in which the property
    holds.
    """
    return [each for each in outcomes if each.run.part != "later" or not each.as_expected]


def release_text(outcome: BugResult) -> str:
    """Return a phrase for the release of a search, as in ``kafka/2.8.1, which fixed it``."""
    name, part = outcome.run.spec.name, outcome.run.part
    if part == "put back" and outcome.run.bug.defaults:
        return f"{name} -b {bounds_text(outcome.run.bug.defaults)}, the old default"
    if part == "fixed" and any("+" in each for each in outcome.run.bug.fixed):
        return f"{name}, with the fix"
    return f"{name}{PARTS[part]}"


def size_text(outcome: BugResult) -> str:
    """Return the length of the trace that a search found, or the number of distinct states if it found none."""
    if outcome.trace_length:
        return f"trace of {outcome.trace_length}"
    return states_text(outcome.result.statistics)


def later_text(outcomes: Sequence[BugResult]) -> tuple[str, str] | None:
    """Return two phrases: one names the later releases in which the property holds, and one gives their numbers of
    states. Return None if there are no such releases.
    """
    later = [each for each in outcomes if each.run.part == "later" and each.as_expected]
    if not later:
        return None
    states = sorted(outcome.result.statistics.distinct for outcome in later)
    sizes = f"{states[0]:,} to {states[-1]:,} states" if states[0] != states[-1] else counted(states[0], "state")
    if most := max(outcome.result.statistics.open for outcome in later):
        sizes += f", up to {most:,} of them open"
    first, last = later[0].run.spec.name, later[-1].run.spec.name
    return first if len(later) == 1 else f"{first} to {last}, {len(later)} releases", sizes


def comparison(outcomes: Sequence[BugResult]) -> str:
    """Return the command that compares the last affected release with the fixed release. Return "" if the fixed release
    was not searched, or if the bug violates a liveness property, which `leadline diff` cannot check.
    """
    last = {outcome.run.part: outcome.run for outcome in outcomes}
    if "fixed" not in last or last["fixed"].spec.liveness:
        return ""
    bug, names = outcomes[0].run.bug, f"{last['affected'].spec.name} {last['fixed'].spec.name}"
    return f"leadline diff {names} -b {bounds_text(bug.bounds)} -i {bug.property}"


def bugs_object(report: BugsReport) -> dict[str, object]:
    """Return a report on known bugs as an object for `json.dumps`."""
    bugs = []
    for bug, own in report.by_bug:
        said: dict[str, object] = {
            "ticket": bug.ticket,
            "also": bug.also,
            "sentence": bug.sentence,
            "property": bug.property,
            "narrative": about.lines if (about := told(own[0])) is not None else {},
            "runs": [_run_object(outcome) for outcome in own],
        }
        if (diagnosis := report.diagnoses.get(bug.ticket)) is not None:
            said["diagnosis"] = attrs.asdict(diagnosis)
        bugs.append(said)
    return {"bugs": bugs, "unreached": [attrs.asdict(bug) for bug in report.unreached]}


def _run_object(outcome: BugResult) -> dict[str, object]:
    spec = outcome.run.spec
    return {
        "spec": spec.name,
        "bounds": attrs.asdict(spec.bounds),
        "expected": outcome.run.expected,
        "verdict": outcome.result.verdict.value,
        "trace_length": outcome.trace_length,
        "distinct_states": outcome.result.statistics.distinct,
    }
