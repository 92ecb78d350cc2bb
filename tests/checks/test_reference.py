"""The page about the checks says what the code says."""

from nncache.checks.reference import page
from nncache.checks.table import CHECKS
from tests.house.test_words import unwanted_in
from tests.house.tree import ROOT


def test_the_page_is_current_and_has_every_check() -> None:
    """`make docs` would change nothing."""
    text = page()
    assert (ROOT / "docs" / "check.md").read_text(encoding="utf-8") == text, "run `make docs`"
    assert [check.name for check in CHECKS if f"| `{check.name}` |" not in text] == []
    assert unwanted_in(text) == []
