"""`nncache audit`: compare a proxy's answers from memory with the NameNode's."""

import http.client
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import click

from nncache.auditing.audit_judge import AUDIT_OUTCOMES, AuditOutcome
from nncache.commands.admin_client import AdminPort, admin_port_of
from nncache.commands.audit_questions import AuditQuestions, AuditReport, StatusReply, paced
from nncache.commands.explain import target_of
from nncache.commands.options import given, with_json, with_settings
from nncache.errors import AdminError, ConfigurationError, NotAuditedError
from nncache.hadoop.paths import InvalidPathError, canonical
from nncache.logs import one_line
from nncache.net.endpoint import ListenAddress, parse_endpoint
from nncache.net.setting_error import SettingError
from nncache.settings.commands import AUDIT, load_settings

_EPILOG = (
    "Exit codes, as of diff(1): 0, no answer was wrong; 1, some were; 2, that is not known: nothing could be compared, "
    "or the proxy could not prove that it knows all changes."
)


@with_settings(AUDIT.keys.values())
@click.command(epilog=_EPILOG)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--filter", "filter_", metavar="NAME|GLOB", help="Choose only paths that this filter matches.")
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="NUMBER",
    help="Comparisons a second; each is one call to the NameNode.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="NUMBER",
    help="Duration of the audit, in seconds.",
)
@click.option(
    "--proxy",
    "proxy_at",
    metavar="TEXT",
    help="host:port on which the proxy serves clients.  [default: reported by the proxy]",
)
@with_json
def audit(
    paths: tuple[str, ...],
    filter_: str | None,
    *,
    rate: float,
    seconds: float,
    proxy_at: str | None,
    as_json: bool,
    config: Path | None,
    **flags: object,
) -> None:
    """Compare a running proxy's answers from memory with the NameNode's answers.

    Reads the same paths from both: the given paths, repeatedly, or a random sample of the paths in the proxy's cache. A
    difference alone is not a fault, since the path may have changed in between: an answer is wrong only if the proxy
    still holds it after it has proven that all changes are applied. Ctrl-C ends the audit early; the verdict then
    covers the paths read so far.
    """
    if paths and filter_ is not None:
        raise click.UsageError("give PATHs or --filter NAME|GLOB, one of the two")
    try:
        places = tuple(map(canonical, paths))
    except InvalidPathError as error:
        raise click.UsageError(str(error)) from error
    settings = load_settings(AUDIT, config, given(flags))
    admin = admin_port_of(settings.proxy)
    try:
        status = admin.status_of_proxy()
        proxy = proxy_of(status, admin.endpoint) if proxy_at is None else parse_endpoint("--proxy", proxy_at)
        if not places:
            held_paths(admin, filter_)  # raises if there is no such filter
    except SettingError as error:
        raise ConfigurationError(str(error)) from error
    except AdminError as error:
        raise NotAuditedError(str(error)) from error
    bound_s = status["gate"]["max_staleness_s"]
    questions = AuditQuestions(
        HttpSides(admin, proxy, settings.caller.user), max_staleness_s=bound_s, pause=time.sleep
    )

    def choose() -> Sequence[str]:
        with suppress(AdminError):  # it answered before: it may be restarting
            return places or held_paths(admin, filter_)
        return ()

    try:
        for path in paced(choose, per_s=rate, for_s=seconds):
            questions.ask(path)
    except KeyboardInterrupt:
        click.echo("ended early", err=True)
    report = questions.report
    click.echo(json.dumps(report_as_json(report), indent=2) if as_json else "\n".join(lines(report)))
    sys.exit(report.exit_code)


def held_paths(admin: AdminPort, filter_: str | None) -> Sequence[str]:
    """Return a random sample of the paths in the proxy's cache.

    Raises:
        AdminError: the request failed, for example because no such filter is in force.
    """
    query = {} if filter_ is None else {"filter": filter_}
    found: list[str] = admin.ask("/sample?" + urlencode(query, errors="surrogateescape"))["paths"]
    return found


TIMEOUT_S: Final = 10.0
"""Timeout in seconds of each socket operation. A NameNode under load takes seconds."""

_WILDCARDS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with


@dataclass(frozen=True, slots=True)
class HttpSides:
    """A proxy, its admin port, and the NameNodes that it knows.

    Attributes:
        admin: the admin port of the proxy.
        proxy: the address at which the proxy serves WebHDFS.
        user: the HDFS user of all reads.
    """

    admin: AdminPort
    proxy: ListenAddress
    user: str

    def explain(self, path: str) -> Mapping[str, Any]:
        """Return the proxy's `/explain` of a path. Raises AdminError."""
        return self.admin.ask(target_of(path))

    def through_proxy(self, path: str) -> StatusReply | None:
        """Return the proxy's reply about a path; None without a reply."""
        return self._read(self.proxy, path)

    def at_namenode(self, http: str, path: str) -> StatusReply | None:
        """Return the reply of the NameNode with this HTTP address; None without a reply."""
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
    """Return whether a Cache-Status field reports an answer from memory (RFC 9211, section 2.1)."""
    return any(part.strip() == "hit" for part in cache_status.split(";")[1:])


def proxy_of(status: Mapping[str, Any], admin: ListenAddress) -> ListenAddress:
    """Return the address for clients in a proxy's `/status`; with the admin port's host if it listens on all."""
    listen = parse_endpoint("listen", str(status["settings"]["listen"]))
    return ListenAddress(admin.host, listen.port) if listen.host in _WILDCARDS else listen


VERDICTS = {0: "right", 1: "wrong", 2: "not known"}
"""Verdicts by exit code."""


def report_as_json(report: AuditReport) -> dict[str, object]:
    """Return the report as a JSON object."""
    return {
        "verdict": VERDICTS[report.exit_code],
        "exit_code": report.exit_code,
        "compared": report.compared,
        "outcomes": {outcome.value: report.outcomes[outcome] for outcome in AuditOutcome},
        "not_from_memory": report.not_from_memory,
        "wrong": list(report.wrong),
    }


def lines(report: AuditReport) -> Iterator[str]:
    """Yield the report as lines for people: the outcomes, then the verdict."""
    for outcome in AuditOutcome:
        if count := report.outcomes[outcome]:
            yield f"{count:>7,} {outcome}: {AUDIT_OUTCOMES[outcome]}"
    if report.not_from_memory:
        yield f"{report.not_from_memory:>7,} not from memory: the proxy asked the NameNode itself, nothing to compare"
    for path in report.wrong:
        yield one_line(f"wrong answer from memory: {path}")
    yield verdict(report)


def verdict(report: AuditReport) -> str:
    """Return the verdict, the last line."""
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
