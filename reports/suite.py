"""Read and run suites, which are TOML files with checks and their expected results."""

from __future__ import annotations

import functools
import itertools
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Literal

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.engines import ENGINES
from leadline.checker.engines.progress import Progress, paced
from leadline.checker.engines.set_order import with_order_checked
from leadline.checker.errors import LeadlineError
from leadline.checker.liveness.refusal import refuse_liveness
from leadline.checker.result import Limits, PropertyResult, Result, Verdict
from leadline.checker.settings import MOST_EXAMPLES, MOST_STEPS, CompiledSettings, RandomSettings
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.files import file_text, read_toml
from leadline.checker.support.messages import nearest
from leadline.reports.diagnosis import Diagnosis, default_seconds, diagnose, lines
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.kafka.known_bugs import refuse_unclaimed
from leadline.reports.loading import load_spec
from leadline.reports.runs.phrases import violations
from leadline.reports.shares import share_of
from leadline.reports.toml_files import Values, structured

SHIPPED = Path(__file__).resolve().with_name("suite.toml")

ANSWERS = SHIPPED.parent / "kafka" / "answers" / "suite.toml"
"""A shipped suite whose checks are questions from readers of the articles on Kafka's high watermark."""

_HEADER = re.compile(r"\s*\[\[\s*(tool\s*\.\s*leadline\s*\.\s*)?check\s*\]\]")
"""A regular expression that matches the first line of a check."""

Expected = Literal["holds", "violated", "incomplete"]
Engine = Literal["explore", "fuzz"]


@attrs.frozen(kw_only=True)
class Check:
    """An entry of a suite: a search and its expected result.

    Attributes:
        spec: the name of a spec in the catalog, or ``file.py:name`` with a path relative to the folder of the suite.
        expect: the expected verdict. It is ``incomplete`` if the search should find no violation within its limits.
        violates: the name of the property that should be violated. It must be given if, and only if, ``expect`` is
            ``violated``.
        name: the name of the check. By default, the name of the spec.
        bounds: the bounds that differ from the defaults of the spec.
        engine: ``explore`` to search all states, or ``fuzz`` to search at random.
        properties: the names of the properties to check. By default, only ``violates`` if it is given, otherwise all.
        trace_length: the expected number of states in the counterexample, or None for any number.
        distinct_states: the expected number of distinct states, or None for any number. Only for ``explore``.
        depth: the maximum number of states in a behaviour. Only for ``explore``.
        max_states: the number of distinct states after which the search stops. Only for ``explore``.
        max_seconds: the time in seconds after which the search stops.
        examples: the number of behaviours to search. Only for ``fuzz``.
        steps: the maximum number of steps in a behaviour. Only for ``fuzz``.
        seed: the seed for the random choices. Only for ``fuzz``.
        symmetry: whether to search one state of each orbit; see `Spec.symmetric`. ``distinct_states`` then counts
            orbits. Only for ``explore``.
        verify: the share of learned results to compare with real calls, as a percentage such as ``5%``.
        covers: the names of the actions, witnesses and properties that the run must cover, or true for all of them. An
            action must be enabled in some state, a witness must be shown, and the premise of a property must be true in
            some state.
        vacuous: the names of the properties that must hold vacuously: their premise is true in no state. Any other
            property that does so is not as expected, because it says nothing.
        witness: the names of the witnesses on which the result rests: the situations that the check is about. If one of
            them is not reached, nothing is decided. See `Spec.rests_on`.
        marks: the names of the check's pytest markers; see `leadline.reports.pytest_plugin`.
        note: text about the check, which `leadline check --answers` writes below the name.
    """

    spec: str
    expect: Expected
    violates: str | None = None
    name: str = ""
    bounds: Values = attrs.field(factory=dict)
    engine: Engine = "explore"
    properties: list[str] | None = None
    trace_length: int | None = None
    distinct_states: int | None = None
    depth: int | None = None
    max_states: int | None = None
    max_seconds: float | None = None
    examples: int = RandomSettings().examples
    steps: int = RandomSettings().steps
    seed: int = RandomSettings().seed
    symmetry: bool = False
    verify: str | None = None
    covers: bool | list[str] = False
    vacuous: list[str] = attrs.field(factory=list)
    witness: list[str] = attrs.field(factory=list)
    marks: list[str] = attrs.field(factory=list)
    note: str = ""


_DEFAULTS = Check(spec="", expect="holds")


