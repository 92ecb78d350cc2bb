"""Read new records of a stream.

The shell over `channel.chain`. A notification says only that the stream's value has changed: several records may be
new, and some deleted already. So the newest is read first, and then record by record back to the position.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar, assert_never

from nncache.coordination.errors import NoNodeError
from nncache.coordination.zookeeper import ZooKeeper
from nncache.hadoop.paths import name
from nncache.invalidation.channel.chain import ChainBroken, ChainContinued, ChainPosition, ChainReplayed
from nncache.invalidation.channel.records import CacheRecord, FilterRecord
from nncache.invalidation.channel.untrusted_znodes import BadZnodes
from nncache.invalidation.channel.znodes import parse_txid
from nncache.invalidation.errors import (
    NOTHING_YET,
    ChannelUnavailableError,
    CorruptZnodeError,
    GapKind,
    MissingEventsError,
)

FOLLOWED_BACK: Final = 3
"""Records read one after the other, from the newest back, before all are listed: usually there is one."""

AT_ONCE: Final = 32
"""Maximum of records read together, which limits them to 16 MiB."""


RecordT = TypeVar("RecordT", bound=FilterRecord | CacheRecord)


@dataclass(frozen=True, slots=True)
class NextRecord(Generic[RecordT]):
    """A record that comes next."""

    record: RecordT
    after_txid: int  # its transactions up to this one were in earlier records


class RecordReader(Generic[RecordT]):
    """Reads one stream's records after a position, in order, each once. One user at a time.

    Every method may raise ConnectionLostError and NotAllowedError.

    Invariants:
        R1  The records read are, one by one, all records of the stream's one chain after the first position.
        R2  The position advances when records are returned, without an await in between: a read that fails or is
            cancelled has changed nothing.
        R3  A record that is not proven to come next is a gap. The absence of a notification proves nothing: each
            read requests the stream's value.
    """

    def __init__(
        self, zookeeper: ZooKeeper, path: str, parse: Callable[[str, bytes], RecordT], bad_znodes: BadZnodes
    ) -> None:
        self._zookeeper = zookeeper
        self._path = path
        self._parse = parse
        self._bad_znodes = bad_znodes
        self._watch = zookeeper.watch(path)
        self._chain: ChainPosition | None = None  # None until the chain id is known
        self._txid = -1  # the position while the chain id is unknown
        self._value = -1  # the stream's value as last read
        self.is_behind = False
        """Whether the last read left records for the next one."""
        self._are_many = False  # the last read returned more than FOLLOWED_BACK records

    @property
    def txid(self) -> int:
        """The position: everything up to this transaction has been returned, or was there before."""
        return self._txid if self._chain is None else self._chain.txid

    @property
    def is_chain_known(self) -> bool:
        """Whether the chain id is known; if not, the first record reveals it."""
        return self._chain is not None

    async def value(self) -> int | None:
        """Return the stream's value, the last transaction published; None if the stream does not exist.

        Raises:
            CorruptZnodeError: the value is not a number.
        """
        znode = await self._watch.read()
        if znode is None:
            return None
        value = parse_txid(znode.data)
        if value is None:
            exc = CorruptZnodeError(self._path, f"not a transaction id: {znode.data[:40]!r}")
            self._bad_znodes.corrupt(self._path, str(exc))
            raise exc
        return value

    async def begin_at_end(self) -> None:
        """Move the position to the present end, and follow the chain of the newest record.

        A stream without a record, or with an unreadable one, is followed as well: the next record reveals the chain id,
        and must continue from here like any other.

        Raises:
            ChannelUnavailableError: the stream does not exist.
        """
        value = await self.value()
        if value is None:
            raise ChannelUnavailableError(f"{self._path}: there is no such znode: {NOTHING_YET}")
        try:
            newest = await self._record(value)
        except (NoNodeError, CorruptZnodeError):
            self._chain, self._txid = None, value
        else:
            self._chain = ChainPosition(newest.link.chain, value)
        self._value, self.is_behind = value, False

    def begin_after(self, chain: str, txid: int, value: int) -> None:
        """Move the position to a transaction of this chain, given the stream's value, which may be an earlier one."""
        self._chain, self._value, self.is_behind = ChainPosition(chain, txid), value, False

    async def changed(self, timeout_s: float) -> bool:
        """Return True as soon as there may be a new record, False after `timeout_s` seconds."""
        return await self._watch.changed(timeout_s)

    async def read(self) -> tuple[NextRecord[RecordT], ...]:
        """Return the next records, at most AT_ONCE.

        Raises:
            MissingEventsError: one of the next records is missing or corrupt, or the stream was replaced. With
                `last_txid`, the stream can be followed from that transaction on.
        """
        try:
            return await self._read()
        except CorruptZnodeError as exc:
            raise MissingEventsError(
                str(exc), first_txid=self.txid + 1, last_txid=parse_txid(name(exc.path))
            ) from exc

    async def _read(self) -> tuple[NextRecord[RecordT], ...]:
        value = await self.value()
        if value is None or value < self._value:
            # The server of a new session may be behind (localSessionsEnabled).
            await self._zookeeper.sync(self._path)
            value = await self.value()
        if value is None:
            raise MissingEventsError(f"{self._path}: the stream is gone")
        if value < self._value:
            raise MissingEventsError(
                f"{self._path}: the stream went back: its value is {value}, was {self._value}",
                GapKind.WENT_BACK,
            )
        self._value = value
        if value <= self.txid:
            self.is_behind = False
            return ()
        records = None if self._are_many else await self._followed_back(value)
        is_behind = False
        if records is None:
            records, is_behind = await self._listed()
        return self._accept(records, is_behind=is_behind)

    async def _followed_back(self, value: int) -> list[RecordT] | None:
        """Return the records between position and value, or None if there are many."""
        found: list[RecordT] = []
        txid = value
        while len(found) < FOLLOWED_BACK:
            try:
                found.append(await self._record(txid))
            except NoNodeError as exc:
                raise self._missing(txid) from exc
            link = found[-1].link
            txid = link.previous
            is_other = self._chain is not None and link.chain != self._chain.chain
            if txid <= self.txid or is_other:
                return found[::-1]
        return None

    async def _listed(self) -> tuple[list[RecordT], bool]:
        """Return the first records after the position, and whether there are more."""
        txids: list[int] = []
        for child in await self._zookeeper.children(self._path):
            txid = parse_txid(child)
            if txid is None:
                self._bad_znodes.foreign(f"{self._path}/{child}")
            elif txid > self.txid:
                txids.append(txid)
        txids.sort()
        paths = [f"{self._path}/{txid}" for txid in txids[:AT_ONCE]]
        records: list[RecordT] = []
        for txid, znode in zip(txids, await self._zookeeper.get_many(paths), strict=False):
            if znode is None:
                raise self._missing(txid)
            records.append(self._parsed(znode.path, znode.data))
            await asyncio.sleep(0)  # parsing a large record takes milliseconds
        return records, len(txids) > AT_ONCE

    def _accept(self, records: list[RecordT], *, is_behind: bool) -> tuple[NextRecord[RecordT], ...]:
        """Advance the position past these records (R2)."""
        if not records:
            raise self._missing(self.txid + 1)
        chain = self._chain or ChainPosition(records[0].link.chain, self._txid)
        ahead = ChainPosition(chain.chain, chain.txid)
        accepted: list[NextRecord[RecordT]] = []
        for record in records:
            match ahead.receive(record.link):
                case ChainContinued(after_txid):
                    accepted.append(NextRecord(record, after_txid))
                case ChainReplayed():
                    continue
                case ChainBroken(reason):
                    raise MissingEventsError(
                        f"{self._path}: {reason}",
                        first_txid=ahead.txid + 1,
                        last_txid=record.link.previous if record.link.chain == ahead.chain else None,
                    )
                case step:
                    assert_never(step)
        self._chain, self.is_behind = ahead, is_behind
        self._are_many = len(records) > FOLLOWED_BACK
        return tuple(accepted)

    async def _record(self, txid: int) -> RecordT:
        znode = await self._zookeeper.get(f"{self._path}/{txid}")
        return self._parsed(znode.path, znode.data)

    def _parsed(self, path: str, data: bytes) -> RecordT:
        try:
            return self._parse(path, data)
        except CorruptZnodeError as exc:
            self._bad_znodes.corrupt(path, str(exc))
            raise

    def _missing(self, txid: int) -> MissingEventsError:
        return MissingEventsError(
            f"{self._path}: the record of transaction {txid} is gone",
            first_txid=self.txid + 1,
            last_txid=txid,
        )
