"""This process as a client of the secured cluster's KDC."""

from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster, Kdc
from tests.kerberos import clients_of


@pytest.fixture
def kdc(secured_cluster: Cluster) -> Iterator[Kdc]:
    """The KDC of the secured cluster, which gssapi in this process finds while the test runs."""
    assert secured_cluster.kdc is not None
    with clients_of(secured_cluster.kdc):
        yield secured_cluster.kdc
