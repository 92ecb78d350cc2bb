"""The settings of access log and audit log."""

from dataclasses import dataclass, field
from typing import Final, Literal

from nncache.net.setting_error import SettingError

AccessLogFormat = Literal["combined", "json"]

STANDARD_OUTPUT: Final = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLogSettings:
    """The files of the two logs, and the form and sampling of access lines.

    Raises SettingError if the two logs have one destination, or the sample is invalid.
    """

    access_log: str = field(
        default="",
        metadata={
            "help": "File to which a line is appended for each request; `-` is standard output. SIGHUP reopens it, for "
            "logrotate. If the disk is too slow or full, lines are dropped and counted.",
            "default": "none",
        },
    )
    access_log_format: AccessLogFormat = field(
        default="combined",
        metadata={
            "help": "Format of these lines. combined: as in Apache and nginx (without protocol, referrer and agent), "
            "followed by result, operation, forward reason, seconds, weight and request id. json: a JSON object."
        },
    )
    access_log_sample: int = field(
        default=1,
        metadata={
            "help": "One hit in this number is logged, with the number as its weight; all other requests always are. 1 "
            "logs all hits, which may double the CPU time of each."
        },
    )
    audit_log: str = field(
        default="",
        metadata={
            "help": "File to which a JSON object is appended for each refused request, call of an operators' page, "
            "reload, start and stop; `-` is standard output.",
            "default": "none",
        },
    )

    def __post_init__(self) -> None:
        if not self.access_log_sample > 0:
            raise SettingError("access_log_sample", self.access_log_sample, "must be 1 or more")
        if self.audit_log and self.audit_log == self.access_log:
            raise SettingError("audit_log", self.audit_log, "must be another file than access_log")
