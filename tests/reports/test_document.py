"""A document says the same on a terminal, as HTML and as Markdown, and no column cuts off a word."""

from __future__ import annotations

import html
import io
import json
import re
from pathlib import Path
from unittest import mock

import attrs
import pytest
from rich.console import Console

from leadline.checker.engines import ENGINES
from leadline.checker.result import Limits
from leadline.invariants.audit.cluster import audit
from leadline.invariants.catalog import CATALOG
from leadline.reports import stored_tables
from leadline.reports.document import (
    Aside,
    Block,
    Cell,
    Document,
    Fold,
    Heading,
    Items,
    Paragraph,
    Span,
    Table,
    document_object,
    read_document,
    words,
)
from leadline.reports.document.html import document_page
from leadline.reports.document.markdown import markdown
from leadline.reports.document.terminal import document_view
from leadline.reports.kafka.audit.document import audit_document
from leadline.reports.kafka.bug_report import BugsReport, bugs_document
from leadline.reports.kafka.bugs import read_archive
from leadline.reports.matrix import read_matrix
from leadline.reports.matrix_document import matrix_document, with_seconds
from leadline.reports.matrix_overview import overview, with_overview
from leadline.reports.runs.document import run_document
from leadline.reports.runs.run_view import view_of_result
from leadline.reports.suite import read_suite
from leadline.reports.suite_document import suite_document
from tests.disks.clusters import small_cluster, standard_batches
from tests.reports.test_hunt import BOILER, CURES, PLAN
from tests.suite.command import call
from tests.suite.page_text import text_of_html

EXAMPLE = Document(
    "A title of <all> *kinds*",
    (
        Paragraph(words("Run `leadline bugs`: ", Span("violated", "violated"), " is a_verdict."), "note"),
        Items((words("one | two"), words("three", Span("four", "strong", "five")))),
        Heading("A heading"),
        Table(
            "things",
            ("thing", "a long name of a column"),
            ((Cell(words("`a_name`")), Cell(words("violated (12)"), "violated")), (Cell(words("b")), Cell(words("")))),
        ),
    ),
    (Aside("five", "Aside", ("a note",), (words("step 1"),), "leadline show"),),
)

