"""Each question goes to the NameNode that it concerns, as a user who may ask it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from nncache.clock import boottime
from nncache.hadoop.election_view import Active, NameNode
from nncache.hadoop.errors import (
    CallerRefusedError,
    NoActiveNameNodeError,
    RemoteCallError,
    RpcAuthenticationError,
    RpcError,
    RpcUnavailableError,
    TooManyCallersError,
)
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.remote_exception import RemoteException, Verdict
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.messages import WriteRight
from nncache.proxy.upstream.queries import REFUSAL_REMEMBERED_S, PoolQueries
from nncache.testbed import Cluster
from tests.cluster import make_directory
from tests.patience import HANG_S

FIRST = NameNode("a:1", "a:2")
SECOND = NameNode("b:1", "b:2")
SERVICE = RpcUser("nncache")
ALICE = RpcUser("alice")
DAVE = RpcUser("dave")


def remote_error(exception: str) -> RemoteCallError:
    """Return an exception of the NameNode."""
    remote = RemoteException(exception, f"org.apache.hadoop.{exception}", "no")
    return RemoteCallError(remote, address="nn:2", method="isFileClosed", user="any")


DENIED = remote_error("AccessControlException")


class _Pool:
    """Two NameNodes, one of which may be active; records each question and its user."""

    def __init__(self, active: NameNode | None = FIRST) -> None:
        self.user = SERVICE.name
        self.faults: dict[RpcUser, RpcError] = {}  # what isFileClosed raises, by user
        self.asked: list[tuple[str, NameNode, str]] = []
        self.asked_as: list[RpcUser] = []  # users who asked isFileClosed
        self.may_write: bool | None = True
        self._active = active

    async def wait_active(self, timeout_s: float) -> Active:
        """Return the active NameNode, or fail, immediately."""
        if self._active is None:
            raise NoActiveNameNodeError(f"none in {timeout_s} s")
        return Active(namenode=self._active, started_ms=0, transition_ms=0, term=1)

    async def last_txid(self, namenode: NameNode) -> int:
        self.asked.append(("txid over JMX", namenode, ""))
        return 43

    def rpc(self, namenode: NameNode) -> "_Rpc":
        return _Rpc(self, namenode, SERVICE)

    @asynccontextmanager
    async def rpc_as(self, namenode: NameNode, user: RpcUser) -> AsyncIterator["_Rpc"]:
        yield _Rpc(self, namenode, user)


class _Rpc:
    """A NameNode of the pool, asked as one user."""

    def __init__(self, pool: _Pool, namenode: NameNode, user: RpcUser) -> None:
        self._pool = pool
        self._namenode = namenode
        self._user = user

    async def is_file_closed(self, path: str) -> bool:
        return bool(self._answer("closed", path, answer=True))

    async def exists(self, path: str) -> bool:
        return bool(self._answer("exists", path, answer=False))

    async def may_write(self, path: str) -> bool | None:
        return self._answer("write", path, answer=self._pool.may_write)

    def _answer(self, question: str, path: str, *, answer: bool | None) -> bool | None:
        self._pool.asked.append((question, self._namenode, path))
        self._pool.asked_as.append(self._user)
        if (fault := self._pool.faults.get(self._user)) is not None:
            raise fault
        return answer

    async def is_directory(self, path: str) -> bool:
        return bool(self._answer("directory", path, answer=True))

    async def get_current_edit_log_txid(self) -> int:
        self._pool.asked.append(("txid", self._namenode, ""))
        return 42


def asked(active: NameNode | None = FIRST, *, asks_txid_over_jmx: bool = False) -> tuple[_Pool, PoolQueries]:
    """Return a pool, and queries over it."""
    pool = _Pool(active)
    return pool, PoolQueries(
        cast("NameNodePool", pool), timeout_s=1.0, asks_txid_over_jmx=asks_txid_over_jmx, clock=boottime
    )


class Fixture:
    """Queries over a pool, with a clock that the test sets."""

    def __init__(self, **faults: RpcError) -> None:
        self.now = 0.0
        self.pool = _Pool()
        self.pool.faults = {RpcUser(name): fault for name, fault in faults.items()}
        self._queries = PoolQueries(cast("NameNodePool", self.pool), timeout_s=1.0, clock=lambda: self.now)

    async def ask(self, caller: RpcUser | None = ALICE) -> list[str]:
        """Ask isFileClosed; return the users who asked, and the error's name if it failed."""
        self.pool.asked_as.clear()
        word = []
        try:
            assert await self._queries.is_file_closed(SECOND, "/f", caller)
        except RpcError as error:
            word = [type(error).__name__]
        return [user.name for user in self.pool.asked_as] + word


async def test_a_reply_is_judged_by_the_namenode_that_gave_it() -> None:
    """Whether a file is closed, and the last txid, are known to that NameNode."""
    pool, queries = asked()
    assert await queries.is_file_closed(SECOND, "/f", ALICE)
    assert await queries.last_txid(SECOND) == 42
    assert pool.asked == [("closed", SECOND, "/f"), ("txid", SECOND, "")]


