"""The changes of one operation, and the checks that its input is unchanged."""

from typing import Any, Final

import msgspec

from nncache.coordination.zookeeper import CheckOp, CreateOp, DeleteOp, SetDataOp, ZnodeOp
from nncache.hadoop.events import Event
from nncache.hadoop.feed_znodes import encode_edit, new_edit
from nncache.hadoop.paths import ROOT
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import LIMBO, NO_QUOTA, Inode, Quota, encode
from nncache.namenode.namespace.refusal import Java, Refusal
from nncache.namenode.namespace.view import Chain, Node, View

MAX_OPERATIONS: Final = 200
"""Per transaction: larger ones block all clients of a ZooKeeper (docs/decisions/0027)."""


class Transaction:
    """Collects the changes of one operation.

    Invariants:
        T1  The version of each inode that the decision used is in it: as the guard of its change, or as a check.
        T2  An inode is set once, however often it is changed.
        T3  Its edits go into the segment that the root names, and the root's version is in it: no edit goes into a
        segment after the next one was begun.
    """

    def __init__(self, view: View, now_ms: int, *, is_watched: bool = False) -> None:
        """Begin at a moment; where replicas are watched (`node/replicating.py`), those it changes are looked at."""
        self.now_ms = now_ms
        self.is_watched = is_watched
        self._view = view
        self._guards: dict[int, Node] = {}
        self._changed: dict[int, Inode] = {}  # new values of guarded inodes
        self._gone: set[int] = set()  # guarded inodes whose znode a write deletes, by its version
        self._writes: list[ZnodeOp] = []
        self._renewed: set[str] = set()  # holders
        self._opened: dict[str, int] = {}  # files opened minus released, by holder
        self._edits: list[tuple[Event, ...]] = []
        for chain in view.chains:
            for node in chain.nodes:
                self._guards[node.inode.id] = node

    def operations(self) -> tuple[ZnodeOp, ...]:
        """Return all operations, the checks first; none if nothing changes."""
        sets = [
            SetDataOp(layout.inode(number), encode(inode), self._guards[number].version)
            for number, inode in self._changed.items()
            if number not in self._gone
        ]
        leases = self._lease_operations()
        if not sets and not self._writes and not leases and not self._edits:
            return ()
        checks = [
            CheckOp(layout.inode(number), node.version)
            for number, node in self._guards.items()
            if number not in self._changed and number not in self._gone
        ]
        return (*checks, *sets, *self._writes, *leases, *self._edit_operations())

    # ---- inodes --------------------------------------------------------------------------------------------------

    def now(self, node: Node) -> Inode:
        """Return an inode with the changes of the transaction so far."""
        return self._changed.get(node.inode.id, node.inode)

    def change(self, node: Node, **fields: Any) -> Inode:  # noqa: ANN401 - any fields of an inode
        """Change fields of an inode."""
        self._guards.setdefault(node.inode.id, node)
        changed = msgspec.structs.replace(self.now(node), **fields)
        self._changed[node.inode.id] = changed
        return changed

    def make(self, inode: Inode) -> None:
        """Create an inode and its entry."""
        self._writes.append(CreateOp(layout.inode(inode.id), encode(inode)))
        if inode.is_directory:
            self._writes.append(CreateOp(layout.directory(inode.id), str(inode.mtime).encode()))
        self._link(inode)

    def move(self, node: Node, parent: int, name: str) -> None:
        """Move an inode to another parent or name."""
        self._unlink(node.inode)
        self._link(self.change(node, parent=parent, name=name))

    def detach(self, node: Node) -> None:
        """Remove a file or a tree from the namespace. It is reclaimed later, with the leases below it.

        An empty directory is deleted immediately: the store refuses that if an entry was added concurrently.
        """
        self._unlink(node.inode)
        if node.inode.is_snapshottable:
            self._writes.append(DeleteOp(f"{layout.SNAPSHOTTABLE}/{node.inode.id}"))
        if node.inode.is_directory and not node.children:
            self._gone.add(node.inode.id)
            self._writes.append(DeleteOp(layout.directory(node.inode.id)))
            self._writes.append(DeleteOp(layout.inode(node.inode.id), node.version))
            return
        self.change(node, parent=LIMBO)
        self._writes.append(CreateOp(f"{layout.TREES}/{node.inode.id}", b""))

    def remove(self, node: Node) -> None:
        """Remove a file from the namespace and the store; its blocks now belong to another file."""
        self._unlink(node.inode)
        self._gone.add(node.inode.id)
        self._writes.append(DeleteOp(layout.inode(node.inode.id), node.version))

    def touch(self, directory: Node | int, at_ms: int | None = None) -> None:
        """Set a directory's modification time without a version check: two changes of one directory never conflict.

        Without `at_ms`, a later time stays (INode.updateModificationTime).
        """
        number = directory if isinstance(directory, int) else directory.inode.id
        if at_ms is None:
            known = self._guards.get(number)
            at_ms = self.now_ms if known is None else max(self.now_ms, known.mtime)
        self._writes.append(SetDataOp(layout.directory(number), str(at_ms).encode()))

    def write(self, *operations: ZnodeOp) -> None:
        """Add operations on other znodes."""
        self._writes += operations

    def log(self, *events: Event) -> None:
        """Append the events of one transaction of HDFS's log to the feed."""
        self._edits.append(events)

    def _edit_operations(self) -> list[ZnodeOp]:
        if not self._edits:
            return []
        path = new_edit(self._view.chains[0].nodes[0].inode.segment)
        return [CreateOp(path, encode_edit(events), sequential=True) for events in self._edits]

    def _link(self, inode: Inode) -> None:
        self._writes.append(CreateOp(layout.entry(inode.parent, inode.name), str(inode.id).encode()))

    def _unlink(self, inode: Inode) -> None:
        self._writes.append(DeleteOp(layout.entry(inode.parent, inode.name)))

    # ---- leases --------------------------------------------------------------------------------------------------

    def renew(self, holder: str) -> None:
        """Renew a holder's lease, if it exists."""
        if self._view.lease_of(holder) is not None:
            self._renewed.add(holder)

    def lease(self, holder: str, file: int) -> None:
        """Add a file to a holder's lease, and renew the lease."""
        self._view.lease_of(holder)
        self._renewed.add(holder)
        self._opened[holder] = self._opened.get(holder, 0) + 1
        self._writes.append(CreateOp(layout.leased(holder, file), b""))

    def release(self, holder: str, file: int) -> None:
        """Remove a file from a holder's lease."""
        self._view.lease_of(holder)
        self._opened[holder] = self._opened.get(holder, 0) - 1
        self._writes.append(DeleteOp(layout.leased(holder, file)))

    def _lease_operations(self) -> list[ZnodeOp]:
        """Return the operations that delete leases; insert those that create or renew leases before all writes."""
        last: list[ZnodeOp] = []
        for holder in self._renewed | self._opened.keys():
            lease, path = self._view.lease_of(holder), layout.lease(holder)
            left = (0 if lease is None else lease.files) + self._opened.get(holder, 0)
            if lease is None:
                self._writes.insert(0, CreateOp(path, b""))
            elif left == 0:
                last.append(
                    DeleteOp(path)
                )  # fails if a file was added concurrently: the rule then runs again
            elif holder in self._renewed:
                self._writes.insert(0, SetDataOp(path, b"", lease.version))
        return last

    # ---- quotas --------------------------------------------------------------------------------------------------

    def consume(self, chain: Chain, names: int, space: int, *, below: int = 0, verify: bool = True) -> None:
        """Charge the quotas of the directories above a path.

        Args:
            chain: the path.
            names: number of added files and directories; negative: removed.
            space: added bytes, each replica counted; negative: removed.
            below: index, from the root's 0, of the first directory that is charged.
            verify: refuse to exceed a quota; the directory nearest to the path is checked first.

        Raises:
            Refusal: a quota is exceeded.
        """
        if not names and not space:
            return
        limited = [
            (index, node)
            for index, node in enumerate(chain.nodes[: len(chain.names)])
            if index >= below and self.now(node).quota is not None
        ]
        for index, node in reversed(limited):
            quota = self.now(node).quota
            if quota is not None and verify and (names > 0 or space > 0):
                _verify(quota, names, space, chain.path_of(index))
        for _, node in limited:
            quota = self.now(node).quota
            if quota is not None:
                used = msgspec.structs.replace(
                    quota, used_names=quota.used_names + names, used_space=quota.used_space + space
                )
                self.change(node, quota=used)


