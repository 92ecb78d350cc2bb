"""Proxy and NameNode are asked the same; what does not answer is None."""

from collections import Counter

import pytest

from nncache.commands.admin_client import AdminPort
from nncache.commands.audit_client import HttpSides, is_hit, lines, proxy_of, report_as_json
from nncache.commands.audit_questions import AuditReport, StatusReply
from nncache.net.endpoint import ListenAddress, parse_endpoint
from nncache.proxy.audit_judge import AuditOutcome
from tests.http_server import answering, http_server
from tests.processes import free_address

ADMIN = ListenAddress("proxy7", 9872)


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
        assert found.through_proxy("/w/a b%?") == StatusReply(404, b"{}")
        assert found.at_namenode(address, "/w/a b%?") == StatusReply(404, b"{}")
    assert asked == ["GET /webhdfs/v1/w/a%20b%25%3F?op=GETFILESTATUS&user.name=hdfs"] * 2


def test_an_answer_from_memory() -> None:
    """As the proxy says."""
    with http_server(200, {"Cache-Status": "nncache; hit"}, "{}") as address:
        assert sides(address).through_proxy("/w") == StatusReply(200, b"{}", is_hit=True)


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


def report(*wrong: str, **outcomes: int) -> AuditReport:
    """Return one with these outcomes."""
    found = Counter({AuditOutcome(name): count for name, count in outcomes.items()})
    return AuditReport(found, 3, dict.fromkeys(wrong))


def test_all_is_right() -> None:
    """Each outcome has a line with its meaning."""
    assert list(lines(report(same=1200, changed=2))) == [
        "  1,200 same: the NameNode gave the same answer",
        "      2 changed: the path changed after it was answered from memory, and the cache has forgotten it in time",
        "      3 not from memory: the proxy asked the NameNode itself, nothing to compare",
        "right: 1,202 answers from memory compared, none beyond the bound",
    ]


def test_some_are_wrong() -> None:
    """A path cannot steer the terminal."""
    *_, wrong, verdict = lines(report("/w/\x1b[31m\n", same=9, beyond=1))
    assert wrong == "wrong answer from memory: /w/\\x1b[31m\\n"
    assert verdict.startswith("wrong: 1 of 10 answers from memory beyond the bound (Bounded is broken)")


def test_it_is_not_known() -> None:
    """Either nothing was compared, or something could not be proven."""
    (*_, verdict) = lines(report(unanswered=4))
    assert verdict.startswith("not known: no answer from memory could be compared")
    (*_, verdict) = lines(report(same=4, unproven=2))
    assert verdict.startswith("not known: 2 answers differ, and the proxy could not prove")


def test_for_programs() -> None:
    """Every outcome is there, also with 0."""
    found = report_as_json(report("/w/f", same=9, beyond=1))
    assert (found["verdict"], found["exit_code"], found["compared"]) == ("wrong", 1, 10)
    assert (found["not_from_memory"], found["wrong"]) == (3, ["/w/f"])
    outcomes = found["outcomes"]
    assert isinstance(outcomes, dict)
    assert set(outcomes) == {outcome.value for outcome in AuditOutcome}
    assert (outcomes["beyond"], outcomes["changed"]) == (1, 0)
