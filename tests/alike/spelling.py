"""Requests, and the alternative spellings of each."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from typing import Final

from nncache.net.http1.per_request_fields import NAMES
from tests.hadoop.made_credentials import cookie, token

PATHS: Final = (
    b"/w/f",
    b"/w",
    b"/w/d/h",
    b"/w/none",
    b"/w/%C3%A9",
    b"/w/%6eone",
    b"/w//none",
    b"/w/d",
    b"/x/y",
    b"/",
)
HARMLESS: Final = (
    b"Accept: */*",
    b"User-Agent: poller/1.0",
    b"Accept-Encoding: gzip, deflate",
    b"Connection: keep-alive",
    b"Accept: application/json",
    b"Accept-Language: en",
    b"Content-Type: application/json",
    b"Keep-Alive: timeout=5",
    b"Content-Length: 0",
)
UPGRADES: Final = (
    (b"Connection: Upgrade, HTTP2-Settings", b"HTTP2-Settings: AAEAAEAAAAIAAAAB", b"Upgrade: h2c"),
    (b"Upgrade: TLS/1.2", b"Connection: Upgrade"),
    (b"upgrade: websocket", b"CONNECTION: Upgrade"),
)
"""Upgrade fields that the JDK's client, Apache's and browsers send without TLS."""

TELLING: Final = (
    b"Authorization: Negotiate YII",
    b"Authorization: Basic am9lOg==",
    b"Proxy-Authorization: Basic am9lOg==",
    b"Cookie: a=b",
    b'Cookie: hadoop.auth="u=joe&p=joe&t=simple&e=1&s=x"',
    b"Cookie: " + cookie("joe"),
    b"Cookie: traceparent=1",
    b"Cache-Control: no-cache",
    b"Cache-Control: max-age=0",
    b"Cache-Control: no-store",
    b"Cache-Control: max-age=60",
    b"Pragma: no-cache",
    b"Connection: close",
    b"connection: Close",
    b"Connection: keep-alive, close",
    b"Connection: traceparent",
    b"Connection: upgrade",
    b"Upgrade: websocket",
    b"Upgrade: h2c",
    b"Upgrade: h2c\r\n folded",
    b"Upgrade : h2c",
    b"HTTP2-Settings: AAEAAEAA",
    b"Origin: http://a",
    b"Range: bytes=0-9",
    b"If-None-Match: *",
    b"If-Modified-Since: Sun, 22 Nov 2026 00:00:00 GMT",
    b"Expect: 100-continue",
    b"Content-Length: 00",
    b"Content-Length: 5",
    b"Content-Length: -1",
    b"Content-Length: 0, 0",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: identity",
    b"Accept: text/xml",
    b"Accept: text/xml, */*;q=0",
    b"X-Forwarded-For: 10.0.0.1",
    b"Forwarded: for=10.0.0.1",
    b"TE: trailers",
    b"Host: nn",
    b"Host: other",
    b"Host: nn:9870",
    b"Host: a b",
    b"Host:",
    b"X-Odd: 1",
    b"X-HTTP-Method-Override: DELETE",
)
"""Fields that may change a request's meaning or its answer."""

_BROKEN: Final = (
    b"traceparent : 1",
    b" traceparent: 1",
    b"traceparent: 1\r\n folded",
    b"traceparent:\r\n\tfolded",
    b"traceparent: 1\r\n Cookie: a=b",
    b"traceparent",
    b"traceparent: \x00",
    b"traceparent: \x7f",
    b"traceparent: \xc3\xa9",
    b"traceparent: \xff",
    b"traceparent: a\nb",
    b"traceparent: a\rb",
    b"traceparent: a\nCookie: b=c",
    b"traceparent: a\n\r\nCache-Control: no-cache",
    b"traceparent: a\r",
    b"\ttraceparent: a",
    b"trace parent: a",
    b": a",
    b"b3;: 1",
    b"b3\t: 1",
    b"b3: \t 1 \t",
    b"b3:",
    b"Accept: a\r\n b3: 1",
    b"X-Odd:\r\n b3: 1",
    b"X-Odd: a\x00b",
    b"X-Odd",
)
"""Near misses of a field that the key ignores, and lines that are no fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request in parts."""

    method: bytes = b"GET"
    target: bytes
    version: bytes = b"HTTP/1.1"
    fields: tuple[bytes, ...]
    body: bytes = b""

    def encode(self) -> bytes:
        """Return the bytes of the request."""
        line = b"%b %b %b" % (self.method, self.target, self.version)
        return b"\r\n".join((line, *self.fields, b"", self.body))


