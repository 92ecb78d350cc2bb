"""HTTP servers on a separate thread, with a test's answers."""

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

Answer: TypeAlias = tuple[int, Mapping[str, str], bytes]
"""Status, header fields and body."""


@contextmanager
def serving(
    answer: Callable[[BaseHTTPRequestHandler], Answer],
    *,
    tls: ssl.SSLContext | None = None,
    port: int = 0,
    awaits_replies: bool = False,
) -> Iterator[str]:
    """Answer each GET, POST and PUT, over TLS if `tls` is given; yield host:port.

    With `awaits_replies`, the end of the block waits for replies in flight.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, fields, body = answer(self)
            self.send_response(status)
            for name, value in ({**fields} | {"Content-Length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_GET  # noqa: N815 - names that the server requires

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        server.daemon_threads = not awaits_replies
        server.handle_error = lambda *_: None  # type: ignore[method-assign] # a failed handshake is the client's fault
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def http_server(
    status: int, fields: Mapping[str, str] | None = None, body: str = ""
) -> AbstractContextManager[str]:
    """Give every request the same answer; yield host:port."""
    return serving(lambda _: (status, fields or {}, body.encode()))


@contextmanager
def answering(
    status: int, body: bytes, headers: list[str | None] | None = None, *, tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Give every request the same answer; yield the address and the requests. `headers` collects each Authorization."""
    asked: list[str] = []

    def answer(request: BaseHTTPRequestHandler) -> Answer:
        asked.append(f"{request.command} {request.path}")
        if headers is not None:
            headers.append(request.headers.get("Authorization"))
        return status, {}, body

    with serving(answer, tls=tls) as address:
        yield address, asked
