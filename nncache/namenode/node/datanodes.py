"""Where the DataNodes are, for redirects."""

import random
from collections.abc import Iterable, Mapping

import msgspec

from nncache.coordination.zookeeper import Znodes
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.refusal import Refusal, io_error


class DataNodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a DataNode says of itself."""

    http: str  # host:port of its WebHDFS


class DataNodes:
    """The DataNodes that are there, as of the last look: their addresses by their ids.

    A DataNode is there as long as its heartbeat is, which is ephemeral.
    """

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._addresses = addresses

    async def look(self, znodes: Znodes) -> None:
        """See which there are."""
        names = await znodes.children(layout.HEALTH)
        paths = [path for name in names for path in (layout.health(name), layout.heartbeat(name))]
        read = await znodes.get_many(paths)
        found: dict[str, str] = {}
        for name, record, heartbeat in zip(names, read[::2], read[1::2], strict=True):
            if record is not None and heartbeat is not None:
                found[name] = msgspec.json.decode(record.data, type=DataNodeRecord).http
        self._addresses = found

    def for_writing(self) -> str:
        """Return the address of one that a new file may go to. Raises Refusal: there is none."""
        if not self._addresses:
            raise _none_found()
        return random.choice(list(self._addresses.values()))  # noqa: S311 - to spread them, no secret

    def of(self, names: Iterable[str]) -> list[str]:
        """Return the addresses of those of these names that are there."""
        return [self._addresses[name] for name in names if name in self._addresses]

    def for_reading(self, names: Iterable[str]) -> str:
        """Return the address of one of these names. Raises Refusal: none of them is there."""
        found = self.of(names)
        if not found:
            raise _none_found()
        return random.choice(found)  # noqa: S311 - the same


def _none_found() -> Refusal:
    return io_error("Failed to find datanode, suggest to check cluster health. excludeDatanodes=null")