def poll(rng: Random) -> Request:
    """Draw a request of the kind that pollers repeat."""
    path = rng.choice(PATHS) if rng.random() < 0.15 else rng.choice(PATHS[:7])
    user = rng.choice((b"&user.name=alice", b"&user.name=alice", b"&user.name=joe", b""))
    fields = [b"Host: nn", *rng.sample(HARMLESS[:8], rng.randrange(4))]
    if rng.random() < 0.1:
        fields.append(rng.choice(TELLING))
    if rng.random() < 0.1:
        fields.append(HARMLESS[-1])
    if rng.random() < 0.1:
        fields += rng.choice(UPGRADES)
    rng.shuffle(fields)
    target = b"/webhdfs/v1%b?op=GETFILESTATUS%b" % (path, user)
    if rng.random() < 0.04:
        fields += rng.choice(([], [b"Connection: keep-alive"]))
        return Request(target=target, version=b"HTTP/1.0", fields=tuple(fields))
    return Request(target=target, fields=tuple(fields))


def read(rng: Random, poll: Request, *, opens: float) -> Request:
    """Turn a poll into a read that memory cannot answer; the share `opens` of them sets an access time."""
    path = (
        rng.choice(PATHS[:5]) if rng.random() < 0.5 else poll.target.partition(b"?")[0][len(b"/webhdfs/v1") :]
    )
    op = rng.choice(_OPENING if rng.random() < opens else _READS)
    user = rng.choice((b"alice", b"alice", b"joe"))
    if is_status := op == b"GETFILESTATUS":
        path = rng.choice(PATHS[-2:] if rng.random() < 0.8 else PATHS[:5])
    fields = poll.fields
    if rng.random() < 0.95:
        fields = tuple(field for field in fields if field in _OF_A_READ)
    target = b"/webhdfs/v1%b?op=%b&user.name=%b" % (path, op, user)
    if not is_status:
        target += b"&n=%d" % rng.randrange(60)
    return replace(poll, target=target, fields=fields)


def status(rng: Random, poll: Request) -> Request:
    """Draw a status request for one of many paths; some match no filter."""
    path = rng.choice((b"/w/n", b"/w/n", b"/w/d/n", b"/w/d/h/n")) + b"%d" % rng.randrange(400)
    fields = tuple(field for field in poll.fields if field in _OF_A_READ)
    if rng.random() < 0.1:
        fields = (*fields, rng.choice(_DIRECTIVES))
    user = rng.choice((b"alice", b"alice", b"joe"))
    return replace(poll, target=b"/webhdfs/v1%b?op=GETFILESTATUS&user.name=%b" % (path, user), fields=fields)


def two_step(rng: Random) -> Request:
    """Draw a write whose second step goes to a DataNode: until its end is known, its path is not cached."""
    target = b"/webhdfs/v1%b?op=CREATE&user.name=alice&n=%d" % (rng.choice(PATHS[:4]), rng.randrange(40))
    return Request(method=b"PUT", target=target, fields=(b"Host: nn",))


_DIRECTIVES: Final = (b"Cache-Control: no-cache", b"Cache-Control: no-cache", b"Cache-Control: no-store")
_OPENING: Final = (b"OPEN", b"GET_BLOCK_LOCATIONS")
_READS: Final = (b"LISTSTATUS", b"LISTSTATUS", b"GETCONTENTSUMMARY", b"GETFILESTATUS", b"GETACLSTATUS")
_OF_A_READ: Final = {b"Host: nn", *HARMLESS[:8], *chain(*UPGRADES)}


def traced(rng: Random, request: Request) -> Request:
    """Add fields that do not change the meaning."""
    fields = list(request.fields)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 15 if rng.random() < 0.1 else 4))):
        fields.insert(rng.randint(0, len(fields)), _trace_field(rng))
    if rng.random() < 0.02:
        fields.append(b"tracestate: " + b"a=b," * rng.randrange(180, 240))
    return replace(request, fields=tuple(fields))


def _trace_field(rng: Random) -> bytes:
    name = rng.choice(NAMES)
    spelled = rng.choice((name, name, name.upper(), name.title()))
    gap = rng.choice((" ", " ", " ", "", "  ", "\t"))
    return f"{spelled}:{gap}{rng.getrandbits(32):08x}{rng.choice(('', '', ' ', '-01'))}".encode()


