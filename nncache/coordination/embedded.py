"""Znodes without ZooKeeper: in this process's memory, and optionally in a file.

Transactions behave as in org.apache.zookeeper.server.PrepRequestProcessor (3.8): the order of the checks, and the
effects of earlier operations that later operations of a transaction see. There are no sessions, so no ephemeral znodes,
and no ACLs. `tests/contracts/test_zookeeper.py` compares it with ZooKeeper.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, assert_never

from nncache.coordination.errors import BadVersionError, NodeExistsError, NoNodeError, NotEmptyError
from nncache.coordination.zookeeper import (
    ANY_VERSION,
    CheckOp,
    CreateOp,
    DeleteOp,
    SetDataOp,
    Znode,
    ZnodeOp,
    sequential_name,
)

ROOT: Final = "/"


@dataclass(frozen=True, slots=True)
class _Node:
    data: bytes
    created_zxid: int
    version: int = 0
    made: int = 0  # children created so far, including deleted ones
    children_zxid: int = 0  # not in the file: only values of one process are compared


@dataclass(slots=True)
class _Draft:
    """The effects of a transaction so far."""

    nodes: dict[str, _Node | None] = field(default_factory=dict)  # None: deleted by the transaction
    names: dict[str, dict[str, bool]] = field(default_factory=dict)  # of children, created (True) or deleted

    def name(self, path: str, *, is_there: bool) -> None:
        """Record that a znode was created or deleted."""
        self.names.setdefault(_parent(path), {})[_name(path)] = is_there


class EmbeddedZnodes:
    """The `nncache.coordination.zookeeper.Znodes` of one process. All of them are in memory.

    With a file they are also in a SQLite database. An acknowledged transaction survives the kill of the process and a
    loss of power. One that was not acknowledged is in the file either completely or not at all.
    """

    def __init__(self, file: Path | None = None) -> None:
        """Open the file, which is created if it is missing; no other process may use it meanwhile.

        Raises OSError: the file cannot be used, or another process uses it.
        """
        self._nodes: dict[str, _Node] = {ROOT: _Node(b"", 0)}
        self._children: dict[str, set[str]] = {ROOT: set()}
        self._zxid = 0  # of the last transaction
        self._database: sqlite3.Connection | None = None
        if file is not None:
            try:
                self._database = sqlite3.connect(file, timeout=0, isolation_level=None)
                self._load(self._database)
            except sqlite3.Error as error:
                self.close()
                raise OSError(f"{file} cannot be used: {error}") from error

    def close(self) -> None:
        """Close the file. May be called again."""
        if self._database is not None:
            self._database.close()

    async def get(self, path: str) -> Znode:
        """Return a znode."""
        znode = self._read(path)
        if znode is None:
            raise NoNodeError(path)
        return znode

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return many znodes, at one moment."""
        return tuple(self._read(path) for path in paths)

    async def children(self, path: str) -> tuple[str, ...]:
        """Return the names of the children."""
        if path not in self._nodes:
            raise NoNodeError(path)
        return tuple(self._children[path])

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Carry out a transaction."""
        draft = _Draft()
        for operation in operations:
            self._carry_out(operation, draft)
        self._keep(draft)
        self._zxid += 1
        for path, node in draft.nodes.items():
            if node is None:
                self._nodes.pop(path, None)
                self._children.pop(path, None)
            else:
                self._nodes[path] = node
                self._children.setdefault(path, set())
        for path, names in draft.names.items():
            if path in self._children:
                self._children[path] -= {name for name, is_there in names.items() if not is_there}
                self._children[path] |= {name for name, is_there in names.items() if is_there}

    def _read(self, path: str) -> Znode | None:
        node = self._nodes.get(path)
        if node is None:
            return None
        return Znode(
            path=path,
            data=node.data,
            version=node.version,
            created_zxid=node.created_zxid,
            children=len(self._children[path]),
            owner_session=0,
            children_zxid=max(node.children_zxid, node.created_zxid),
        )

    def _carry_out(self, operation: ZnodeOp, draft: _Draft) -> None:
        path = operation.path
        node = self._drafted(path, draft)
        match operation:
            case CreateOp():
                self._create(operation, draft)
            case SetDataOp(_, data, version):
                node = _expected(path, node, version)
                draft.nodes[path] = replace(node, data=data, version=node.version + 1)
            case DeleteOp(_, version):
                _expected(path, node, version)
                if self._has_children(path, draft):
                    raise NotEmptyError(path)
                draft.nodes[path] = None
                draft.name(path, is_there=False)
                parent = self._drafted(_parent(path), draft)
                if parent is not None:
                    draft.nodes[_parent(path)] = replace(parent, children_zxid=self._zxid + 1)
            case CheckOp(_, version):
                _expected(path, node, version)
            case _:
                assert_never(operation)

    def _create(self, operation: CreateOp, draft: _Draft) -> None:
        path = operation.path
        if operation.ephemeral:
            raise ValueError(f"{path}: an embedded store has no sessions, hence nothing ephemeral")
        parent = self._drafted(_parent(path), draft)
        if parent is None:
            raise NoNodeError(path)
        if operation.sequential:
            path = sequential_name(path, parent.made)
        if self._drafted(path, draft) is not None:
            raise NodeExistsError(path)
        draft.nodes[_parent(path)] = replace(parent, made=parent.made + 1, children_zxid=self._zxid + 1)
        draft.nodes[path] = _Node(operation.data, self._zxid + 1)
        draft.name(path, is_there=True)

    def _drafted(self, path: str, draft: _Draft) -> _Node | None:
        """Return a znode with the transaction's effects so far."""
        return draft.nodes[path] if path in draft.nodes else self._nodes.get(path)

    def _has_children(self, path: str, draft: _Draft) -> bool:
        names = draft.names.get(path, {})
        return any(names.values()) or any(name not in names for name in self._children.get(path, ()))

    def _load(self, database: sqlite3.Connection) -> None:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")  # another process would write over these znodes
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute(
            "CREATE TABLE IF NOT EXISTS znodes"
            " (path TEXT PRIMARY KEY, data BLOB, version INTEGER, created_zxid INTEGER, made INTEGER) WITHOUT ROWID"
        )
        # Shorter paths first, so that a parent precedes its children.
        rows = database.execute(
            "SELECT path, data, version, created_zxid, made FROM znodes ORDER BY length(path)"
        )
        for path, data, version, created_zxid, made in rows:
            self._nodes[path] = _Node(data, created_zxid, version, made)
            self._children[path] = set()
            if path != ROOT:
                self._children[_parent(path)].add(_name(path))
            self._zxid = max(self._zxid, created_zxid)

    def _keep(self, draft: _Draft) -> None:
        if self._database is None:
            return
        self._database.execute("BEGIN IMMEDIATE")
        try:
            for path, node in draft.nodes.items():
                if node is None:
                    self._database.execute("DELETE FROM znodes WHERE path = ?", (path,))
                else:
                    row = (path, node.data, node.version, node.created_zxid, node.made)
                    self._database.execute("INSERT OR REPLACE INTO znodes VALUES (?, ?, ?, ?, ?)", row)
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise


def _expected(path: str, node: _Node | None, version: int) -> _Node:
    if node is None:
        raise NoNodeError(path)
    if version not in (ANY_VERSION, node.version):
        raise BadVersionError(path)
    return node


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or ROOT


def _name(path: str) -> str:
    return path.rpartition("/")[2]
