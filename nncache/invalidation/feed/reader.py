"""Read the feed of edits of a namespace in ZooKeeper.

The shell over `nncache.hadoop.feed_znodes`. The names of the next edits are known, so nothing is listed: the edits
that may exist are read, and the first missing one is watched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from nncache.coordination.zookeeper import Znode, ZnodeWatch, ZooKeeperSession
from nncache.hadoop import feed_znodes
from nncache.hadoop.events import Event, EventBatch
from nncache.hadoop.unreadable_json import UNREADABLE_JSON
from nncache.invalidation.channel.untrusted_znodes import BadZnodes
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    CorruptZnodeError,
    GapKind,
    MissingEventsError,
)

FEW: Final = 4
"""Edits requested together after the next one was watched; more while there are more."""

MANY: Final = 64
"""Maximum of edits requested together."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of the next edit."""

    segment: int
    number: int  # of the edit in the segment
    txid: int  # transaction of the edit before


@dataclass(frozen=True, slots=True)
class _Segment:
    number: int
    first_txid: int
    edits: int


@dataclass(frozen=True, slots=True)
class _Anchor:
    """The last edit that was read: it tells this feed from one that was restored and continued otherwise."""

    segment: int
    path: str
    created_zxid: int


class FeedReader:
    """Reads a feed's edits after a position, in order, each once. One user at a time.

    Every method may raise ConnectionLostError and NotAllowedError.

    Invariants:
        E1  The position advances when edits are returned, without an await in between: a read that fails or is
            cancelled has changed nothing.
        E2  The place of an edit proves that it comes next. The reader leaves a segment once another one exists and
            all edits of the segment have been read; any other missing edit is a gap.
        E3  A watch that does not fire, or a missing edit, proves nothing: a server may be behind. After each change of
            the connection the server is synced once, so that it is not behind what was read.
    """

    def __init__(self, zookeeper: ZooKeeperSession, root: str, bad_znodes: BadZnodes) -> None:
        self._zookeeper = zookeeper
        self._root = root
        self._bad_znodes = bad_znodes
        self._at = _Place(0, 0, -1)
        self._anchor: _Anchor | None = None  # None: no edit before the position exists
        self._synced_over = 0  # the connection that was synced
        self._ahead = FEW  # edits that the next read requests
        self._watch: tuple[str, ZnodeWatch] | None = None  # on the next edit
        self.is_behind = False
        """Whether the last read may have left edits for the next one."""

    @property
    def txid(self) -> int:
        """The position: everything up to this transaction has been returned, or was there before."""
        return self._at.txid

    async def namespace(self) -> str:
        """Return the block pool of the feed's namespace.

        Raises:
            ChannelUnavailableError: there is no feed.
            CorruptZnodeError: its znode cannot be parsed.
        """
        path = self._root + feed_znodes.VERSION
        (znode,) = await self._get_many([feed_znodes.VERSION])
        if znode is None:
            raise ChannelUnavailableError(
                f"{path}: there is no such znode: see feed_root, and that nncache namenode runs on this ZooKeeper"
            )
        try:
            return feed_znodes.parse_namespace(znode.data).block_pool
        except UNREADABLE_JSON as exc:
            raise self._corrupt(path, exc) from exc

    async def begin(self, after_txid: int | None) -> None:
        """Move the position to a transaction, or (None) to the present end.

        Raises:
            MissingEventsError: edits after it are purged, or it is not written yet.
            ChannelUnavailableError: there is no feed.
        """
        while True:
            segments = await self._segments()
            first_txid, last = segments[0].first_txid, segments[-1]
            end = last.first_txid + last.edits - 1
            after = end if after_txid is None else after_txid
            if after < first_txid - 1:
                raise _purged(after, first_txid)
            if after > end:
                raise MissingEventsError(
                    f"the last transaction is {end}, but {after} was read before", GapKind.WENT_BACK
                )
            segment = [each for each in segments if each.first_txid <= after + 1][-1]
            number = after + 1 - segment.first_txid
            anchor = None
            if number:
                path = feed_znodes.edit(segment.number, number - 1)
                (znode,) = await self._get_many([path])
                if znode is None:
                    continue  # purged in between
                anchor = _Anchor(segment.number, path, znode.created_zxid)
            self._at, self._anchor = _Place(segment.number, number, after), anchor
            self.is_behind = True
            return

    async def read(self) -> tuple[EventBatch, ...]:
        """Return the events of the next edits, of at most MANY edits.

        Raises:
            MissingEventsError: one of the next edits is missing or corrupt, or the feed was replaced.
        """
        at, anchor = self._at, self._anchor
        numbers = range(at.number, at.number + self._ahead)
        # In this order, reads at different moments are proof as well: the next segment existed before the edits were
        # read, and nothing had been dropped after that.
        following, *edits, last, segment, feed = await self._get_many(
            [
                feed_znodes.segment(at.segment + 1),
                *(feed_znodes.edit(at.segment, number) for number in numbers),
                feed_znodes.EDITS if anchor is None else anchor.path,
                feed_znodes.segment(at.segment),
                feed_znodes.EDITS,
            ]
        )
        moved = self._check_kept(at, anchor, last, feed)
        if moved is not None:
            self._at, self._anchor, self.is_behind = moved, None, True
            return ()
        batches: list[EventBatch] = []
        found = 0
        for number, znode in zip(numbers, edits, strict=True):
            if znode is None:
                break
            found += 1
            events = self._parsed(znode, at.txid + found)
            anchor = _Anchor(at.segment, feed_znodes.edit(at.segment, number), znode.created_zxid)
            if events:
                batches.append(EventBatch(at.txid + found, events))
        after = _Place(at.segment, at.number + found, at.txid + found)
        is_behind = found == len(edits)
        if following is not None and not is_behind:
            if segment is None or segment.children != after.number:
                raise MissingEventsError(
                    f"{self._root}{feed_znodes.edit(at.segment, after.number)}: the edit of transaction "
                    f"{after.txid + 1} is gone",
                    first_txid=after.txid + 1,
                )
            after, is_behind = _Place(at.segment + 1, 0, after.txid), True
        self._at, self._anchor, self.is_behind = after, anchor, is_behind
        self._ahead = MANY if found == len(edits) else FEW
        return tuple(batches)

    async def changed(self, timeout_s: float) -> bool:
        """Return True as soon as there may be a new edit, False after about `timeout_s` seconds."""
        path = self._root + feed_znodes.edit(self._at.segment, self._at.number)
        if self._watch is None or self._watch[0] != path:
            self._watch = path, self._zookeeper.watch(path)
        watch = self._watch[1]
        return await watch.read() is not None or await watch.changed(timeout_s)

    async def _get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return znodes below the root, from a server that is not behind what was read over another connection."""
        while True:
            connection = self._zookeeper.connection_id
            if connection != self._synced_over:
                await self._zookeeper.sync(self._root)
                self._synced_over = connection
            found = await self._zookeeper.get_many([self._root + path for path in paths])
            if self._zookeeper.connection_id == connection:
                return found

    async def _segments(self) -> list[_Segment]:
        """Return all existing segments, the oldest first; all but the last have ended."""
        feed = feed_znodes.EDITS
        (znode,) = await self._get_many([feed])
        begins = self._first(znode)
        most = FEW
        while True:
            numbers = range(begins[0], begins[0] + most)
            *found, znode = await self._get_many(
                [*(feed_znodes.segment(number) for number in reversed(numbers)), feed]
            )
            begins, before = self._first(znode), begins
            if begins != before:
                continue
            if found[0] is not None:
                most *= 2
                continue
            segments: list[_Segment] = []
            txid = begins[1]
            for number, each in zip(numbers, reversed(found), strict=True):
                if each is None:
                    break
                segments.append(_Segment(number, txid, each.children))
                txid += each.children
            if not segments:
                raise ChannelUnavailableError(
                    f"{self._root}{feed} names segment {begins[0]}, which is not there"
                )
            return segments

    def _check_kept(
        self, at: _Place, anchor: _Anchor | None, last: Znode | None, feed: Znode | None
    ) -> _Place | None:
        """Check that nothing after the position was purged, and that the feed is the one that was read.

        Return where to continue if everything that was read was purged, and nothing else.
        """
        try:
            segment, first_txid = self._first(feed)
        except (ChannelUnavailableError, CorruptZnodeError) as exc:
            raise MissingEventsError(str(exc)) from exc
        is_kept = anchor is not None and anchor.segment >= segment
        if anchor is not None and is_kept and (last is None or last.created_zxid != anchor.created_zxid):
            raise MissingEventsError(
                f"{self._root}{anchor.path} is not the edit that was read: the feed was put back to an earlier state",
                GapKind.WENT_BACK,
            )
        if segment <= at.segment:
            return None
        if first_txid != at.txid + 1:
            raise _purged(at.txid, first_txid)
        return _Place(segment, 0, at.txid)

    def _first(self, znode: Znode | None) -> tuple[int, int]:
        path = self._root + feed_znodes.EDITS
        if znode is None:
            raise ChannelUnavailableError(f"{path}: there is no such znode: the namespace is gone")
        try:
            return feed_znodes.parse_first(znode.data)
        except ValueError as exc:
            raise self._corrupt(path, exc) from exc

    def _parsed(self, znode: Znode, txid: int) -> tuple[Event, ...]:
        try:
            return feed_znodes.parse_edit(znode.data)
        except UNREADABLE_JSON as exc:
            raise MissingEventsError(
                str(self._corrupt(znode.path, exc)), GapKind.UNREADABLE, first_txid=txid, last_txid=txid
            ) from exc

    def _corrupt(self, path: str, exc: Exception) -> CorruptZnodeError:
        self._bad_znodes.corrupt(path, str(exc))
        return CorruptZnodeError(path, str(exc))


def _purged(txid: int, first_txid: int) -> MissingEventsError:
    return MissingEventsError(
        f"transactions {txid + 1} to {first_txid - 1} were purged",
        GapKind.PURGED,
        first_txid=txid + 1,
        last_txid=first_txid - 1,
    )
