"""The plain client shows what was on the wire."""

import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from nncache.testbed.asker import Asker


class _Handler(BaseHTTPRequestHandler):
    """Says what it was asked; closes the connection after what it is told to."""

    protocol_version = "HTTP/1.1"

    def _reply(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        text = f"{self.command} {self.path} {self.headers.get('X-Test')} {self.rfile.read(length)!r}".encode()
        self.send_response(418)
        self.send_header("X-Twice", "one")
        self.send_header("x-twice", "two")
        self.send_header("Cache-Status", "nncache; hit" if "hit" in self.path else "nncache; fwd=miss")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        self.close_connection = "vanish" in self.path  # without a word

    do_GET = do_PUT = _reply  # noqa: N815 - the names are http.server's

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        """Stay silent."""


@pytest.fixture
def address() -> Iterator[str]:
    """A server on a free port."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_reply_is_shown_as_it_came(address: str) -> None:
    """The target goes out as it stands; repeated headers and the raw body come back."""
    with Asker(address) as asker:
        reply = asker.ask("PUT", "/w//a%2Fb/../c?x=%zz", headers={"X-Test": "yes"}, body=b"data")
    assert reply.status == 418
    assert reply.body == b"PUT /w//a%2Fb/../c?x=%zz yes b'data'"
    assert reply.header("X-TWICE") == "one, two"
    assert reply.header("none") == ""
    assert reply.started_at <= reply.ended_at


def test_a_hit_is_what_nncache_calls_one(address: str) -> None:
    """`Cache-Status` tells."""
    with Asker(address) as asker:
        assert asker.ask("GET", "/hit").is_hit
        assert not asker.ask("GET", "/miss").is_hit


def test_a_connection_that_was_closed_meanwhile_is_opened_anew(address: str) -> None:
    """A kept connection may go at any time; a GET is asked again, a write gets a connection of its own."""
    with Asker(address) as asker:
        for method in ("GET", "PUT", "GET"):
            assert asker.ask(method, "/vanish").status == 418


def test_a_server_that_is_not_there_is_an_error() -> None:
    """Nobody answers: that is the caller's to know."""
    with Asker("127.0.0.1:1") as asker, pytest.raises(ConnectionRefusedError):
        asker.ask("GET", "/")
