"""The tree of directories that entries, grants and tickets live in.

One question decides whether anything kept is still good: does the chain of parents from its directory
end at the root? A change of a directory therefore forgets everything below it in one step, whatever
lies below: its node is cut off. What was cut off is taken apart later, in slices.
"""

from collections.abc import Iterator

from nncache.cache.entries import Directory, Entry, EntryKind, Grant
from nncache.cache.sizes import DIRECTORY_BYTES, text_bytes
from nncache.hadoop.paths import ROOT, name, parent


def components(path: str) -> list[str]:
    """Split a canonical path into its names; none for the root."""
    return [] if path == ROOT else path[1:].split("/")


class Tree:
    """Directories by path, with detachment in one step and reclamation in slices.

    Invariants:
        T1  A directory is attached if and only if its chain of parents ends at `root`.
        T2  A child's `parent` is the directory whose `children` hold it.
        T3  `directories` counts the nodes that are attached or wait to be taken apart, but the root; `bytes` is what
            they take.
    """

    __slots__ = ("bytes", "detached", "directories", "root")

    def __init__(self) -> None:
        self.root = Directory(None, "")
        self.directories = 0
        self.bytes = 0
        self.detached: list[Directory] = []  # cut off, to be taken apart

    def is_attached(self, directory: Directory) -> bool:
        """Whether what lives in the directory may still be good; costs the depth of the path."""
        while directory.parent is not None:
            directory = directory.parent
        return directory is self.root

    def find(self, path: str) -> Directory | None:
        """Return the node of a canonical path, if there is one."""
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
        """Return the node of a canonical path, made with its ancestors where missing."""
        directory = self.root
        for component in components(path):
            child = directory.children.get(component)
            if child is None:
                child = directory.add_child(component)
                self._count(child, 1)
            directory = child
        return directory

    def detach(self, path: str) -> bool:
        """Cut off the node of a path with all below it, at a cost that does not depend on what is below.

        Returns whether there was one.
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
        """Let go of the node, and of ancestors that it leaves bare."""
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
        """Take detached nodes apart, and yield what lived in them; the caller stops when it likes.

        Yields None for each node, so that nodes in which nothing lives count as well. All links between nodes are cut
        here, so no garbage collection is needed to free them.
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
        """Whether anything is kept, or asked, about the path or below it."""
        if path == ROOT:
            return not self.root.is_bare()
        holder = self.find(parent(path) or ROOT)
        if holder is None:
            return False
        own_name = name(path)
        return own_name in holder.children or own_name in holder.entries or own_name in holder.tickets

    def proven_depth(self, path: str) -> int:
        """Return how many names lead to the deepest ancestor that something kept proves to be a directory.

        0 if only the root is known. One walk: O(length of the path).
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
    """Whether a path's own node, or its status, proves that it is a directory."""
    return (node is not None and node.positives > 0) or (
        entry is not None and entry.kind is EntryKind.DIRECTORY
    )
