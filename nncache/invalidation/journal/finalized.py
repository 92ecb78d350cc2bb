"""Reads the finalized segments of a journal: getEditLogManifest locates them, /getJournal sends them."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from nncache.hadoop.editlog.frames import Segment, SegmentReader
from nncache.hadoop.editlog.journalnode import EditLogManifest, JournalNodeRpc
from nncache.hadoop.errors import HadoopError, MalformedEditsError
from nncache.invalidation.errors import ChannelUnavailableError, GapKind, MissingEventsError
from nncache.invalidation.journal.access import JournalAccess, explained, unreadable
from nncache.invalidation.journal.quorum import ShownTransaction
from nncache.invalidation.journal.segments import Located, PurgedEdits, locate


class FinalizedSegments:
    """The finalized segments of one journal, read from any JournalNode; if one fails, another is used."""

    def __init__(self, access: JournalAccess, rpcs: Mapping[str, JournalNodeRpc]) -> None:
        self._access = access
        self._rpcs = rpcs  # by address, of all JournalNodes

    async def read(
        self, txid: int, storage: tuple[int, str]
    ) -> AsyncGenerator[tuple[ShownTransaction, ...], None]:
        """Yield the transactions from `txid` to the end of the last finalized segment, in order, once each.

        A segment is decoded while it arrives, and each yielded tuple comes from one piece of it. `storage` is the ids
        of the namespace and its cluster. A caller that stops early must close the iterator.

        Raises:
            MissingEventsError: `txid` is in no segment any more (PURGED); the error has the last missing transaction.
            WrongNamespaceError, NotPermittedError, ChannelUnavailableError: too few JournalNodes can be read.
        """
        silent: dict[str, Exception] = {}  # JournalNodes without a list of their segments; not asked again
        failed: dict[str, Exception] = {}  # JournalNodes that did not send the segment with `txid`
        while True:
            manifests = await self._manifests(txid, silent)
            listed = {address: manifest.segments for address, manifest in manifests.items()}
            try:
                found = locate(txid, listed, len(self._rpcs), failed)
            except LookupError as exc:
                raise unreadable(str(exc), [*silent.values(), *failed.values()], len(self._rpcs)) from exc
            match found:
                case None:
                    return
                case PurgedEdits(last_txid):
                    raise MissingEventsError(
                        f"the JournalNodes have purged transactions {txid} to {last_txid} (see "
                        "dfs.namenode.num.extra.edits.retained)",
                        GapKind.PURGED,
                        first_txid=txid,
                        last_txid=last_txid,
                    )
                case Located(address, segment):
                    frames = self._read_segment(segment, address, manifests[address].web, storage)
                    try:
                        async with aclosing(frames):
                            async for each in frames:
                                if shown := tuple(one for one in each if one.frame.txid >= txid):
                                    yield shown
                                    txid = shown[-1].frame.txid + 1
                                    failed.clear()
                    except ChannelUnavailableError as exc:
                        failed[address] = exc

    async def _read_segment(
        self, segment: Segment, address: str, web: str, storage: tuple[int, str]
    ) -> AsyncGenerator[tuple[ShownTransaction, ...], None]:
        """Yield the transactions of a segment as its bytes arrive. Raises ChannelUnavailableError."""
        reader = SegmentReader(segment)
        pieces = self._access.read_segment_file(web, segment.first_txid, storage)
        async with aclosing(pieces):
            try:
                async for piece in pieces:
                    frames = reader.receive(piece)
                    yield tuple(ShownTransaction(reader.layout_version, frame) for frame in frames)
                    if reader.is_complete:
                        return
            except MalformedEditsError as exc:
                raise ChannelUnavailableError(f"{address}: {exc}") from exc
        raise ChannelUnavailableError(f"{address}: the segment from {segment.first_txid} on is cut off")

    async def _manifests(self, since_txid: int, silent: dict[str, Exception]) -> dict[str, EditLogManifest]:
        """Return the manifests of all JournalNodes that are not in `silent`; add those that fail to `silent`."""
        addresses = [address for address in self._rpcs if address not in silent]
        replies = await asyncio.gather(
            *(self._rpcs[address].manifest(since_txid) for address in addresses), return_exceptions=True
        )
        manifests: dict[str, EditLogManifest] = {}
        for address, reply in zip(addresses, replies, strict=True):
            if isinstance(reply, EditLogManifest):
                manifests[address] = reply
            elif isinstance(reply, HadoopError):
                silent[address] = explained(reply)
            else:
                raise reply
        return manifests
