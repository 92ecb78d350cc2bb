"""Who may see a page that shows paths and users: operators alone. (nncache/admin/access.py)

With a token, who brings it. Without one, clients on this host that name it by a name of its own: a browser that was
led here by DNS rebinding sends the name of the page that it came from.
"""

import hmac
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Access:
    """The rule for one admin port."""

    def __init__(self, host: str, token: str | None = None, names: Iterable[str] = ()) -> None:
        self._token = token
        self._names = _LOCAL_NAMES | {host.lower()} | {name.lower() for name in names}

    def refusal(
        self, peer: str | None, host: str | None, authorization: str | None
    ) -> tuple[int, str] | None:
        """Return status and text for a client that may not see the page; None for one that may.

        Args:
            peer: the address of the client.
            host: the Host header.
            authorization: the Authorization header.
        """
        if self._token is not None:
            scheme, _, given = (authorization or "").partition(" ")
            is_right = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token.encode())
            if scheme.lower() == "bearer" and is_right:
                return None
            return 401, "this page needs the token of admin_token_file: Authorization: Bearer TOKEN"
        if not is_loopback(peer):
            return 403, (
                "this page shows paths and users, to clients on this host only; "
                "set admin_token_file to read it from elsewhere"
            )
        if _name_of(host) not in self._names:
            return 403, "the Host header names another host; add it to admin_hosts if it is this one"
        return None


def is_loopback(peer: str | None) -> bool:
    """Whether this is the address of a client on this host."""
    try:
        return ip_address((peer or "").removeprefix("::ffff:")).is_loopback
    except ValueError:
        return False


def _name_of(host: str | None) -> str:
    """Return the host of a Host header without its port."""
    text = (host or "").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]
