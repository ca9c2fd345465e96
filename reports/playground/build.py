"""Build the playground: a folder of files with which a browser searches specs without an installation.

`make playground` gets Pyodide, which is CPython compiled to WebAssembly, from the npm registry. The Python code comes
from this environment: leadline, and the packages that the oracle and the pages import. Only their Python files are
taken. MarkupSafe also has an extension module, and does without it.
"""

from __future__ import annotations

import importlib
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import leadline
from leadline.checker.support.messages import counted
from leadline.reports.html import page_script_hash
from leadline.reports.lines import say

PACKAGES = ("attr", "attrs", "cattrs", "click", "jinja2", "markupsafe", "networkx", "typing_extensions")
"""The modules and packages that are imported for a search with the oracle and for its page."""

OWN = ("checker", "invariants", "model", "reports")
"""The packages of leadline that are imported."""

PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
"""The files of Pyodide that a browser loads."""

FOLDER = Path(__file__).resolve().parent


def build(pyodide: Path, target: Path) -> None:
    """Build the playground in a folder.

    Parameters:
        pyodide: the folder of the npm package.
        target: the folder, which is created if it does not exist.
    """
    target.mkdir(parents=True, exist_ok=True)
    for name in PYODIDE:
        shutil.copyfile(pyodide / name, target / name)
    for name in ("playground.js", "playground.css", "worker.mjs", "search.py"):
        shutil.copyfile(FOLDER / name, target / name)
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    (target / "index.html").write_text(page.replace("PAGE_SCRIPT", page_script_hash()), encoding="utf-8")
    (target / "counter.py").write_text(_counter(), encoding="utf-8")
    with zipfile.ZipFile(target / "packages.zip", "w", zipfile.ZIP_DEFLATED) as packages:
        for place, path in sorted(_files()):
            packages.write(path, place)


def _counter() -> str:
    """Return the example in the README, with which the playground begins."""
    readme = (FOLDER.parents[1] / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n# counter\.py\n(.*?)```", readme, re.DOTALL)
    assert found is not None, "the README has the example"
    return found[1]


def _files() -> Iterator[tuple[str, Path]]:
    """Yield each file that is imported or read, with its place in the archive."""
    (root,) = leadline.__path__
    yield "leadline/__init__.py", Path(root) / "__init__.py"
    for name in OWN:
        yield from _below(f"leadline/{name}", Path(root) / name, (".py", ".html", ".css", ".js", ".toml"))
    for name in PACKAGES:
        found = importlib.import_module(name).__file__
        assert found is not None, f"{name} is a package or a module with a file"
        path = Path(found)
        if path.name == "__init__.py":
            yield from _below(name, path.parent, (".py",))
        else:
            yield path.name, path


def _below(place: str, folder: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        if path.suffix in suffixes and path.is_file() and "tests" not in path.parts[len(folder.parts) :]:
            yield f"{place}/{path.relative_to(folder).as_posix()}", path


if __name__ == "__main__":
    source, built = map(Path, sys.argv[1:])
    build(source, built)
    files = [path for path in built.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 2**20
    say(f"{built}: {counted(len(files), 'file')}, {size:.0f} MiB; python3 -m http.server --directory {built} serves it")
