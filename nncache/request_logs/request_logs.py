"""All logs of requests that the settings ask for."""

from collections.abc import Callable
from dataclasses import dataclass

from nncache.net.setting_error import SettingError
from nncache.proxy.traffic import Observer
from nncache.request_logs.access_log import AccessLog
from nncache.request_logs.audit_log import AuditLog
from nncache.request_logs.line_writer import LineWriter
from nncache.request_logs.settings import RequestLogSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLogStats:
    """Since the start, by log: `access` and `audit`.

    Attributes:
        lines: to be written.
        lost: of these, not written, since the disk was too slow or too full.
    """

    lines: dict[str, int]
    lost: dict[str, int]


class RequestLogs:
    """The logs, from the opening of their files to the last line."""

    def __init__(self, settings: RequestLogSettings, clock: Callable[[], float]) -> None:
        """Open them.

        Raises:
            SettingError: a file cannot be appended to.
        """
        self._writers = dict[str, LineWriter]()
        for log, file in (("access", settings.access_log), ("audit", settings.audit_log)):
            if file:
                self._writers[log] = _opened(f"{log}_log", file, clock)
        self.observers: tuple[Observer, ...] = ()
        if (writer := self._writers.get("access")) is not None:
            form, sample = settings.access_log_format, settings.access_log_sample
            self.observers = (AccessLog(writer, form, sample),)
        self.audit: AuditLog | None = None
        if (writer := self._writers.get("audit")) is not None:
            self.audit = AuditLog(writer)
            self.observers = (*self.observers, self.audit)

    def start(self) -> None:
        """Begin to write."""
        for writer in self._writers.values():
            writer.start()

    def note(self, what: str, **fields: object) -> None:
        """Write what operators did to the audit log, if there is one."""
        if self.audit is not None:
            self.audit.note(what, **fields)

    def page_called(self, address: str, target: str, status: int) -> None:
        """Write a call of an operators' page to the audit log, if there is one."""
        if self.audit is not None:
            self.audit.page_called(address, target, status)

    def reopen(self) -> None:
        """Open all files by their names again: they were moved."""
        for writer in self._writers.values():
            writer.reopen()

    def close(self) -> None:
        """Write what is left, and end. May take some seconds."""
        for writer in self._writers.values():
            writer.close()

    def stats(self) -> RequestLogStats:
        """Return the figures so far."""
        return RequestLogStats(
            lines={log: writer.lines for log, writer in self._writers.items()},
            lost={log: writer.lost for log, writer in self._writers.items()},
        )


def _opened(key: str, file: str, clock: Callable[[], float]) -> LineWriter:
    try:
        return LineWriter(file, clock)
    except OSError as error:
        raise SettingError(
            key, file, f"must be a file that can be appended to: {error.strerror or error}"
        ) from error
