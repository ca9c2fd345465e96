"""The HTML page of the difference between two specs: a behaviour that only one of them has."""

from __future__ import annotations

from leadline.checker.support.messages import counted
from leadline.checker.traces.divergence import Parting
from leadline.reports.differences import differing_rules, ending
from leadline.reports.html import chapter, page
from leadline.reports.traces.story import story_of


def diff_page(parting: Parting) -> str:
    """Return the page with two behaviours side by side, which opens at the first state that differs."""
    said = (f"{counted(parting.shared, 'state')} alike", ending(parting))
    rules = differing_rules(parting.first.spec, parting.second.spec)
    stories = [story_of(trace) for trace in (parting.first, parting.second)]
    chapters = [chapter(number, *pair) for number, pair in enumerate(zip(stories, said, strict=True), start=1)]
    title = f"leadline: {parting.first.spec.name} and {parting.second.spec.name}"
    return page(title, chapters, beside=min(parting.shared + 1, len(parting.first)), notes=rules)
