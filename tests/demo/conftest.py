"""The story, told three times in a session: most of a minute each."""

import pytest

from tests.demo.told import Told, tell


@pytest.fixture(scope="session")
def told() -> Told:
    """The story as it is."""
    return tell()


@pytest.fixture(scope="session")
def told_by_the_deaf() -> Told:
    """The story with a proxy that hears of no change."""
    return tell(DEMO_WITHOUT="invalidation")


@pytest.fixture(scope="session")
def told_without_a_publisher() -> Told:
    """The story with nobody who reads the NameNode's edits."""
    return tell(DEMO_WITHOUT="publisher")
