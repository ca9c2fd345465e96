"""The terminal: traces, results and lists, in colour where there is a terminal, plain elsewhere.

Names and values are made `visible` before they are laid out, so that none starts a line of its own. Whatever they hold,
the lines that leave a `console` are `inert`.
"""

from __future__ import annotations

import io
import itertools
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
from rich.console import Console, ConsoleOptions, ConsoleRenderable, Group, RenderableType, RenderHook
from rich.padding import Padding
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from leadline.checker.bounds import bounds_text, describe_bounds
from leadline.checker.coverage import CoverageCounts, SourceLine
from leadline.checker.engines import memory
from leadline.checker.properties import Property
from leadline.checker.result import Learning, Result, Statistics, Verdict
from leadline.checker.spec import Spec
from leadline.checker.support.names import counted
from leadline.checker.support.visible import visible
from leadline.checker.trace import Trace
from leadline.model.kafka.releases import Column
from leadline.model.kafka.rules import RULES
from leadline.reports.lines import inert
from leadline.reports.runs.phrases import (
    FEW_STATES,
    LEGEND,
    MARKS,
    advice,
    engine_text,
    field_values,
    idle_action,
    instance_columns,
    line_note,
    property_verdict,
    run_verdict,
    sample_note,
    shown_kinds,
    statistics_lines,
)
from leadline.reports.runs.run_view import RunView
from leadline.reports.traces.story import Frame, Story, story_of

STYLES = {Verdict.HOLDS: "green", Verdict.VIOLATED: "bold red", Verdict.INCOMPLETE: "yellow"}
CHANGED_STYLE = "bold yellow"
CHANGED_MARK = "*"
MARGIN = 7
"""Columns left of what belongs to a step: those of its number."""


MOST_STATES = 1_000
"""States of a trace that are shown."""


def console(stderr: bool = False, live: bool = False) -> Console:
    """A console for standard output or standard error, as wide as its terminal.

    Plain and, unless ``COLUMNS`` says otherwise, 100 columns wide where there is no terminal; plain with
    ``NO_COLOR`` too.

    Parameters:
        stderr: whether it is for standard error.
        live: whether its lines are written over, which takes control of the terminal: all that is printed must
            be `visible` then.
    """
    stream = sys.stderr if stderr else sys.stdout
    out = WholeConsole(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        width=None if stream.isatty() or "COLUMNS" in os.environ else 100,
    )
    if not live:
        out.push_render_hook(PlainLines())
    return out


class WholeConsole(Console):
    """A console that prints all of a line, and leaves it to the command line to end when its reader has gone."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print without cutting off what is longer than the terminal is wide."""
        super().print(*objects, **{"crop": False, **options})

    def on_broken_pipe(self) -> None:
        """Called by `rich` while it handles a `BrokenPipeError`."""
        raise BrokenPipeError


class PlainLines(RenderHook):
    """Lines are printed without the spaces that `rich` pads them with, and without what could control anything."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Called by `rich` with what is printed."""
        return [_Plain(renderable) for renderable in renderables]


@attrs.frozen
class _Plain:
    renderable: ConsoleRenderable

    def __rich_console__(self, out: Console, options: ConsoleOptions) -> Iterator[Segment]:
        lines = list(Segment.split_lines(out.render(self.renderable, options)))
        for number, line in enumerate(lines, start=1):
            while line and not line[-1].text.rstrip():
                line.pop()
            starts = True
            for place, segment in enumerate(line, start=1):
                text = segment.text.rstrip() if place == len(line) else segment.text
                yield Segment(inert(text, starts=starts), segment.style)
                starts = starts and not text.strip()
            if number < len(lines) or options.max_width:
                yield Segment.line()