@attrs.frozen
class PreparedCheck:
    """A check whose spec has been loaded and whose bounds and properties are valid.

    Attributes:
        title: the name of the check in its suite; see `titles`.
        line: the number of the line on which the check begins in the file.
    """

    check: Check
    spec: Spec[object]
    title: str
    file: Path
    line: int = 1

    @property
    def is_python_file(self) -> bool:
        """True if the spec of the check is in a Python file, and not in the catalog."""
        return ".py" in self.check.spec

    @property
    def spec_name(self) -> str:
        """The name of the spec as used on the command line. A path is relative to the working directory."""
        if self.is_python_file:
            return os.path.relpath(self.file.parent / self.check.spec)
        return self.check.spec

    @property
    def command(self) -> str:
        """The command that repeats the search of the check."""
        check = self.check
        words = ["leadline", check.engine, self.spec_name]
        if check.bounds:
            words += ["-b", bounds_text(check.bounds)]
        for item in self.spec.checks:
            words += ["--witness" if item.name in self.spec.rests_on else "-i", item.name]
        keys = ("examples", "steps", "seed") if check.engine == "fuzz" else ("depth", "max_states")
        for key in (*keys, "max_seconds", "verify"):
            if getattr(check, key) != getattr(_DEFAULTS, key):
                words += [f"--{key.replace('_', '-')}", str(getattr(check, key))]
        return visible(shlex.join([*words, *(["--symmetry"] if check.symmetry else [])]))

    @property
    def check_command(self) -> str:
        """The command that repeats the check."""
        shipped = self.file == SHIPPED
        words = [*([] if shipped else ["answers" if self.file == ANSWERS else os.path.relpath(self.file)]), self.title]
        options = [
            *(["--shipped"] if shipped else []),
            *(["--"] if any(word.startswith("-") for word in words) else []),
        ]
        return visible(shlex.join(["leadline", "check", *options, *words]))

    @property
    def coverable(self) -> list[str]:
        """The names that `Check.covers` may contain: those of actions, witnesses, and properties with a premise. The
        name of a property with parameters stands for all its instances.
        """
        items = [item for item in self.spec.checks if item.kind.is_witness or item.can_be_vacuous]
        names = [name for item in items for name in (item.name, item.whole.name)]
        return list(dict.fromkeys([*(action.name for action in self.spec.actions), *names]))

    def run(
        self,
        progress: Progress | None = None,
        coverage: bool = False,
        verify: float | None = None,
        workers: int | None = None,
    ) -> Outcome:
        """Run the check with its engine.

        Parameters:
            progress: a function that is called regularly with the counts so far.
            coverage: true to measure coverage, see `Statistics.covered`.
            verify: the fraction of learned results to compare with real calls, or None for the fraction that the check
                requests.
            workers: the number of threads of an exhaustive search. None means one for each core.

        Raises:
            LeadlineError: if the code of the spec raises an error. The message names the check.
        """
        try:
            if verify is None and self.check.verify is not None:
                verify = share_of(self.check.verify)
            search = functools.partial(self._result, coverage, verify, workers)
            return Outcome(self, with_order_checked(self.spec, lambda: paced(search, progress)))
        except LeadlineError as error:
            raise LeadlineError(f"{self.title}: {error}") from error

    def _result(self, coverage: bool, verify: float | None, workers: int | None, progress: Progress | None) -> Result:
        check = self.check
        if check.engine == "fuzz":
            limits = Limits(max_seconds=check.max_seconds, coverage=coverage)
            settings = RandomSettings(examples=check.examples, steps=check.steps, seed=check.seed, verify=verify)
            return ENGINES["random"](self.spec, limits, progress, settings)
        limits = Limits(check.depth, check.max_states, check.max_seconds, coverage=coverage)
        settings_of_search = CompiledSettings(symmetry=check.symmetry, verify=verify, workers=workers)
        return ENGINES["compiled"](self.spec, limits, progress, settings_of_search)


