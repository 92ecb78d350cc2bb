"""Request paths in every spelling, through the proxy and directly.

The replies must be equal, bytes included. Each is requested up to three times, to compare answers from memory as
well. The NameNode must not answer a path that the proxy refuses itself, except outside WebHDFS.
"""

import asyncio
import random
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from nncache.proxy.messages import Headers
from nncache.testbed.asker import Asker
from tests.http_client import HttpClient, Reply
from tests.real.proxied_cluster import CallTarget, ProxiedCluster

_TRIES: Final = 3


class RawAsker(HttpClient):
    """Sends targets verbatim."""

    async def ask(self, method: str, target: bytes, fields: Headers = ()) -> Reply:
        """Send one request and return the reply; retry if the server has closed an idle connection.

        Raises:
            OSError, EOFError: there was no reply on any of several connections.
        """
        lines = b"".join(b"%b: %b\r\n" % field for field in fields)
        if method != "GET":
            lines += b"Content-Length: 0\r\n"
        for left in reversed(range(_TRIES)):
            try:
                return await self.exchange(
                    b"%b %b HTTP/1.1\r\nHost: nn\r\n%b\r\n" % (method.encode(), target, lines)
                )
            except (OSError, EOFError):
                if not left:
                    raise
        raise AssertionError("unreachable")


_PREFIX: Final = b"/webhdfs/v1"
_TIMES: Final = 3
_NAMES: Final = (
    "f", "d", "a b", "a+b", "a%41b", "a;b", "a:b", "a,b", "a=b", "a&b", "[x]", "{x}", "x|y", "x\\y", "x^y", "x`y",
    "'x'", "x#y", "x?y", "é", unicodedata.normalize("NFD", "é"), "\u212b\u00c5", "\U0001f600", "\u200b", "\ufeffx",
    "\ufb01", "x\u00a0y", "~x", ".x", "..x", "x.", "...", "_SUCCESS", "x" * 200, "é" * 100, "ß", "\u0130", "\u0131",
    "\u212a", "%2F", "%zz", "x\ty", "x\ny", "x\x7fy",
)  # fmt: skip
"""Names in the directory; the odd ones are created if the NameNode accepts them."""

_ODD_ENDS: Final = (
    b"/", b"//", b"/.", b"/..", b"/%2e", b"/%2e%2e", b"/%2E./", b"/..;/", b";", b";x=y", b"/;", b"%2F",
    b"%2f", b"%00", b"%",     b"%2", b"%zz", b"%ff", b"%c3", b"%c0%af", b"%ed%a0%80", b"%f4%90%80%80",
    b"%u0041", b"\xc3\xa9", b"\xff", b"%0a", b"%0d",     b"%20", b"+", b"%2B", b"%252F", b"%2541", b"%3F",
    b"%23", b"?", b"??", b"&", b"/.snapshot", b"/.reserved", b"%7f", b"\\",     b"%5c", b"[", b"|", b"^",
    b"{", b"`", b'"', b"<", b"*", b"/*", b"!", b"$", b"(", b"'", b"@", b":", b"=", b",", b"~",
)  # fmt: skip
_QUERIES: Final = (b"?op=GETFILESTATUS&user.name=%b",) * 12 + (
    b"?op=getfilestatus&user.name=%b",
    b"?user.name=%b&op=GETFILESTATUS",
    b"?op=GETFILESTATUS&user.name=%b&x=y",
    b"?OP=GETFILESTATUS&user.name=%b",
    b"?op=GET%%46ILESTATUS&user.name=%b",
    b"?op=GETFILESTATUS&op=LISTSTATUS&user.name=%b",
    b"?op=GETFILESTATUS&user.name=%b&user.name=root",
    b"?op=GETFILESTATUS;user.name=%b",
    b"?&op=GETFILESTATUS&&user.name=%b&",
)


