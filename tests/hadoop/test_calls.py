"""Parsing of request targets: strict for the cache, pessimistic for invalidation, and whether they are WebHDFS."""

from posixpath import normpath
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop import calls
from nncache.hadoop.calls import (
    StatusRequest,
    WebHdfsCall,
    has_form,
    has_plain_fields,
    is_webhdfs,
    parse_call,
    parse_plain,
)
from nncache.hadoop.filestatus import render_missing
from nncache.hadoop.operations import OPERATIONS
from nncache.hadoop.paths import canonical, decode_target_path, is_cacheable

V1 = "/webhdfs/v1"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/w/f?op=GETFILESTATUS", ("/w/f", "/w/f", None, None, None)),
        ("/w/f?op=getFileStatus&user.name=alice", ("/w/f", "/w/f", "alice", None, None)),
        ("?op=GETFILESTATUS", ("/", "/", None, None, None)),
        ("/?user.name=a-b_c.d$&op=GETFILESTATUS", ("/", "/", "a-b_c.d$", None, None)),
        ("//w//f/?op=GETFILESTATUS&doas=bob", ("/w/f", "//w//f/", None, "bob", None)),
        (f"/w?op=GETFILESTATUS&user.name={'a' * 255}", ("/w", "/w", "a" * 255, None, None)),
        (f"/w?op=GETFILESTATUS&delegation={'t' * 300}", ("/w", "/w", None, None, "t" * 300)),
        ("/w%2Ff%20g?op=GETFILESTATUS&delegation=AbC_-09", ("/w/f g", "/w/f g", None, None, "AbC_-09")),
        (
            "/w?delegation=t&doas=b&user.name=hdfs/h@R.COM&op=GETFILESTATUS",
            ("/w", "/w", "hdfs/h@R.COM", "b", "t"),
        ),
    ],
)
def test_a_plain_read_is_read(
    target: str, expected: tuple[str, str, str | None, str | None, str | None]
) -> None:
    """The four parameters in any order; the path as the cache's key and as a 404 quotes it."""
    path, as_requested, user_name, doas, delegation = expected
    assert parse_plain(V1 + target) == StatusRequest(
        path=path, as_requested=as_requested, user_name=user_name, doas=doas, delegation=delegation
    )


@pytest.mark.parametrize("name", ["doAs", "DoAs", "DOAS"])
def test_knoxs_doas_is_plain_and_may_be_ignored(name: str) -> None:
    """Apache Knox spells it `doAs` (apache/knox KNOX-440): some releases then answer for `user.name` alone."""
    query = f"op=GETFILESTATUS&user.name=knox&{name}=jane%40corp.example"
    assert parse_plain(f"{V1}/w?{query}") == StatusRequest(
        path="/w",
        as_requested="/w",
        user_name="knox",
        doas="jane@corp.example",
        delegation=None,
        doas_may_be_ignored=True,
    )