@attrs.frozen(eq=False)
class Outcome:
    """The outcome of a check in a suite.

    Attributes:
        diagnosis: the diagnosis of the first violation, or None if no diagnosis was made.
    """

    prepared: PreparedCheck
    result: Result
    diagnosis: Diagnosis | None = None

    def diagnosed(self, seconds: float | None = None, progress: Progress | None = None) -> Outcome:
        """If the violation is unexpected, diagnose it. Return the outcome, with the diagnosis if there is one.

        Parameters:
            seconds: the time limit of the diagnosis in seconds. None for the default of the spec, 0 for no diagnosis.
            progress: a function that is called regularly with the counts of the current search.
        """
        limit = default_seconds(self.result.spec) if seconds is None else seconds
        if not limit or self.verdicts_as_expected or self.result.verdict is not Verdict.VIOLATED:
            return self
        return attrs.evolve(self, diagnosis=diagnose(self.result, limit, progress))

    @property
    def causes(self) -> Sequence[str]:
        """The sentences of the diagnosis, if there is one."""
        return lines(self.diagnosis) if self.diagnosis is not None else ()

    @property
    def failure(self) -> str:
        """Text that says why the result is not as expected, or an empty string if it is as expected."""
        missed = "; ".join(self.uncovered.values())
        return self._unexpected or (f"not covered: {missed}" if missed else "")

    @property
    def reported_gaps(self) -> list[str]:
        """The names of the actions and properties that `failure` reports as not covered."""
        return [] if self._unexpected else list(self.uncovered)

    @property
    def _unexpected(self) -> str:
        """Text that says why the result is not as expected, or an empty string if it is. Coverage is ignored."""
        check, result = self.prepared.check, self.result
        missed = violations(result, "{} is violated", "{} is never shown")
        if result.verdict.value != check.expect:
            found = {
                Verdict.HOLDS: "it holds",
                Verdict.VIOLATED: missed,
                Verdict.INCOMPLETE: f"it is incomplete: {result.reason}",
            }[result.verdict]
            return f"expected {check.expect}, but {found}"
        if check.violates is not None:
            item = result.of(check.violates)
            if item.verdict is not Verdict.VIOLATED:
                return f"expected {check.violates} to be violated, but {missed} first, and the search stopped there"
            length = len(item.traces[0]) if item.traces else 0
            if check.trace_length is not None and length != check.trace_length:
                return f"expected a trace of {check.trace_length} states, but it has {length}"
        if result.interrupted:
            return f"expected {check.expect}, but it was interrupted"
        if yet := [name for name in check.witness if result.of(name).verdict is not Verdict.HOLDS]:
            return f"expected {check.expect}, but it did not reach {' and '.join(yet)}"
        for item in result.properties:
            if any(map(item.property.is_named, self._expected_to_cover)) or self._is_listed(item) == item.says_nothing:
                continue
            if not item.says_nothing:
                how = "does not" if item.verdict is Verdict.HOLDS else f"is {item.verdict.value}"
                return f"expected {item.property.name} to hold vacuously, but it {how}"
            if check.expect == "holds":
                return f"expected holds, but {item.property.name} holds vacuously: {item.never} is never true"
        if check.expect == "holds" and not result.properties and self.prepared.spec.properties:
            return "expected holds, but no property applies within these bounds"
        if check.distinct_states is not None and result.statistics.distinct != check.distinct_states:
            return f"expected {check.distinct_states:,} distinct states, but there are {result.statistics.distinct:,}"
        return ""

    def _is_listed(self, item: PropertyResult) -> bool:
        return any(map(item.property.is_named, self.prepared.check.vacuous))

    @property
    def uncovered(self) -> dict[str, str]:
        """A phrase about each required action or property that is not covered, keyed by name."""
        result, expected = self.result, self._expected_to_cover
        yet = "never" if result.exhausted else "not"
        idle = result.statistics.never_enabled
        missed = {name: f"action {visible(name)} is {yet} enabled" for name in expected if name in idle}
        for item in (item for item in result.properties if any(map(item.property.is_named, expected))):
            if item.property.kind.is_witness and item.verdict is not Verdict.HOLDS:
                missed[item.property.name] = f"witness {visible(item.property.name)} is {yet} shown"
            if item.premise is False:
                missed[item.property.name] = f"the premise of {visible(item.property.name)} is {yet} true"
        return missed

    @property
    def _expected_to_cover(self) -> list[str]:
        covers = self.prepared.check.covers
        return self.prepared.coverable if covers is True else covers or []

    @property
    def saying_nothing(self) -> list[str]:
        """The names of the properties that hold only because their premise is never true, except those that `failure`
        reports.
        """
        named = [] if self._unexpected else self._expected_to_cover
        names = [item.property.name for item in self.result.properties if item.says_nothing]
        return [name for name in names if name not in named]

    @property
    def verdicts_as_expected(self) -> bool:
        """True if all verdicts are as expected. The check can still fail, for example because a count differs."""
        violates = self.prepared.check.violates
        if self.result.verdict.value != self.prepared.check.expect:
            return False
        return violates is None or self.result.of(violates).verdict is Verdict.VIOLATED

    @property
    def exit_code(self) -> int:
        """The exit code of the check.

        The code is 0 if the result is as expected, 3 if the run was interrupted or ended without a verdict, and 1
        otherwise. It is also 1 if the run is expected to be incomplete, but a count differs or coverage is missing.
        """
        if not self.failure:
            return AS_EXPECTED
        is_open = self.result.verdict is Verdict.INCOMPLETE
        return INCOMPLETE if is_open and (self.result.interrupted or not self.verdicts_as_expected) else VIOLATED


