"""`leadline mutate`: which property notices which mistake in a spec."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import click
from rich.table import Table
from rich.text import Text

from checker.engines.compiled.threads import usable_cores
from checker.errors import LeadlineError
from checker.judging import Fate, NotSearched, Outcome, Way, judged, originals
from checker.mutation import Mutation, Mutations, mutations_of
from checker.names import counted, nearest
from checker.spec import Spec
from checker.visible import visible
from reports.cli.options import chosen_spec, spec_options
from reports.cli.outputs import Outputs, check_outputs, writing
from reports.cli.running import only_the_result_on_stdout
from reports.html.mutants import mutants_page
from reports.lines import say, say_json
from reports.loading import known_mutations
from reports.mutation import OPEN, Report, read_explained, reason, report_object, resumed, write_report
from reports.origin import Origin
from reports.terminal import console

KINDS = ("rule", "mistake", "action", "code")
SAVE_SECONDS = 5.0
"""Seconds between two saves of a report that is not complete."""
LINE_SECONDS = 60.0
"""Seconds between two lines of progress where there is no terminal."""
STYLES = {Fate.KILLED: "green", Fate.ERROR: "green", Fate.SURVIVED: "bold red", Fate.INCOMPLETE: "yellow"}


@click.command()
@spec_options
@click.option(
    "--engine",
    type=click.Choice(["compiled", "oracle"]),
    default="compiled",
    show_default=True,
    help="What searches each mutant.",
)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help="Only these mutants (repeat for more). rule: a rule of a release has another value; mistake: a known wrong "
    "rule; action: an action is skipped; code: one thing in a function is changed. By default all.",
)
@click.option("--only", default="", metavar="TEXT", help="Only mutants whose name contains this text.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Only N of them, the same ones each time.")
@click.option("--list", "only_list", is_flag=True, help="List the mutants, and search nothing.")
@click.option(
    "--all-properties",
    is_flag=True,
    help="Search each mutant on after the first violation, and show which mutants only one property notices.",
)
@click.option(
    "--explained",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A TOML file with [[explained]] entries, each with mutant and why: survivors that are no surprise.",
)
@click.option(
    "--max-states",
    type=click.IntRange(1),
    metavar="N",
    help="Stop a search at N distinct states; by default ten times those of the original, and at least 10,000.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Stop a search after S seconds.",
)
@click.option(
    "--workers", type=click.IntRange(1, 256), metavar="N", help="Search N mutants at a time; by default one a core."
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Take over the verdicts of an earlier run from its --json FILE.",
)
@click.option("--json", "json_file", metavar="FILE|-", help="Write the report as JSON; it is saved now and then.")
@click.option(
    "--html", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write the report as a page."
)
def mutate(
    spec: str,
    bounds: tuple[str, ...],
    names: tuple[str, ...],
    no_invariants: bool,
    engine: str,
    kinds: tuple[str, ...],
    only: str,
    sample: int | None,
    only_list: bool,
    all_properties: bool,
    explained: Path | None,
    max_states: int | None,
    max_seconds: float,
    workers: int | None,
    resume: Path | None,
    json_file: str | None,
    html: Path | None,
) -> int:
    """Make SPEC wrong in one way at a time, and show which property notices.

    Each mutant is searched up to the first violation: an action is skipped, a guard dropped or negated, a field not
    set, a constant off by one; for a release of Kafka, also each rule with another value, and known mistakes.
    A mutant that no property notices shows that a property is missing, unless it changes nothing.

    \b
    leadline mutate my_protocol.py
    leadline mutate my_protocol.py --only send_vote --all-properties
    leadline mutate kafka/4.1 --kind rule --kind mistake
    leadline mutate rpc/kip-320 --sample 100 --json mutants.json

    Exit code 0: all mutants are killed, equivalent within the bounds, or explained; 1: one survives; 2: a mistake in
    what was given; 3: incomplete.
    """
    if no_invariants:
        raise click.UsageError("mutants are judged by the properties: leave out --no-invariants")
    check_outputs(Outputs(json_file, None, html))
    with only_the_result_on_stdout(json_file):
        chosen = chosen_spec(spec, bounds, names, no_invariants)
        found = _all_mutations(spec, chosen, given=bool(bounds))
    wanted = _wanted(found, kinds, only, sample)
    if only_list:
        say("\n".join(visible(each.name) for each in wanted))
        return 0
    given = read_explained(explained) if explained is not None else {}
    for name in given:
        if name not in {each.name for each in found.possible}:
            near = nearest(name, [each.name for each in found.possible]) or " (`--list` lists them)"
            raise LeadlineError(f"{explained} explains {name!r}, which is not a mutant of {chosen.name}{near}")
    why = {each.name: each.harmless for each in wanted if each.harmless} | given
    way = Way(
        engine=engine,
        max_seconds=max_seconds,
        max_states=max_states,
        all_properties=all_properties,
        workers=workers or usable_cores(),
    )
    report = Report(
        spec=chosen.name,
        way=way,
        originals=(),
        mutations=wanted,
        outcomes={},
        refused=found.refused if not only else (),
        explained=why,
        stopped="",
        origin=Origin.now(),
    )
    report = _judged(chosen, report, resume, None if json_file in (None, "-") else Path(json_file))
    if json_file == "-":
        say_json(report_object(report), indent=1)
    else:
        _show(report)
    if html is not None:
        with writing(html):
            html.write_text(mutants_page(report), encoding="utf-8")
    return report.exit_code


def _all_mutations(reference: str, spec: Spec[Any], given: bool) -> Mutations:
    """What can be made wrong with a spec: by rules of Kafka first.

    Parameters:
        given: whether bounds were given, which are kept to then.
    """
    known = [attrs.evolve(each, bounds={}) if given else each for each in known_mutations(reference)]
    found = mutations_of(spec)
    return attrs.evolve(found, possible=(*known, *found.possible))


def _wanted(found: Mutations, kinds: Sequence[str], only: str, sample: int | None) -> list[Mutation]:
    """The mutations that were asked for, in their order. Raises LeadlineError: there are none."""
    wanted = [each for each in found.possible if only in each.name and (not kinds or each.kind in kinds)]
    if not wanted:
        raise LeadlineError("there is no such mutant: `leadline mutate SPEC --list` lists them")
    if sample is not None and sample < len(wanted):
        places = sorted(random.Random(0).sample(range(len(wanted)), sample))
        wanted = [wanted[place] for place in places]
    return wanted


def _judged(spec: Spec[Any], report: Report, resume: Path | None, saved_in: Path | None) -> Report:
    """The report with what becomes of the mutants; with a reason if not all could be judged."""
    outcomes: dict[str, Outcome] = {}
    saved = time.monotonic()
    try:
        with _progress(spec.name, len(report.mutations)) as progress:
            progress("searching the original")
            report = attrs.evolve(report, originals=tuple(originals(spec, report.mutations, report.way).values()))
            if not any(each.properties for each in report.originals):
                raise LeadlineError(f"{spec.name} keeps no property that could notice a mistake")
            if resume is not None:
                known = resumed(resume, spec.name, report.way, report.originals[0].code)
                bounds = {each.bounds for each in report.originals}
                outcomes |= {
                    each.name: known[each.name]
                    for each in report.mutations
                    if each.name in known and known[each.name].bounds in bounds
                }
            left = [each for each in report.mutations if each.name not in outcomes]
            by_bounds = {each.bounds: each for each in report.originals}
            report = attrs.evolve(report, outcomes=outcomes)
            for outcome in judged(spec, left, by_bounds, report.way):
                outcomes[outcome.name] = outcome
                progress(f"{len(outcomes):,} of {counted(len(report.mutations), 'mutant')} searched; {report.fates}")
                if saved_in is not None and time.monotonic() > saved + SAVE_SECONDS:
                    write_report(attrs.evolve(report, stopped="not complete yet"), saved_in)
                    saved = time.monotonic()
    except KeyboardInterrupt:
        report = attrs.evolve(report, stopped=f"interrupted, {len(report.mutations) - len(outcomes):,} not judged")
    except NotSearched as error:
        report = attrs.evolve(report, stopped=str(error))
    if saved_in is not None:
        write_report(report, saved_in)
    return report


@contextmanager
def _progress(name: str, count: int) -> Iterator[Callable[[str], None]]:
    """Progress on standard error: one line that is written over on a terminal, elsewhere a line now and then.

    No thread may draw it, as processes are forked meanwhile.
    """
    out = console(stderr=True)
    due = time.monotonic() + LINE_SECONDS

    def show(text: str) -> None:
        nonlocal due
        line = visible(f"{name}: {text}")
        if out.is_terminal:
            click.echo(f"\r\x1b[K{line[: out.width - 1]}", nl=False, err=True)
        elif time.monotonic() >= due:
            due = time.monotonic() + LINE_SECONDS
            say(f"leadline: {line}", err=True)

    try:
        yield show
    finally:
        if out.is_terminal:
            click.echo("\r\x1b[K", nl=False, err=True)


def _show(report: Report) -> None:
    out = console()
    head = Text(visible(report.spec), style="bold")
    head.append(f"  {report.way.engine}, {counted(len(report.mutations), 'mutant')}", style="dim not bold")
    out.print(head)
    for each in report.originals:
        where = f" with {each.changes}" if each.changes else ""
        out.print(Text(visible(f"original{where}: {counted(each.distinct, 'state')}"), style="dim"), soft_wrap=True)
    for text in report.left_out:
        out.print(Text(visible(text), style="yellow"), soft_wrap=True)
    sentences = {each.name: each.text for each in report.mutations}
    for outcome in report.shown:
        style = STYLES.get(outcome.fate, "dim")
        if outcome.fate in OPEN and outcome.name in report.explained:
            style = "dim"
        line = Text(f"  {outcome.fate.value:<12}", style=style).append(visible(outcome.name), style="default not bold")
        out.print(line, soft_wrap=True)
        text = reason(outcome, report.explained)
        searched = f"{counted(outcome.distinct, 'state')} searched" if outcome.violated else ""
        for details in filter(None, (sentences[outcome.name], "; ".join(filter(None, [text, searched])))):
            out.print(Text(f"{'':14}{visible(details)}", style="dim"), soft_wrap=True)
    for name, why in report.refused:
        out.print(Text(f"  {'not mutated':<12}{visible(name)}: {visible(why)}", style="dim"), soft_wrap=True)
    if report.outcomes:
        out.print(_killers_table(report))
    for text in _closing(report):
        out.print(Text(visible(text)), soft_wrap=True)


def _killers_table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("property", "kills", "shortest trace", *(["only it kills"] if report.way.all_properties else [])):
        table.add_column(title, header_style="dim", justify="left" if title == "property" else "right")
    for each in report.killers:
        lengths = [states for states in each.kills.values() if states]
        alone = [str(len(each.alone))] if each.alone is not None else []
        table.add_row(visible(each.name), str(len(each.kills)), str(min(lengths)) if lengths else "", *alone)
    return table


def _closing(report: Report) -> Iterator[str]:
    if report.idle and not report.stopped:
        yield f"nothing but what others kill too: {', '.join(report.idle)}"
    for name in report.outdated:
        yield f"explained, but it does not survive: {name}"
    if report.stopped:
        yield f"incomplete: {report.stopped}"
    yield report.counts
    if report.unexplained:
        yield f"{counted(len(report.unexplained), 'mutant')} not explained"