@pytest.mark.parametrize(
    "target",
    [
        # another operation, or none
        V1 + "/w", V1 + "/w?", V1 + "/w?op=", V1 + "/w?user.name=a", V1 + "/w?op=LISTSTATUS",
        V1 + "/w?op=GETFILESTATU\u017f",
        # names that releases read differently, or that no client should send
        V1 + "/w?OP=GETFILESTATUS", V1 + "/w?op=GETFILESTATUS&USER.NAME=a", V1 + "/w?op=GETFILESTATUS&user%2Ename=a",
        V1 + "/w?op=GETFILESTATUS&doas=a&doAs=a", V1 + "/w?op=GETFILESTATUS&doAs=a&DOAS=a",
        V1 + "/w?op=GETFILESTATUS&do%41s=a", V1 + "/w?op=GETFILESTATUS&doa\u017f=a", V1 + "/w?op=GETFILESTATUS&x=1",
        V1 + "/w?op=GETFILESTATUS&", V1 + "/w?&op=GETFILESTATUS",
        V1 + "/w?op=GETFILESTATUS&op=GETFILESTATUS", V1 + "/w?op=GETFILESTATUS&user.name=a&user.name=a",
        # values
        V1 + "/w?op=GETFILESTATU%53", V1 + "/w?op=GETFILESTATUS&user.name=", V1 + "/w?op=GETFILESTATUS&user.name",
        V1 + "/w?op=GETFILESTATUS&user.name=a%0Ab", V1 + "/w?op=GETFILESTATUS&user.name=a%ff",
        V1 + "/w?op=GETFILESTATUS&delegation=a%20b", V1 + "/w?op=GETFILESTATUS&doAs=a%",
        V1 + "/w?op=GETFILESTATUS&user.name=a=b", V1 + "/w?op=GETFILESTATUS;user.name=a",
        V1 + "/w?op=GETFILESTATUS&user.name=a\n",
        V1 + "/w?op=GETFILESTATUS&user.name=" + "a" * 256, V1 + "/w?op=GETFILESTATUS&user.name=a&doas=" + "a" * 256,
        V1 + "/w?op=GETFILESTATUS&user.name=é", V1 + "/w?op=GETFILESTATUS#x", V1 + "/w?op=GETFILESTATUS?",
        # paths
        V1 + "w?op=GETFILESTATUS", V1 + "%2Fw?op=GETFILESTATUS", V1 + "/%zz?op=GETFILESTATUS",
        V1 + "/w#?op=GETFILESTATUS",
        V1 + "/w/../f?op=GETFILESTATUS",
        V1 + "/w/%2e/f?op=GETFILESTATUS", V1 + "/.reserved/raw/w?op=GETFILESTATUS",
        V1 + "/w/.snapshot/s?op=GETFILESTATUS", V1 + "/w;x?op=GETFILESTATUS", V1 + "/[?op=GETFILESTATUS",
        # prefixes
        "http://h:1" + V1 + "/w?op=GETFILESTATUS", "/WEBHDFS/V1/w?op=GETFILESTATUS",
        "/webhdfs//v1/w?op=GETFILESTATUS",
        "//webhdfs/v1/w?op=GETFILESTATUS", "/webhdfs/v2/w?op=GETFILESTATUS", "/%77ebhdfs/v1/w?op=GETFILESTATUS",
        "", "*",
    ],
)  # fmt: skip
def test_anything_else_is_not_plain(target: str) -> None:
    """Such a request is forwarded, and the cache neither answers nor stores it."""
    assert parse_plain(target) is None


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), min_size=1, max_size=8)


@given(st.lists(NAMES, max_size=4), st.data())
def test_a_plain_path_may_be_spelled_in_many_ways(names: list[str], data: st.DataObject) -> None:
    """Unnecessary escapes and slashes change at most the quoted path, never the key."""
    path = canonical("/" + "/".join(names))
    spelled = "".join(
        quote(char, safe="") if data.draw(st.booleans()) or char not in "abcXYZ019-._~" else char
        for char in path.replace("/", data.draw(st.sampled_from(["/", "//"])))
    )
    plain = parse_plain(f"{V1}/{spelled}?op=GETFILESTATUS")
    if not is_cacheable(path):
        assert plain is None
        return
    assert plain is not None
    assert plain.path == path == canonical(plain.as_requested)
    assert plain.as_requested == decode_target_path("/" + spelled)
    assert render_missing(plain.as_requested)


def call_of(line: str) -> WebHdfsCall:
    """Parse "METHOD target"; a target may contain blanks."""
    method, _, target = line.partition(" ")
    return parse_call(method, target)


