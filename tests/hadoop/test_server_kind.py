"""The kind of a server, from its reply to one query; the replies here were recorded from real servers."""

import pytest

from nncache.hadoop.server_kind import (
    HttpReply,
    ServerKind,
    kind_of_first_bytes,
    kind_of_metrics,
    kind_of_reply,
    name_of,
    parse_reply,
)

IPC = (
    b"HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\nIt looks like you are making an HTTP request to a "
    b"Hadoop IPC port. This is not the correct port for the web interface on this daemon.\r\n"
)
NAMENODE = (
    b'HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf8\r\n\r\n{"beans" : [ {"name" : '
    b'"Hadoop:service=NameNode,name=JvmMetrics", "tag.ProcessName" : "NameNode"} ]}'
)
DATANODE = NAMENODE.replace(b"NameNode", b"DataNode")
PROXY = b"HTTP/1.1 404 Not Found\r\nCache-Status: nncache; detail=not-webhdfs\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "kind", "name"),
    [
        (IPC, ServerKind.HADOOP_RPC, ""),
        (NAMENODE, ServerKind.NAMENODE_HTTP, "NameNode"),
        (DATANODE, ServerKind.HADOOP_HTTP, "DataNode"),
        (b'HTTP/1.1 200 OK\r\n\r\n{"beans" : [ ]}', ServerKind.HADOOP_HTTP, ""),
        (PROXY, ServerKind.PROXY, ""),
        (b"HTTP/1.1 401 x\r\nWWW-Authenticate: Negotiate\r\n\r\n", ServerKind.LOCKED_HTTP, ""),
        (b"HTTP/1.1 302 Found\r\nLocation: http://sso/\r\n\r\n", ServerKind.LOCKED_HTTP, ""),
        (b"HTTP/1.0 404 x\r\nServer: nginx\r\n\r\n", ServerKind.HTTP, "nginx"),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", ServerKind.HTTP, ""),
    ],
)
def test_an_http_reply_tells_the_server(data: bytes, kind: ServerKind, name: str) -> None:
    """Hadoop's servers, nncache's, and those of others."""
    reply = parse_reply(data)
    assert reply is not None
    assert (kind_of_reply(reply), name_of(reply)) == (kind, name)


@pytest.mark.parametrize("data", [b"", b"SSH-2.0-OpenSSH", b"HTTP/2 200\r\n"])
def test_what_is_no_http_reply_is_none(data: bytes) -> None:
    """Bytes of other protocols are no reply."""
    assert parse_reply(data) is None


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x46", ServerKind.TLS),
        (b"Zookeeper version: 3.8.6-6df26\n", ServerKind.ZOOKEEPER),
        (b"srvr is not executed because it is not in the whitelist.\n", ServerKind.ZOOKEEPER),
        (b"SSH-2.0-OpenSSH_9.2\r\n", ServerKind.OTHER),
        (b"", None),
    ],
)
def test_first_bytes_tell_the_server(data: bytes, kind: ServerKind | None) -> None:
    """An empty reply says nothing."""
    assert kind_of_first_bytes(data) is kind


def test_the_metrics_page_tells_whose_admin_port_it_is() -> None:
    """A publisher has metrics of its own."""

    def page(body: bytes) -> HttpReply:
        return HttpReply(200, {}, body)

    assert kind_of_metrics(page(b"nncache_cache_entries 1\n")) is ServerKind.PROXY_ADMIN
    assert kind_of_metrics(page(b"nncache_publisher_filters 1\n")) is ServerKind.PUBLISHER_ADMIN
    assert kind_of_metrics(page(b"go_goroutines 7\n")) is None