def story_view(story: Story, *, plain: bool, width: int, titled: bool = True) -> RenderableType:
    """A trace step by step: each step in words, each state's rows, the cells that changed marked.

    What is too wide for the terminal, of the last columns, has lines of its own below each row. Of a trace with more
    than `MOST_STATES` states, the first state and the last ones are shown.

    Parameters:
        story: the trace.
        plain: whether changed cells are marked with a star instead of a colour.
        width: how many columns there are.
        titled: whether the spec and its bounds are named first.
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
        if number > before + 1:
            left_out = f"\n{number - before - 1:,} states are left out; `leadline trace FILE --format json` has all"
            parts.append(Text(left_out, style="yellow"))
        parts.append(_step_title(number + 1, count, frame, story))
        parts += [_header(label_width, fitting)] if fitting else []
        for row in (name for name, row in frame.rows.items() if row.columns):
            parts.append(_row(frame, row, label_width, fitting, plain))
            parts.extend(_cells(frame, row, [column for column in columns if column not in fitting], plain))
        parts.extend(_under_way(frame, plain))
    parts.extend(
        Padding(
            Text(paragraph, style="bold red" if not index else ""), (not index, 0, 0, 4 * bool(index)), expand=False
        )
        for index, paragraph in enumerate(story.ending)
    )
    return Group(*parts)


def turning_points(story: Story) -> Iterator[RenderableType]:
    """What decided the outcome of a trace, each event with its step; nothing if there is only the violation."""
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
    """Two traces in two columns, state by state.

    Parameters:
        left, right: the traces; one may be shorter.
        first_number: what their first states are numbered.
        plain: whether changed cells are marked with a star instead of a colour.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), expand=True)
    for story in (left, right):
        table.add_column(story.title.partition("  ")[0], ratio=1, overflow="fold")
    count = first_number - 1 + max(len(left.frames), len(right.frames))
    for number, pair in enumerate(itertools.zip_longest(left.frames, right.frames), start=first_number):
        table.add_row(*[Group(*_narrow(number, count, frame, plain)) if frame else "" for frame in pair])
    return table


def _narrow(number: int, count: int, frame: Frame, plain: bool) -> Iterator[RenderableType]:
    """A state with only the rows that its step changed."""
    yield _step_title(number, count, frame)
    for row in dict.fromkeys(row for row in frame.rows if any(row == touched for touched, _ in frame.changed)):
        yield _row(frame, row, 0, {}, plain)
        yield from _cells(frame, row, list(frame.rows[row].columns), plain)
    yield from _under_way(frame, plain)


def plain_text(trace: Trace[Any]) -> str:
    """A trace as a terminal without colours and of 100 columns shows it."""
    out = WholeConsole(file=io.StringIO(), width=100, no_color=True, highlight=False, markup=False, emoji=False)
    out.push_render_hook(PlainLines())
    with out.capture() as captured:
        out.print(story_view(story_of(trace), plain=True, width=out.width))
    return captured.get()


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
        title.append(f"\n{'':{MARGIN}}{frame.label}", style="dim not bold")
    if frame.losses:
        title.append(f"\n{'':{MARGIN}}{frame.losses}", style="red not bold")
    return title


def _cells(frame: Frame, row: str, columns: list[str], plain: bool) -> Iterator[RenderableType]:
    """Cells of a row that say something, a line for each, wrapped where that is too wide."""
    for column in columns:
        text, changed = frame.rows[row].columns.get(column, ""), (row, column) in frame.changed
        if not text and not changed:
            continue
        cell = Text(f"{column}: {text}{CHANGED_MARK * (changed and plain)}", style=CHANGED_STYLE if changed else "dim")
        yield Padding(cell, (0, 0, 0, MARGIN + 2))


def _under_way(frame: Frame, plain: bool) -> Iterator[RenderableType]:
    """The messages on their way, a line for each message, with all to whom it goes."""
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


