"""Requests to a server's web port as a user that it accepts, mainly to check whether the server is up.

Each request has a timeout.
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
    """The secret and the TLS context with which a server's web port accepts a request."""

    # signs the server's cookies if it requires Kerberos; empty: it accepts `user.name`
    secret: bytes = b""
    # verifies the server's certificate; None: plain HTTP
    context: ssl.SSLContext | None = None

    def headers(self, user: str) -> dict[str, str]:
        """Return the headers of a user's request. The user needs no ticket: the test bed signs the cookie itself."""
        if not self.secret:
            return {}
        ends = time.time() + _COOKIE_S  # noqa: TID251 - the server goes by the wall clock
        return {"Cookie": f'hadoop.auth="{signed_cookie(self.secret, user, expires_s=ends)}"'}

    def ask(self, address: str, method: str, target: str, user: str, *, timeout_s: float = 30.0) -> RawReply:
        """Send one request to the server at "host:port" as this user."""
        with Asker(address, self.context, timeout_s=timeout_s) as asker:
            return asker.ask(method, target, headers=self.headers(user))


def signed_cookie(secret: bytes, user: str, *, expires_s: float, kind: str = "kerberos") -> str:
    """Return the value of a hadoop.auth cookie, signed with the server's secret.

    As in Hadoop's AuthenticationToken and Signer (hadoop-auth 3.4 and 3.5): HMAC-SHA256 over the text before `&s=`.
    `expires_s` is in seconds since the epoch.
    """
    text = f"u={user}&p={user}@{REALM}&t={kind}&e={int(expires_s * 1000)}"
    signature = base64.b64encode(hmac.digest(secret, text.encode(), hashlib.sha256)).decode()
    return f"{text}&s={signature}"


_NAME = "testbed"
_USER = f"user.name={_NAME}"  # some NameNodes do not answer a caller without a name
_ANY = WebAccess()  # for a server that accepts user.name

_TIMEOUT_S = 2.0
_ZOOKEEPER_TIMEOUT_S = 0.3  # during its start, ZooKeeper sometimes never answers a connection


def jmx(address: str, bean: str, access: WebAccess = _ANY) -> dict[str, Any] | None:
    """Return a JMX bean of the server at this HTTP address; None if it does not serve the bean (yet)."""
    status, body = _get(address, f"/jmx?qry={quote(bean)}&{_USER}", access)
    if status != http.client.OK:
        return None
    try:
        beans = json.loads(body)["beans"]
    except (ValueError, KeyError):
        return None
    return beans[0] if beans else None


def namenode_state(http_address: str, access: WebAccess = _ANY) -> str | None:
    """Return "active", "standby", "observer" or "initializing"; None if the NameNode does not report its state."""
    bean = jmx(http_address, "Hadoop:service=NameNode,name=NameNodeStatus", access)
    return str(bean.get("State")) if bean else None


def namenode_is_up(http_address: str, rpc_address: str, access: WebAccess = _ANY) -> bool:
    """Return whether a NameNode, active or not, accepts calls on both its ports.

    Its state over HTTP proves nothing: it is "active" some 100 ms before the NameNode accepts calls. Until then they
    fail with a RetriableException, "NameNode still not started" (NameNodeRpcServer.checkNNStartup).
    """
    status, body = _get(http_address, f"/webhdfs/v1/?op=GETFILESTATUS&{_USER}", access)
    answered = status == http.client.OK or (status == http.client.FORBIDDEN and b"StandbyException" in body)
    return answered and accepts(rpc_address)


def is_writable(http_address: str, access: WebAccess = _ANY) -> bool:
    """Return whether an active NameNode is out of safe mode."""
    bean = jmx(http_address, "Hadoop:service=NameNode,name=NameNodeInfo", access)
    return bean is not None and bean.get("Safemode") == ""


def live_datanodes(http_address: str, access: WebAccess = _ANY) -> int:
    """Return the number of live DataNodes; 0 before one has reported its storage.

    Until then the NameNode directs no client to a DataNode (NO_REQUIRED_STORAGE_TYPE).
    """
    bean = jmx(http_address, "Hadoop:service=NameNode,name=FSNamesystemState", access)
    if bean is None or int(bean.get("CapacityTotal", 0)) <= 0:
        return 0
    return int(bean.get("NumLiveDataNodes", 0))


def accepts(address: str) -> bool:
    """Return whether a server accepts connections at "host:port"."""
    try:
        with socket.create_connection(split_address(address), timeout=_TIMEOUT_S):
            return True
    except OSError:
        return False


def zookeeper_is_up(address: str) -> bool:
    """Return whether a ZooKeeper serves clients (four-letter word `srvr`)."""
    try:
        return "Mode: " in four_letters.ask(address, "srvr", timeout_s=_ZOOKEEPER_TIMEOUT_S)
    except OSError:
        return False


def _get(address: str, target: str, access: WebAccess) -> tuple[int, bytes]:
    """Return the status and the body of the reply; status 0 if none arrived."""
    try:
        reply = access.ask(address, "GET", target, _NAME, timeout_s=_TIMEOUT_S)
    except (OSError, http.client.HTTPException):
        return 0, b""
    return reply.status, reply.body
