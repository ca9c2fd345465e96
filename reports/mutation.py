"""Report on the mutants of a spec. Each mutant is a copy of the spec with one mistake.

If a mutant violates a property, the property kills the mutant. A mutant that violates no property survives.
"""

from __future__ import annotations

import inspect
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import attrs
import cattrs

from leadline.checker.bounds import bounds_text
from leadline.checker.errors import LeadlineError
from leadline.checker.mutation.changes import Mutation
from leadline.checker.mutation.run import Fate, Original, Outcome, Way
from leadline.checker.properties import Property
from leadline.checker.support.files import file_text
from leadline.checker.support.messages import counted
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.origin import Origin
from leadline.reports.toml_files import read_as

T = TypeVar("T")

FATES = {
    Fate.KILLED: "killed",
    Fate.ERROR: "killed by an error",
    Fate.EQUIVALENT: "equivalent within the bounds",
    Fate.NOT_MUTATED: "not mutated",
    Fate.SURVIVED: "survived",
    Fate.INCOMPLETE: "incomplete",
}
"""The name of each fate of a mutant, in the order of the report. Mutants that need attention come last."""

EXPLAINED = "explained"
"""The name that the report shows for the fate of a survivor that has an explanation."""

INTERRUPTED = "interrupted"
"""The reason why a report is incomplete after the user pressed Ctrl-C."""

CATALOGUED = ("rule", "mistake")
"""The kinds of mutants whose effect is known. If such a mutant changes nothing, the user must explain this too."""


def is_open(outcome: Outcome) -> bool:
    """Return whether a mutant needs an explanation, for example because it survived."""
    if outcome.fate is Fate.EQUIVALENT:
        return outcome.kind in CATALOGUED
    return outcome.fate in (Fate.SURVIVED, Fate.INCOMPLETE)


STAYS = "This property is kept"
"""The first words of the paragraph in the docstring of a property that says why the suite keeps the property."""


def why_it_stays(checked: Property) -> str:
    """Find the paragraph in a property's docstring that says why the suite keeps the property.

    Returns:
        The paragraph, or an empty string if the docstring has no such paragraph.
    """
    paragraphs = (inspect.getdoc(checked.written) or "").split("\n\n")
    return next((" ".join(each.split()) for each in paragraphs if each.startswith(STAYS)), "")


@attrs.frozen
class Explanation:
    """An explanation of why a mutant survives.

    Attributes:
        mutant: the name of the mutant.
        why: the reason why the mutant survives.
    """

    mutant: str
    why: str


@attrs.frozen
class _Table:
    explained: list[Explanation]


def read_explained(path: Path) -> dict[str, str]:
    """Read a TOML file with explanations of why mutants survive.

    Parameters:
        path: a file with ``[[explained]]`` tables, which have the keys ``mutant`` and ``why``.

    Returns:
        The explanations, keyed by the name of the mutant.

    Raises:
        LeadlineError: if the file cannot be read or is invalid.
    """
    table = read_as(_Table, path, "a valid explanations file")
    return {each.mutant: each.why for each in table.explained}


@attrs.frozen
class Sample:
    """A random sample of mutants.

    Attributes:
        of: the number of mutants from which the sample was chosen.
        seed: the seed for the random choice. The same seed chooses the same mutants.
    """

    of: int
    seed: int


def sampled(mutants: list[T], count: int | None, seed: int) -> list[T]:
    """Choose a random sample of mutants, and return the mutants in their original order.

    Parameters:
        count: the number of mutants to choose, or None for all.
        seed: the seed for the random choice. The same seed chooses the same mutants.
    """
    if count is None or count >= len(mutants):
        return mutants
    return [mutants[place] for place in sorted(random.Random(seed).sample(range(len(mutants)), count))]


@attrs.frozen
class Killer:
    """A property, with the mutants that it kills.

    Attributes:
        kills: the number of states in a shortest counterexample, keyed by the name of the mutant.
        alone: the names of the completely searched mutants that no other property kills. None if the searches ended at
            the first violation.
        may_be_alone: true if the search of a mutant found only violations of this property before it reached a limit.
    """

    name: str
    kills: dict[str, int]
    alone: list[str] | None
    may_be_alone: bool = False

    @property
    def shortest(self) -> int | None:
        """The number of states in the shortest counterexample to the property, or None if there is none."""
        return min((states for states in self.kills.values() if states), default=None)