def with_another_field(rng: Random, request: Request) -> Request:
    """Add, remove, repeat, move or respell a field."""
    fields = list(request.fields)
    at = rng.randrange(len(fields)) if fields else 0
    match rng.randrange(9):
        case 0 | 1 | 2:
            fields.insert(at, rng.choice(TELLING))
        case 3 | 4:
            fields.insert(at, rng.choice(_BROKEN).replace(b"traceparent", rng.choice(NAMES).encode()))
        case 5:
            fields = [field for number, field in enumerate(fields) if number != at]
        case 6:
            fields.insert(rng.randint(0, len(fields)), fields[at] if fields else b"")
        case 7:
            rng.shuffle(fields)
        case _ if fields:
            respell = rng.choice(_RESPELLINGS)
            fields[at] = respell(fields[at])
    request = replace(request, fields=tuple(fields))
    if b"Transfer-Encoding: chunked" in fields:
        return replace(request, body=rng.choice(_CHUNKS))
    return replace(request, body=b"12345") if b"Content-Length: 5" in fields else request


_CHUNKS: Final = (
    b"0\r\n\r\n",
    b"3\r\nabc\r\n0\r\n\r\n",
    b"3;e\r\nabc\r\n0\r\nCookie: a=b\r\n\r\n",
    b"0\r\nHost: other\r\nT: v\r\n\r\n",
    b"x\r\n",
)
_RESPELLINGS: Final[tuple[Callable[[bytes], bytes], ...]] = (
    bytes.lower,
    bytes.upper,
    bytes.swapcase,
    lambda field: field.replace(b": ", b":", 1),
    lambda field: field.replace(b": ", b":  ", 1),
    lambda field: field.replace(b": ", b":\t", 1),
    lambda field: field.replace(b": ", b" : ", 1),
    lambda field: field + b" ",
    lambda field: field + b"\r\n folded",
    lambda field: b"X-" + field,
    lambda field: field.partition(b":")[0] + b":",
)


def with_another_target(rng: Random, request: Request) -> Request:
    """Respell the target, or name another path or query."""
    path, mark, query = request.target.partition(b"?")
    match rng.randrange(7):
        case 5:
            return in_another_case(rng, request)
        case 0 | 1 if len(path) > 12:
            return replace(request, target=rng.choice(_PATH_SPELLINGS)(rng, path) + mark + query)
        case 2 | 3:
            return replace(request, target=path + mark + rng.choice(_QUERY_SPELLINGS)(query))
        case 4:
            return replace(request, target=rng.choice(_TARGETS)(request.target))
        case _:
            return replace(request, target=path.rpartition(b"/")[0] + b"/other?" + query)


def in_another_case(rng: Random, request: Request) -> Request:
    """Swap the case of one letter of the target after its prefix."""
    target = request.target
    at = rng.choice([at for at, letter in enumerate(target) if chr(letter).isalpha()][9:])
    return replace(request, target=target[:at] + target[at : at + 1].swapcase() + target[at + 1 :])


def _encoded(rng: Random, path: bytes) -> bytes:
    at = rng.randrange(12, len(path))
    digits = b"%%%02x" if rng.random() < 0.5 else b"%%%02X"
    return path[:at] + digits % path[at] + path[at + 1 :]


_PATH_SPELLINGS: Final[tuple[Callable[[Random, bytes], bytes], ...]] = (
    _encoded,
    _encoded,
    lambda _, path: path.replace(b"/w", b"//w"),
    lambda _, path: path.replace(b"/w", b"/w/"),
    lambda _, path: path + b"/",
    lambda _, path: path.replace(b"/w", b"/w/."),
    lambda _, path: path.replace(b"/w", b"/w/../w"),
    lambda _, path: path.swapcase(),
    lambda _, path: path[:12] + path[12:].upper(),
    lambda _, path: path + b"#f",
    lambda _, path: path + b"%00",
    lambda _, path: path + b"%zz",
    lambda _, path: path + b"%2F",
    lambda _, path: path + b"\xc3\xa9",
    lambda _, path: path + b"\xe9",
    lambda _, path: path.replace(b"%C3%A9", b"\xc3\xa9"),
    lambda _, path: path + b";a=b",
    lambda _, path: path + b"\\",
)
_QUERY_SPELLINGS: Final[tuple[Callable[[bytes], bytes], ...]] = (
    lambda _: b"",
    lambda query: query + b"&",
    lambda query: b"&" + query,
    lambda query: b"&".join(reversed(query.split(b"&"))),
    lambda query: query.replace(b"GETFILESTATUS", b"getfilestatus"),
    lambda query: query.replace(b"GETFILESTATUS", b"GetFileStatus"),
    lambda query: query.replace(b"op=", b"OP="),
    lambda query: query.replace(b"user.name", b"USER.NAME"),
    lambda query: query.replace(b"alice", b"bob"),
    lambda query: query.replace(b"alice", b"Alice"),
    lambda query: query.replace(b"=alice", b"="),
    lambda query: query.replace(b"alice", b"%61lice"),
    lambda query: query + b"&user.name=carol",
    lambda query: query + b"&doas=bob",
    lambda query: query.partition(b"&")[0] + b"&delegation=" + token("joe").encode(),
    lambda query: query + b"&x=1",
    lambda query: query + b"#f",
    lambda query: query + b"?",
    lambda query: query.replace(b"GETFILESTATUS", b"LISTSTATUS"),
    lambda query: query.replace(b"GETFILESTATUS", b"OPEN"),
    lambda query: query.replace(b"GETFILESTATUS", b"GETCONTENTSUMMARY"),
    lambda query: query + b"&op=GETFILESTATUS",
)
_TARGETS: Final[tuple[Callable[[bytes], bytes], ...]] = (
    lambda target: b"http://nn" + target,
    lambda target: target.replace(b"/v1", b"/V1"),
    lambda target: target.replace(b"/v1", b"/v2"),
    lambda target: target.replace(b"/webhdfs", b"/WebHDFS"),
    lambda target: target + b" ",
    lambda target: target.replace(b"?", b" ?"),
    lambda target: b"/" + target,
    lambda target: target[1:],
    lambda target: target + b"&a=" + b"a" * 1000,
    lambda _: b"*",
    lambda _: b"/",
    lambda _: b"",
)


