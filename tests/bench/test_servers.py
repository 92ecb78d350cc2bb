"""Servers beside nncache and wrk: their figures are parsed; the floor answers as the NameNode does."""

import resource
import socket
import threading

import pytest

from nncache.bench.servers import floor as floors
from nncache.bench.servers.caches import progress_of
from nncache.bench.servers.running import Progress
from nncache.bench.wrk import Counted, let_open, parse_wrk
from nncache.testbed.errors import TestbedError

PAGE = """\
Active connections: 65 
server accepts handled requests
 1045 1045 987654 
Reading: 0 Writing: 1 Waiting: 64 
"""  # noqa: W291 - as nginx 1.22 writes it


def test_a_page_progress_of() -> None:
    """Requests, and connections that are open."""
    assert progress_of(PAGE) == Progress(answered=987_654, connections=65)


def test_any_other_page_is_an_error() -> None:
    """And no progress of nothing."""
    with pytest.raises(ValueError, match="404 Not Found"):
        progress_of("404 Not Found")


@pytest.mark.parametrize(
    "framed",
    [b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"Content-Length: 2\r\n\r\n{}", b"\r\n{}"],
    ids=["chunked (3.5.0)", "counted", "to the end of the connection (3.4.1)"],
)
def test_the_floor_counts_the_body_however_it_is_framed(framed: bytes) -> None:
    """Releases differ in it, and the floor's connections are kept."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            client, _ = listener.accept()
            with client:
                client.recv(65_536)
                client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nA: b\r\n" + framed)

        server = threading.Thread(target=answer)
        server.start()
        reply = floors.ask(b"GET / HTTP/1.1\r\n\r\n", listener.getsockname())
        server.join()
    assert reply == b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\n{}"


SAID = """\
Running 3s test @ http://127.0.0.1:1/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.52ms    3.00ms  40.00ms   97.00%
  Latency Distribution
     50%  830.00us
     75%    1.10ms
  150000 requests in 3.01s, 90.00MB read
"""


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        (SAID, Counted(150_000, 0, 830e-6)),
        (SAID.replace("830.00us", "1.25s") + "  Non-2xx or 3xx responses: 7\n", Counted(150_000, 7, 1.25)),
        (
            SAID.replace("830.00us", "2.50ms") + "  Socket errors: connect 1, read 2, write 3, timeout 4\n",
            Counted(150_000, 10, 2.5e-3),
        ),
    ],
)
def test_what_wrk_says(said: str, counted: Counted) -> None:
    """Requests, what failed, and the median."""
    assert parse_wrk(said) == counted


def test_anything_else_is_an_error() -> None:
    """And no measurement of nothing."""
    with pytest.raises(ValueError, match="unable to connect"):
        parse_wrk("unable to connect to 127.0.0.1:1 Connection refused")


def test_as_many_connections_as_are_needed_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or it is said how to allow them."""
    allowed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1_000))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: allowed.append(limits))
    let_open(800)
    assert allowed == [(1_000, 1_000)]
    with pytest.raises(TestbedError, match="at most 1000 files may be open here, 1001 are needed: ulimit"):
        let_open(801)
