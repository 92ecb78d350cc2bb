"""Where the DataNodes are, for redirects."""

import logging
import random
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from nncache.coordination.zookeeper import Znodes
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.refusal import io_error

_log = logging.getLogger(__name__)


class DataNodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a DataNode says of itself."""

    http: str  # host:port of its WebHDFS


class DataNodes:
    """The DataNodes that are there, as of the last look: their addresses by their ids.

    A DataNode is there as long as its heartbeat is, which is ephemeral.
    """

    def __init__(self, addresses: Mapping[str, str], znodes: Znodes | None = None) -> None:
        """Begin with some; without znodes there are no others."""
        self._addresses = addresses
        self._znodes = znodes
        self._unreadable: set[str] = set()  # names whose records were logged

    async def look(self) -> None:
        """See which there are."""
        if self._znodes is None:
            return
        names = await self._znodes.children(layout.HEALTH)
        paths = [path for name in names for path in (layout.health(name), layout.heartbeat(name))]
        read = await self._znodes.get_many(paths)
        found: dict[str, str] = {}
        for name, record, heartbeat in zip(names, read[::2], read[1::2], strict=True):
            if record is None or heartbeat is None:
                continue
            try:
                found[name] = msgspec.json.decode(record.data, type=DataNodeRecord).http
            except msgspec.DecodeError as error:
                if name not in self._unreadable:
                    _log.warning("corrupt znode, the DataNode is not used: %s: %s", record.path, error)
                self._unreadable.add(name)
        self._unreadable -= found.keys()
        self._addresses = found

    async def for_writing(self) -> str:
        """Return the address of one that a new file may go to. Raises Refusal: no DataNode is there."""
        if not self._addresses:
            await self.look()
        return self._chosen(list(self._addresses.values()))

    async def for_reading(self, names: Sequence[str]) -> str:
        """Return the address of one of these names. Raises Refusal: none of them is there."""
        found = self.of(names)
        if not found:
            await self.look()  # one may have come since the last look
            found = self.of(names)
        return self._chosen(found)

    def of(self, names: Iterable[str]) -> list[str]:
        """Return the addresses of those of these names that are there."""
        return [self._addresses[name] for name in names if name in self._addresses]

    @staticmethod
    def _chosen(addresses: Sequence[str]) -> str:
        if not addresses:
            raise io_error("Failed to find datanode, suggest to check cluster health. excludeDatanodes=null")
        return random.choice(addresses)  # noqa: S311 - to spread them, no secret
