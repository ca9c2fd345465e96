"""A property-based model checker for Kafka's partition replication.

`leadline.checker` contains the engines and the vocabulary for writing specs. `leadline.model` contains Kafka's
releases, `leadline.invariants` contains the properties, and `leadline.reports` contains the reports and the command
line. In the repository, these are top-level folders; the links beside this file combine them into one package.
"""

import sys
from pathlib import Path
from typing import Any

if not Path(__file__).with_name("checker").is_dir():
    # The links are missing in an sdist, and are text files in a clone without symbolic links (the default on Windows).
    __path__.append(str(Path(__file__).parents[2]))


def _show_in_notebooks() -> None:
    """In a notebook, make results and traces show their pages. What that needs is imported once one is shown."""

    def page(shown: Any) -> str:
        from leadline.reports.notebook import page_of

        return page_of(shown)

    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        for module, name in (("leadline.checker.result", "Result"), ("leadline.checker.trace", "Trace")):
            shell.display_formatter.formatters["text/html"].for_type_by_name(module, name, page)


_show_in_notebooks()
