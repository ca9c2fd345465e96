"""Pages made from runs: the answers to readers' questions, and the verdict matrix."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from checker import Verdict
from checker.errors import LeadlineError
from invariants.catalog import CATALOG, RPC_PROPERTIES
from reports.cli.page import SHIPPED as ANSWERS
from reports.markdown import answers_page, matrix_page
from reports.matrix import SHIPPED, Column, read_matrix
from reports.suite import read_suite
from tests.cli import call

PROJECT = Path(__file__).parent.parent


def test_the_page_of_answers_is_what_the_runs_say() -> None:
    """If it is not, `leadline page > reports/pages/answers.md` makes it anew."""
    outcomes = [prepared.run() for prepared in read_suite(ANSWERS)]
    assert [f"{outcome.prepared.title}: {outcome.failure}" for outcome in outcomes if outcome.failure] == []
    lines = answers_page("What readers ask, answered by runs", ANSWERS.relative_to(PROJECT), outcomes)
    assert (PROJECT / "reports" / "pages" / "answers.md").read_text().splitlines() == [
        part for line in lines for part in line.splitlines() or [""]
    ]


def test_every_answer_says_in_words_what_the_run_says_in_figures() -> None:
    for check in tomllib.loads(ANSWERS.read_text())["check"]:
        assert check["note"]
        assert check["name"].endswith(("?", "disk."))


def test_every_article_is_asked_about() -> None:
    notes = " ".join(check["note"] for check in tomllib.loads(ANSWERS.read_text())["check"])
    assert [seed for seed in ("000", "001", "002", "003", "004") if seed not in notes] == []


def test_the_shipped_matrix_has_every_rpc_protocol_and_every_kind_of_configuration() -> None:
    matrix = read_matrix(SHIPPED)
    assert matrix.specs == [name for name in CATALOG if name.startswith("rpc/")]
    assert matrix.properties is None
    prepared = matrix.prepared()
    assert len(prepared) == 4 * len(matrix.configurations)
    for bound in ("acks", "min_insync_replicas", "unclean_leader_election", "unflushed_loss", "brokers", "max_epoch"):
        assert len({getattr(spec.bounds, bound) for _, spec in prepared}) > 1, bound


def test_the_page_of_the_matrix_is_of_the_shipped_matrix() -> None:
    """Its figures are not compared: they take minutes.

    `leadline matrix --markdown > reports/pages/matrix.md` makes it anew.
    """
    text = (PROJECT / "reports" / "pages" / "matrix.md").read_text()
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert headings == [configuration.name for configuration in read_matrix(SHIPPED).configurations]
    assert "never shown" not in text


NOT_IN_THE_MATRIX = {"follower_log_is_prefix": {"rpc/kip-279"}}
"""Known to fail in larger bounds than the matrix has: `tests/test_rpc_and_atomic.py` plays the counterexample."""


def test_properties_say_themselves_where_the_matrix_has_them_violated() -> None:
    failing: dict[str, set[str]] = {item.name: set() for item in RPC_PROPERTIES}
    specs = read_matrix(SHIPPED).specs
    for line in (PROJECT / "reports" / "pages" / "matrix.md").read_text().splitlines():
        name, *cells = (cell.strip(" `") for cell in line.strip("|").split("|"))
        if name in failing:
            failing[name] |= {spec for spec, cell in zip(specs, cells, strict=True) if "violated" in cell}
    for item in RPC_PROPERTIES:
        known = failing[item.name] | NOT_IN_THE_MATRIX.get(item.name, set())
        assert {spec for spec in item.fails_in if spec.startswith("rpc/")} == known, item.name


SMALL = """\
specs = ["rpc/hw-truncation", "rpc/kip-320"]
properties = ["weak_isr", "acked_never_lost", "leader_in_isr", "broker_rejoins_isr"]
bounds = { records = 1, crashes = 1 }
[[configurations]]
name = "one crash"
[[configurations]]
name = "alone"
bounds = { brokers = 1 }
"""


def test_a_cell_says_what_a_search_says(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    matrix = read_matrix(tmp_path / "small.toml")
    first, second, alone, also_alone = matrix.columns()
    assert {name: cell.text for name, cell in first.cells.items()} == {
        "weak_isr": "violated (8)",
        "acked_never_lost": "violated (6)",
        "leader_in_isr": "holds (379)",
        "broker_rejoins_isr": "shown (6)",
    }
    assert (second.spec, second.cells["weak_isr"].verdict) == ("rpc/kip-320", Verdict.HOLDS)
    assert alone.cells["broker_rejoins_isr"].text == "never shown"
    assert alone.configuration is also_alone.configuration is matrix.configurations[1]


def test_a_cell_of_a_search_that_was_stopped_says_how_deep_it_went(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text("max_states = 50\n" + SMALL)
    first: Column = next(read_matrix(tmp_path / "small.toml").columns())
    assert first.cells["leader_in_isr"].text.startswith("incomplete (depth ")
    assert first.cells["leader_in_isr"].verdict is Verdict.INCOMPLETE


def test_the_matrix_command_shows_tables(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    run = call("matrix", "small.toml", folder=tmp_path)
    assert run.code == 0
    assert run.lines[:3] == ["one crash", "records=1,crashes=1", "property            hw-truncation  kip-320"]
    assert "weak_isr            violated (8)   holds (" in run.out


def test_the_matrix_command_writes_markdown(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    run = call("matrix", "small.toml", "--markdown", folder=tmp_path)
    assert run.code == 0
    assert "| `weak_isr` | **violated** (8) | holds (" in run.out
    matrix = read_matrix(tmp_path / "small.toml")
    assert run.out.splitlines() == list(matrix_page("What holds where", matrix, matrix.columns()))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("specs = [", "is not TOML"),
        ("specs = []", "is no matrix: required field missing, at configurations"),
        ('specs = ["rpc/kip-3200"]\n[[configurations]]\nname = "x"', "did you mean 'rpc/kip-320'"),
        ('specs = ["rpc/kip-320"]\n[[configurations]]\nname = "x"\nbounds = {broker = 2}', "unknown bound 'broker'"),
        (
            'specs = ["rpc/kip-320"]\n[[configurations]]\nname = "x"\nbounds = {brokers = 2.5}',
            "at configurations[0].bounds",
        ),
        ('spec = ["rpc/kip-320"]\nspecs = []\nconfigurations = []', "spec"),
    ],
)
def test_a_matrix_that_makes_no_sense_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "matrix.toml").write_text(text)
    run = call("matrix", "matrix.toml", folder=tmp_path)
    assert run.code == 2
    assert complaint in run.complaint


def test_a_matrix_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LeadlineError, match="cannot read"):
        read_matrix(tmp_path / "none.toml")


def test_the_page_command_says_what_is_not_as_expected(tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(
        '[[check]]\nname = "Is it safe?"\nnote = "No."\nspec = "rpc/kip-320"\nexpect = "holds"\n'
        'properties = ["acked_never_lost"]\nbounds = { records = 1 }\n'
    )
    run = call("page", "suite.toml", folder=tmp_path)
    assert run.code == 1
    assert "**Not as expected: expected holds, but acked_never_lost is violated.**" in run.out
    assert "leadline explore rpc/kip-320 -b records=1 -i acked_never_lost" in run.out
