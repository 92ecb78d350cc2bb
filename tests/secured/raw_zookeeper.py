"""Access to ZooKeeper through kazoo alone, without nncache's code."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError, NotEmptyError
from kazoo.security import OPEN_ACL_UNSAFE
from puresasl.mechanisms import Mechanism, mechanisms

from nncache.testbed import Kdc

ANONYMOUS: Final = ""
PASSWORD: Final = "digest"
"""A client with a digest user and password of its own choice, which ZooKeeper accepts from anyone."""

_TICKET: Final = "RAW-GSSAPI"
_LOUD_S: Final = 60.0


class _ByTicket(Mechanism):  # type: ignore[misc] # pure-sasl ships no types
    """SASL GSSAPI without a security layer (RFC 4752)."""

    name = _TICKET

    def __init__(self, sasl: Any, tickets: str) -> None:
        import gssapi  # noqa: PLC0415 - only where it is installed

        super().__init__(sasl)
        server = gssapi.Name(f"{sasl.service}@{sasl.host}", gssapi.NameType.hostbased_service)
        own = gssapi.Credentials(usage="initiate", store={"ccache": tickets})
        self._context = gssapi.SecurityContext(name=server, creds=own, usage="initiate")

    def process(self, challenge: bytes | None = None) -> bytes:
        """Return the response to the server's challenge."""
        if not self._context.complete:
            return self._context.step(challenge) or b""
        self._context.unwrap(challenge or b"")
        self.complete = True
        answer: bytes = self._context.wrap(b"\x01\x00\x00\x00", False).message
        return answer

    def dispose(self) -> None:
        """Do nothing: there is no state to drop."""


@contextmanager
def raw(address: str, who: str, kdc: Kdc | None = None, **options: object) -> Iterator[KazooClient]:
    """Yield a client: ANONYMOUS, PASSWORD, or a principal with a ticket, which needs `clients_of` the KDC."""
    if who not in {ANONYMOUS, PASSWORD}:
        assert kdc is not None
        mechanisms.setdefault(_TICKET, _ByTicket)
        options["sasl_options"] = {"mechanism": _TICKET, "tickets": f"FILE:{kdc.kinit(who)}"}
    client = KazooClient(address, timeout=20.0, **options)
    client.start(timeout=_LOUD_S)
    try:
        if who == PASSWORD:
            client.add_auth("digest", "eve:eves-own")
        yield client
    finally:
        client.stop()
        client.close()


def all_paths(client: KazooClient, top: str) -> list[str]:
    """Return a znode and all its descendants, as far as this client may list them."""
    found = [top]
    for path in found:
        found.extend(f"{path}/{name}" for name in client.get_children(path))
    return found


def deeds(client: KazooClient, path: str) -> dict[str, bool]:
    """Try every operation on a znode; return which were allowed. Their effects stay."""
    tries = {
        "get": lambda: client.get(path),
        "list": lambda: client.get_children(path),
        "see the ACL": lambda: client.get_acls(path),
        "set": lambda: client.set(path, b"forged"),
        "create": lambda: client.create(f"{path}/planted", b"forged"),
        "set the ACL": lambda: client.set_acls(path, OPEN_ACL_UNSAFE),
        "delete": lambda: client.delete(path),
    }
    return {deed: _is_allowed(attempt) for deed, attempt in tries.items()}


def _is_allowed(attempt: Any) -> bool:
    try:
        attempt()
    except (
        NoAuthError,
        NotEmptyError,
    ):  # anybody may change the top's parent: only its children keep the top from deletion
        return False
    return True
