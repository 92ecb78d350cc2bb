"""Requests to a proxy of the secured cluster and to its NameNode, byte for byte."""

import http.client
import json
import os
import ssl
import subprocess
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nncache.testbed import Cluster, Kdc
from nncache.testbed.asker import Asker, RawReply
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.readiness import signed_cookie
from tests.cluster import make_directory, webhdfs
from tests.kerberos import need_curl

Header = tuple[str, str]
PREFIX = "/webhdfs/v1"


@dataclass(frozen=True, slots=True)
class Question:
    """A request."""

    path: str
    query: str = ""
    headers: tuple[Header, ...] = ()
    op: str = "GETFILESTATUS"
    method: str = "GET"

    @property
    def target(self) -> str:
        """The target in the request line."""
        return f"{PREFIX}{self.path}?op={self.op}{self.query}"


def ask(address: str, question: Question) -> RawReply:
    """Send the question on a new connection; return the reply. A header may occur twice."""
    with Asker(address) as asker:
        return asker.ask(question.method, question.target, headers=question.headers)


def ask_over_tls(address: str, question: Question, context: ssl.SSLContext) -> RawReply:
    """Ask as `ask` does, at a TLS port ("localhost:port": the certificate's name)."""
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPSConnection(host, int(port), timeout=60, context=context)
    began_at = time.monotonic()
    try:
        connection.putrequest(question.method, question.target, skip_accept_encoding=True)
        for name, value in question.headers:
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        return RawReply(
            response.status, tuple(response.getheaders()), response.read(), began_at, time.monotonic()
        )
    finally:
        connection.close()


def namenode_of(cluster: Cluster) -> str:
    """Return the NameNode's HTTP address."""
    return cluster.namenodes[0].http


def kept_place(cluster: Cluster, permission: str = "700", *, top: str = "/kept") -> str:
    """Make a directory of alice with group `users`, to which bob belongs, in a cached place; return its path."""
    place = f"{top}/{uuid.uuid4().hex[:12]}"
    make_directory(cluster, top)
    make_directory(cluster, place, permission=permission)
    webhdfs(cluster, "PUT", place, "SETOWNER", owner="alice", group="users")
    return place


def kept_path(cluster: Cluster, *, top: str = "/kept") -> str:
    """Make a directory inside one that only alice may enter; return its path."""
    path = f"{kept_place(cluster, top=top)}/d"
    webhdfs(cluster, "PUT", path, "MKDIRS")
    return path


def cookie_of(cluster: Cluster, user: str, *, lives_s: float = 3600.0, namenode: int = 0) -> str:
    """Return a cookie of one of the NameNodes for this user, as name=value."""
    ends = time.time() + lives_s  # noqa: TID251 - the NameNode uses the wall clock
    return f'hadoop.auth="{signed_cookie(cluster.namenodes[namenode].access.secret, user, expires_s=ends)}"'


def token_of(cluster: Cluster, user: str) -> str:
    """Return a new delegation token of the NameNode for this user."""
    headers = (("Cookie", cookie_of(cluster, user)),)
    reply = ask(namenode_of(cluster), Question("/", "&renewer=" + user, headers, "GETDELEGATIONTOKEN"))
    return str(json.loads(reply.body)["Token"]["urlString"])


def until_hit(proxy: ProxyDaemon, question: Question, *, within_s: float = 60.0) -> RawReply:
    """Ask until the answer comes from memory, as it does once no change of the path is pending."""
    deadline = time.monotonic() + within_s
    while not (reply := ask(proxy.address, question)).is_hit:
        assert time.monotonic() < deadline, (question, reply)
        time.sleep(0.02)
    return reply


def curl(kdc: Kdc, ticket: Path, url: str, *options: str) -> bytes:
    """Return the output of curl, which negotiates with this ticket."""
    need_curl()
    command = ("curl", "--silent", "--negotiate", "--user", ":", *options, url)
    environ = {"PATH": os.environ["PATH"], "KRB5CCNAME": f"FILE:{ticket}", **kdc.environ()}
    return subprocess.run(command, env=environ, capture_output=True, timeout=60, check=True).stdout


def names(replies: Iterable[RawReply]) -> list[tuple[int, bool]]:
    """Return the status of each reply, and whether it came from memory."""
    return [(reply.status, reply.is_hit) for reply in replies]
