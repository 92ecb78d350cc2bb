"""An audit log: what was refused, and what operators did."""

from nncache.clock import boottime, unix_time_of_boot
from nncache.proxy.traffic import Exchange, Result
from nncache.request_logs.access_lines import encode_line, fields_of, rfc3339
from nncache.request_logs.line_writer import LineWriter
from nncache.request_logs.masking import masked


class AuditLog:
    """Writes JSON objects, one a line."""

    def __init__(self, writer: LineWriter) -> None:
        self._writer = writer

    def answered(self, exchange: Exchange) -> None:
        """Take note of a refused request: malformed, beyond a limit, or not WebHDFS."""
        if exchange.result is Result.REFUSED:
            self.note("request-refused", **fields_of(exchange))

    def page_called(self, address: str, target: str, status: int) -> None:
        """Take note of a call of an operators' page, answered or refused."""
        what = "page-refused" if status in {401, 403} else "page-called"
        self.note(what, address=address, target=masked(target), status=status)

    def note(self, what: str, **fields: object) -> None:
        """Take note of anything."""
        now = unix_time_of_boot() + boottime()
        self._writer.write(encode_line({"log": "audit", "time": rfc3339(now), "event": what} | fields))