def result_view(run: RunView) -> RenderableType:
    """A run's result: the verdict on each property and on the whole, and the counts, in all and by action."""
    parts: list[RenderableType] = [_properties_table(run)] if run.properties else []
    parts += [_actions_table(run), _verdict_line(run)]
    parts += [Text(text, style="dim")] if (text := advice(run)) else []
    parts += map(Text, statistics_lines(run.statistics))
    parts += [Text(visible(run.note), style="yellow")] if run.note else []
    if run.statistics.covered is not None:
        parts += _coverage(run, run.statistics.covered)
    return Group(*parts)


def _coverage(run: RunView, covered: CoverageCounts) -> Iterator[RenderableType]:
    """What was tried: action instances, premises, witnesses and fields; and the functions of which a part was not."""
    table = _list("coverage", (*instance_columns(run), "taken", "new states"), numbers=3)
    for name, instance in covered.instances.items():
        counts = (f"{count:,}" for count in (instance.enabled, instance.generated, instance.distinct))
        cells = counts if instance.enabled else (idle_action(run), "", "")
        table.add_row(visible(name), *cells, style="" if instance.enabled else "yellow")
    yield table
    if covered.shown:
        shown = _list("", ("property", "counted", "states true in"), numbers=1)
        for name, kind in shown_kinds(run).items():
            states = covered.shown[name]
            shown.add_row(visible(name), kind, f"{states:,}", style="" if states else "yellow")
        yield shown
    if covered.fields:
        fields = _list("", ("field", "values"))
        for path, field in covered.fields.items():
            fields.add_row(visible(path), field_values(field, of_sample=covered.sampled is not None))
        yield fields
    if note := sample_note(run):
        yield Text(note, style="dim")
    for function in covered.source:
        if not function.is_complete:
            yield Text(f"\n{visible(function.name)}  {visible(function.file)}", style="bold")
            yield from map(_source_line, function.lines)
    if covered.source:
        complete = sum(function.is_complete for function in covered.source)
        legend = f"; {LEGEND}" if complete < len(covered.source) else ""
        yield Text(f"\n{complete} of {counted(len(covered.source), 'function')} ran completely{legend}")


def _source_line(line: SourceLine) -> Text:
    note = f"  ← {text}" if (text := line_note(line)) else ""
    style = "red" if line.mark == "never" else "yellow" if note else "dim"
    text = f"{MARKS[line.mark]} {line.number:>4}  {visible(line.text)}{note}"
    return Text(text, style=style, no_wrap=True, overflow="ignore")


