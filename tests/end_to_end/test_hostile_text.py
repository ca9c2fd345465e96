"""Control characters in names, values and sentences never reach a terminal or a CI system."""

from __future__ import annotations

import json
import re
import shutil
import unicodedata
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from rich.text import Text

import leadline.reports.cli.diff
from leadline.checker.engines.oracle import explore
from leadline.checker.stateful import Move, PropertyViolated
from leadline.checker.support.escapes import visible
from leadline.reports.formats import FORMATS as REPORT_FORMATS
from leadline.reports.lines import json_text, say
from leadline.reports.loading import load_spec
from leadline.reports.terminal.console import console
from leadline.reports.testing import assert_holds, assert_violated
from tests.suite.command import ESCAPE, call, on_terminal

CONTROLS = "".join(map(chr, [*range(1, 0x20), *range(0x7F, 0xA0)]))
"""C0 but for what no file name can hold, DEL and C1."""

FORMATS = (
    "\u00ad\u061c\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)
"""What has no width or another direction, and what some take for the end of a line."""

COMMANDS = (
    "::add-mask::a ##[group]b ##vso[task.setvariable]c\n::stop-commands::d\r\n::add-mask::e\x1b]0;title\x07\x1b[2J"
)

NAME = f"{COMMANDS}{CONTROLS}{FORMATS}"
"""What may be in a name; in TOML too."""

VALUE = f"{COMMANDS}\0{CONTROLS}{FORMATS}\udc80\ud800\ufffe\uffff\U000e0041"
"""What may be in a value."""

SPEC = f"""
from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, component, invariant, witness
from leadline.checker.drawing import Cell, Drawing, Mark, Message, Row

NAME, VALUE = {NAME!r}, {VALUE!r}


def named(name, decorate):
    def rename(function):
        function.__name__ = name
        return decorate(function)

    return rename


@frozen
class Bounds:
    word: str = bound("a" + VALUE, VALUE, choices=("a" + VALUE, VALUE, NAME))


@frozen
class Part:
    at: str = VALUE


@frozen
class System:
    count: int = 0
    value: str = ""
    parts: tuple[Part, ...] = component(each=NAME, default=(Part(), Part()))


@named(NAME, action("{{who}}" + VALUE, who=[VALUE, "b" + VALUE]))
def step(state: System, who: str) -> Iterator[System]:
    if state.count < 3:
        yield evolve(state, count=state.count + 1, value=state.value + who, parts=(Part(who), state.parts[0]))


@named(NAME, invariant(VALUE, source=VALUE, fails_in=(VALUE,)))
def never(state: System) -> Iterator[str]:
    if state.count == 3:
        yield VALUE


@named("w" + NAME, witness(VALUE))
def once(state: System) -> bool:
    return state.count == 1


def rows(state):
    cells, mark = [Cell(VALUE, VALUE)] * state.count, Mark(NAME, state.count)
    columns = {{NAME: state.value, "log": "x"}}
    first = Row(columns=columns, cells=cells, marks=[mark], badges=[VALUE], standing=[VALUE])
    return {{NAME: first, "b" + NAME: Row(columns={{"log": VALUE}}, cells=[Cell(VALUE, group=1)] * (3 - state.count))}}


MESSAGE = Message(NAME, "b" + NAME, VALUE, VALUE)

drawing = Drawing(
    rows=rows,
    messages=lambda state: [MESSAGE] if state.count in (0, 1) else [],
    arrivals=lambda step: [MESSAGE] if step.after.count == 2 else [],
    legend=VALUE,
)


def of(state):
    return Spec(
        name=NAME, summary=VALUE, initial_states=lambda bounds: [state()], actions=[step],
        properties=[never, once], bounds=Bounds(),
    )


globals()["plain" + {CONTROLS + FORMATS!r}] = of(System)
drawn = evolve(of(System), drawing=drawing)
harmless = evolve(of(System), properties=[once])


@named(NAME, action("{{who}}" + VALUE, who=[VALUE, "b" + VALUE]))
def short_step(state: System, who: str) -> Iterator[System]:
    if state.count < 2:
        yield from step(state, who)


@named(NAME, action("{{who}}" + VALUE, who=[VALUE, "b" + VALUE]))
def other_step(state: System, who: str) -> Iterator[System]:
    for after in step(state, who):
        yield evolve(after, value="")


@named(NAME, action("{{who}}" + VALUE, who=[VALUE, "b" + VALUE]))
def mild_step(state: System, who: str) -> Iterator[System]:
    for after in step(state, who):
        yield evolve(after, count=min(after.count, 2))


short = evolve(of(System), actions=[short_step])
mild = evolve(of(System), actions=[mild_step])
other = evolve(of(System), actions=[other_step], properties=[once])
raising = evolve(of(System), initial_states=lambda bounds: 1 / 0 if 0 else (_ for _ in ()).throw(ValueError(VALUE)))
"""

PLACE = f"s\n::stop-commands::s##[group]s{CONTROLS}{FORMATS}"
"""What may be in a file's name, which is at most 255 bytes long."""

FILE = f"{PLACE}.py"
PLAIN, DRAWN = f"{FILE}:plain{CONTROLS}{FORMATS}", f"{FILE}:drawn"

SUITE = f"""
[[check]]
name = {json.dumps("1" + NAME)}
spec = {json.dumps(PLAIN)}
expect = "violated"
violates = {json.dumps(NAME)}
note = {json.dumps(NAME.replace(chr(10), ""))}
[[check]]
name = {json.dumps(NAME)}
spec = {json.dumps(DRAWN)}
expect = "holds"
note = {json.dumps(NAME.replace(chr(10), ""))}
[[check]]
name = "too good"
spec = {json.dumps(DRAWN)}
properties = [{json.dumps(NAME)}, {json.dumps("w" + NAME)}]
expect = "violated"
violates = {json.dumps("w" + NAME)}
[[check]]
name = "cut short"
spec = {json.dumps(DRAWN)}
expect = "holds"
max_states = 2
"""

MATRIX = f"""
specs = [{json.dumps(PLAIN)}, {json.dumps(DRAWN)}]
[[configurations]]
name = {json.dumps(NAME)}
bounds = {{ word = {json.dumps(NAME)} }}
"""

RAW = {
    "#meta": {"spec": VALUE, "property": VALUE, "sentence": VALUE, "bounds": {VALUE: VALUE, "b": [VALUE]}},
    "vars": [VALUE, "x"],
    "states": [
        {"#meta": {"index": 0}, VALUE: {VALUE: {"tag": VALUE, "value": VALUE}, "y": VALUE}, "x": {"#set": [VALUE]}},
        {
            "#meta": {"index": 1, "action": VALUE, "parameters": {VALUE: VALUE}},
            VALUE: {VALUE: {"#unserializable": VALUE}, "y": {"#tup": [VALUE]}},
            "x": {"#map": [[VALUE, {"tag": VALUE, "value": {VALUE: VALUE}}]]},
        },
    ],
}
"""A trace file with such texts wherever a text may be."""


def hostile_result(content: Any) -> Any:
    """A result with such texts in place of all but its kinds and verdicts, and its names, which are so already."""
    kept = {"verdict", "kind", "name"}
    match content:
        case dict():
            return {key: item if key in kept else hostile_result(item) for key, item in content.items()}
        case list():
            return [hostile_result(item) for item in content]
        case str():
            return VALUE
    return content


HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def check_harmless(text: str, what: str, *, log: bool = True) -> None:
    """Nothing in a text controls what shows it. In a log, no line is a command to a CI system."""
    wrong = {char for char in text if char != "\n" and (unicodedata.category(char) in HIDDEN or char in "\ufffe\uffff")}
    assert wrong == set(), what
    if log:
        assert "##[" not in text, what
        assert "##vso[" not in text, what
        assert [line for line in text.split("\n") if re.match(r"\s*::", line)] == [], what


def check_lines(text: str, what: str) -> None:
    """No line of a text that was not wrapped was begun by a line break in a name or a value."""
    assert [line for line in text.split("\n") if re.match(r"\s*\\?::stop-commands", line)] == [], what


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a spec, a suite and a matrix full of what controls terminals, and what `explore` saved there."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / FILE).write_text(SPEC, encoding="utf-8")
    (folder / f"{PLACE}.toml").write_text(SUITE, encoding="utf-8")
    (folder / "matrix.toml").write_text(MATRIX, encoding="utf-8")
    for name, spec in (("plain", PLAIN), ("drawn", DRAWN)):
        call("explore", spec, "--engine", "oracle", "--json", f"{name}.json", "--trace-out", name, folder=folder)
        (saved,) = (folder / name).iterdir()
        saved.rename(folder / name / f"{PLACE}.itf.json")
    (folder / "raw").mkdir()
    (folder / SAVED["raw"]).write_text(json.dumps(RAW), encoding="utf-8")
    result = json.loads((folder / "plain.json").read_text(encoding="utf-8"))
    (folder / "raw.json").write_text(json.dumps(hostile_result(result)), encoding="utf-8")
    shutil.copytree(folder / "plain", folder / f"torn{PLACE}")
    (folder / f"torn{PLACE}" / f"torn{PLACE}.itf.json").write_text("", encoding="utf-8")
    return folder


SAVED = {name: f"{name}/{PLACE}.itf.json" for name in ("plain", "drawn", "raw")}
TYPED = {"plain": PLAIN, "drawn": DRAWN}

RUNS: dict[str, tuple[list[str], int]] = {
    "specs": (["specs", PLAIN], 0),
    "explore": (["explore", DRAWN, "--html", "o.html", "--json", "o.json", "--trace-out", f"traces{PLACE}"], 1),
    "explore to stdout": (["explore", PLAIN, "--json", "-"], 1),
    "oracle": (["explore", PLAIN, "--engine", "oracle", "--keep-going"], 1),
    "fuzz": (["fuzz", PLAIN, "--html", "o.html", "--examples", "5"], 1),
    "check": (
        ["check", f"{PLACE}.toml", "--junit", "o.xml", "--sarif", "o.sarif", "--markdown", "o.md", "--html", "o"], 1
    ),
    "matrix": (["matrix", "matrix.toml"], 0),
    "matrix as Markdown": (["matrix", "matrix.toml", "--markdown"], 0),
    "answers": (["check", f"{PLACE}.toml", "--answers", "-"], 1),
    "graph": (["show", PLAIN], 0),
    "graph of a counterexample": (["show", DRAWN, "--max-states", "1"], 0),
    "diff of what is alike": (["diff", PLAIN, f"{FILE}:harmless", "--html", "o.html"], 0),
    "diff of what one refuses": (["diff", PLAIN, f"{FILE}:short", "--html", f"o{PLACE}.html"], 1),
    "diff of what comes to no harm": (["diff", PLAIN, f"{FILE}:mild", "--html", "o.html"], 1),
    "diff of what leads elsewhere": (["diff", f"{FILE}:other", f"{FILE}:harmless", "--html", "o.html"], 1),
    "report of a folder": (["show", "plain", "--html", f"o{PLACE}.html"], 0),
    "report of a folder with its spec": (["show", "drawn", "--html", "o.html", "--spec", DRAWN], 0),
    "report of a result": (["show", "drawn.json", "--html", "o.html", "--spec", DRAWN], 2),
    "report of a raw trace": (["show", SAVED["raw"], "--html", "o.html"], 0),
    "report of a raw result": (["show", "raw.json", "--html", "o.html"], 2),
    "replay of a raw trace": (["replay", SAVED["raw"]], 2),
    "replay of a raw trace on a spec": (["replay", SAVED["raw"], "--spec", PLAIN], 2),
    **{
        f"raw trace as {form}": (["show", SAVED["raw"], "--format", form], 2 if form in ("dot", "itf") else 0)
        for form in ("text", *REPORT_FORMATS["trace"])
    },
    "a spec that raises": (["explore", f"{FILE}:raising"], 2),
    "no such spec in the file": (["explore", f"{FILE}:{NAME}"], 2),
    "no such file": (["explore", f"x{FILE}"], 2),
    "no such spec": (["explore", NAME], 2),
    "no such property": (["explore", PLAIN, "-i", NAME + "x"], 2),
    "no such bound": (["explore", PLAIN, "-b", f"{NAME}=1"], 2),
    "a stale trace": (["replay", SAVED["plain"], "--spec", f"{FILE}:short"], 1),
    "a stale trace, shown": (["show", SAVED["plain"], "--spec", f"{FILE}:other"], 1),
    "a file left out": (["show", f"torn{PLACE}", "--html", "o.html"], 2),
    "no such value": (["explore", PLAIN, "-b", f"word=x{NAME}"], 2),
    "no such command": ([NAME], 2),
    "no such option": (["explore", f"--{NAME}"], 2),
    "no such trace": (["show", PLACE], 2),
    "no such folder": (["show", "plain", "--html", f"{PLACE}/x"], 2),
    "no such suite": (["check", PLACE], 2),
    **{
        f"{command} of {name}{' with its spec' * with_spec}": (
            [command, file, *["--spec", TYPED[name]] * with_spec],
            code,
        )
        for name, file in SAVED.items()
        if name in TYPED
        for command, with_spec, code in (("show", 0, 0), ("show", 1, 0), ("replay", 0, 2), ("replay", 1, 0))
    },
    **{
        f"{form} of {name}{' with its spec' * with_spec}": (
            ["show", file, "--format", form, *["--spec", TYPED[name]] * with_spec],
            0 if with_spec or form not in ("dot", "itf") else 2,
        )
        for name, file in SAVED.items()
        if name in TYPED
        for form in ("text", *REPORT_FORMATS["trace"])
        for with_spec in (0, 1)
    },
}  # fmt: skip


@pytest.mark.parametrize("what", RUNS)
def test_nothing_that_controls_anything_leaves_a_command(folder: Path, what: str) -> None:
    arguments, code = RUNS[what]
    for columns in ("100", "1000000"):
        run = call(*arguments, folder=folder, COLUMNS=columns)
        assert run.code == code, run
        for place, text in (("out", run.out), ("err", run.err)):
            check_harmless(text, f"{what}: {place}")
    check_lines(run.out + run.err, what)
    made = [
        folder / name for name in ("o.html", "o.json", "o.xml", "o.sarif", "o.md", "o/index.html", f"o{PLACE}.html")
    ]
    made += [*(folder / f"traces{PLACE}").glob("*")]
    for file in made:
        if file.is_file():
            text = file.read_bytes().decode("utf-8", "surrogatepass")
            check_harmless(text, f"{what}: {file.name}", log=False)
            check_lines(text, f"{what}: {file.name}")
            file.unlink()


def test_nor_does_it_leave_a_diff_that_is_cut_short(folder: Path) -> None:
    with mock.patch.object(leadline.reports.cli.diff, "MOST_STATES", 2):
        run = call("diff", f"{FILE}:harmless", f"{FILE}:harmless", folder=folder, COLUMNS="1000000")
    assert (run.code, run.out.count("\n"), run.err) == (3, 1, "")
    check_harmless(run.out, "diff")


def test_nor_does_it_reach_a_terminal(folder: Path) -> None:
    for arguments in (["show", SAVED["drawn"], "--spec", DRAWN], ["explore", PLAIN, "--engine", "oracle"]):
        shown = on_terminal(*arguments, folder=folder).out
        check_harmless(ESCAPE.sub("", shown).replace("\r", ""), arguments[0])  # which the terminal adds to each line


def test_nor_does_it_leave_a_test_that_fails(folder: Path) -> None:
    spec = load_spec(PLAIN, folder)
    with pytest.raises(AssertionError) as holds:
        assert_holds(spec)
    with pytest.raises(AssertionError) as violated:
        assert_violated(spec, NAME, length=1)
    (item, _) = explore(spec).properties
    check_harmless(repr(Move(item.traces[0].instances[0], None)), "Hypothesis", log=False)
    for text in (str(holds.value), str(violated.value), str(PropertyViolated(item.traces[0]))):
        check_harmless(text, "a test", log=False)
        assert len(text.split("\n", 1)[0]) > len(VALUE)  # all in one line


@pytest.mark.parametrize("char", sorted({*VALUE, "\0"}))
def test_what_is_hidden_is_written_as_python_writes_it(char: str) -> None:
    hidden = char != "\\" and not char.isprintable()
    assert visible(f"a{char}b") == (f"a{char!r:s}b".replace("'", "") if hidden else f"a{char}b")


@pytest.mark.parametrize(
    "text", ["", "m0@1 \u2503 broker 0", "\u6d88\u606f\u3000\u00a0", "caf\u00e9 e\u0301 \U0001f600\ufe0f", "a\\x1b"]
)
def test_what_is_not_hidden_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("::error::x", "\\::error::x"),
        (" \u3000 ::error::x", " \u3000 \\::error::x"),
        ("a ::error::x", "a ::error::x"),
        ("a ##[error]x", "a #\\#[error]x"),
        ("###[error]x ##vso[x]", "##\\#[error]x #\\#vso[x]"),
        ("## a heading", "## a heading"),
        ("\x1b]0;x\x07", "\\x1b]0;x\\x07"),
    ],
)
def test_whatever_is_printed_a_line_is_no_command(line: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where what prints it did not make it visible."""
    say(line)
    console().print(Text(line))
    say(line, err=True)
    console(stderr=True).print(Text(line))
    out, err = capsys.readouterr()
    assert out.split("\n") == err.split("\n") == [printed, printed.replace("\\x07", ""), ""]  # rich leaves out BEL


def test_json_is_ascii_and_keeps_every_text() -> None:
    out = json_text({NAME: VALUE}, indent=1)
    check_harmless(out, "JSON")
    assert out.isascii()
    assert json.loads(out) == {NAME: VALUE}


def test_a_line_is_printed_whole_where_it_got_longer(capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{'x' * 96} ##[a]{'y' * 200}"
    console().print(Text(text))
    assert capsys.readouterr().out.replace("\n", "") == text.replace("##[", "#\\#[").replace(" ", "")


def test_annotations_are_the_only_commands_of_a_check(folder: Path) -> None:
    run = call("check", f"{PLACE}.toml", "--github", folder=folder, COLUMNS="1000000")
    lines = run.out.split("\n")
    commands = [line for line in lines if re.match(r"\s*::", line)]
    assert [line.partition(" ")[0] for line in commands] == ["::error"] * 4
    assert all(re.fullmatch(r"::error (\w+=[^:,]*,)*\w+=[^:,]*::.*", line) for line in commands)
    check_harmless("\n".join(line for line in lines if line not in commands), "the rest")
    check_harmless("\n".join(commands), "the commands", log=False)
