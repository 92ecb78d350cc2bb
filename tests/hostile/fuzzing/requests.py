"""A client's request: target, path, header fields, caller."""

import re
from typing import Final
from urllib.parse import quote

from nncache.hadoop.calls import PREFIX, is_webhdfs, parse_call, parse_plain
from nncache.hadoop.paths import (
    InvalidPathError,
    ancestors,
    canonical,
    decode_loosely,
    decode_target_path,
    depth,
    has_dot_segments,
    is_cacheable,
    name,
    parent,
)
from nncache.net.http1.conditional import MAX_TAGS, conditions_of, etag_of
from nncache.proxy.headers import request_headers
from nncache.proxy.identity import Credential, Unclear, authentication_of, caller_of, rpc_user_of
from nncache.proxy.reading import CacheDirective, cache_directive_of
from tests.hostile.fuzzing.target import Target, hold, text_of

_MAX_WAIT_S: Final = 60
_OUR_TAG: Final = re.compile(rb'"[0-9a-f]{32}"')
METHODS: Final = ("GET", "PUT", "POST", "DELETE", "HEAD", "PATCH", "put", "\udcff")


def check_target(data: bytes) -> None:
    """Check a target; the first byte selects the method."""
    method, target = METHODS[data[0] % len(METHODS) if data else 0], text_of(data[1:])
    call = parse_call(method, target)
    is_served = is_webhdfs(target)
    plain = parse_plain(target)
    hold((call.path is None) == (call.as_requested is None), "a path without its spelling")
    if call.path is not None:
        hold(canonical(call.path) == call.path, f"not canonical: {call.path!r}")
        hold(canonical(call.as_requested or "") == call.path, "its spelling is that of another path")
    if plain is not None:
        hold(is_served, "a plain read is no WebHDFS")
        hold(plain.path == call.path, f"two readings of one path: {plain.path!r}, {call.path!r}")
        hold(plain.as_requested == call.as_requested, "two spellings of one path")
        hold(call.is_certain, "a plain read is not certain")
        hold(is_cacheable(plain.path), "a plain read of what is not kept")
        if method == "GET":
            hold(call.op is not None and call.op.name == "GETFILESTATUS", "a plain read of another operation")
        for key, value in (("user.name", plain.user_name), ("doas", plain.doas)):
            hold(call.arguments.get(key, (None,)) == (value,), f"two readings of {key}")


def check_path(data: bytes) -> None:
    """Check a spelling of a path after the service's own path."""
    try:
        strict: str | None = decode_target_path(data)
    except InvalidPathError:
        strict = None
    try:
        decoded = decode_loosely(data)
    except InvalidPathError:
        hold(strict is None, "the strict reader takes what the loose one refuses")
        return
    hold(strict in (None, decoded), "the two readers differ")
    path = canonical(decoded)
    hold(canonical(path) == path, "canonical twice is another path")
    hold(decode_target_path(quote(path)) == path, "a path does not come back from its own spelling")
    hold(b"%" in data or canonical(text_of(data) or "/") == path, "unescaped, it is another path")
    parts = [part for part in decoded.split("/") if part]
    hold(path == "/" + "/".join(parts), "a name is lost")
    hold(name(path) == (parts[-1] if parts else ""), "another last name")
    above = ["/" + "/".join(parts[:end]) for end in range(len(parts) - 1, -1, -1)] if parts else []
    hold(list(ancestors(path)) == above, "other ancestors")
    hold(list(ancestors(path)[1:]) == above[1:], "other ancestors of its parent")
    hold(depth(path) == len(above), "another depth")
    hold(parent(path) == (above[0] if above else None), "another parent")
    is_dotted = "." in parts or ".." in parts
    hold(has_dot_segments(path) == is_dotted, "dot segments")
    hold(
        is_cacheable(path) == (not is_dotted and ".snapshot" not in parts and parts[:1] != [".reserved"]),
        "what may be cached",
    )