@attrs.frozen(eq=False)
class SuiteRun:
    """A run of a suite.

    Attributes:
        outcomes: the outcomes of the checks that were run.
    """

    name: str
    checks: Sequence[PreparedCheck]
    outcomes: Sequence[Outcome]

    @property
    def exit_code(self) -> int:
        """The exit code of the worst outcome, or `INCOMPLETE` if some checks were not run."""
        codes = [outcome.exit_code for outcome in self.outcomes]
        if VIOLATED in codes:
            return VIOLATED
        return INCOMPLETE if INCOMPLETE in codes or len(codes) < len(self.checks) else AS_EXPECTED

    @property
    def summary(self) -> str:
        """A sentence that says how many checks have the expected result."""
        return as_expected([outcome.exit_code for outcome in self.outcomes], len(self.checks))


def suite_and_names(words: Sequence[str]) -> tuple[Path | None, Sequence[str]]:
    """Split the arguments of a command into the suite, if they begin with one, and the names of checks.

    A suite is something that exists, or a word that ends in ``.toml``, or ``answers`` for `ANSWERS`.
    """
    first = words[0] if words else ""
    if os.path.exists(first) or first.endswith(".toml"):  # unlike Path.exists, False for a name that is too long
        return Path(first), words[1:]
    return (ANSWERS, words[1:]) if first == "answers" else (None, words)


def find_suite(folder: Path) -> Path | None:
    """Return the path of the suite in a folder, or None if the folder contains no suite.

    A suite is in ``leadline.toml``, or in ``pyproject.toml`` if that file has a table ``[tool.leadline]``.
    """
    own, project = folder / "leadline.toml", folder / "pyproject.toml"
    if own.is_file():
        return own
    if project.is_file() and _tool_table(_read(project)) is not None:
        return project
    return None


def _tool_table(content: dict[str, object]) -> object:
    """Return the table ``[tool.leadline]`` of a ``pyproject.toml``, or None if there is no such table."""
    tool = content.get("tool")
    return tool.get("leadline") if isinstance(tool, dict) else None


def titles(entries: Iterable[object]) -> list[str]:
    """Return the title of each check of a suite: its name, or that of its spec if it has none. The second of two checks
    with the same name is called ``name (2)``. Invisible characters are replaced.
    """
    found = list[str]()
    for entry in entries:
        name = visible(str(entry.get("name") or entry.get("spec"))) if isinstance(entry, dict) else ""
        others = (f"{name} ({number})" for number in itertools.count(2))
        found.append(next(title for title in itertools.chain([name], others) if title not in found))
    return found


def read_suite(path: Path, names: Sequence[str] = ()) -> list[PreparedCheck]:
    """Read and validate the checks of a suite file.

    Parameters:
        path: a TOML file with a ``[[check]]`` table for each check. In a ``pyproject.toml``, these are
            ``[[tool.leadline.check]]`` tables.
        names: the titles of the checks to read. By default, all checks.

    Raises:
        LeadlineError: if the file cannot be read, if it has no check with one of the names, or if a check is invalid.
            The message names the check.
    """
    entries = read_entries(path)
    known = titles(entries)
    for name in names:
        if name not in known:
            raise LeadlineError(f"{path} has no check {name!r}{nearest(name, known)}")
    lines = [number for number, line in enumerate(file_text(path).splitlines(), start=1) if _HEADER.match(line)]
    if len(lines) != len(entries):  # such as a string with a header in it, or an array of inline tables
        lines = [1] * len(entries)
    loaded = dict[Path, ModuleType]()
    return [
        _prepared(path, number, entry, title, line, loaded)
        for number, (entry, title, line) in enumerate(zip(entries, known, lines, strict=True), start=1)
        if not names or title in names
    ]


def read_entries(path: Path) -> list[object]:
    """Return the checks in a suite file as they are written there. No spec is loaded."""
    content = _read(path)
    in_project = path.name == "pyproject.toml"
    header = "[[tool.leadline.check]]" if in_project else "[[check]]"
    table = _tool_table(content) if in_project else content
    keys = set(table) if isinstance(table, dict) else set()
    if keys - {"check"}:
        raise LeadlineError(f"{path}: unknown key {min(keys - {'check'})!r}: a suite can contain only {header} tables")
    entries = table["check"] if isinstance(table, dict) and keys else None
    if not isinstance(entries, list) or not entries:
        raise LeadlineError(f"{path} has no checks: write one or more {header} tables")
    return entries


