"""Requests of nearly 64 KB, each of another shape."""

from collections.abc import Iterator

from tests.overload import places
from tests.overload.attacks.sending import HEAD_BYTES, padded
from tests.overload.client import request, webhdfs

_ROOM = 100  # of a head, for what is not its one long part


def shapes() -> Iterator[tuple[str, bytes]]:
    """Yield each with its name."""
    long = HEAD_BYTES - _ROOM
    deep, wide = padded("", "/a", long), padded("/", "a", long)
    below = padded("/user/alice/workflow", "/2026/11/22", long)
    status = f"/webhdfs/v1{places.PRESENT[0]}?op=GETFILESTATUS"
    yield from _of_paths(deep, wide, below, long)
    yield from _of_queries(status, long)
    yield from _of_fields(status, long)
    half = padded("", "/a", long // 2)
    yield (
        "RENAME deep to deep",
        request("PUT", f"/webhdfs/v1{half}?op=RENAME&destination={half}&user.name=carol"),
    )
    yield (
        "CREATESYMLINK to deep",
        webhdfs("PUT", "/data/carol/l", "CREATESYMLINK", extra=f"&destination={deep}"),
    )
    small = b"PUT /webhdfs/v1/data/carol/x?op=NOBODYKNOWS&user.name=carol HTTP/1.1\r\nHost: nncache\r\n"
    chunks = b"1\r\nx\r\n" * (long // 6 - 30) + b"0\r\n\r\n"
    yield "body of chunks of 1 byte", small + b"Transfer-Encoding: chunked\r\n\r\n" + chunks


def _of_paths(deep: str, wide: str, below: str, long: int) -> Iterator[tuple[str, bytes]]:
    for op, method in (
        ("GETFILESTATUS", "GET"),
        ("LISTSTATUS", "GET"),
        ("MKDIRS", "PUT"),
        ("CREATE", "PUT"),
        ("NOBODYKNOWS", "PUT"),
        ("DELETE", "DELETE"),
    ):
        yield f"{op} deep", webhdfs(method, deep, op)
    yield "MKDIRS deep below a filter", webhdfs("PUT", below, "MKDIRS")
    yield "GETFILESTATUS deep below a filter", webhdfs("GET", below, "GETFILESTATUS")
    yield "MKDIRS one long name", webhdfs("PUT", wide, "MKDIRS")
    yield "slashes", webhdfs("PUT", padded("", "/", long), "MKDIRS")
    yield "dots", webhdfs("PUT", padded("", "/.", long), "MKDIRS")
    yield "dots and back", webhdfs("PUT", padded("", "/a/..", long), "MKDIRS")
    yield "percent encoded", webhdfs("PUT", padded("", "%2fa", long), "MKDIRS")
    yield "percent encoded letters", webhdfs("PUT", padded("/", "%C3%A9", long), "MKDIRS")
    yield "bad percent", webhdfs("PUT", padded("/", "%", long), "MKDIRS")


def _of_queries(status: str, long: int) -> Iterator[tuple[str, bytes]]:
    yield "parameters without values", request("GET", padded(f"{status}", "&a", long))
    yield "parameters that are paths", request("PUT", padded("/webhdfs/v1/x?op=X", "&a=/b/c", long))
    yield (
        "parameters that are all different",
        request("GET", status + "".join(f"&p{number}=" for number in range(long // 8 - 10))),
    )
    yield "one long parameter", request("GET", padded(f"{status}&a=", "b", long))
    yield "one deep parameter", request("PUT", padded("/webhdfs/v1/x?op=X&a=", "/b", long))
    yield "ampersands", request("GET", padded(status, "&", long))
    yield "long user name", request("GET", padded(f"{status}&user.name=", "u", long))
    yield "long doas", request("GET", padded(f"{status}&user.name=carol&doas=", "u", long))
    yield "long delegation token", request("GET", padded(f"{status}&delegation=", "A", long))
    yield "CONCAT of many", request("POST", padded("/webhdfs/v1/tmp/x?op=CONCAT&sources=/a", ",/a", long))


def _of_fields(status: str, long: int) -> Iterator[tuple[str, bytes]]:
    whose = f"{status}&user.name=carol"
    rest = long - len(whose)
    for name, unit in (
        ("Cookie", "a=b; "),
        ("Cache-Control", "max-age=1, "),
        ("Connection", "x, "),
        ("X-Forwarded-For", "1.2.3.4, "),
        ("Accept", "a/b, "),
        ("Transfer-Encoding", "gzip, "),
        ("If-None-Match", '"a", '),
        ("Range", "bytes=0-1,"),
        ("X-Long", "x"),
    ):
        yield f"long {name}", request("GET", whose, padded(f"{name}: ", unit, rest))
    fields = [padded(f"X-{number}: ", "x", rest // 120 - 2) for number in range(115)]
    yield "115 header fields", request("GET", whose, *fields)
    yield "6,000 header fields", request("GET", whose, *(f"X-{number}: x" for number in range(rest // 12)))
    yield "long Host", request("GET", whose, padded("Host: ", "h", rest))
