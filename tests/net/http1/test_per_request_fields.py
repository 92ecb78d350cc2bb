"""Heads that become equal must ask the same question: compared with a naive parser, and with the rule broken."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nncache.net.http1 import per_request_fields
from nncache.net.http1.per_request_fields import NAMES, value_in, without_per_request_fields

KNOWN = b"GET /webhdfs/v1/w/f?op=GETFILESTATUS&user.name=joe HTTP/1.1\r\nHost: nn\r\nAccept: */*\r\n\r\n"
MAX_FIELDS = 6
TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""RFC 9110, section 5.6.2."""

PIECES = st.sampled_from(
    [
        *(b"GET /webhdfs/v1/w/f?op=GETFILESTATUS&user.name=joe HTTP/1.1", b"Host: nn", b"Accept: */*"),
        *(
            b"traceparent: 00-0a-0b-01",
            b"TraceParent:x",
            b"X-Request-ID: 7",
            b"date: a\tb",
            b"b3:",
            b"b3 : 1",
        ),
        *(b"tracestate: a\r", b"traceparent: \x00", b"traceparent: \xff", b"traceparent", b" folded", b"\t"),
        *(b"Cookie: b3:1", b"x-traceparent: 1", b"traceparent-x: 1", b"cookie: a=b", b"", b"\r", b"\n"),
        *(b"\r\n", b"\r\n\r\n", b": ", b"GET "),
    ]
)
HEADS = st.lists(PIECES, max_size=9).map(b"\r\n".join) | st.lists(PIECES, min_size=0, max_size=5).map(
    lambda more: b"\r\n".join([*KNOWN.split(b"\r\n")[:2], *more, b"Accept: */*", b"", b""])
)


def naive(data: bytes) -> list[bytes] | None:
    """Return the request line and the fields that count, one per line; None unless it is one clean head."""
    if not data.startswith(b"GET ") or not data.endswith(b"\r\n\r\n"):
        return None
    lines = data[:-4].split(b"\r\n")
    if b"" in lines or len(lines) - 1 > MAX_FIELDS:
        return None
    kept = lines[:1]
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if not colon or not TOKEN.fullmatch(name) or re.search(rb"[^\t\x20-\x7e]", value):
            return None
        if name.decode().lower() not in NAMES:
            kept.append(line)
    return kept


def misread(data: bytes) -> bool:
    """Whether the data is taken for the known request although it differs."""
    kept = without_per_request_fields(data, max_fields=MAX_FIELDS)
    known = naive(KNOWN)
    return kept is not data and kept == KNOWN and naive(data) != known


@settings(max_examples=2_000)
@given(HEADS)
def test_what_is_made_one_is_one_question(data: bytes) -> None:
    """Only whole, clean heads with at most `max_fields` fields lose any, and only these fields."""
    assert not misread(data)
    kept = without_per_request_fields(data, max_fields=MAX_FIELDS)
    if naive(data) is not None:
        assert naive(kept) == naive(data)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_left_out(name: str) -> None:
    """This holds for every spelling of its name, and for repeated fields."""
    lines = KNOWN.split(b"\r\n")
    for spelled in (name, name.upper(), name.title()):
        field = spelled.encode() + b": 00-0af7651916cd43dd8448eb211c80319c"
        data = b"\r\n".join([lines[0], field, lines[1], field, *lines[2:]])
        assert without_per_request_fields(data, max_fields=MAX_FIELDS) == KNOWN


@pytest.mark.parametrize(
    ("broken", "data"),
    [
        ("_is_one_get", KNOWN[:-2] + b"\r\ntraceparent: 1\r\n"),
        ("_is_one_get", b"\r\ntraceparent: 1\r\n" + KNOWN),
        ("_LINE: any value", KNOWN.replace(b"Accept", b"b3: \n\r\nAccept")),
        ("_LINE: a longer name", KNOWN.replace(b"Accept", b"x-b3: 1\r\nAccept")),
        ("_LINE: a credential", KNOWN.replace(b"Accept", b"Cookie: 1\r\nAccept")),
        ("max_fields", KNOWN.replace(b"Accept", b"b3: 1\r\n" * 6 + b"Accept")),
    ],
)
def test_each_part_of_the_rule_is_needed(monkeypatch: pytest.MonkeyPatch, broken: str, data: bytes) -> None:
    """With a broken part, another request is taken for a known one."""
    assert not misread(data)
    names = "|".join(NAMES).encode()
    match broken:
        case "_is_one_get":
            monkeypatch.setattr(per_request_fields, "_is_one_get", lambda _: True)
        case "_LINE: any value":
            monkeypatch.setattr(
                per_request_fields, "_LINE", re.compile(rb"\r\n(?:" + names + rb"):[^\r]*(?=\r\n)")
            )
        case "_LINE: a longer name":
            monkeypatch.setattr(
                per_request_fields, "_LINE", re.compile(rb"\r\n[^\r:]*(?:" + names + rb"):[^\r\n]*(?=\r\n)")
            )
        case "_LINE: a credential":
            monkeypatch.setattr(per_request_fields, "_LINE", re.compile(rb"\r\n(?:Cookie):[^\r\n]*(?=\r\n)"))
        case _:
            assert without_per_request_fields(data, max_fields=100) == KNOWN
            return
    kept = without_per_request_fields(data, max_fields=MAX_FIELDS)
    assert kept is not data
    assert kept in (KNOWN, b"\r\n" + KNOWN)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (b"X-Request-Id: 7b-1", "7b-1"),
        (b"x-request-id:\t7b \t", "7b"),
        (b"X-REQUEST-ID:", ""),
        (b"X-Request-Id: a\r\nX-Request-Id: b", "a"),
        (b"X-Request-Id: \xc3\xa9", "\u00c3\u00a9"),
        (b"Y-X-Request-Id: 1", ""),
        (b"Accept: x-request-id: 1", ""),
    ],
)
def test_the_id_of_a_request_is_read_from_its_head(field: bytes, value: str) -> None:
    """The first value counts, without whitespace around it; "" if there is none."""
    assert value_in(KNOWN[:-2] + field + b"\r\n\r\n", b"x-request-id") == value
