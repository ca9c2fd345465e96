"""The command `leadline diff`, which shows a behaviour that only one of two specs allows."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import click
from rich.console import Console

from leadline.checker.engines import searched
from leadline.checker.liveness.refusal import refuse_liveness
from leadline.checker.result import Limits, Result, Verdict
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.checker.traces.divergence import NoPartingYet, Parting, first_parting, follow
from leadline.reports.cli.completion import complete_spec
from leadline.reports.cli.options import bounds_option, chosen_spec, invariant_option
from leadline.reports.cli.outputs import Files, format_options
from leadline.reports.differences import Difference, complaint, difference_document, ending
from leadline.reports.document.terminal import blocks_view
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.formats import FORMATS
from leadline.reports.lines import say
from leadline.reports.terminal.console import console, is_plain
from leadline.reports.terminal.progress import progress_line
from leadline.reports.terminal.trace import side_by_side, turning_points
from leadline.reports.traces.story import story_of

MOST_STATES = 50_000
"""The maximum number of states to search for a second difference, or for a difference that no counterexample shows."""


@click.command()
@click.argument("first", metavar="SPEC_A", shell_complete=complete_spec(".py"))
@click.argument("second", metavar="SPEC_B", shell_complete=complete_spec(".py"))
@bounds_option
@invariant_option
@format_options(FORMATS["difference"])
def diff(first: str, second: str, bounds: tuple[str, ...], names: tuple[str, ...], **wanted: Path | None) -> int:
    """Take a shortest counterexample of one spec, and try the same actions in the other spec.

    Both directions are tried. If no counterexample distinguishes the specs, use the shortest behaviour that only one of
    them allows. The two behaviours are shown side by side, starting from the first difference. If both specs are your
    own, they must be in the same file so that their states can be compared.

    Exit code 0: the specs do not differ; 1: the specs differ; 2: usage error; 3: the search was incomplete and found no
    difference.

    \b
    leadline diff atomic/kip-101 atomic/kip-279 -b max_epoch=2 -i strong_isr
    """
    files = Files(FORMATS["difference"], wanted)
    loaded: dict[Path, ModuleType] = {}
    specs = [chosen_spec(name, bounds, names, no_invariants=False, loaded=loaded) for name in (first, second)]
    for spec in specs:
        refuse_liveness(spec, "leadline diff", "select other properties (with -i)")
    try:
        difference = _by_counterexample(*specs) or _by_behaviour(*specs)
    except NoPartingYet as found:
        say(f"incomplete: {visible(str(found))}")
        return INCOMPLETE
    if difference is None:
        say(f"{visible(first)} and {visible(second)} have the same behaviours", err=files.only_a_report)
        alike = Difference(specs[0], specs[1], ())
        files.update("json", alike)
        files.print(alike)
        return AS_EXPECTED
    if not files.only_a_report:
        _show(console(), difference)
    files.write(difference)
    return VIOLATED


def _by_counterexample(first: Spec[Any], second: Spec[Any]) -> Difference | None:
    """Find, for each spec, a counterexample whose steps do not violate the property in the other spec.

    Once a counterexample of the first spec is found, the search of the second spec is limited, because it may never
    end.
    """
    parting, _ = _parting_of(first, second, Limits())
    other, result = _parting_of(second, first, Limits(max_states=MOST_STATES) if parting else Limits())
    if parting is None and other is None:
        return None
    missed = other is None and any(item.verdict is Verdict.INCOMPLETE for item in result.properties)
    unfinished = counted(result.statistics.distinct, "state") if missed else ""
    return Difference(first, second, tuple(each for each in (parting, other) if each is not None), unfinished)


def _parting_of(one: Spec[Any], other: Spec[Any], limits: Limits) -> tuple[Parting | None, Result]:
    with progress_line(one.name) as progress:
        result = searched(one, limits, progress)
    for item in result.properties:
        if item.verdict is Verdict.VIOLATED and not item.property.kind.is_witness:
            parting = follow(item.traces[0], other)
            if parting.refused is not None or complaint(parting) is None:
                return parting, result
    return None, result


def _by_behaviour(first: Spec[Any], second: Spec[Any]) -> Difference | None:
    found = first_parting(first, second, MOST_STATES) or first_parting(second, first, MOST_STATES)
    return None if found is None else Difference(first, second, (found,))


def _show(screen: Console, difference: Difference) -> None:
    for parting in difference.partings:
        _show_parting(screen, parting)
        screen.print()
    document = difference_document(difference)
    screen.print(blocks_view((*document.blocks, *document.conclusion)))


def _show_parting(screen: Console, parting: Parting) -> None:
    stories = [story_of(trace) for trace in (parting.first, parting.second)]
    shared = parting.shared
    for number, frame in enumerate(stories[0].frames[:shared], start=1):
        screen.print(f"{number:>2}  {frame.words}", style="dim")
    screen.print(f"    {counted(shared, 'state')} alike; from there on:", style="bold")
    tails = [attrs.evolve(story, frames=story.frames[shared:]) for story in stories]
    screen.print(side_by_side(*tails, first_number=shared + 1, plain=is_plain(screen)))
    for part in turning_points(stories[0]):
        screen.print(part)
    screen.print()
    for paragraph in stories[0].ending:
        screen.print(f"{visible(parting.first.spec.name)}: {paragraph}", style="red")
    screen.print(ending(parting), style="green")
