"""A session with a tree that a test changes immediately, like other clients; without delay, with kazoo's watches."""

from collections import Counter, defaultdict

from nncache.coordination.errors import NoNodeError, NotAllowedError
from nncache.coordination.watches import Watcher
from nncache.coordination.zookeeper import Znode


class FlatSession:
    """The part of a session that a TreeWatch uses.

    Like kazoo it keeps a set of watchers for each path and kind, until that watch fires.

    Attributes:
        refused: ZooKeeper paths whose ACL denies access, also to their children.
        made_again: the path of an entry that another client creates again just after its absence was seen.
        reads: the paths whose data were read.
    """

    connection_id = 1
    is_connected = True
    made_again = ""

    def __init__(self, *made: str) -> None:
        self.below: dict[str, set[str]] = {"/r": set()}  # by path of ZooKeeper
        self.refused = set[str]()
        self.reads: list[str] = []
        self._versions = Counter[str]()
        self._watchers: defaultdict[str, set[Watcher]] = defaultdict(set)
        for path in made:
            self.make(path)

    @property
    def watchers(self) -> int:
        """The number of registered watchers."""
        return sum(map(len, self._watchers.values()))

    def make(self, path: str) -> None:
        """Create an entry."""
        above, _, name = path.rpartition("/")
        self.below[above].add(name)
        self.below[path] = set()
        self._fire(f"{above} names")

    def write(self, path: str) -> None:
        """Increase the version of an entry."""
        self._versions[path] += 1
        self._fire(path)

    def remove(self, path: str) -> None:
        """Remove an entry and its subtree, from the bottom up."""
        for name in [*self.below[path]]:
            self.remove(f"{path}/{name}")
        above, _, name = path.rpartition("/")
        self.below[above].discard(name)
        del self.below[path]
        for key in (path, f"{path} names", f"{above} names"):
            self._fire(key)

    def _fire(self, key: str) -> None:
        for watcher in self._watchers.pop(key, ()):
            watcher()

    async def wait_connected(self, timeout_s: float | None) -> None:
        """Return immediately: it is connected."""

    async def read(self, path: str, watcher: Watcher | None) -> Znode:
        """Return a znode."""
        self.reads.append(path)
        if path not in self.below and path == self.made_again:
            self.make(path)
            raise NoNodeError(path)
        self._see(path)
        self._set(path, watcher)
        version, children = self._versions[path], len(self.below[path])
        return Znode(path=path, data=b"", version=version, created_zxid=1, children=children, owner_session=0)

    async def children(self, path: str, watcher: Watcher | None) -> tuple[str, ...]:
        """Return the names of the children."""
        self._see(path)
        self._set(f"{path} names", watcher)
        return tuple(self.below[path])

    async def exists(self, path: str, watcher: Watcher | None) -> bool:
        """Return whether the path exists."""
        return path in self.below

    def _see(self, path: str) -> None:
        if path not in self.below:
            raise NoNodeError(path)
        if path in self.refused:
            raise NotAllowedError(path)

    def _set(self, key: str, watcher: Watcher | None) -> None:
        if watcher is not None:
            self._watchers[key].add(watcher)