@pytest.mark.parametrize(
    ("line", "op", "path"),
    [
        (f"PUT {V1}/w/d?op=MKDIRS", "MKDIRS", "/w/d"),
        (f"put {V1}//w//d/?OP=mkdirs", "MKDIRS", "/w/d"),
        (f"PUT {V1}/w%2Fd?%6fp=%4dKDIRS", "MKDIRS", "/w/d"),
        (f"PUT {V1}/w?&&op=MKDIRS&", "MKDIRS", "/w"),
        (f"PUT {V1}/w?op=MKDIRS&op=mkdirs", "MKDIRS", "/w"),
        (f"PUT {V1}/[x]|é;y?op=MKDIRS", "MKDIRS", "/[x]|é;y"),
        (f"PUT {V1}?op=MKDIRS", "MKDIRS", "/"),
        (f"PUT http://h:1{V1}/w?op=MKDIRS", "MKDIRS", "/w"),
        (f"PUT HTTPS://u@[::1]:1{V1}/w?op=MKDIRS", "MKDIRS", "/w"),
        (f"PUT {V1}/.reserved/raw/w?op=MKDIRS", "MKDIRS", "/.reserved/raw/w"),
        (f"DELETE {V1}/w/.snapshot?op=DELETE", "DELETE", "/w/.snapshot"),
        (f"HEAD {V1}/w?op=OPEN", "OPEN", "/w"),
        # ambiguous operations are none
        (f"PUT {V1}/w?op=MKDIRS&op=DELETE", None, "/w"),
        (f"PUT {V1}/w?op=MKDIRS&OP=CREATE", None, "/w"),
        (f"PUT {V1}/w?op=&op=MKDIRS", None, "/w"),
        (f"PUT {V1}/w?op=MKDIRS&x=%zz", None, "/w"),
        (f"PUT {V1}/w?op=MKDIRS&%ff=1", None, "/w"),
        (f"PUT {V1}/w?op==MKDIRS", None, "/w"),
        (f"PUT {V1}/w?op=+MKDIRS", None, "/w"),
        (f"PUT {V1}/w?a=b;op=MKDIRS", None, "/w"),
        (f"PUT {V1}/w?op=DELETE", None, "/w"),
        (f"PUT {V1}/w", None, "/w"),
        (f"PATCH {V1}/w?op=MKDIRS", None, "/w"),
        # paths that some server reads as another path
        (f"PUT {V1}/w/../x?op=MKDIRS", "MKDIRS", None),
        (f"PUT {V1}/%2e?op=MKDIRS", "MKDIRS", None),
        (f"PUT {V1}/%ff?op=MKDIRS", "MKDIRS", None),
        (f"PUT {V1}/%u0041?op=MKDIRS", "MKDIRS", None),
        (f"PUT {V1}/\ud800?op=MKDIRS", "MKDIRS", None),
        (f"PUT {V1}%2Fw?op=MKDIRS", "MKDIRS", None),
        (f"PUT {V1};a=b/w?op=MKDIRS", "MKDIRS", None),
        ("PUT /%77ebhdfs/v1/w?op=MKDIRS", "MKDIRS", None),
        ("PUT /x/../webhdfs/v1/w?op=MKDIRS", "MKDIRS", None),
        ("PUT //webhdfs/v1/w?op=MKDIRS", "MKDIRS", None),
        ("PUT http://h:1?op=MKDIRS", "MKDIRS", None),
        ("CONNECT h:1", None, None),
        ("OPTIONS *", None, None),
        (f"PUT {V1}/w#x?op=MKDIRS", None, None),
        (f"PUT {V1}/w?op=MKDIRS#x", None, None),
    ],
)
def test_what_a_call_asks_for(line: str, op: str | None, path: str | None) -> None:
    """A call is read as the more tolerant of both releases reads it; None where that is uncertain."""
    call = call_of(line)
    assert (call.op.name if call.op else None, call.path) == (op, path)
    assert (call.as_requested is None) == (path is None)
    assert call.method == call.method.upper()


def test_arguments_are_decoded_and_all_kept() -> None:
    """Names lose their letter case, as in 3.4.1; values keep their order, and "+" means a blank."""
    call = call_of(f"PUT {V1}/w?op=RENAME&Destination=%2Fa+b&destination=/c%2Bd&empty&=x")
    assert call.arguments == {"op": ("RENAME",), "destination": ("/a b", "/c+d"), "empty": ("",)}
    assert call.is_certain


