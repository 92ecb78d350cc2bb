"""Calls reach the NameNode that answers them, and another one only if the first cannot have carried them out."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from enum import Enum, auto
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from nncache.hadoop.errors import (
    DataNodeUnavailableError,
    KerberosError,
    NoActiveNameNodeError,
    RemoteExceptionError,
    WebHdfsError,
)
from nncache.hadoop.kerberos.gss import KerberosTicket
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.kerberos.threads import KdcThreads
from nncache.hadoop.kerberos.tickets import CachedTickets
from nncache.hadoop.namenodes import webhdfs_transport
from nncache.hadoop.namenodes.webhdfs_transport import WebHdfsTransport
from nncache.testbed.certificates import Authority
from nncache.testbed.ports import PortLease
from tests.patience import HANG_S
from tests.tls import server_context, web_of

TARGET = "/webhdfs/v1/a?op=X"


class Mood(Enum):
    """The reaction of a NameNode to any call."""

    ACTIVE = auto()
    STANDBY = auto()
    STARTING = auto()
    REFUSING = auto()  # with a final reply
    CUTTING = auto()  # the connection, after it received the call
    SILENT = auto()
    REDIRECTING = auto()  # to `datanode`
    LOCKED = auto()  # to callers without Kerberos


_EXCEPTIONS = {
    Mood.STANDBY: "StandbyException",
    Mood.STARTING: "RetriableException",
    Mood.REFUSING: "AccessControlException",
}


class Server:
    """A NameNode or a DataNode with such a reaction."""

    def __init__(self, mood: Mood, datanode: str = "") -> None:
        self.mood = mood
        self.datanode = datanode
        self.asked = 0
        self.over = asyncio.Event()  # releases the requests to a silent server
        self.base = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer according to the mood."""
        self.asked += 1
        match self.mood:
            case Mood.REDIRECTING:
                return web.Response(status=307, headers={"Location": self.datanode})
            case Mood.LOCKED:
                return web.Response(status=401, headers={"WWW-Authenticate": "Negotiate"})
            case Mood.SILENT:
                await self.over.wait()
            case Mood.CUTTING:
                assert request.transport is not None
                request.transport.close()
            case Mood.STANDBY | Mood.STARTING | Mood.REFUSING:
                remote = {"exception": _EXCEPTIONS[self.mood], "message": "no"}
                return web.json_response({"RemoteException": remote}, status=403)
        return web.Response(body=await request.read() or b"done")


@asynccontextmanager
async def running(*servers: Server) -> AsyncIterator[WebHdfsTransport]:
    """Start the servers and yield a transport to them, in this order."""
    async with AsyncExitStack() as stack:
        for server in servers:
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", server.answer)
            started = await stack.enter_async_context(TestServer(app))
            server.base = str(started.make_url("/"))
            stack.callback(server.over.set)
        transport = WebHdfsTransport([server.base for server in servers], timeout_s=5.0)
        yield await stack.enter_async_context(transport)


async def test_the_active_namenode_is_found_and_remembered() -> None:
    """A standby or starting NameNode changes nothing: the next one is tried, and comes first in later calls."""
    standby, starting, active = Server(Mood.STANDBY), Server(Mood.STARTING), Server(Mood.ACTIVE)
    async with running(standby, starting, active) as transport:
        for method in ("PUT", "GET", "DELETE"):
            assert await transport.ask(method, TARGET) == b"done"
        assert (standby.asked, starting.asked, active.asked) == (1, 1, 3)
        assert transport.url(TARGET) == active.base.rstrip("/") + TARGET
        standby.mood, active.mood = Mood.ACTIVE, Mood.STANDBY
        assert await transport.ask("PUT", TARGET) == b"done"
        assert await transport.ask("PUT", TARGET) == b"done"
        assert (standby.asked, starting.asked, active.asked) == (3, 1, 4)


async def test_where_an_order_is_given_no_other_is_asked() -> None:
    """Not even the one that answered last: it may be an observer now, which answers reads from the past."""
    first, second = Server(Mood.ACTIVE), Server(Mood.ACTIVE)
    bases = list[str]()
    async with (
        running(first, second),
        WebHdfsTransport((first.base, second.base), timeout_s=5.0, order=lambda: bases) as transport,
    ):
        for order in ([first.base], [second.base, first.base]):
            bases[:] = (base.rstrip("/") for base in order)
            assert await transport.ask("GET", TARGET) == b"done"
        assert (first.asked, second.asked) == (1, 1)
        assert transport.url("") == second.base.rstrip("/")
        first.mood = Mood.STANDBY
        for left in ([first.base.rstrip("/")], []):  # the others are observers
            bases[:] = left
            with pytest.raises(NoActiveNameNodeError, match="none of the NameNodes is the active one"):
                await transport.ask("GET", TARGET)