async def test_who_is_no_superuser_asks_over_jmx_how_far_the_log_is() -> None:
    """Over RPC, getCurrentEditLogTxid needs a superuser."""
    pool, queries = asked(asks_txid_over_jmx=True)
    assert await queries.last_txid(SECOND) == 43
    assert pool.asked == [("txid over JMX", SECOND, "")]


async def test_what_exists_is_the_actives_to_say() -> None:
    """Ancestors are looked up where the write will be sent."""
    pool, queries = asked(SECOND)
    assert not await queries.exists("/d")
    assert await queries.is_directory("/d")
    assert pool.asked == [("exists", SECOND, "/d"), ("directory", SECOND, "/d")]


async def test_what_a_caller_can_make_they_are_asked_as() -> None:
    """The service's rights say nothing about its caller's rights, and vice versa."""
    pool, queries = asked()
    for may_write, right in (
        (True, WriteRight.GRANTED),
        (False, WriteRight.DENIED),
        (None, WriteRight.MISSING),
    ):
        pool.may_write = may_write
        assert await queries.may_write("/d", ALICE) is right
    assert await queries.may_write("/d", SERVICE) is WriteRight.MISSING
    assert await queries.may_write("/d", None) is WriteRight.UNKNOWN
    assert not await queries.exists("/d", ALICE)
    assert pool.asked_as == [ALICE, ALICE, ALICE, SERVICE, ALICE]


async def test_a_refusal_of_the_callers_is_an_answer() -> None:
    """A path that the caller may not see cannot be written by them; other exceptions are not answers."""
    pool, queries = asked()
    pool.faults = {ALICE: DENIED, DAVE: remote_error("RetriableException")}
    with pytest.raises(CallerRefusedError):
        await queries.is_directory("/d", ALICE) or await queries.exists("/d", ALICE)
    with pytest.raises(RemoteCallError):
        await queries.exists("/d", DAVE)


async def test_who_is_not_let_in_is_not_asked_as() -> None:
    """The service asks what exists, and the caller's right stays unknown."""
    pool, queries = asked()
    pool.faults = {ALICE: RpcAuthenticationError("nn:2", "no")}
    assert await queries.may_write("/d", ALICE) is WriteRight.UNKNOWN
    assert await queries.may_write("/d", ALICE) is WriteRight.UNKNOWN
    assert not await queries.exists("/d", ALICE)
    assert pool.asked_as == [ALICE, SERVICE, SERVICE]


async def test_without_an_active_there_is_no_answer() -> None:
    """The caller treats the path as not proven."""
    with pytest.raises(NoActiveNameNodeError):
        await asked(None)[1].exists("/d")


async def test_a_superuser_needs_no_caller() -> None:
    """OpenFileUncached costs one question on the service's own connection."""
    fixture = Fixture()
    assert await fixture.ask() == ["nncache"]
    assert await fixture.ask(None) == ["nncache"]


async def test_a_question_refused_to_the_service_is_asked_as_the_caller() -> None:
    """For some minutes the service does not ask again in vain, whoever the caller is."""
    fixture = Fixture(nncache=DENIED)
    assert await fixture.ask() == ["nncache", "alice"]
    assert await fixture.ask() == ["alice"]
    assert await fixture.ask(DAVE) == ["dave"]
    fixture.now = REFUSAL_REMEMBERED_S
    assert await fixture.ask() == ["nncache", "alice"], "it may have become one"


@pytest.mark.parametrize("caller", [None, SERVICE])
async def test_who_cannot_be_asked_as_is_asked_about_as_the_service(caller: RpcUser | None) -> None:
    """No question is repeated in vain, and a file that is not proven closed is not cached."""
    fixture = Fixture(nncache=DENIED)
    for _ in range(2):
        assert await fixture.ask(caller) == ["nncache", "RemoteCallError"]


@pytest.mark.parametrize(
    "error", [remote_error("FileNotFoundException"), RpcUnavailableError("x", is_sent=True)]
)
async def test_another_fault_is_the_answer(error: RpcError) -> None:
    """Only a refusal is worth a second question as another user."""
    assert await Fixture(nncache=error).ask() == ["nncache", type(error).__name__]
    fixture = Fixture(nncache=DENIED, alice=error)
    assert await fixture.ask() == ["nncache", "alice", type(error).__name__]
    assert await fixture.ask() == ["alice", type(error).__name__]


async def test_a_caller_who_is_refused_leaves_it_to_the_service() -> None:
    """Public directories are readable for the service as well."""
    fixture = Fixture(nncache=DENIED)
    await fixture.ask()
    fixture.pool.faults = {ALICE: DENIED}
    assert await fixture.ask() == ["alice", "nncache"]
    fixture.pool.faults = {ALICE: TooManyCallersError("all in use")}
    assert await fixture.ask() == ["alice", "nncache"]


