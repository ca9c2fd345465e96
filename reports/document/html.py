"""Write documents as HTML pages."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from leadline.reports.document import Document
from leadline.reports.html import Chapter, page, rendered
from leadline.reports.origin import Origin


def document_page(document: Document, origin: Origin | None = None, chapters: Sequence[Chapter] = ()) -> str:
    """Return a document as a self-contained page.

    Parameters:
        document: the document.
        origin: the version and command that made the document, or None if they are not known.
        chapters: the traces that the page shows below the document.
    """
    return page(document.title, chapters, above=Markup(rendered("document.html", document=document)), origin=origin)
