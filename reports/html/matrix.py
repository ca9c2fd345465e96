"""Write the HTML page of a verdict matrix. It shows the tables, and the decisive steps of each trace.

A matrix has hundreds of traces, which are too many for one page. Therefore a cell links only to the steps that decided
the outcome of its trace, and to a command that searches for the trace again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
from markupsafe import Markup

from leadline.checker.bounds import bounds_text
from leadline.checker.drawing import Event
from leadline.checker.trace import Trace
from leadline.reports.html import page, rendered
from leadline.reports.loading import explore_command
from leadline.reports.matrix import Column, Configuration, Matrix, MatrixCell, Tables, summary
from leadline.reports.origin import Origin
from leadline.reports.traces.story import what_happened


@attrs.frozen(eq=False)
class _Steps:
    """The decisive steps of a trace. The traces of other specs may have the same decisive steps.

    Attributes:
        name: the URL fragment that identifies the steps.
        trace: the trace.
        ticket: the ticket of the known bug that the trace shows, or an empty string.
        events: the events that decided the outcome of the trace. The last event is the violation or the witness.
        others: the names of the other specs whose traces have these events, with the same bounds.
    """

    name: str
    trace: Trace[object]
    ticket: str
    events: tuple[Event, ...]
    others: list[str] = attrs.field(factory=list)

    @property
    def heading(self) -> str:
        """A heading that names the spec and the property that the trace violates or shows."""
        about = self.trace.about
        verb = "shows" if about is not None and about.kind.is_witness else "violates"
        return f"{self.trace.spec.name} {verb} {about.name}" if about is not None else self.trace.spec.name

    @property
    def command(self) -> str:
        """The command that searches for the trace again and writes it to an HTML page."""
        return f"{explore_command(self.trace)} --html trace.html"


@attrs.frozen
class _Link:
    """Text in a cell, and a link to the decisive steps of a trace. The link is empty if there is no trace."""

    text: str
    link: str


@attrs.frozen
class _Cell:
    """A cell of a table, with its CSS class and its text."""

    looks: str
    links: tuple[_Link, ...]


@attrs.frozen
class _Table:
    """The table for one configuration. Each row is a (name, cells) pair."""

    configuration: Configuration
    bounds: str
    summary: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[_Cell, ...]], ...]


@attrs.define
class _Traces:
    """The traces on the page. Traces with the same decisive steps and bounds appear on the page only once.

    Attributes:
        found: the decisive steps, keyed by the ticket, the command without the name of the spec, and the events.
        names: the URL fragment for each trace, keyed by the ticket, the spec, the bounds and the property.
    """

    found: dict[tuple[object, ...], _Steps] = attrs.field(factory=dict)
    names: dict[tuple[object, ...], str] = attrs.field(factory=dict)

    def cell(self, cell: MatrixCell) -> _Cell:
        """Return a cell of a table, with links to its traces."""
        looks = "by-design" if cell.by_design else cell.verdict.value
        of_bugs = (_Link(f"{ticket} ({len(trace)})", self._link(trace, ticket)) for ticket, trace in cell.bugs)
        return _Cell(looks, (_Link(cell.text, self._link(cell.trace)), *of_bugs))

    def _link(self, trace: Trace[object] | None, ticket: str = "") -> str:
        if trace is None:
            return ""
        key = (ticket, trace.spec.name, trace.spec.bounds, trace.about and trace.about.name)
        if key not in self.names:
            self.names[key] = self._steps(trace, ticket).name
        return self.names[key]

    def _steps(self, trace: Trace[object], ticket: str) -> _Steps:
        events, spec = what_happened(trace), trace.spec.name
        key = (ticket, explore_command(trace).replace(spec, "", 1), events)
        if (known := self.found.get(key)) is None:
            known = self.found[key] = _Steps(f"trace-{len(self.found) + 1}", trace, ticket, events)
        else:
            known.others.append(spec)
        return known


def tables_page(tables: Tables) -> str:
    """Return the HTML page of a matrix, with its tables and the decisive steps of each trace."""
    traces = _Traces()
    shown = tuple(_tables(tables.matrix, tables.columns, traces))
    above = Markup(rendered("matrix.html", matrix=tables.matrix, tables=shown, traces=traces.found.values()))
    return page(tables.matrix.title, [], above=above, origin=Origin.now())


def _tables(matrix: Matrix, columns: Sequence[Column], traces: _Traces) -> Iterator[_Table]:
    for configuration, own in matrix.by_configuration(columns):
        text = "; ".join(summary(matrix, own)) if matrix.is_complete(own) else "interrupted"
        cells = {column.spec: tuple(map(traces.cell, column.cells.values())) for column in own}
        names = list(own[0].cells)
        if matrix.by_spec:
            head, rows = tuple(map(matrix.label, names)), tuple(cells.items())
        else:
            head = tuple(cells)
            rows = tuple(
                (matrix.label(name), tuple(row[at] for row in cells.values())) for at, name in enumerate(names)
            )
        yield _Table(configuration, bounds_text(matrix.bounds_of(configuration)), text, head, rows)
