"""Say what a verdict matrix shows: its tables, and the decisive steps of each trace.

A matrix has hundreds of traces, which are too many for one page. Therefore a cell links only to the steps that decided
the outcome of its trace, and to a command that searches for the trace again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.drawing import Event
from leadline.checker.errors import LeadlineError
from leadline.checker.support.messages import nearest
from leadline.checker.trace import Trace
from leadline.reports.document import (
    Aside,
    Block,
    Cell,
    Document,
    Heading,
    Items,
    Paragraph,
    Span,
    Table,
    Words,
    plain,
    words,
)
from leadline.reports.loading import command_for_trace, shipped_column
from leadline.reports.matrix import BUG_STATES, Column, Configuration, Matrix, MatrixCell, summary
from leadline.reports.traces.story import what_happened

VERDICTS = words(
    *(Span("holds", "holds"), ": every reachable state was searched, with the number of distinct states; "),
    *(Span("violated", "violated"), ": with the number of states of a shortest trace; "),
    *(Span("by design", "by-design"), ": the same, where the configuration does not promise the property; "),
    *(Span("incomplete", "incomplete"), ": with the depth reached."),
)

RESTS = words(
    *(
        Span("not decided", "incomplete"),
        ": every reachable state was searched, but no state or step of them is one of ",
    ),
    "the situations that the cell is about:",
)

KNOWN_BUGS = words(
    "A cell also names each known bug that can occur in this configuration and violates the property, with the number "
    f"of states of a trace: `leadline bugs TICKET` shows it. It was looked for by a search of up to {BUG_STATES:,} "
    "states within the bounds of the archive, which can be larger than those of the table, and among kept "
    "counterexamples. If only such a search finds a violation, the cell says ",
    Span("beyond these bounds", "quiet"),
    " and, if the violation is not that of the bug, with whose bounds it was found",
    ". A known bug of a release that is missing in a table needs other failures or settings than the table's: where "
    "nothing was found, the other tables show what the same release loses with them.",
)

WITNESSES = words(
    "A witness is shown, with the number of states of a shortest trace; without witnesses, the other verdicts would "
    "prove nothing."
)

COUNTS = words(
    "Each cell has the number of distinct states, all searched; for a release with a changed rule, also in proportion "
    "to the release without the change. ",
    Span("incomplete", "incomplete"),
    ": the search stopped at this number of states, and at this depth.",
)

MIXES = words(
    "A violation in a mix also names the releases of the mix that violate the property within the same bounds: ",
    "with ",
    Span("only in the mix", "violated"),
    ", it is worse than both. The changes of a roll are no part of these bounds.",
)

COMPARED = words("A configuration with another bound is in proportion to the one without it.")


def matrix_document(matrix: Matrix, columns: Sequence[Column], command: str) -> Document:
    """Return the document of a matrix.

    Parameters:
        columns: the results of the searches that were run, in order.
    """
    asides = _Asides()
    return Document(matrix.title, tuple(_blocks(matrix, columns, command, asides)), tuple(asides.made()))


def with_seconds(document: Document, seconds: Mapping[str, Mapping[str, float]]) -> Document:
    """Return the document of a matrix with the processor time of its searches.

    Parameters:
        seconds: the seconds, keyed by configuration and spec. Tables with a row for each spec get a column of them.
    """
    if not seconds:
        return document
    first, *blocks = document.blocks
    assert isinstance(first, Paragraph)
    total = sum(sum(own.values()) for own in seconds.values())
    said = words(f" The searches took {total:,.0f} seconds of processor time. One that several cells need counts once.")
    for place, block in enumerate(blocks):
        if isinstance(block, Table) and block.head[0] == "release":
            times = (seconds[block.name][plain(row[0].text)] for row in block.rows)
            rows = tuple((*row, Cell(words(f"{each:,.1f}"))) for row, each in zip(block.rows, times, strict=True))
            blocks[place] = attrs.evolve(block, head=(*block.head, "seconds"), rows=rows)
    return attrs.evolve(document, blocks=(attrs.evolve(first, text=(*first.text, *said)), *blocks))


def document_of(document: Document, spec: str) -> Document:
    """Return the part of a matrix's document that is about one spec: the verdicts on it, in each configuration.

    Parameters:
        spec: the name of the spec, or another name of it.

    Raises:
        LeadlineError: if the matrix does not have the spec.
    """
    found, section, names = list[Block](), list[Block](), list[str]()
    for block in document.blocks:
        if isinstance(block, Heading):
            section = [block]
        elif isinstance(block, Table):
            named = [plain(row[0].text) for row in block.rows]
            names += [*named, *block.head]
            rows = tuple(row for row in block.rows if plain(row[0].text) == spec)
            if spec in block.head:
                column = block.head.index(spec)
                block = Table(block.name, (block.head[0], spec), tuple((row[0], row[column]) for row in block.rows))
            elif rows:
                block = attrs.evolve(block, rows=rows)
            else:
                continue
            found += [*section, block]
        elif section:
            section.append(block)
        elif not is_summary(block):
            found.append(block)
    if not any(isinstance(block, Table) for block in found):
        known = [*dict.fromkeys(name for name in names if "/" in name)]
        if (release := shipped_column(spec)) is not None and release.same_as in known:
            own = document_of(document, release.same_as)
            return attrs.evolve(own, blocks=(Paragraph(words(f"{spec} {release.note}.")), *own.blocks))
        raise LeadlineError(f"the matrix has no spec {spec!r}{nearest(spec, known) or f': choose from {known}'}")
    return attrs.evolve(document, title=f"{document.title} {spec}", blocks=tuple(found))


def is_summary(block: Block) -> bool:
    """Return whether a block summarises all specs of each configuration, with links to the tables."""
    return isinstance(block, Items) and any(span.link for span in itertools.chain(*block.texts))


def _blocks(matrix: Matrix, columns: Sequence[Column], command: str, asides: _Asides) -> Iterator[Block]:
    found = matrix.by_configuration(columns)
    yield Paragraph(words("Made from runs: ", Span(command, "code"), "."))
    yield Paragraph(COUNTS if matrix.only_counts else VERDICTS)
    if any(".." in column.spec for _, own in found for column in own):
        yield Paragraph(MIXES)
    if any(configuration.compared_with for configuration, _ in found):
        yield Paragraph(COMPARED)
    shown = [item.property for _, own in found[:1] for item in own[0].result.properties]
    if any(each.kind.is_witness and each.name in found[0][1][0].cells for each in shown):
        yield Paragraph(WITNESSES)
    if matrix.witness or any(configuration.witness for configuration, _ in found):
        yield Paragraph(RESTS)
        yield Items(tuple(_situations(matrix, found)))
    if matrix.known_bugs:
        yield Paragraph(KNOWN_BUGS)
    if matrix.by_spec:
        yield Items(tuple(_summary(matrix, number, own) for number, (_, own) in enumerate(found, start=1)))
    for number, (configuration, own) in enumerate(found, start=1):
        yield Heading(configuration.name, f"table-{number}")
        yield Paragraph((_bounds(matrix, configuration),))
        if configuration.note:
            yield Paragraph(words(configuration.note))
        yield _table(matrix, configuration.name, own, asides)


def _summary(matrix: Matrix, number: int, own: Sequence[Column]) -> Words:
    configuration = own[0].configuration
    said = "; ".join(summary(matrix, own)) if matrix.is_complete(own) else "interrupted"
    name = Span(configuration.name, "strong", f"table-{number}")
    return (name, Span(" ("), _bounds(matrix, configuration), Span(f"): {said}."))


def _situations(matrix: Matrix, found: Sequence[tuple[Configuration, Sequence[Column]]]) -> Iterator[Words]:
    """Yield a sentence for each property that has situations, and for each configuration found that has some."""
    known = {item.name: item.sentence for _, own in found for item in own[0].result.spec.checks}
    about = {matrix.label(name): names for name, names in matrix.witness.items()}
    for title, names in (about | {each.name: each.witness for each, _ in found}).items():
        if names:
            yield (Span(title, "strong"), Span(f": {'; '.join(known[name] for name in names)}"))


def _bounds(matrix: Matrix, configuration: Configuration) -> Span:
    bounds = bounds_text(matrix.bounds_of(configuration))
    return Span(f"-b {bounds}", "code") if bounds else Span("the default bounds")


def _table(matrix: Matrix, name: str, own: Sequence[Column], asides: _Asides) -> Table:
    cells = [[asides.cell(cell) for cell in column.cells.values()] for column in own]
    names = list(own[0].cells)
    specs = [column.spec for column in own]
    if matrix.by_spec:
        rows = [(_code(spec), *row) for spec, row in zip(specs, cells, strict=True)]
        return Table(name, ("release", *map(matrix.label, names)), tuple(rows))
    by_property = zip(names, zip(*cells, strict=True), strict=True)
    return Table(name, ("property", *specs), tuple((_code(matrix.label(each)), *row) for each, row in by_property))


def _code(text: str) -> Cell:
    return Cell((Span(text, "code"),))


@attrs.define
class _Steps:
    """The decisive steps of a trace. The traces of other specs may have the same decisive steps.

    Attributes:
        ticket: the ticket of the known bug that the trace shows, or an empty string.
        events: the events that decided the outcome of the trace. The last event is the violation or the witness.
        others: the names of the other specs whose traces have these events, with the same bounds.
    """

    name: str
    trace: Trace[object]
    ticket: str
    events: tuple[Event, ...]
    others: list[str] = attrs.field(factory=list)

    def aside(self) -> Aside:
        about, spec = self.trace.about, self.trace.spec.name
        verb = "shows" if about is not None and about.kind.is_witness else "violates"
        heading = f"{spec} {verb} {about.name}" if about is not None else spec
        notes = [f"The same steps, with the same bounds: {', '.join(self.others)}"] if self.others else []
        return Aside(
            self.name,
            f"{self.ticket}: {heading}" if self.ticket else heading,
            tuple(notes),
            tuple(_step(event) for event in self.events),
            f"{command_for_trace(self.trace)} --html trace.html",
        )


def _step(event: Event) -> Words:
    looks = "chip good" if event.good else "chip"
    label = (Span(event.label, looks), Span(" ")) if event.label else ()
    return (Span(f"step {event.state + 1} "), *label, Span(event.text))


@attrs.define
class _Asides:
    """The decisive steps of the traces. Traces with the same decisive steps and bounds appear only once.

    Attributes:
        found: the decisive steps, keyed by the ticket, the command without the name of the spec, and the events.
        names: the name of the aside for each trace, keyed by the ticket, the spec, the bounds and the property.
    """

    found: dict[tuple[object, ...], _Steps] = attrs.field(factory=dict)
    names: dict[tuple[object, ...], str] = attrs.field(factory=dict)

    def made(self) -> Iterator[Aside]:
        """Yield the asides."""
        return (steps.aside() for steps in self.found.values())

    def cell(self, cell: MatrixCell) -> Cell:
        """Return a cell of a table, with links to its traces."""
        looks = "by-design" if cell.by_design else cell.verdict.value
        text = [Span(cell.text, "", self._link(cell.trace))]
        for ticket, trace in cell.bugs:
            text += [Span(", "), Span(f"{ticket} ({len(trace)})", "", self._link(trace, ticket))]
        return Cell(tuple(text), looks)

    def _link(self, trace: Trace[object] | None, ticket: str = "") -> str:
        if trace is None:
            return ""
        key = (ticket, trace.spec.name, trace.spec.bounds, None if trace.about is None else trace.about.name)
        if key not in self.names:
            self.names[key] = self._steps(trace, ticket).name
        return self.names[key]

    def _steps(self, trace: Trace[object], ticket: str) -> _Steps:
        events, spec = what_happened(trace), trace.spec.name
        key = (ticket, command_for_trace(trace).replace(spec, "", 1), events)
        if (known := self.found.get(key)) is None:
            known = self.found[key] = _Steps(f"trace-{len(self.found) + 1}", trace, ticket, events)
        else:
            known.others.append(spec)
        return known
