"""The kind of a server is found by requests, however it reacts to them."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from nncache.checks.contacts import contact
from nncache.checks.facts import Contact, Trouble
from nncache.hadoop.server_kind import ServerKind
from nncache.testbed.certificates import Authority
from tests.commands.planted import greeting, silent, socket_server, tls
from tests.http_server import http_server
from tests.processes import free_address
from tests.tls import server_context, web_of


def seen(address: str) -> Contact:
    """Return the contact at an address."""
    return asyncio.run(contact(address, "hdfs"))


def zookeeper(connection: socket.socket) -> None:
    """Answer only `srvr`, and close on anything else, as ZooKeeper does."""
    with connection:
        if connection.recv(4) == b"srvr":
            connection.sendall(b"Zookeeper version: 3.8.6\n")


@pytest.mark.parametrize(
    ("serve", "kind", "name"),
    [
        (zookeeper, ServerKind.ZOOKEEPER, ""),  # recognized by its `srvr` answer
        (silent, ServerKind.SILENT, ""),
        (greeting, ServerKind.OTHER, "SSH-2.0-OpenSSH_9.2p1"),
        (tls, ServerKind.TLS, ""),
        (lambda connection: connection.close(), ServerKind.SILENT, ""),
    ],
)
def test_servers_of_other_protocols(
    serve: Callable[[socket.socket], None], kind: ServerKind, name: str
) -> None:
    """They hang, close the connection, or send first."""
    with socket_server(serve) as address:
        found = seen(address)
    assert (found.kind, found.name, found.trouble, found.own_host) == (kind, name, None, "127.0.0.1")


@pytest.mark.parametrize(
    ("fields", "body", "kind"),
    [
        ({"Server": "x"}, "nncache_cache_entries 1\n", ServerKind.PROXY_ADMIN),
        ({"Server": "x"}, "nncache_publisher_filters 1\n", ServerKind.PUBLISHER_ADMIN),
        ({"Server": "x"}, "go_goroutines 1\n", ServerKind.HTTP),
        ({"Cache-Status": "nncache; detail=not-webhdfs"}, "", ServerKind.PROXY),
    ],
)
def test_an_http_server_is_known_by_what_it_says(fields: dict[str, str], body: str, kind: ServerKind) -> None:
    """An admin port is recognized by its metrics, and a proxy by its Cache-Status."""
    with http_server(404, fields, body) as address:
        assert seen(address).kind is kind


def test_no_listener_and_no_host() -> None:
    """They are different faults, each with the operating system's words."""
    found = seen(free_address())
    assert (found.trouble, found.why) == (Trouble.UNREACHABLE, "[Errno 111] Connection refused")
    found = seen("no-such-host.invalid:1")
    assert (found.trouble, found.kind) == (Trouble.UNRESOLVED, None)
    assert found.why


def test_a_host_that_drops_connections_is_slow() -> None:
    """A full accept queue drops connections, as a firewall does."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as waiting:
        address = listener.getsockname()
        for _ in range(3):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(address)
        found = seen(f"127.0.0.1:{address[1]}")
    assert (found.trouble, found.why, found.kind) == (Trouble.SLOW, "1.2 s", None)


def test_all_addresses_of_a_host_are_tried() -> None:
    """`localhost` may resolve first to an address where the server does not listen."""
    with http_server(200) as address:
        port = address.rpartition(":")[2]
        assert seen(f"localhost:{port}").kind is ServerKind.HTTP


NAMENODE = b'HTTP/1.1 200 OK\r\n\r\n{"beans":[{"tag.ProcessName":"NameNode"}]}'


@contextmanager
def over_tls(authority: Authority, *identities: str) -> Iterator[str]:
    """Serve as the HTTPS port of a NameNode with a certificate for these names."""
    context = server_context(authority, *identities)

    def serve(connection: socket.socket) -> None:
        try:
            with context.wrap_socket(connection, server_side=True) as secure:
                secure.recv(4096)
                secure.sendall(NAMENODE)
        except OSError:
            connection.close()

    with socket_server(serve) as address:
        yield address


def test_over_tls_a_namenode_is_one_if_it_is_believed(tmp_path: Path) -> None:
    """Otherwise the reason is given. Asked in plain HTTP, it is a TLS port."""
    authority = Authority(tmp_path / "own")
    web = web_of(authority)
    with over_tls(authority) as address, over_tls(authority, "nn1.example") as other:
        found = asyncio.run(contact(address, "hdfs", web))
        assert (found.kind, found.name, found.trouble) == (ServerKind.NAMENODE_HTTP, "NameNode", None)
        for at, how, why in (
            (other, web, "IP address mismatch"),
            (address, web_of(Authority(tmp_path / "foreign")), "namenode_ca must name"),
        ):
            found = asyncio.run(contact(at, "hdfs", how))
            assert (found.kind, found.trouble) == (None, Trouble.UNTRUSTED)
            assert why in found.why
        assert seen(address).kind is ServerKind.TLS


@pytest.mark.parametrize(
    ("serve", "kind"),
    [(silent, ServerKind.SILENT), (greeting, ServerKind.OTHER), (zookeeper, ServerKind.ZOOKEEPER)],
)
def test_where_tls_is_wanted_other_servers_are_named(
    serve: Callable[[socket.socket], None], kind: ServerKind, tmp_path: Path
) -> None:
    """Their kinds are the same as without TLS."""
    with socket_server(serve) as address:
        assert asyncio.run(contact(address, "hdfs", web_of(Authority(tmp_path)))).kind is kind


def test_a_plain_port_where_tls_is_wanted(tmp_path: Path) -> None:
    """The kind names the plain HTTP server."""
    with http_server(200, body=NAMENODE.decode().partition("\r\n\r\n")[2]) as address:
        found = asyncio.run(contact(address, "hdfs", web_of(Authority(tmp_path))))
        assert (found.kind, found.name) == (ServerKind.PLAIN_HTTP, "NameNode")
