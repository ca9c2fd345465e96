"""Print the page of known bugs for operators, the most severe first: `python -m tests.documents.bugs`."""

from __future__ import annotations

from leadline.model.kafka.releases import RELEASES
from leadline.reports.kafka.broker_runs.counterexamples import counterexample
from leadline.reports.kafka.bugs import Archive, Bug, command_for, read_archive
from leadline.reports.kafka.kept_behaviours import kept
from leadline.reports.kafka.narrative import SEVERITIES, Narrative, narrative


def narrative_of(archive: Archive, bug: Bug) -> Narrative:
    """Return the narrative of a bug, from a trace that is kept or, if there is none, from a search."""
    runs = [run for run in archive.runs(bug) if run.part == "affected"]
    known = [trace for run in reversed(runs) if (trace := kept(run)) is not None]
    return narrative(bug, known[0] if known else counterexample(runs[-1]))


def page(archive: Archive) -> str:
    """Return the page of all bugs as Markdown: the most severe first, and among them those of the newest release."""
    told, newest = [narrative_of(archive, bug) for bug in archive.about(None)[0]], RELEASES[-1].name
    told.sort(key=lambda each: (SEVERITIES.index(each.severity), newest not in each.bug.affected))
    lines = [
        "# Known bugs, for operators",
        "",
        "Every bug of the archive that the model shows, with and without a ticket, the most severe first. What is",
        "lost, what must coincide, and the severity are derived from a trace of the model, in which failures and other",
        "disturbances are counted. `leadline bugs NAME` searches for a shortest one, and `leadline advise` says which",
        "bugs concern a cluster. What committers need of those without a ticket is on [their page](README.md).",
        "",
        "- **critical**: what clients wrote or read is wrong, although no disk lost anything and no election was",
        "  unclean;",
        "- **high**: the same after a disk has lost something or after an unclean election; or a broker that lacks",
        "  committed records can be elected;",
        "- **medium**: nothing is lost: something waits, stops, or is read too early or twice;",
        "- **low**: an operator's request is not carried out as it was asked for.",
    ]
    for severity in SEVERITIES:
        own = [each for each in told if each.severity == severity]
        lines += ["", f"## {severity.capitalize()}: {len(own)}"]
        for each in own:
            affected = " to ".join(dict.fromkeys((each.bug.affected[0], each.bug.affected[-1])))
            lines += [
                "",
                f"### {each.bug.ticket}",
                "",
                f"{each.bug.sentence} ({affected}; `{command_for(each.bug.ticket)}`)",
                "",
            ]
            lines += [f"- **{name.capitalize()}**: {text}" for name, text in each.lines.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(read_archive()), end="")