async def test_a_refused_connection_leads_to_the_next() -> None:
    """Nothing was sent, so any call may be sent to another NameNode."""
    with PortLease() as lease:
        gone = f"http://127.0.0.1:{lease.take()}"
        active = Server(Mood.ACTIVE)
        async with running(active), WebHdfsTransport((gone, active.base), timeout_s=5.0) as transport:
            assert await transport.ask("PUT", TARGET) == b"done"


async def test_a_host_that_is_down_leads_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not refuse a connection, nor does a server whose queue of them is full; but nothing was sent."""
    monkeypatch.setattr(webhdfs_transport, "CONNECT_S", 0.5)
    active = Server(Mood.ACTIVE)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as down, ExitStack() as filling:
        for _ in range(2):
            waiting = filling.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(down.getsockname())
        gone = "http://127.0.0.1:{1}".format(*down.getsockname())
        async with running(active), WebHdfsTransport((gone, active.base), timeout_s=HANG_S) as transport:
            assert await transport.ask("DELETE", TARGET) == b"done"


async def test_a_write_that_may_have_been_carried_out_is_not_repeated() -> None:
    """After a lost connection only a read is sent to another NameNode."""
    cutting, active = Server(Mood.CUTTING), Server(Mood.ACTIVE)
    async with running(cutting, active) as transport:
        with pytest.raises(aiohttp.ClientError):
            await transport.ask("PUT", TARGET)
        assert active.asked == 0
        assert await transport.ask("GET", TARGET) == b"done"
        assert active.asked == 1


def without_a_ticket() -> KerberosIdentity:
    """Return an identity that can log in nowhere."""

    def read() -> KerberosTicket:
        raise KerberosError("no ticket")

    return KerberosIdentity("svc", CachedTickets(read, KdcThreads(), lambda: 0.0), may_fall_back=True)


async def test_a_failed_login_at_one_namenode_leads_to_the_next() -> None:
    """For example, its keytab is wrong. A write is not repeated: a server that is not believed may have carried it out.

    The error of the last one is raised unchanged, since it says what to do.
    """
    locked, active = Server(Mood.LOCKED), Server(Mood.ACTIVE)
    async with running(locked, active):
        bases = [server.base for server in (locked, active)]
        async with WebHdfsTransport(bases, 5.0, without_a_ticket()) as transport:
            with pytest.raises(KerberosError, match="no ticket"):
                await transport.ask("PUT", TARGET)
            assert await transport.ask("GET", TARGET) == b"done"
            assert await transport.ask("PUT", TARGET) == b"done"
            active.mood = Mood.STANDBY
            with pytest.raises(KerberosError, match=r"^no ticket$"):
                await transport.ask("GET", TARGET)
            assert (locked.asked, active.asked) == (3, 3)


async def test_an_answer_that_counts_is_the_answer() -> None:
    """A NameNode that refuses for another reason than its state is the active one."""
    refusing, active = Server(Mood.REFUSING), Server(Mood.ACTIVE)
    async with running(refusing, active) as transport:
        with pytest.raises(RemoteExceptionError, match="403 AccessControlException: no"):
            await transport.ask("PUT", TARGET)
    assert active.asked == 0


async def test_where_nobody_is_active_every_reason_is_named() -> None:
    """The error has both addresses, each with its reply."""
    standby, starting = Server(Mood.STANDBY), Server(Mood.STARTING)
    async with running(standby, starting) as transport:
        with pytest.raises(
            NoActiveNameNodeError,
            match=r"none of the NameNodes is the active one: "
            r"127\.0\.0\.1:\d+: StandbyException; 127\.0\.0\.1:\d+: RetriableException$",
        ):
            await transport.ask("GET", TARGET)


async def test_a_single_namenode_says_itself_what_is_wrong() -> None:
    """There is no other NameNode to try."""
    standby = Server(Mood.STANDBY)
    async with running(standby) as transport:
        with pytest.raises(RemoteExceptionError, match="StandbyException"):
            await transport.ask("GET", TARGET)
    assert standby.asked == 1


async def test_silence_lasts_for_one_deadline_of_a_read() -> None:
    """More queries do not help slow NameNodes: after the first timeout there is one more attempt."""
    silent = [Server(Mood.SILENT) for _ in range(3)]
    async with (
        running(*silent),
        WebHdfsTransport([server.base for server in silent], timeout_s=0.05) as transport,
    ):
        with pytest.raises(TimeoutError):
            await transport.ask("GET", TARGET)
        assert [server.asked for server in silent] == [1, 1, 0]
        with pytest.raises(TimeoutError):
            await transport.ask("PUT", TARGET)
        assert [server.asked for server in silent] == [2, 1, 0]


async def test_data_goes_to_the_datanode_of_the_active_namenode() -> None:
    """The first step finds the NameNode, and the second transfers the data."""
    standby, namenode, datanode = Server(Mood.STANDBY), Server(Mood.REDIRECTING), Server(Mood.ACTIVE)
    async with running(datanode, standby, namenode):
        namenode.datanode = datanode.base + "f?op=CREATE"
        async with WebHdfsTransport((standby.base, namenode.base), timeout_s=5.0) as transport:
            assert await transport.ask_in_two_steps("PUT", TARGET, b"data") == b"data"
            assert await transport.ask_in_two_steps("GET", TARGET) == b"done"


@pytest.mark.parametrize("mood", [Mood.CUTTING, Mood.SILENT])
async def test_a_datanode_without_an_answer_is_named(mood: Mood) -> None:
    """It is another host, which may be unreachable although the NameNode is reachable."""
    namenode, datanode = Server(Mood.REDIRECTING), Server(mood)
    async with running(namenode, datanode):
        namenode.datanode = datanode.base
        async with WebHdfsTransport([namenode.base], timeout_s=0.2) as transport:
            with pytest.raises(DataNodeUnavailableError, match=rf"{datanode.base[7:-1]}: \w+"):
                await transport.ask_in_two_steps("PUT", TARGET, b"data")


async def test_a_call_that_may_be_repeated_goes_over_a_kept_connection() -> None:
    """Other calls get a connection each: aiohttp would retry a PUT whose kept connection is dead."""
    peers: list[object] = []

    class Noting(Server):
        async def answer(self, request: web.Request) -> web.StreamResponse:
            assert request.transport is not None
            peers.append(request.transport.get_extra_info("peername"))
            return await super().answer(request)

    async with running(Noting(Mood.ACTIVE)) as transport:
        for may_repeat in (True, True, False, False):
            await transport.ask("PUT", TARGET, may_repeat=may_repeat)
    assert peers[0] == peers[1]
    assert len(set(peers)) == 3


async def test_who_asks_for_kerberos_is_recognized() -> None:
    """The error names the options to set, which the HTML body does not."""
    async with running(Server(Mood.LOCKED)) as transport:
        with pytest.raises(WebHdfsError, match="401, it asks for Negotiate: for Kerberos name --principal"):
            await transport.ask("GET", TARGET)


@pytest.mark.parametrize("name", ["delegation", "Delegation"])
async def test_a_token_of_a_redirect_is_in_no_error(name: str) -> None:
    """On a secured cluster a redirect contains a delegation token, which anybody could use."""
    datanode = Server(Mood.REFUSING)
    namenode = Server(Mood.REDIRECTING)
    async with running(datanode), running(namenode) as transport:
        namenode.datanode = f"{datanode.base}a?{name}=SECRET&x=1"
        with pytest.raises(RemoteExceptionError, match=r"elegation=\.\.\.&x=1") as caught:
            await transport.ask_in_two_steps("GET", TARGET)
    assert "SECRET" not in str(caught.value)


async def test_over_https_both_steps_are_believed_by_one_authority(tmp_path: Path) -> None:
    """The NameNode's and the DataNode's certificate; an untrusted server gets no request."""
    authority = Authority(tmp_path / "own")
    trusted, foreign = server_context(authority), server_context(Authority(tmp_path / "foreign"))
    async with (
        over_https(Server(Mood.ACTIVE), trusted) as datanode,
        over_https(Server(Mood.ACTIVE), foreign) as stranger,
        over_https(Server(Mood.REDIRECTING, datanode.base + TARGET), trusted) as namenode,
        over_https(Server(Mood.REDIRECTING, stranger.base + TARGET), trusted) as misled,
    ):
        for bases in ([stranger.base, namenode.base], [namenode.base]):
            async with WebHdfsTransport(bases, 20, web=web_of(authority)) as transport:
                assert await transport.ask_in_two_steps("PUT", TARGET, b"x") == b"x"
        async with WebHdfsTransport([misled.base], 20, web=web_of(authority)) as transport:
            with pytest.raises(DataNodeUnavailableError, match="its certificate is not believed"):
                await transport.ask_in_two_steps("PUT", TARGET, b"x")
        assert (stranger.asked, datanode.asked) == (0, 2)


@asynccontextmanager
async def over_https(server: Server, context: ssl.SSLContext) -> AsyncIterator[Server]:
    """Run the server with this TLS context."""
    app = web.Application()
    app.router.add_route("*", "/{any:.*}", server.answer)
    runner = TestServer(app, scheme="https")
    await runner.start_server(ssl=context)
    server.base = f"https://127.0.0.1:{runner.port}"
    try:
        yield server
    finally:
        await runner.close()
