"""Suites: checks with what is expected of them, in a TOML file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

import attrs
import cattrs

from checker import oracle, stateful
from checker.bounds import nearest
from checker.errors import LeadlineError
from checker.oracle import Progress
from checker.result import Limits, Result, Verdict
from checker.spec import Spec
from reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from reports.loading import load_spec

SHIPPED = Path(__file__).with_name("suite.toml")


@attrs.frozen(kw_only=True)
class Check:
    """One entry of a suite.

    Attributes:
        spec: a catalog name, or a file's path relative to the suite's folder, with ``:name``.
        expect: the verdict expected; of ``incomplete``, that nothing violated was found within the limits.
        violates: the property expected to be violated; needed if and only if a violation is expected.
        name: what the check is called; by default the spec's name.
        bounds: the bounds that differ from the spec's own.
        engine: ``explore`` or ``fuzz``.
        properties: the properties checked; by default ``violates``, or all if none is expected violated.
        trace_length: states of the counterexample, if it is to be checked.
        distinct_states: how many, if it is to be checked.
        depth, max_states, max_seconds: limits of ``explore``.
        examples, steps, seed: settings of ``fuzz``.
    """

    spec: str
    expect: Literal["holds", "violated", "incomplete"]
    violates: str | None = None
    name: str = ""
    bounds: dict[str, int | bool | str] = attrs.field(factory=dict)
    engine: Literal["explore", "fuzz"] = "explore"
    properties: list[str] | None = None
    trace_length: int | None = None
    distinct_states: int | None = None
    depth: int | None = None
    max_states: int | None = None
    max_seconds: float | None = None
    examples: int = 1000
    steps: int = 50
    seed: int = 0


@attrs.frozen
class Prepared:
    """A check whose spec, bounds and properties were found to exist."""

    check: Check
    spec: Spec[Any]

    @property
    def title(self) -> str:
        """The check's name, or its spec's."""
        return self.check.name or self.spec.name

    def run(self, progress: Progress | None = None) -> Outcome:
        """Run the check with its engine."""
        check = self.check
        if check.engine == "fuzz":
            result = stateful.fuzz(
                self.spec, examples=check.examples, steps=check.steps, seed_value=check.seed, progress=progress
            )
        else:
            limits = Limits(depth=check.depth, max_states=check.max_states, max_seconds=check.max_seconds)
            result = oracle.explore(self.spec, limits, progress)
        return Outcome(self, result)


@attrs.frozen(eq=False)
class Outcome:
    """A check with its result."""

    prepared: Prepared
    result: Result

    @property
    def failure(self) -> str:
        """What is not as expected, in words; empty if all is."""
        check, result = self.prepared.check, self.result
        if result.verdict.value != check.expect:
            violated = [item.property.name for item in result.properties if item.verdict is Verdict.VIOLATED]
            found = {
                Verdict.HOLDS: "it holds",
                Verdict.VIOLATED: f"{', '.join(violated)} is violated",
                Verdict.INCOMPLETE: f"it is incomplete: {result.reason}",
            }[result.verdict]
            return f"expected {check.expect}, but {found}"
        if check.violates is not None:
            item = result.of(check.violates)
            if item.verdict is not Verdict.VIOLATED:
                return f"expected {check.violates} to be violated, but it is not"
            if check.trace_length is not None and len(item.traces[0]) != check.trace_length:
                return f"expected a trace of {check.trace_length} states, but it has {len(item.traces[0])}"
        if check.distinct_states is not None and result.statistics.distinct != check.distinct_states:
            return f"expected {check.distinct_states:,} distinct states, but there are {result.statistics.distinct:,}"
        return ""

    @property
    def exit_code(self) -> int:
        """0 as expected; 3 if the run was stopped before a verdict that was expected; else 1."""
        if not self.failure:
            return AS_EXPECTED
        return INCOMPLETE if self.result.verdict is Verdict.INCOMPLETE else VIOLATED


def find_suite(folder: Path) -> Path | None:
    """The suite of a folder: ``leadline.toml``, or ``pyproject.toml`` with a table ``[tool.leadline]``."""
    own, project = folder / "leadline.toml", folder / "pyproject.toml"
    if own.is_file():
        return own
    if project.is_file() and "leadline" in _read(project).get("tool", {}):
        return project
    return None


def read_suite(path: Path) -> list[Prepared]:
    """The checks of a suite file, each found to make sense before any is run.

    Parameters:
        path: a TOML file with an array of tables ``[[check]]``; in a ``pyproject.toml`` they are called
            ``[[tool.leadline.check]]``.

    Raises:
        LeadlineError: the file cannot be read, or a check makes no sense; names the check.
    """
    content = _read(path)
    table = content.get("tool", {}).get("leadline", {}) if path.name == "pyproject.toml" else content
    entries = table.get("check")
    if set(table) - {"check"}:
        raise LeadlineError(f"{path}: unknown key {min(set(table) - {'check'})!r}: a suite has only [[check]] tables")
    if not isinstance(entries, list) or not entries:
        raise LeadlineError(f"{path} has no checks: write one or more [[check]] tables")
    return [_prepared(path, number, entry) for number, entry in enumerate(entries, start=1)]


def _prepared(path: Path, number: int, entry: Any) -> Prepared:
    name = entry.get("name") or entry.get("spec") if isinstance(entry, dict) else None
    where = f"{path}, check {number}{f' ({name})' if name else ''}"
    try:
        check = _converter().structure(entry, Check)
    except cattrs.BaseValidationError as error:
        raise LeadlineError(f"{where}: {_explained(error)}") from error
    if (check.expect == "violated") != (check.violates is not None):
        raise LeadlineError(f'{where}: expect = "violated" and violates = "PROPERTY" belong together')
    if check.engine == "fuzz" and check.expect == "holds":
        raise LeadlineError(f'{where}: fuzz can prove nothing: expect = "incomplete" if nothing is to be found')
    try:
        spec = load_spec(check.spec, path.parent).with_bounds(check.bounds)
        wanted = check.properties if check.properties is not None else [check.violates] if check.violates else None
        if check.violates and check.violates not in (wanted or []):
            raise LeadlineError(f"violates = {check.violates!r} is not among its properties")
        Limits(check.depth, check.max_states, check.max_seconds)
        return Prepared(check, spec if wanted is None else spec.with_properties(wanted))
    except LeadlineError as error:
        raise LeadlineError(f"{where}: {error}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LeadlineError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LeadlineError(f"{path} is not TOML: {error}") from error


def _converter() -> cattrs.Converter:
    """A converter that takes TOML's own types as they are, and nothing in place of them."""
    converter = cattrs.Converter(forbid_extra_keys=True)

    def exactly(*kinds: type) -> Any:
        def structure(value: Any, _: Any) -> Any:
            if type(value) not in kinds:
                raise TypeError(f"must be of type {kinds[0].__name__}, not {value!r}")
            return value

        return structure

    for kind in (int, str, bool):
        converter.register_structure_hook(kind, exactly(kind))
    converter.register_structure_hook(float, exactly(float, int))
    converter.register_structure_hook(int | bool | str, exactly(int, bool, str))
    return converter


def _explained(error: cattrs.BaseValidationError) -> str:
    first = cattrs.transform_error(error, format_exception=lambda inner, _: str(inner))[0]
    message, _, where = first.partition(" @ $.")
    if message.startswith("extra fields"):
        known = [field.name for field in attrs.fields(Check)]
        extra = message[message.index("(") + 1 : message.index(")")].split(", ")[0]
        return f"unknown key {extra!r}{nearest(extra, known)}"
    return f"{where.split('[')[0] or 'it'}: {message.removesuffix(' @ $')}"
