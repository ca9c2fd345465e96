"""Mistakes of users: each ends with one line on standard error and exit code 2, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite.command import COMMAND, STAIRS, call, environment, run_leadline, write

UP = "    if state.height < state.top:\n        yield evolve(state, height=state.height + 1)\n"
"""The body of the action ``up``, which the tests replace."""


PLAIN_FLY = STAIRS.replace('@action("the climber flies")\n', "")
"""The stairs with an action that is not marked as one."""

PROPERTY_AS_ACTION = STAIRS.replace("actions=[up, ", "actions=[on_stairs, up, ")
"""The stairs with a property among the actions."""

STATE_LAST = STAIRS.replace("def up(state: Climber, foot: str)", "def up(foot: str, state: Climber)")
"""The stairs with an action whose first parameter is not the state."""


def line_of(words: str, text: str = STAIRS) -> int:
    """The number of the first line that begins with some words."""
    return next(number for number, line in enumerate(text.splitlines(), start=1) if line.startswith(words))


def with_up(body: str) -> str:
    """The stairs with another body of the action ``up``."""
    assert UP in STAIRS
    return STAIRS.replace(UP, "".join(f"    {line}\n" for line in body.splitlines()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the stairs."""
    return write(tmp_path, stairs=STAIRS)


# Names and numbers

NAMES = {
    "explore atomic/kip-1O1": "unknown spec 'atomic/kip-1O1': did you mean 'atomic/kip-101'",
    "fuzz atomic/kip320": "unknown spec 'atomic/kip320': did you mean 'atomic/kip-320'",
    "specs kip-101": "unknown spec 'kip-101': did you mean 'rpc/kip-101' or 'atomic/kip-101'",
    "explore something": "unknown spec 'something' (`leadline specs` lists all specs)",
    "explore kafka/3.77": "unknown spec 'kafka/3.77': did you mean 'kafka/3.7'",
    "explore kafka/3.7 --rule elr=offf": "rule elr has no value 'offf': did you mean 'off'",
    "explore kafka/3.7 --rule erl=on": "unknown rule 'erl': did you mean 'elr'",
    "explore kafka/3.7 --rule elr": "invalid rule 'elr': expected rule=value, such as elr=on",
    "explore kafka/3.7 --rule elr=on --rule elr=off": "rule elr is given twice",
    "explore kafka/3.7 --rule x=y": "unknown rule 'x' (`leadline specs kafka/3.7 --rules` lists all rules)",
    "explore atomic/kip-101 --rule elr=on": "unknown rule 'elr': choose from 'admits', ",
    "explore stairs.py --rule elr=on": "stairs.py has no rules that can be changed",
    "explore stairs.py:spec --rule elr=on": "stairs.py:spec has no rules that can be changed",
    "specs kafka/9.9": "unknown spec 'kafka/9.9': did you mean 'kafka/3.9' or 'kafka/4.3' or 'kafka/4.1'? ",
    "bugs NOPE": "unknown bug 'NOPE' (`leadline bugs --list` lists all bugs)",
    "bugs kafka-8733": "KAFKA-8733 is not in the archive, which says nothing about whether a release has this bug",
    "bugs KAFKA-1314": "unknown bug 'KAFKA-1314': did you mean 'KAFKA-13141'",
    "explore atomic/kip-101 -i strong_irs": "atomic/kip-101 has no property 'strong_irs': did you mean 'strong_isr'",
    "fuzz atomic/kip-101 -i hw_monotone": "atomic/kip-101 has no property 'hw_monotone': did you mean 'hw_monotonic'",
    "explore kafka/2.8 -i acked": "kafka/2.8 has no property 'acked': did you mean 'acked_never_lost'?",
    "explore stairs.py -i deadlock": "stairs.py:spec has no property 'deadlock': choose from ",
    "explore atomic/kip-101 -i weak_isr,strong_irs": "atomic/kip-101 has no property 'strong_irs'",
    "explore atomic/kip-101 -b broker=3": "unknown bound 'broker': did you mean 'brokers'?",
    "fuzz atomic/kip-101 -b epochs=3": "unknown bound 'epochs': did you mean 'max_epoch'?",
    "explore stairs.py:specs": "stairs.py has no spec 'specs': did you mean 'spec'?",
    "explor atomic/kip-101": "unknown command 'explor': did you mean 'explore'",
    "explore atomic/kip-101 --max-state 3": "No such option '--max-state'",
    "--verbose": "No such option '--verbose'",
    "explore atomic/kip-101 --engine tlc": "Invalid value for '--engine': 'tlc' is not",
}

