"""Keep the tables of shipped matrices, whose searches take minutes.

Stored tables carry a digest of what made them: the matrix, and the code of its specs and properties without comments
and docstrings. If it differs, the tables are refused, since any change of a rule may change any verdict. The code is
that of the module that makes the specs of a family, and of all modules that it imports, directly or not. The modules
that draw and explain traces or make mistakes in rules are left out, because no search of a matrix calls them.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import attrs

from leadline import invariants, model
from leadline.checker.errors import LeadlineError
from leadline.checker.support.files import file_text
from leadline.invariants.promises import why_not_promised
from leadline.reports.document import Document, document_object, read_document
from leadline.reports.kafka import bugs
from leadline.reports.loading import load_spec
from leadline.reports.matrix import read_matrix
from leadline.reports.matrix_document import with_seconds

FOLDER = Path(__file__).resolve().parent / "tables"
_LEADLINE = Path(str(model.__file__)).parent.parent
_VIEWS = ("drawing", "explanation", "mistakes")
"""The names of modules that only families and other views import: see `tests/reports/test_stored_tables.py`."""


@attrs.frozen(eq=False)
class Tables:
    """The tables of a matrix.

    Attributes:
        digest: the digest of what made them. Empty if the searches were interrupted, or for a user's matrix.
        seconds: the processor time of the searches, keyed by configuration and spec, or nothing. It is no part of the
            document, which is the same whenever it is made.
    """

    document: Document
    digest: str
    seconds: Mapping[str, Mapping[str, float]] = attrs.field(factory=dict)

    @property
    def content(self) -> dict[str, object]:
        """The tables as an object for JSON, from which `stored_tables` makes them again."""
        return {"digest": self.digest, "seconds": self.seconds, "document": document_object(self.document)}

    @property
    def page(self) -> Document:
        """The document with the processor time."""
        return with_seconds(self.document, self.seconds)


def stored_tables(matrix: Path) -> Tables | None:
    """Read the stored tables of a shipped matrix.

    Returns:
        The tables, or None if there are none.

    Raises:
        LeadlineError: if the tables were made by another matrix, spec or property.
    """
    file = FOLDER / f"{matrix.stem}.json"
    if not file.is_file():
        return None
    content = json.loads(file_text(file))
    if content["digest"] != digest_of(matrix):
        raise LeadlineError(
            f"the stored tables of {matrix.name} were made by other specs, properties or bounds than there are now: "
            "search it again with --recompute, which takes minutes"
        )
    return Tables(read_document(content["document"]), content["digest"], content.get("seconds", {}))


def digest_of(matrix: Path) -> str:
    """Return the digest of a matrix file, of the code of its specs and properties, and of the known bugs that it shows.

    Other families change it only by modules that both import.
    """
    searches = read_matrix(matrix)
    families = {family.name: family for family in (load_spec(spec).family for spec in searches.specs)}
    known = [bug for bug in bugs.read_archive().bugs if searches.known_bugs and bugs.family_of(bug) in families]
    code = _code([why_not_promised.__module__, *(family.make.__module__ for family in families.values())])
    found = hashlib.sha256()
    for data in (file_text(matrix), *map(_searched, known), *code):
        found.update(hashlib.sha256(data.encode()).digest())
    return found.hexdigest()


def _searched(bug: bugs.Bug) -> str:
    """Return what a search for a bug depends on. An attribute without a value says nothing."""
    told = {"also", "sentence", "note", "on_brokers", "seen", "check", "until"}
    return str({name: value for name, value in attrs.asdict(bug).items() if value and name not in told})


def _code(modules: list[str]) -> list[str]:
    """Return the code of modules and of what they import, without comments and docstrings.

    Parameters:
        modules: the names of the modules. Only modules of the packages `model` and `invariants` are included.
    """
    found: dict[str, str] = {}
    while modules:
        package, _, last = (name := modules.pop()).rpartition(".")
        path = _LEADLINE.joinpath(*name.split(".")[1:])
        file = next(filter(Path.is_file, (path.with_suffix(".py"), path / "__init__.py")), None)
        own = name.startswith((model.__name__, invariants.__name__)) and last not in _VIEWS
        if name in found or file is None or not own:
            continue
        modules.append(package)
        tree = ast.parse(file.read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules += [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                node.value = ast.Constant(None)
        found[name] = f"{name} {ast.dump(tree)}"
    return [found[name] for name in sorted(found)]
