"""Tests mirror modules: whoever looks for one finds the other by its name."""

from pathlib import Path

import pytest

from tests.house.tree import ROOMS, ROOT, acts, shown, sources

TESTED_ELSEWHERE: dict[str, str] = {}
"""Modules without a test file of their own, and where they are tested."""

PRODUCT = tuple(room for room in ROOMS if room != "demo")
"""The demo is a story that checks itself; running it is its test."""

MODULES = tuple(path for path in sources(*PRODUCT) if path.name != "__init__.py" and acts(path))
TESTS = tuple(path for path in sources(*(f"tests/{room}" for room in ROOMS)) if path.name.startswith("test_"))


@pytest.mark.parametrize("test", TESTS, ids=shown)
def test_a_test_file_of_a_room_names_a_module(test: Path) -> None:
    """`tests/<room>/test_<module>.py` tests `<room>/<module>.py`."""
    module = ROOT / test.relative_to(ROOT / "tests").with_name(test.name.removeprefix("test_"))
    assert module.exists(), f"{shown(test)} names {shown(module)}, which is not there"


@pytest.mark.parametrize("module", MODULES, ids=shown)
def test_a_module_has_a_test_file(module: Path) -> None:
    """`<room>/<module>.py` is tested by `tests/<room>/test_<module>.py`, or the table says where."""
    test = ROOT / "tests" / module.relative_to(ROOT).with_name(f"test_{module.name}")
    assert test.exists() != (shown(module) in TESTED_ELSEWHERE), (
        f"{shown(test)} is missing, or the table is old"
    )
