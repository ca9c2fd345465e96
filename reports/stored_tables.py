"""Keep the tables of shipped matrices, whose searches take minutes.

Stored tables carry a digest of what made them: the matrix, and the code of all specs and properties without comments
and docstrings. If it differs, the tables are refused, since any change of a rule may change any verdict.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import attrs

from leadline import invariants, model
from leadline.checker.errors import LeadlineError
from leadline.checker.support.files import file_text
from leadline.reports.document import Document, document_object, read_document
from leadline.reports.kafka import bugs

FOLDER = Path(__file__).resolve().parent / "tables"


@attrs.frozen(eq=False)
class Tables:
    """The tables of a matrix.

    Attributes:
        document: the tables.
        digest: the digest of what made them. Empty if the searches were interrupted.
    """

    document: Document
    digest: str

    @property
    def content(self) -> dict[str, object]:
        """The tables as an object for JSON, from which `stored_tables` makes them again."""
        return {"digest": self.digest, "document": document_object(self.document)}


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
    return Tables(read_document(content["document"]), content["digest"])


def digest_of(matrix: Path) -> str:
    """Return the digest of a matrix file, of all specs and properties, and of what the archive of bugs searches."""
    found = hashlib.sha256()
    for data in (file_text(matrix), *map(_searched, bugs.read_archive().bugs), *_code()):
        found.update(hashlib.sha256(data.encode()).digest())
    return found.hexdigest()


def _searched(bug: bugs.Bug) -> str:
    return str(attrs.evolve(bug, also=[], sentence="", note="", on_brokers="", seen="", check="", until=""))


def _code() -> Iterator[str]:
    """Yield the code of the packages `model` and `invariants`, file by file, without comments and docstrings."""
    for package in (model, invariants):
        folder = Path(str(package.__file__)).parent
        for file in sorted(folder.rglob("*.py")):
            tree = ast.parse(file.read_bytes())
            for node in ast.walk(tree):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                    node.value = ast.Constant(None)
            yield f"{file.relative_to(folder)} {ast.dump(tree)}"