NUMBERS = {
    "explore atomic/kip-101 -b brokers=0": "bound brokers=0 is out of range: it must be an integer from 1 to 9",
    "explore atomic/kip-101 -b brokers=10": "bound brokers=10 is out of range: it must be an integer from 1 to 9",
    "explore atomic/kip-101 -b brokers=-1": "bound brokers=-1 is out of range: it must be an integer from 1 to 9",
    "explore atomic/kip-101 -b brokers=three": "bound brokers=three is out of range: it must be an integer from 1 to 9",
    "fuzz atomic/kip-101 -b records=2.5": "bound records=2.5 is out of range: it must be an integer from 0 to 9",
    "explore atomic/kip-101 -b records=true": "bound records=true is out of range: it must be an integer from 0 to 9",
    "explore atomic/kip-101 -b brokers": "invalid bound 'brokers': write name=value, e.g. brokers=3,log_size=2",
    "explore atomic/kip-101 -b brokers=": "bound brokers= is out of range: it must be an integer from 1 to 9",
    "explore atomic/kip-101 -b brokers=2,brokers=3": "bound brokers is given twice",
    "explore atomic/kip-101 -b brokers=2 -b brokers=2": "bound brokers is given twice",
    "explore atomic/kip-101 --depth 0": "Invalid value for '--depth': 0 is not in the range x>=1.",
    "explore atomic/kip-101 --depth deep": "Invalid value for '--depth': 'deep' is not a valid integer",
    "explore atomic/kip-101 --max-states -5": "Invalid value for '--max-states': -5 is not in the range x>=1.",
    "explore atomic/kip-101 --max-seconds 0": "Invalid value for '--max-seconds': 0.0 is not in the range x>0.",
    "explore atomic/kip-101 --traces 0": "Invalid value for '--traces': 0 is not in the range x>=1.",
    "fuzz atomic/kip-101 --examples 0": "Invalid value for '--examples': 0 is not in the range 1<=x<=1000000000000000.",
    "fuzz atomic/kip-101 --steps none": "Invalid value for '--steps': 'none' is not a valid integer",
    "fuzz atomic/kip-101 --seed x": "Invalid value for '--seed': 'x' is not a valid integer.",
}

SHAPES = {
    "explore": "Missing argument 'SPEC': `leadline explore --help` shows what is needed",
    "show": "Missing argument 'FILE|DIR|SPEC': `leadline show --help` shows what is needed",
    "replay": "Missing argument 'FILE': `leadline replay --help` shows what is needed",
    "explore atomic/kip-101 atomic/kip-279": "Got unexpected extra argument (atomic/kip-279)",
    "check one.toml two.toml": "cannot read one.toml: No such file or directory",
    "explore atomic/kip-101 -b": "Option '-b' requires an argument.",
    "explore atomic/kip-101 --no-invariants -i weak_isr": "-i and --no-invariants cannot be used together: "
    "pass only one of them",
}


@pytest.mark.parametrize("command", [*NAMES, *NUMBERS, *SHAPES])
def test_a_mistake_on_the_command_line_is_one_line(folder: Path, command: str) -> None:
    complaint = call(*command.split(), folder=folder).complaint
    assert complaint.startswith((NAMES | NUMBERS | SHAPES)[command]), complaint


def test_a_name_with_markup_line_breaks_or_nothing_in_it_is_one_line_too(folder: Path) -> None:
    assert call("explore", "[/red]", folder=folder).complaint.startswith("unknown spec '[/red]' (")
    assert call("explore", "a\nb", folder=folder).complaint.startswith(r"unknown spec 'a\nb' (")
    assert call("explore", "", folder=folder).complaint.startswith("unknown spec ''")


