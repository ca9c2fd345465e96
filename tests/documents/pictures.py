"""Make the picture in reports/README.md again from a run: `make pages`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from leadline.checker.engines import ENGINES
from leadline.invariants.catalog import CATALOG
from leadline.reports.html.run import run_page, title_of, with_traces
from leadline.reports.runs.run_view import view_of_result
from tests.browser.chromium import chromium

PICTURE = Path(__file__).parents[2] / "reports" / "pages" / "page.png"


def main() -> None:
    """Take a picture of the page of the articles' loss of data, at the step that loses the record."""
    result = ENGINES["compiled"](CATALOG["rpc/hw-truncation"].with_properties(["committed_never_lost"]))
    view = view_of_result(result)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(run_page(title_of(view), [with_traces(result, view)]), encoding="utf-8")
        for browser in chromium():
            page = browser.new_page(viewport={"width": 1280, "height": 860})
            page.goto(f"{file.as_uri()}#t1-s8")
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=PICTURE)


if __name__ == "__main__":
    main()