@attrs.frozen(kw_only=True)
class Report:
    """The report on the mutants of a spec.

    Attributes:
        way: the settings for searching the mutants.
        originals: the results of searching the original spec, one for each set of bounds that mutants use.
        mutations: the mutations, in the order in which their mutants are searched.
        outcomes: the outcomes of the searched mutants, keyed by the name of the mutant.
        refused: the functions that could not be mutated. Each is a (name, reason) pair.
        explained: the explanations of why mutants survive, keyed by the name of the mutant.
        stays: for each property that is not a witness, the reason why the suite keeps it even if no mutant needs it.
            The reason is empty if the property's docstring gives none.
        stopped: the reason why some mutants were not searched. Empty if all mutants were searched.
        origin: the version, date and command that produced the report.
        sample: the random choice of the mutations, or None if all mutations were chosen.
    """

    spec: str
    way: Way
    originals: tuple[Original, ...]
    mutations: Sequence[Mutation]
    outcomes: Mapping[str, Outcome]
    refused: tuple[tuple[str, str], ...]
    explained: Mapping[str, str]
    stays: Mapping[str, str]
    stopped: str
    origin: Origin
    sample: Sample | None = None

    @property
    def extent(self) -> str:
        """The number of mutants, as text. If they are a sample, the text also gives the total number and the seed."""
        if self.sample is None:
            return counted(len(self.mutations), "mutant")
        return f"{len(self.mutations):,} of {counted(self.sample.of, 'mutant')}, seed {self.sample.seed}"

    @property
    def shown(self) -> list[Outcome]:
        """The outcomes in the order in which the report shows them."""
        order = list(FATES)
        known = [self.outcomes[each.name] for each in self.mutations if each.name in self.outcomes]
        return sorted(known, key=lambda outcome: order.index(outcome.fate))

    @property
    def fates(self) -> str:
        """Text that says how many mutants were killed, survived, and so on. Explained survivors are counted apart."""
        texts = Counter(EXPLAINED if self.is_explained(each) else FATES[each.fate] for each in self.outcomes.values())
        order = [*FATES.values(), EXPLAINED]
        return ", ".join(f"{texts[text]:,} {text}" for text in order if text in texts)

    @property
    def counts(self) -> str:
        """Text that says how many mutants were searched, and how many of these were killed, survived, and so on."""
        return f"{counted(len(self.outcomes), 'mutant')}: {self.fates}" if self.outcomes else "no mutant was searched"

    @property
    def unexplained(self) -> list[Outcome]:
        """The outcomes of the mutants that need an explanation and have none."""
        return [each for each in self.shown if is_open(each) and not self.is_explained(each)]

    @property
    def advice(self) -> Iterator[str]:
        """Sentences that say what the user can do about unexplained mutants."""
        incomplete = sum(each.fate is Fate.INCOMPLETE for each in self.unexplained)
        survivors = len(self.unexplained) - incomplete
        if incomplete:
            yield (
                f"{counted(incomplete, 'mutant')} not searched completely: raise --max-states or --max-seconds, choose "
                "smaller bounds with -b, or, if the states never end, explain why that does no harm (--explained)"
            )
        if survivors:
            yield (
                f"{counted(survivors, 'mutant')} not explained: add a property that notices the mistake, or explain "
                "why it does no harm (--explained)"
            )

    def is_explained(self, outcome: Outcome) -> bool:
        """Return whether a mutant needs an explanation and has one.

        For a mutant of a kind in `CATALOGUED`, the explanation counts only if the search was complete.
        """
        is_unknown = outcome.fate is Fate.INCOMPLETE and outcome.kind in CATALOGUED
        return is_open(outcome) and outcome.name in self.explained and not is_unknown

    @property
    def outdated(self) -> list[str]:
        """Sentences about explanations that are outdated because the mutant is now killed."""
        return [
            f"explained as a survivor, but killed: {name}"
            for name in self.explained
            if name in self.outcomes and self.outcomes[name].fate in (Fate.KILLED, Fate.ERROR)
        ]

    @property
    def killers(self) -> list[Killer]:
        """The properties in the order of the spec, each with the mutants that it kills."""
        return [self._killer(name) for name in dict.fromkeys(it for each in self.originals for it in each.properties)]

    def _killer(self, name: str) -> Killer:
        kills = {each.name: each.violated[name] for each in self.shown if name in each.violated}
        if not self.way.all_properties:
            return Killer(name, kills, None)
        alone = [self.outcomes[mutant] for mutant in kills if len(self.outcomes[mutant].violated) == 1]
        whole = [each.name for each in alone if not each.is_partial]
        return Killer(name, kills, whole, may_be_alone=len(whole) < len(alone))

    @property
    def idle(self) -> list[str]:
        """The names of the properties that are not the only killer of any mutant. Witnesses are left out. Empty if this
        is not known.
        """
        return [
            each.name for each in self.killers if each.alone == [] and not each.may_be_alone and each.name in self.stays
        ]

    @property
    def vacuous(self) -> list[str]:
        """The names of the properties whose premise is never true in the original spec."""
        used = dict.fromkeys(name for each in self.originals for name in each.properties)
        return [
            name for name in used if all(name in each.vacuous for each in self.originals if name in each.properties)
        ]

    @property
    def exit_code(self) -> int:
        """The exit code.

        It is 1 if a survivor is unexplained or an explanation is outdated. Otherwise, it is 3 if the report is
        incomplete, and 0 if it is complete.
        """
        fates = {each.fate for each in self.unexplained}
        if fates - {Fate.INCOMPLETE} or self.outdated:
            return VIOLATED
        return INCOMPLETE if fates or self.stopped else AS_EXPECTED

    @property
    def notes(self) -> Iterator[str]:
        """A sentence about properties whose premise is never true in the original spec."""
        if self.vacuous:
            yield f"vacuous in the original, where their premises are never true: {', '.join(self.vacuous)}"