async def test_a_caller_waits_while_all_connections_are_in_use() -> None:
    """HitsKept: a question that is skipped would count as unknown, and cost other callers their hits."""
    pool = _Pool()
    pool.faults = {ALICE: TooManyCallersError("all in use")}
    queries = PoolQueries(cast("NameNodePool", pool), timeout_s=1.0, clock=boottime)
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        question = tasks.create_task(queries.may_write("/f", ALICE))
        while len(pool.asked) < 3:  # noqa: ASYNC110 - it waits by itself, too
            await asyncio.sleep(0.001)
        pool.faults = {}
        assert await question is WriteRight.GRANTED
    assert set(pool.asked_as) == {ALICE}


async def test_a_refused_caller_is_not_retried_for_minutes() -> None:
    """Each attempt would cost a connection: a proxy user may be limited to other hosts."""
    fixture = Fixture(nncache=DENIED, alice=RpcAuthenticationError("nn:2", "not allowed to impersonate"))
    assert await fixture.ask() == ["nncache", "alice", "RpcAuthenticationError"]
    assert await fixture.ask() == ["nncache", "RemoteCallError"]
    assert await fixture.ask(DAVE) == ["dave"]
    fixture.pool.faults = {}
    fixture.now = REFUSAL_REMEMBERED_S
    await fixture.ask()
    fixture.pool.faults = {SERVICE: DENIED}
    assert await fixture.ask() == ["nncache", "alice"]


# ---- the real NameNode ------------------------------------------------------------------------------


@asynccontextmanager
async def real_pool(cluster: Cluster, user: str) -> AsyncIterator[NameNodePool]:
    """Run a pool as this user."""
    settings = NameNodeSettings(
        namenode_http=(cluster.namenodes[0].http,), namenode_rpc=(cluster.namenodes[0].rpc,), user=user
    )
    pool = NameNodePool(settings, boottime)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pool.run())
        try:
            await pool.wait_active(10)
            yield pool
        finally:
            running.cancel()
            await pool.close()


async def test_a_service_without_rights_learns_through_the_caller(
    cluster: Cluster, hdfs_directory: str
) -> None:
    """OpenFileUncached in a private directory: alice gets an answer, other users do not."""
    private = f"{hdfs_directory}/private"
    async with (
        WebHdfs(f"http://{cluster.namenodes[0].http}", "alice") as alice,
        real_pool(cluster, "bob") as pool,
    ):
        await alice.mkdirs(private, "700")
        await alice.create(f"{private}/f", b"x")
        await alice.create(f"{hdfs_directory}/public", b"x")
        queries = PoolQueries(pool, timeout_s=5.0, clock=boottime)
        (namenode,) = pool.namenodes
        for user in (None, SERVICE, RpcUser("bob")):
            with pytest.raises(RemoteCallError) as refused:
                await queries.is_file_closed(namenode, f"{private}/f", user)
            assert refused.value.verdict is Verdict.ACCESS_CONTROL
        for user in (ALICE, ALICE, RpcUser("alice", real_name=cluster.superuser)):
            assert await queries.is_file_closed(namenode, f"{private}/f", user)
        assert pool.stats().caller_connections == 3, "one of them for the caller who is named nncache"
        for user in (None, ALICE, DAVE):
            assert await queries.is_file_closed(namenode, f"{hdfs_directory}/public", user)


async def test_who_may_not_act_for_others_is_not_let_in(cluster: Cluster, hdfs_directory: str) -> None:
    """The NameNode refuses the whole connection (Server.Connection.authorizeConnection); the service asks instead."""
    impostor = RpcUser("alice", real_name="bob")
    private = f"{hdfs_directory}/private"
    async with (
        WebHdfs(f"http://{cluster.namenodes[0].http}", "alice") as alice,
        real_pool(cluster, "bob") as pool,
    ):
        await alice.mkdirs(private, "700")
        await alice.create(f"{private}/f", b"x")
        queries = PoolQueries(pool, timeout_s=5.0, clock=boottime)
        (namenode,) = pool.namenodes
        with pytest.raises(RpcAuthenticationError, match="not allowed to impersonate alice"):
            await queries.is_file_closed(namenode, f"{private}/f", impostor)
        with pytest.raises(RemoteCallError):
            await queries.is_file_closed(namenode, f"{private}/f", impostor)


async def test_the_last_transaction_is_known_without_a_superuser(
    cluster: Cluster, hdfs_directory: str
) -> None:
    """OwnWrites: an event from before the window has a smaller txid, and cannot end it."""
    async with real_pool(cluster, "bob") as pool, real_pool(cluster, cluster.superuser) as superusers:
        queries = PoolQueries(pool, timeout_s=5.0, asks_txid_over_jmx=True, clock=boottime)
        (namenode,) = pool.namenodes
        with pytest.raises(RemoteCallError):
            await PoolQueries(pool, timeout_s=5.0, clock=boottime).last_txid(namenode)
        for number in range(5):
            await asyncio.to_thread(make_directory, cluster, f"{hdfs_directory}/{number}")
            written = await superusers.rpc(namenode).get_current_edit_log_txid()
            assert await queries.last_txid(namenode) >= written
