"""A connection that is closed was announced to close, and no other is closed."""

import asyncio
import subprocess
import sys

import pytest

from tests.alike.side import Side
from tests.alike.spelling import UPGRADES, Request
from tests.hostile.wire.endings import SILENT, Heard, all_wrongs, replies
from tests.invalidation.virtual_time import run
from tests.model.variants.patching import compile_broken
from tests.model.variants.variant import PACKAGE, Variant

SEEN_HERE = ("closed-after-chunks", "raw-error-unsaid")


def test_no_connection_ends_without_a_word() -> None:
    """This holds for all shapes and replies (tornado #1125, aiohttp #3597, requests #3458, dCache #5604)."""
    assert all_wrongs(seed=2, count=1_000) == []


@pytest.mark.parametrize("target", [b"/w/f?op=GETFILESTATUS", b"/w?op=LISTSTATUS"], ids=["kept", "passed on"])
@pytest.mark.parametrize("fields", UPGRADES, ids=["the JDK", "Apache", "a browser"])
def test_an_upgrade_is_ignored(fields: tuple[bytes, ...], target: bytes) -> None:
    """It costs no hit, closes no connection, and is not forwarded.

    light-4j #1900, membrane #1742, carapaceproxy #484, jetty #6593; istio #53239, envoy #36305, HTTPCLIENT-2344.
    """

    async def story() -> None:
        async with Side(is_quick=True) as side:
            line = side.connect(65_536)
            request = Request(target=b"/webhdfs/v1%b&user.name=alice" % target, fields=(b"Host: nn", *fields))
            for _ in range(6):
                line.send(request.encode())
                await asyncio.sleep(0.1)
            text = line.take()
            assert text.count(b"HTTP/1.1 200 OK\r\n") == 6
            assert b"\r\nConnection:" not in text
            assert b"not-plain" not in text
            is_status = b"STATUS" in target and b"LIST" not in target
            assert text.count(b"nncache; hit") == (5 if is_status else 0)
            asked = [head for _, head, *_ in side.take_asked() if isinstance(head, bytes)]
            assert len(asked) == (1 if is_status else 6)
            assert not any(
                name in head.lower() for head in asked for name in (b"upgrade", b"http2", b"connection")
            )

    run(story())


def test_what_a_client_reads_is_taken_apart() -> None:
    """Interim replies are skipped, and a truncated body is not complete."""
    ok = b"HTTP/1.1 200 OK\r\n"
    data = b"HTTP/1.1 100 Continue\r\n\r\n" + ok + b"Content-Length: 2\r\n\r\nok" + ok
    assert list(replies(data + b"Connection: close\r\nContent-Length: 2\r\n\r\no", is_head=False)) == [
        Heard(200, says_close=False, is_whole=True),
        Heard(200, says_close=True, is_whole=False),
    ]
    chunks = ok + b"Transfer-Encoding: chunked\r\n\r\n"
    assert [
        each.is_whole
        for body in (b"1\r\na\r\n", b"1\r\na\r\n0\r\n\r\n")
        for each in replies(chunks + body, is_head=False)
    ] == [False, True]
    assert len(list(replies(ok + b"Content-Length: 9\r\n\r\n", is_head=True))) == 1


@pytest.mark.parametrize("variant", SILENT.values(), ids=SILENT)
def test_a_silent_variant_breaks_one_line(variant: Variant) -> None:
    """Its old text occurs once in the source, and the result is valid Python."""
    assert variant.lines_changed() == 1
    compile_broken(variant)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SEEN_HERE else pytest.mark.long) for name in SILENT]
)
def test_a_silent_end_is_seen(name: str) -> None:
    """Each is seen in a process of its own."""
    command = (sys.executable, "-m", "tests.hostile.wire.endings", name)
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
