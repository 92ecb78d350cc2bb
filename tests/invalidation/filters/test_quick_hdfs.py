"""Changes over RPC return the results and errors of WebHDFS; without RPC, WebHDFS is used."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nncache.hadoop.errors import RemoteExceptionError
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.namespace import Namespace
from nncache.hadoop.remote_exception import Verdict
from nncache.invalidation.errors import FilterAccessError, FilterExistsError
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.invalidation.filters.quick_hdfs import HdfsWithRpc, QuickHdfs, quick
from nncache.testbed import Cluster
from tests.invalidation.filters.fake_hdfs import Naming

JOE = Filter("joe", "/user/joe/ä*", "joe", ("alice", "bob"))


@asynccontextmanager
async def connected(cluster: Cluster, user: str) -> AsyncIterator[QuickHdfs]:
    """Yield HDFS over RPC, as this user."""
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", user) as hdfs:
        await hdfs.status("/")
        async with quick(hdfs, user, timeout_s=15.0) as found:
            assert isinstance(found, QuickHdfs)
            yield found


async def test_filters_are_the_same_over_rpc(cluster: Cluster, hdfs_directory: str) -> None:
    """WebHDFS reads what RPC has written, and vice versa."""
    path = f"{hdfs_directory}/filters"
    after = Filter("joe", "/user/joe/b*", "ann", ("bob", "carol"))
    async with connected(cluster, cluster.superuser) as hdfs:
        store = FilterStore(hdfs, path)
        await store.add(JOE)
        async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as slow:
            assert (await FilterStore(slow, path).get("joe")).filter == JOE
        await store.change(JOE, after)
        assert (await store.get("joe")).filter == after
        with pytest.raises(FilterExistsError):
            await store.add_unseen(JOE)
        assert await store.names() == ("joe",)
        await store.remove("joe")
        assert await store.names() == ()


async def test_refusals_are_those_of_webhdfs(cluster: Cluster, hdfs_directory: str) -> None:
    """The code for filters tests the exception's name."""
    async with connected(cluster, "bob") as hdfs:
        with pytest.raises(RemoteExceptionError) as caught:
            await hdfs.rename_to(f"{hdfs_directory}/none", f"{hdfs_directory}/to")
        assert caught.value.verdict is Verdict.FILE_NOT_FOUND
        with pytest.raises(FilterAccessError, match="only an administrator"):
            await FilterStore(hdfs, "/not-bobs").add(JOE)


@pytest.mark.parametrize("address", ["", "127.0.0.1:1"])
async def test_without_rpc_it_is_webhdfs(address: str) -> None:
    """WebHDFS is used if the RPC port is not reported, or not reachable."""
    hdfs: HdfsWithRpc = Naming(address, Namespace("CID", "BP"))
    async with quick(hdfs, "joe", timeout_s=15.0) as found:
        assert found is hdfs


async def test_an_rpc_port_of_another_namespace_is_not_used(cluster: Cluster) -> None:
    """The NameNode's name for itself may mean another host here."""
    hdfs: HdfsWithRpc = Naming(cluster.namenodes[0].rpc, Namespace("CID-other", "BP-other"))
    async with quick(hdfs, cluster.superuser, timeout_s=15.0) as found:
        assert found is hdfs
