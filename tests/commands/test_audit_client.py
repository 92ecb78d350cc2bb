"""Proxy and NameNode are asked the same; what does not answer is None."""

import pytest

from nncache.commands.admin_client import AdminPort
from nncache.commands.audit_client import HttpSides, is_hit, proxy_of
from nncache.commands.audit_questions import Read
from nncache.net.endpoint import Endpoint, parse_endpoint
from tests.admin_port import answering
from tests.commands.planted import http_server
from tests.processes import free_address

ADMIN = Endpoint("proxy7", 9872)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("nncache; hit", True),
        ("nncache;hit;ttl=3", True),
        ("nncache; fwd=miss", False),
        ("nncache; fwd=miss; detail=hit", False),
        ("hit", False),
        ("", False),
    ],
)
def test_what_a_hit_is(field: str, *, expected: bool) -> None:
    """RFC 9211: a parameter of that name, without a value."""
    assert is_hit(field) is expected


@pytest.mark.parametrize(
    ("listen", "expected"),
    [("nn-proxy:9871", "nn-proxy:9871"), ("0.0.0.0:9871", "proxy7:9871"), ("[::]:9871", "proxy7:9871")],
)
def test_where_the_proxy_serves(listen: str, expected: str) -> None:
    """On all addresses: on that of the admin port, too."""
    assert str(proxy_of({"settings": {"listen": listen}}, ADMIN)) == expected


def sides(at: str, proxy: str | None = None) -> HttpSides:
    """Return those whose admin port and proxy are here."""
    admin = AdminPort(parse_endpoint("admin", at), None)
    return HttpSides(admin, parse_endpoint("proxy", proxy or at), "hdfs")


def test_both_are_asked_the_same() -> None:
    """As the user, for any path."""
    with answering(404, b"{}") as (address, asked):
        found = sides(address)
        assert found.through_proxy("/w/a b%?") == Read(404, b"{}")
        assert found.at_namenode(address, "/w/a b%?") == Read(404, b"{}")
    assert asked == ["GET /webhdfs/v1/w/a%20b%25%3F?op=GETFILESTATUS&user.name=hdfs"] * 2


def test_an_answer_from_memory() -> None:
    """As the proxy says."""
    with http_server(200, {"Cache-Status": "nncache; hit"}, "{}") as address:
        assert sides(address).through_proxy("/w") == Read(200, b"{}", is_hit=True)


def test_the_path_is_explained() -> None:
    """By the admin port."""
    with answering(200, b'{"now": 1}') as (address, asked):
        assert sides(address).explain("/w/a b%") == {"now": 1}
    assert asked == ["GET /explain?path=%2Fw%2Fa%20b%25"]


def test_who_does_not_answer() -> None:
    """Nothing listens there."""
    nothing = free_address()
    assert sides(nothing).through_proxy("/w") is None
    assert sides(nothing).at_namenode(nothing, "/w") is None
