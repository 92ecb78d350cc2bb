"""Each question goes to the NameNode that it is about."""

import pytest

from hadoop.election_view import Active, NameNode
from hadoop.errors import NoActiveNameNodeError
from nncache.queries import PoolQueries

FIRST = NameNode("a:1", "a:2")
SECOND = NameNode("b:1", "b:2")


class Rpc:
    """A NameNode that says where it was asked."""

    def __init__(self, namenode: NameNode, asked: list[tuple[str, NameNode, str]]) -> None:
        self._namenode = namenode
        self._asked = asked

    async def is_file_closed(self, path: str) -> bool:
        """Note the question."""
        self._asked.append(("closed", self._namenode, path))
        return True

    async def exists(self, path: str) -> bool:
        """Note the question."""
        self._asked.append(("exists", self._namenode, path))
        return False

    async def is_directory(self, path: str) -> bool:
        """Note the question."""
        self._asked.append(("directory", self._namenode, path))
        return True

    async def get_current_edit_log_txid(self) -> int:
        """Note the question."""
        self._asked.append(("txid", self._namenode, ""))
        return 42


class Pool:
    """Two NameNodes, one of which may be active."""

    def __init__(self, active: NameNode | None) -> None:
        self._active = active
        self.asked: list[tuple[str, NameNode, str]] = []

    async def wait_active(self, timeout_s: float) -> Active:
        """Return the active one at once, or fail at once."""
        if self._active is None:
            raise NoActiveNameNodeError(f"none in {timeout_s} s")
        return Active(namenode=self._active, started_ms=0, transition_ms=0, term=1)

    def rpc(self, namenode: NameNode) -> Rpc:
        """Return this NameNode."""
        return Rpc(namenode, self.asked)


async def test_a_reply_is_judged_by_the_namenode_that_gave_it() -> None:
    """Whether a file is closed, and how far the log is, is that NameNode's knowledge."""
    pool = Pool(active=FIRST)
    queries = PoolQueries(pool, timeout_s=1.0)
    assert await queries.is_file_closed(SECOND, "/f")
    assert await queries.last_txid(SECOND) == 42
    assert pool.asked == [("closed", SECOND, "/f"), ("txid", SECOND, "")]


async def test_what_exists_is_the_actives_to_say() -> None:
    """Ancestors are looked for where the write will go."""
    pool = Pool(active=SECOND)
    queries = PoolQueries(pool, timeout_s=1.0)
    assert not await queries.exists("/d")
    assert await queries.is_directory("/d")
    assert pool.asked == [("exists", SECOND, "/d"), ("directory", SECOND, "/d")]


async def test_without_an_active_there_is_no_answer() -> None:
    """The caller treats it as not proven."""
    with pytest.raises(NoActiveNameNodeError):
        await PoolQueries(Pool(active=None), timeout_s=1.0).exists("/d")
