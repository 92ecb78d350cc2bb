"""The input of a rule: the inodes along its paths, as they were read.

The transaction guards the input of its own decision: it checks the version of each inode and lease.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from nncache.hadoop.paths import ROOT
from nncache.namenode.namespace.inode import Block, Inode, Location, Replica


@dataclass(frozen=True, slots=True)
class Node:
    """An inode as it was read."""

    inode: Inode
    version: int
    mtime: int  # of a directory: as stored with its entries
    children: int = 0
    children_zxid: int = 0  # changes with a directory's set of entries


@dataclass(frozen=True, slots=True)
class Chain:
    """A path and its existing inodes, the root first. Nothing exists below a file."""

    asked: str  # the path as requested, for messages
    path: str  # canonical
    names: tuple[str, ...]
    nodes: tuple[Node, ...]

    @property
    def last(self) -> Node | None:
        """The node of the path itself; None if it does not exist."""
        return self.nodes[-1] if len(self.nodes) == len(self.names) + 1 else None

    @property
    def parent(self) -> Node | None:
        """The parent directory; None if it does not exist, and for the root."""
        return self.nodes[len(self.names) - 1] if 0 < len(self.names) <= len(self.nodes) else None

    def path_of(self, index: int) -> str:
        """Return the path of a node by its index; the root has 0."""
        return ROOT + "/".join(self.names[:index])

    def ancestors(self) -> Iterator[Node]:
        """Yield the existing nodes above the path itself."""
        return iter(self.nodes[: len(self.names)])


@dataclass(frozen=True, slots=True)
class Lease:
    """A holder's lease as it was read."""

    version: int
    files: int


@dataclass(frozen=True, slots=True)
class DirectoryTree:
    """A directory and everything below it, as read; not all at one moment."""

    top: Node
    below: tuple["DirectoryTree", ...] = ()

    def nodes(self) -> Iterator[Node]:
        """Yield all inodes, the top first."""
        waiting = [self]
        while waiting:
            tree = waiting.pop()
            yield tree.top
            waiting += tree.below


@dataclass(frozen=True, slots=True)
class BlockReplicas:
    """A block's location and its replicas."""

    location: Location
    held: Mapping[str, Replica]  # by DataNode
    version: int = 0  # of the location
    versions: Mapping[str, int] = field(default_factory=dict)  # of the replicas' znodes, by DataNode
    waiting: int | None = None  # the version of `layout.waiting`; None: no check is queued

    def good(self, block: Block) -> frozenset[str]:
        """Return the DataNodes whose replica matches the block."""
        return good_replicas(self.held, block)


def good_replicas(held: Mapping[str, Replica], block: Block) -> frozenset[str]:
    """Return the DataNodes whose replica is not corrupt and has the block's stamp and length."""
    return frozenset(
        name
        for name, replica in held.items()
        if not replica.is_corrupt and replica.stamp == block.stamp and replica.length == block.length
    )


class NeededError(Exception):
    """A rule needs data that was not read: the caller reads it and runs the rule again."""


@dataclass(frozen=True)
class LeaseNeededError(NeededError):
    """The lease of a holder."""

    holder: str


@dataclass(frozen=True)
class TreeNeededError(NeededError):
    """The tree below a directory."""

    node: Node


@dataclass(frozen=True)
class ReplicasNeededError(NeededError):
    """The locations and replicas of blocks."""

    blocks: tuple[int, ...]


@dataclass(frozen=True)
class IdsNeededError(NeededError):
    """More ids: other operations have taken those that were available."""


@dataclass(frozen=True)
class SnapshottableNeededError(NeededError):
    """The snapshottable directories."""


@dataclass(slots=True)
class View:
    """All data read for one operation."""

    chains: tuple[Chain, ...]
    leases: dict[str, Lease | None] = field(default_factory=dict)
    trees: dict[int, DirectoryTree] = field(default_factory=dict)
    replicas: dict[int, BlockReplicas | None] = field(default_factory=dict)
    snapshottable: tuple[Chain, ...] | None = None

    def lease_of(self, holder: str) -> Lease | None:
        """Return a holder's lease, or None. Like the methods below, raises a NeededError if it was not read."""
        if holder not in self.leases:
            raise LeaseNeededError(holder)
        return self.leases[holder]

    def tree_of(self, node: Node) -> DirectoryTree:
        """Return the tree of a directory; a file's tree is the file alone."""
        if not node.inode.is_directory:
            return DirectoryTree(node)
        if node.inode.id not in self.trees:
            raise TreeNeededError(node)
        return self.trees[node.inode.id]

    def snapshottable_paths(self) -> tuple[str, ...]:
        """Return the paths of all snapshottable directories."""
        if self.snapshottable is None:
            raise SnapshottableNeededError
        return tuple(chain.path for chain in self.snapshottable)

    def replicas_of(self, block: int) -> BlockReplicas | None:
        """Return a block's location and replicas; None if the block no longer exists."""
        self.need_replicas([block])
        return self.replicas[block]

    def need_replicas(self, blocks: Iterable[int]) -> None:
        """Require the replicas of all these blocks together, so that the rule runs again only once."""
        missing = tuple(block for block in blocks if block not in self.replicas)
        if missing:
            raise ReplicasNeededError(missing)
