"""Questions to the web port of a server, as a user whom it believes: above all, whether it is up.

None of them waits longer than its timeout.
"""

import base64
import hashlib
import hmac
import http.client
import json
import socket
import ssl
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from nncache.net.addresses import split_address
from nncache.testbed import four_letters
from nncache.testbed.asker import Asker, RawReply
from nncache.testbed.spec import REALM

_COOKIE_S = 86_400.0


@dataclass(frozen=True, slots=True)
class WebAccess:
    """How to be believed by the web port of a server."""

    # signs the server's cookies, where it asks for Kerberos; empty: it believes `user.name`
    secret: bytes = b""
    # with which the server is trusted; None: it is asked over plain HTTP
    context: ssl.SSLContext | None = None

    def headers(self, user: str) -> dict[str, str]:
        """Return the headers of a request of this user, who needs no ticket: the test bed signs the cookie itself."""
        if not self.secret:
            return {}
        ends = time.time() + _COOKIE_S  # noqa: TID251 - the server goes by the wall clock
        return {"Cookie": f'hadoop.auth="{signed_cookie(self.secret, user, expires_s=ends)}"'}

    def ask(self, address: str, method: str, target: str, user: str, *, timeout_s: float = 30.0) -> RawReply:
        """Ask the server at "host:port" once, as this user."""
        with Asker(address, self.context, timeout_s=timeout_s) as asker:
            return asker.ask(method, target, headers=self.headers(user))


def signed_cookie(secret: bytes, user: str, *, expires_s: float, kind: str = "kerberos") -> str:
    """Return the value of a hadoop.auth cookie as a server with this secret signs it.

    Hadoop's AuthenticationToken and Signer (hadoop-auth 3.4 and 3.5): HMAC-SHA256 over the text before `&s=`.
    `expires_s` is seconds since the epoch.
    """
    text = f"u={user}&p={user}@{REALM}&t={kind}&e={int(expires_s * 1000)}"
    signature = base64.b64encode(hmac.digest(secret, text.encode(), hashlib.sha256)).decode()
    return f"{text}&s={signature}"


_NAME = "testbed"
_USER = f"user.name={_NAME}"  # some NameNodes answer nothing to a caller without a name
_ANY = WebAccess()  # to a server that believes user.name

_TIMEOUT_S = 2.0
_ZOOKEEPER_TIMEOUT_S = 0.3  # a connection that comes amid its start is now and then never answered


def jmx(address: str, bean: str, access: WebAccess = _ANY) -> dict[str, Any] | None:
    """Return a bean of the server whose HTTP address this is, or None when it doesn't give it (yet)."""
    status, body = _get(address, f"/jmx?qry={quote(bean)}&{_USER}", access)
    if status != http.client.OK:
        return None
    try:
        beans = json.loads(body)["beans"]
    except (ValueError, KeyError):
        return None
    return beans[0] if beans else None


def namenode_state(http_address: str, access: WebAccess = _ANY) -> str | None:
    """Return "active", "standby", "observer" or "initializing"; None while the NameNode doesn't tell."""
    bean = jmx(http_address, "Hadoop:service=NameNode,name=NameNodeStatus", access)
    return str(bean.get("State")) if bean else None


def namenode_is_up(http_address: str, rpc_address: str, access: WebAccess = _ANY) -> bool:
    """Tell whether a NameNode, active or not, takes calls on both its ports.

    Its HTTP state is no answer: it says "active" some 100 ms before calls are taken, which until then get a
    RetriableException, "NameNode still not started" (NameNodeRpcServer.checkNNStartup).
    """
    status, body = _get(http_address, f"/webhdfs/v1/?op=GETFILESTATUS&{_USER}", access)
    answered = status == http.client.OK or (status == http.client.FORBIDDEN and b"StandbyException" in body)
    return answered and accepts(rpc_address)


def is_writable(http_address: str, access: WebAccess = _ANY) -> bool:
    """Tell whether an active NameNode is out of safe mode."""
    bean = jmx(http_address, "Hadoop:service=NameNode,name=NameNodeInfo", access)
    return bean is not None and bean.get("Safemode") == ""


def live_datanodes(http_address: str, access: WebAccess = _ANY) -> int:
    """Count the DataNodes that the NameNode would send a client to.

    One that has registered and not reported its storage yet does not count (NO_REQUIRED_STORAGE_TYPE).
    """
    bean = jmx(http_address, "Hadoop:service=NameNode,name=FSNamesystemState", access)
    if bean is None or int(bean.get("CapacityTotal", 0)) <= 0:
        return 0
    return int(bean.get("NumLiveDataNodes", 0))


def accepts(address: str) -> bool:
    """Tell whether something takes connections there."""
    try:
        with socket.create_connection(split_address(address), timeout=_TIMEOUT_S):
            return True
    except OSError:
        return False


def zookeeper_is_up(address: str) -> bool:
    """Tell whether a ZooKeeper serves clients (its four-letter word `srvr`)."""
    try:
        return "Mode: " in four_letters.ask(address, "srvr", timeout_s=_ZOOKEEPER_TIMEOUT_S)
    except OSError:
        return False


def _get(address: str, target: str, access: WebAccess) -> tuple[int, bytes]:
    """Return the status and the body of the answer; status 0 when there is none."""
    try:
        reply = access.ask(address, "GET", target, _NAME, timeout_s=_TIMEOUT_S)
    except (OSError, http.client.HTTPException):
        return 0, b""
    return reply.status, reply.body
