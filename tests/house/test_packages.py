"""What the packages ship beside their code."""

import tomllib

import pytest

from tests.house.tree import ROOT

FOUND = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]


@pytest.mark.parametrize("package", [name.rstrip("*") for name in FOUND["find"]["include"]])
def test_type_checkers_read_its_annotations(package: str) -> None:
    """PEP 561: without a py.typed an installed package counts as untyped."""
    assert (ROOT / package / "py.typed").is_file()