MATRIX = """\
specs = ["atomic/hw-truncation", "atomic/kip-320"]
properties = ["strong_isr"]
[[configurations]]
name = "as *they* are"
note = "With `acks=1`."
[[configurations]]
name = "one record"
bounds = { records = 1 }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("matrix")
    (made / "matrix.toml").write_text(MATRIX)
    return made


@pytest.fixture(scope="module")
def matrix(folder: Path) -> Document:
    description = read_matrix(folder / "matrix.toml")
    return matrix_document(description, list(description.columns()), "leadline matrix matrix.toml")


def on_terminal(document: Document, width: int) -> str:
    written = io.StringIO()
    Console(width=width, file=written).print(document_view(document), crop=False)
    return written.getvalue()


def words_of_markdown(text: str) -> list[str]:
    text = re.sub(r"</?(?:details|summary|pre)>", " ", text)
    plain = re.sub(r"^\|(?: ---:? \|)+$|^#+ |^- |(?<!\\)\| ?|`|\*\*", "", text, flags=re.MULTILINE)
    return html.unescape(plain).split()


SUITE = """\
[[check]]
spec = "atomic/kip-320"
bounds = { log_size = 1, records = 1 }
expect = "holds"
[[check]]
name = "a *surprise*"
spec = "atomic/hw-truncation"
expect = "holds"
"""

COMMANDS = {
    "mutate": ("mutate", "atomic/kip-320", "--only", "isr-shrunk", *["-b", "brokers=2,log_size=1,records=1"]),
    "hunt": ("hunt", "boiler.py", "--plan", "plan.toml"),
}


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory, matrix: Document) -> dict[str, Document]:
    """A document of each kind."""
    made = tmp_path_factory.mktemp("documents")
    (made / "boiler.py").write_text(BOILER)
    (made / "plan.toml").write_text(PLAN + CURES)
    found = {"example": EXAMPLE, "matrix": matrix}
    for name, command in COMMANDS.items():
        module = f"leadline.reports.cli.{name}.document_view"
        with mock.patch(module, side_effect=document_view) as written:
            call(*command, folder=made)
        found[name] = written.call_args.args[0]
    (made / "leadline.toml").write_text(SUITE)
    suite = [check.run(None, coverage=False, verify=None) for check in read_suite(made / "leadline.toml")]
    found["suite"] = suite_document(suite, planned=3)
    archive = read_archive()
    (bug,) = archive.about("KAFKA-13916")[0]
    found["bugs"] = bugs_document(BugsReport([run.searched(None) for run in archive.runs(bug)[:2]], archive.unreached))
    cluster = small_cluster(made / "disks")
    cluster.log(3).segments = [(0, standard_batches()[:3])]
    found["audit"] = audit_document("audit", audit(cluster.write(), workers=1), [])
    result = ENGINES["oracle"](CATALOG["atomic/kip-101"].with_bounds({"max_epoch": 2}), Limits(coverage=True))
    return {**found, "run": run_document(view_of_result(result))}


def unfolded(document: Document) -> Document:
    """What a terminal shows of a document: the summaries of what is folded."""
    blocks = (Paragraph(block.summary) if isinstance(block, Fold) else block for block in document.blocks)
    return attrs.evolve(document, blocks=tuple(blocks))


def without_optional_columns(document: Document) -> Document:
    """A document in which every terminal shows every column."""

    def kept(block: Block) -> Block:
        if not isinstance(block, Table):
            return block
        left = len(block.head) - block.optional
        return Table(block.name, block.head[:left], tuple(row[:left] for row in block.rows))

    return attrs.evolve(document, blocks=tuple(map(kept, document.blocks)))


KINDS = ("example", "matrix", *COMMANDS, "suite", "bugs", "audit", "run")


@pytest.mark.parametrize("kind", KINDS)
def test_the_three_writers_say_the_same(documents: dict[str, Document], kind: str) -> None:
    document = documents[kind]
    assert words_of_markdown(markdown(document)) == text_of_html(body_of(document)).split()
    shown = unfolded(document)
    said = on_terminal(shown, 1_000).split()
    assert len(said) > 25
    assert (
        words_of_markdown(markdown(attrs.evolve(shown, conclusion=(), blocks=(*shown.blocks, *shown.conclusion))))
        == said
    )


def body_of(document: Document) -> str:
    """The page of a document, without what is around its title and blocks, and without asides."""
    page = document_page(document)
    body = page[page.index("<h1>") :]
    body = re.split(r'<div class="decisive"|</header>|<main|<script', body)[0]
    return re.sub(r"<svg.*?</svg>|<button.*?</button>|<figcaption.*?</figcaption>", "", body, flags=re.DOTALL)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_column_cuts_off_a_word(documents: dict[str, Document], width: int) -> None:
    """Words that fit on a line are whole."""
    for document in map(without_optional_columns, documents.values()):
        said, wide = (re.split(r"[\s,]+", on_terminal(document, each)) for each in (width, 1_000))
        missing = {word for word in wide if len(word) <= width - 4} - set(said)
        assert missing == set()


def test_a_narrow_column_gets_first_what_it_lacks() -> None:
    texts = ("leader_candidates_complete", "incomplete; premise not true yet", "15 states", "1,161")
    cells = tuple(Cell((Span(text),)) for text in texts)
    table = Table("verdicts", ("property", "verdict", "trace", "learned calls"), (cells,))
    assert "15 states" in on_terminal(Document("Verdicts", (table,)), 72)


def test_a_document_can_be_stored() -> None:
    stored = json.loads(json.dumps(document_object(EXAMPLE)))
    assert read_document(stored) == EXAMPLE


def test_stored_tables_are_shown_and_refused_when_what_made_them_has_changed(
    folder: Path, matrix: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped, tables = folder / "shipped.toml", folder / "tables"
    shipped.write_text(MATRIX)
    tables.mkdir()
    monkeypatch.setattr(stored_tables, "FOLDER", tables)
    monkeypatch.setattr("leadline.reports.matrix.SHIPPED", shipped)
    assert call("matrix", "--recompute", "--json", "tables/shipped.json", folder=folder).code == 0
    monkeypatch.setattr("leadline.reports.cli.matrix._searched", None)  # what is stored is not searched again
    shown = call("matrix", "--markdown", folder=folder)
    assert (shown.code, shown.err) == (0, "")
    seconds = json.loads((tables / "shipped.json").read_text())["seconds"]
    assert list(seconds) == [block.name for block in matrix.blocks if isinstance(block, Table)]
    page = with_overview(with_seconds(matrix, seconds), overview(matrix))
    assert shown.out == markdown(page).replace("matrix.toml`.", "--recompute`.")
    assert call("matrix", "--html", "page.html", folder=folder).code == 0
    assert (folder / "page.html").read_text().count('class="decisive"') == len(matrix.asides) > 0
    shipped.write_text(MATRIX.replace("records = 1", "records = 2"))
    refused = call("matrix", folder=folder)
    assert refused.complaint == (
        "the stored tables of shipped.toml were made by other specs, properties or bounds than there are now: "
        "search it again with --recompute, which takes minutes"
    )
    shipped.write_text(MATRIX)
    code = stored_tables._code
    monkeypatch.setattr(stored_tables, "_code", lambda modules: [*code(modules)[:-1], "changed"])
    assert "were made by other specs" in call("matrix", folder=folder).complaint