def test_a_file_that_is_not_a_python_file_has_no_spec(folder: Path) -> None:
    (folder / "stairs.txt").write_text(STAIRS, encoding="utf-8")
    said = "stairs.txt is not a Python file: the name of a file with specs must end in .py"
    assert call("explore", "stairs.txt", folder=folder).complaint == said


def test_an_output_file_without_a_name_is_a_mistake(folder: Path) -> None:
    """As in ``--markdown "$GITHUB_STEP_SUMMARY"`` outside of GitHub."""
    run = call("explore", "stairs.py", "--json", "", folder=folder)
    assert run.complaint == "--json has an empty name: pass the name of a file"


def test_leadline_alone_shows_what_there_is_and_ends_in_2(tmp_path: Path) -> None:
    run = run_leadline(folder=tmp_path)
    assert (run.code, run.err) == (2, "")
    assert run.out.startswith("Usage: leadline ")
    for command in ("check", "explore", "fuzz", "replay", "specs", "show"):
        assert f"\n  {command} " in run.out


# Files that cannot be loaded

FILES = {
    "raises": (
        f'{STAIRS}\nraise ValueError("no\\nway")\n',
        f"cannot load it.py, line {len(STAIRS.splitlines()) + 2}: ValueError: no way",
    ),
    "raises in a function of its own": (
        "def help_me():\n    return 1 / 0\n\n\nhelp_me()\n",
        "cannot load it.py, line 2: ZeroDivisionError: division by zero",
    ),
    "has a syntax error": ("a = 3\ndef f(:\n    pass\n", "cannot load it.py, line 2: SyntaxError: invalid syntax"),
    "is indented wrongly": ("a = 3\n  b = 4\n", "cannot load it.py, line 2: IndentationError: unexpected indent"),
    "is binary": ("\x00", "cannot load it.py: SyntaxError: source code string cannot contain null bytes"),
    "imports what there is not": (
        "import leadlime\n",
        "cannot load it.py, line 1: ModuleNotFoundError: No module named 'leadlime'",
    ),
    "defines no spec": ("spec = 3\n", "it.py defines no spec: write spec = Spec(name=..., ...) at its top level"),
    "is empty": ("", "it.py defines no spec: write spec = Spec(name=..., ...) at its top level"),
    "defines several specs": (
        f"{STAIRS}\nimport attrs\n\nanother = attrs.evolve(spec, name='another')\n",
        "it.py defines several specs: choose it.py:spec or it.py:another",
    ),
    "exits as if all were well": ("import sys\n\nsys.exit(0)\n", "cannot load it.py, line 3: SystemExit: 0"),
    "raises what is not an Exception": (
        "class Odd(BaseException):\n    pass\n\n\nraise Odd('at all')\n",
        "cannot load it.py, line 5: Odd: at all",
    ),
    "has a plain function for an action": (
        PLAIN_FLY,
        f"cannot load it.py, line {line_of('spec = Spec(', PLAIN_FLY)}: "
        "spec stairs: fly is not an action: decorate it with @action(...)",
    ),
    "has a property for an action": (
        PROPERTY_AS_ACTION,
        f"cannot load it.py, line {line_of('spec = Spec(', PROPERTY_AS_ACTION)}: "
        "spec stairs: on_stairs is a property: name it in properties, not in actions",
    ),
    "has the state last": (
        STATE_LAST,
        f"cannot load it.py, line {line_of('@action')}: action up: the first parameter must be the state, but 'foot' "
        "has a domain",
    ),
    "has an action without a domain": (
        STAIRS.replace(', foot=("left", "right"))', ")"),
        f"cannot load it.py, line {line_of('@action')}: action up: parameter 'foot' has no domain: "
        "declare one with @action(foot=...)",
    ),
}


@pytest.mark.parametrize("command", ["explore", "fuzz", "specs"])
@pytest.mark.parametrize("what", FILES)
def test_a_spec_file_that_cannot_be_loaded_is_one_line(tmp_path: Path, what: str, command: str) -> None:
    text, reason = FILES[what]
    assert call(command, "it.py", folder=write(tmp_path, it=text)).complaint == reason


