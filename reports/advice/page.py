"""Write the HTML page with advice on an upgrade."""

from __future__ import annotations

from markupsafe import Markup

from leadline.reports.advice import text
from leadline.reports.advice.advice import Advice
from leadline.reports.html import page, rendered
from leadline.reports.origin import Origin


def advice_page(advice: Advice) -> str:
    """Return the HTML page with advice on an upgrade."""
    above = rendered(
        "advice.html",
        advice=advice,
        rows=text.rows(advice),
        notes=text.notes(advice),
        not_promised=text.not_promised(advice),
        sections=list(text.sections(advice)),
        remarks=list(text.remarks(advice)),
    )
    title = f"Upgrade from {advice.title}" if advice.is_upgrade else f"Known bugs of {advice.title}"
    return page(title, [], above=Markup(above), origin=Origin.now())
