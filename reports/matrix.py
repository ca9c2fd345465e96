"""Search the specs of a verdict matrix, which is a table of verdicts by spec, property and configuration.

A matrix of Kafka's releases can also show the archive of known bugs. The bounds of the matrix are small, and some bugs
need larger bounds. Therefore each bug of a release whose failures a configuration allows is looked for with the bounds
from the archive and the settings of the configuration: by a search, and among the kept counterexamples if the search
stops at its limit. The matrix shows it in the cell of the property that it violates. If other properties are violated
within its bounds, their cells say so.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.engines import ENGINES
from leadline.checker.engines.progress import Progress
from leadline.checker.engines.set_order import with_order_checked
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits, PropertyResult, Result, Verdict
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.checker.traces.replay import executed
from leadline.invariants.promises import why_not_promised
from leadline.reports.kafka.bugs import CONFIGURED, SETTINGS, Archive, Bug, read_archive, sizes
from leadline.reports.kafka.kept_behaviours import kept_steps
from leadline.reports.kept_results import KeptResults
from leadline.reports.loading import load_spec, mixed_in
from leadline.reports.toml_files import Values, read_as

SHIPPED = Path(__file__).resolve().with_name("matrix.toml")

NAMED = (
    "consumer-groups",
    "control",
    "costs",
    "deletion",
    "designs",
    "group-offsets",
    "group-states",
    "groups",
    "quorum",
    "rolls",
    "states",
    "transactions",
    "upgrades",
)
"""The names of further shipped files, next to `SHIPPED`."""

STATES = "distinct states"
"""The name of the only column of a matrix that checks no properties."""

BUG_STATES = 200_000
"""The number of distinct states after which a search for a known bug stops. Nearly all of them have fewer states."""


@attrs.frozen(kw_only=True)
class Configuration:
    """A configuration in which the specs of a matrix are searched.

    Attributes:
        name: the name of the configuration.
        bounds: the bounds that differ from the bounds of the matrix.
        note: a note about the configuration.
        by_design: the names of the properties that the configuration does not promise. Violating them is not a bug.
        compared_with: the name of an earlier configuration. Each number of states is also shown as a ratio to the
            number for the same spec in that configuration. If empty, only a release with a changed rule has a ratio,
            which compares it with the release without the change.
        not_in: the names of the specs that are not searched in this configuration, because it does not apply to them.
        only_in: the names of the specs to which it applies. If empty, it applies to all but those in `not_in`.
        witness: the names of the witnesses on which *holds* rests in this configuration: the situations that it is
            about.
    """

    name: str
    bounds: Values = attrs.field(factory=dict)
    note: str = ""
    by_design: list[str] = attrs.field(factory=list)
    compared_with: str = ""
    not_in: list[str] = attrs.field(factory=list)
    only_in: list[str] = attrs.field(factory=list)
    witness: list[str] = attrs.field(factory=list)


@attrs.frozen(kw_only=True)
class Matrix:
    """The description of a matrix: the searches to run, and how to show their results.

    Attributes:
        specs: the names of the specs.
        bounds: the bounds of all searches. A configuration can override them.
        configurations: the configurations in which each spec is searched.
        properties: the names of the properties to check, or None for all properties of each spec. If the list is empty,
            the searches only count states.
        labels: phrases that say what a violation of a property means, keyed by the name of the property.
        max_states: the number of distinct states after which a search stops.
        title: the heading of the page.
        known_bugs: true if the cells also show the known bugs that can occur in the configuration.
        witness: the names of the witnesses on which *holds* rests, keyed by the name of the property: the situations
            that the property is about. A cell whose situations were not all reached says that nothing is decided.
    """

    specs: list[str]
    configurations: list[Configuration]
    bounds: Values = attrs.field(factory=dict)
    properties: list[str] | None = None
    labels: dict[str, str] = attrs.field(factory=dict)
    max_states: int | None = None
    title: str = "What holds where"
    known_bugs: bool = False
    witness: dict[str, list[str]] = attrs.field(factory=dict)

    @property
    def only_counts(self) -> bool:
        """True if no property is checked. The tables then show numbers of states."""
        return self.properties == []

    @property
    def by_spec(self) -> bool:
        """True if the tables have a row for each spec, because there are more specs than properties."""
        return self.properties is not None and len(self.specs) > len(self.properties)

    def label(self, name: str) -> str:
        """Return what a violation of a property means, or the name of the property if it is not in `labels`."""
        return self.labels.get(name, name)

    def bounds_of(self, configuration: Configuration) -> Values:
        """Return the bounds of a configuration that differ from the defaults of the specs."""
        return self.bounds | configuration.bounds

    def by_configuration(self, columns: Sequence[Column]) -> list[tuple[Configuration, list[Column]]]:
        """Return a (configuration, results) pair for each configuration that has results."""
        found = [(each, [column for column in columns if column.configuration is each]) for each in self.configurations]
        return [(each, own) for each, own in found if own]

    def is_complete(self, own: Sequence[Column]) -> bool:
        """Return whether all searches of a configuration were run and none was interrupted."""
        return len(own) == len(self.specs_in(own[0].configuration)) and not own[-1].result.interrupted

    def prepared(self) -> list[tuple[Configuration, Spec[object]]]:
        """Validate all searches. Return a (configuration, spec) pair for each search.

        Raises:
            LeadlineError: if a spec or property does not exist, if a bound is invalid, if the specs have different
                properties, or if a configuration is compared with one that does not come before it.
        """
        before = [""]
        for configuration in self.configurations:
            if configuration.compared_with not in before:
                raise LeadlineError(
                    f"configuration {configuration.name!r} is compared with {configuration.compared_with!r}, which is "
                    "not the name of an earlier configuration"
                )
            before.append(configuration.name)
        found = [
            (each, self._spec(reference, each)) for each in self.configurations for reference in self.specs_in(each)
        ]
        for (_, first), (_, spec) in itertools.pairwise(found):
            names = {item.name for item in first.checks}.symmetric_difference(item.name for item in spec.checks)
            if different := names.difference(*(each.witness for each in self.configurations)):
                raise LeadlineError(
                    f"{first.name} and {spec.name} have different properties, such as {min(different)}: list the "
                    'properties to compare, as in properties = ["NAME"]'
                )
        return found

    def specs_in(self, configuration: Configuration) -> list[str]:
        """Return the names of the specs that are searched in a configuration.

        Raises:
            LeadlineError: if the configuration names a spec that the matrix does not have.
        """
        for name in (*configuration.not_in, *configuration.only_in):
            if name not in self.specs:
                raise LeadlineError(f"{configuration.name}: it names {name}, which is not one of the specs")
        searched = configuration.only_in or self.specs
        return [name for name in self.specs if name in searched and name not in configuration.not_in]

    def _spec(self, reference: str, configuration: Configuration) -> Spec[object]:
        spec = load_spec(reference).with_bounds(self.bounds_of(configuration))
        if self.properties == []:
            return spec.with_properties([])
        found = {name for names in (*self.witness.values(), configuration.witness) for name in names}
        witnessed = spec.resting_on(sorted(found), self.properties)
        return attrs.evolve(witnessed, rests_on=())  # each cell rests on its own witnesses

    def rests_on(self, name: str, configuration: Configuration) -> list[str]:
        """Return the names of the witnesses on which a cell rests."""
        return list(dict.fromkeys([*self.witness.get(name, []), *configuration.witness]))

    def columns(self, progress: Progress | None = None, kept: KeptResults | None = None) -> Iterator[Column]:
        """Run the searches, and yield the result of each. Stop if a search is interrupted.

        Parameters:
            progress: a function that is called regularly with the counts of the current search.
            kept: the results of searches that need not be made again.
        """
        counted: dict[tuple[str, str], Result] = {}
        archive = read_archive() if self.known_bugs else Archive(bugs=[])
        finder = BugFinder(progress, kept or KeptResults())
        for configuration, spec in self.prepared():
            before = finder.kept.seconds
            result = finder.searched(spec, self.max_states)
            counted[configuration.name, spec.name] = result
            if self.only_counts:
                other = configuration.compared_with
                unchanged = (other, spec.name) if other else (configuration.name, spec.name.partition("+")[0])
                base = counted.get(unchanged, result)
                cells = {STATES: MatrixCell.of_count(result, base)}
            else:
                cells = {
                    item.property.name: MatrixCell.of(
                        item, result, configuration, self.rests_on(item.property.name, configuration)
                    )
                    for item in result.properties
                    if self.properties is None or item.property.name in self.properties
                }
                mixed = releases_of_mix(spec) if Verdict.VIOLATED in (cell.verdict for cell in cells.values()) else []
                parts = [finder.searched(each, self.max_states) for each in mixed]
                if any(part.interrupted for part in parts):
                    return
                cells = {name: cell.beside(name, parts) for name, cell in cells.items()}
            undecided = []
            for bug in [] if result.interrupted else archive.allowed(spec):
                looked = finder.looked(bug, spec)
                if looked is None:
                    return
                cells = {name: cell.with_bug(bug, looked.traces.get(name)) for name, cell in cells.items()}
                undecided += [] if looked.is_decided else [bug.ticket]
            yield Column(configuration, spec.name, cells, result, undecided, finder.kept.seconds - before)
            if result.interrupted:
                return


@attrs.frozen
class Looked:
    """What was found of a known bug with the settings of a configuration.

    Attributes:
        traces: the counterexamples, keyed by the name of the property. Those of other properties than the bug's are not
            by design.
        is_decided: false if the bug was not found by a search that stopped at its limit.
    """

    traces: dict[str, Trace[object]]
    is_decided: bool


@attrs.frozen
class BugFinder:
    """Finds the properties that known bugs violate with the settings of a configuration.

    Attributes:
        progress: a function that is called regularly with the counts of the current search, or None.
        kept: the results of searches that need not be made again.
    """

    progress: Progress | None = None
    kept: KeptResults = attrs.field(factory=KeptResults)
    _found: dict[tuple[str, str, str], Looked] = attrs.field(factory=dict, init=False)

    def searched(self, spec: Spec[object], max_states: int | None) -> Result:
        """Return the result of searching a spec for all its properties."""
        limits = Limits(keep_going=True, max_states=max_states)

        def search() -> Result:
            return with_order_checked(spec, lambda: ENGINES["compiled"](spec, limits, self.progress))

        return self.kept.result(spec, limits, search)

    def looked(self, bug: Bug, spec: Spec[object]) -> Looked | None:
        """Look for a bug within its own bounds, but with the settings of a spec.

        A kept counterexample of the bug serves if the search stops at its limit.

        Parameters:
            bug: the bug, which affects the release.
            spec: the release with a configuration. Its properties are looked at.

        Returns:
            What was found, or None if the search was interrupted.

        Raises:
            LeadlineError: if the settings are those of the archive, and a complete search does not find the bug.
        """
        found, is_decided = dict[str, Trace[object]](), True
        for within in bug_within(bug, spec):
            looked = self._looked(bug, spec, within)
            if looked is None:
                return None
            found, is_decided = looked.traces | found, looked.is_decided and is_decided
            if bug.property in looked.traces:
                return Looked(found, True)
        return Looked(found, is_decided)

    def _looked(self, bug: Bug, spec: Spec[object], within: Spec[object]) -> Looked | None:
        """Look for a bug in one spec that `bug_within` returns."""
        key = (bug.ticket, spec.name, bounds_text(attrs.asdict(within.bounds)))
        if key not in self._found:
            result = self.searched(within, BUG_STATES)
            if result.interrupted:
                return None
            found = {item.property.name: item.traces[0] for item in result.properties if item.traces}
            has_own = Archive(bugs=[bug]).possible(spec) != []
            is_due = result.exhausted and has_own and bug.property in self._names(within)
            if is_due and bug.property not in found:
                raise LeadlineError(f"{bug.ticket}: the search for this bug finds no violation of {bug.property}")
            known = ({} if result.exhausted else kept_traces(bug, within)) | found
            own = {bug.property} if has_own else set()  # a default can be the bug, which then is by design (KIP-106)
            known = {name: trace for name, trace in known.items() if name in own or not why_not_promised(name, trace)}
            self._found[key] = Looked(known, result.exhausted or bug.property in known)
        return self._found[key]

    @staticmethod
    def _names(spec: Spec[Any]) -> set[str]:
        return {item.name for item in spec.checks}


def releases_of_mix(spec: Spec[Any]) -> list[Spec[Any]]:
    """Return the two releases that a spec mixes, with the same checks and within the same bounds, or nothing."""
    bounds, checks = attrs.asdict(spec.bounds), {item.name for item in spec.checks}
    found = []
    for release in map(load_spec, mixed_in(spec.name)):
        known = {item.name for item in (*release.checks, *release.optional)}
        common = {field.name: bounds[field.name] for field in attrs.fields(type(release.bounds))}
        found.append(release.with_bounds(common).with_properties(sorted(checks & known)))
    return found


def bug_within(bug: Bug, spec: Spec[Any]) -> list[Spec[Any]]:
    """Return a release with the bounds that a bug needs, and with the settings and properties of a configuration.

    There is a second spec, with more brokers, if ``min.insync.replicas`` is larger than in the bug's own search, and
    the bug's property is one of those.
    """
    settings = {name: getattr(spec.bounds, name) for name in (*SETTINGS, *CONFIGURED) if hasattr(spec.bounds, name)}
    names = [item.name for item in spec.checks if not item.kind.is_witness]
    usual = load_spec(spec.name).with_bounds(bug.bounds_for(spec.name)).with_properties(names)
    within = usual.with_bounds(settings)
    if "min_insync_replicas" not in settings or bug.property not in names:
        return [within]
    return [within.with_bounds({"brokers": size}) for size in sizes(usual.bounds, settings["min_insync_replicas"])]


def kept_traces(bug: Bug, within: Spec[Any]) -> dict[str, Trace[object]]:
    """Return the kept counterexamples of a bug that are also counterexamples in a spec, keyed by the property."""
    found: dict[str, Trace[object]] = {}
    for steps, item in itertools.product(kept_steps(bug.ticket, within.name), within.checks):
        trace = None if item.name in found else executed(within.with_properties([item.name]), steps)
        if trace is not None:
            found[item.name] = trace
    return found


@attrs.frozen
class MatrixCell:
    """A cell of a matrix. It shows the verdict on a property.

    Attributes:
        text: the verdict in words, with a number: the count of distinct states if the property holds (and of those
            that are open, for a liveness property), the length of a shortest trace if it is violated, and the depth
            reached if the search is incomplete.
        by_design: true if the property is violated but the configuration does not promise it.
        trace: the trace that the search found for the property, or None if it found none.
        unreached: the names of the witnesses on which the verdict would rest, but which no search reached.
        bugs: the known bugs that violate the property, and bugs within whose bounds it is violated. Each is a pair of
            words and a trace.
    """

    verdict: Verdict
    text: str
    by_design: bool = False
    trace: Trace[object] | None = None
    unreached: tuple[str, ...] = ()
    bugs: tuple[tuple[str, Trace[object]], ...] = ()

    @classmethod
    def of(
        cls, item: PropertyResult, result: Result, configuration: Configuration, rests_on: Sequence[str] = ()
    ) -> MatrixCell:
        """Make the cell for a property.

        Parameters:
            rests_on: the names of the witnesses on which *holds* rests.
        """
        verdict, statistics = item.verdict, result.statistics
        trace = item.traces[0] if item.traces else None
        length = len(trace) if trace is not None else 0
        if item.property.kind.is_witness and verdict is not Verdict.INCOMPLETE:
            return cls(verdict, f"shown ({length})" if length else "never shown", trace=trace)
        unspoken = f", {statistics.open:,} open" if item.property.kind.is_liveness and statistics.open else ""
        number = {
            Verdict.HOLDS: f"{statistics.distinct:,}{unspoken}",
            Verdict.VIOLATED: f"{length}",
            Verdict.INCOMPLETE: f"depth {statistics.depth}",
        }[verdict]
        if verdict is Verdict.VIOLATED and item.property.name in configuration.by_design:
            return cls(verdict, f"by design ({number})", by_design=True, trace=trace)
        if verdict is Verdict.HOLDS and (unreached := result.unreached(rests_on)):
            return cls(Verdict.INCOMPLETE, f"not decided ({number})", unreached=tuple(unreached))
        return cls(verdict, f"{verdict.value} ({number})", trace=trace)

    def with_bug(self, bug: Bug, trace: Trace[object] | None) -> MatrixCell:
        """Return the cell with a known bug, if it has a counterexample of the cell's property.

        Within the bounds of a bug, other properties can be violated too. This is said only if the property would seem
        to hold otherwise, and not called that bug.

        Parameters:
            trace: a counterexample of the cell's property within the bounds of the bug, or None if there is none.
        """
        is_named = trace is not None and trace.about is not None and trace.about.name == bug.property
        if trace is None or self.by_design or (self.verdict is Verdict.VIOLATED and not is_named):
            return self
        bugs = (*self.bugs, (bug.ticket if is_named else f"with the bounds of {bug.ticket}", trace))
        text = self.text if self.verdict is Verdict.VIOLATED else f"{Verdict.VIOLATED.value} beyond these bounds"
        return attrs.evolve(self, verdict=Verdict.VIOLATED, text=text, bugs=bugs)

    def beside(self, name: str, parts: Sequence[Result]) -> MatrixCell:
        """Return the cell of a mix of releases, which says of a violation whether a release violates the property, too.

        Parameters:
            parts: the results for the two releases within the same bounds. None for a spec that is no mix.
        """
        if not parts or self.verdict is not Verdict.VIOLATED:
            return self
        found = {part.spec.name: {each.property.name: each.verdict for each in part.properties} for part in parts}
        also = [each.partition("/")[2] for each, verdicts in found.items() if verdicts.get(name) is Verdict.VIOLATED]
        undecided = any(verdicts.get(name) is Verdict.INCOMPLETE for verdicts in found.values())
        said = f"{' and '.join(also)} too" if also else "releases not decided" if undecided else "only in the mix"
        return attrs.evolve(self, text=f"{self.text}, {said}")

    @classmethod
    def of_count(cls, result: Result, base: Result) -> MatrixCell:
        """Make a cell that shows the number of distinct states, and the ratio of this number to that of another search.

        Parameters:
            base: the result to compare with. If it is `result`, no ratio is shown.
        """
        distinct = result.statistics.distinct
        if not result.exhausted:
            return cls(Verdict.INCOMPLETE, f"incomplete ({distinct:,}, depth {result.statistics.depth})")
        if base is result or not base.exhausted:
            return cls(Verdict.HOLDS, f"{distinct:,}")
        return cls(Verdict.HOLDS, f"{distinct:,} (× {distinct / base.statistics.distinct:.2f})")

    @property
    def is_bug(self) -> bool:
        """True if the property is violated and the configuration promises it."""
        return self.verdict is Verdict.VIOLATED and not self.by_design


@attrs.frozen
class Column:
    """The result of searching one spec in one configuration.

    Attributes:
        cells: the cells, keyed by the name of the property.
        undecided: the tickets of known bugs that were not found, but whose searches stopped at their limit.
        seconds: the processor time of the searches, without those that an earlier column needed, too.
    """

    configuration: Configuration
    spec: str
    cells: dict[str, MatrixCell]
    result: Result
    undecided: Sequence[str] = ()
    seconds: float = 0.0

    @property
    def short(self) -> str:
        """The name of the spec without its family, such as ``3.7`` for ``kafka/3.7``."""
        return self.spec.partition("/")[2]

    @property
    def has_bug(self) -> bool:
        """True if a property that the configuration promises is violated."""
        return any(cell.is_bug for cell in self.cells.values())


def summary(matrix: Matrix, own: Sequence[Column]) -> Iterator[str]:
    """Yield sentences that name the violated properties and the specs in which they are violated.

    Parameters:
        own: the results for one configuration, in the order of the specs.
    """
    if matrix.only_counts:
        sizes = [column.result.statistics.distinct for column in own]
        yield f"{min(sizes):,} to {max(sizes):,} states"
        return
    shorts, meaning = [column.short for column in own], {name: f"{name} is violated" for name in own[0].cells}
    meaning |= matrix.labels
    for name in own[0].cells:
        failing = [column.cells[name].is_bug for column in own]
        if any(failing):
            yield f"{meaning[name]} in {_ranges(shorts, failing)}"
    clean = list(itertools.takewhile(lambda column: column.result.exhausted and not column.has_bug, reversed(own)))
    if len(clean) == len(own):
        yield "nothing was found in any release" + (", except by design" if own[0].configuration.by_design else "")
    elif clean:
        yield f"nothing was found {'since' if len(clean) > 1 else 'in'} {clean[-1].short}"
    for name in own[0].cells:
        is_open = [column.cells[name].verdict is Verdict.INCOMPLETE for column in own]
        if any(is_open):
            yield f"not decided whether {meaning[name]} in {_ranges(shorts, is_open)}"
    for ticket in dict.fromkeys(ticket for column in own for ticket in column.undecided):
        yield f"{ticket} is not decided in {_ranges(shorts, [ticket in column.undecided for column in own])}"


def _ranges(names: Sequence[str], chosen: Sequence[bool]) -> str:
    """Return the chosen names as text, with consecutive names combined into ranges, such as ``0.10.2 to 2.1, 2.8``."""
    runs: list[list[str]] = []
    for name, is_chosen, before in zip(names, chosen, [False, *chosen], strict=False):
        if is_chosen:
            runs = [*runs[:-1], [*runs[-1], name]] if before else [*runs, [name]]
    if len(runs) == 1 and len(runs[0]) == len(names):
        return "all of them"
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def matrix_file(given: Path | None) -> Path:
    """Return the path of a matrix file.

    Parameters:
        given: a path, a name in `NAMED`, or None for `SHIPPED`. An existing file takes precedence over a shipped one.
    """
    if given is None:
        return SHIPPED
    return SHIPPED.with_name(f"{given}.toml") if str(given) in NAMED and not given.exists() else given


def read_matrix(path: Path) -> Matrix:
    """Read a matrix from a TOML file.

    Parameters:
        path: the file. Its keys are the attributes of `Matrix`.

    Raises:
        LeadlineError: if the file cannot be read or is invalid.
    """
    return read_as(Matrix, path, "a valid matrix file")
