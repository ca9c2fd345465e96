"""Print advice on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from leadline.checker.support.escapes import visible
from leadline.reports.advice import text
from leadline.reports.advice.advice import Advice, Concern, Finding
from leadline.reports.advice.settings import Remark


def show_advice(out: Console, advice: Advice) -> None:
    """Print advice: the effective settings, the known bugs by group, the changed rules, and remarks on settings."""
    out.print(Text(advice.title, style="bold"))
    _show_settings(out, advice)
    for section in text.sections(advice):
        _show_section(out, section)
    if advice.is_upgrade:
        _show_rules(out, advice)
    _show_remarks(out, advice)
    out.print(Text("what was searched", style="bold"))
    _lines(out, [advice.nothing])


def _lines(out: Console, lines: Iterable[str], indent: int = 2) -> None:
    for line in lines:
        out.print(Padding(Text(visible(line)), (0, 0, 0, indent)))


def _show_settings(out: Console, advice: Advice) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    columns = 3 if advice.is_upgrade else 2
    for heading in ("", advice.before.version, advice.after.version)[:columns]:
        table.add_column(visible(heading), overflow="fold")
    for row in text.rows(advice):
        table.add_row(*map(visible, row[:columns]))
    out.print(Padding(table, (0, 0, 0, 2)))
    _lines(out, [f"note: {note}" for note in text.notes(advice)])
    _lines(out, text.not_promised(advice))
    out.print()


def _show_section(out: Console, section: text.Section) -> None:
    out.print(Text(visible(section.title), style="bold"))
    if not section.findings:
        _lines(out, [section.nothing])
    for concern, findings in section.findings.items():
        out.print(Padding(Text(concern.value, style="dim"), (0, 0, 0, 2)))
        for finding in findings:
            _show_finding(out, finding)
    out.print()


def _show_finding(out: Console, finding: Finding) -> None:
    style = "bold red" if finding.concern is Concern.PROMISE else "bold"
    line = Text(finding.bug.ticket, style=style).append(f"  {finding.harm}", style="default not bold")
    out.print(Padding(line, (0, 0, 0, 4)))
    _lines(out, [finding.bug.sentence, *finding.reasons], 6)
    for command in finding.commands:
        out.print(Text(f"      {visible(command)}", style="dim"), soft_wrap=True)


def _show_rules(out: Console, advice: Advice) -> None:
    out.print(Text("rules of replication that change", style="bold"))
    for question, before, after, source in advice.rules:
        out.print(Padding(Text(question), (0, 0, 0, 2)))
        _lines(out, [f"before: {before}", f"after:  {after} ({source})"], 4)
    if not advice.rules:
        _lines(out, ["none"])
    out.print()


def _show_remarks(out: Console, advice: Advice) -> None:
    out.print(Text("the settings in the files", style="bold"))
    for sentence, remarks in text.remarks(advice):
        has_reasons = any(remark.text for remark in remarks)
        _lines(out, [sentence])
        _lines(out, map(_remark, remarks) if has_reasons else [", ".join(remark.name for remark in remarks)], 4)
    out.print()


def _remark(remark: Remark) -> str:
    return f"{remark.name} ({remark.place}): {remark.text}"
