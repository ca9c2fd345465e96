"""Write the HTML page for the difference between two specs. It shows a behaviour that only one of them has."""

from __future__ import annotations

from markupsafe import Markup

from leadline.checker.support.messages import counted
from leadline.reports.differences import Difference, ending
from leadline.reports.html import chapter, page, rendered
from leadline.reports.loading import changed_bounds
from leadline.reports.origin import Origin
from leadline.reports.traces.story import story_of, what_happened


def diff_page(difference: Difference) -> str:
    """Return the HTML page that shows a behaviour of each spec, side by side. It starts at the first state that
    differs.

    If each spec has a counterexample that the other does not have, the page describes the second one in words, with the
    command that shows it.
    """
    parting, *others = difference.partings
    said = (f"the same in both: {counted(parting.shared, 'state')}", ending(parting))
    stories = [story_of(trace) for trace in (parting.first, parting.second)]
    chapters = [chapter(number, *pair) for number, pair in enumerate(zip(stories, said, strict=True), start=1)]
    rules = difference.lines
    above = rendered(
        "diff.html",
        sentences=difference.sentences,
        others=[(each, what_happened(each.first)) for each in others],
        bounds=changed_bounds(parting.first.spec),
        rules=rules,
        named=[line.partition(":")[0].partition(" ")[2] for line in rules if not line.startswith(" ")],
    )
    title = f"What differs between {difference.first.name} and {difference.second.name}"
    start = min(parting.shared + 1, len(parting.first))
    return page(title, chapters, beside=start, above=Markup(above), origin=Origin.now())
