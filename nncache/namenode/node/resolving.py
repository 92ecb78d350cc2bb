"""Read the inodes along paths, as of one moment.

The ids of known directories are hints, kept in memory and never trusted. One call, which is a snapshot, reads all
inodes that the hints name; each must have the one before it as its parent, and the requested name. If one does not,
its hint is dropped, and the path is read again.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from nncache.coordination.errors import NoNodeError
from nncache.coordination.zookeeper import Znode, Znodes
from nncache.hadoop.paths import ROOT, InvalidPathError
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import LIMBO, ROOT_ID, Inode, parse_inode, parse_location, parse_replica
from nncache.namenode.namespace.refusal import not_found
from nncache.namenode.namespace.view import BlockReplicas, Chain, DirectoryTree, Lease, Node

MAX_HINTS: Final = 100_000
MAX_LISTED: Final = 4
"""Number of directories of more than a page whose names are cached between pages."""

WITHIN: Final = "WITHIN"
"""This object behind two paths: the first one's last name in what the second one names."""

_MOST_LEVELS: Final = 1_000
_BY_INODE: Final = (".reserved", ".inodes")
_SIGNED: Final = bytes(byte ^ 0x80 for byte in range(256))


@dataclass(frozen=True, slots=True)
class _Named:
    """The names of a path, and the index and id of an inode that must be on it if the path was given by an id."""

    names: tuple[str, ...]
    place: int = 0
    number: int = ROOT_ID


def _is_of(chain: Chain, named: _Named) -> bool:
    return len(chain.nodes) > named.place and chain.nodes[named.place].inode.id == named.number


