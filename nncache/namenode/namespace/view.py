"""What a rule decides on: the inodes on the way to its paths, as they were read.

All of it is guarded: what a transaction is decided on is checked by the transaction itself, by the version of each
inode and lease.
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
    mtime: int  # of a directory, that which stands beside its entries
    children: int = 0
    children_zxid: int = 0  # changes with what a directory holds


@dataclass(frozen=True, slots=True)
class Chain:
    """A path and what there is on the way to it: as far as it exists, the root first.

    What lies below a file does not exist.
    """

    asked: str  # the path as it came, for what quotes it
    path: str  # canonical
    names: tuple[str, ...]
    nodes: tuple[Node, ...]

    @property
    def last(self) -> Node | None:
        """What the path itself names."""
        return self.nodes[-1] if len(self.nodes) == len(self.names) + 1 else None

    @property
    def parent(self) -> Node | None:
        """What holds it; None if that does not exist, and for the root."""
        return self.nodes[len(self.names) - 1] if 0 < len(self.names) <= len(self.nodes) else None

    def path_of(self, index: int) -> str:
        """Return the path of a node by its number, the root's being 0."""
        return ROOT + "/".join(self.names[:index])

    def ancestors(self) -> Iterator[Node]:
        """Yield what lies above the path itself."""
        return iter(self.nodes[: len(self.names)])


@dataclass(frozen=True, slots=True)
class Lease:
    """A holder's lease as it was read."""

    version: int
    files: int


@dataclass(frozen=True, slots=True)
class Tree:
    """What lies in and below a directory, as it was read; not all of it at one moment."""

    top: Node
    below: tuple["Tree", ...] = ()

    def nodes(self) -> Iterator[Node]:
        """Yield all inodes, the top first."""
        waiting = [self]
        while waiting:
            tree = waiting.pop()
            yield tree.top
            waiting += tree.below


@dataclass(frozen=True, slots=True)
class Replicas:
    """Where a block is."""

    location: Location
    held: Mapping[str, Replica]  # by DataNode
    version: int = 0  # of the location
    versions: Mapping[str, int] = field(default_factory=dict)  # of what is held, by DataNode
    waiting: int | None = None  # the version of `layout.waiting`; None: they need not be looked at

    def good(self, block: Block) -> frozenset[str]:
        """Return the DataNodes whose replica is what was written."""
        return good_replicas(self.held, block)


def good_replicas(held: Mapping[str, Replica], block: Block) -> frozenset[str]:
    """Return the DataNodes whose replica is what was written of a block."""
    return frozenset(
        name
        for name, replica in held.items()
        if not replica.is_corrupt and replica.stamp == block.stamp and replica.length == block.length
    )


class NeededError(Exception):
    """A rule needs something that was not read: it is read, and the rule is asked again."""


@dataclass(frozen=True)
class LeaseNeededError(NeededError):
    """The lease of a holder."""

    holder: str


@dataclass(frozen=True)
class TreeNeededError(NeededError):
    """All that lies below a directory."""

    node: Node


@dataclass(frozen=True)
class ReplicasNeededError(NeededError):
    """Where blocks are."""

    blocks: tuple[int, ...]


@dataclass(frozen=True)
class IdsNeededError(NeededError):
    """Ids for what is made: others have taken those that were there."""


@dataclass(frozen=True)
class SnapshottableNeededError(NeededError):
    """The snapshottable directories."""


@dataclass(slots=True)
class View:
    """All that was read for one operation."""

    chains: tuple[Chain, ...]
    leases: dict[str, Lease | None] = field(default_factory=dict)
    trees: dict[int, Tree] = field(default_factory=dict)
    replicas: dict[int, Replicas | None] = field(default_factory=dict)
    snapshottable: tuple[Chain, ...] | None = None

    def lease_of(self, holder: str) -> Lease | None:
        """Return a holder's lease."""
        if holder not in self.leases:
            raise LeaseNeededError(holder)
        return self.leases[holder]

    def tree_of(self, node: Node) -> Tree:
        """Return what lies below a directory; a file is a tree of itself."""
        if not node.inode.is_directory:
            return Tree(node)
        if node.inode.id not in self.trees:
            raise TreeNeededError(node)
        return self.trees[node.inode.id]

    def snapshottable_paths(self) -> tuple[str, ...]:
        """Return the paths of all snapshottable directories."""
        if self.snapshottable is None:
            raise SnapshottableNeededError
        return tuple(chain.path for chain in self.snapshottable)

    def replicas_of(self, block: int) -> Replicas | None:
        """Return where a block is; None if it is not there any more."""
        self.need_replicas([block])
        return self.replicas[block]

    def need_replicas(self, blocks: Iterable[int]) -> None:
        """See that it is known where all these blocks are: a rule that asks for many at once is asked again once."""
        missing = tuple(block for block in blocks if block not in self.replicas)
        if missing:
            raise ReplicasNeededError(missing)
