"""Queries YARN's ResourceManagers, one of which is active, over their REST API.

Source: RMWebAppFilter of Hadoop 3.5.0: a standby answers /ws/v1/cluster/info itself, and redirects all other requests
to the active ResourceManager (307), if it knows which one that is.
"""

import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

import aiohttp
from yarl import URL

from nncache.hadoop.errors import KerberosError
from nncache.net.http_failure import why_unanswered
from nncache.registry.errors import ResourceManagerError
from nncache.registry.pacing import at_once
from nncache.registry.yarn_states import INFO, Manager, RmAnswer, RmReply, RmUnanswered, Undecided, manager_of

TIMEOUT_S: Final = 10.0  # for a reply; a ResourceManager under load takes seconds

MAX_REPLY_BYTES: Final = 4 * 1024 * 1024  # the longest reply lists attempts: half a kilobyte each

_API: Final = "/ws/v1/cluster"
_REDIRECTED: Final = "/metrics"  # a page that a standby does not answer itself


@dataclass(frozen=True, slots=True)
class ActiveResourceManager:
    """The active ResourceManager."""

    url: str  # scheme, host and port
    manager: Manager  # its own description


class ResourceManagers:
    """The ResourceManagers of one cluster."""

    def __init__(
        self,
        http: aiohttp.ClientSession,
        urls: Sequence[str],
        *,
        user: str = "",
        tls: ssl.SSLContext | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Send requests over `http`, with its cookies and logins.

        Each URL is scheme, host and port. If `user` is empty, simple authentication uses the server's default user.
        Without `tls` the operating system's certificate authorities are trusted.
        """
        self._http = http
        self._urls = tuple(urls)
        self._query = {"user.name": user} if user else {}
        self._tls = tls
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)

    async def find(self) -> ActiveResourceManager:
        """Return the active one: one of the configured ones, or else one to which a standby redirects.

        Raises ResourceManagerError if none, or more than one, claims to be active; the message names them.
        """
        found, complaints = await self._look(self._urls)
        if not found:
            named = [url for url in await at_once(self._redirect, self._urls) if url not in {"", *self._urls}]
            found, more = await self._look(tuple(dict.fromkeys(named)))
            complaints += more
        if not found:
            raise ResourceManagerError("; ".join(complaints), "none is an active ResourceManager")
        if len(found) > 1:
            several = ", ".join(each.url for each in found)
            raise ResourceManagerError(several, "all say that they are the active ResourceManager")
        return found[0]

    async def check_unchanged(self, active: ActiveResourceManager) -> None:
        """Check that it has been active without interruption since it was found.

        Raises ResourceManagerError if it has not, or does not answer.
        """
        now = manager_of(await self.ask(active.url, INFO))
        if isinstance(now, Undecided):
            raise ResourceManagerError(active.url, now.why)
        if not now.is_active or now.started_on != active.manager.started_on:
            raise ResourceManagerError(active.url, "it was restarted, or became standby, while it was asked")

    async def ask(self, url: str, page: str) -> RmAnswer:
        """Return the answer of the server at `url` for a page below /ws/v1/cluster."""
        try:
            async with self._get(url, page) as reply:
                if reply.status in range(HTTPStatus.MULTIPLE_CHOICES, HTTPStatus.BAD_REQUEST):
                    return RmUnanswered(f"{url} is no active ResourceManager: it answers with {reply.status}")
                body = bytearray()
                async for chunk in reply.content.iter_any():
                    body += chunk
                    if len(body) > MAX_REPLY_BYTES:
                        return RmUnanswered(f"{url} answers with more than {MAX_REPLY_BYTES} bytes")
                return RmReply(reply.status, bytes(body), _time_of(reply.headers.get("Date", "")))
        except KerberosError as error:
            return RmUnanswered(str(error))
        except (aiohttp.ClientError, OSError) as error:  # includes TimeoutError
            return RmUnanswered(f"{url} does not answer: {why_unanswered(error)}")

    async def _look(self, urls: Sequence[str]) -> tuple[list[ActiveResourceManager], list[str]]:
        """Return the active ResourceManagers, and a complaint about each other server."""
        found: list[ActiveResourceManager] = []
        complaints: list[str] = []
        for url, answer in zip(urls, await at_once(lambda url: self.ask(url, INFO), urls), strict=True):
            manager = manager_of(answer)
            if isinstance(manager, Undecided):
                complaints.append(f"{url} ({manager.why})")
            elif manager.is_active:
                found.append(ActiveResourceManager(url, manager))
            else:
                complaints.append(f"{url} (it is not active)")
        return found, complaints

    async def _redirect(self, url: str) -> str:
        """Return the URL of the ResourceManager to which a standby redirects; "" if it does not redirect."""
        with suppress(aiohttp.ClientError, OSError, ValueError, KerberosError):
            async with self._get(url, _REDIRECTED) as reply:
                if reply.status == HTTPStatus.TEMPORARY_REDIRECT:
                    return str(URL(reply.headers.get("Location", "")).origin())
        return ""

    def _get(self, url: str, page: str) -> "aiohttp.client._RequestContextManager":
        return self._http.get(
            f"{url}{_API}{page}",
            params=self._query,
            headers={"Accept": "application/json"},
            allow_redirects=False,
            timeout=self._timeout,
            ssl=self._tls or True,
        )


def _time_of(date: str) -> int:
    """Return the time of a Date field in milliseconds since 1970; 0 if it is invalid."""
    try:
        return int(parsedate_to_datetime(date).timestamp()) * 1000
    except (ValueError, OverflowError):
        return 0