@attrs.frozen
class Reports:
    """The reports that a run of `leadline mutate` produces.

    Attributes:
        every: the reports, one for each spec that was searched.
        of_several: true if the user requested several specs. The JSON object then contains the exit code of the run and
            all reports under ``reports``. Otherwise, it is the object of the only report.
    """

    every: tuple[Report, ...]
    of_several: bool


def idle_properties(reports: Sequence[Report]) -> Iterator[str]:
    """Yield sentences about properties that are not the only killer of any mutant, with the reasons why the suite keeps
    them.

    Parameters:
        reports: all reports of a run. If any of them was stopped early, there are no sentences.
    """
    if any(report.stopped for report in reports):
        return
    stays = {name: why for report in reports for name, why in report.stays.items()}
    for name in dict.fromkeys(name for report in reports for name in report.idle):
        idle = [report.spec for report in reports if name in report.idle]
        needed = [report.spec for report in reports for each in report.killers if each.name == name and each.alone]
        does = f"; it does in {' and '.join(needed)}" if needed else ""
        why = stays[name] or ("" if needed else f'If it is needed, its docstring should say why: "{STAYS} ...".')
        only = f"{name} kills no mutant of {' and '.join(idle)} that the other properties do not kill"
        yield f"{only}{does}. {why}".rstrip()


def place(mutation: Mutation) -> str:
    """Return the line or the bounds that a mutant changes, as text, or an empty string if it changes neither."""
    if mutation.line is not None:
        return f"  line {mutation.line}"
    return f"  with {bounds_text(mutation.bounds)}" if mutation.bounds else ""


def reason(outcome: Outcome, explained: Mapping[str, str]) -> str:
    """Return text that says which properties kill a mutant, or why it survives.

    Parameters:
        explained: the explanations of why mutants survive, keyed by the name of the mutant.
    """
    parts = [
        f"{name} ({counted(states, 'state')})" if states else f"{name} (never shown)"
        for name, states in outcome.violated.items()
    ]
    why = explained.get(outcome.name, "")
    return "; ".join(filter(None, [", ".join(parts), outcome.text, f"explained: {why}" if why else ""]))


