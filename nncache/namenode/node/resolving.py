"""Read what there is on the way to paths, as it is at one moment.

The ids of known directories are hints: kept in memory, never trusted. All inodes that they name are read in one call,
which is a snapshot; each must name the one before it as its parent, under the asked name. Where one does not, the hint
is dropped, and it is read again.
"""

from collections.abc import Sequence
from typing import Final

from nncache.coordination.errors import NoNodeError
from nncache.coordination.zookeeper import Znode, Znodes
from nncache.hadoop.paths import ROOT, InvalidPathError
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import LIMBO, ROOT_ID, Inode, parse_inode, parse_location, parse_replica
from nncache.namenode.namespace.view import Chain, Lease, Node, Replicas, Tree

MAX_HINTS: Final = 100_000
_SIGNED: Final = bytes(byte ^ 0x80 for byte in range(256))


class Resolver:
    """Reads chains, trees, leases and locations from a store."""

    def __init__(self, znodes: Znodes) -> None:
        self._znodes = znodes
        self._hints: dict[
            tuple[int, str], int
        ] = {}  # id of what had that name in that directory when last seen

    async def chains(self, paths: Sequence[str]) -> tuple[Chain, ...]:
        """Return what there is on the way to each path, all of it read at one moment."""
        names = [_names(path) for path in paths]
        while True:
            guesses = [self._guess(each) for each in names]
            wanted: dict[str, None] = {}
            for each, ids in zip(names, guesses, strict=True):
                for number in ids:
                    wanted[layout.inode(number)] = wanted[layout.directory(number)] = None
                if len(ids) <= len(each):
                    wanted[layout.entry(ids[-1], each[len(ids) - 1])] = None
            read = dict(zip(wanted, await self._znodes.get_many(tuple(wanted)), strict=True))
            chains = [
                self._checked(path, each, ids, read)
                for path, each, ids in zip(paths, names, guesses, strict=True)
            ]
            if all(chain is not None for chain in chains):
                return tuple(chain for chain in chains if chain is not None)

    def _guess(self, names: tuple[str, ...]) -> list[int]:
        ids = [ROOT_ID]
        for name in names:
            hint = self._hints.get((ids[-1], name))
            if hint is None:
                break
            ids.append(hint)
        return ids

    def _checked(
        self, asked: str, names: tuple[str, ...], ids: list[int], read: dict[str, Znode | None]
    ) -> Chain | None:
        """Return the chain if it is one, and complete; else learn from what was read, and return None."""
        nodes: list[Node] = []
        for index, number in enumerate(ids):
            node = _node(read[layout.inode(number)], read[layout.directory(number)])
            place = (ids[index - 1], names[index - 1]) if index else (LIMBO, "")
            if node is None or (index and (node.inode.parent, node.inode.name) != place):
                self._hints.pop(place, None)
                return None
            nodes.append(node)
        if len(ids) <= len(names) and nodes[-1].inode.is_directory:
            name = names[len(ids) - 1]
            entry = read[layout.entry(ids[-1], name)]
            if entry is not None:
                self._learn((ids[-1], name), int(entry.data))
                return None
        return Chain(asked, ROOT + ROOT.join(names), names, tuple(nodes))

    def _learn(self, place: tuple[int, str], number: int) -> None:
        if len(self._hints) >= MAX_HINTS:
            self._hints.clear()
        self._hints[place] = number

    async def chain_of(self, number: int, asked: str) -> Chain:
        """Return the chain of an inode, wherever it is now; what is gone has one that is as good as empty."""
        while True:
            names: list[str] = []
            at = number
            while at != ROOT_ID:
                (znode,) = await self._znodes.get_many([layout.inode(at)])
                inode = None if znode is None else parse_inode(znode.data)
                if inode is None or inode.parent == LIMBO:
                    return _nothing(asked)
                names.append(inode.name)
                at = inode.parent
            path = ROOT + ROOT.join(reversed(names))
            (chain,) = await self.chains([path])
            if chain.last is not None and chain.last.inode.id == number:
                return chain

    async def tree(self, top: Node) -> Tree:
        """Return all that lies below a directory; not all of it at one moment."""
        if not top.inode.is_directory:
            return Tree(top)
        below = [await self.tree(node) for node in await self.entries(top.inode.id)]
        return Tree(top, tuple(below))

    async def entries(self, directory: int, names: Sequence[str] | None = None) -> list[Node]:
        """Return what a directory holds, of these names, in their order; what goes meanwhile is left out."""
        if names is None:
            names = await self.names(directory)
        found = await self._znodes.get_many([layout.entry(directory, name) for name in names])
        ids = [int(entry.data) for entry in found if entry is not None]
        paths = [path for number in ids for path in (layout.inode(number), layout.directory(number))]
        read = await self._znodes.get_many(paths)
        nodes = [_node(read[at], read[at + 1]) for at in range(0, len(read), 2)]
        return [node for node in nodes if node is not None and node.inode.parent == directory]

    async def names(self, directory: int) -> list[str]:
        """Return the names in a directory, in HDFS's order."""
        try:
            found = await self._znodes.children(layout.directory(directory))
        except NoNodeError:
            return []
        return sorted(map(layout.unescape, found), key=order)

    async def lease(self, holder: str) -> Lease | None:
        """Return a holder's lease."""
        (znode,) = await self._znodes.get_many([layout.lease(holder)])
        return None if znode is None else Lease(znode.version, znode.children)

    async def replicas(self, block: int) -> Replicas | None:
        """Return where a block is."""
        path = layout.location(block)
        (znode,) = await self._znodes.get_many([path])
        if znode is None:
            return None
        datanodes = await self._znodes.children(path) if znode.children else ()
        held = await self._znodes.get_many([layout.replica(block, datanode) for datanode in datanodes])
        return Replicas(
            parse_location(znode.data),
            {
                datanode: parse_replica(each.data)
                for datanode, each in zip(datanodes, held, strict=True)
                if each is not None
            },
        )

    async def snapshottable(self) -> tuple[Chain, ...]:
        """Return the snapshottable directories, by their ids."""
        ids = sorted(int(name) for name in await self._znodes.children(layout.SNAPSHOTTABLE))
        chains = [await self.chain_of(number, "") for number in ids]
        return tuple(chain for chain in chains if chain.last is not None)

    async def inode(self, number: int) -> Inode | None:
        """Return an inode by its id, deleted or not."""
        (znode,) = await self._znodes.get_many([layout.inode(number)])
        return None if znode is None else parse_inode(znode.data)


def order(name: str) -> bytes:
    """Return by what HDFS orders names: their UTF-8 bytes, each as Java has it, from -128 to 127."""
    return name.encode("utf-8", "surrogatepass").translate(_SIGNED)


def _node(znode: Znode | None, directory: Znode | None) -> Node | None:
    if znode is None:
        return None
    inode = parse_inode(znode.data)
    if directory is None:
        return Node(inode, znode.version, inode.mtime)
    return Node(inode, znode.version, int(directory.data), directory.children)


def _names(path: str) -> tuple[str, ...]:
    """Return the names of an absolute path; each is taken as it is, a NUL in it, too.

    Raises InvalidPathError: it is relative.
    """
    if not path.startswith(ROOT):
        raise InvalidPathError(f"Absolute path required, but got '{path}'")
    return tuple(name for name in path.split(ROOT) if name)


def _nothing(asked: str) -> Chain:
    """Return the chain of what is gone: a name that nothing has."""
    return Chain(asked, asked, (asked,), ())
