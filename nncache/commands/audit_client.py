"""Ask the proxy and the NameNodes for `nncache audit`."""

import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from nncache.commands.admin_client import AdminPort
from nncache.commands.audit_questions import Read
from nncache.net.endpoint import Endpoint, parse_endpoint

TIMEOUT_S: Final = 10.0
"""Of one read; a NameNode under load takes seconds."""

_WILDCARDS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with


@dataclass(frozen=True, slots=True)
class HttpSides:
    """A proxy, its admin port, and the NameNodes that it knows.

    Attributes:
        admin: where the proxy explains itself.
        proxy: where it serves WebHDFS.
        user: HDFS user as whom both are asked.
    """

    admin: AdminPort
    proxy: Endpoint
    user: str

    def explain(self, path: str) -> Mapping[str, Any]:
        """Return the proxy's `/explain`; may raise AdminError."""
        return self.admin.ask("/explain?path=" + quote(path, safe="", errors="surrogateescape"))

    def through_proxy(self, path: str) -> Read | None:
        """Read through the proxy; None: it did not answer."""
        return self._read(self.proxy, path)

    def at_namenode(self, http: str, path: str) -> Read | None:
        """Read at the NameNode with this HTTP address; None: it did not answer."""
        return self._read(parse_endpoint("http", http), path)

    def _read(self, endpoint: Endpoint, path: str) -> Read | None:
        query = urlencode({"op": "GETFILESTATUS", "user.name": self.user})
        connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=TIMEOUT_S)
        try:
            connection.request("GET", f"/webhdfs/v1{quote(path, errors='surrogateescape')}?{query}")
            response = connection.getresponse()
            return Read(response.status, response.read(), is_hit(response.getheader("Cache-Status", "")))
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


def is_hit(cache_status: str) -> bool:
    """Whether this field says that the answer came from memory (RFC 9211, section 2.1)."""
    return any(part.strip() == "hit" for part in cache_status.split(";")[1:])


def proxy_of(status: Mapping[str, Any], admin: Endpoint) -> Endpoint:
    """Return where the proxy of this `/status` serves clients; on the admin port's host if it does on all addresses."""
    listen = parse_endpoint("listen", str(status["settings"]["listen"]))
    return Endpoint(admin.host, listen.port) if listen.host in _WILDCARDS else listen
