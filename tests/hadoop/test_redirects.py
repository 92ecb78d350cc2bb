"""The path that the second step of a two-step write changes (cloudera/hue #2888, droppyjs/droppy #72)."""

import json
import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nncache.hadoop.calls import PREFIX, parse_call
from nncache.hadoop.redirects import form_c, second_step_paths

DATANODE = "http://dn:9864"
DEEP = "/" + "a/" * 1_000 + "a"


def of_location(asked: str, location: str) -> tuple[str, ...]:
    """Return the paths in a redirect's Location field."""
    headers = ((b"Date", b"now"), (b"Location", location.encode("utf-8", "surrogateescape")))
    return second_step_paths(parse_call("PUT", f"{PREFIX}{asked}?op=CREATE"), headers, b"")


def of_json(asked: str, body: bytes | None) -> tuple[str, ...]:
    """Return the paths in the reply to `noredirect=true`."""
    call = parse_call("PUT", f"{PREFIX}{asked}?op=CREATE&noredirect=true")
    return second_step_paths(call, ((b"Content-Type", b"application/json"),), body)


LOCATIONS = """
/d/cafe%CC%81 | $/d/caf%C3%A9?op=CREATE | /d/caf\u00e9
/d/cafe%CC%81/x | $/d/caf%C3%A9/x?op=CREATE#there | /d/caf\u00e9/x
/%EF%A4%80 | $/%E8%B1%88 | /\u8c48
/%E1%84%80%E1%85%A1 | $/%EA%B0%80 | /\uac00
/f%FF | $/f%EF%BF%BD | /f\ufffd
/f%FF | $/f%FF |
/a/../b | $/b?op=CREATE | /b
/a | ^/a/ | /a
/a | $ | /
/a | $/.reserved/raw/b | /b
/a | $/.reserved/.inodes/16385 |
/.reserved/.inodes/16385 | $/.reserved/.inodes/16385 |
/a%25 | $/a%25 | /a%
/%3C%CC%A7 | $/%3%C3%87 | /<\u0327
/e%CC%81 | $/%zz | /e\u0301 /\u00e9
/e%CC%81 | $/a/../b | /e\u0301 /\u00e9
/e%CC%81 | http://dn:9864/other | /e\u0301 /\u00e9
/e%CC%81 | http://dn:9864$/x%2 | /e\u0301 /\u00e9
/e%CC%81 | $/e\u0301 | /e\u0301 /\u00e9
"""


@pytest.mark.parametrize("row", LOCATIONS.strip().splitlines())
def test_the_redirect_says_what_is_written(row: str) -> None:
    """Decoding is strict; an unreadable Location leaves the request's path and its form NFC."""
    asked, location, expected = (part.strip() for part in row.split("|"))
    location = location.replace("$", DATANODE + PREFIX).replace("^", PREFIX)
    assert of_location(asked, location) == tuple(expected.split())


def test_two_locations_are_as_good_as_none() -> None:
    """Clients differ in the one that they follow."""
    headers = ((b"location", b"/webhdfs/v1/b"), (b"Location", b"/webhdfs/v1/c"))
    assert second_step_paths(parse_call("PUT", f"{PREFIX}/a?op=CREATE"), headers, None) == ("/a",)


JSON = [
    ("/e", {"Location": f"{DATANODE}{PREFIX}/d/e?op=CREATE"}, ("/d/e",)),
    ("/x", {"Location": f"{DATANODE}{PREFIX}/e\u0301?op=CREATE"}, ("/e\u0301", "/\u00e9")),
    ("/x", {"Location": f"{DATANODE}{PREFIX}/%3C\u0327?op=CREATE"}, ("/<\u0327",)),
    ("/x", {"Location": f"{DATANODE}{PREFIX}/\ufffd"}, ("/\ufffd",)),
    ("/x", {"Location": 7}, ("/x",)),
    ("/x", {"boolean": True}, ("/x",)),
]


@pytest.mark.parametrize(("asked", "body", "expected"), JSON)
def test_the_json_leaves_the_form_to_the_client(asked: str, body: object, expected: tuple[str, ...]) -> None:
    """Browsers keep the name unchanged, while Java's URI converts it to NFC; a broken escape is no name."""
    assert of_json(asked, json.dumps(body, ensure_ascii=False).encode()) == expected


@pytest.mark.parametrize("body", [None, b"", b"\xff", b'{"Location":"\xff"}', b"[" * 10_000])
def test_a_reply_that_cannot_be_read_leaves_the_request(body: bytes | None) -> None:
    """The body is streamed, truncated or not JSON; with an unreadable request path no path is left."""
    assert of_json("/e%CC%81", body) == ("/e\u0301", "/\u00e9")
    assert of_json("/%FF", body) == ()


def test_beyond_the_limits_of_hdfs_nothing_is_written() -> None:
    """The redirect's path counts: its form NFC may be shorter or longer."""
    assert of_location(DEEP, f"{DATANODE}{PREFIX}{DEEP}") == ()
    assert of_location("/a", f"{DATANODE}{PREFIX}{DEEP}") == ()
    long = "/" + "e%CC%81" * 4_001
    assert of_location(long, f"{DATANODE}{PREFIX}/{'%C3%A9' * 4_001}") == ("/" + "\u00e9" * 4_001,)
    assert of_json(long, None) == ("/" + "\u00e9" * 4_001,)


MARKS = "\u0300\u0301\u0308\u0316\u0323\u0327\u0338\u0344\u0345\u05b0\u093c\u0f71\u0f73\u0f81\u3099\U0001d165"
LETTERS = "Ae\u00e9\u0390\u1ec7\u1fa7\ufb2c\u09c7\u09be\u09cb\U0001d158\U0001d160"
HANGUL = "\u1100\u1112\u1161\u1175\u11a7\u11a8\u11c2\uac00\uac01\ud7a3"
COMPATIBLE = "\uf900\uf914\ufa0e\U0002f800\U0002fa1d\u212b\u2126\ufb01\uff21"
SURROGATES = "\udc80\udccc\udcff\ud800"


@settings(max_examples=1_000)
@given(st.text(MARKS + LETTERS + HANGUL + COMPATIBLE + SURROGATES + "/", max_size=40) | st.text())
def test_form_c_is_that_of_unicode(text: str) -> None:
    """The result equals that of the standard library for any text of a client."""
    assert form_c(text) == unicodedata.normalize("NFC", text)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=8))
def test_a_name_is_read_as_java_spells_it(name: str) -> None:
    """`URI.toASCIIString` escapes what its constructor leaves unescaped, letters included."""
    if name in {".", ".."}:
        return
    spelled = quote(unicodedata.normalize("NFC", name), safe="")
    expected = "/" + unicodedata.normalize("NFC", name)
    assert of_location("/" + quote(name), f"{DATANODE}{PREFIX}/{spelled}?op=CREATE") == (expected,)


@given(st.binary(max_size=60), st.binary(max_size=60), st.booleans())
def test_any_reply_can_be_taken(asked: bytes, answered: bytes, is_field: bool) -> None:
    """FailToNameNode: no redirect may make a write fail."""
    call = parse_call("PUT", f"{PREFIX}/{asked.decode('utf-8', 'surrogateescape')}?op=CREATE")
    location = PREFIX.encode() + b"/" + answered
    headers = ((b"Location", location),) if is_field else ()
    paths = second_step_paths(call, headers, b'{"Location":"' + location + b'"}')
    assert len(paths) <= 2