def check_fields(data: bytes) -> None:
    """Check header fields, one a line, as a validated request has them."""
    fields = tuple(
        (field_name, value)
        for field_name, colon, value in (line.partition(b":") for line in data.split(b"\n"))
        if colon
    )
    conditions = cache_directive_of(fields)
    hold(cache_directive_of(fields[::-1]) is conditions, "the order of the fields matters")
    hold(
        cache_directive_of([(key.swapcase(), value) for key, value in fields]) is conditions,
        "the case of a name matters",
    )
    hold(
        cache_directive_of((*fields, (b"Authorization", b"x"))) is CacheDirective.NO_TRACE,
        "a credential is overlooked",
    )
    read = parse_plain(f"{PREFIX}/p?op=GETFILESTATUS&user.name=alice")
    assert read is not None
    hold(
        authentication_of(read, (*fields, (b"Cookie", b"hadoop.auth=x&t=kerberos"))) is Unclear.UNCLEAR,
        "a caller's cookie is overlooked",
    )
    held = authentication_of(read, fields)
    if isinstance(held, Credential):
        hold(
            authentication_of(read, (*fields, (b"Cookie", b"a=b"))) != held,
            "another cookie beside a credential is overlooked",
        )
    if conditions is not CacheDirective.NO_TRACE and not any(
        key.lower() == b"cache-control" for key, _ in fields
    ):
        hold(
            cache_directive_of((*fields, (b"Cache-Control", b"no-cache"))) is CacheDirective.REFRESH,
            "no-cache is overlooked",
        )
    sent = request_headers(fields, "192.0.2.1")
    addresses = [value for key, value in sent if key.lower() == b"x-forwarded-for"]
    hold(addresses == [b"192.0.2.1"], "a client chooses its own address")
    for kept in (b"host", b"content-length"):
        before = [value for key, value in fields if key.lower() == kept]
        hold(before == [value for key, value in sent if key.lower() == kept], f"{kept!r} is dropped")


def check_conditions(data: bytes) -> None:
    """Check values of `Prefer` and of `If-None-Match`, on alternate lines."""
    lines = data.split(b"\n")
    prefers, tags = (
        [(key, value) for value in lines[first::2]] for first, key in ((0, b"Prefer"), (1, b"if-none-match"))
    )
    conditions = conditions_of((*prefers, *tags), max_wait_s=_MAX_WAIT_S)
    hold(
        conditions == conditions_of((*tags, *prefers), max_wait_s=_MAX_WAIT_S),
        "the order of two fields matters",
    )
    swapped = tuple((key.swapcase(), value) for key, value in (*prefers, *tags))
    hold(conditions == conditions_of(swapped, max_wait_s=_MAX_WAIT_S), "the case of a name matters")
    all_tags = (each.strip().removeprefix(b"W/") for _, value in tags for each in value.split(b","))
    ours = dict.fromkeys(each for each in all_tags if each == b"*" or _OUR_TAG.fullmatch(each))
    known = frozenset(list(ours)[:MAX_TAGS]) if tags else None
    hold(
        (conditions.known if conditions else None) == known,
        "other tags than the first of ours that a naive reader sees",
    )
    if conditions is None:
        return
    hold(0 <= conditions.wait_s <= _MAX_WAIT_S, "a longer wait than there may be")
    hold(
        conditions.wait_s == 0 or b"wait" in b",".join(value for _, value in prefers).lower(),
        "a wait that is not a valid preference",
    )
    hold(not conditions.is_not_modified(404, data), "304 of an error")
    is_held = conditions.known is not None and etag_of(data) in conditions.known
    hold(conditions.is_not_modified(200, data) == is_held, "304 of what the client does not have")


def check_callers(data: bytes) -> None:
    """Check two queries, one a line, from one address: equal callers need queries of equal meaning."""
    one, _, other = data.partition(b"\n")
    reads = [parse_plain(f"{PREFIX}/p?op=GETFILESTATUS&{query}") for query in (text_of(one), text_of(other))]
    first, second = reads
    if first is None or second is None:
        return
    tokens = tuple(authentication_of(read, ()) for read in (first, second))
    callers = []
    for read, token in zip((first, second), tokens, strict=True):
        if token is Unclear.UNCLEAR:
            return
        hold((token is None) == (read.delegation is None), "a token is overlooked")
        caller = caller_of(read, token, "192.0.2.1")
        if read.doas is not None:
            hold(caller != caller_of(read, token, "192.0.2.2"), "a proxy user's address is overlooked")
        if read.delegation is not None:
            hold(read.delegation not in caller, "a token is kept in clear")
        user = rpc_user_of(read, token)
        if user is not None:
            hold(read.user_name is not None and read.delegation is None, "an RPC user is guessed")
        callers.append(caller_of(read, token, "a"))
    is_same = (first.user_name, first.doas, tokens[0]) == (second.user_name, second.doas, tokens[1])
    hold((callers[0] == callers[1]) == is_same, "two callers have one name")


