"""The sentences and phrases about runs that the terminal, HTML pages and other reports share."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping

from leadline.checker.bounds import bounds_text
from leadline.checker.coverage import FieldCoverage, SourceLine
from leadline.checker.engines import memory
from leadline.checker.observing.constructs import CHANGEABLE
from leadline.checker.properties import Kind
from leadline.checker.result import (
    UNDIVIDED,
    Learning,
    Result,
    Statistics,
    StopKind,
    Verdict,
    Verified,
    WholeRead,
)
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.invariants.promises import PROMISES
from leadline.reports.lines import stated_bounds
from leadline.reports.runs.run_view import RunView

FEW_STATES = 20_000
"""The number of states up to which reports do not judge learning. In small state spaces, most calls are new."""

LEAST_SECONDS = 0.05
"""The CPU seconds of calls below which they are not mentioned."""

MANY_VALUES = 100
"""The number of values of a part of the state below which the part is not named as the reason for many calls."""

MANY_CALLS = 0.5
"""If the compiled engine makes more than this fraction of the calls that the oracle makes, the report explains why."""

MOST_WITH_DECIMALS = 100
"""Averages below this number are shown with one decimal."""

MARKS = {"never": "!", "partly": "?", "run": " ", "": " "}
"""The marks in front of source lines, by the coverage of the line."""

LEGEND = f"{MARKS['never']} never run, {MARKS['partly']} run, but some branch was never taken"

PREMISE_FALSE = {
    Verdict.HOLDS: "holds vacuously",
    Verdict.INCOMPLETE: "incomplete; premise not true yet",
    Verdict.VIOLATED: "violated",
}
"""The verdict in words on a property whose premise was not true in any searched state."""

KEEP_GOING = "incomplete: the search stopped after a violation; --keep-going checks the other properties"


def violations(result: Result, violated: str, unseen: str) -> str:
    """Return text that names the violated properties, and the witnesses that were never shown.

    Parameters:
        violated: the template for violated properties, in which ``{}`` stands for their names.
        unseen: the template for witnesses that were never shown, in which ``{}`` stands for their names.
    """
    found = [item.property for item in result.properties if item.verdict is Verdict.VIOLATED]
    return _missed([(item.name, item.kind) for item in found], violated, unseen)


def _missed(missed: Iterable[tuple[str, Kind]], violated: str, unseen: str) -> str:
    known, parts = list(missed), list[str]()
    for words, witnesses in ((violated, False), (unseen, True)):
        names = ", ".join(visible(name) for name, kind in known if kind.is_witness == witnesses)
        parts += [words.format(names)] if names else []
    return "; ".join(parts)


def property_verdict(kind: Kind, verdict: Verdict, premise: bool | None = None) -> str:
    """Return the verdict on a property in words, such as "holds", or "shown" for a witness.

    Parameters:
        premise: whether the premise of the property was true in any state, or None if the property has no premise.
    """
    if not kind.is_witness:
        return PREMISE_FALSE[verdict] if premise is False else verdict.value
    words = {Verdict.HOLDS: "shown", Verdict.VIOLATED: "never shown", Verdict.INCOMPLETE: "not shown yet"}
    return words[verdict]


def run_verdict(run: RunView) -> tuple[str, str]:
    """Return the verdict on a run as one word, and an explanation of the verdict."""
    match run.verdict:
        case Verdict.HOLDS if not run.properties:
            return "searched", "every reachable state; no property was checked"
        case Verdict.HOLDS:
            return "holds", "; ".join(
                filter(None, ["every reachable state was searched", vacuous(run), run.warning, bugs_outside(run)])
            )
        case Verdict.INCOMPLETE:
            return "incomplete", visible(run.reason or "")
    return "violated", _missed([(item.name, item.kind) for item in run.missed], "{}", "never shown: {}")


def vacuous(run: RunView) -> str:
    """Return a text about properties that hold because something never happens. Empty if there are none."""
    found = [f"{item.name} vacuously, as {item.never} is never true" for item in run.properties if item.says_nothing]
    return visible("; ".join(found))


def bugs_outside(run: RunView) -> str:
    """Return a sentence about known bugs in the release that the search cannot show, or an empty string if there are
    none.
    """
    if not run.known_bugs_outside:
        return ""
    tickets = ", ".join(run.known_bugs_outside)
    return f"known bugs of {visible(run.spec)} outside this search: {tickets} (`leadline bugs TICKET` shows one)"


def causes(run: RunView) -> list[str]:
    """Return lines that say which violations are by design, and which are known bugs."""
    from leadline.reports.kafka.bugs import command_for  # it imports every model

    archived = run.diagnosis.archived if run.diagnosis is not None else ()
    named = {ticket for change in archived for ticket in change.tickets}
    said = []
    for item in run.missed:
        if item.by_design:
            said.append(f"{item.name} is violated by design: {item.by_design}")
        for bug in (each for each in item.known_bugs if each.ticket not in named):
            values = bounds_text(bug.defaults)
            allowed = f"; it needs {values}, the default of {run.spec}" if values else ""
            known = f"{bug.ticket} is known to violate {item.name} within these bounds (`{command_for(bug.ticket)}`)"
            said.append(known + allowed)
    return list(map(visible, said))


def order(run: RunView) -> list[str]:
    """Return a line that says in which order properties were checked, or no line if the order made no difference."""
    missed = {item.name for item in run.missed}
    if not run.sought or not missed:
        return []
    said = f"promises to users were checked first ({', '.join(run.sought)})"
    if run.stop is None:
        return [f"{said}, then the other properties, in every reachable state"]
    if run.stop.kind is not StopKind.VIOLATION:
        return [said]
    if missed & set(run.sought):
        return [f"{said}: the search ended at the first violation of one of them"]
    return [f"{said}: none of them was violated in the first {run.statistics.distinct:,} states"]


def advice(run: RunView) -> list[str]:
    """Return lines that say how to decide the remaining properties, and how to see the traces that are not shown."""
    traced = [item.name for item in run.missed if item.trace_length is not None]
    said = []
    if len(traced) > 1:
        said.append(
            f"only a counterexample to {visible(traced[0])} is shown; "
            f"`-i {visible(shlex.quote(traced[1]))}` shows one to {visible(traced[1])}"
        )
    left_open = [item.name for item in run.properties if item.verdict is Verdict.INCOMPLETE]
    limited = run.verdict is Verdict.VIOLATED and run.stop is not None and run.stop.kind is not StopKind.SAMPLE
    if left_open and run.stop is not None and limited:
        promised = [name for name in left_open if name in PROMISES]
        if promised:
            said.append(
                f"promises to users that were not decided: {', '.join(promised)}; "
                f"`-i {shlex.quote(promised[0])}` checks only {promised[0]}"
            )
        said.append(KEEP_GOING if run.stop.kind is StopKind.VIOLATION else f"incomplete: {visible(run.stop.text)}")
    is_in_memory = run.engine == "compiled" and not run.statistics.spilled
    if is_in_memory and run.stop is not None and run.stop.kind is StopKind.MEMORY:
        said.append("`--disk DIR` keeps the states in files and needs less memory")
    return said


def searched(run: RunView) -> str:
    """Return a description of the spec, its bounds, the engine, and the settings of the engine."""
    return f"{visible(run.spec)}  {visible(stated_bounds(run.bounds))}  {engine_text(run.engine, run.settings)}"


def engine_text(engine: str, settings: Mapping[str, object]) -> str:
    """Return the name of an engine and its settings, as text."""
    given = visible(bounds_text(settings))
    return f"{engine} ({given})" if given else engine


def idle_action(run: RunView) -> str:
    """Return the text for an action that was not enabled in any searched state."""
    return "never enabled" if run.exhausted else "not enabled yet"


def gaps(run: RunView, reported: Collection[str] = ()) -> list[str]:
    """Return lines about what a run did not cover. Return no lines if everything was covered or coverage was not
    measured.

    Parameters:
        reported: the names of actions and properties to leave out, because they are reported elsewhere.
    """
    covered, yet = run.statistics.covered, "never" if run.exhausted else "not"
    if covered is None:
        return []
    never = [name for name, instance in covered.instances.items() if not instance.enabled]
    idle = [visible(name) for name in never if name.partition("(")[0] not in reported]
    premises = [visible(item.name) for item in run.properties if item.premise is False and item.name not in reported]
    unrun = [function for function in covered.source if not function.is_complete]
    marks = [line.mark for function in unrun for line in function.lines]
    lines, branches = marks.count("never"), marks.count("partly")
    missed = [
        *([f"{counted(lines, 'line')} {yet} run"] if lines else []),
        *([f"{counted(branches, 'branch', 'branches')} {yet} taken"] if branches else []),
    ]
    return [
        *([f"{yet} enabled: {', '.join(idle)}"] if idle else []),
        *([f"premise {yet} true: {', '.join(premises)}"] if premises else []),
        *([f"{' and '.join(missed)}, in {counted(len(unrun), 'function')}"] if missed else []),
    ]


def taken_column(run: RunView) -> str:
    """Return the heading of the column that counts the steps of each action. A random search counts only the steps that
    it took, not all steps to next states that it checked.
    """
    return "generated" if run.statistics.walked is None else "taken"


def instance_columns(run: RunView) -> tuple[str, str]:
    """Return the headings of the first two columns in the table of action instances."""
    return "action instance", "states enabled in" if run.statistics.walked is None else "times enabled"


def sample_note(run: RunView) -> str:
    """Return a note on the states in which a random search measured coverage. For other searches, return an empty
    string.
    """
    covered, walked = run.statistics.covered, run.statistics.walked
    if covered is None or walked is None:
        return ""
    kinds = shown_kinds(run).values()
    others = [plural for kind, plural in (("premise", "premises"), ("witness", "witnesses")) if kind in kinds]
    what = " and ".join(filter(None, [", ".join(others), "fields"])).capitalize()
    if covered.sampled is None:
        return f"{what} were counted in all visited states."
    return f"{what} were counted in a sample of {counted(covered.sampled, 'visited state')}."


def shown_kinds(run: RunView) -> dict[str, str]:
    """Return "witness" or "premise" for each property in `CoverageCounts.shown`. This says what is counted for the
    property.
    """
    shown = run.statistics.covered.shown if run.statistics.covered else {}
    witnesses = {item.name for item in run.properties if item.kind.is_witness}
    return {name: "witness" if name in witnesses else "premise" for name in shown}


def line_note(line: SourceLine) -> str:
    """Return a remark about a source line if some of its branches were never taken, otherwise an empty string."""
    targets = ["the end of the function" if target == 0 else f"line {target}" for target in line.missing]
    return f"never continued to {' or '.join(targets)}" if line.mark == "partly" else ""


def field_values(field: FieldCoverage, *, of_sample: bool) -> str:
    """Return a description of the values that a field had in the searched states.

    Parameters:
        of_sample: true if the values were counted in a sample of the states.
    """
    count = f"{field.count:,}" if field.is_exact else f"more than {field.count:,}"
    if of_sample:
        count = f"at least {field.count:,}"
    return f"{count}: {', '.join(map(visible, field.values))}" if field.values else count


def statistics_lines(statistics: Statistics) -> list[str]:
    """Return lines with the counts of a run, its use of memory, and its calls to the spec."""
    queue = "" if statistics.queue is None else f", {statistics.queue:,} on queue"
    outside = f", {statistics.outside:,} more for which within is false" if statistics.outside else ""
    is_random = statistics.walked is not None
    made = counted(statistics.generated, "visit") if is_random else f"{statistics.generated:,} generated"
    return [
        f"{counted(statistics.distinct, 'distinct state')}{outside}, {made}, depth {statistics.depth}{queue}",
        f"out-degree {statistics.out_degree_min} to {statistics.out_degree_max}, "
        f"mean {statistics.out_degree_mean:.2f}; {statistics.seconds:.1f} s",
        *symmetry_lines(statistics),
        *liveness_lines(statistics),
        *walked_lines(statistics),
        *_table_lines(statistics),
    ]


def states_text(statistics: Statistics) -> str:
    """Return the number of distinct states, and how many of them are open: a liveness property that holds says nothing
    about behaviours that stay there.
    """
    states = counted(statistics.distinct, "state")
    return f"{states}, {statistics.open:,} of them open" if statistics.open else states


def symmetry_lines(statistics: Statistics) -> list[str]:
    """Return a line that says how many states a search with symmetry stands for, or no lines for other searches."""
    orbits = statistics.orbits
    if orbits is None:
        return []
    some = f", of {orbits.declared:,} declared" if orbits.permutations < orbits.declared else ""
    return [
        f"symmetry: each state stands for all that {counted(orbits.permutations, 'permutation')}{some} make of it, "
        f"{counted(orbits.states, 'state')} in all"
    ]


def liveness_lines(statistics: Statistics) -> list[str]:
    """Return lines that say how liveness properties were checked, or no lines if there were no liveness properties."""
    live = statistics.liveness
    if live is None:
        return []
    lines = [
        f"liveness: {counted(live.components, 'strongly connected component')}, "
        f"the largest of {counted(live.largest, 'state')}; {live.seconds:.1f} s"
    ]
    if live.open:
        verb = "are" if live.open > 1 else "is"
        lines.append(
            f"{counted(live.open, 'state')} {verb} open: a bound, within or within_step blocks a step that the "
            "protocol would take, so no verdict about liveness covers behaviours that stay there"
        )
    return lines


def walked_lines(statistics: Statistics) -> list[str]:
    """Return lines that say how much a random search visited and how accurate its counts are. For other engines, return
    no lines.
    """
    walked = statistics.walked
    if walked is None:
        return []
    lengths = [length for length, count in enumerate(walked.lengths) for _ in range(count > 0)]
    spread = f"of {' to '.join(map(str, dict.fromkeys((lengths[0], lengths[-1]))))} steps" if lengths else "under way"
    outside = f", {walked.outside:,} where within is false" if walked.outside else ""
    about = "" if walked.is_exact else "about "
    lines = [
        f"{counted(walked.behaviours, 'behaviour')} {spread}, {walked.steps:,} steps taken; "
        f"{walked.dead_ends:,} ended in a dead end{outside}",
    ]
    if walked.expanded:
        left = f"{walked.waiting:,} more found but not expanded" if walked.waiting else "no other was found"
        lines.append(f"{counted(walked.expanded, 'state')} expanded in random order; {left}")
    if statistics.distinct:
        visits = statistics.generated / statistics.distinct
        deepest = f"; the deepest are {len(walked.depths) - 1:,} steps from the beginning" if walked.is_exact else ""
        states = f"each of {about}{statistics.distinct:,} states" if statistics.distinct > 1 else "the only state"
        times = f"{visits:,.1f}" if visits < MOST_WITH_DECIMALS else f"{visits:,.0f}"
        lines.append(f"{states} was visited {times} times on average{deepest}")
    if not walked.is_exact:
        lines.append("distinct states, new states and out-degrees are estimates from a sample (standard error 1 %)")
    checked = "visits, and their next states" if walked.expanded else "visits"
    lines.append(f"A random search checks only the states that it {checked}; others may violate a property.")
    return lines


def _table_lines(statistics: Statistics) -> list[str]:
    """Return lines about the compiled engine's memory and calls, with advice. For other engines, return no lines."""
    if not statistics.calls:
        return []
    learning = statistics.learning
    size = memory.described(statistics.memory)
    if learning and learning.memory:
        size += f", of which {memory.described(learning.memory)} for {counted(statistics.calls, 'learned call')}"
    else:
        size += f"; learned from {counted(statistics.calls, 'call')}"
    if statistics.spilled and not statistics.shards:
        size += f"; {memory.described(statistics.spilled)} in files"
    lines = [f"{size}; {statistics.compared:,} compared at other states"]
    if statistics.verified and statistics.verified.checked:
        lines.append(_verified_line(statistics.verified))
    if statistics.distinct <= FEW_STATES:
        return lines
    costly = [read for read in statistics.whole_reads if read.calls > MANY_CALLS * statistics.distinct]
    if costly:
        others = len(statistics.whole_reads) - 1
        more = f" ({counted(others, 'similar place')} in --json and --html)" if others else ""
        lines.append(whole_read_text(costly[0]) + more)
    if learning and learning.share > MANY_CALLS:
        lines.append(_why_slow(learning))
    return lines


