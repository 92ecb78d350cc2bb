"""Requests of a given size with the most expensive contents for their shape."""

from collections.abc import Callable, Mapping
from itertools import count, takewhile
from typing import Final

from nncache.hadoop.calls import PREFIX


def head(method: str, target: bytes, *fields: bytes) -> bytes:
    """Return a complete head."""
    return b"\r\n".join((b"%b %b HTTP/1.1" % (method.encode(), target), b"Host: nn", *fields, b"", b""))


def _path(method: str, unit: bytes, query: bytes, top: bytes = b"/top") -> Callable[[int], bytes]:
    """Return a function that repeats a part of the path."""
    return lambda size: head(
        method, PREFIX.encode() + top + unit * (size // len(unit)) + b"?user.name=carol&op=" + query
    )


def _query(method: str, query: bytes, unit: bytes, path: bytes = b"/top/a") -> Callable[[int], bytes]:
    """Return a function that repeats a part of the query."""
    return lambda size: head(
        method, PREFIX.encode() + path + b"?user.name=carol&op=" + query + unit * (size // len(unit))
    )


def _numbered(method: str, query: bytes, unit: bytes) -> Callable[[int], bytes]:
    """Return a function that repeats a part of the query with ascending numbers."""

    def make(size: int) -> bytes:
        total = 0
        parts = []
        for number in count():
            parts.append(unit % number)
            total += len(parts[-1])
            if total > size:
                break
        return head(method, PREFIX.encode() + b"/top/a?user.name=carol&op=" + query + b"".join(parts[:-1]))

    return make


def _field(
    name: bytes, start: bytes, unit: bytes, target: bytes = b"GETFILESTATUS"
) -> Callable[[int], bytes]:
    """Return a function that repeats a part of a header field of a plain read."""
    plain = PREFIX.encode() + b"/top/a?op=" + target + b"&user.name=carol"
    return lambda size: head("GET", plain, name + b": " + start + unit * (size // len(unit)))


def _fields(unit: bytes) -> Callable[[int], bytes]:
    """Return a function that repeats a whole field as often as allowed."""
    return lambda size: head(
        "GET",
        PREFIX.encode() + b"/top/a?op=GETFILESTATUS&user.name=carol",
        *(b"X-%d: %b" % (n, unit * (size // 110 // len(unit))) for n in range(100)),
    )


def _deepest(method: str, query: bytes, name: bytes = b"&a=") -> Callable[[int], bytes]:
    """Return a function that names as many paths as fit, each at HDFS's maximum depth."""
    path = 1_000 * b"/a"
    return lambda size: head(
        method,
        PREFIX.encode() + path + b"?user.name=carol&op=" + query
        + b"".join(name + path[:-2] + b"/%d" % n for n in takewhile(lambda n: (n + 2) * 2_010 < size, count())),
    )  # fmt: skip


SHAPES: Final[Mapping[str, Callable[[int], bytes]]] = {
    "deep MKDIRS": _path("PUT", b"/a", b"MKDIRS"),
    "deep CREATE": _path("PUT", b"/a", b"CREATE"),
    "deep LISTSTATUS": _path("GET", b"/a", b"LISTSTATUS"),
    "deep read": _path("GET", b"/a", b"GETFILESTATUS"),
    "deep OPEN": _path("GET", b"/a", b"OPEN"),
    "deep DELETE": _path("DELETE", b"/a", b"DELETE"),
    "deep unknown write": _path("PUT", b"/a", b"NOBODYKNOWS"),
    "deep unknown method": _path("PATCH", b"/a", b"X"),
    "deepest MKDIRS": _deepest("PUT", b"MKDIRS"),
    "deepest CREATE": _deepest("PUT", b"CREATE"),
    "deepest unknown write": _deepest("PUT", b"NOBODYKNOWS"),
    "deepest RENAME": _deepest("PUT", b"RENAME", b"&destination="),
    "deepest CONCAT": _deepest("POST", b"CONCAT", b"&sources="),
    "deep MKDIRS below a filter": _path("PUT", b"/2026/11/22", b"MKDIRS", b"/user/alice/workflow"),
    "deep read below a filter": _path("GET", b"/2026/11/22", b"GETFILESTATUS", b"/user/alice/workflow"),
    "long name": _path("PUT", b"a", b"MKDIRS"),
    "escaped name": _path("GET", b"%61", b"GETFILESTATUS"),
    "escaped slashes": _path("PUT", b"%2Fa", b"MKDIRS"),
    "doubly escaped": _path("GET", b"%25", b"GETFILESTATUS"),
    "bad escapes": _path("PUT", b"%", b"MKDIRS"),
    "slashes": _path("PUT", b"/", b"MKDIRS"),
    "single dots": _path("PUT", b"/.", b"MKDIRS"),
    "double dots": _path("PUT", b"/a/..", b"MKDIRS"),
    "snapshots": _path("GET", b"/.snapshot", b"GETFILESTATUS"),
    "semicolons": _path("PUT", b";a", b"MKDIRS"),
    "letters beyond ASCII": _path("PUT", "/é".encode(), b"MKDIRS"),
    "marks out of order": lambda size: _path("PUT", b"%CC%96", b"CREATE", b"/" + b"%CC%80" * (size // 12))(size // 2),
    "escaped letters": _path("PUT", b"%C3%A9", b"MKDIRS"),
    "a repeated parameter of a read": _query("GET", b"GETFILESTATUS", b"&a"),
    "a long parameter of a read": _query("GET", b"GETFILESTATUS&a=", b"b"),
    "a repeated path in parameters": _query("PUT", b"NOBODYKNOWS", b"&a=/b/c"),
    "a repeated parameter": _query("GET", b"LISTSTATUS", b"&a"),
    "a repeated operation": _query("PUT", b"MKDIRS", b"&op=MKDIRS"),
    "empty parameters": _query("PUT", b"MKDIRS", b"&"),
    "equals signs": _query("PUT", b"MKDIRS", b"="),
    "unreadable parameters": _query("PUT", b"MKDIRS", b"&%"),
    "escaped parameters": _query("PUT", b"MKDIRS", b"&%61=%62"),
    "blanks": _query("PUT", b"MKDIRS&a=", b"+"),
    "paths in parameters": _numbered("PUT", b"NOBODYKNOWS", b"&p%d=/a"),
    "paths in one parameter": _numbered("PUT", b"NOBODYKNOWS&p=", b",/%d"),
    "commas": _query("PUT", b"NOBODYKNOWS&p=/", b","),
    "deep parameter": _query("PUT", b"NOBODYKNOWS&p=", b"/a"),
    "many parameters": _numbered("GET", b"LISTSTATUS", b"&%d=1"),
    "CONCAT of many": _numbered("POST", b"CONCAT&sources=", b",/top/%d"),
    "CONCAT of one": _query("POST", b"CONCAT&sources=", b",/top/b"),
    "RENAME to many": _numbered("PUT", b"RENAME", b"&destination=/b/%d"),
    "RENAME deep to deep": lambda size: _query("PUT", b"RENAME&destination=", b"/a", b"/a" * (size // 4))(size // 2),
    "CREATESYMLINK to deep": _query("PUT", b"CREATESYMLINK&destination=", b"/a"),
    "RENAME deep": _query("PUT", b"RENAME&destination=", b"/a"),
    "attributes": _query("PUT", b"SETXATTR", b"&xattr.name=user.a"),
    "a long user": lambda size: head("GET", PREFIX.encode() + b"/top/a?op=GETFILESTATUS&user.name=" + b"a" * size),
    "a long doas": _query("GET", b"GETFILESTATUS&doas=", b"a"),
    "a long token": _query("GET", b"GETFILESTATUS&delegation=", b"a"),
    "fragments": _query("GET", b"GETFILESTATUS", b"#"),
    "X-Forwarded-For": _field(b"X-Forwarded-For", b"", b"192.0.2.1, "),
    "cookies": _field(b"Cookie", b"", b"a=b; "),
    "an authentication cookie": _field(b"Cookie", b"hadoop.auth=", b"t=simple&"),
    "authentication cookies": _field(b"Cookie", b"", b"hadoop.auth=t&"),
    "empty cookies": _field(b"Cookie", b"hadoop.auth=", b";"),
    "media ranges": _field(b"Accept", b"text/plain", b",a"),
    "empty media ranges": _field(b"Accept", b"a", b","),
    "weights": _field(b"Accept", b"*/*", b";q=0"),
    "blanks in a weight": _field(b"Accept", b"*/*;q", b" "),
    "directives": _field(b"Cache-Control", b"max-age=1", b",a"),
    "transfer codings": _field(b"Transfer-Encoding", b"", b"gzip, "),
    "entity tags": _field(b"If-None-Match", b"", b'"a", '),
    "ranges": _field(b"Range", b"", b"bytes=0-1,"),
    "a long field": _field(b"X", b"", b"x"),
    "connection options": _field(b"Connection", b"keep-alive", b",a"),
    "pragmas": _field(b"Pragma", b"", b"no-cach"),
    "a long Host": _field(b"X", b"1\r\nHost:", b" "),
    "many Hosts": _field(b"X", b"1", b"\r\nHost: nn"),
    "blanks in a field": _field(b"X", b"", b" \t"),
    "many long fields": _fields(b"x"),
    "many short fields": _field(b"X", b"1", b"\r\nX:"),
    "absolute form": lambda size: head("GET", b"http://" + b"a" * size + PREFIX.encode() + b"/a?op=GETFILESTATUS"),
    "a long scheme": lambda size: head("GET", b"a" * size + b"/webhdfs/v1/a?op=GETFILESTATUS"),
    "a long method": lambda size: b"A" * size + b" / HTTP/1.1\r\nHost: nn\r\n\r\n",
    "chunks of a byte": lambda size: head(
        "PUT", PREFIX.encode() + b"/top/a?op=NOBODYKNOWS", b"Transfer-Encoding: chunked"
    ) + b"1\r\nx\r\n" * (size // 6) + b"0\r\n\r\n",
    "empty lines": lambda size: b"\r\n" * (size // 2) + head("GET", PREFIX.encode() + b"/a?op=GETFILESTATUS"),
}  # fmt: skip
"""By name; each returns a request of about the given number of bytes."""
