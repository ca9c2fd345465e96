"""The text of HTML pages."""

from __future__ import annotations

import html
import re


def text_of_html(page: str) -> str:
    """The text of a part of a page, without markup, with single spaces."""
    inline = re.sub(r"</?(?:a|span|code)\b[^>]*>", "", page)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", inline)).split())
