"""Write the HTML page about the mutants of a spec. Each mutant is a copy of the spec with one mistake."""

from __future__ import annotations

import attrs
from markupsafe import Markup

from leadline.checker.mutation.run import Fate, Outcome
from leadline.reports.exit_codes import AS_EXPECTED
from leadline.reports.html import page, rendered
from leadline.reports.mutation import FATES, Report, is_open, place, reason


@attrs.frozen
class _Row:
    looks: str
    fate: str
    name: str
    place: str
    sentence: str
    text: str
    distinct: str


def mutants_page(report: Report) -> str:
    """Return the HTML page of a report on mutants. Mutants that need attention come first."""
    mutations = {each.name: each for each in report.mutations}
    rows = [
        _Row(
            looks=_looks(each, report.is_explained(each)),
            fate=FATES[each.fate],
            name=each.name,
            place=place(mutations[each.name]),
            sentence=mutations[each.name].text,
            text=reason(each, report.explained),
            distinct=f"{each.distinct:,}" if each.distinct else "",
        )
        for each in reversed(report.shown)
    ]
    looks = "holds" if report.exit_code == AS_EXPECTED else "violated"
    above = Markup(rendered("mutants.html", report=report, outcomes=rows, looks=looks))
    return page(f"Mutants of {report.spec}", [], above=above, origin=report.origin)


def _looks(outcome: Outcome, is_explained: bool) -> str:
    """Return the CSS class for the outcome of searching a mutant."""
    if is_open(outcome):
        return "by-design" if is_explained else "incomplete" if outcome.fate is Fate.INCOMPLETE else "violated"
    return "holds"
