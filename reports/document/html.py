"""Write documents as HTML pages."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from markupsafe import Markup

from leadline.reports.document import Document
from leadline.reports.html import Chapter, page, rendered
from leadline.reports.html.plots import drawn
from leadline.reports.origin import Origin


def document_page(document: Document, origin: Origin | None = None, chapters: Sequence[Chapter] = ()) -> str:
    """Return a document as a self-contained page.

    Parameters:
        origin: the version and command that made the document, or None if they are not known.
        chapters: the traces that the page shows below the document.
    """
    return page(document.title, chapters, above=document_html(document), origin=origin)


def document_html(document: Document, name: str = "document") -> Markup:
    """Return a document without its title as a part of a page, on which no other part has its name."""
    draw = functools.partial(drawn, name=name)
    return Markup(rendered("document.html", document=document, drawn=draw, from_template=_from_template))


def _from_template(file: str, **values: object) -> Markup:
    return Markup(rendered(file, **values))