REQUESTS: Final = (
    Target(
        name="request-target",
        invariant="parse_call never refuses; what parse_plain takes, parse_call and is_webhdfs read in the same way",
        check=check_target,
        seeds=(
            b"\0/webhdfs/v1/a/b?op=GETFILESTATUS&user.name=alice",
            b"\0/webhdfs/v1//a%20b/?op=getfilestatus&doas=bob&delegation=x",
            b"\1/webhdfs/v1/a?op=RENAME&destination=/b/c",
            b"\1/webhdfs/v1/.reserved/.inodes/16386/x?op=CREATE&noredirect=true",
            b"\2/webhdfs/v1/a?op=CONCAT&sources=/b,/c",
            b"\1http://nn:1/webhdfs/v1/a/b/c?op=MKDIRS#f",
            b"\5/webhdfs/v1/a?op=X&a=/b,/c&d=%zz",
            b"\1/webhdfs/v1/a?op=SETXATTR&xattr.name=raw.x&op=MKDIRS",
            b"\0/webhdfs/v1/..;/%2e%2e/%u002e/jmx",
            b"\3/webhdfs/v1/.reserved/raw/x%2Fy?OP=DELETE",
        ),
        modules=(
            "nncache.hadoop.calls",
            "nncache.hadoop.paths",
            "nncache.hadoop.operations",
        ),
    ),
    Target(
        name="path",
        invariant="a path or InvalidPathError; both readers agree; canonical twice is canonical once; a path comes "
        "back from its own spelling; names, parents and ancestors are those of a naive reader",
        check=check_path,
        seeds=(
            b"/a/b/_SUCCESS",
            b"//a%2Fb;x/%41+c/",
            b"/%c3%a9/%e9",
            b"/a/./../.snapshot/s",
            b"/.reserved/raw/x",
            b"/%00",
            b"relative",
            b"/%zz%",
        ),
        modules=("nncache.hadoop.paths",),
    ),
    Target(
        name="header-fields",
        invariant="a preference, whatever the fields' order and the case of their names; credentials, other cookies "
        "and no-cache are never overlooked; the client's address is ours to say",
        check=check_fields,
        seeds=(
            b'Host:nn\nAccept:*/*\nCookie:hadoop.auth="u=a&p=a&t=simple&e=1&s=x"',
            b"Cache-Control:max-age=0, no-store\nPragma:no-cache",
            b"Accept:text/html;q=0.9, application/json;q=0\nContent-Length:0",
            b"Connection:close, X-Forwarded-For, Host\nX-Forwarded-For:1.2.3.4\nTE:trailers",
            b"cookie:HADOOP.AUTH=a; hadoop.auth=b\nExpect:100-continue",
        ),
        modules=("nncache.proxy.reading", "nncache.proxy.headers"),
    ),
    Target(
        name="prefer-wait",
        invariant="tags are those of a naive reader; no wait is longer than allowed or comes from nothing; the order "
        "of two fields and the case of their names do not matter; an error is never a 304",
        check=check_conditions,
        seeds=(
            b'wait=10\n"a", W/"b"',
            b'respond-async, WAIT = "7" ; x=1\n*\nwait=5\n"c"',
            b"return=minimal, wait=999999999\n,,\t W/",
            b'wait="5\n\nwait=;wait=3',
            b'wait=1\nW/"%032x", "%032x" ,*' % (1, 2),
            b"wait=1\n" + b",".join(b'"%032x"' % number for number in range(MAX_TAGS + 2)),
        ),
        modules=("nncache.net.http1.conditional",),
        max_bytes=2_048,
    ),
    Target(
        name="caller",
        invariant="two reads have one caller exactly if user, doas and token are the same; no token is kept in clear; "
        "whom RPC asks as is never guessed",
        check=check_callers,
        seeds=(
            b"user.name=alice\nuser.name=alice",
            b"user.name=alice&doas=bob\ndoas=bob&user.name=alice",
            b"delegation=KAAFYWxpY2UFYWxpY2U\nuser.name=x",
            b"doas=x\nuser.name=a",
        ),
        modules=("nncache.proxy.identity", "nncache.hadoop.calls"),
    ),
)
