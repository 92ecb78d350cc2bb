"""Recognise the kind of server at an address by its reply to `GET /jmx`.

Pure. Source: org.apache.hadoop.ipc.Server (RECEIVED_HTTP_REQ_RESPONSE), org.apache.hadoop.jmx.JMXJsonServlet of Hadoop
3.4.1 and 3.5.0; RFC 8446, section 5.1, for TLS; the ZooKeeper administrator's guide for four-letter words.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import Final

PROCESS_QUERY: Final = "/jmx?qry=Hadoop:service=*,name=JvmMetrics"
"""Names the daemon of a Hadoop web server: every daemon has this bean."""

_PROCESS: Final = re.compile(rb'"tag\.ProcessName"\s*:\s*"([A-Za-z0-9_-]{1,40})"')
_OF_A_NAMENODE: Final = re.compile(rb'service=NameNode,|"tag\.ProcessName"\s*:\s*"NameNode"')
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})\b")
_IPC_PORT: Final = b"HTTP request to a Hadoop IPC port"
_ASKS_FOR_MORE: Final = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.FOUND,
        HTTPStatus.SEE_OTHER,
        HTTPStatus.TEMPORARY_REDIRECT,
    }
)


class ServerKind(Enum):
    """The kind of a server; the value completes a sentence that begins with its address."""

    NAMENODE_HTTP = "is the HTTP port of a NameNode"
    HADOOP_HTTP = "is the HTTP port of a Hadoop daemon that is no NameNode"
    HADOOP_RPC = "is a Hadoop RPC port"
    PROXY = "is an nncache proxy"
    PROXY_ADMIN = "is the admin port of an nncache proxy"
    PUBLISHER_ADMIN = "is the admin port of an nncache publisher"
    LOCKED_HTTP = "is an HTTP server that asks for authentication"
    HTTP = "is an HTTP server that is no NameNode"
    TLS = "is a TLS (https) port"
    PLAIN_HTTP = "is a plain HTTP port, and HTTPS is wanted"
    ZOOKEEPER = "is a ZooKeeper"
    OTHER = "is a server that speaks neither HTTP, Hadoop RPC, ZooKeeper's protocol nor TLS"
    SILENT = "accepts connections and answers nothing"


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An HTTP reply; the names of its fields are in lower case."""

    status: int
    fields: Mapping[str, str]
    body: bytes


def parse_reply(data: bytes) -> HttpReply | None:
    """Parse a whole HTTP/1 reply; None if it is not one."""
    line = _STATUS_LINE.match(data)
    if line is None:
        return None
    head, _, body = data.partition(b"\r\n\r\n")
    pairs = (field.decode("latin-1").partition(":") for field in head.split(b"\r\n")[1:])
    return HttpReply(int(line[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}, body)


def kind_of_reply(reply: HttpReply) -> ServerKind:
    """Return the kind of server that sends this reply to `GET /jmx`."""
    if _IPC_PORT in reply.body:
        return ServerKind.HADOOP_RPC
    if reply.fields.get("cache-status", "").startswith("nncache"):
        return ServerKind.PROXY
    if reply.status in _ASKS_FOR_MORE:
        return ServerKind.LOCKED_HTTP
    if reply.status == HTTPStatus.OK and _OF_A_NAMENODE.search(reply.body):
        return ServerKind.NAMENODE_HTTP
    if reply.status == HTTPStatus.OK and b'"beans"' in reply.body:
        return ServerKind.HADOOP_HTTP
    return ServerKind.HTTP


def kind_of_first_bytes(data: bytes) -> ServerKind | None:
    """Return the kind of a server by its first bytes, or by its reply to an unexpected request; None if empty."""
    if data[:2] == b"\x15\x03":  # a TLS alert
        return ServerKind.TLS
    if data.startswith(b"Zookeeper version") or b"not in the whitelist" in data:
        return ServerKind.ZOOKEEPER
    return ServerKind.OTHER if data else None


def kind_of_metrics(reply: HttpReply) -> ServerKind | None:
    """Return the kind of admin port that sends this reply to `GET /metrics`; None if it is not nncache's."""
    if b"nncache_publisher_" in reply.body:
        return ServerKind.PUBLISHER_ADMIN
    return ServerKind.PROXY_ADMIN if b"nncache_" in reply.body else None


def name_of(reply: HttpReply) -> str:
    """Return a server's own name: the Hadoop daemon, or the field Server; "" if there is none."""
    process = _PROCESS.search(reply.body)
    return process[1].decode() if process else reply.fields.get("server", "")[:80]
