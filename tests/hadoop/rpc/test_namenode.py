"""One NameNode over RPC: the same rules hold for a light cluster's and for a real one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from nncache.hadoop.errors import RemoteCallError, RpcUnavailableError, WrongAddressError
from nncache.hadoop.events import Unlink
from nncache.hadoop.jmx import BLOCK_POOL_QUERY, CLUSTER_QUERY, parse_block_pool, parse_cluster_id
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.namespace import Namespace, NamespaceCheck
from nncache.hadoop.remote_exception import Verdict
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.namenode.cluster import LightCluster
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker


@dataclass(frozen=True, slots=True)
class Subject:
    """A NameNode with one closed file, and a way to delete it."""

    address: str
    superuser: str
    file: str
    http: str

    def namespace_over_http(self) -> Namespace:
        """Return the namespace that it reports over HTTP."""
        with Asker(self.http) as namenode:
            cluster_id = parse_cluster_id(namenode.ask("GET", CLUSTER_QUERY).body)
            return Namespace(cluster_id, parse_block_pool(namenode.ask("GET", BLOCK_POOL_QUERY).body))

    async def unlink(self) -> None:
        """Delete the file."""
        async with WebHdfs(f"http://{self.http}", self.superuser) as hdfs:
            await hdfs.delete(self.file)

    @asynccontextmanager
    async def asked_as(self, user: str, check: NamespaceCheck | None = None) -> AsyncIterator[NameNodeRpc]:
        """Yield a client as this user."""
        rpc = NameNodeRpc(self.address, user, check=check)
        try:
            yield rpc
        finally:
            await rpc.close()


@pytest.fixture(params=["light", "real"])
async def subject(request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    """Yield a light cluster's NameNode, then the real one."""
    if request.param == "light":
        with LightCluster() as light:
            async with WebHdfs(f"http://{light.namenode_http}", light.superuser) as hdfs:
                await hdfs.create("/f", b"x")
            yield Subject(light.namenode_rpc, light.superuser, "/f", light.namenode_http)
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    directory: str = request.getfixturevalue("hdfs_directory")
    http = cluster.namenodes[0].http
    async with WebHdfs(f"http://{http}", cluster.superuser) as hdfs:
        await hdfs.create(f"{directory}/f", b"x")
    yield Subject(cluster.namenodes[0].rpc, cluster.superuser, f"{directory}/f", http)


async def test_what_exists(subject: Subject) -> None:
    """The queries leave no trace: no access time changes."""
    async with subject.asked_as(subject.superuser) as rpc:
        assert await rpc.exists("/")
        assert await rpc.exists(subject.file)
        assert not await rpc.exists("/nowhere/at/all")
        assert await rpc.is_directory("/")
        assert not await rpc.is_directory(subject.file)
        assert not await rpc.is_directory("/nowhere/at/all")
        assert await rpc.may_write(subject.file)
        assert await rpc.may_write("/nowhere/at/all") is None


async def test_any_user_may_ask_which_namespace_it_serves(subject: Subject) -> None:
    """RPC and HTTP report the same, so a proxy without rights can compare it; another one ends the connection."""
    check = NamespaceCheck("nn:9870", subject.address)
    async with subject.asked_as("alice", check) as rpc:
        with pytest.raises(RpcUnavailableError, match="has not said"):
            await rpc.exists("/")
        check.note_over_http(subject.namespace_over_http())
        assert await rpc.exists("/")
        await rpc.confirm_namespace()
        assert check.over_rpc == check.over_http
        check.note_over_http(Namespace("CID-other", "BP-other"))
        for ask in (rpc.exists("/"), rpc.confirm_namespace()):
            with pytest.raises(WrongAddressError, match="BP-other of cluster CID-other"):
                await ask


async def test_any_user_may_read_namespace_and_groups(subject: Subject) -> None:
    """Without a namespace check; an unknown user has no groups."""
    async with subject.asked_as("alice") as rpc:
        assert await rpc.namespace() == subject.namespace_over_http()
        assert await rpc.groups_of("alice") == ("alice", "users")
        assert await rpc.groups_of("no-such-user") == ()


async def test_a_closed_file_is_closed(subject: Subject) -> None:
    """A path that is no file is an error with a verdict."""
    async with subject.asked_as(subject.superuser) as rpc:
        assert await rpc.is_file_closed(subject.file)
        for path in ("/", "/nowhere"):
            with pytest.raises(RemoteCallError) as caught:
                await rpc.is_file_closed(path)
            assert caught.value.verdict is Verdict.FILE_NOT_FOUND


async def test_a_change_is_on_the_next_page(subject: Subject) -> None:
    """Once acknowledged to any client, it is in the first poll sent afterwards."""
    async with subject.asked_as(subject.superuser) as rpc:
        last = await rpc.get_current_edit_log_txid()
        await subject.unlink()
        page = await rpc.get_edits(last + 1)
        assert page.first_txid == last + 1
        assert page.last_txid <= page.sync_txid
        events = [event for batch in page.batches for event in batch.events]
        assert [event.path for event in events if isinstance(event, Unlink)] == [subject.file]


async def test_nothing_new_is_an_empty_page(subject: Subject) -> None:
    """For a future transaction the NameNode returns -1 and its present position."""
    async with subject.asked_as(subject.superuser) as rpc:
        page = await rpc.get_edits(await rpc.get_current_edit_log_txid() + 1_000_000)
        assert (page.first_txid, page.last_txid, page.batches) == (-1, -1, ())
        assert page.sync_txid > 0


async def test_a_roll_begins_a_new_segment(subject: Subject) -> None:
    """It uses transactions of its own, which have no events."""
    async with subject.asked_as(subject.superuser) as rpc:
        last = await rpc.get_current_edit_log_txid()
        began = await rpc.roll_edits()
        assert began > last
        assert (await rpc.get_edits(last + 1)).batches == ()


async def test_edits_are_for_superusers_and_the_error_says_what_to_do(subject: Subject) -> None:
    """This is the most common mistake when the service is set up."""
    async with subject.asked_as("alice") as rpc:
        for call in (rpc.get_edits(1), rpc.get_current_edit_log_txid(), rpc.roll_edits()):
            with pytest.raises(RemoteCallError, match=r"as alice: .*--user") as caught:
                await call
            assert caught.value.verdict is Verdict.ACCESS_CONTROL
        assert await rpc.exists("/")


async def test_a_connection_is_counted_when_it_is_made(subject: Subject) -> None:
    """0 before the first call, then constant until a connection is lost."""
    async with subject.asked_as(subject.superuser) as rpc:
        assert rpc.connection_id == 0
        await rpc.exists("/")
        await rpc.exists("/")
        assert rpc.connection_id == 1


async def test_a_standby_says_so() -> None:
    """Every call that needs the active NameNode gets this verdict."""
    with LightCluster() as light:
        light.standby(on=True)
        rpc = NameNodeRpc(light.namenode_rpc, light.superuser)
        for call in (rpc.get_edits(1), rpc.exists("/"), rpc.is_file_closed("/f")):
            with pytest.raises(RemoteCallError) as caught:
                await call
            assert caught.value.verdict is Verdict.STANDBY
        await rpc.close()
