"""Say what a report on mutants shows: what became of each mutant, and which mutants each property kills."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.mutation.changes import Mutation
from leadline.checker.mutation.run import Fate, Outcome
from leadline.reports.document import Block, Cell, Document, Fold, Heading, Items, Paragraph, Span, table, words
from leadline.reports.exit_codes import AS_EXPECTED
from leadline.reports.mutation import EXPLAINED, FATES, INTERRUPTED, Report, Reports, is_open, reason

MUTANTS = (
    "mutant",
    "mistake",
    "bounds",
    "result",
    "violated, or why it survives",
    "states",
)
KILLS_ALONE = "mutants that no other property kills, or why the property is kept"


def mutants_documents(reports: Reports) -> list[Document]:
    """Return a document for each report of a run."""
    return [mutants_document(each) for each in reports.every]


def mutants_document(report: Report) -> Document:
    """Return the document of a report on the mutants of a spec."""
    return Document(f"Mutants of {report.spec}", tuple(_blocks(report)), conclusion=tuple(_conclusion(report)))


def _conclusion(report: Report) -> Iterator[Paragraph]:
    looks = "holds" if report.exit_code == AS_EXPECTED else "violated"
    of_all = f" ({report.extent})" if report.sample else ""
    yield Paragraph((Span(report.counts, looks), Span(f"{of_all}.")))
    if report.stopped:
        left = len(report.mutations) - len(report.outcomes)
        not_judged = f", {left:,} not judged" if report.stopped == INTERRUPTED else ""
        yield Paragraph(words(f"incomplete: {report.stopped}{not_judged}"), "incomplete")
    yield from (Paragraph((Span(text),), "note") for text in (*report.outdated, *report.advice))


def _blocks(report: Report) -> Iterator[Block]:
    until = "to the end of its states" if report.way.all_properties else "up to the first violation"
    yield Paragraph(
        words(
            "A mutant is a copy of the spec with one mistake. It is killed if a property detects the mistake; beside "
            "the property is the number of states of a shortest trace. "
            f"{report.extent} searched, each {until}, with the {report.way.engine} engine."
        )
    )
    yield Paragraph(words("Made from a run: ", Span(report.origin.command, "code"), "."), "quiet")
    default = [Span(each.bounds, "code") for each in report.originals if not each.changes]
    yield from (Paragraph(words("Default bounds: ", each, "."), "quiet") for each in default)
    yield from (Paragraph((Span(note),), "note") for note in report.notes)
    originals = [
        (_code(each.changes, "default"), f"{each.distinct:,}", _codes(each.left_out)) for each in report.originals
    ]
    head = ("bounds", "states of the original", "not used, as the original does not satisfy them")
    yield table("the original", head, originals)
    mutations = {each.name: each for each in report.mutations}
    has_bounds = any(each.bounds for each in report.mutations)
    for title, are_open in (("killed", False), ("not killed", True)):
        rows = [
            _mutant(report, each, mutations[each.name], has_bounds)
            for each in report.shown
            if (is_open(each) or each.fate in (Fate.EQUIVALENT, Fate.NOT_MUTATED)) is are_open
        ]
        if rows:
            yield from (Heading(title), table(f"mutants {title}", MUTANTS, rows))
    if report.refused:
        refused = tuple(words(Span(name, "code"), Span(f": {why}")) for name, why in report.refused)
        yield Fold(words(f"{len(refused)} functions are not mutated"), (Items(refused),))
    if report.outcomes:
        yield Heading("properties")
        yield table(
            "properties",
            ("property", "kills", "shortest trace", KILLS_ALONE),
            [
                (
                    _code(each.name),
                    str(len(each.kills)),
                    str(each.shortest or ""),
                    _codes(each.alone) if each.alone else report.stays.get(each.name, "") if each.alone == [] else "",
                )
                for each in report.killers
            ],
        )


def _mutant(report: Report, outcome: Outcome, mutation: Mutation, has_bounds: bool) -> tuple[Cell | str, ...]:
    is_explained = report.is_explained(outcome)
    looks = "by-design" if is_explained else "incomplete" if outcome.fate is Fate.INCOMPLETE else "violated"
    violated: list[str | Span] = []
    for name, states in outcome.violated.items():
        violated += [", " if violated else "", Span(name, "code"), Span(f" {states or 'never shown'}")]
    why = reason(attrs.evolve(outcome, violated={}), report.explained)
    return (
        Cell(words(Span(mutation.name, "code"), Span(f"  line {mutation.line}" if mutation.line else "", "quiet"))),
        mutation.text,
        (_code(bounds_text(mutation.bounds), "default")) if has_bounds else "",
        Cell(words(EXPLAINED if is_explained else FATES[outcome.fate]), looks if is_open(outcome) else "holds"),
        Cell(words(*violated, "; " if violated and why else "", why)),
        f"{outcome.distinct:,}" if outcome.distinct else "",
    )


def _code(name: str, otherwise: str = "") -> Cell:
    return Cell((Span(name, "code"),) if name else words(otherwise))


def _codes(names: tuple[str, ...] | list[str]) -> Cell:
    parts = [part for name in names for part in (Span(", "), Span(name, "code"))]
    return Cell(tuple(parts[1:]))
