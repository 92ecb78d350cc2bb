"""The request logs that the settings turn on."""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nncache.clock import boottime, unix_time_of_boot
from nncache.net.setting_error import SettingError
from nncache.proxy.traffic import Exchange, Observer, Result
from nncache.request_logs.access_lines import combined, encode_line, fields_of, json_line, rfc3339
from nncache.request_logs.line_writer import LineWriter
from nncache.request_logs.masking import masked
from nncache.request_logs.settings import STANDARD_OUTPUT, AccessLogFormat, RequestLogSettings


class AuditLog:
    """Writes JSON objects, one per line."""

    def __init__(self, writer: LineWriter) -> None:
        self._writer = writer

    def answered(self, exchange: Exchange) -> None:
        """Record a refused request: malformed, beyond a limit, or not WebHDFS."""
        if exchange.result is Result.REFUSED:
            self.note("request-refused", **fields_of(exchange))

    def page_called(self, address: str, holder: str, target: str, status: int) -> None:
        """Record a call of an operators' page, answered or refused; `holder` is the holder of the token."""
        what = "page-refused" if status in {401, 403} else "page-called"
        self.note(what, address=address, holder=holder, target=masked(target), status=status)

    def note(self, what: str, **fields: object) -> None:
        """Record an event with the given fields."""
        now = unix_time_of_boot() + boottime()
        self._writer.write(encode_line({"log": "audit", "time": rfc3339(now), "event": what} | fields))


_LINES: Final[dict[AccessLogFormat, Callable[[Exchange, int, float], bytes]]] = {
    "combined": combined,
    "json": json_line,
}


class AccessLog:
    """Writes a line for each request; of the hits, only for one in `sample`.

    Invariant:
        A1  The weights of the lines of hits add up, on average, to the number of hits: a hit that already stands for
            `weight` hits is written with the probability `weight / sample`, and then stands for `sample` hits.
    """

    def __init__(
        self,
        writer: LineWriter,
        log_format: AccessLogFormat,
        sample: int,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._writer = writer
        self._line = _LINES[log_format]
        self._sample = sample
        self._chance = chance  # from 0 to 1

    def answered(self, exchange: Exchange) -> None:
        """Write the line of a request, unless sampling omits it."""
        weight = exchange.weight
        if exchange.result is Result.HIT and weight < self._sample:
            if self._chance() * self._sample >= weight:
                return
            weight = self._sample
        began_at = unix_time_of_boot() + exchange.started
        self._writer.write(self._line(exchange, weight, began_at))


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLogStats:
    """Counters since start, by log: `access` and `audit`."""

    lost: dict[str, int]  # lines that were not written, since the disk was too slow or too full


class RequestLogs:
    """The access log and the audit log, from the opening of their files to the last line."""

    def __init__(self, settings: RequestLogSettings, clock: Callable[[], float]) -> None:
        """Open the logs. Raises SettingError if a file cannot be appended to."""
        self._writers = dict[str, LineWriter]()
        for log, file in (("access", settings.access_log), ("audit", settings.audit_log)):
            if file:
                self._writers[log] = _opened(f"{log}_log", file, clock)
        self.observers: tuple[Observer, ...] = ()
        if (writer := self._writers.get("access")) is not None:
            form, sample = settings.access_log_format, settings.access_log_sample
            self.observers = (AccessLog(writer, form, sample).answered,)
        self.audit: AuditLog | None = None
        if (writer := self._writers.get("audit")) is not None:
            self.audit = AuditLog(writer)
            self.observers = (*self.observers, self.audit.answered)

    def start(self) -> None:
        """Start the writers' threads."""
        for writer in self._writers.values():
            writer.start()

    def note(self, what: str, **fields: object) -> None:
        """Write an event to the audit log, if there is one."""
        if self.audit is not None:
            self.audit.note(what, **fields)

    def page_called(self, address: str, holder: str, target: str, status: int) -> None:
        """Write a call of an operators' page to the audit log, if there is one."""
        if self.audit is not None:
            self.audit.page_called(address, holder, target, status)

    def reopen(self) -> None:
        """Reopen all files by their names, after they were moved."""
        for writer in self._writers.values():
            writer.reopen()

    def close(self) -> None:
        """Write the queued lines, and stop. May take some seconds."""
        for writer in self._writers.values():
            writer.close()

    def stats(self) -> RequestLogStats:
        """Return the figures so far."""
        return RequestLogStats(lost={log: writer.lost for log, writer in self._writers.items()})


def check_files(settings: RequestLogSettings) -> None:
    """Check that the logs can be appended to; make no file, which would belong to the user of the check.

    Raises:
        SettingError: one cannot.
    """
    for key in ("access_log", "audit_log"):
        file = Path(getattr(settings, key))
        if str(file) in {".", STANDARD_OUTPUT}:  # "." for ""
            continue
        if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
            raise SettingError(key, str(file), "must be a file that this user can append to")


def _opened(key: str, file: str, clock: Callable[[], float]) -> LineWriter:
    try:
        return LineWriter(file, clock)
    except OSError as error:
        raise SettingError(
            key, file, f"must be a file that can be appended to: {error.strerror or error}"
        ) from error
