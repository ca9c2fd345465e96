"""The archive of known bugs: what is claimed about tickets, and the searches that must confirm it.

The file gives a bug's releases, its configuration and the property that it violates, and no result of a search. Every
affected release must violate the property. The release that fixed it, and those after, must not; and the release that
fixed it must violate it again with the old rule put back.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs
import cattrs

from leadline.checker.engines import ENGINES
from leadline.checker.engines.progress import Progress
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits, Result, Verdict
from leadline.checker.spec import Spec
from leadline.checker.support.files import file_text
from leadline.checker.support.names import nearest
from leadline.model.kafka.releases import RELEASES, Column, column_of
from leadline.reports.loading import load_spec

SHIPPED = Path(__file__).resolve().with_name("bugs.toml")

Values = dict[str, int | bool | str]
Expected = Literal["violated", "holds"]


@attrs.frozen(kw_only=True)
class Bug:
    """What is claimed about a bug.

    Attributes:
        ticket: its ticket, or the KIP if it has none.
        also: other tickets and KIPs about it.
        sentence: what happens.
        property: the property that it violates.
        affected: the releases that have it, by their names in the catalog.
        fixed: the releases that fixed it: the first one, or the first with ZooKeeper and the first with KRaft.
        bounds: the bounds that differ from a release's own.
        rules: the rules that were changed, with their old values.
        defaults: in place of rules, the configuration defaults that were changed, with their old values.
        besides: other bugs of the archive, which are fixed in all runs because they would show first.
        note: what else is known, such as disputed versions.
    """

    ticket: str
    also: list[str] = attrs.field(factory=list)
    sentence: str
    property: str
    affected: list[str]
    fixed: list[str]
    bounds: Values = attrs.field(factory=dict)
    rules: dict[str, str] = attrs.field(factory=dict)
    defaults: Values = attrs.field(factory=dict)
    besides: list[str] = attrs.field(factory=list)
    note: str = ""


@attrs.frozen(kw_only=True)
class UnmodelledBug:
    """A bug that the model cannot show, and why."""

    ticket: str
    also: list[str] = attrs.field(factory=list)
    sentence: str
    reason: str


@attrs.frozen
class Run:
    """A search and its expected verdict.

    Attributes:
        bug: the bug.
        spec: what is searched, with its bounds and the one property.
        expected: the verdict.
        part: ``affected``, ``fixed``, ``later`` or ``put back``.
    """

    bug: Bug
    spec: Spec[Any]
    expected: Expected
    part: str

    def searched(self, progress: Progress | None = None) -> Outcome:
        """Search, up to the first counterexample."""
        return Outcome(self, ENGINES["compiled"](self.spec, Limits(), progress))


@attrs.frozen(eq=False)
class Outcome:
    """A run with its result."""

    run: Run
    result: Result

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one expected."""
        return self.result.verdict.value == self.run.expected

    @property
    def interrupted(self) -> bool:
        """Whether the search was interrupted."""
        return self.result.interrupted

    @property
    def trace_length(self) -> int | None:
        """The states of the counterexample; None if there is none."""
        traces = self.result.properties[0].traces
        return len(traces[0]) if traces and self.result.verdict is Verdict.VIOLATED else None


