"""Addresses and load of the DataNodes, for redirects and for the placement of replicas."""

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
    """The live DataNodes, as of the last read.

    A DataNode is live while its heartbeat, an ephemeral znode, exists.

    Attributes:
        names: all registered DataNodes, live or not.
        there: the records of the live DataNodes, by name.
        load: the load of the live DataNodes, by name.
    """

    def __init__(self, addresses: Mapping[str, str], znodes: Znodes | None = None) -> None:
        """Start with DataNodes at these addresses. Without znodes there are no others."""
        self.there: Mapping[str, DataNodeRecord] = {
            name: DataNodeRecord(http=http) for name, http in addresses.items()
        }
        self.names: frozenset[str] = frozenset(addresses)
        self._znodes = znodes
        self._unreadable: set[str] = set()  # names whose corrupt records were logged

    async def look(self) -> None:
        """Read which DataNodes are live."""
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
        """Return the load by which replicas are placed, in random order."""
        return {name: self.there[name] for name in random.sample(sorted(self.there), len(self.there))}

    def for_block(
        self, path: str, number: int, size: int, first: str, excluded: AbstractSet[str]
    ) -> tuple[str, ...]:
        """Return the target DataNodes of a file's new block. Raises Refusal: no DataNode can take it."""
        load = self.load
        able = [name for name, each in load.items() if name not in excluded and each.free >= size]
        chosen = fewest_transfers(able, load, number, first=first)
        if not chosen:
            raise io_error(
                f"File {path} could only be written to 0 of the 1 minReplication nodes. There are {len(load)} "
                f"datanode(s) running and {len(excluded)} node(s) are excluded in this operation."
            )
        return chosen

    async def for_writing(self, excluded: str | None) -> str:
        """Return the address of a DataNode for a new file. Raises Refusal: no live DataNode has free space."""
        if not self.there:
            await self.look()
        return self._chosen([name for name, each in self.there.items() if each.free], excluded)

    async def for_reading(self, names: Sequence[str], excluded: str | None) -> str:
        """Return the address of one of these DataNodes. Raises Refusal: none of them is live."""
        found = [name for name in names if name in self.there]
        if not found:
            await self.look()  # one may have registered since the last read
            found = [name for name in names if name in self.there]
        return self._chosen(found, excluded)

    def by_transfers(self, names: Iterable[str]) -> list[str]:
        """Return the live DataNodes among these names, those with the fewest transfers first."""
        load, wanted = self.load, set(names)
        return list(fewest_transfers((each for each in load if each in wanted), load, len(load)))

    def of(self, names: Iterable[str]) -> list[str]:
        """Return the addresses of the live DataNodes among these names."""
        return [self.there[name].http for name in names if name in self.there]

    def _chosen(self, names: Sequence[str], excluded: str | None) -> str:
        """Return the address of the DataNode with the fewest transfers.

        `excluded`: hosts, and the host:port that a client could not reach. As a NameNode knows no DataNode by that, it
        sends the client there again: so does this one, but only if no other DataNode is left.
        """
        without = {each.strip() for each in (excluded or "").split(",")}
        able = [name for name in names if self.there[name].http.rpartition(":")[0] not in without]
        if not able:
            why = f"suggest to check cluster health. excludeDatanodes={excluded or 'null'}"
            raise io_error(f"Failed to find datanode, {why}")
        untried = [name for name in able if self.there[name].http not in without]
        return self.there[self.by_transfers(untried or able)[0]].http
