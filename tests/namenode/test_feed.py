"""The feed of edits is transactional, ordered and bounded; a reader detects purged edits as with HDFS.

test_beside_a_namenode.py compares its events with a real NameNode's; test_races.py and test_crashes.py show that
no race and no crash separates edits from their changes.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.zookeeper import CreateOp, Znode, ZnodeOp
from nncache.hadoop.events import Close, Create, Event, Rename
from nncache.hadoop.feed_znodes import EDITS
from nncache.hadoop.feed_znodes import segment as segment_znode
from nncache.invalidation.edits.cursor import EditsCursor, EditsGap
from nncache.invalidation.errors import GapKind
from nncache.namenode.namespace import attributes
from nncache.namenode.namespace.refusal import Refusal
from nncache.namenode.node.feed import MAX_EVENTS, EditsLimits, Feed
from tests.namenode.ensemble import STORES, made
from tests.namenode.fixture import A, Fixture, new_file
from tests.namenode.killed_znodes import KillingZnodes


@pytest.fixture(params=STORES)
async def fixture(request: pytest.FixtureRequest, tmp_path: Path) -> Fixture:
    """Return a cluster without HTTP."""
    return await Fixture.make(tmp_path, await made(request.param))


async def change(fixture: Fixture, number: int) -> None:
    """Make `number` changes."""
    for _ in range(number):
        await fixture.namenode.change("/", attributes.set_times, fixture.root, 5, -1)


async def last_txid(fixture: Fixture) -> int:
    """Return the id of the last transaction."""
    return await fixture.namenode.current_txid(fixture.root)


class Recording(KillingZnodes):
    """Records the committed transactions."""

    def __init__(self, znodes: EmbeddedZnodes) -> None:
        super().__init__(znodes)
        self.committed: list[Sequence[ZnodeOp]] = []

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Record the transaction, and forward it."""
        await super().commit(operations)
        self.committed.append(operations)


async def test_a_change_and_its_edits_are_one_transaction(tmp_path: Path) -> None:
    """There is one edit for each transaction that HDFS would write: each parent directory created has its own."""
    znodes = Recording(EmbeddedZnodes())
    fixture = await Fixture.make(tmp_path, znodes)
    await fixture.file_system.ids.prepare()
    znodes.committed.clear()
    before = await last_txid(fixture)
    await fixture.create("/a/b/f", A)
    (committed,) = znodes.committed
    edits = [each for each in committed if isinstance(each, CreateOp) and each.sequential]
    page = await fixture.namenode.edits(fixture.root, before + 1)
    assert len(edits) == 3
    assert [batch.txid for batch in page.batches] == [before + 1, before + 2, before + 3]
    made = [event for batch in page.batches for event in batch.events]
    assert [event.path for event in made if isinstance(event, Create)] == ["/a", "/a/b", "/a/b/f"]


async def test_what_changes_nothing_and_what_is_refused_says_nothing(fixture: Fixture) -> None:
    """Nor do changes for which HDFS has no event: quotas, storage policies, blocks, leases."""
    namenode, root = fixture.namenode, fixture.root
    await namenode.mkdirs(root, "/d", new_file().modes)
    file = await fixture.create("/d/f", A)
    before = await last_txid(fixture)
    await namenode.mkdirs(root, "/d", new_file().modes)
    await namenode.change("/d", attributes.set_permission, root, 0o644)
    await namenode.change("/d", attributes.set_quota, root, 10, -1)
    await namenode.change("/d", attributes.set_storage_policy, root, "COLD")
    await fixture.add_block("/d/f", A, None, file.id)
    await namenode.renew_lease(A)
    assert not await namenode.delete(root, "/none", recursive=True)
    with pytest.raises(Refusal):
        await namenode.delete(root, "/d", recursive=False)
    assert await last_txid(fixture) == before


async def test_what_was_made_before_a_refusal_is_announced(fixture: Fixture) -> None:
    """HDFS creates directories one by one: those that the quota still allowed remain, and have events."""
    await fixture.namenode.mkdirs(fixture.root, "/q", new_file().modes)
    await fixture.namenode.change("/q", attributes.set_quota, fixture.root, 2, -1)
    with pytest.raises(Refusal):
        await fixture.namenode.mkdirs(fixture.root, "/q/a/b", new_file().modes)
    assert [event.path for event in await fixture.events() if isinstance(event, Create)] == ["/q", "/q/a"]


async def test_an_event_names_where_a_file_is_now(fixture: Fixture) -> None:
    """A file renamed while open is closed under its new path."""
    file = await fixture.create("/f", A)
    await fixture.namenode.rename(fixture.root, "/f", "/g")
    await fixture.namenode.complete("/f", A, None, file.id)
    events: list[Event] = await fixture.events()
    assert [type(event) for event in events] == [Create, Rename, Close]
    assert [event.path for event in events if isinstance(event, Close)] == ["/g"]


async def test_no_transaction_is_missing_over_segments(fixture: Fixture) -> None:
    """Reading page after page across segment boundaries returns every transaction."""
    for _ in range(20):
        await change(fixture, 3)
        await fixture.namenode.keep_edits()
    segments = len(await fixture.znodes.children(EDITS))
    assert segments > 5
    assert len(await fixture.events()) == 60
    assert await last_txid(fixture) == 60 + segments, "one of each says nothing"


