"""Show traces on a terminal, step by step or side by side."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from leadline.checker.result import Result
from leadline.checker.trace import Trace
from leadline.invariants.promises import violations
from leadline.reports.terminal.console import PlainLines, WholeConsole, WrappedBounds, is_plain
from leadline.reports.traces.story import Frame, Story, story_of

CHANGED_STYLE = "bold yellow"

CHANGED_MARK = "*"

MARGIN = 7
"""The width in characters of the area for the number of a step, to the left of its text."""

MOST_STATES = 1_000
"""The maximum number of states that the view of a trace shows."""


def story_view(story: Story, *, plain: bool, width: int, titled: bool = True) -> RenderableType:
    """Return the view of a trace, with the text of each step and the rows of the state after the step.

    Changed cells are marked. Columns that do not fit in the terminal are shown on separate lines below each row. If a
    trace has more than `MOST_STATES` states, only the first state and the last states are shown.

    Parameters:
        plain: true to mark changed cells with a star instead of a colour.
        width: the width of the terminal in columns.
        titled: whether to show the spec and its bounds first.
    """
    count = len(story.frames)
    numbers = range(count) if count <= MOST_STATES else [0, *range(count - MOST_STATES + 1, count)]
    frames = [story.frames[number] for number in numbers]
    columns = list(dict.fromkeys(column for frame in frames for row in frame.rows.values() for column in row.columns))
    widths = {column: max([len(column), *_cell_widths(frames, column)]) + plain for column in columns}
    label_width = max((len(name) for frame in frames for name, row in frame.rows.items() if row.columns), default=0)
    ends = itertools.accumulate((2 + column_width for column_width in widths.values()), initial=MARGIN + label_width)
    fitting = dict(list(widths.items())[: sum(end <= width for end in ends) - 1])
    parts: list[RenderableType] = [WrappedBounds(Text(story.title, style="bold"))] if titled else []
    if story.legend:
        parts.append(Text(_legend(story, plain), style="dim"))
    parts += turning_points(story)
    for before, number, frame in zip([0, *numbers], numbers, frames, strict=False):
        last_along = story.frames[max(number - 1, 0)].along
        if number > before + 1:
            left_out = f"\n{number - before - 1:,} states are left out; `leadline show FILE --format json` has all"
            parts.append(Text(left_out, style="yellow"))
        parts.append(_step_title(number + 1, count, frame, story))
        parts += [_header(label_width, fitting)] if fitting else []
        for row in (name for name, row in frame.rows.items() if row.columns):
            parts.append(_row(frame, row, label_width, fitting, plain))
            parts.extend(_cells(frame, row, [column for column in columns if column not in fitting], plain))
        parts.extend(_under_way(frame, plain))
        for name, text in frame.along.items():
            parts.append(_cell(name, text, last_along[name] != text, plain, MARGIN))
    parts.extend(
        Padding(
            Text(paragraph, style="bold red" if not index else ""), (not index, 0, 0, 4 * bool(index)), expand=False
        )
        for index, paragraph in enumerate(story.ending)
    )
    return Group(*parts)


def turning_points(story: Story) -> Iterator[RenderableType]:
    """If several events decided the outcome of a trace, yield a table of these events."""
    if len(story.happened) < 2:
        return
    yield Text("\nwhat happened", style="bold")
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for event in story.happened:
        label = Text(event.label, style="bold green" if event.good else "bold red")
        table.add_row(f"step {event.state + 1}", label, event.text)
    yield table


def _legend(story: Story, plain: bool) -> str:
    arrows = ["a → b: on its way from a to b"] if any(frame.under_way for frame in story.frames) else []
    return "; ".join([story.legend, *arrows, *([f"{CHANGED_MARK} changed"] if plain else [])])


def side_by_side(left: Story, right: Story, *, first_number: int, plain: bool) -> RenderableType:
    """Return the view of two traces in two columns. States with the same number are side by side.

    Parameters:
        right: the right trace, which may have a different length.
        first_number: the number of the first state in both traces.
        plain: true to mark changed cells with a star instead of a colour.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), expand=True)
    for story in (left, right):
        table.add_column(story.title.partition("  ")[0], ratio=1, overflow="fold")
    count = first_number - 1 + max(len(left.frames), len(right.frames))
    for number, pair in enumerate(itertools.zip_longest(left.frames, right.frames), start=first_number):
        table.add_row(*[Group(*_narrow(number, count, frame, plain)) if frame else "" for frame in pair])
    return table