@attrs.frozen(kw_only=True)
class Archive:
    """All bugs: those that the model shows, and those that it cannot show."""

    bugs: list[Bug]
    unreached: list[UnmodelledBug] = attrs.field(factory=list)

    def about(self, ticket: str | None) -> tuple[list[Bug], list[UnmodelledBug]]:
        """The bugs that a ticket or KIP is about, in upper or lower case; all of them if it is None.

        Raises:
            LeadlineError: there are none; names the nearest.
        """
        if ticket is None:
            return self.bugs, self.unreached
        bugs = [bug for bug in self.bugs if _is_about(bug, ticket)]
        unreached = [bug for bug in self.unreached if _is_about(bug, ticket)]
        if not bugs and not unreached:
            every: list[Bug | UnmodelledBug] = [*self.bugs, *self.unreached]
            known = {name for bug in every for name in (bug.ticket, *bug.also)}
            close = nearest(ticket.upper(), known)
            raise LeadlineError(f"unknown bug {ticket!r}{close} (`leadline bugs --list` lists them)")
        return bugs, unreached

    def runs(self, bug: Bug) -> list[Run]:
        """The searches for a bug.

        Raises:
            LeadlineError: an unknown release, rule, property or bound.
        """
        return [*self._runs(bug)]

    def _runs(self, bug: Bug) -> Iterator[Run]:
        try:
            for name in bug.affected:
                yield self._run(bug, name, {}, "violated", "affected")
            for name in bug.fixed:
                yield self._run(bug, name, {}, "holds", "fixed")
                yield self._run(bug, name, bug.rules, "violated", "put back")
            for column in _later(bug):
                yield self._run(bug, column.name, {}, "holds", "later")
        except LeadlineError as error:
            raise LeadlineError(f"{bug.ticket}: {error}") from error

    def _run(self, bug: Bug, name: str, rules: dict[str, str], expected: Expected, part: str) -> Run:
        column = _column(name)
        for ticket in bug.besides:
            (other,) = (each for each in self.bugs if each.ticket == ticket)
            column = column.with_rules(_fix_of(other, column))
        reference = "+".join([column.name, *(f"{rule}={value}" for rule, value in rules.items())])
        bounds = bug.bounds | (bug.defaults if part == "put back" else {})
        spec = load_spec(reference).with_bounds(bounds).with_properties([bug.property])
        return Run(bug, spec, expected, part)


def _is_about(bug: Bug | UnmodelledBug, ticket: str) -> bool:
    return ticket.upper() in (name.upper() for name in (bug.ticket, *bug.also))


def _column(name: str) -> Column:
    column = column_of(name)
    if column is None:
        raise LeadlineError(f"{name} is not a release")
    return column


def _fix_of(bug: Bug, column: Column) -> dict[str, str]:
    """The rules to change in a release so that it does not have a bug, with the values of the release that fixed it."""
    fixed = _column(bug.fixed[0])
    return {rule: fixed.values[rule] for rule, value in bug.rules.items() if column.values[rule] == value}


def _later(bug: Bug) -> Iterator[Column]:
    """The releases after those that fixed a bug, but for those with an old rule (a bug can be in KRaft again)."""
    fixed = [_column(name) for name in bug.fixed]
    first = min(RELEASES.index(column) for column in fixed)
    known = {_column(name).name for name in (*bug.affected, *bug.fixed)}
    for column in RELEASES[first:]:
        if column.name not in known and all(column.values[rule] != value for rule, value in bug.rules.items()):
            yield column


def read_archive(path: Path = SHIPPED) -> Archive:
    """Read an archive of bugs from a TOML file. Raises LeadlineError: it cannot be read or makes no sense."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook_func(lambda kind: bool(kind == Values), lambda value, _: dict(value))
    try:
        return converter.structure(tomllib.loads(file_text(path)), Archive)
    except OSError as error:
        raise LeadlineError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise LeadlineError(f"{path} is not TOML: {error}") from error
    except cattrs.BaseValidationError as error:
        raise LeadlineError(f"{path} is not an archive of bugs: {cattrs.transform_error(error)[0]}") from error


def bugs_object(outcomes: Sequence[Outcome], unreached: Sequence[UnmodelledBug]) -> dict[str, Any]:
    """The results as an object for `json.dumps`.

    Parameters:
        outcomes: the runs with their results, those of one bug next to each other.
        unreached: the bugs that cannot be shown.
    """
    bugs = []
    for bug, own in itertools.groupby(outcomes, key=lambda outcome: outcome.run.bug):
        said = {"ticket": bug.ticket, "also": bug.also, "sentence": bug.sentence, "property": bug.property}
        bugs.append(said | {"runs": [_run_object(outcome) for outcome in own]})
    return {"bugs": bugs, "unreached": [attrs.asdict(bug) for bug in unreached]}


def _run_object(outcome: Outcome) -> dict[str, Any]:
    spec = outcome.run.spec
    return {
        "spec": spec.name,
        "bounds": attrs.asdict(spec.bounds),
        "expected": outcome.run.expected,
        "verdict": outcome.result.verdict.value,
        "trace_length": outcome.trace_length,
        "distinct_states": outcome.result.statistics.distinct,
    }
