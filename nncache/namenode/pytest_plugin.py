"""Fixtures for pytest: a light cluster for a test, and one for a session.

pytest loads this module wherever nncache is installed, so only the first test that uses a cluster imports it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from nncache.namenode.cluster import LightCluster


@pytest.fixture
def light_cluster() -> Iterator["LightCluster"]:
    """An empty WebHDFS for this test alone, without Java."""
    from nncache.namenode.cluster import LightCluster  # noqa: PLC0415 - as the module says

    with LightCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def light_cluster_of_session() -> Iterator["LightCluster"]:
    """A WebHDFS that all tests of the session share."""
    from nncache.namenode.cluster import LightCluster  # noqa: PLC0415 - as the module says

    with LightCluster() as cluster:
        yield cluster
