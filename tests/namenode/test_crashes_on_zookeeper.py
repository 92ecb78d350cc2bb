"""A NameNode and DataNode on ZooKeeper, killed at each transaction of each operation, and their successors."""

from pathlib import Path

import pytest

from nncache.testbed.zookeepers import ZooKeeperServer
from tests.namenode import stores
from tests.namenode.test_crashes import FOLLOWED, OPERATIONS, kill_at_each_transaction, make_base

SOON = ("create", "delete a tree")
"""Operations of one or two transactions, quick enough for each run."""


@pytest.fixture(scope="module")
def base(zookeeper_server: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a prepared, stopped cluster."""
    directory = tmp_path_factory.mktemp("base")
    stores.on_zookeeper(directory, zookeeper_server.address)
    make_base(directory)
    return directory


@pytest.mark.parametrize("name", SOON)
async def test_an_operation_is_done_or_not(name: str, base: Path, tmp_path: Path) -> None:
    """After a crash at any transaction, the tree is as before or after it; nothing is orphaned, no data is lost."""
    await kill_at_each_transaction(name, base=base, tmp_path=tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - set(SOON)))
async def test_each_operation_is_done_or_not(name: str, base: Path, tmp_path: Path) -> None:
    """The same rule, for all other operations."""
    await kill_at_each_transaction(name, base=base, tmp_path=tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", FOLLOWED)
async def test_what_a_client_follows_up_is_done(name: str, base: Path, tmp_path: Path) -> None:
    """After a crash at any transaction, an upload's data is there once; nothing is orphaned, nothing else is lost."""
    await kill_at_each_transaction(*FOLLOWED[name], base=base, tmp_path=tmp_path)
