"""The project's documents, and the fenced blocks in them."""

from __future__ import annotations

import re
from pathlib import Path

import attrs

PROJECT = Path(__file__).parents[2]

DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "changes/README.md",
    "checker/README.md",
    "checker/searching.md",
    "checker/liveness.md",
    "checker/random.md",
    "checker/mutants.md",
    "checker/conformance.md",
    "checker/coming-from-tla.md",
    "model/README.md",
    "model/releases.md",
    "model/bugs.md",
    "model/left-out.md",
    "model/recordings.md",
    "model/own-releases.md",
    "model/transactions.md",
    "model/groups.md",
    "model/controllers.md",
    "model/designs.md",
    "invariants/README.md",
    "reports/README.md",
    "brokers/README.md",
)


@attrs.frozen
class Block:
    """A fenced block.

    Attributes:
        document: the document's path in the project.
        language: the word after the fence; empty if there is none.
        text: what is between the fences.
    """

    document: str
    language: str
    text: str

    @property
    def file(self) -> str:
        """The name of the file that the block shows, by its first line, ``# name.py``; empty if it is not a file."""
        found = re.match(r"# (\w+\.py)\n", self.text)
        return found[1] if found else ""

    def __str__(self) -> str:
        return f"{self.document}: {self.text.splitlines()[0]}"


def text_of(document: str) -> str:
    """The text of a document."""
    return (PROJECT / document).read_text(encoding="utf-8")


def blocks(document: str, language: str | None = None) -> list[Block]:
    """The fenced blocks of a document, of one language or of all."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text_of(document), re.MULTILINE | re.DOTALL)
    found = [Block(document, its_language, text) for its_language, text in fenced]
    return [block for block in found if language in (None, block.language)]


def every_block(language: str | None = None) -> list[Block]:
    """The fenced blocks of all documents, of one language or of all."""
    return [block for document in DOCUMENTS for block in blocks(document, language)]


def write_files(document: str, folder: Path) -> None:
    """Write the files that a document and the documents in its folder show into a folder."""
    beside = [other for other in DOCUMENTS if Path(other).parent == Path(document).parent]
    for block in (block for other in beside for block in blocks(other, "python")):
        (folder / block.file).write_text(block.text, encoding="utf-8")
