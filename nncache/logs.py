"""Log lines: one line each, with a UTC timestamp, on standard error."""

import json
import logging
import os
import select
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Literal

from nncache.net.token_bucket import TokenBucket

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """The settings of the log."""

    log_level: LogLevel = field(default="info", metadata={"help": "Minimum severity of log messages."})
    log_format: LogFormat = field(
        default="text",
        metadata={
            "help": "Format of a log message: text, or a JSON object with time, level, logger, message and, if there "
            "is one, exception. Each message is one line."
        },
    )


_ESCAPES: Final = {
    code: chr(code).encode("unicode_escape").decode("ascii")
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
    if chr(code) != "\t"
}
"""Escapes of the characters that end a line for some reader, or control the terminal that shows it."""


def one_line(text: str) -> str:
    """Return a text with its line ends and control characters escaped."""
    return text.translate(_ESCAPES)


class _Timed(logging.Formatter):
    """Writes times in UTC, in the format of RFC 3339."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"


class OneLine(_Timed):
    """Formats a record as one line, so that data of a peer cannot forge a second line."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line. Line ends in it, also those of a traceback, and control characters are escaped."""
        return one_line(super().format(record))


class OneObject(_Timed):
    """Formats a record as a JSON object on one line, in ASCII: no byte from a peer is copied into it unescaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object. A traceback is one string."""
        fields = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack"] = self.formatStack(record.stack_info)
        return json.dumps(fields)


_AT_ONCE: Final = 60
_EVERY_S: Final = 1.0
_MEANINGLESS: Final = "returning true from eof_received() has no effect when using ssl"
"""A warning of asyncio and uvloop for each TLS connection whose client has closed its half. Our protocol returns true
for plain connections; on TLS connections the value has no effect."""


class Bounded(logging.Filter):
    """Limits the lines of each place in the code: a burst of 60 lines, then one a second.

    So neither a client nor an overloaded machine fills a disk. The next line counts the omitted lines. DEBUG lines are
    not limited, since a person watches them.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._places: dict[tuple[str, str, int], tuple[TokenBucket, int]] = {}  # by place in the code

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is written."""
        if record.levelno <= logging.DEBUG:
            return True
        if record.msg == _MEANINGLESS:
            return False
        now, place = self._clock(), (record.name, record.pathname, record.lineno)
        bucket, left_out = self._places.get(place) or (TokenBucket(1 / _EVERY_S, _AT_ONCE, now), 0)
        if bucket.left(now) < 1.0:
            self._places[place] = bucket, left_out + 1
            return False
        bucket.charge(1.0, now)
        self._places[place] = bucket, 0
        if left_out:
            record.msg, record.args = f"{record.getMessage()} ({left_out} more like this were left out)", None
        return True


_FORMATTERS: Final[dict[LogFormat, type[logging.Formatter]]] = {"text": OneLine, "json": OneObject}


def set_log_level(settings: LogSettings) -> None:
    """Set the minimum severity of log lines."""
    logging.getLogger().setLevel(settings.log_level.upper())


class NonBlockingHandler(logging.Handler):
    """Writes to a pipe or socket, and loses the lines that its reader does not take in time.

    A log driver of Docker's may block while its server is unavailable; an event loop must not wait for it. The file
    itself stays blocking: other processes may share it.
    """

    def __init__(self, number: int) -> None:
        """Write to this file descriptor."""
        super().__init__()
        self._number = number
        self._lost = 0  # lines since the last one that was written
        self._ready = select.poll()
        self._ready.register(number, select.POLLOUT)

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line, with the number of those that were lost before it."""
        try:
            if self._lost:
                lost = f"{self._lost} lines before this one were lost: nothing read them"
                record.msg, record.args = f"{record.getMessage()} ({lost})", None
            line = f"{self.format(record)}\n".encode(errors="backslashreplace")
            for start in range(0, len(line), select.PIPE_BUF):
                if not self._ready.poll(0):
                    self._lost += 1
                    return
                os.write(self._number, line[start : start + select.PIPE_BUF])
            self._lost = 0
        except OSError:
            self._lost += 1
        except Exception:  # noqa: BLE001 - as in logging's own handlers
            self.handleError(record)


def show_errors() -> None:
    """Send the errors of every logger to standard error, for a command, which may wait for the reader."""
    _send(logging.StreamHandler(sys.stderr), LogSettings(log_level="error"))


def set_up_logs(settings: LogSettings) -> None:
    """Send the lines of every logger of a daemon to standard error. Replaces an earlier set-up."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    with suppress(OSError):  # no file, in tests
        number = sys.stderr.fileno()
        if stat.S_IFMT(os.fstat(number).st_mode) in {stat.S_IFIFO, stat.S_IFSOCK}:
            handler = NonBlockingHandler(number)
    _send(handler, settings)


def _send(handler: logging.Handler, settings: LogSettings) -> None:
    handler.setFormatter(_FORMATTERS[settings.log_format]())
    handler.addFilter(Bounded(time.monotonic))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