@pytest.mark.parametrize("command", ["explore", "fuzz", "specs"])
def test_a_spec_file_that_is_missing_is_one_line(tmp_path: Path, command: str) -> None:
    assert call(command, "it.py", folder=tmp_path).complaint == "there is no file it.py"
    assert call(command, "no/it.py:spec", folder=tmp_path).complaint == "there is no file no/it.py"
    (tmp_path / "it.py").mkdir()
    assert call(command, "it.py", folder=tmp_path).complaint == "there is no file it.py"


def test_an_error_in_a_neighbour_of_the_spec_file_names_the_neighbour(tmp_path: Path) -> None:
    write(tmp_path, it="import neighbour_with_error\n", neighbour_with_error="a = (\n")
    complaint = call("explore", "it.py", folder=tmp_path).complaint
    assert complaint.startswith("cannot load it.py, line 1: SyntaxError: '(' was never closed (neighbour_with_error.py")


# Specs that misbehave while they run

ODD = 'raise __import__("asyncio").CancelledError("odd")'
"""What is not an Exception, as those of ``pytest.fail`` and of extensions that panic are not."""

MISBEHAVIOUR = {
    "an action that raises what is not an Exception": (
        with_up(f"{ODD}\nyield state"),
        ("action up(foot=left) raised CancelledError: odd (it.py, line ",),
    ),
    "an invariant that raises what is not an Exception": (
        STAIRS.replace("return 0 <= state.height <= state.top", ODD),
        ("invariant on_stairs raised CancelledError: odd (it.py, line ",),
    ),
    "an invariant that yields and then exits": (
        STAIRS.replace("        yield f", "        raise GeneratorExit('odd')\n        yield f").replace(
            "height == 3", "height >= 0"
        ),
        ("invariant third_step_free raised GeneratorExit: odd (it.py, line ",),
    ),
    "initial states that raise what is not an Exception": (
        STAIRS.replace("    return [Climber(0, bounds.top)]", f"    {ODD}"),
        ("initial_states raised CancelledError: odd (it.py, line ",),
    ),
    "a domain that raises what is not an Exception": (
        STAIRS.replace('foot=("left", "right")', "foot=feet").replace(
            "@action", f"def feet(bounds):\n    {ODD}\n\n\n@action", 1
        ),
        ("action up: the domain of 'foot' raised CancelledError: odd (it.py, line ",),
    ),
    "a state that exits when it is compared": (
        STAIRS.replace(
            "    top: int = 0\n",
            "    top: int = 0\n\n    def __eq__(self, other):\n        raise SystemExit(0)\n\n"
            "    __hash__ = object.__hash__\n",
        ),
        (),
    ),
    "an action that is not deterministic": (
        with_up("import random\n\nyield evolve(state, height=random.randrange(10**9))"),
        ("not deterministic",),
    ),
    "an action that remembers": (
        with_up("calls.append(1)\nyield evolve(state, height=len(calls))").replace(
            "@frozen\n", "calls = []\n\n\n@frozen\n", 1
        ),
        ("action up(foot=left) is not deterministic",),
    ),
    "an action that mutates": (
        with_up('object.__setattr__(state, "height", 1)\nyield state'),
        ("action up(foot=left) changed the state that it was given",),
    ),
    "an initial state that is not hashable": (
        STAIRS.replace("Climber(0, bounds.top)", "Climber([0], bounds.top)"),
        ("a state must be hashable, but Climber.height contains a list",),
    ),
    "a next state that is not hashable": (
        with_up("yield evolve(state, height=[1])"),
        ("action up(foot=left)", "must be hashable", "Climber.height contains a list"),
    ),
    "a next state of another class": (
        with_up("yield 3"),
        ("action up(foot=left) must yield a Climber, not 3",),
    ),
    "a state class that is not frozen": (
        STAIRS.replace("@frozen\nclass Climber", "@define\nclass Climber").replace(
            "import evolve", "import define, evolve"
        ),
        ("Climber is not frozen",),
    ),
    "an action that raises": (
        with_up('yield {}["absent"]'),
        ("action up(foot=left) raised KeyError: 'absent' (it.py, line 25)",),
    ),
    "an action that exits as if all were well": (
        with_up("import sys\n\nsys.exit(0)\nyield state"),
        ("must not exit",),
    ),
    "an invariant that raises": (
        STAIRS.replace("return 0 <= state.height <= state.top", "return 1 / 0"),
        ("invariant on_stairs raised ZeroDivisionError: division by zero (it.py, line ",),
    ),
    "an invariant that returns a number": (
        STAIRS.replace("return 0 <= state.height <= state.top", "return 1"),
        ("invariant on_stairs must return True or False, not 1",),
    ),
    "no initial state": (
        STAIRS.replace("[Climber(0, bounds.top)]", "[]"),
        ("spec it.py:spec has no initial state with top=2",),
    ),
    "initial states that raise": (
        STAIRS.replace("[Climber(0, bounds.top)]", "[bounds.bottom]"),
        ("initial_states raised AttributeError: 'Bounds' object has no attribute 'bottom' (it.py, line ",),
    ),
}


