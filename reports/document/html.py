"""Write documents as HTML pages."""

from __future__ import annotations

from markupsafe import Markup

from leadline.reports.document import Document
from leadline.reports.html import page, rendered
from leadline.reports.origin import Origin


def document_page(document: Document, origin: Origin | None = None) -> str:
    """Return a document as a self-contained page.

    Parameters:
        document: the document.
        origin: the version and command that made the document, or None if they are not known.
    """
    return page(document.title, [], above=Markup(rendered("document.html", document=document)), origin=origin)
