"""Where the DataNodes are and how they are: for redirects, and for where replicas go."""

import logging
import random
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from nncache.coordination.zookeeper import Znodes
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import DataNodeRecord
from nncache.namenode.namespace.refusal import io_error
from nncache.namenode.namespace.replication import fewest_transfers

_log = logging.getLogger(__name__)


class DataNodes:
    """The DataNodes that are there, as of the last look.

    A DataNode is there as long as its heartbeat is, which is ephemeral.

    Attributes:
        names: all that were ever registered.
        there: those that are there.
        load: how these are.
    """

    def __init__(self, addresses: Mapping[str, str], znodes: Znodes | None = None) -> None:
        """Begin with some; without znodes there are no others."""
        self.there: Mapping[str, DataNodeRecord] = {
            name: DataNodeRecord(http=http) for name, http in addresses.items()
        }
        self.names: frozenset[str] = frozenset(addresses)
        self._znodes = znodes
        self._unreadable: set[str] = set()  # names whose records were logged

    async def look(self) -> None:
        """See which there are."""
        if self._znodes is None:
            return
        names = await self._znodes.children(layout.HEALTH)
        paths = [path for name in names for path in (layout.health(name), layout.heartbeat(name))]
        read = await self._znodes.get_many(paths)
        found: dict[str, DataNodeRecord] = {}
        for name, record, heartbeat in zip(names, read[::2], read[1::2], strict=True):
            if record is None or heartbeat is None:
                continue
            try:
                found[name] = msgspec.json.decode(record.data, type=DataNodeRecord)
            except msgspec.DecodeError as error:
                if name not in self._unreadable:
                    _log.warning("corrupt znode, the DataNode is not used: %s: %s", record.path, error)
                self._unreadable.add(name)
        self._unreadable -= found.keys()
        self.names, self.there = frozenset(names), found

    @property
    def load(self) -> dict[str, DataNodeRecord]:
        """Return what replicas are placed by, in an order by chance."""
        return {name: self.there[name] for name in random.sample(sorted(self.there), len(self.there))}

    def for_block(
        self, path: str, number: int, size: int, first: str, excluded: AbstractSet[str]
    ) -> tuple[str, ...]:
        """Return where the replicas of a new block of a file go. Raises Refusal: nowhere."""
        load = self.load
        able = [name for name, each in load.items() if name not in excluded and each.free >= size]
        chosen = fewest_transfers(able, load, number, first=first)
        if not chosen:
            raise io_error(
                f"File {path} could only be written to 0 of the 1 minReplication nodes. There are {len(load)} "
                f"datanode(s) running and {len(excluded)} node(s) are excluded in this operation."
            )
        return chosen

    async def for_writing(self) -> str:
        """Return the address of one that a new file may go to. Raises Refusal: there is none with room."""
        if not self.there:
            await self.look()
        return self._chosen([name for name, each in self.there.items() if each.free])

    async def for_reading(self, names: Sequence[str]) -> str:
        """Return the address of one of these names. Raises Refusal: none of them is there."""
        found = [name for name in names if name in self.there]
        if not found:
            await self.look()  # one may have come since the last look
            found = [name for name in names if name in self.there]
        return self._chosen(found)

    def by_transfers(self, names: Iterable[str]) -> list[str]:
        """Return those of these names that are there, those with the fewest transfers first."""
        load, wanted = self.load, set(names)
        return list(fewest_transfers((each for each in load if each in wanted), load, len(load)))

    def of(self, names: Iterable[str]) -> list[str]:
        """Return the addresses of those of these names that are there."""
        return [self.there[name].http for name in names if name in self.there]

    def _chosen(self, names: Sequence[str]) -> str:
        """Return the address of the one with the fewest transfers."""
        if not names:
            raise io_error("Failed to find datanode, suggest to check cluster health. excludeDatanodes=null")
        return self.there[self.by_transfers(names)[0]].http