# --- JSON ---------------------------------------------------------------------------------------------------


def report_object(report: Report) -> dict[str, object]:
    """Return a report as a JSON object that `resumed` can read."""
    mutations = {each.name: each for each in report.mutations}
    return {
        "spec": report.spec,
        "engine": report.way.engine,
        "all_properties": report.way.all_properties,
        "max_seconds": report.way.max_seconds,
        "max_states": report.way.max_states,
        "code": report.originals[0].code if report.originals else "",
        "exit_code": report.exit_code,
        "stopped": report.stopped or None,
        "sample": None if report.sample is None else attrs.asdict(report.sample),
        "counts": {fate.value: [each.fate for each in report.outcomes.values()].count(fate) for fate in FATES},
        "originals": [
            {
                "bounds": each.bounds,
                "distinct_states": each.distinct,
                "properties": list(each.properties),
                "left_out": list(each.left_out),
                "vacuous": list(each.vacuous),
            }
            for each in report.originals
        ],
        "mutants": [
            _outcome_object(each, mutations[each.name], report.explained.get(each.name)) for each in report.shown
        ],
        "properties": [{"name": each.name, "kills": each.kills, "alone": each.alone} for each in report.killers],
        "not_mutated": [{"function": name, "reason": reason} for name, reason in report.refused],
        "leadline": attrs.asdict(report.origin),
    }


def _outcome_object(outcome: Outcome, mutation: Mutation, why: str | None) -> dict[str, object]:
    content = {**attrs.asdict(outcome), "fate": outcome.fate.value, "seconds": round(outcome.seconds, 3)}
    also = {"line": mutation.line, "sentence": mutation.text, "explained": why}
    return content | {key: value for key, value in also.items() if value}


def worst(reports: Sequence[Report]) -> int:
    """Return the most severe exit code that any of the reports has."""
    codes = [report.exit_code for report in reports]
    return next((code for code in (VIOLATED, INCOMPLETE) if code in codes), AS_EXPECTED)


def reports_object(reports: Reports) -> dict[str, object]:
    """Return the reports of a run as a JSON object."""
    objects = [report_object(report) for report in reports.every]
    return {"exit_code": worst(reports.every), "reports": objects} if reports.of_several else objects[0]


def _difference(name: str, value: object) -> str:
    """Return the reason why a saved report cannot be resumed.

    Parameters:
        name: the key whose value differs from that of the current run.
    """
    match name:
        case "code":
            return "the code has changed since it was written"
        case "all_properties":
            return f"it was written {'with' if value else 'without'} --all-properties"
        case "engine":
            return f"it was written with --engine {value}"
    return f"it is a report on {value}"


def resumed(path: Path, spec: str, way: Way, code: str) -> dict[str, Outcome]:
    """Read the outcomes of an earlier run from its saved report, so that the run can be resumed.

    Parameters:
        path: a file with a JSON object that `reports_object` returned.
        spec: the name of the spec in the current run.
        way: the settings of the current run.
        code: the digest of the spec's current code.

    Returns:
        The complete outcomes, keyed by the name of the mutant. There are none if the file contains reports on several
        specs, but not on this one.

    Raises:
        LeadlineError: if the file cannot be read, or if its spec, code or settings differ from those of this run.
    """
    try:
        content = json.loads(file_text(path))
        if "reports" in content:
            content = next((each for each in content["reports"] if each["spec"] == spec), None)
            if content is None:
                return {}
        outcomes = [cattrs.structure(each, Outcome) for each in content["mutants"]]
        was = {name: content[name] for name in ("spec", "engine", "all_properties", "code")}
    except OSError as error:
        raise LeadlineError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, cattrs.BaseValidationError) as error:
        raise LeadlineError(f"{path} was not written by `leadline mutate --json`") from error
    now = {"spec": spec, "engine": way.engine, "all_properties": way.all_properties, "code": code}
    for name, value in was.items():
        if value != now[name]:
            raise LeadlineError(f"cannot resume from {path}: {_difference(name, value)}")
    return {each.name: each for each in outcomes if each.fate is not Fate.INCOMPLETE}
