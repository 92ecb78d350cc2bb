"""How the test bed is believed by a server's web port. That a NameNode believes it: tests/secured/test_cluster.py."""

import base64
import hashlib
import hmac

from nncache.testbed.web_access import WebAccess, signed_cookie


def test_a_cookie_is_signed_over_all_that_it_says() -> None:
    """The text before `&s=` is what a server with the secret signs again and compares."""
    text, _, signature = signed_cookie(b"secret", "alice", expires_s=1.5).partition("&s=")
    assert text == "u=alice&p=alice@TEST.LOCAL&t=kerberos&e=1500"
    assert base64.b64decode(signature) == hmac.new(b"secret", text.encode(), hashlib.sha256).digest()


def test_where_there_is_no_secret_there_is_no_cookie() -> None:
    """The server believes `user.name`."""
    assert WebAccess().headers("alice") == {}
    assert WebAccess(b"x").headers("alice")["Cookie"].startswith('hadoop.auth="u=alice&')


def test_a_connection_goes_where_it_should() -> None:
    """To the host by its name, since certificates and service principals carry it."""
    connection = WebAccess().connect("localhost:1234", 2.0)
    assert (connection.host, connection.port, connection.timeout) == ("localhost", 1234, 2.0)
