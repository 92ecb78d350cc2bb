"""What HTTPS adds to a cluster's configuration. That it is enough: tests/secured/test_https.py."""

from pathlib import Path

import pytest

from nncache.testbed import https
from nncache.testbed.spec import Tls


def test_a_server_shows_its_certificate_and_a_client_trusts_the_authority() -> None:
    """A client has nothing to show."""
    files = https.ssl_files(Path("/d/tls"))
    server, client = files["ssl-server.xml"], files["ssl-client.xml"]
    assert server["ssl.server.keystore.location"] == "/d/tls/server.p12"
    assert server["ssl.server.truststore.location"] == "/d/tls/truststore.p12"
    assert client["ssl.client.truststore.location"] == "/d/tls/truststore.p12"
    assert not any("keystore" in key for key in client)
    assert {value for key, value in {**server, **client}.items() if key.endswith(".type")} == {"pkcs12"}
    passwords = {value for key, value in server.items() if key.endswith("password")}
    assert passwords == {https.STORE_PASSWORD}


def test_the_policy_is_hadoops() -> None:
    """A word that it does not know is refused, with those that it knows."""
    assert https.properties(Tls(http_policy="HTTPS_ONLY")) == {"dfs.http.policy": "HTTPS_ONLY"}
    with pytest.raises(ValueError, match="'HTTP_ONLY' must be one of HTTP_AND_HTTPS, HTTPS_ONLY"):
        Tls(http_policy="HTTP_ONLY")
