"""Tests that the documents name as proofs exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
_NAMED = re.compile(r"`(tests/[\w/]+(?:\.py)?)(?:::(\w+))?`")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_names_as_proof_exists(document: Path) -> None:
    """A renamed test leaves no promise without proof."""
    missing = []
    for path, name in _NAMED.findall(document.read_text()):
        found = ROOT / path
        if not found.exists() or (name and f"def {name}(" not in found.read_text()):
            missing.append(f"{path}::{name}")
    assert not missing


def test_documents_name_proofs() -> None:
    """So that the test above looks at something."""
    assert sum(len(_NAMED.findall(document.read_text())) for document in DOCUMENTS) > 50
