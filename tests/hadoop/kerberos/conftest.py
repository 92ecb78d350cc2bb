"""This process as a client of the session's KDC."""

from collections.abc import Iterator

import pytest

from tests.kerberos import KdcServer, clients_of, need_gssapi


@pytest.fixture
def realm(kdc_server: KdcServer) -> Iterator[KdcServer]:
    """Yield a KDC with alice and HTTP/localhost; gssapi in this process uses it during the test."""
    need_gssapi()
    with clients_of(kdc_server):
        yield kdc_server
