"""A family of specs that is added with one folder and one line can be used with every command for specs."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadline.invariants.catalog import CATALOG, FAMILIES
from leadline.reports.hunt import cures
from tests.families.toy import TOY
from tests.suite.command import call

SUITE = """\
[[check]]
spec = "toy/1"
expect = "violated"
violates = "no_lost_update"

[[check]]
spec = "toy/2"
expect = "holds"
"""

COMMANDS = [
    ("specs toy/1", 0, ("rules", "lock: ", "none * ", "when a thread may read the counter")),
    ("explore toy/2", 0, ("holds: every reachable state was searched",)),
    ("explore toy/1 --diagnose 0", 1, ("violated: no_lost_update",)),
    ("explore toy/1", 1, ("holds with lock=waits, the rule of toy/2",)),
    ("explore toy/2 --rule lock=none --diagnose 0", 1, ("toy/2+lock=none", "violated: no_lost_update")),
    ("explore toy/3", 2, ("unknown spec 'toy/3'",)),
    ("explore toy/1+lok=waits", 2, ("unknown rule 'lok'", "did you mean", "leadline specs toy/1")),
    ("explore toy/1+lock", 2, ("expected rule=value, such as lock=waits",)),
    ("fuzz toy/1", 1, ("violated: no_lost_update",)),
    ("check", 0, ("2 of 2 checks as expected",)),
    ("diff toy/1 toy/2", 1, ("what decides: rule lock: none → waits",)),
    ("mutate toy/2 --kind rule --kind mistake", 0, ("2 mutants: 2 killed",)),
    ("hunt toy/1 --minutes 1", 1, ("lock=waits",)),
    ("explore toy/1 --diagnose 0 --trace-out traces", 1, ("traces",)),
]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(FAMILIES, TOY.name, TOY)
    for column in TOY.columns:
        monkeypatch.setitem(CATALOG, column.name, TOY.spec(column))
    for cached in (cures.base_spec, cures.cures_of):
        cached.cache_clear()
    (tmp_path / "leadline.toml").write_text(SUITE, encoding="utf-8")


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(("command", "code", "says"), COMMANDS, ids=[command for command, *_ in COMMANDS])
def test_every_command_takes_the_new_family(command: str, code: int, says: tuple[str, ...], tmp_path: Path) -> None:
    ended = call(*command.split(), folder=tmp_path)
    text = " ".join((ended.out + ended.err).split())
    assert ended.code == code, text
    assert [each for each in says if each not in text] == [], text


@pytest.mark.usefixtures("toy")
def test_a_saved_trace_of_the_new_family_is_replayed(tmp_path: Path) -> None:
    assert call(*["explore", "toy/1", "--diagnose", "0", "--trace-out", "traces"], folder=tmp_path).code == 1
    (file,) = (tmp_path / "traces").iterdir()
    replayed = call("replay", str(file), folder=tmp_path)
    assert (replayed.code, replayed.out) == (0, "as recorded: toy/1, 5 states, which violates no_lost_update\n")
