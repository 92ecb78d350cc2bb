"""A line describes one request, and no request can forge a line or a field."""

import json
import re
from datetime import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nncache.cache.decisions import MissReason
from nncache.proxy.cache_status import Bypass
from nncache.proxy.traffic import Exchange, Result
from nncache.request_logs.access_lines import caller_of, combined, json_line, shown_id
from tests.house.tree import ROOT

AT = 1_795_551_482.25
COMBINED = re.compile(
    r'(?P<address>[^ "]+) - (?P<caller>[^ "]+) \[(?P<time>\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000)\] '
    r'"(?P<request>(?:[!#-\[\]-~ ]|\\x[0-9A-F]{2})+)" (?P<status>\d{3}|-) (?P<bytes>\d+|-) "-" "-" '
    r"(?P<result>[a-z]+) (?P<operation>[A-Za-z]+) (?P<reason>[a-z-]+) (?P<duration>\d+\.\d{6}) (?P<weight>\d+) "
    r"(?P<id>[!-~]+)\n"
)
TARGET = "/webhdfs/v1/user/joe/f?op=GETFILESTATUS&user.name=joe"


def exchange_of(target: str = TARGET, method: str = "GET") -> Exchange:
    """Return the exchange of a hit."""
    exchange = Exchange(method, target, "10.0.0.1", 100.0)
    exchange.result, exchange.operation, exchange.status = Result.HIT, "GETFILESTATUS", 200
    exchange.body_bytes, exchange.duration_s, exchange.request_id = 227, 0.00004213, "abc"
    return exchange


def test_a_combined_line_is_apaches_with_fields_at_its_end() -> None:
    """On the fast path, only the target has a hit's caller."""
    assert combined(exchange_of(), 64, AT) == (
        b'10.0.0.1 - joe [24/Nov/2026:20:18:02 +0000] "GET /webhdfs/v1/user/joe/f?op=GETFILESTATUS&user.name=joe" '
        b'200 227 "-" "-" hit GETFILESTATUS - 0.000042 64 abc\n'
    )
    forwarded = exchange_of()
    forwarded.result, forwarded.why, forwarded.caller = Result.FORWARDED, Bypass.NOT_PLAIN, ""
    forwarded.status, forwarded.body_bytes = 0, -1
    assert combined(forwarded, 1, AT).endswith(
        b'" - - "-" "-" forwarded GETFILESTATUS not-plain 0.000042 1 abc\n'
    )