async def test_a_page_is_bounded(fixture: Fixture) -> None:
    """dfs.namenode.inotify.max.events.per.rpc bounds a page; the next page continues after it."""
    await change(fixture, MAX_EVENTS + 5)
    page = await fixture.namenode.edits(fixture.root, 2)
    assert (page.first_txid, page.last_txid, page.sync_txid) == (2, MAX_EVENTS + 1, MAX_EVENTS + 6)
    assert len(await fixture.events()) == MAX_EVENTS + 5


async def test_old_edits_go_and_a_reader_sees_the_gap(fixture: Fixture) -> None:
    """The page begins later than requested, as with HDFS; a reader that was up to date misses nothing."""
    feed = Feed(fixture.znodes, EditsLimits(segment=5, kept=12))
    cursor = EditsCursor(1, synced_txid=1)
    for _ in range(12):
        await change(fixture, 4)
        await feed.keep()
    last = await feed.last_txid()
    assert last == 49 + 6, "six segments have ended"
    kept = [
        await fixture.znodes.get(segment_znode(int(name))) for name in await fixture.znodes.children(EDITS)
    ]
    assert 12 <= sum(segment.children for segment in kept) < 12 + 2 * 8
    page = await feed.page(2)
    gap = cursor.receive(page, 0.0)
    assert isinstance(gap, EditsGap)
    assert (gap.kind, gap.first_txid, gap.last_txid) == (GapKind.PURGED, 2, page.first_txid - 1)
    late = EditsCursor(page.first_txid - 1, synced_txid=page.first_txid - 1)
    result = late.receive(await feed.page(late.next_txid), 0.0)
    assert not isinstance(result, EditsGap)
    assert result.through_txid == last


async def test_another_reader_finds_its_way(fixture: Fixture) -> None:
    """A reader that starts after the first segments were purged returns the same pages."""
    feed = Feed(fixture.znodes, EditsLimits(segment=5, kept=12))
    for _ in range(12):
        await change(fixture, 6)
        await feed.keep()
    other = Feed(fixture.znodes, EditsLimits())
    assert await other.last_txid() == await feed.last_txid() == 85
    assert await other.page(1) == await feed.page(1)


class KilledError(BaseException):
    """The process has been killed. Not an Exception, so that no handler on the way catches it."""


class Ending(KillingZnodes):
    """Raises in place of killing the process."""

    def die(self) -> None:
        """Raise KilledError."""
        raise KilledError


class LateReads(KillingZnodes):
    """Runs the janitor between the two reads of a page."""

    def __init__(self, znodes: EmbeddedZnodes, janitor: Feed) -> None:
        super().__init__(znodes)
        self._janitor = janitor

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Purge old edits before a read of edits."""
        if "/e-" in paths[0]:
            await self._janitor.keep()
        return await super().get_many(paths)


async def test_a_page_that_is_purged_meanwhile_begins_later(tmp_path: Path) -> None:
    """A page whose beginning is purged while it is read does not claim to begin with transaction 1."""
    znodes = EmbeddedZnodes()
    fixture = await Fixture.make(tmp_path, znodes)
    janitor = Feed(znodes, EditsLimits(segment=5, kept=3))
    for _ in range(4):
        await change(fixture, 6)
        await fixture.namenode.keep_edits()
    page = await Feed(LateReads(znodes, janitor), EditsLimits()).page(1)
    assert page.first_txid > 1
    assert page.last_txid == page.sync_txid == 28


@pytest.mark.parametrize("kill_after", [False, True])
async def test_what_a_crash_leaves_of_old_edits_goes_later(tmp_path: Path, *, kill_after: bool) -> None:
    """Readers see the gap from the first transaction on, and the next janitor deletes the rest."""
    limits = EditsLimits(segment=5, kept=3)
    for kill_at in range(100):
        znodes = Ending(EmbeddedZnodes())
        fixture = await Fixture.make(tmp_path / str(kill_at), znodes)
        for _ in range(4):
            await change(fixture, 6)
            await fixture.namenode.keep_edits()
        znodes.commits, znodes.kill_at, znodes.kill_after = 0, kill_at, kill_after
        try:
            await Feed(znodes, limits).keep()
        except KilledError:
            is_killed = True
        else:
            is_killed = False
        znodes.kill_at = None
        page = await Feed(znodes, limits).page(1)
        assert page.last_txid == page.sync_txid
        assert page.sync_txid in {27, 28}, "the last segment may not have been ended"
        await Feed(znodes, limits).keep()
        begin = (await Feed(znodes, limits).page(1)).first_txid
        assert begin in {page.first_txid, 22}
        assert len(await znodes.children(EDITS)) == 2
        if not is_killed:
            break
    assert kill_at > 3


async def test_the_feed_is_kept_for_the_next_start(tmp_path: Path) -> None:
    """Transaction ids continue after a restart, in the same namespace."""
    first = EmbeddedZnodes(tmp_path / "znodes")
    fixture = await Fixture.make(tmp_path / "blocks", first)
    await change(fixture, 9)
    await fixture.namenode.keep_edits()
    namespace, before = await fixture.file_system.namespace(), await fixture.events()
    first.close()
    second = EmbeddedZnodes(tmp_path / "znodes")
    fixture = await Fixture.make(tmp_path / "blocks", second)
    await change(fixture, 1)
    assert await fixture.file_system.namespace() == namespace
    assert await last_txid(fixture) == 12
    assert (await fixture.events())[:-1] == before
    second.close()
