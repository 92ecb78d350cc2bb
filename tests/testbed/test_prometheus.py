"""A real Prometheus beside a server with two figures."""

import http.server
import shutil
import threading
from collections.abc import Iterator

import pytest

from nncache.testbed.errors import MissingToolError
from nncache.testbed.prometheus import Line, Prometheus

RULES = """
groups:
  - name: one
    rules:
      - {alert: Wrong, expr: "figure == 1"}
      - {alert: Right, expr: "figure == 2"}
"""

needs_prometheus = pytest.mark.skipif(shutil.which("prometheus") is None, reason="apt-get install prometheus")


class Page(http.server.BaseHTTPRequestHandler):
    """Figures in Prometheus's text format."""

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(b'figure{a="b"} 1\nnothing NaN\n')

    def log_message(self, *words: object) -> None:
        """Keep silent."""


@pytest.fixture
def target() -> Iterator[str]:
    """Its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@needs_prometheus
def test_it_scrapes_answers_and_judges(target: str) -> None:
    """Series without a number are none; a query that it refuses is an error with its words."""
    with Prometheus([target], RULES, interval="200ms") as prometheus:
        prometheus.await_targets()
        prometheus.process.await_that(lambda: prometheus.firing() == {"Wrong"}, "does not fire")
        now = prometheus.now()
        (line,) = prometheus.lines("figure", now - 1, now, 0.5)
        assert isinstance(line, Line)
        assert (line.labels["a"], line.labels["job"], line.labels["instance"]) == ("b", "nncache", target)
        assert {value for _, value in line.points} == {1.0}
        assert prometheus.lines("nothing", now - 1, now, 0.5) == ()
        with pytest.raises(ValueError, match="parse error"):
            prometheus.lines("sum(", now - 1, now, 0.5)


def test_without_the_program_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingToolError, match="apt-get install prometheus"):
        Prometheus([], RULES)
