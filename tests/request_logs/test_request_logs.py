"""The logs are kept as the settings say, and no others."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from nncache.clock import boottime
from nncache.net.setting_error import SettingError
from nncache.proxy.errors import TooManyRequestsError
from nncache.proxy.traffic import Exchange, Result, Traffic
from nncache.request_logs.line_writer import LineWriter
from nncache.request_logs.request_logs import AccessLog, AuditLog, RequestLogs, RequestLogStats, check_files
from nncache.request_logs.settings import RequestLogSettings
from tests.patience import HANG_S


def test_without_a_file_nothing_is_observed() -> None:
    """A log that is off costs a request nothing."""
    logs = RequestLogs(RequestLogSettings(), boottime)
    logs.start()
    logs.note("start")
    logs.page_called("::1", "joe", "/explain", 200)
    logs.reopen()
    logs.close()
    assert logs.observers == ()
    assert logs.stats() == RequestLogStats(lost={})


@pytest.mark.parametrize("key", ["access_log", "audit_log"])
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, key: str) -> None:
    """The start fails, and names the setting's key."""
    settings = RequestLogSettings(**{key: str(tmp_path / "none" / "log")})  # type: ignore[arg-type] # of two texts
    with pytest.raises(
        SettingError, match=rf"{key}: .*/none/log: must be .* appended to: No such file or directory"
    ):
        RequestLogs(settings, boottime)
    with pytest.raises(
        SettingError, match=rf"{key}: .*/none/log: must be a file that this user can append to"
    ):
        check_files(settings)


def test_a_look_at_files_makes_none(tmp_path: Path) -> None:
    """A check as root would leave one that the proxy may not write."""
    check_files(RequestLogSettings(access_log=str(tmp_path / "log"), audit_log="-"))
    check_files(RequestLogSettings())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SettingError, match="audit_log"):
        check_files(RequestLogSettings(audit_log=str(tmp_path)))


def test_both_logs_are_written_and_counted(tmp_path: Path) -> None:
    """A refused request is in both."""
    access, audit = tmp_path / "access", tmp_path / "audit"
    logs = RequestLogs(
        RequestLogSettings(access_log=str(access), access_log_format="json", audit_log=str(audit)), boottime
    )
    logs.start()
    for result in (Result.HIT, Result.REFUSED):
        exchange = Exchange("GET", "/webhdfs/v1/f?op=OPEN", "10.0.0.1", boottime())
        exchange.result = result
        for observer in logs.observers:
            observer(exchange)
    logs.note("stop")
    logs.page_called("::1", "joe", "/explain", 200)
    while audit.read_bytes().count(b"\n") < 3 or access.read_bytes().count(b"\n") < 2:
        time.sleep(0.01)  # retried until the test's timeout
    logs.close()
    assert logs.stats() == RequestLogStats(lost={"access": 0, "audit": 0})
    assert access.read_bytes().count(b'"log":"access"') == 2
    assert audit.read_bytes().count(b'"event":') == 3


def weights(
    tmp_path: Path, sample: int, exchanges: list[tuple[Result, int]], chances: list[float]
) -> list[int]:
    """Return the weights of the lines written for these requests."""
    writer = LineWriter(str(tmp_path / "log"), boottime, close_s=HANG_S)
    left = iter(chances)
    log = AccessLog(writer, "combined", sample, lambda: next(left))
    for result, weight in exchanges:
        exchange = Exchange("GET", "/webhdfs/v1/f?op=GETFILESTATUS", "127.0.0.1", boottime())
        exchange.result, exchange.weight = result, weight
        log.answered(exchange)
    assert next(left, None) is None, "chance is asked where it decides, and nowhere else"
    writer.start()
    writer.close()
    return [int(line.split()[-2]) for line in (tmp_path / "log").read_text().splitlines()]


@pytest.mark.parametrize(
    ("sample", "exchanges", "chances", "written"),
    [
        (1, [(Result.HIT, 1), (Result.FORWARDED, 1)], [], [1, 1]),
        (10, [(Result.HIT, 1), (Result.HIT, 1)], [0.09, 0.11], [10]),
        (10, [(Result.HIT, 10)], [], [10]),
        (10, [(Result.HIT, 64)], [], [64]),
        (100, [(Result.HIT, 64), (Result.HIT, 64)], [0.63, 0.65], [100]),
        (100, [(result, 1) for result in Result if result is not Result.HIT], [], [1] * (len(Result) - 1)),
    ],
)
def test_a_sample_counts_for_the_hits_that_are_left_out(
    tmp_path: Path, sample: int, exchanges: list[tuple[Result, int]], chances: list[float], written: list[int]
) -> None:
    """A hit that the fast path has already sampled is sampled less."""
    assert weights(tmp_path, sample, exchanges, chances) == written


class Fixture:
    """An audit log and its lines."""

    def __init__(self, tmp_path: Path) -> None:
        self._file = tmp_path / "audit"
        self._writer = LineWriter(str(self._file), boottime, close_s=HANG_S)
        self.log = AuditLog(self._writer)

    def lines(self) -> list[dict[str, Any]]:
        """Close the log; return its lines without their times."""
        self._writer.start()
        self._writer.close()
        lines = [json.loads(line) for line in self._file.read_bytes().splitlines()]
        assert all(line.pop("log") == "audit" and line.pop("time").endswith("Z") for line in lines)
        return lines


def test_refused_requests_are_in_it_and_no_others(tmp_path: Path) -> None:
    """A line has all that is known of the request, without credentials."""
    s = Fixture(tmp_path)
    traffic = Traffic(boottime)
    traffic.observers = (s.log.answered,)
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
        "trace_id": None,
        "parent_id": None,
    }
    assert (bare["address"], bare["status"], bare["request_id"], bare["target"]) == ("10.0.0.2", 429, "y", "")


def test_what_operators_do_is_in_it(tmp_path: Path) -> None:
    """It has calls of admin pages, with refused ones as another event, and all events of the daemon."""
    s = Fixture(tmp_path)
    s.log.page_called("::1", "joe", "/explain?path=/a%0Ab", 200)
    s.log.page_called("10.0.0.1", "", "/explain?token=secret", 401)
    s.log.page_called("10.0.0.1", "", "/explain", 403)
    s.log.note("reload", outcome="a\nb")
    assert s.lines() == [
        {
            "event": "page-called",
            "address": "::1",
            "holder": "joe",
            "target": "/explain?path=/a%0Ab",
            "status": 200,
        },
        {
            "event": "page-refused",
            "address": "10.0.0.1",
            "holder": "",
            "target": "/explain?token=...",
            "status": 401,
        },
        {"event": "page-refused", "address": "10.0.0.1", "holder": "", "target": "/explain", "status": 403},
        {"event": "reload", "outcome": "a\nb"},
    ]


@pytest.mark.parametrize("sample", [0, -1])
def test_a_sample_is_one_of_some(sample: int) -> None:
    """A sample of one in none is meaningless."""
    with pytest.raises(SettingError, match=rf"access_log_sample: {sample}: must be 1 or more"):
        RequestLogSettings(access_log_sample=sample)


@pytest.mark.parametrize("file", ["-", "/var/log/nncache.log"])
def test_two_logs_have_two_files(file: str) -> None:
    """Two writers to one file would interleave their lines."""
    with pytest.raises(SettingError, match=r"audit_log: .*: must be another file than access_log"):
        RequestLogSettings(access_log=file, audit_log=file)
