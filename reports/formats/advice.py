"""The formats for advice on an upgrade."""

from __future__ import annotations

from leadline.reports.advice.advice import Advice
from leadline.reports.advice.json_advice import advice_object
from leadline.reports.advice.page import advice_page
from leadline.reports.formats import JSON_HELP, Format
from leadline.reports.lines import json_text
from leadline.reports.origin import Origin

ADVICE_FORMATS: dict[str, Format[Advice]] = {
    "json": Format(
        Advice,
        lambda advice: json_text(advice_object(advice, Origin.now()), indent=2),
        JSON_HELP,
        "FILE|-",
    ),
    "html": Format(Advice, advice_page, "Write the advice as an HTML page."),
}
"""The formats for advice on an upgrade."""
