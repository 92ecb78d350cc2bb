"""The tree of directories that hold entries, grants and tickets.

An item is valid only while the chain of parents from its directory ends at the root. So a change of a directory
forgets everything below it in one step, whatever its size: its node is detached. Detached nodes are freed later, in
slices.
"""

from collections.abc import Iterator

from nncache.cache.entries import Directory, Entry, EntryKind, Grant
from nncache.cache.sizes import DIRECTORY_BYTES, text_bytes
from nncache.hadoop.paths import ROOT, name, parent


def components(path: str) -> list[str]:
    """Split a canonical path into its names; the root has none."""
    return [] if path == ROOT else path[1:].split("/")


class Tree:
    """Directories by path, detached in one step and freed in slices.

    Invariants:
        T1  A directory is attached if and only if its chain of parents ends at `root`.
        T2  A child's `parent` is the directory whose `children` contain it.
        T3  `directories` counts the attached and the detached nodes, without the root; `bytes` is their
            memory.
    """

    __slots__ = ("bytes", "detached", "directories", "root")

    def __init__(self) -> None:
        self.root = Directory(None, "")
        self.directories = 0
        self.bytes = 0
        self.detached: list[Directory] = []  # cut off, to be taken apart

    def is_attached(self, directory: Directory) -> bool:
        """Whether the directory is attached to the root. Costs O(depth of the path)."""
        while directory.parent is not None:
            directory = directory.parent
        return directory is self.root

    def find(self, path: str) -> Directory | None:
        """Return the node of a canonical path; None if there is none."""
        directory: Directory | None = self.root
        for component in components(path):
            if directory is None:
                return None
            directory = directory.children.get(component)
        return directory

    def path_of(self, directory: Directory) -> str | None:
        """Return the path of a node; None if it is detached."""
        names = []
        while directory.parent is not None:
            names.append(directory.name)
            directory = directory.parent
        return ROOT + "/".join(reversed(names)) if directory is self.root else None

    def ensure(self, path: str) -> Directory:
        """Return the node of a canonical path; create it and its ancestors where they are missing."""
        directory = self.root
        for component in components(path):
            child = directory.children.get(component)
            if child is None:
                child = directory.add_child(component)
                self._count(child, 1)
            directory = child
        return directory

    def detach(self, path: str) -> bool:
        """Detach the node of a path with its whole subtree, whose size does not matter for the cost.

        Returns whether the path had a node.
        """
        directory = self.find(path)
        if directory is None:
            return False
        if directory.parent is None:
            self.root = Directory(None, "")
            self._count(directory, 1)  # the old root now waits among the detached
        else:
            del directory.parent.children[directory.name]
            directory.parent = None
        self.detached.append(directory)
        return True

    def prune(self, directory: Directory) -> None:
        """Remove the node if it is bare, and then each ancestor that has become bare."""
        while directory.parent is not None and directory.is_bare():
            parent = directory.parent
            del parent.children[directory.name]
            directory.parent = None
            self._count(directory, -1)
            directory = parent

    def _count(self, directory: Directory, number: int) -> None:
        self.directories += number
        self.bytes += number * (DIRECTORY_BYTES + text_bytes(directory.name))

    def dismantle(self) -> Iterator[Entry | Grant | None]:
        """Free detached nodes, and yield the items that they held. The caller may stop at any item.

        Yields None for each node, so that empty nodes count as well. All links between nodes are cut here, so they are
        freed without garbage collection.
        """
        while self.detached:
            directory = self.detached[-1]
            if directory.children:
                _, child = directory.children.popitem()
                child.parent = None
                self.detached.append(child)
                continue
            while directory.entries:
                yield directory.entries.popitem()[1]
            for table in (directory.grants, directory.status_grants):
                while table:
                    yield table.popitem()[1]
            directory.tickets.clear()  # their holders find the chain broken
            self.detached.pop()
            self._count(directory, -1)
            yield None

    def holds(self, path: str) -> bool:
        """Whether an entry, a grant or a question exists at or below the path."""
        if path == ROOT:
            return not self.root.is_bare()
        holder = self.find(parent(path) or ROOT)
        if holder is None:
            return False
        own_name = name(path)
        return own_name in holder.children or own_name in holder.entries or own_name in holder.tickets

    def proven_depth(self, path: str) -> int:
        """Return the depth of the deepest ancestor that a cached status proves to be a directory.

        0 is the root. One walk: O(length of the path).
        """
        directory, proven = self.root, 0
        for level, component in enumerate(components(parent(path) or ROOT), 1):
            child, entry = directory.children.get(component), directory.entries.get(component)
            if _is_directory(child, entry):
                proven = level
            if child is None:
                break
            directory = child
        return proven

    def check(self) -> None:
        """Assert T2 and T3; for tests."""
        count = taken = 0
        stack: list[tuple[Directory | None, Directory]] = [
            (None, self.root),
            *((None, directory) for directory in self.detached),
        ]
        while stack:
            parent, directory = stack.pop()
            assert directory.parent is parent
            count += 1
            taken += DIRECTORY_BYTES + text_bytes(directory.name)
            stack.extend((directory, child) for child in directory.children.values())
        assert count == self.directories + 1
        assert taken == self.bytes + DIRECTORY_BYTES + text_bytes(self.root.name)


def _is_directory(node: Directory | None, entry: Entry | None) -> bool:
    """Whether a path's own node or entry proves that it is a directory."""
    return (node is not None and node.positives > 0) or (
        entry is not None and entry.kind is EntryKind.DIRECTORY
    )