def test_the_documentation_shows_these_lines() -> None:
    """Authors of a parser start from them."""
    page = (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")
    for line in (combined(exchange_of(), 64, AT), json_line(exchange_of(), 64, AT)):
        assert f"\n{line.decode()}```\n" in page


def test_a_request_that_was_never_read_is_a_line() -> None:
    """It is written as in nginx: `-` as the request."""
    refused = Exchange("", "", "10.0.0.1", 100.0)
    refused.result, refused.status, refused.request_id = Result.REFUSED, 400, "x"
    line = combined(refused, 1, AT)
    assert (
        line == b'10.0.0.1 - - [24/Nov/2026:20:18:02 +0000] "-" 400 - "-" "-" refused other - 0.000000 1 x\n'
    )


def test_a_json_line_has_a_field_for_each() -> None:
    """An unknown value is null."""
    exchange = exchange_of(TARGET + "&delegation=secret")
    exchange.caller, exchange.why = "user.name=joe\0doas=eve", MissReason.MISS
    exchange.target = TARGET + "&doas=eve&delegation=secret"
    assert json.loads(json_line(exchange, 1, AT)) == {
        "log": "access",
        "time": "2026-11-24T20:18:02.250Z",
        "address": "10.0.0.1",
        "caller": "joe",
        "doas": "eve",
        "method": "GET",
        "target": f"{TARGET}&doas=eve&delegation=...",
        "operation": "GETFILESTATUS",
        "status": 200,
        "bytes": 227,
        "result": "hit",
        "reason": "miss",
        "duration_s": 0.000042,
        "request_id": "abc",
        "trace_id": None,
        "parent_id": None,
        "weight": 1,
    }
    nothing = json.loads(json_line(Exchange("", "", "", 0.0), 1, AT))
    assert [key for key, value in nothing.items() if value is None] == [
        "caller",
        "doas",
        "status",
        "bytes",
        "reason",
        "trace_id",
        "parent_id",
    ]


@pytest.mark.parametrize(
    ("traceparent", "trace"),
    [
        (
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"),
        ),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736", (None, None)),
    ],
)
def test_a_json_line_names_the_trace(traceparent: str, trace: tuple[str | None, str | None]) -> None:
    """An invalid `traceparent` leaves both fields null."""
    exchange = exchange_of()
    exchange.traceparent = traceparent
    line = json.loads(json_line(exchange, 1, AT))
    assert (line["trace_id"], line["parent_id"]) == trace


@pytest.mark.parametrize(
    ("claim", "target", "callers"),
    [
        ("user.name=joe", "", ("joe", None)),
        ("doas=eve", "", (None, "eve")),
        ("user.name=doas=eve", "", ("doas=eve", None)),
        ("user.name=joe\0doas=eve", "/f?op=OPEN&user.name=joe%00doas=eve", ("joe\0doas=eve", None)),
        ("", "/f?op=OPEN", (None, None)),
    ],
)
def test_a_caller_cannot_claim_to_be_two(
    claim: str, target: str, callers: tuple[str | None, str | None]
) -> None:
    """A user name may contain the separator of user.name and doas."""
    exchange = exchange_of(target)
    exchange.caller = claim
    assert caller_of(exchange) == callers


HOSTILE = st.text(
    st.one_of(
        st.sampled_from("\n\r\"\\\x00\x0b\x1b\x7f\x85\u2028\udc80\ud800 -[],=:'{}%&?;#"), st.characters()
    ),
    max_size=40,
)


@given(method=HOSTILE, target=HOSTILE, caller=HOSTILE, peer=HOSTILE, request_id=HOSTILE)
@example(method="-", target="-", caller="user.name=-", peer="-", request_id="-")
@example(
    method='GET" 200 1',
    target='/a" 200 1 "-" "-" hit',
    caller="user.name=a,doas=root",
    peer="x - root",
    request_id="a b",
)
def test_no_request_forges_a_line_or_a_field(
    method: str, target: str, caller: str, peer: str, request_id: str
) -> None:
    """Each line has all its fields, with true values, and one line end, in bytes and in any encoding."""
    exchange = Exchange(method, target, peer, 100.0)
    exchange.caller, exchange.request_id, exchange.result = caller, request_id, Result.FORWARDED
    exchange.status, exchange.operation = 404, "LISTSTATUS"
    line = combined(exchange, 1, AT).decode("ascii")
    found = COMBINED.fullmatch(line)
    assert found is not None, line
    assert found["request"].count(" ") == (method != "")
    assert found["status"] == "404"
    assert found["result"] == "forwarded"
    assert (found["caller"] == "-") == (caller in {"", "user.name="}) or "\0" in caller
    assert ",doas=" not in found["caller"] or "\0" in caller
    encoded = json_line(exchange, 1, AT).decode("ascii")
    assert encoded[:-1].isprintable()
    assert encoded.endswith("}\n")
    read = json.loads(encoded)
    assert (read["status"], read["result"], read["log"]) == (404, "forwarded", "access")
    datetime.fromisoformat(read["time"])


@pytest.mark.parametrize("sent", ["7b2c-11", "a" * 128, "00-4bf92f3577b34da6:1/2@h=+~._"])
def test_the_clients_own_id_is_shown(sent: str) -> None:
    """This connects it to the logs of the client, and of servers before and behind the proxy."""
    assert shown_id(sent) == sent


@pytest.mark.parametrize("sent", ["", "a" * 129, "a b", 'a"', "a\\", "a\n", "\u00e9", "a\x1b[2J", "a,b"])
def test_any_other_is_replaced(sent: str) -> None:
    """Each such request gets a new random id."""
    made = {shown_id(sent) for _ in range(20)}
    assert len(made) == 20
    assert all(len(each) == 16 and int(each, 16) >= 0 for each in made)