@pytest.mark.parametrize("query", ["x=%zz", "x=%", "%=x", "x=%ff", "x=\ud800"])
def test_an_unreadable_parameter_leaves_the_query_uncertain(query: str) -> None:
    """The readable parameters are kept, and `is_certain` is false."""
    call = parse_call("PUT", f"{V1}/w?op=MKDIRS&{query}")
    assert not call.is_certain
    assert call.arguments["op"] == ("MKDIRS",)


def test_so_many_parameters_are_read_and_no_more() -> None:
    """Parameters after the limit are not read and may mean anything, so the query is uncertain."""
    most = "&".join(["op=MKDIRS", *(f"a={number}" for number in range(999))])
    assert parse_call("PUT", f"{V1}/w?{most}").is_certain
    call = parse_call("PUT", f"{V1}/w?{most}&op=DELETE")
    assert not call.is_certain
    assert call.op is None
    assert call.arguments["op"] == ("MKDIRS",)


def test_a_fragment_makes_everything_uncertain() -> None:
    """A NameNode cuts the target there, while a server before it may cut elsewhere."""
    call = parse_call("PUT", f"{V1}/w?op=MKDIRS#")
    assert (call.is_certain, call.arguments) == (False, {})


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("GET", True),
        ("HEAD", True),
        ("OPTIONS", True),
        ("trace", True),
        ("PUT", False),
        ("FOO", False),
        ("", False),
    ],
)
def test_only_the_safe_methods_of_http_are_reads(method: str, expected: bool) -> None:
    """RFC 9110 section 9.2.1; an unknown method might write."""
    assert parse_call(method, f"{V1}/w?op=GETFILESTATUS").is_read is expected


@given(
    st.sampled_from(OPERATIONS),
    st.lists(NAMES, max_size=3),
    st.dictionaries(NAMES, NAMES, max_size=3),
    st.data(),
)
def test_a_call_is_read_however_it_is_spelled(
    row: object, names: list[str], arguments: dict[str, str], data: st.DataObject
) -> None:
    """Escapes, letter case and doubled slashes that a NameNode accepts do not hide the operation."""
    op = next(each for each in OPERATIONS if each is row)

    def spell(text: str) -> str:
        return "".join(
            quote(char, safe="") if data.draw(st.booleans()) else quote(char, safe="/!'") for char in text
        )

    path = canonical("/" + "/".join(names))
    arguments = {key: value for key, value in arguments.items() if key.lower() != "op"}
    query = "&".join(
        [
            f"{spell('op')}={spell(op.name.swapcase())}",
            *(f"{spell(key)}={spell(value)}" for key, value in arguments.items()),
        ]
    )
    call = parse_call(op.method.lower(), f"{V1}/{spell(path[1:])}?{query}")
    assert call.op is op
    assert call.path == (None if {".", ".."} & set(path.split("/")) else path)
    assert call.is_certain
    for key, value in arguments.items():
        assert value in call.arguments[key.lower()]


@pytest.mark.parametrize(
    "query",
    [
        "op=GETFILESTATUS&delegation=s3cret",
        "op=GETFILESTATUS&Delegation=s3cret",
        "op=GETFILESTATUS&%64elegation=s3cret",
        "op=CANCELDELEGATIONTOKEN&token=s3cret",
        "op=X&TOKEN=s3cret",
        "op=GETFILESTATUS&user.name=" + 256 * "j",
    ],
)
def test_no_secret_and_no_long_query_is_remembered(query: str) -> None:
    """Queries of repeated requests are kept in memory, but never these."""
    target = f"/webhdfs/v1/f?{query}"
    before = calls._read_again.cache_info().currsize  # noqa: SLF001 - what is kept
    parse_plain(target)
    assert calls._read_again.cache_info().currsize == before  # noqa: SLF001 - what is kept
    assert not calls.may_be_remembered(target)


