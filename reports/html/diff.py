"""Write the HTML page for the difference between two specs. It shows a behaviour that only one of them has."""

from __future__ import annotations

import attrs

from leadline.checker.support.messages import counted
from leadline.checker.traces.divergence import Parting
from leadline.reports.differences import Difference, difference_document, ending
from leadline.reports.document import Fold, Items, Paragraph, Span, words
from leadline.reports.document.html import document_html
from leadline.reports.html import chapter, page
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
    document = difference_document(difference)
    blocks = (*map(_other, others), *document.blocks)
    above = document_html(attrs.evolve(document, blocks=blocks))
    start = min(parting.shared + 1, len(parting.first))
    return page(document.title, chapters, beside=start, above=above, origin=Origin.now())


def _other(parting: Parting) -> Fold:
    """Return the story of a behaviour that is not shown side by side, with the command that shows it."""
    one, about = parting.first.spec, parting.first.about
    assert about is not None
    told = [
        f"step {event.state + 1}: {f'{event.label}: ' if event.label else ''}{event.text}"
        for event in what_happened(parting.first)
    ]
    bounds = changed_bounds(one)
    command = f"leadline diff {one.name} {parting.second.spec.name}{f' -b {bounds}' if bounds else ''} -i {about.name}"
    side = Paragraph(words("side by side: ", Span(command, "code")), "command")
    return Fold(words(f"why {one.name} violates {about.name}"), (Items(tuple(map(words, told))), side))
