"""Refusals and what operators do, one JSON object each."""

import json
from pathlib import Path
from typing import Any

from nncache.clock import boottime
from nncache.proxy.errors import TooManyRequestsError
from nncache.proxy.traffic import Exchange, Result, Traffic
from nncache.request_logs.audit_log import AuditLog
from nncache.request_logs.line_writer import LineWriter
from tests.patience import HANG_S


class Scene:
    """An audit log, and what is in it."""

    def __init__(self, tmp_path: Path) -> None:
        self._file = tmp_path / "audit"
        self._writer = LineWriter(str(self._file), boottime, close_s=HANG_S)
        self.log = AuditLog(self._writer)

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines, without their times, when all are written."""
        self._writer.start()
        self._writer.close()
        lines = [json.loads(line) for line in self._file.read_bytes().splitlines()]
        assert all(line.pop("log") == "audit" and line.pop("time").endswith("Z") for line in lines)
        return lines


def test_refused_requests_are_in_it_and_no_others(tmp_path: Path) -> None:
    """With all that is known of them, but no credential."""
    s = Scene(tmp_path)
    traffic = Traffic(boottime)
    traffic.observers = (s.log,)
    for result in Result:
        exchange = Exchange("GET", "/webhdfs/v1/f?op=OPEN&delegation=secret", "10.0.0.1", boottime())
        exchange.result, exchange.caller, exchange.request_id, exchange.status = (
            result,
            "user.name=joe",
            "x",
            429,
        )
        traffic.ended(exchange)
    traffic.refused(TooManyRequestsError("slower"), "10.0.0.2", request_id="y")
    full, bare = s.lines()
    assert full.pop("duration_s") >= 0.0
    assert full == {
        "event": "request-refused",
        "address": "10.0.0.1",
        "caller": "joe",
        "doas": None,
        "method": "GET",
        "target": "/webhdfs/v1/f?op=OPEN&delegation=...",
        "operation": "other",
        "status": 429,
        "bytes": None,
        "result": "refused",
        "reason": None,
        "request_id": "x",
    }
    assert (bare["address"], bare["status"], bare["request_id"], bare["target"]) == ("10.0.0.2", 429, "y", "")


def test_what_operators_do_is_in_it(tmp_path: Path) -> None:
    """Calls of their pages, refused ones apart; and whatever the daemon notes."""
    s = Scene(tmp_path)
    s.log.page_called("::1", "/explain?path=/a%0Ab", 200)
    s.log.page_called("10.0.0.1", "/explain?token=secret", 401)
    s.log.page_called("10.0.0.1", "/explain", 403)
    s.log.note("reload", outcome="a\nb")
    assert s.lines() == [
        {"event": "page-called", "address": "::1", "target": "/explain?path=/a%0Ab", "status": 200},
        {"event": "page-refused", "address": "10.0.0.1", "target": "/explain?token=...", "status": 401},
        {"event": "page-refused", "address": "10.0.0.1", "target": "/explain", "status": 403},
        {"event": "reload", "outcome": "a\nb"},
    ]
