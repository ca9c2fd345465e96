"""The report on a spec's mutants, which are copies of the spec with one mistake each.

A property that a mutant violates kills the mutant. A mutant that violates no property survives.
"""

from __future__ import annotations

import inspect
import json
import random
import tomllib
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

T = TypeVar("T")

FATES = {
    Fate.KILLED: "killed",
    Fate.ERROR: "killed by an error",
    Fate.EQUIVALENT: "equivalent within the bounds",
    Fate.NOT_MUTATED: "not mutated",
    Fate.SURVIVED: "survived",
    Fate.INCOMPLETE: "incomplete",
}
"""The fates of mutants, in the order in which they are shown: those that need attention come last."""

EXPLAINED = "explained"
"""The fate shown for a survivor that has an explanation."""

INTERRUPTED = "interrupted"
"""The reason given for an incomplete report after Ctrl-C."""

CATALOGUED = ("rule", "mistake")
"""The kinds of mutants whose effect is known. If one of them changes nothing, that has to be explained too."""


def is_open(outcome: Outcome) -> bool:
    """Return whether a mutant still needs an explanation, for example because it survived."""
    if outcome.fate is Fate.EQUIVALENT:
        return outcome.kind in CATALOGUED
    return outcome.fate in (Fate.SURVIVED, Fate.INCOMPLETE)


STAYS = "This property is kept"
"""The first words of the docstring paragraph that says why a property is kept even if no mutant needs it."""


def why_it_stays(checked: Property) -> str:
    """Return the reason, given in a property's docstring, why the property is kept although no mutant needs it."""
    paragraphs = (inspect.getdoc(checked.function) or "").split("\n\n")
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
    """Read a TOML file that explains surviving mutants, in ``[[explained]]`` tables with the keys ``mutant`` and
    ``why``.

    Returns:
        The reasons, by the names of the mutants.

    Raises:
        LeadlineError: if the file cannot be read or is invalid.
    """
    try:
        content = tomllib.loads(file_text(path))
        table = cattrs.Converter(forbid_extra_keys=True).structure(content, _Table)
    except OSError as error:
        raise LeadlineError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise LeadlineError(f"{path} is not valid TOML: {error}") from error
    except cattrs.BaseValidationError as error:
        first = cattrs.transform_error(error)[0]
        raise LeadlineError(
            f"{path} is not a valid file of explanations: {first.replace(' @ $.', ', at ').replace(' @ $', '')}"
        ) from error
    return {each.mutant: each.why for each in table.explained}


@attrs.frozen
class Sample:
    """A random sample of mutants.

    Attributes:
        of: the number of mutants from which the sample was chosen.
        seed: the seed; the same seed chooses the same mutants.
    """

    of: int
    seed: int


def sampled(mutants: list[T], count: int | None, seed: int) -> list[T]:
    """Choose mutants at random, and keep their order.

    Parameters:
        mutants: the mutants to choose from.
        count: the number of mutants to choose, or None for all.
        seed: the seed; the same seed chooses the same mutants.
    """
    if count is None or count >= len(mutants):
        return mutants
    return [mutants[place] for place in sorted(random.Random(seed).sample(range(len(mutants)), count))]


@attrs.frozen
class Killer:
    """The mutants that one property kills.

    Attributes:
        name: the name of the property.
        kills: the mutants that violate the property, each with the number of states in a shortest counterexample.
        alone: the mutants that only this property kills, counting only complete searches. None if the searches ended at
            the first violation.
        may_be_alone: true if the search of some mutant ended at a limit and had found only violations of this property.
    """

    name: str
    kills: dict[str, int]
    alone: list[str] | None
    may_be_alone: bool = False

    @property
    def shortest(self) -> int | None:
        """The number of states of the shortest counterexample to the property, or None if it kills no mutant."""
        return min((states for states in self.kills.values() if states), default=None)


