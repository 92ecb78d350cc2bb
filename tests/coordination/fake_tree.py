"""ZooKeeper's tree without ZooKeeper: how a server answers the requests that reach it.

After org.apache.zookeeper.server.PrepRequestProcessor and DataTree (3.8): the order of the checks, the state that a
transaction sees, and the watches that fire.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

from nncache.coordination.acl import OPEN_ACL, Acl, ZnodeAclEntry, ZnodePerms
from nncache.coordination.errors import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    NotAllowedError,
    NotEmptyError,
    ZnodeError,
)
from nncache.coordination.zookeeper import (
    ANY_VERSION,
    CheckOp,
    CreateOp,
    DeleteOp,
    SetDataOp,
    Znode,
    ZnodeAcl,
    ZnodeOp,
    sequential_name,
)

Identities: TypeAlias = frozenset[tuple[str, str]]
"""The identities of a session: scheme and id of each."""

ANYONE: Final[Identities] = frozenset({("world", "anyone")})
SUPERUSER: Final[Identities] = frozenset({("super", "")})


@dataclass(slots=True)
class Node:
    """A znode in the tree."""

    data: bytes
    created_zxid: int
    owner_session: int = 0
    version: int = 0
    acl: Acl = OPEN_ACL
    acl_version: int = 0
    children: set[str] = field(default_factory=set)
    made: int = 0  # children created so far, deleted ones included
    children_zxid: int = 0


def parent_of(path: str) -> str:
    """Return the path above."""
    return path.rpartition("/")[0] or "/"


class FakeTree:
    """The znodes. Its reads and writes raise the same errors as the calls of `nncache.coordination.zookeeper`."""

    def __init__(self) -> None:
        self.zxid = 0  # counts the transactions, including the ends of sessions
        self.writes = 0  # counts the commits carried out
        self.forbidden: set[str] = set()  # paths whose ACL allows nothing to any session
        self._nodes = {"/": Node(b"", 0)}

    @property
    def paths(self) -> tuple[str, ...]:
        """All znodes but the root, in order."""
        return tuple(sorted(self._nodes.keys() - {"/"}))

    def read(self, path: str, who: Identities = SUPERUSER) -> Znode:
        """Return a znode."""
        node = self._node(path)
        self._allow(path, ZnodePerms.READ, who)
        return Znode(
            path=path,
            data=node.data,
            version=node.version,
            created_zxid=node.created_zxid,
            children=len(node.children),
            owner_session=node.owner_session,
            children_zxid=node.children_zxid,
        )

    def has(self, path: str) -> bool:
        """Return whether the znode exists, whatever its ACL says."""
        return path in self._nodes

    def exists(self, path: str, who: Identities = SUPERUSER) -> bool:
        """Return whether the znode exists. This too needs the right to read it (since 3.8.4, ZOOKEEPER-2590)."""
        if path in self._nodes:
            self._allow(path, ZnodePerms.READ, who)
        return path in self._nodes

    def children(self, path: str, who: Identities = SUPERUSER) -> tuple[str, ...]:
        """Return the names of the children."""
        node = self._node(path)
        self._allow(path, ZnodePerms.READ, who)
        return tuple(node.children)

    def acl(self, path: str, who: Identities = SUPERUSER) -> ZnodeAcl:
        """Return a znode's ACL."""
        node = self._node(path)
        self._allow(path, ZnodePerms.READ | ZnodePerms.ADMIN, who)
        return ZnodeAcl(node.acl, node.acl_version)

    def set_acl(self, path: str, acl: Acl, version: int, who: Identities = SUPERUSER) -> None:
        """Set a znode's ACL."""
        node = self._node(path)
        self._allow(path, ZnodePerms.ADMIN, who)
        acl = _written(path, acl, who)
        if version not in (ANY_VERSION, node.acl_version):
            raise BadVersionError(path)
        node.acl, node.acl_version = acl, node.acl_version + 1

    def commit(
        self, operations: Sequence[ZnodeOp], session: int, who: Identities = SUPERUSER
    ) -> tuple[str, ...]:
        """Carry out all operations or none; return the paths whose data watches fire."""
        undo: list[Callable[[], object]] = []
        self.zxid += 1
        try:
            changed = [self._carry_out(operation, session, undo, who) for operation in operations]
        except ZnodeError:
            for step in reversed(undo):
                step()
            raise
        self.writes += 1
        return tuple(path for path in changed if path)

    def end_session(self, session: int) -> tuple[str, ...]:
        """Remove a session's ephemeral znodes; return their paths."""
        self.zxid += 1
        gone = tuple(path for path, node in self._nodes.items() if node.owner_session == session)
        for path in gone:
            self._remove(path)
        return gone

    def _carry_out(
        self, operation: ZnodeOp, session: int, undo: list[Callable[[], object]], who: Identities
    ) -> str:
        """Carry out one operation. Return the path if its data watches fire, otherwise ""."""
        path = operation.path
        match operation:
            case CreateOp(_, data, ephemeral, acl, sequential):
                acl = _written(path, acl, who)
                parent = self._node(parent_of(path), path)
                self._allow(parent_of(path), ZnodePerms.CREATE, who, path)
                if sequential:
                    path = sequential_name(path, parent.made)
                if path in self._nodes:
                    raise NodeExistsError(path)
                if parent.owner_session:
                    raise ZnodeError(path, "ZooKeeper refuses it (NoChildrenForEphemeralsError)")
                made = Node(data, self.zxid, session if ephemeral else 0, acl=acl, children_zxid=self.zxid)
                undo.append(self._add(path, made))
                parent.made += 1
                undo.append(lambda: self._unmake(path))
            case SetDataOp(_, data, version):
                node = self._node(path)
                self._allow(path, ZnodePerms.WRITE, who)
                _see_version(path, node, version)
                before = node.data
                node.data, node.version = data, node.version + 1
                undo.append(lambda: self._put_back(node, before))
            case DeleteOp(_, version):
                node = self._node(path)
                self._allow(parent_of(path), ZnodePerms.DELETE, who, path)
                _see_version(path, node, version)
                if node.children:
                    raise NotEmptyError(path)
                undo.append(self._remove(path))
                undo.append(lambda: self._put(path, node))
            case CheckOp(_, version):
                node = self._node(path)
                self._allow(path, ZnodePerms.READ, who)
                _see_version(path, node, version)
                return ""
            case _:
                assert_never(operation)
        return path

    def _node(self, path: str, blamed: str = "") -> Node:
        node = self._nodes.get(path)
        if node is None:
            raise NoNodeError(blamed or path)
        return node

    def _allow(self, path: str, rights: ZnodePerms, who: Identities, blamed: str = "") -> None:
        """Raise NotAllowedError for `blamed` or the path, unless the ACL grants one of these rights."""
        acl = self._nodes[path].acl
        is_allowed = who == SUPERUSER or any(
            entry.rights & rights and (entry.scheme, entry.id) in who | ANYONE for entry in acl
        )
        if path in self.forbidden or not is_allowed:
            raise NotAllowedError(blamed or path)

    def _add(self, path: str, node: Node) -> Callable[[], object]:
        self._put(path, node)
        return self._children_changed(path)

    def _put(self, path: str, node: Node) -> None:
        self._nodes[path] = node
        self._nodes[parent_of(path)].children.add(path.rpartition("/")[2])

    def _remove(self, path: str) -> Callable[[], object]:
        self._drop(path)
        return self._children_changed(path)

    def _drop(self, path: str) -> None:
        del self._nodes[path]
        self._nodes[parent_of(path)].children.discard(path.rpartition("/")[2])

    def _children_changed(self, path: str) -> Callable[[], object]:
        """Record the zxid of a change of the parent's children; return a function that undoes this."""
        parent = self._nodes[parent_of(path)]
        before, parent.children_zxid = parent.children_zxid, self.zxid
        return lambda: setattr(parent, "children_zxid", before)

    def _unmake(self, path: str) -> None:
        self._drop(path)
        self._nodes[parent_of(path)].made -= 1

    def _put_back(self, node: Node, data: bytes) -> None:
        node.data, node.version = data, node.version - 1


def _see_version(path: str, node: Node, version: int) -> None:
    if version not in (ANY_VERSION, node.version):
        raise BadVersionError(path)


def _written(path: str, acl: Acl, who: Identities) -> Acl:
    """Return an ACL as the server stores it: `auth` becomes the authenticated identities of the session (fixupACL)."""
    found: list[ZnodeAclEntry] = []
    for entry in acl:
        own = [ZnodeAclEntry(scheme, id_, entry.rights) for scheme, id_ in sorted(who - ANYONE - SUPERUSER)]
        found += own if entry.scheme == "auth" else [entry]
        if entry.scheme == "auth" and not own:
            raise ZnodeError(path, "ZooKeeper refuses its ACL")
    return tuple(dict.fromkeys(found))
