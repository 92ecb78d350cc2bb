"""Ask the proxy and the NameNodes for `nncache audit`."""

import http.client
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from nncache.auditing.audit_judge import AUDIT_OUTCOMES, AuditOutcome
from nncache.commands.admin_client import AdminPort
from nncache.commands.audit_questions import AuditReport, StatusReply
from nncache.logs import one_line
from nncache.net.endpoint import ListenAddress, parse_endpoint

TIMEOUT_S: Final = 10.0
"""Of one read; a NameNode under load takes seconds."""

_WILDCARDS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with


@dataclass(frozen=True, slots=True)
class HttpSides:
    """A proxy, its admin port, and the NameNodes that it knows.

    Attributes:
        admin: where the proxy explains itself.
        proxy: where it serves WebHDFS.
        user: HDFS user that asks both.
    """

    admin: AdminPort
    proxy: ListenAddress
    user: str

    def explain(self, path: str) -> Mapping[str, Any]:
        """Return the proxy's `/explain`; may raise AdminError."""
        return self.admin.ask("/explain?path=" + quote(path, safe="", errors="surrogateescape"))

    def through_proxy(self, path: str) -> StatusReply | None:
        """Read through the proxy; None: it did not answer."""
        return self._read(self.proxy, path)

    def at_namenode(self, http: str, path: str) -> StatusReply | None:
        """Read at the NameNode with this HTTP address; None: it did not answer."""
        return self._read(parse_endpoint("http", http), path)

    def _read(self, endpoint: ListenAddress, path: str) -> StatusReply | None:
        query = urlencode({"op": "GETFILESTATUS", "user.name": self.user})
        connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=TIMEOUT_S)
        try:
            connection.request("GET", f"/webhdfs/v1{quote(path, errors='surrogateescape')}?{query}")
            response = connection.getresponse()
            return StatusReply(
                response.status, response.read(), is_hit(response.getheader("Cache-Status", ""))
            )
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


def is_hit(cache_status: str) -> bool:
    """Whether this field says that the answer came from memory (RFC 9211, section 2.1)."""
    return any(part.strip() == "hit" for part in cache_status.split(";")[1:])


def proxy_of(status: Mapping[str, Any], admin: ListenAddress) -> ListenAddress:
    """Return where the proxy of this `/status` serves clients; on the admin port's host if it does on all addresses."""
    listen = parse_endpoint("listen", str(status["settings"]["listen"]))
    return ListenAddress(admin.host, listen.port) if listen.host in _WILDCARDS else listen


VERDICTS = {0: "right", 1: "wrong", 2: "not known"}
"""By exit code."""


def report_as_json(report: AuditReport) -> dict[str, object]:
    """Return the report as JSON holds it."""
    return {
        "verdict": VERDICTS[report.exit_code],
        "exit_code": report.exit_code,
        "compared": report.compared,
        "outcomes": {outcome.value: report.outcomes[outcome] for outcome in AuditOutcome},
        "not_from_memory": report.not_from_memory,
        "wrong": list(report.wrong),
    }


def lines(report: AuditReport) -> Iterator[str]:
    """Yield the lines for people: what was found, then the verdict."""
    for outcome in AuditOutcome:
        if count := report.outcomes[outcome]:
            yield f"{count:>7,} {outcome}: {AUDIT_OUTCOMES[outcome]}"
    if report.not_from_memory:
        yield f"{report.not_from_memory:>7,} not from memory: the proxy asked the NameNode itself, nothing to compare"
    for path in report.wrong:
        yield one_line(f"wrong answer from memory: {path}")
    yield verdict(report)


def verdict(report: AuditReport) -> str:
    """Return the last line."""
    wrong, unproven = report.outcomes[AuditOutcome.BEYOND], report.outcomes[AuditOutcome.UNPROVEN]
    match report.exit_code:
        case 0:
            return f"right: {report.compared:,} answers from memory compared, none beyond the bound"
        case 1:
            return (
                f"wrong: {wrong:,} of {report.compared:,} answers from memory beyond the bound (Bounded is broken): "
                "take the globs or filters for these paths out of force, and report what nncache explain says of them"
            )
        case _ if unproven:
            return (
                f"not known: {unproven:,} answers differ, and the proxy could not prove in time that it knows all "
                "changes (nncache explain PATH says what its gate waits for)"
            )
        case _:
            return (
                "not known: no answer from memory could be compared; is anything cached, and may the user see it? "
                "(nncache top, --user)"
            )
