"""The story, told three times in a session: most of a minute each."""

import pytest

from tests.demo.told import Told, tell


@pytest.fixture(scope="session")
def told() -> Told:
    """The story as it is."""
    return tell()


@pytest.fixture(scope="session")
def told_without_invalidation() -> Told:
    """The story with a proxy that hears of no change."""
    return tell(DEMO_WITHOUT="invalidation")


@pytest.fixture(scope="session")
def told_without_a_publisher() -> Told:
    """The story without anything that reads the NameNode's edits."""
    return tell(DEMO_WITHOUT="publisher")


TOLD_AGAIN = {"told_without_invalidation", "told_without_a_publisher"}
"""Fixtures that tell the whole story once more, with a part of the product left out."""


@pytest.hookimpl(tryfirst=True)  # before what is marked is left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what tells the whole story again to the long tests."""
    for item in items:
        if not TOLD_AGAIN.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.long)