@attrs.frozen(kw_only=True)
class Report:
    """The results of searching a spec's mutants.

    Attributes:
        spec: the spec's name.
        way: the settings with which the mutants are searched.
        originals: the results of the original spec, one for each set of bounds that mutants use.
        mutations: the mutations to search, in this order.
        outcomes: the outcomes of the mutants that were searched, by name.
        refused: the functions that could not be mutated, each with the reason why.
        explained: the given reasons why mutants survive, by the name of the mutant.
        stays: for each property that is not a witness, the reason why it is kept even if no mutant needs it. The reason
            is empty if the docstring of the property does not give one.
        stopped: why some mutants were not searched. Empty if all mutants were searched.
        origin: the version, date and command that made the report.
        sample: the random choice of mutations, or None if all mutations were chosen.
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
        """The number of mutants as text. For a sample, the text also gives the number of mutants from which it was
        chosen.
        """
        if self.sample is None:
            return counted(len(self.mutations), "mutant")
        return f"{len(self.mutations):,} of {counted(self.sample.of, 'mutant')}, seed {self.sample.seed}"

    @property
    def shown(self) -> list[Outcome]:
        """The outcomes in the order in which they are shown."""
        order = list(FATES)
        known = [self.outcomes[each.name] for each in self.mutations if each.name in self.outcomes]
        return sorted(known, key=lambda outcome: order.index(outcome.fate))

    @property
    def fates(self) -> str:
        """The number of mutants with each outcome, in words. Explained survivors are counted separately."""
        texts = Counter(EXPLAINED if self.is_explained(each) else FATES[each.fate] for each in self.outcomes.values())
        order = [*FATES.values(), EXPLAINED]
        return ", ".join(f"{texts[text]:,} {text}" for text in order if text in texts)

    @property
    def counts(self) -> str:
        """The number of mutants that were searched, as text: the total, and the number with each outcome."""
        return f"{counted(len(self.outcomes), 'mutant')}: {self.fates}" if self.outcomes else "no mutant was searched"

    @property
    def unexplained(self) -> list[Outcome]:
        """The mutants without an explanation that survive or have no verdict."""
        return [each for each in self.shown if is_open(each) and not self.is_explained(each)]

    @property
    def advice(self) -> Iterator[str]:
        """Sentences that advise the user about mutants that are not explained."""
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
        """Return whether a survivor is explained. A mutant of a kind in `CATALOGUED` must also have been searched
        completely.
        """
        is_unknown = outcome.fate is Fate.INCOMPLETE and outcome.kind in CATALOGUED
        return is_open(outcome) and outcome.name in self.explained and not is_unknown

    @property
    def outdated(self) -> list[str]:
        """Sentences about mutants that are killed although the user explained why they survive."""
        return [
            f"explained as a survivor, but killed: {name}"
            for name in self.explained
            if name in self.outcomes and self.outcomes[name].fate in (Fate.KILLED, Fate.ERROR)
        ]

    @property
    def killers(self) -> list[Killer]:
        """For each property, the mutants that it kills. The properties are in the order of the spec."""
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
        """The properties that are never the only property to kill a mutant, excluding witnesses. Empty if this is
        unknown.
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
        """The exit code: 1 if a survivor is unexplained or an explained mutant is killed, 3 if incomplete, and
        otherwise 0.
        """
        fates = {each.fate for each in self.unexplained}
        if fates - {Fate.INCOMPLETE} or self.outdated:
            return VIOLATED
        return INCOMPLETE if fates or self.stopped else AS_EXPECTED

    @property
    def notes(self) -> Iterator[str]:
        """Sentences about properties that are never needed to kill a mutant, and about properties whose premise is
        never true.
        """
        for each in self.originals:
            if each.left_out:
                where = f" with {each.changes}" if each.changes else ""
                yield f"not used, as the original does not satisfy them{where}: {', '.join(each.left_out)}"
        if self.vacuous:
            yield f"vacuous in the original, where their premises are never true: {', '.join(self.vacuous)}"


@attrs.frozen
class Reports:
    """The reports of a run of `leadline mutate`.

    Attributes:
        every: the reports, one for each spec that was searched.
        of_several: whether several specs were requested. If so, the JSON object contains all reports under ``reports``
            and the exit code of the run. Otherwise, the JSON object is that of the single report.
    """

    every: tuple[Report, ...]
    of_several: bool


def idle_properties(reports: Sequence[Report]) -> Iterator[str]:
    """Yield sentences about properties that are never the only property to kill a mutant, with the reasons to keep
    them.

    Parameters:
        reports: all reports of a run. If any of them was stopped early, no sentences are yielded.
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
    """Return the changed line or the changed bounds of a mutant. Empty if the mutant changes neither."""
    if mutation.line is not None:
        return f"  line {mutation.line}"
    return f"  with {bounds_text(mutation.bounds)}" if mutation.bounds else ""


def reason(outcome: Outcome, explained: Mapping[str, str]) -> str:
    """Return the properties that kill a mutant, with the lengths of their counterexamples, or the reason why it
    survives.
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
    """Return the most severe exit code of several reports."""
    codes = [report.exit_code for report in reports]
    return next((code for code in (VIOLATED, INCOMPLETE) if code in codes), AS_EXPECTED)


def reports_object(reports: Reports) -> dict[str, object]:
    """Return the reports of a run as a JSON object."""
    objects = [report_object(report) for report in reports.every]
    return {"exit_code": worst(reports.every), "reports": objects} if reports.of_several else objects[0]


def _difference(name: str, value: object) -> str:
    """Return the message for a saved report that cannot be resumed because a setting has changed."""
    match name:
        case "code":
            return "the code has changed since it was written"
        case "all_properties":
            return f"it was written {'with' if value else 'without'} --all-properties"
        case "engine":
            return f"it was written with --engine {value}"
    return f"it is a report on {value}"


def resumed(path: Path, spec: str, way: Way, code: str) -> dict[str, Outcome]:
    """Read the outcomes of an earlier run that still apply.

    Parameters:
        path: a file with a JSON object of `reports_object`.
        spec: the name of the spec that is searched now.
        way: the settings of the current run.
        code: the digest of the spec's current code.

    Returns:
        The outcomes by the names of the mutants, excluding incomplete outcomes. Empty if the file has reports on
        several specs and none of them is this spec.

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
