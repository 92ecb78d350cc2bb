"""What the settings ask for is kept, and nothing else."""

import time
from pathlib import Path

import pytest

from nncache.clock import boottime
from nncache.net.setting_error import SettingError
from nncache.proxy.traffic import Exchange, Result
from nncache.request_logs.request_logs import RequestLogs, RequestLogStats
from nncache.request_logs.settings import RequestLogSettings


def test_without_a_file_nothing_is_observed() -> None:
    """No request pays for a log that is off."""
    logs = RequestLogs(RequestLogSettings(), boottime)
    logs.start()
    logs.note("start")
    logs.page_called("::1", "/explain", 200)
    logs.reopen()
    logs.close()
    assert logs.observers == ()
    assert logs.stats() == RequestLogStats(lines={}, lost={})


@pytest.mark.parametrize("key", ["access_log", "audit_log"])
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, key: str) -> None:
    """At the start, with its key."""
    settings = RequestLogSettings(**{key: str(tmp_path / "none" / "log")})  # type: ignore[arg-type] # of two texts
    with pytest.raises(
        SettingError, match=rf"{key}: .*/none/log: must be .* appended to: No such file or directory"
    ):
        RequestLogs(settings, boottime)


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
            observer.answered(exchange)
    logs.note("stop")
    logs.page_called("::1", "/explain", 200)
    while audit.read_bytes().count(b"\n") < 3 or access.read_bytes().count(b"\n") < 2:
        time.sleep(0.01)  # looked at again until the deadline of the test
    logs.close()
    assert logs.stats() == RequestLogStats(lines={"access": 2, "audit": 3}, lost={"access": 0, "audit": 0})
    assert access.read_bytes().count(b'"log":"access"') == 2
    assert audit.read_bytes().count(b'"event":') == 3
