"""Identify the server at an address.

The requests only read: `GET /jmx` and `/metrics`, ZooKeeper's `srvr`, the beginning of a TLS handshake. Each has its
own connection, since a server closes the connection of an unexpected request.
"""

import asyncio
import socket
import ssl
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import quote

from nncache.checks.facts import Contact, Trouble
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.server_kind import (
    PROCESS_QUERY,
    HttpReply,
    ServerKind,
    kind_of_first_bytes,
    kind_of_metrics,
    kind_of_reply,
    name_of,
    parse_reply,
)
from nncache.net.addresses import split_address
from nncache.net.daemon_thread import on_daemon_thread
from nncache.net.http_failure import why_unanswered
from nncache.net.tls_failure import why_no_tls

STEP_S: Final = 1.2
"""Timeout of each step: the resolution, a connection, a request."""

_MOST_BYTES: Final = 256 * 1024
_PLAIN_HTTP: Final = frozenset(
    {ServerKind.NAMENODE_HTTP, ServerKind.LOCKED_HTTP, ServerKind.HADOOP_HTTP, ServerKind.HTTP}
)


async def contact(address: str, user: str, web: NameNodeWeb = PLAIN) -> Contact:
    """Return the server at host:port, within the time of five steps; over TLS, if `web` uses it."""
    host, port = split_address(address)
    try:
        hosts = await resolved(host, port)
    except OSError as error:
        return Contact(address=address, trouble=Trouble.UNRESOLVED, why=error.strerror or str(error))
    except TimeoutError:
        return Contact(address=address, trouble=Trouble.UNRESOLVED, why=f"no answer in {STEP_S:g} s")
    why = ""
    for each in hosts:
        try:
            own_host = await _connect(each, port)
        except TimeoutError:
            return Contact(address=address, hosts=hosts, trouble=Trouble.SLOW, why=f"{STEP_S:g} s")
        except OSError as error:
            why = why_unanswered(error)
            continue
        seen = Contact(address=address, hosts=hosts, own_host=own_host)
        if (context := web.context) is not None:
            return await _recognised_over_tls(seen, each, user, context)
        kind, name = await _recognise(each, port, host, user)
        return replace(seen, kind=kind, name=name)
    return Contact(address=address, hosts=hosts, trouble=Trouble.UNREACHABLE, why=why)


async def admin_over_tls(address: str) -> ServerKind | None:
    """Return the kind of nncache's admin port over TLS at host:port, with any certificate; None: another server."""
    host, port = split_address(address)
    question = _get("/metrics", host)
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        reply = parse_reply(await _answer(host, port, question, _any_certificate(), host))
        return None if reply is None else kind_of_metrics(reply)
    return None


async def resolved(host: str, port: int) -> tuple[str, ...]:
    """Return the addresses of a host.

    Raises:
        OSError: the host has no addresses.
        TimeoutError: the resolver does not answer in time.
    """
    look = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    async with asyncio.timeout(STEP_S):
        found = await on_daemon_thread(look, f"resolve {host}")
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))


async def _connect(host: str, port: int) -> str:
    """Connect, and return the local address of the connection."""
    async with asyncio.timeout(STEP_S):
        _, writer = await asyncio.open_connection(host, port)
    own: str = writer.get_extra_info("sockname")[0]
    writer.transport.abort()
    return own


async def _recognised_over_tls(seen: Contact, at: str, user: str, context: ssl.SSLContext) -> Contact:
    """Return the server at an address where a NameNode's HTTPS port is wanted."""
    host, port = split_address(seen.address)
    fault: ssl.SSLError | None = None
    try:
        reply = parse_reply(await _answer(at, port, _about_process(host, user), context, host))
    except ssl.SSLError as error:
        fault = error
    except (OSError, TimeoutError):
        pass
    else:
        if reply is not None:
            return replace(seen, kind=kind_of_reply(reply), name=name_of(reply))
    kind, name = await _recognise(at, port, host, user)
    if kind in _PLAIN_HTTP:
        return replace(seen, kind=ServerKind.PLAIN_HTTP, name=name)
    if kind is ServerKind.TLS and fault is not None:
        return replace(seen, trouble=Trouble.UNTRUSTED, why=why_no_tls(fault))
    return replace(seen, kind=kind, name=name)


async def _recognise(host: str, port: int, name: str, user: str) -> tuple[ServerKind, str]:
    """Return the kind of the server, and its name for itself."""
    data = await _asked(host, port, _about_process(name, user))
    reply = parse_reply(data)
    if reply is not None:
        kind = kind_of_reply(reply)
        if kind is ServerKind.HTTP and (metrics := await _page(host, port, "/metrics", name)) is not None:
            kind = kind_of_metrics(metrics) or kind
        return kind, name_of(reply)
    first = kind_of_first_bytes(data)
    if first is not None and first is not ServerKind.OTHER:
        return first, ""
    if first is ServerKind.OTHER:
        return first, data[:40].decode("ascii", "replace").splitlines()[0]
    speaks_tls, words = await asyncio.gather(_speaks_tls(host, port), _asked(host, port, b"srvr"))
    if speaks_tls:
        return ServerKind.TLS, ""
    return kind_of_first_bytes(words) or ServerKind.SILENT, ""


async def _page(host: str, port: int, target: str, name: str) -> HttpReply | None:
    return parse_reply(await _asked(host, port, _get(target, name)))


def _about_process(host: str, user: str) -> bytes:
    return _get(f"{PROCESS_QUERY}&user.name={quote(user, safe='')}", host)


def _get(target: str, host: str) -> bytes:
    """Return a request of HTTP/1.0, whose reply is not chunked and ends with the connection."""
    return f"GET {target} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: nncache-check\r\n\r\n".encode()


async def _asked(host: str, port: int, question: bytes) -> bytes:
    """Return the bytes that a server sends on a new connection before it ends or times out; b"" after an error."""
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        return await _answer(host, port, question)
    return b""


async def _answer(
    host: str, port: int, question: bytes, context: ssl.SSLContext | None = None, name: str | None = None
) -> bytes:
    """Return the same, and raise errors; with a context over TLS to the server `name`.

    Raises:
        OSError: the connection failed; ssl.SSLError: TLS failed, or the certificate is not trusted.
        TimeoutError: no connection in time.
    """
    data = bytearray()
    async with asyncio.timeout(STEP_S):
        reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=name)
    try:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(STEP_S):
                writer.write(question)
                while len(data) < _MOST_BYTES and (chunk := await reader.read(65_536)):
                    data += chunk
    finally:
        writer.transport.abort()
    return bytes(data)


async def _speaks_tls(host: str, port: int) -> bool:
    """Tell whether the server speaks TLS, with any certificate."""
    try:
        async with asyncio.timeout(STEP_S):
            _, writer = await asyncio.open_connection(host, port, ssl=_any_certificate())
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")  # such as for a missing client certificate
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


def _any_certificate() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