@dataclass
class PathFigures:
    """The outcome of all forms.

    Attributes:
        forms: requested, each at most three times.
        hits: compared answers from memory.
        refused: forms that the proxy refuses itself.
        differ: one line for each difference.
    """

    forms: int = 0
    hits: int = 0
    refused: int = 0
    differ: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the report, one item a line."""
        return [
            f"paths: {self.forms:,} forms, {len(self.differ)} differ",
            f"  {self.hits:,} answers from memory compared",
            f"  {self.refused:,} forms refused by the proxy itself",
        ]

    def shortfalls(self, *, forms: int) -> list[str]:
        """Return each requirement that the run does not meet."""
        short = [f"paths: {what}" for what in self.differ[:20]]
        if self.forms < forms:
            short.append(f"paths: {self.forms:,} forms instead of {forms:,}")
        if self.hits < forms / 2:
            short.append(f"paths: only {self.hits:,} answers from memory were compared")
        return short


def lay_out(proxied_cluster: ProxiedCluster, directory: str) -> None:
    """Create a file or directory for every second name, as the superuser, unless HDFS refuses the name."""
    with Asker(proxied_cluster.cluster.namenodes[0].http) as asker:
        for name in _NAMES[2::2]:
            spelled = "".join(f"%{byte:02X}" for byte in name.encode())
            target = f"{_PREFIX.decode()}{directory}/{spelled}?op=MKDIRS&user.name={proxied_cluster.cluster.superuser}"
            asker.ask("PUT", target)
    proxied_cluster.put(CallTarget.NAMENODE, f"{directory}/f", b"x")
    proxied_cluster.settle()


def draw(chance: random.Random, directory: str, user: str) -> bytes:
    """Return the target of a random GET."""
    parts = [_spelled(chance, name) for name in directory.split("/")[1:]]
    parts += [_spelled(chance, chance.choice(_NAMES)) for _ in range(chance.choice((0, 1, 1, 1, 1, 2)))]
    path = b"".join(chance.choice((b"/",) * 9 + (b"//",)) + part for part in parts)
    if chance.random() < 0.35:
        path += chance.choice(_ODD_ENDS)
    if chance.random() < 0.02:
        path += b"/" + b"y" * chance.choice((255, 256, 4000, 7900, 9000))
    return _PREFIX + path + chance.choice(_QUERIES) % user.encode()


def _spelled(chance: random.Random, name: str) -> bytes:
    escaped = chance.choice((0.0, 0.0, 0.2, 1.0))
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
    kept = plain if chance.random() < 0.8 else plain + b"!$&'()*+,;=:@"
    form = chance.choice(("%%%02X", "%%%02x"))
    return b"".join(
        bytes((byte,)) if byte in kept and chance.random() >= escaped else (form % byte).encode()
        for byte in name.encode()
    )


async def compare(
    proxied_cluster: ProxiedCluster,
    directory: str,
    *,
    forms: int,
    seed: int,
    progress: Callable[[int], None] = lambda _: None,
) -> PathFigures:
    """Request this number of spellings of paths at and below the directory."""
    figures, chance = PathFigures(), random.Random(seed)
    with (
        RawAsker(proxied_cluster.proxy.address) as through,
        RawAsker(proxied_cluster.cluster.namenodes[0].http) as direct,
    ):
        for number in range(forms):
            await _compare(through, direct, draw(chance, directory, "alice"), figures)
            figures.forms += 1
            if number % 20 == 0:
                progress(number)
            await asyncio.sleep(0)
    progress(forms)
    return figures


async def _compare(through: RawAsker, direct: RawAsker, target: bytes, figures: PathFigures) -> None:
    expected = await direct.ask("GET", target)
    for time in range(_TIMES):
        reply = await through.ask("GET", target)
        if reply.is_own:
            figures.refused += 1
            is_outside = "not-webhdfs" in reply.cache_status
            if expected.status < 400 and not is_outside:
                figures.differ.append(f"{target!r}: refused {reply.body!r}, but the NameNode says {expected}")
            return
        is_hit = reply.is_hit
        figures.hits += is_hit
        wrong = _difference(reply, expected)
        if wrong:
            figures.differ.append(f"{target!r}, time {time + 1}, {reply.cache_status}: {wrong}")
            return
        if not is_hit and time:
            return  # it is not cacheable


def _difference(reply: Reply, expected: Reply) -> str:
    if reply.status != expected.status:
        return f"{reply.status} instead of {expected.status}"
    return "" if reply.body == expected.body else f"{reply.body!r} instead of {expected.body!r}"
