"""Watches: one for a path, and no change is missed in any order of events."""

import asyncio
import gc
from collections.abc import Callable

import pytest

from nncache.coordination.errors import ConnectionLostError, NoNodeError
from nncache.coordination.watches import Watcher, ZnodeWatches
from nncache.coordination.zookeeper import Znode

PATH = "/a"
LONG_S = 10.0


class ScriptedReads:
    """A server with one znode; tests can act between its answer and the client's receipt of it."""

    def __init__(self) -> None:
        self.connection_id = 1
        self.data: bytes | None = b"0"
        self.armed: list[Watcher] = []  # those set at the server
        self.asked: list[str] = []
        self.before_answer: Callable[[], None] = lambda: None  # called once, before the server reads
        self.after_answer: Callable[[], None] = lambda: None  # called once, before the client gets the answer

    def set(self, data: bytes | None) -> None:
        """Change the znode, and fire its watches."""
        self.data = data
        self.fire()

    def fire(self) -> None:
        """Fire the watches."""
        fired, self.armed = self.armed, []
        for watcher in set(fired):
            watcher()

    async def read(self, path: str, watcher: Watcher | None) -> Znode:
        """Answer getData."""
        self.asked.append("read and watch" if watcher else "read")
        self._once("before_answer")
        data = self.data
        if watcher is not None and data is not None:
            self.armed.append(watcher)
        await asyncio.sleep(0)
        self._once("after_answer")
        if data is None:
            raise NoNodeError(path)
        return Znode(path=path, data=data, version=0, created_zxid=1, children=0, owner_session=0)

    async def exists(self, path: str, watcher: Watcher | None) -> bool:
        """Answer exists."""
        self.asked.append("exists and watch")
        self._once("before_answer")
        is_there = self.data is not None
        if watcher is not None:
            self.armed.append(watcher)
        await asyncio.sleep(0)
        self._once("after_answer")
        return is_there

    def _once(self, hook: str) -> None:
        call = getattr(self, hook)
        setattr(self, hook, lambda: None)
        call()


@pytest.fixture
def reads() -> ScriptedReads:
    """Return the server."""
    return ScriptedReads()


async def test_a_watch_that_is_set_is_not_set_again(reads: ScriptedReads) -> None:
    """One watch suffices for any number of reads and readers."""
    watches = ZnodeWatches(reads)
    looks = [watches.look(PATH) for _ in range(3)]
    for _ in range(4):
        for look in looks:
            await look.read()
    assert len(reads.armed) == 1
    assert watches.armed == 1


async def test_after_it_has_fired_the_next_read_sets_it_again(reads: ScriptedReads) -> None:
    """Only the next read after the event sets a new watch."""
    watches = ZnodeWatches(reads)
    look = watches.look(PATH)
    for number in range(3):
        await look.read()
        await look.read()
        reads.set(str(number).encode())
        assert await look.changed(LONG_S)
    assert (watches.armed, watches.fired) == (3, 3)


async def test_a_path_that_nothing_looks_at_is_forgotten(reads: ScriptedReads) -> None:
    """It is forgotten once its watch has fired; until then the next reader shares the watch."""
    watches = ZnodeWatches(reads)
    for _ in range(2):
        await watches.look(PATH).read()
        assert watches.armed == 1
    reads.set(b"other")
    reads.armed.clear()
    gc.collect()
    assert list(watches._paths) == []  # noqa: SLF001 - what it costs


async def test_another_connection_is_news_and_the_watch_is_set_again(reads: ScriptedReads) -> None:
    """The watch was lost with the connection, and perhaps its event too."""
    watches = ZnodeWatches(reads)
    look = watches.look(PATH)
    await look.read()
    reads.armed.clear()
    reads.connection_id = 2
    watches.reconnected()
    assert await look.changed(0.0)
    await look.read()
    assert len(reads.armed) == 1
    assert not await look.changed(0.0)


async def test_a_reconnect_wakes_who_waits(reads: ScriptedReads) -> None:
    """A waiting reader returns before its timeout."""
    watches = ZnodeWatches(reads)
    look = watches.look(PATH)
    await look.read()
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(look.changed(LONG_S))
        await asyncio.sleep(0)
        reads.connection_id = 2
        watches.reconnected()
    assert waiting.result()


@pytest.mark.parametrize("hook", ["before_answer", "after_answer"])
@pytest.mark.parametrize("start", [b"0", None])
@pytest.mark.parametrize("end", [b"1", None])
async def test_a_change_while_it_is_read_is_read_or_news(
    reads: ScriptedReads, hook: str, start: bytes | None, end: bytes | None
) -> None:
    """The event may even arrive before the reader continues; afterwards the watch is set."""
    reads.data = start
    look = ZnodeWatches(reads).look(PATH)
    setattr(reads, hook, lambda: reads.set(end))
    znode = await look.read()
    is_new = (znode and znode.data) == end
    assert is_new or await look.changed(0.0)
    if await look.changed(0.0):
        znode = await look.read()
    assert (znode and znode.data) == end
    assert len(set(reads.armed)) == 1
    assert not await look.changed(0.0)


async def test_a_znode_that_comes_and_goes_while_it_is_looked_for(reads: ScriptedReads) -> None:
    """It exists when its absence would be watched, and is gone when it is read: absent, with a change pending."""
    reads.data = None
    look = ZnodeWatches(reads).look(PATH)

    def come() -> None:
        reads.set(b"1")
        reads.after_answer = lambda: reads.set(None)

    def wait_for_exists() -> None:
        reads.before_answer = come

    reads.after_answer = wait_for_exists
    assert await look.read() is None
    assert reads.asked == ["read and watch", "exists and watch", "read"]
    assert await look.changed(0.0)


async def test_a_read_that_fails_leaves_the_news(reads: ScriptedReads) -> None:
    """A pending change stays pending; only a successful read clears it."""
    watches = ZnodeWatches(reads)
    look = watches.look(PATH)
    await look.read()
    reads.set(b"1")

    def fail() -> None:
        raise ConnectionLostError("no")

    reads.before_answer = fail
    with pytest.raises(ConnectionLostError):
        await look.read()
    assert await look.changed(0.0)


async def test_a_cancelled_read_leaves_the_news(reads: ScriptedReads) -> None:
    """A watch that it may have set does no harm."""
    watches = ZnodeWatches(reads)
    look = watches.look(PATH)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await look.read()
    assert await look.changed(0.0)
    await look.read()
    reads.set(b"1")
    assert await look.changed(0.0)
    assert watches.fired == 1


async def test_a_change_between_two_connections_is_not_taken_for_armed(reads: ScriptedReads) -> None:
    """If the connection changes while a read is answered, the new connection has no watch of that read."""
    watches = ZnodeWatches(reads)
    look = watches.look(PATH)

    def reconnect() -> None:
        reads.armed.clear()
        reads.connection_id = 2
        watches.reconnected()

    reads.after_answer = reconnect
    await look.read()
    assert await look.changed(0.0)
    await look.read()
    assert len(reads.armed) == 1