def _narrow(number: int, count: int, frame: Frame, plain: bool) -> Iterator[RenderableType]:
    """Yield the view of a state, with only the rows that the preceding step changed."""
    yield _step_title(number, count, frame)
    for row in dict.fromkeys(row for row in frame.rows if any(row == touched for touched, _ in frame.changed)):
        yield _row(frame, row, 0, {}, plain)
        yield from _cells(frame, row, list(frame.rows[row].columns), plain)
    yield from _under_way(frame, plain)


def plain_text(trace: Trace[object], *, titled: bool = True) -> str:
    """Return a trace as text, as on a terminal with 100 columns and without colours.

    Parameters:
        titled: whether to show the spec and its bounds first.
    """
    out = WholeConsole(file=io.StringIO(), width=100, no_color=True, highlight=False, markup=False, emoji=False)
    out.push_render_hook(PlainLines())
    with out.capture() as captured:
        out.print(story_view(story_of(trace), plain=True, width=out.width, titled=titled))
    return captured.get()


def show_traces(out: Console, result: Result, *, only: int | None = None, titled: bool = True) -> None:
    """Print the counterexamples to one property: the one that `leadline.invariants.promises.violations` names first.

    Parameters:
        only: the maximum number of counterexamples to print. By default, all are printed.
        titled: whether to show the spec and its bounds with each counterexample.
    """
    first = next(iter(violations(result)), None)
    for trace in first.traces[:only] if first is not None else ():
        out.print(story_view(story_of(trace), plain=is_plain(out), width=out.width, titled=titled))
        out.print()


def _cell_widths(frames: Sequence[Frame], column: str) -> Iterator[int]:
    rows = (row.columns for frame in frames for row in frame.rows.values())
    return (len(columns[column]) for columns in rows if column in columns)


def _step_title(number: int, count: int, frame: Frame, story: Story | None = None) -> Text:
    title = Text(f"\n{number:>2}/{count}  ", style="bold")
    if not frame.label:
        return title.append("the initial state")
    title.append(frame.sentence or frame.label)
    for event in story.turns(number - 1) if story is not None else ():
        title.append(f"  [{event.label}]", style="green" if event.good else "red")
    if frame.sentence:
        title.append(f"\n{'':{MARGIN}}")
        title.append(frame.label, style=f"dim not bold{f' link {frame.link}' if frame.link else ''}")
    if frame.losses:
        title.append(f"\n{'':{MARGIN}}{frame.losses}", style="red not bold")
    return title


def _cells(frame: Frame, row: str, columns: list[str], plain: bool) -> Iterator[RenderableType]:
    """Yield a line for each cell of a row that contains text or has changed. Long lines are wrapped."""
    for column in columns:
        text, changed = frame.rows[row].columns.get(column, ""), (row, column) in frame.changed
        if not text and not changed:
            continue
        yield _cell(column, text, changed, plain, MARGIN + 2)


def _cell(name: str, text: str, changed: bool, plain: bool, margin: int) -> RenderableType:
    """Return a line with a name and a text."""
    cell = Text(f"{name}: {text}{CHANGED_MARK * (changed and plain)}", style=CHANGED_STYLE if changed else "dim")
    return Padding(cell, (0, 0, 0, margin))


def _under_way(frame: Frame, plain: bool) -> Iterator[RenderableType]:
    """Yield a line for each message in flight, with all its receivers, and a line for each lost message."""
    receivers: dict[tuple[str, str, bool], list[str]] = {}
    for message in frame.under_way:
        receivers.setdefault((message.source, message.whole, message in frame.sent), []).append(message.target)
    for (source, text, is_new), targets in receivers.items():
        line = f"{source} → {', '.join(targets)}: {text}{CHANGED_MARK * (is_new and plain)}"
        yield Padding(Text(line, style=CHANGED_STYLE if is_new else "dim"), (0, 0, 0, MARGIN))
    for message in frame.lost:
        line = f"{message.source} → {message.target}: {message.whole} is lost"
        yield Padding(Text(line, style="red"), (0, 0, 0, MARGIN))


def _header(label_width: int, widths: dict[str, int]) -> Text:
    cells = "  ".join(column.ljust(width) for column, width in widths.items())
    return Text(f"{'':{MARGIN}}{'':<{label_width}}  {cells}".rstrip(), style="dim")


def _row(frame: Frame, row: str, label_width: int, widths: dict[str, int], plain: bool) -> Text:
    touched = any(changed_row == row for changed_row, _ in frame.changed)
    line = Text(f"{'':{MARGIN}}{row:<{label_width}}", style="" if touched else "dim")
    for column, width in widths.items():
        changed = (row, column) in frame.changed
        text = frame.rows[row].columns.get(column, "")
        line.append("  ")
        line.append((text + CHANGED_MARK * (changed and plain)).ljust(width), style=CHANGED_STYLE if changed else "")
    line.rstrip()
    return line