class Resolver:
    """Reads chains, trees, leases and locations from a store."""

    def __init__(self, znodes: Znodes) -> None:
        self._znodes = znodes
        self._hints: dict[tuple[int, str], int] = {}  # last seen id, by directory id and name
        self._places: dict[int, tuple[int, str]] = {}  # the inverse of the hints
        self._listed: dict[int, tuple[int, list[str]]] = {}  # by directory: its children_zxid and its names

    async def chains(self, paths: Sequence[str]) -> tuple[Chain, ...]:
        """Return the chain of each path, all read at one moment.

        Raises:
            Refusal: a path below /.reserved/.inodes names an inode that does not exist.
        """
        while True:
            named: list[_Named] = []
            for path in paths:
                if path is WITHIN:
                    named.append(_Named((*named[1].names, *named[0].names[-1:])))
                else:
                    named.append(await self._named(path))
            names = [each.names for each in named]
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
            found = tuple(chain for chain in chains if chain is not None)
            if len(found) == len(chains) and all(map(_is_of, found, named)):
                return found

    async def _named(self, path: str) -> _Named:
        """Return the names of a path; /.reserved/.inodes/ID is the path of that inode (resolveDotInodesPath)."""
        names = _names(path)
        if names[:2] != _BY_INODE or len(names) == len(_BY_INODE):
            return _Named(names)
        try:
            number = int(names[2])
        except ValueError:
            raise not_found(f"Invalid inode path: {path}") from None
        above = await self._place_of(number)
        if above is None:
            raise not_found(f"File for given inode path does not exist: {path}")
        if names[3:4] == ("..",):
            return _Named(above[:-1])
        return _Named((*above, *names[3:]), len(above), number)

    async def _place_of(self, number: int) -> tuple[str, ...] | None:
        """Return the names of the path of an inode; None if it does not exist or was deleted."""
        names: list[str] = []
        way = [number]
        while way[-1] != ROOT_ID:
            inode = await self.inode(way[-1])
            if inode is None or inode.parent == LIMBO:
                if await self._lead_nowhere(way):
                    return None
                names, way = [], [number]
                continue
            names.append(inode.name)
            way.append(inode.parent)
        return tuple(reversed(names))

    async def _lead_nowhere(self, way: Sequence[int]) -> bool:
        """Tell whether the first inode is gone, or, as of one moment, each is in the next and the last was deleted."""
        found = await self._znodes.get_many([layout.inode(number) for number in way])
        if found[0] is None:
            return True
        parents = [None if znode is None else parse_inode(znode.data).parent for znode in found]
        return parents == [*way[1:], LIMBO]

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
        """Return the chain if all hints hold and it is complete; else update the hints and return None."""
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

    def learn(self, made: Inode) -> None:
        """Add a hint for a new inode."""
        self._learn((made.parent, made.name), made.id)

    def _learn(self, place: tuple[int, str], number: int) -> None:
        if len(self._hints) >= MAX_HINTS:
            self._hints.clear()
            self._places.clear()
        self._hints[place] = number
        self._places[number] = place

    async def chain_of(self, number: int, asked: str) -> Chain:
        """Return the chain of an inode at its current path; if the inode is gone, a chain without nodes."""
        names = self._last_place(number)
        while True:
            if names is None:
                names = await self._place_of(number)
            if names is None:
                return _nothing(asked)
            (chain,) = await self.chains([ROOT + ROOT.join(names)])
            if chain.last is not None and chain.last.inode.id == number:
                return chain
            names = None

    def _last_place(self, number: int) -> tuple[str, ...] | None:
        """Return the names of the path where an inode was last seen; None if there is no hint."""
        names: list[str] = []
        while number != ROOT_ID:
            place = self._places.get(number)
            if place is None or len(names) > _MOST_LEVELS:
                return None
            number, name = place
            names.append(name)
        return tuple(reversed(names))

    async def tree(self, top: Node) -> DirectoryTree:
        """Return the tree of a directory; not all as of one moment."""
        found = [top]
        below: dict[int, list[Node]] = {}
        for node in found:  # `found` grows: children come after their directory
            if node.inode.is_directory:
                below[node.inode.id] = await self.entries(node.inode.id)
                found += below[node.inode.id]
        trees: dict[int, DirectoryTree] = {}
        for node in reversed(found):
            within = (trees[each.inode.id] for each in below.get(node.inode.id, ()))
            trees[node.inode.id] = DirectoryTree(node, tuple(within))
        return trees[top.inode.id]

    async def page(self, chain: Chain, names: Sequence[str]) -> tuple[list[Node], bool]:
        """Return a directory's nodes with these names, and whether they and its chain are as of one moment.

        The caller must read the names after the chain.
        """
        directory = chain.nodes[-1]
        above = [layout.inode(node.inode.id) for node in chain.nodes]
        nodes, (holder, *read) = await self._entries(
            directory.inode.id, names, layout.directory(directory.inode.id), *above
        )
        is_same = (
            len(nodes) == len(names)
            and holder is not None
            and holder.children_zxid == directory.children_zxid
            and all(
                znode is not None and znode.version == node.version
                for node, znode in zip(chain.nodes, read, strict=True)
            )
        )
        return nodes, is_same

    async def entries(self, directory: int, names: Sequence[str] | None = None) -> list[Node]:
        """Return a directory's nodes with these names, or all, in order; without those removed concurrently."""
        nodes, _ = await self._entries(directory, await self.names(directory) if names is None else names)
        return nodes

    async def _entries(
        self, directory: int, names: Sequence[str], *beside: str
    ) -> tuple[list[Node], list[Znode | None]]:
        """Return a directory's nodes with these names, and other znodes as of the same moment."""
        found = await self._znodes.get_many([layout.entry(directory, name) for name in names])
        ids = [int(entry.data) for entry in found if entry is not None]
        paths = [path for number in ids for path in (layout.inode(number), layout.directory(number))]
        read = await self._znodes.get_many([*beside, *paths])
        nodes = [_node(read[at], read[at + 1]) for at in range(len(beside), len(read), 2)]
        there = [node for node in nodes if node is not None and node.inode.parent == directory]
        return there, list(read[: len(beside)])

    async def names(self, directory: int) -> list[str]:
        """Return the names in a directory, in HDFS's order."""
        found = await names_below(self._znodes, layout.directory(directory))
        return sorted(map(layout.unescape, found), key=order)

    async def names_in(self, node: Node) -> list[str]:
        """Return the names in a directory that was read just now; from the cache, if it has not changed."""
        kept = self._listed.get(node.inode.id)
        if kept is not None and kept[0] == node.children_zxid:
            return kept[1]
        return await self.names(node.inode.id)

    def keep_names(self, node: Node, names: list[str]) -> None:
        """Cache a directory's names for its next page; they must be as of the same moment as the node."""
        self._listed.pop(node.inode.id, None)
        if len(self._listed) >= MAX_LISTED:
            del self._listed[next(iter(self._listed))]
        self._listed[node.inode.id] = node.children_zxid, names

    async def lease(self, holder: str) -> Lease | None:
        """Return a holder's lease, or None."""
        (znode,) = await self._znodes.get_many([layout.lease(holder)])
        return None if znode is None else Lease(znode.version, znode.children)

    async def replicas(self, block: int) -> BlockReplicas | None:
        """Return a block's location and replicas; None if the block does not exist."""
        return (await self.replicas_of([block]))[block]

    async def replicas_of(self, blocks: Sequence[int]) -> dict[int, BlockReplicas | None]:
        """Return the location and replicas of several blocks, by block id."""
        paths = [path for block in blocks for path in (layout.location(block), layout.waiting(block))]
        read = await self._znodes.get_many(paths)
        waiting = dict(zip(blocks, read[1::2], strict=True))
        placed = {block: znode for block, znode in zip(blocks, read[::2], strict=True) if znode is not None}
        locations = {block: parse_location(znode.data) for block, znode in placed.items()}
        held = await self._held(
            {block: locations[block].targets if znode.children else () for block, znode in placed.items()}
        )
        others = [block for block, znode in placed.items() if len(held[block]) != znode.children]
        held |= await self._held({block: await self._znodes.children(placed[block].path) for block in others})
        found: dict[int, BlockReplicas | None] = dict.fromkeys(blocks)
        for block, znode in placed.items():
            queued = waiting[block]
            found[block] = BlockReplicas(
                locations[block],
                {name: parse_replica(each.data) for name, each in held[block].items()},
                znode.version,
                {name: each.version for name, each in held[block].items()},
                None if queued is None else queued.version,
            )
        return found

    async def _held(self, names: Mapping[int, Sequence[str]]) -> dict[int, dict[str, Znode]]:
        """Return the znodes of the replicas at these DataNodes, by block and DataNode."""
        places = [(block, name) for block, beside in names.items() for name in beside]
        read = await self._znodes.get_many([layout.replica(*place) for place in places])
        held: dict[int, dict[str, Znode]] = {block: {} for block in names}
        for (block, name), znode in zip(places, read, strict=True):
            if znode is not None:
                held[block][name] = znode
        return held

    async def snapshottable(self) -> tuple[Chain, ...]:
        """Return the chains of the snapshottable directories, in the order of their ids."""
        ids = sorted(int(name) for name in await self._znodes.children(layout.SNAPSHOTTABLE))
        chains = [await self.chain_of(number, "") for number in ids]
        return tuple(chain for chain in chains if chain.last is not None)

    async def inode(self, number: int) -> Inode | None:
        """Return an inode by its id, deleted or not."""
        (znode,) = await self._znodes.get_many([layout.inode(number)])
        return None if znode is None else parse_inode(znode.data)


