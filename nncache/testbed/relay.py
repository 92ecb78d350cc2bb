"""A TCP relay in front of a server: it can cut, swallow, hold or delay the traffic, and restore it.

It runs an event loop in its own thread. So synchronous code and coroutines can both use it, and it keeps running
while the loop under test is blocked.
"""

import asyncio
import contextlib
import enum
import itertools
import socket
import struct
import threading
from collections.abc import Coroutine
from typing import Any, Self

from nncache.net.addresses import split_address
from nncache.testbed.ports import PortLease

_CALL_TIMEOUT_S = 10.0
_CONNECT_TIMEOUT_S = 5.0
_TICK_S = 1e-6  # between two deliveries: the loop does not keep the order of equal times
_CHUNK_BYTES = 65_536
_ACCEPT_ITERATIONS = 5  # iterations of the loop; accepting a connection takes three
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER: on, 0 s


class _Mode(enum.Enum):
    PASS = enum.auto()
    CUT = enum.auto()
    SWALLOW = enum.auto()
    HOLD = enum.auto()


async def _settle() -> None:
    """Let the loop finish the connections that it is accepting or closing."""
    for _ in range(_ACCEPT_ITERATIONS):
        await asyncio.sleep(0)


class _Pair:
    """A client's connection and the relay's connection to the server for it."""

    def __init__(self, client: asyncio.StreamWriter) -> None:
        self.ends = [client]
        self.has_lost_bytes = False
        self.is_reset = False

    def reset(self) -> None:
        self.is_reset = True
        for end in self.ends:
            connection = end.get_extra_info("socket")
            with contextlib.suppress(OSError):  # closed already
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            end.transport.abort()


class Relay:
    """Listens on its own port and relays each connection to `upstream` ("host:port"; several are used in turn).

    All methods may be called from any thread, and take effect before they return. `address` never changes.
    """

    def __init__(self, upstream: str, *, port: int = 0, host: str = "127.0.0.1") -> None:
        """Prepare a relay; `start()` or a `with` block makes it listen. Port 0 leases a free one.

        `host` is a loopback address.
        """
        self._upstreams = itertools.cycle(map(split_address, upstream.split(",")))
        self._ports = PortLease()
        self.address = f"{host}:{self._ports.take(port)}"  # the address for clients
        self._thread = threading.Thread(target=self._run, name=f"relay-{self.address}", daemon=True)
        self._is_listening = threading.Event()
        self._error: OSError | None = None  # why listening failed
        self.connections = 0  # accepted since start (counter)
        # Only the relay's own thread uses the attributes below.
        self._loop: asyncio.AbstractEventLoop  # the thread's loop, once it runs
        self._mode = _Mode.PASS
        self._delay_s = 0.0
        self._pairs: set[_Pair] = set()
        self._server: asyncio.Server | None = None
        self._group = asyncio.TaskGroup()
        self._flowing = asyncio.Event()
        self._ending = asyncio.Event()

    def start(self) -> Self:
        """Start to listen.

        Raises:
            OSError: the relay cannot listen on the port.
        """
        self._thread.start()
        self._is_listening.wait()
        if self._error is not None:
            raise self._error
        return self

    def stop(self) -> None:
        """Reset all connections and stop listening. May be called again."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ending.set)
            self._thread.join()
        self._ports.release()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def cut(self) -> None:
        """Reset all connections and refuse new ones, as if the server's process had died."""
        self._call(self._change(_Mode.CUT))

    def black_hole(self) -> None:
        """Keep and accept connections, but drop all bytes in both directions.

        `restore()` resets the connections that lost bytes.
        """
        self._call(self._change(_Mode.SWALLOW))

    def hold(self) -> None:
        """Keep and accept connections, but hold all bytes until `restore()` delivers them."""
        self._call(self._change(_Mode.HOLD))

    def delay(self, seconds: float) -> None:
        """Delay all bytes by this duration in both directions, in order; 0 ends the delay."""
        self._call(self._change(delay_s=seconds))

    def restore(self) -> None:
        """End `cut`, `black_hole`, `hold` and `delay`: relay all bytes immediately."""
        self._call(self._change(_Mode.PASS, delay_s=0.0))

    def reset_connections(self) -> None:
        """Reset all current connections; the mode for new ones does not change."""
        self._loop.call_soon_threadsafe(self._reset_all)
        self._call(self._change())  # returns after the reset

    def lead_to(self, upstream: str) -> None:
        """Reset all current connections and relay new ones to this server ("host:port")."""
        self._upstreams = itertools.cycle([split_address(upstream)])
        self.reset_connections()

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_CALL_TIMEOUT_S)

    def _run(self) -> None:
        # Not the process's default loop: the tests must not depend on uvloop.
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            await self._listen()
        except OSError as error:
            self._error = error
            return
        finally:
            self._is_listening.set()
        self._flowing.set()
        async with self._group:
            await self._ending.wait()
            await self._change(_Mode.CUT)
        await _settle()  # the last connections are closed

    async def _listen(self) -> None:
        host, port = split_address(self.address)
        self._server = await asyncio.start_server(self._accept, host, port, reuse_address=True, backlog=1024)

    async def _change(self, mode: _Mode | None = None, delay_s: float | None = None) -> None:
        """Change the mode or the delay; runs in the relay's thread."""
        if delay_s is not None:
            self._delay_s = delay_s
        if mode is None:
            return
        self._mode = mode
        if mode is _Mode.CUT:
            await self._stop_listening()
            self._reset_all()
        elif self._server is None:
            await self._listen()
        if mode is _Mode.PASS:
            for pair in self._pairs:
                if pair.has_lost_bytes:
                    pair.reset()
        if mode is _Mode.HOLD:
            self._flowing.clear()
        else:
            self._flowing.set()

    async def _stop_listening(self) -> None:
        if self._server is None:
            return
        server, self._server = self._server, None
        # asyncio loses, and never closes, a connection that it is accepting while its server is closed.
        for listening in server.sockets:
            self._loop.remove_reader(listening.fileno())
        await _settle()
        server.close()

    def _reset_all(self) -> None:
        for pair in self._pairs:
            pair.reset()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        pair = _Pair(writer)
        self._pairs.add(pair)
        self._group.create_task(self._carry(pair, reader, writer))

    async def _carry(self, pair: _Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay one connection to its end; an error on one side resets both."""
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT_S):
                upstream_reader, upstream_writer = await asyncio.open_connection(*next(self._upstreams))
            pair.ends.append(upstream_writer)
            if pair.is_reset:  # during the connect
                pair.reset()
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(pair, reader, upstream_writer))
                both.create_task(self._pump(pair, upstream_reader, writer))
            for end in pair.ends:
                end.close()
        except* OSError:
            pair.reset()
        finally:
            self._pairs.discard(pair)

    async def _pump(self, pair: _Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        due = 0.0  # loop time of the last delivery; the next must not overtake it after the delay shrinks
        while chunk := await reader.read(_CHUNK_BYTES):
            await self._flowing.wait()
            if self._mode is _Mode.SWALLOW:
                pair.has_lost_bytes = True
                continue
            now = self._loop.time()
            due = max(due + _TICK_S, now + self._delay_s)
            if due > now + _TICK_S:
                self._loop.call_at(due, writer.write, chunk)
            else:
                writer.write(chunk)
                await writer.drain()
        await self._flowing.wait()
        if self._mode is _Mode.SWALLOW:
            pair.has_lost_bytes = True  # the end of the stream is dropped like its bytes
            return
        await asyncio.sleep(max(due + _TICK_S, self._loop.time() + self._delay_s) - self._loop.time())
        if not writer.is_closing():
            writer.write_eof()
