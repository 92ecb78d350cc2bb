"""What servers beside nncache say is understood, and the floor says what the NameNode says."""

import socket
import threading

import pytest

from nncache.bench.servers import floor as floors
from nncache.bench.servers.nginx import progress_of
from nncache.bench.servers.running import Progress

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
