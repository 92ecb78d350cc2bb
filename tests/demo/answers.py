"""A server that answers every path as it is told to, as the proxy would."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from nncache.demo.sightings import View
from nncache.hadoop.calls import PREFIX

FILE = {
    "accessTime": 0,
    "blockSize": 512,
    "childrenNum": 0,
    "fileId": 16390,
    "group": "users",
    "modificationTime": 0,
    "owner": "alice",
    "pathSuffix": "",
    "permission": "644",
    "replication": 1,
    "storagePolicy": 0,
}


def body_of(view: View) -> bytes:
    """Return the body of a reply that says this."""
    if view.status != 200:
        return b'{"RemoteException":{}}'
    kind = "DIRECTORY" if view.length is None else "FILE"
    return json.dumps({"FileStatus": FILE | {"type": kind, "length": view.length or 0}}).encode()


class Answering:
    """The server; runs while entered as a context. Set `views` and `is_hit` at any time, from any thread."""

    def __init__(self) -> None:
        self.views: dict[str, View] = {}  # by path; what is not there is 404
        self.is_hit = True  # what Cache-Status says
        self.targets: list[str] = []  # of all requests, in order
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def address(self) -> str:
        """Where it listens, "host:port"."""
        return f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answering = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                answering.targets.append(self.path)
                path = self.path.partition("?")[0].removeprefix(PREFIX)
                view = answering.views.get(path, View(404))
                body = body_of(view)
                self.send_response(view.status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Status", "nncache; hit" if answering.is_hit else "nncache; fwd=miss")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
                """Say nothing."""

        return Handler
