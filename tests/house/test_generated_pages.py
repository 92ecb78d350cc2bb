"""The generated pages say what the code says."""

import pytest

from nncache.settings.reference import pages
from tests.house.tree import ROOT


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_generated_page_is_current(name: str) -> None:
    """`make docs` would change nothing."""
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == pages()[name], "run `make docs`"