@pytest.mark.parametrize(
    "target",
    [
        "/webhdfs/v1",
        "/webhdfs/v1/?op=LISTSTATUS",
        "/webhdfs/v1/w/f?op=OPEN&x=/../..",
        "/webhdfs/v1//w//f/",
        "/webhdfs/v1/w/../f?op=GETFILESTATUS",
        "/webhdfs/v1/..?op=GETFILESTATUS",
        "/webhdfs/v1/a%2F..%2Fb",
        "/webhdfs/v1/co;lon",
        "/webhdfs/v1/...",
        "/webhdfs/v1/a/../b",
        "/%77ebhdfs/v1/f",
        "/webhdfs",
        "/webhdfs?op=x",
        "http://nn:9870/webhdfs/v1/f?op=OPEN",
        "/webhdfs/v1/\udcff",
    ],
)
def test_what_stays_below_webhdfs_is_forwarded(target: str) -> None:
    """The path may be odd: its meaning is left to the NameNode."""
    assert is_webhdfs(target)


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "*",
        "",
        "webhdfs/v1",
        "/jmx",
        "/webhdfsx/v1",
        "/WEBHDFS/v1",
        "//webhdfs/v1",
        "/./webhdfs/v1",
        "/?/webhdfs/v1",
        "/jmx?/webhdfs/v1",
        "/webhdfs/../jmx",
        "/webhdfs/v1/../../jmx",
        "/webhdfs/v1/%2e%2E/..;x/jmx",
        "/webhdfs/v1/..%2f..%2fjmx",
        "/webhdfs/v1/%u002e%u002e/%u002e%u002e/jmx",
        "/webhdfs/v1/%U002E./jmx",
        "/webhdfs//../jmx",
        "/webhdfs/v1/./../../jmx",
        "/webhdfs/v1/a/../../../jmx/../webhdfs/v1",
        "http://nn:9870/jmx",
        "http://webhdfs/v1",
        "nn:9870",
    ],
)
def test_what_leaves_webhdfs_is_not(target: str) -> None:
    """The same port of a NameNode serves /jmx, /conf, /logs and its fsimage."""
    assert not is_webhdfs(target)


segments = st.sampled_from(["webhdfs", "v1", "jmx", "..", ".", "", "%2e%2e", "a%2f..", "..;p"])


@given(st.lists(segments, max_size=8).map(lambda names: "/" + "/".join(names)))
def test_resolving_it_never_leads_out(target: str) -> None:
    """However a server reads dot segments, empty segments and parameters, the path remains below /webhdfs."""
    if not is_webhdfs(target):
        return
    decoded = unquote(target)
    for reading in (decoded, decoded.replace("..;p", "..")):
        assert (normpath(reading) + "/").startswith("/webhdfs/")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            (b"Accept", value)
            for value in (b"", b"*/*", b"application/json, text/plain;q=0.1", b"*;q=.2, */*")
        ),
        *((b"Content-Type", value) for value in (b"a/b", b"text/plain; charset=utf-8")),
        *((b"Host", value) for value in (b"", b"nn", b"nn:9870", b"[::1]", b"[fe80::1%eth0]:9870")),
        (b"X-Other", b"*/*;q=abc"),
    ],
)
def test_usual_fields_change_no_answer(name: bytes, value: bytes) -> None:
    """Each was put to NameNodes (tests/contracts/test_odd_fields.py)."""
    assert has_plain_fields([(name, value)])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((b"accept", value) for value in (b"text/xml", b"*/*;q=0", b"*/*;q=abc", b"*/*," * 101)),
        *((b"content-type", value) for value in (b"json", b"a/b, c/d")),
        *((b"host", value) for value in (b"nn:", b"nn:0", b"nn:65536", b"[::1::]")),
    ],
)
def test_odd_fields_may_change_the_answer(name: bytes, value: bytes) -> None:
    """A NameNode answers 400 or 500 to most of them."""
    assert not has_plain_fields([(name, value)])


def test_a_form_with_a_body_may_name_the_caller() -> None:
    """Of unknown length as well."""
    form = (b"Content-Type", b"Application/X-WWW-Form-Urlencoded")
    assert has_form([form])
    assert has_form([form, (b"Content-Length", b"9")])
    assert not has_form([form, (b"Content-Length", b"0")])
    assert not has_form([(b"Content-Type", b"application/json")])
