"""Print a replay on the terminal while it runs. Show each step of the model beside the operations on the brokers."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leadline.brokers.driver.replay import Listener, Replay
from leadline.brokers.driver.step_report import Attempt, StepReport
from leadline.brokers.plans import AnyPlan, AnyStep
from leadline.brokers.releases import BrokerRelease
from leadline.brokers.reproduction import Judged, Judgement
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.reports.document import Block, Items, Paragraph, Span

LOOKS = {
    Judgement.REPRODUCED: "violated",
    Judgement.ABSENT: "holds",
    Judgement.OTHERWISE: "incomplete",
    Judgement.NOT_MADE: "incomplete",
}


class LiveReplay(Listener):
    """A listener that prints each step of a replay when the step is complete.

    Parameters:
        out: the console.
        model: the name of the spec that the brokers are compared with.
    """

    def __init__(self, out: Console, plan: AnyPlan, model: str) -> None:
        self._out, self._plan, self._model = out, plan, model
        self._release = ""

    def starting(self, release: BrokerRelease) -> None:
        """Print the release, the number of brokers, and the kind of controller."""
        self._release = release.name
        self._out.print(Text(f"\nKafka {release.name}: {self._plan.cluster(release)}", style="bold"))

    def started(self, seconds: float) -> None:
        """Print how long the brokers took to start, and the headings of the columns."""
        self._out.print(Text(f"started in {seconds:.0f} s; {self._plan.legend}", style="dim"))
        self._row(Text(f"the model, {self._model}", style="bold"), Text("the brokers", style="bold"))

    def attempted(self, step: AnyStep, attempt: Attempt) -> None:
        """Print a step that the model does not allow, and whether the brokers executed it."""
        verdict = "made" if attempt.made else "not made"
        model = Text(f"not allowed, but tried: {visible(step.sentence)}", style="dim")
        self._row(model, Text("\n".join([*map(visible, attempt.did), verdict])))

    def made(self, report: StepReport) -> None:
        """Print a step of the model, and beside it the operations that executed the step on the brokers."""
        step, count = report.step, len(self._plan.steps)
        model = Text(f"{step.number}/{count} {step.sentence}")
        if step.remark:
            model.append(f"\n{step.remark}", style="dim")
        brokers = Text("\n".join(map(visible, report.did)))
        for line in (report.not_made, *report.differences):
            brokers.append(f"\n{visible(line)}" if line else "", style="bold yellow")
        self._row(model, brokers)

    def settling(self) -> None:
        """Print that there are no more steps and that all brokers are being started again."""
        self._out.print(Text("\nreleasing all held messages and restarting all brokers", style="dim"))

    def _row(self, left: Text, right: Text) -> None:
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(ratio=2)
        table.add_column(ratio=3)
        table.add_row(left, right)
        self._out.print(table)


def judged_blocks(judged: Judged, audited: str) -> tuple[Block, ...]:
    """Return what a replay shows about a bug, with the evidence for this conclusion.

    Parameters:
        judged: the replay and the conclusion.
        audited: the result of auditing the disks, or an empty string if the disks were not audited.
    """
    replay = judged.replay
    conclusion = Span(f"{judged.judgement.value} on Kafka {replay.release.name}", LOOKS[judged.judgement])
    reason = Span(f" in {replay.seconds:.0f} s: {judged.reason}")
    lines = [(Span(line),) for line in (*evidence(replay), audited) if line]
    return (Paragraph((conclusion, reason)), Items(tuple(lines)))


def evidence(replay: Replay) -> list[str]:
    """Return lines that describe how a replay ended, or no lines if the replay did not reach its end.

    The lines say which records were sent, read and lost, and what the logs on the disks contain. If the replay has no
    outcome, the lines of `Replay.told` are returned.
    """
    outcome = replay.outcome
    if outcome is None:
        return list(replay.told)
    lines = [f"m{each.value}, sent to broker {each.leader}: {each.outcome}" for each in outcome.produced]
    for read in outcome.reads:
        when = "finally, when all brokers are back," if read.step is None else f"after step {read.step}"
        end = "refuses to list an end offset" if read.end is None else f"lists end offset {read.end}"
        lines.append(f"{when} {read}, which {end}")
    lines += [f"lost: m{value}, which was acknowledged or read" for value in outcome.lost]
    if outcome.taken_back is not None:
        earlier, later = outcome.taken_back
        readable = f"{counted(len(earlier.values), 'record')} could be read from broker {earlier.broker}"
        lines.append(
            f"a consumer is sent back: broker {later.broker} lists end offset {later.end}, although {readable}"
        )
    lines += [f"on the disk of broker {broker}: {replica}" for broker, replica in enumerate(outcome.replicas)]
    if outcome.diverged:
        offsets = ", ".join(map(str, outcome.diverged))
        lines.append(f"the logs differ at offset {offsets}")
    lines.append(f"the controller: {outcome.quorum}")
    return lines