def framed_otherwise(rng: Random, request: Request) -> bytes:
    """Encode it with another version or method, as garbage, or truncated."""
    data = request.encode()
    match rng.randrange(13):
        case 0:
            return replace(
                request,
                version=rng.choice((b"HTTP/1.0", b"HTTP/1.0", b"HTTP/1.2", b"HTTP/2.0", b"http/1.1", b"")),
            ).encode()
        case 1 | 2:
            return replace(
                request, method=rng.choice((b"get", b"HEAD", b"POST", b"OPTIONS", b"CONNECT", b"TRACE", b"G"))
            ).encode()
        case 3:
            return rng.choice((b"\r\n", b"\n", b"\r\n\r\n", b" ", b"\r")) + data
        case 4:
            return (
                data.replace(b"\r\n", b"\n") if rng.random() < 0.3 else re.sub(rb"\r\n", b"\n", data, count=1)
            )
        case 5 | 6 | 7:
            return data[: rng.randrange(1, len(data))]
        case 8:
            return rng.choice(GARBAGE)
        case 9 | 10:
            return data + rng.choice(_BEHIND)
        case 11:
            return data.replace(b" ", b"  ", 1)
        case _:
            at = rng.randrange(len(data))
            return data[:at] + rng.choice((b"\x00", b"\r", b"\n", b" ", b":", b"\xff", b"")) + data[at + 1 :]


GARBAGE: Final = (b"\x16\x03\x01\r\n", b"\r\n", b"\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
_BEHIND: Final = (b"\r\n", b"x", b"12345", b"\r\n\r\n", *(b"traceparent: 1\r\n",) * 3)


def write(rng: Random) -> Request:
    """Draw a write, or a read other than GETFILESTATUS."""
    path = rng.choice(PATHS[:5])
    method, op = rng.choice(_OPERATIONS)
    target = b"/webhdfs/v1%b?op=%b&user.name=alice&n=%d" % (path, op, rng.randrange(40))
    fields: tuple[bytes, ...] = (b"Host: nn",)
    match rng.randrange(6) if method != b"GET" else 0:
        case 1:
            return Request(method=method, target=target, fields=(*fields, b"Content-Length: 0"))
        case 2:
            body = b"b" * rng.choice((1, 20, 3000))
            fields = (*fields, b"Content-Length: %d" % len(body))
            if rng.random() < 0.3:
                fields = (*fields, b"Expect: 100-continue")
            return Request(method=method, target=target, fields=fields, body=body)
        case 3:
            body = b"4\r\nbody\r\n0\r\n%b\r\n" % rng.choice((b"", b"", b"T: v\r\n"))
            return Request(
                method=method, target=target, fields=(*fields, b"Transfer-Encoding: chunked"), body=body
            )
        case _:
            return Request(method=method, target=target, fields=fields)


_OPERATIONS: Final = (
    (b"PUT", b"MKDIRS"),
    (b"PUT", b"SETPERMISSION&permission=700"),
    (b"PUT", b"SETTIMES"),
    (b"PUT", b"CREATE"),
    (b"POST", b"APPEND"),
    (b"PUT", b"RENAME&destination=/w/g"),
    (b"DELETE", b"DELETE"),
    (b"GET", b"OPEN"),
    (b"GET", b"LISTSTATUS"),
    (b"GET", b"GETCONTENTSUMMARY"),
)
