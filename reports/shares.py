"""Parse percentages that users write."""

from __future__ import annotations

import re

from leadline.checker.errors import LeadlineError


def share_of(text: str) -> float:
    """Convert a percentage such as ``5%`` or ``0.5 %`` to a fraction from 0 to 1.

    Raises:
        LeadlineError: if the text is not a percentage from 0 to 100.
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *%", text.strip())
    share = float(found[1]) / 100 if found else -1
    if not 0 <= share <= 1:
        raise LeadlineError(f"{text!r} is not a valid share: write a percentage from 0% to 100%, such as 5%")
    return share