async def names_below(znodes: Znodes, path: str) -> Sequence[str]:
    """Return the names of a znode's children; none if it is not there."""
    try:
        return await znodes.children(path)
    except NoNodeError:
        return ()


def names_after(names: Sequence[str], name: str) -> Sequence[str]:
    """Return those of a directory's names, in HDFS's order, that are after `name`, which need not exist."""
    return names[bisect_right(names, order(name), key=order) :]


def order(name: str) -> bytes:
    """Return HDFS's sort key of a name: its UTF-8 bytes, signed as in Java, from -128 to 127."""
    return name.encode("utf-8", "surrogatepass").translate(_SIGNED)


def _node(znode: Znode | None, directory: Znode | None) -> Node | None:
    if znode is None:
        return None
    inode = parse_inode(znode.data)
    if directory is None:
        return Node(inode, znode.version, inode.mtime)
    return Node(inode, znode.version, int(directory.data), directory.children, directory.children_zxid)


def _names(path: str) -> tuple[str, ...]:
    """Return the names of an absolute path, unchanged, even with a NUL.

    Raises InvalidPathError: the path is relative.
    """
    if not path.startswith(ROOT):
        raise InvalidPathError(f"Absolute path required, but got '{path}'")
    return tuple(name for name in path.split(ROOT) if name)


def _nothing(asked: str) -> Chain:
    """Return the chain of an inode that is gone: it has no nodes."""
    return Chain(asked, asked, (asked,), ())