@attrs.frozen
class WrappedBounds:
    """Text with bounds in it, wrapped after commas too, so that no name is broken that fits in a line.

    It is not a `Text`: `rich` would join it with others, and wrap them in its own way.
    """

    text: Text

    def __rich_console__(self, out: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        breaks, begin = [], 0
        for part in re.finditer(r"[^ ,]+[ ,]*", self.text.plain):
            end = part.start() + len(part[0].rstrip())
            if begin < part.start() and end - begin > options.max_width:
                begin = part.start()
                breaks.append(begin)
        for line in self.text.divide(breaks):
            line.rstrip()
            yield line


def heading(spec: Spec[Any], engine: str, settings: dict[str, Any]) -> WrappedBounds:
    """The first line of a run: what is searched, how."""
    text = Text(visible(spec.name), style="bold")
    text.append(f"  {visible(bounds_text(attrs.asdict(spec.bounds)))}", style="")
    text.append(f"  {engine_text(engine, settings)}", style="dim")
    return WrappedBounds(text)


def _learning(run: RunView) -> Learning | None:
    """What the compiled engine learned, if the space is large enough for that to tell something."""
    return run.statistics.learning if run.statistics.distinct > FEW_STATES else None


def _properties_table(run: RunView) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    learning = _learning(run)
    for title in ("property", "verdict", "trace"):
        table.add_column(title, header_style="dim")
    if learning:
        table.add_column("learned calls", header_style="dim", justify="right")
    for item in run.properties:
        length = counted(item.trace_length, "state") if item.trace_length is not None else ""
        style = STYLES[Verdict.INCOMPLETE if item.says_nothing else item.verdict]
        verdict = Text(property_verdict(item.kind, item.verdict, item.premise), style=style)
        calls = [f"{learning.properties.get(item.name, 0):,}"] if learning else []
        table.add_row(visible(item.name), verdict, length, *calls)
    return table


def _actions_table(run: RunView) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("action", header_style="dim")
    learning = _learning(run)
    for title in ("generated", "new states", *(["learned calls"] if learning else [])):
        table.add_column(title, header_style="dim", justify="right")
    for name, count in run.statistics.actions.items():
        cells = [f"{count.generated:,}", f"{count.distinct:,}"] if count.generated else [idle_action(run), ""]
        if learning:
            cells.append(f"{learning.actions[name]:,}")
        table.add_row(visible(name), *cells, style="" if count.generated else "yellow")
    return table


def _verdict_line(run: RunView) -> Text:
    verdict, rest = run_verdict(run)
    proved = run.properties or run.verdict is not Verdict.HOLDS
    style = STYLES[run.verdict] if proved else "bold"
    return Text(verdict, style=style).append(f": {rest}", style="default not bold")


def specs_view(specs: list[Spec[Any]]) -> RenderableType:
    """The specs there are, a line each."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for spec in specs:
        table.add_row(Text(visible(spec.name), style="bold"), visible(spec.summary))
    return table


def spec_view(spec: Spec[Any]) -> RenderableType:
    """One spec: its bounds with their defaults, its actions, its properties with their sentences."""
    bounds = _list("bounds", ("-b", "default", "bounds", "possible"))
    for name, value, text, right in describe_bounds(spec.bounds):
        given = bounds_text({name: value}).partition("=")[2]
        bounds.add_row(*map(visible, (name, given, text)), Text(visible(right), style="dim"))
    actions = _list("actions", ("action", "a step"))
    for action in spec.actions:
        actions.add_row(*map(visible, (f"{action.name}({', '.join(action.domains)})", action.sentence)))
    properties = _list("properties", ("-i", "kind", "says"))
    for item in spec.checks:
        properties.add_row(visible(item.name), item.kind.value, _explanation(item))
    return Group(Text(visible(spec.name), style="bold"), Text(visible(spec.summary)), bounds, actions, properties)


def rules_view(column: Column) -> RenderableType:
    """The rules of a release: the values there are, which it has, and what changed in it."""
    table = _list("rules", ("--rule", "value", "says"))
    for rule in RULES:
        table.add_row(rule.name, "", Text(f"{rule.question}:", style="italic"))
        for value in rule.values:
            has = column.values[rule.name] == value.name
            says = Text(value.sentence, style="" if has else "dim").append(f"\n{value.source}", style="dim")
            if has and rule.name in column.changed:
                says.append("\nchanged here", style="yellow")
            table.add_row("", Text(f"{'*' if has else ' '} {value.name}", style="bold" if has else "dim"), says)
    known = f"{column.name}{f', with {column.controller}' if column.controller else ', a design'}; * it has"
    also = f"; also called {', '.join(column.aliases)}" if column.aliases else ""
    return Group(table, Text(f"\n{known}{also}", style="dim"))


def _explanation(item: Property) -> Text:
    text = Text(visible(item.sentence))
    if item.source:
        text.append(f"\n{visible(item.source)}", style="dim")
    if item.fails_in:
        text.append(f"\nknown to fail in {visible(', '.join(item.fails_in))}", style="yellow")
    return text


def _list(title: str, columns: tuple[str, ...], numbers: int = 0) -> Table:
    """A table without rows.

    Parameters:
        title: its title; may be empty.
        columns: the headings of its columns.
        numbers: how many of the last columns hold numbers.
    """
    heading = f"\n{title}" if title else " "
    table = Table(title=heading, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for place, column in enumerate(columns):
        is_number = place >= len(columns) - numbers
        table.add_column(column, header_style="dim", overflow="fold", justify="right" if is_number else "left")
    return table


def show_traces(out: Console, result: Result, *, only: int | None = None, titled: bool = True) -> None:
    """Print the counterexamples of a result.

    Parameters:
        out: where.
        result: the result.
        only: how many; by default all.
        titled: whether each names the spec and its bounds.
    """
    traces = [trace for item in result.properties if item.verdict is Verdict.VIOLATED for trace in item.traces]
    for trace in traces[:only]:
        out.print(story_view(story_of(trace), plain=is_plain(out), width=out.width, titled=titled))
        out.print()


def is_plain(out: Console) -> bool:
    """Whether a console shows no colours, so that changes need a mark."""
    return out.no_color or out.color_system is None


def progress_lines(statistics: Statistics) -> list[str]:
    """The counts of a run so far, in lines for 80 columns."""
    if statistics.activity:
        found = [f"{statistics.distinct:,} distinct  depth {statistics.depth}"] if statistics.distinct else []
        return [f"{_elapsed(statistics.seconds)}  {visible(statistics.activity)}", *found]
    rate = statistics.distinct / statistics.seconds if statistics.seconds else 0.0
    counts = f"{statistics.distinct:,} distinct  {statistics.generated:,} generated  {rate:,.0f}/s"
    share = "" if statistics.level_done is None else f", {statistics.level_done:.0%} of this level"
    queue = "" if statistics.queue is None else f"  queue {statistics.queue:,}"
    tables = f"  {memory.described(statistics.memory)}  {statistics.calls:,} calls" if statistics.calls else ""
    total = estimated_total(statistics.levels)
    estimate = "" if total is None else f"  about {statistics.distinct / total:.0%} of an estimated {total:,} states"
    lines = [f"{_elapsed(statistics.seconds)}  {counts}", f"depth {statistics.depth}{share}{queue}{tables}{estimate}"]
    if statistics.shards:
        spilled = memory.described(statistics.spilled)
        lines.append(f"{counted(statistics.shards, 'shard')}  skew {statistics.skew:.0%}  {spilled} spilled to files")
    return lines


def estimated_total(levels: Sequence[int]) -> int | None:
    """About how many states a space has, once its levels shrink.

    The sizes of levels are bell-shaped as a rule. The rest is estimated as if each level were to the one before as the
    last two complete ones are to each other.

    Parameters:
        levels: the distinct states at each depth; the last level may not be complete.

    Returns:
        The estimate; None as long as nothing can be said.
    """
    if len(levels) < 4 or not levels[-4] > levels[-3] > levels[-2] > 0:
        return None
    ratio = levels[-2] / levels[-3]
    return max(round(sum(levels[:-1]) + levels[-2] * ratio / (1 - ratio)), sum(levels))


def _elapsed(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def progress_line(what: str, every: float = 60.0) -> Iterator[Callable[[Statistics], None]]:
    """Progress on standard error: live lines on a terminal, elsewhere one line a minute.

    Parameters:
        what: what is running.
        every: seconds between two lines where there is no terminal. A run that is shorter prints none.
    """
    out, what = console(stderr=True, live=True), visible(what)
    if not out.is_terminal or is_plain(out):
        yield _minutely(what, every)
        return
    line = TextColumn("{task.description}", markup=False)
    with Progress(SpinnerColumn(), line, console=out, transient=True) as progress:
        task = progress.add_task(what)

        def show(statistics: Statistics) -> None:
            progress.update(task, description="\n".join(filter(None, [what, *progress_lines(statistics)])))

        yield show


def _minutely(what: str, every: float) -> Callable[[Statistics], None]:
    """A progress function that prints a line now and then."""
    out, due = console(stderr=True), time.monotonic() + every

    def show(statistics: Statistics) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + every
            out.print("  ".join(filter(None, [what, *progress_lines(statistics)])), soft_wrap=True)

    return show
