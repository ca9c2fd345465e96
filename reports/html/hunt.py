"""Write the HTML page of a hunt. It shows the causes by spec, their traces, and what was searched."""

from __future__ import annotations

from markupsafe import Markup

from leadline.checker.bounds import bounds_text
from leadline.reports.html import Chapter, chapter, page, rendered
from leadline.reports.hunt.report import Cause, HuntReport, lines
from leadline.reports.hunt.traces import trace_of
from leadline.reports.origin import Origin
from leadline.reports.traces.story import story_of


def hunt_page(report: HuntReport) -> str:
    """Return the HTML page of a hunt. The page opens with the first trace."""
    chapters, links = list[Chapter](), dict[tuple[str, str], str]()
    for own in report.specs:
        for cause in own.causes:
            if (trace := trace_of(cause)) is not None:
                heading = f"{cause.kind}: {cause.name}, in {cause.spec}"
                chapters.append(chapter(len(chapters) + 1, story_of(trace), heading))
                links[own.reference, cause.name] = chapters[-1].start.name
    rows = [
        {
            "cause": (first := next(iter(found.values()))),
            "decided": _decided(first),
            "cells": [_cell(found.get(own.reference), links, own.reference) for own in report.specs],
        }
        for found in report.causes.values()
    ]
    searches = [
        {
            "spec": own.reference,
            "searches": own.searches,
            "left": own.left,
        }
        for own in report.specs
    ]
    above = rendered(
        "hunt.html",
        specs=[own.reference for own in report.specs],
        rows=rows,
        searches=searches,
        lines=lines(report),
        interrupted=report.interrupted,
    )
    return page("What was found in a hunt", chapters, above=Markup(above), origin=Origin.now())


def _decided(cause: Cause) -> str:
    if not cause.fixes:
        return f"no cure was found for {cause.violates} within {bounds_text(cause.bounds)}"
    how = "holds with" if cause.decided else "its trace is impossible (nothing more was decided) with"
    return f"{cause.violates} {how} {' or '.join(cause.fixes)}"


def _cell(cause: Cause | None, links: dict[tuple[str, str], str], reference: str) -> dict[str, str]:
    if cause is None:
        return {"text": "-", "link": "", "seconds": ""}
    at_most = "" if cause.is_shortest else "at most "
    link = links.get((reference, cause.name), "")
    return {"text": f"{at_most}{cause.length} states", "link": link, "seconds": f"{cause.cpu_seconds:.1f}"}