def _verify(quota: Quota, names: int, space: int, path: str) -> None:
    """Refuse to exceed a quota (DirectoryWithQuotaFeature.verifyQuota)."""
    used_names, used_space = quota.used_names + names, quota.used_space + space
    at = "" if path == ROOT else path
    if names > 0 and quota.names != NO_QUOTA and used_names > quota.names:
        raise Refusal(
            Java.NS_QUOTA_EXCEEDED,
            f"The NameSpace quota (directories and files) of directory {at} is exceeded: "
            f"quota={quota.names} file count={used_names}",
        )
    if space > 0 and quota.space != NO_QUOTA and used_space > quota.space:
        raise Refusal(
            Java.DS_QUOTA_EXCEEDED,
            f"The DiskSpace quota of {at} is exceeded: quota = {quota.space} B = {_binary(quota.space)} "
            f"but diskspace consumed = {used_space} B = {_binary(used_space)}",
        )


def _binary(number: int) -> str:
    """Format a number of bytes as org.apache.hadoop.util.StringUtils.TraditionalBinaryPrefix does (`long2String`)."""
    for power, letter in ((60, "E"), (50, "P"), (40, "T"), (30, "G"), (20, "M"), (10, "K")):
        if number >= 1 << power:
            whole = number / (1 << power)
            return f"{number >> power} {letter}B" if number % (1 << power) == 0 else f"{whole:.2f} {letter}B"
    return f"{number} B"