@pytest.mark.parametrize("command", ["explore", "fuzz"])
@pytest.mark.parametrize("what", MISBEHAVIOUR)
def test_a_spec_that_misbehaves_while_it_runs_is_one_line(tmp_path: Path, what: str, command: str) -> None:
    text, words = MISBEHAVIOUR[what]
    complaint = call(command, "it.py", folder=write(tmp_path, it=text)).complaint
    for word in words:
        assert word in complaint


@pytest.mark.parametrize("what", ["raises", "exits as if all were well"])
def test_a_process_of_its_own_ends_in_2_when_the_spec_file_fails(tmp_path: Path, what: str) -> None:
    text, reason = FILES[what]
    assert run_leadline("explore", "it.py", "--json", "-", folder=write(tmp_path, it=text)).complaint == reason


def test_a_process_of_its_own_ends_in_2_when_an_action_fails(tmp_path: Path) -> None:
    for text, words in (
        MISBEHAVIOUR["an action that exits as if all were well"],
        MISBEHAVIOUR["an action that mutates"],
    ):
        assert words[0] in run_leadline("explore", "it.py", folder=write(tmp_path, it=text)).complaint


# Results that cannot be written


@pytest.mark.parametrize("command", ["explore", "fuzz"])
@pytest.mark.parametrize(
    ("option", "path", "reason"),
    [
        ("--trace-out", "file", "Invalid value for '--trace-out': Directory 'file' is a file."),
        ("--trace-out", "file/below", "cannot write file/below: Not a directory"),
        ("--json", "folder", "Invalid value for '--json': File 'folder' is a directory."),
        ("--json", "absent/result.json", "cannot write absent/result.json: No such file or directory"),
        ("--json", "file/result.json", "cannot write file/result.json: Not a directory"),
    ],
)
def test_where_a_result_cannot_be_written_is_told_before_the_search(
    folder: Path, command: str, option: str, path: str, reason: str
) -> None:
    (folder / "file").touch()
    (folder / "folder").mkdir()
    write(folder, searched=with_up("raise RuntimeError('it was searched')\nyield state"))
    assert call(command, "searched.py", option, path, folder=folder).complaint == reason