def whole_read_text(read: WholeRead) -> str:
    """Return a sentence that names code that the engine cannot analyse, and gives the resulting number of calls."""
    where = ", ".join([*([read.function] if read.function else []), f"{read.file}:{read.line}"]) if read.file else ""
    place = f" ({visible(where)})" if where else ""
    users, calls = ", ".join(map(visible, read.used_by)), counted(read.calls, "call")
    if read.seconds >= LEAST_SECONDS:
        calls += f", {read.seconds:.1f} s"
    if read.reads == UNDIVIDED:
        instead = "Write it as `and`, all(...) or a for loop over processes, or as several properties"
        if read.construct.endswith(CHANGEABLE):
            instead = "Use a frozenset, a tuple or a Map instead"
        return (
            f"{users} is evaluated as a whole because of {visible(read.construct)}{place}: {calls}. {instead}, to have "
            "it checked in parts."
        )
    return f"{visible(read.construct)}{place} is not understood, so calls of {users} read {read.reads}: {calls}"


def _verified_line(verified: Verified) -> str:
    """Return a sentence that says what was verified, and how rare an undetected error must be. What it does not name
    was not verified.
    """
    of_all = "" if verified.made is None else f" of {verified.made:,}"
    line = f"{verified.checked:,}{of_all} learned results were verified by calls on real states"
    if verified.one_in > 1 and (verified.made is None or verified.drawn < verified.made):
        line += f"; if 1 in {verified.one_in:,} of them were wrong, spread evenly, 99 of 100 searches would notice"
    if verified.states:
        line += f"; {counted(verified.states, 'stored state')} made again from the initial states were the same"
    if verified.graph:
        line += f"; for liveness, the steps of {counted(verified.graph, 'state')} and their fairness were compared"
    return line


def _why_slow(learning: Learning) -> str:
    """Return sentences that say which part of the state slows down the compiled engine, with advice."""
    text = f"The search made {learning.share:.0%} of the calls that the oracle would have made."
    if (costliest := learning.costliest) is not None:
        seconds = f" and {costliest.seconds:.1f} s" if costliest.seconds >= LEAST_SECONDS else ""
        text += f" {visible(costliest.name)} took most: {counted(costliest.calls, 'call')}{seconds}."
    if (widest := learning.widest) is None or widest.values < MANY_VALUES:
        return text
    helps = {
        "tuple": "If the order of its elements does not matter, use a frozenset or a Bag; otherwise bound its length.",
        "frozenset": "It has more different members than can be read one by one; divide it into several fields.",
    }.get(
        widest.type,
        "Actions and properties that read it must be called for each value: bound it, or divide it into fields.",
    )
    return f"{text} {visible(widest.path)} is read as a whole and has {widest.values:,} values. {helps}"
