"""Completion in shells: what is offered, in a real Bash too, and that no user's file is run for it."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import time
from pathlib import Path
from unittest import mock

import pytest

from leadline.checker.bounds import describe_bounds
from leadline.invariants.catalog import CATALOG
from leadline.reports.cli.app import COMMANDS, app
from leadline.reports.cli.bash import Bash
from leadline.reports.loading import shipped_column
from leadline.reports.suite import SHIPPED, read_entries, titles
from tests.suite.command import COMMAND, environment, run_leadline, write


def offered(folder: Path, *words: str) -> list[str]:
    """What Bash is offered for the last word."""
    asked = {"COMP_WORDS": "\n".join(["leadline", *words]), "COMP_CWORD": str(len(words))}
    with contextlib.chdir(folder), mock.patch.dict(os.environ, asked):
        text = Bash(app, {}, "leadline", "_LEADLINE_COMPLETE").complete()
    return [line.removeprefix("plain,") for line in text.splitlines() if line]


def test_the_installed_command_completes(tmp_path: Path) -> None:
    line = "leadline explore kafka/3."
    run = run_leadline(folder=tmp_path, COMP_WORDS=line, COMP_CWORD="2", _LEADLINE_COMPLETE="bash_complete")
    assert (run.code, run.err) == (0, "")
    assert run.out.splitlines() == [f"plain,{name}" for name in CATALOG if name.startswith("kafka/3.")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(tmp_path: Path, shell: str) -> None:
    run = run_leadline(folder=tmp_path, _LEADLINE_COMPLETE=f"{shell}_source")
    assert (run.code, run.err) == (0, "")
    assert f"_LEADLINE_COMPLETE={shell}_complete" in run.out


def test_names_of_commands_specs_bounds_properties_witnesses_and_rules_are_offered(tmp_path: Path) -> None:
    spec, column = CATALOG["kafka/3.7"], shipped_column("kafka/3.7")
    assert column is not None
    assert offered(tmp_path, "ex") == ["explore"]
    assert offered(tmp_path, "") == list(COMMANDS)
    assert {name for name in offered(tmp_path, "specs", "") if "/" in name} == set(CATALOG)
    names = {item.partition("=")[0] for item in offered(tmp_path, "explore", "kafka/3.7", "-b", "")}
    assert names == {name for name, *_ in describe_bounds(spec.bounds)}
    assert offered(tmp_path, "explore", "kafka/3.7", "-b", "acks", "=", "2,brok") == ["2,brokers="]
    properties = [item.name for item in (*spec.properties, *spec.optional)]
    assert offered(tmp_path, "fuzz", "kafka/3.7", "-i", "") == properties
    first = properties[0]
    assert offered(tmp_path, "fuzz", "kafka/3.7", "-i", f"{first},{first}") == [f"{first},{first}"]
    shown = [item.name for item in (*spec.properties, *spec.optional) if item.kind.is_witness]
    assert offered(tmp_path, "explore", "kafka/3.7", "--witness", "") == shown
    assert shown
    rules = [f"{name}={value.name}" for name in column.changeable for value in column.table[name].values]
    assert offered(tmp_path, "explore", "kafka/3.7", "--rule", "") == rules
    assert offered(tmp_path, "explore", "kafka/3.7+") == [f"kafka/3.7+{rule}" for rule in rules]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("explore kafka/3.7 -b acks = al", "all"),
        ("explore kafka/3.7 --bounds = acks = al", "all"),
        ("explore kafka/3.7 --rule elr = on-", "on-unchecked"),
        ("explore kafka/3.7 -b acks =", "0 1 all"),
    ],
)
def test_words_that_bash_has_split_are_completed_as_one(tmp_path: Path, line: str, value: str) -> None:
    assert offered(tmp_path, *line.split()) == value.split()


def test_nothing_is_offered_for_what_does_not_exist(tmp_path: Path) -> None:
    assert offered(tmp_path, "explore", "kafka/9.9", "-b", "") == []
    assert offered(tmp_path, "explore", "-b", "") == []
    assert offered(tmp_path, "explore", "kafka/3.7+nothing=x", "-i", "") == []
    assert offered(tmp_path, "check", "") == []


def test_files_are_offered_where_they_fit(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.py", "a.itf.json", "a.json", "a.toml", "a.txt", ".hidden.py"):
        (tmp_path / name).touch()
    assert offered(tmp_path, "explore", "a") == [
        "atomic/" + name.partition("/")[2] for name in CATALOG if name[0] == "a"
    ] + ["a.py"]
    assert offered(tmp_path, "explore", "./") == ["./a.py", "./sub/"]
    assert offered(tmp_path, "show", "./") == ["./a.itf.json", "./a.json", "./a.py", "./sub/"]
    assert offered(tmp_path, "serve", "./") == ["./a.itf.json", "./a.py", "./sub/"]
    assert offered(tmp_path, "replay", "") == ["a.itf.json", "sub/"]
    assert offered(tmp_path, "explore", "kafka/3.7", "--resume", "") == ["sub/"]
    assert offered(tmp_path, "check", "") == ["a.toml", "sub/"]


def test_no_file_of_a_user_is_run(tmp_path: Path) -> None:
    write(tmp_path, own="from pathlib import Path\nPath('it_was_run').touch()\n")
    (tmp_path / "leadline.toml").write_text('[[check]]\nname = "my check"\nspec = "own.py"\nexpect = "holds"\n')
    assert offered(tmp_path, "explore", "own.") == ["own.py"]
    for option in ("-b", "-i", "--rule", "--witness"):
        assert offered(tmp_path, "explore", "own.py", option, "") == []
        assert offered(tmp_path, "explore", "own.py:spec", option, "") == []
    assert offered(tmp_path, "check", "") == ["leadline.toml", r"my\\ check"]
    assert offered(tmp_path, "check", "leadline.toml", r"my\ c") == [r"my\\ check"]
    assert not (tmp_path / "it_was_run").exists()


def test_names_of_checks_are_offered_as_bash_reads_them(tmp_path: Path) -> None:
    every = titles(read_entries(SHIPPED))
    assert len(offered(tmp_path, "check", "--shipped", "")) == len(every)
    (name,) = offered(tmp_path, "check", "--shipped", '"KIP-279 fixes that, with two')
    assert name in every


def test_a_real_bash_completes_bounds_and_checks(tmp_path: Path) -> None:
    write(tmp_path, own="")
    (tmp_path / "leadline.toml").write_text('[[check]]\nname = "my check"\nspec = "own.py"\nexpect = "holds"\n')
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        path = f"{Path(COMMAND).parent}:{os.environ['PATH']}"
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment(PATH=path, PS1="ready ", TERM="dumb"))

    def typed(text: str, until: str) -> str:
        """Type a text, and return what the terminal shows until a text appears there."""
        shown, end = "", time.monotonic() + 120
        os.write(terminal, text.encode())
        while until not in shown and time.monotonic() < end:
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 65536).decode()
        return shown

    try:
        typed("", "ready ")
        typed('eval "$(_LEADLINE_COMPLETE=bash_source leadline)"; echo set" "up\n', "set up")
        typed("leadline() { printf '<%s>' \"$@\"; }\n", "ready ")  # completion runs the command, and Enter this
        assert "replicas=" in typed("leadline explore kafka/3.7 -b acks=all,min_insy\t", "replicas=")
        assert "<explore><kafka/3.7><-b><acks=all,min_insync_replicas=2>" in typed("2\n", ">ready ")
        assert "check " in typed("leadline check m\t", "check ")
        assert "<check><my check>" in typed("\n", ">ready ")
    finally:
        os.write(terminal, b"\x15\nexit\n")
        os.close(terminal)
        os.waitpid(child, 0)