def _prepared(
    path: Path, number: int, entry: object, title: str, line: int, loaded: dict[Path, ModuleType]
) -> PreparedCheck:
    if not isinstance(entry, dict):
        raise LeadlineError(f"{path}, check {number}: a check must be a table, not {entry!r}")
    name = entry.get("name") or entry.get("spec")
    where = f"{path}, check {number}{f' ({name})' if name else ''}"
    try:
        check = structured(Check, entry)
        _check_sense(check, set(entry))
        spec = load_spec(check.spec, path.parent, loaded).with_bounds(check.bounds)
        refuse_unclaimed(spec)
        wanted = check.properties if check.properties is not None else [check.violates] if check.violates else None
        prepared = PreparedCheck(check, spec.resting_on(check.witness, wanted), title, path, line)
        if check.violates and not any(item.is_named(check.violates) for item in prepared.spec.checks):
            raise LeadlineError(f"violates = {check.violates!r} does not name a property of this check")
        for name in check.covers if isinstance(check.covers, list) else ():
            if name not in prepared.coverable:
                raise LeadlineError(
                    f"covers contains {name!r}, but this check has no such action, witness or property with a premise"
                    f"{nearest(name, prepared.coverable)}"
                )
        for name in check.vacuous:
            if not any(item.is_named(name) and item.can_be_vacuous for item in prepared.spec.checks):
                raise LeadlineError(f"vacuous contains {name!r}, but this check has no such property with a premise")
        if check.engine == "fuzz":
            refuse_liveness(prepared.spec, 'engine = "fuzz"', 'list others in properties, or leave out engine = "fuzz"')
        return prepared
    except LeadlineError as error:
        raise LeadlineError(f"{where}: {error}") from error


def _check_sense(check: Check, given: set[str]) -> None:
    """Raise `LeadlineError` if the value of a key is out of range, or if keys of a check contradict each other."""
    if (check.expect == "violated") != (check.violates is not None):
        raise LeadlineError('expect = "violated" and violates = "PROPERTY" must be given together')
    if check.engine == "fuzz" and check.expect == "holds":
        raise LeadlineError(
            'expect = "holds" requires engine = "explore", because a random search proves nothing: use '
            'expect = "incomplete", and covers = ["WITNESS"] if a witness must be shown'
        )
    if check.violates is not None and check.witness:
        raise LeadlineError('witness requires expect = "holds" or "incomplete": a violation rests on its trace')
    if check.engine == "fuzz" and check.symmetry:
        raise LeadlineError('symmetry requires engine = "explore"')
    if check.engine == "fuzz" and check.distinct_states is not None:
        raise LeadlineError(
            'distinct_states requires engine = "explore": a random search does not visit every state, so it cannot '
            "count them"
        )
    if check.trace_length is not None and check.violates is None:
        raise LeadlineError('trace_length requires violates = "PROPERTY"')
    other, idle = ("explore", Limits) if check.engine == "fuzz" else ("fuzz", RandomSettings)
    for key in sorted(given.intersection(attrs.fields_dict(idle)) - {"max_seconds", "verify"}):  # which are for both
        raise LeadlineError(f'{key} requires engine = "{other}", but this check has engine = "{check.engine}"')
    for key in ("examples", "steps", "trace_length", "distinct_states"):
        value = getattr(check, key)
        if value is not None and value < 1:
            raise LeadlineError(f"{key} = {value} is out of range: it must be greater than 0")
    for key, most in (("examples", MOST_EXAMPLES), ("steps", MOST_STEPS)):
        if getattr(check, key) > most:
            raise LeadlineError(f"{key} = {getattr(check, key)} is out of range: it must be at most {most:,}")
    Limits(check.depth, check.max_states, check.max_seconds)
    if check.verify is not None:
        share_of(check.verify)


def _read(path: Path) -> dict[str, object]:
    try:
        return read_toml(path)
    except RecursionError as error:
        raise LeadlineError(f"{path} is not a suite: it is nested too deeply") from error


def as_expected(codes: Sequence[int], planned: int) -> str:
    """Return a sentence that says how many checks of a suite had the expected result.

    Parameters:
        codes: the exit codes of the checks that were run.
        planned: the number of checks in the suite.
    """
    left = f", {planned - len(codes)} not run" if len(codes) < planned else ""
    return f"{list(codes).count(AS_EXPECTED)} of {planned} checks as expected{left}"
