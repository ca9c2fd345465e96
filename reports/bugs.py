"""The archive of bugs: what is asserted of tickets, and the searches that must bear it out.

Of a bug the file says its releases, its configuration and the property that it violates, and nothing of what a search
finds. Every release that it names must violate the property; the one that mended it, and those after, must not; and
the one that mended it must again when the rule that it changed is put back.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs
import cattrs

from checker.engines import ENGINES
from checker.errors import LeadlineError
from checker.names import nearest
from checker.progress import Progress
from checker.result import Limits, Result, Verdict
from checker.spec import Spec
from model.kafka.releases import RELEASES, Column, column_of
from reports.loading import load_spec

SHIPPED = Path(__file__).with_name("bugs.toml")

Values = dict[str, int | bool | str]
Expected = Literal["violated", "holds"]


@attrs.frozen(kw_only=True)
class Bug:
    """What is asserted of a bug.

    Attributes:
        ticket: its ticket, or the KIP if it has none.
        also: other tickets and KIPs that are about it.
        sentence: what happens.
        property: what it violates.
        affected: the releases it is in, by their names in the catalog.
        mended: the releases that mended it: the first one, or the first with ZooKeeper and the first with KRaft.
        bounds: the bounds that differ from a release's own.
        rules: the rules that were mended, with the values that they had before.
        defaults: instead of that, defaults of the configuration that were changed, with the values they had before.
        besides: other bugs of the archive that are mended in all runs, as they would show first.
        note: what else is known of it, such as disputed versions.
    """

    ticket: str
    also: list[str] = attrs.field(factory=list)
    sentence: str
    property: str
    affected: list[str]
    mended: list[str]
    bounds: Values = attrs.field(factory=dict)
    rules: dict[str, str] = attrs.field(factory=dict)
    defaults: Values = attrs.field(factory=dict)
    besides: list[str] = attrs.field(factory=list)
    note: str = ""


@attrs.frozen(kw_only=True)
class Unreached:
    """A bug that no release of the model can show, and why."""

    ticket: str
    also: list[str] = attrs.field(factory=list)
    sentence: str
    reason: str


@attrs.frozen
class Run:
    """A search, and what is expected of it.

    Attributes:
        bug: the bug that it is about.
        spec: what is searched, with its bounds and the one property.
        expected: the verdict.
        part: ``affected``, ``mended``, ``later`` or ``put back``.
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
    """All bugs: those that the model shows, and those that it cannot."""

    bugs: list[Bug]
    unreached: list[Unreached] = attrs.field(factory=list)

    def about(self, ticket: str | None) -> tuple[list[Bug], list[Unreached]]:
        """What is about a ticket or KIP, in whatever case it is written; everything, if it is None.

        Raises:
            LeadlineError: there is nothing; names the nearest.
        """
        if ticket is None:
            return self.bugs, self.unreached
        bugs = [bug for bug in self.bugs if _is_about(bug, ticket)]
        unreached = [bug for bug in self.unreached if _is_about(bug, ticket)]
        if not bugs and not unreached:
            every: list[Bug | Unreached] = [*self.bugs, *self.unreached]
            known = {name for bug in every for name in (bug.ticket, *bug.also)}
            raise LeadlineError(f"unknown bug {ticket!r}{nearest(ticket.upper(), known)} (`leadline bugs --list`)")
        return bugs, unreached

    def runs(self, bug: Bug) -> list[Run]:
        """The searches for a bug.

        Raises:
            LeadlineError: a release, rule, property or bound that there is not.
        """
        return [*self._runs(bug)]

    def _runs(self, bug: Bug) -> Iterator[Run]:
        try:
            for name in bug.affected:
                yield self._run(bug, name, {}, "violated", "affected")
            for name in bug.mended:
                yield self._run(bug, name, {}, "holds", "mended")
                yield self._run(bug, name, bug.rules, "violated", "put back")
            for column in _later(bug):
                yield self._run(bug, column.name, {}, "holds", "later")
        except LeadlineError as error:
            raise LeadlineError(f"{bug.ticket}: {error}") from error

    def _run(self, bug: Bug, name: str, rules: dict[str, str], expected: Expected, part: str) -> Run:
        column = _column(name)
        for ticket in bug.besides:
            (other,) = (each for each in self.bugs if each.ticket == ticket)
            column = column.with_rules(_mending(other, column))
        reference = "+".join([column.name, *(f"{rule}={value}" for rule, value in rules.items())])
        bounds = bug.bounds | (bug.defaults if part == "put back" else {})
        spec = load_spec(reference).with_bounds(bounds).with_properties([bug.property])
        return Run(bug, spec, expected, part)


def _is_about(bug: Bug | Unreached, ticket: str) -> bool:
    return ticket.upper() in (name.upper() for name in (bug.ticket, *bug.also))


def _column(name: str) -> Column:
    column = column_of(name)
    if column is None:
        raise LeadlineError(f"{name} is not a release")
    return column


def _mending(bug: Bug, column: Column) -> dict[str, str]:
    """The rules by which a release has a bug, as the release that mended it has them."""
    mended = _column(bug.mended[0])
    return {rule: mended.values[rule] for rule, value in bug.rules.items() if column.values[rule] == value}


def _later(bug: Bug) -> Iterator[Column]:
    """The releases after those that mended a bug, which have not gone back to what was before."""
    mended = [_column(name) for name in bug.mended]
    first = min(RELEASES.index(column) for column in mended)
    known = {_column(name).name for name in (*bug.affected, *bug.mended)}
    for column in RELEASES[first:]:
        if column.name not in known and all(column.values[rule] != value for rule, value in bug.rules.items()):
            yield column


def read_archive(path: Path = SHIPPED) -> Archive:
    """Read an archive of bugs from a TOML file. Raises LeadlineError: it cannot be read or makes no sense."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook_func(lambda kind: bool(kind == Values), lambda value, _: dict(value))
    try:
        return converter.structure(tomllib.loads(path.read_text(encoding="utf-8")), Archive)
    except OSError as error:
        raise LeadlineError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LeadlineError(f"{path} is not TOML: {error}") from error
    except cattrs.BaseValidationError as error:
        raise LeadlineError(f"{path} is not an archive of bugs: {cattrs.transform_error(error)[0]}") from error


def bugs_object(outcomes: Sequence[Outcome], unreached: Sequence[Unreached]) -> dict[str, Any]:
    """What was found, as an object that `json.dumps` takes.

    Parameters:
        outcomes: the runs with their results, those of a bug one after another.
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
