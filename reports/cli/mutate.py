"""The command `leadline mutate`, which shows which properties detect mistakes in a spec."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import click

from leadline.checker.engines.learning.workers import usable_cores
from leadline.checker.errors import LeadlineError
from leadline.checker.liveness.refusal import refuse_liveness
from leadline.checker.mutation.changes import Mutation, Mutations, mutations_of
from leadline.checker.mutation.run import NotSearched, Outcome, Way, judged, originals
from leadline.checker.observing.digest import reads_outside
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted, nearest
from leadline.reports.cli.completion import complete_spec
from leadline.reports.cli.options import chosen_spec, spec_options
from leadline.reports.cli.outputs import Attempts, Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout
from leadline.reports.document.terminal import document_view
from leadline.reports.formats import FORMATS
from leadline.reports.lines import say
from leadline.reports.loading import known_mutations
from leadline.reports.mutants_document import mutants_document
from leadline.reports.mutation import (
    INTERRUPTED,
    Report,
    Reports,
    Sample,
    idle_properties,
    place,
    read_explained,
    resumed,
    sampled,
    why_it_stays,
    worst,
)
from leadline.reports.origin import Origin
from leadline.reports.terminal.console import console
from leadline.reports.terminal.progress import text_progress

KINDS = ("rule", "mistake", "action", "code")
SAVE_SECONDS = 5.0
"""The time between two saves of an incomplete report, in seconds."""


@click.command()
@spec_options
@click.argument("more", nargs=-1, metavar="[SPEC]...", shell_complete=complete_spec(".py"))
@click.option(
    "--engine",
    type=click.Choice(["compiled", "oracle"]),
    default="compiled",
    show_default=True,
    help="The engine that searches each mutant.",
)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help="Search only mutants of this kind (can be repeated). By default, all kinds are searched. rule: a rule of a "
    "release has a different value. mistake: a rule is replaced by a known mistake. action: an action is skipped. "
    "code: a function is changed in one place.",
)
@click.option("--only", default="", metavar="TEXT", help="Search only mutants whose name contains TEXT.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Search only N mutants, chosen at random.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="S",
    help="Seed for the random choice that --sample makes. The same seed chooses the same mutants.  [default: 0]",
)
@click.option("--list", "only_list", is_flag=True, help="List the mutants without searching them.")
@click.option(
    "--all-properties",
    is_flag=True,
    help="Continue after the first violation in a mutant, and show which mutants are killed by only one property.",
)
@click.option(
    "--explained",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help='A TOML file that explains why mutants survive, in [[explained]] tables with the keys "mutant" and "why".',
)
@click.option(
    "--max-states",
    type=click.IntRange(1),
    metavar="N",
    help="Stop each search after N distinct states. By default, N is ten times the number of states of the original "
    "spec, but at least 10,000.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Stop each search after S seconds.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Search N mutants in parallel. The default is one search per core.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Continue an earlier run from the report that it wrote with --json.",
)
@format_options(FORMATS["mutants"])
def mutate(
    spec: str,
    more: tuple[str, ...],
    bounds: tuple[str, ...],
    names: tuple[str, ...],
    engine: str,
    kinds: tuple[str, ...],
    only: str,
    sample: int | None,
    seed: int | None,
    only_list: bool,
    all_properties: bool,
    explained: Path | None,
    max_states: int | None,
    max_seconds: float,
    workers: int | None,
    resume: Path | None,
    **wanted: Path | None,
) -> int:
    """Make mistakes in SPEC, one at a time, and show which properties detect them.

    A mutant is a copy of the spec with one mistake: for example, it skips an action, omits or negates a guard, does not
    set a field, or has a constant that is off by one. For a release of Kafka, further mutants have a different value of
    a rule or a known mistake. Each mutant is searched until its first violation. A mutant survives if it behaves
    differently but violates no property, which suggests that a property is missing. A surviving mutant is explained if
    --explained, or the shipped spec, gives a reason why it survives. Several SPECs are searched one after another;
    --rule applies only to the first.

    \b
    leadline mutate my_protocol.py
    leadline mutate my_protocol.py --only send_vote --all-properties
    leadline mutate kafka/4.1 rpc/kip-320 atomic/kip-320 --kind rule --kind mistake
    leadline mutate my_protocol.py --sample 20 --seed 1
    leadline mutate rpc/kip-320 --json mutants.json

    Exit code 0: every mutant is killed, equivalent within the bounds, or explained; 1: a mutant survives without an
    explanation, or an explained mutant is killed; 2: usage error; 3: incomplete.
    """
    if seed is not None and sample is None:
        raise click.UsageError("--seed requires --sample: pass --sample N to set how many mutants to choose")
    files = Files(FORMATS["mutants"], wanted)
    way = Way(
        engine=engine,
        max_seconds=max_seconds,
        max_states=max_states,
        all_properties=all_properties,
        workers=workers or usable_cores(),
    )
    with only_the_result_on_stdout(files.only_a_report):
        specs = [chosen_spec(each, bounds, names, no_invariants=False) for each in (spec, *more)]
    for each in specs:
        refuse_liveness(each, "leadline mutate", "select other properties (with -i)")
        found = [_all_mutations(each, of, given=bool(bounds)) for each, of in zip((spec, *more), specs, strict=True)]
    matching = [_matching(each, kinds, only) for each in found]
    chosen = [sampled(each, sample, seed or 0) for each in matching]
    if only_list:
        say("\n".join(f"{visible(each.name)}{place(each)}" for own in chosen for each in own))
        return 0
    given = _given(explained, specs, found)
    planned = [
        _planned(
            way,
            of,
            each.refused if "code" in (kinds or KINDS) else (),
            own,
            given,
            bool(only or sample),
            Sample(len(every), seed or 0) if len(own) < len(every) else None,
        )
        for of, each, every, own in zip(specs, found, matching, chosen, strict=True)
    ]
    reports: list[Report] = []

    def save(report: Report) -> None:
        files.update("json", Reports((*reports, report), of_several=bool(more)))

    for of, report in zip(specs, planned, strict=True):
        reports.append(_judged(of, report, resume, save))
        if not files.only_a_report:
            console().print(document_view(mutants_document(reports[-1])))
        if reports[-1].stopped == INTERRUPTED:
            break
    finished, attempt = Reports(tuple(reports), of_several=bool(more)), Attempts()
    with attempt:
        files.print(finished)
        if not files.only_a_report:
            for sentence in idle_properties(reports):
                console().print(visible(sentence), markup=False, highlight=False)
    files.save(finished, attempt)
    attempt.raise_failures()
    return worst(reports)


def _given(explained: Path | None, specs: Sequence[Spec[object]], found: Sequence[Mutations]) -> dict[str, str]:
    """Return the user's explanations of mutants, keyed by the name of the mutant. Raise LeadlineError if the file names
    an unknown mutant.
    """
    given = read_explained(explained) if explained is not None else {}
    known = [each.name for of in found for each in of.possible]
    for name in given:
        if name not in known:
            near = nearest(name, known) or " (`--list` lists them)"
            of = " or ".join(each.name for each in specs)
            raise LeadlineError(f"{explained} explains {name!r}, which is not a mutant of {of}{near}")
    return given


def _planned(
    way: Way,
    spec: Spec[object],
    refused: tuple[tuple[str, str], ...],
    wanted: Sequence[Mutation],
    given: dict[str, str],
    is_part: bool,
    sample: Sample | None,
) -> Report:
    """Return a report of the mutations to search. The report has no outcomes yet."""
    harmless = {each.name: each.harmless for each in wanted if each.harmless}
    return Report(
        spec=spec.name,
        way=way,
        originals=(),
        mutations=wanted,
        outcomes={},
        refused=refused if not is_part else (),
        explained=harmless | {name: why for name, why in given.items() if name in {each.name for each in wanted}},
        stays={each.name: why_it_stays(each) for each in spec.properties if not each.kind.is_witness and not is_part},
        stopped="",
        origin=Origin.now(),
        sample=sample,
    )


def _all_mutations(reference: str, spec: Spec[object], given: bool) -> Mutations:
    """Return all mutations of a spec. Mutations of Kafka's rules come first.

    Parameters:
        reference: the name of the spec, or the path of a Python file.
        given: true if the user gave bounds. All mutants then use these bounds.
    """
    known = [attrs.evolve(each, bounds={}) if given else each for each in known_mutations(reference)]
    found = mutations_of(spec)
    return attrs.evolve(found, possible=(*known, *found.possible))


def _matching(found: Mutations, kinds: Sequence[str], only: str) -> list[Mutation]:
    """Return the mutations of the requested kinds and names. Raise LeadlineError if no mutation matches."""
    wanted = [each for each in found.possible if only in each.name and (not kinds or each.kind in kinds)]
    if not wanted:
        raise LeadlineError("no mutant matches: run `leadline mutate SPEC --list` to list all mutants")
    return wanted


def _judged(spec: Spec[object], report: Report, resume: Path | None, save: Callable[[Report], None]) -> Report:
    """Search the mutants, and return the report with the outcomes. Also save the report regularly during the search."""
    outcomes: dict[str, Outcome] = {}
    saved = time.monotonic()
    try:
        with text_progress(spec.name) as progress:
            progress("searching the original")
            report = attrs.evolve(report, originals=tuple(originals(spec, report.mutations, report.way).values()))
            if not any(each.properties for each in report.originals):
                raise LeadlineError(
                    f"{spec.name} satisfies none of its properties, so no property can detect a mistake"
                )
            if resume is not None:
                if outside := reads_outside(spec):
                    what = f"{spec.name} uses {outside}, so that what it reads may have changed"
                    raise LeadlineError(f"cannot resume from {resume}: {what}")
                known = resumed(resume, spec.name, report.way, report.originals[0].code)
                outcomes |= {
                    each.name: known[each.name]
                    for each in report.mutations
                    if each.name in known and known[each.name].bounds == spec.with_bounds(each.bounds).named_bounds
                }
            left = [each for each in report.mutations if each.name not in outcomes]
            by_bounds = {each.bounds: each for each in report.originals}
            report = attrs.evolve(report, outcomes=outcomes)
            for outcome in judged(spec, left, by_bounds, report.way):
                outcomes[outcome.name] = outcome
                progress(f"{len(outcomes):,} of {counted(len(report.mutations), 'mutant')} searched; {report.fates}")
                if time.monotonic() > saved + SAVE_SECONDS:
                    save(attrs.evolve(report, stopped="not complete yet"))
                    saved = time.monotonic()
    except KeyboardInterrupt:
        report = attrs.evolve(report, stopped=INTERRUPTED)
    except NotSearched as error:
        report = attrs.evolve(report, stopped=str(error))
    save(report)
    return report