def test_trying_where_a_result_is_written_leaves_no_file_behind(folder: Path) -> None:
    write(folder, raising=with_up("raise ValueError\nyield state"))
    assert call("explore", "raising.py", "--json", "result.json", "--trace-out", "traces", folder=folder).code == 2
    assert not (folder / "result.json").exists()
    assert list((folder / "traces").iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_line(folder: Path) -> None:
    assert "No space left on device" in call("explore", "stairs.py", "--json", "/dev/full", folder=folder).err
    for arguments in (("explore", "stairs.py"), ("explore", "stairs.py", "--json", "-")):
        with Path("/dev/full").open("w") as full:
            run = run_leadline(*arguments, folder=folder, stdout=full)
        assert run.complaint == "cannot write to standard output: No space left on device"


def with_small_files(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command where no file may have more than half a KiB, as on a disk that is all but full."""
    command = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", COMMAND, *arguments]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


def test_a_full_disk_loses_no_result(folder: Path) -> None:
    """The result is shown before files are saved, and an error in one file does not prevent the others."""
    outputs = ("--trace-out", "traces", "--json", "result.json", "--html", "page.html")
    done = with_small_files("explore", "stairs.py", "-b", "top=3", "--engine", "oracle", *outputs, folder=folder)
    assert done.returncode == 2
    assert "third_step_free is violated: it requires that nobody is on the third step" in done.stdout
    assert "violated: third_step_free" in done.stdout
    trace = "traces/stairs.py-spec-top3-third_step_free.itf.json"
    failed = "; ".join(f"cannot write {name}: File too large" for name in (trace, "result.json", "page.html"))
    assert done.stderr == f"leadline: {failed}\n"


def test_a_full_disk_loses_no_result_of_a_suite(folder: Path) -> None:
    (folder / "suite.toml").write_text('[[check]]\nspec = "stairs.py"\nengine = "fuzz"\nexpect = "incomplete"\n')
    done = with_small_files("check", "suite.toml", "--junit", "j.xml", "--html", "page", folder=folder)
    assert done.returncode == 2
    assert done.stdout.splitlines()[-1] == "1 of 1 checks as expected"
    assert done.stderr == "leadline: cannot write j.xml: File too large; cannot write page/index.html: File too large\n"


# Inputs that are too large or too deep


def test_what_is_nested_too_deeply_is_one_line(folder: Path) -> None:
    nested = with_up("height = 0\nfor _ in range(100_000):\n    height = (height,)\nyield evolve(state, height=height)")
    write(folder, nested=nested)
    for engine in ("compiled", "oracle"):
        complaint = call("explore", "nested.py", "--engine", engine, folder=folder).complaint
        assert complaint == "a state, a parameter or the content of a file is nested too deeply"
    (folder / "suite.toml").write_text(f"x = {'[' * 3000}{']' * 3000}")
    assert call("check", "suite.toml", folder=folder).complaint == "suite.toml is not a suite: it is nested too deeply"
    deep = f'{{"vars": ["x"], "states": [{{"x": {"[" * 490}{"]" * 490}}}]}}'
    (folder / "deep.itf.json").write_text(deep)
    for command in (("show", "deep.itf.json"), ("show", "deep.itf.json", "--html", "page.html")):
        expected = "deep.itf.json is not an ITF trace: a value is nested more than 100 levels deep"
        assert call(*command, folder=folder).complaint == expected


def test_numbers_that_are_too_large_are_one_line(folder: Path) -> None:
    (folder / "suite.toml").write_text(f'[[check]]\nspec = "stairs.py"\ndistinct_states = {"9" * 5000}\n')
    assert call("check", "suite.toml", folder=folder).complaint.startswith(
        "suite.toml is not valid TOML: Exceeds the limit"
    )
    complaint = call("explore", "stairs.py", "--traces", "1000000000000", folder=folder).complaint
    assert complaint == "limit traces=1000000000000 is out of range: it must be at most 10,000"


def test_a_name_that_is_too_long_for_a_file_is_one_line(folder: Path) -> None:
    name = "a" * 5000
    assert call("explore", f"{name}.py", folder=folder).complaint == f"cannot use {name[:100]!r}: File name too long"


def test_a_spec_that_closes_standard_output_is_one_line(folder: Path) -> None:
    write(folder, closing=with_up("import sys\n\nsys.stdout.close()\nyield state"))
    complaint = run_leadline("explore", "closing.py", "--engine", "oracle", folder=folder).complaint
    assert complaint == "the spec closed standard output"


def test_a_value_that_cannot_be_shown_is_one_line_that_says_where(folder: Path) -> None:
    unshown = "class Foot:\n    def __str__(self):\n        raise ValueError('no name')\n\n\n@action"
    write(folder, unshown=STAIRS.replace("@action", unshown, 1).replace('("left", "right")', "[Foot()]"))
    complaint = call("explore", "unshown.py", "-b", "top=3", folder=folder).complaint
    assert complaint.startswith("unexpected ValueError: no name (unshown.py, line ")


PRESSED_WHILE_LOADING = """
import builtins
load = builtins.__import__

def pressed(name, *rest):
    if name == "click":
        raise KeyboardInterrupt
    return load(name, *rest)

builtins.__import__ = pressed
from leadline.reports.cli import main
main()
"""


def test_control_c_while_the_command_is_being_loaded_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PRESSED_WHILE_LOADING]
    run = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (3, "", "leadline: interrupted\n")
