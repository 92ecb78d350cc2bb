"""Log lines: one line each, with a UTC timestamp, on standard error. (nncache/logs.py)"""

import json
import logging
import sys
import time
from dataclasses import dataclass, field
from typing import Final, Literal

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What an operator may choose about the log."""

    log_level: LogLevel = field(default="info", metadata={"help": "Minimum severity of log messages."})
    log_format: LogFormat = field(
        default="text",
        metadata={
            "help": "Form of a log message: text, or a JSON object with time, level, logger, message and, where there "
            "is one, exception. One line either way."
        },
    )


_ESCAPES: Final = {
    code: chr(code).encode("unicode_escape").decode("ascii")
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
    if chr(code) != "\t"
}
"""Control characters and line ends: some end a line for some reader, some steer the terminal that shows it."""


def one_line(text: str) -> str:
    """Return a text that neither ends a line nor steers a terminal: such characters are written as escapes."""
    return text.translate(_ESCAPES)


class _Timed(logging.Formatter):
    """Writes times in UTC, as RFC 3339 has them."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"


class OneLine(_Timed):
    """Format a record as one line: whatever a peer sent, it cannot forge a second one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; line ends inside, a traceback's too, and control characters are written as escapes."""
        return one_line(super().format(record))


class OneObject(_Timed):
    """Format a record as a JSON object on one line, in ASCII: no byte of a peer's stands in it as it came."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object; a traceback is one string."""
        said = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            said["stack"] = self.formatStack(record.stack_info)
        return json.dumps(said)


_FORMATTERS: Final[dict[LogFormat, type[logging.Formatter]]] = {"text": OneLine, "json": OneObject}


def set_log_level(settings: LogSettings) -> None:
    """Have lines of this severity and above logged from now on."""
    logging.getLogger().setLevel(settings.log_level.upper())


def set_up_logs(settings: LogSettings) -> None:
    """Send every logger's lines to standard error; replaces what was set up before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_FORMATTERS[settings.log_format]())
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
