"""The registry's operations, on ZooKeeper.

The operations are those of `RegistryOperations` of Hadoop 3.5.0, with the same meaning, plus versions: a conditional
write cannot overwrite another client's.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from nncache.coordination.errors import (
    BadVersionError,
    CoordinationError,
    NodeExistsError,
    NoNodeError,
    NotAllowedError,
    NotEmptyError,
    ZnodeError,
)
from nncache.coordination.zookeeper import (
    ANY_VERSION,
    CreateOp,
    DeleteOp,
    SetDataOp,
    Znode,
    ZnodeOp,
    ZooKeeper,
)
from nncache.registry import paths
from nncache.registry.access import AccessPolicy, ZooKeeperIdentity, digest_account
from nncache.registry.errors import (
    FileAlreadyExistsError,
    NoChildrenForEphemeralsError,
    NoPathPermissionsError,
    PathIsNotEmptyDirectoryError,
    PathNotFoundError,
    RecordChangedError,
    RegistryError,
    RegistryIOError,
)
from nncache.registry.limits import check_record
from nncache.registry.pacing import MOST, Pace, apart, at_once
from nncache.registry.record import EntryStatus, RegistryEntry, ServiceRecord
from nncache.registry.record_json import encode_record, parse_record

MOST_TRIES: Final = 20  # attempts at a change that writes of other clients keep interrupting

PER_CALL: Final = 100  # znodes per call

CALLS_AT_ONCE: Final = 4
"""Concurrent calls for znodes: ZooKeeper reads while their replies are decoded here."""

REFUSED: Final = "ZooKeeper's ACL refuses it to this client; see zookeeper_sasl"

_MISSING: Final = "there is no such entry"
_NO_PARENT: Final = "there is no entry above it to make it in; mknode makes one"


class Registry:
    """A registry, over a session with ZooKeeper that the caller starts and ends.

    Paths are below the registry's root, such as /services/hdfs. All operations raise RegistryIOError if ZooKeeper does
    not answer, NoPathPermissionsError if its ACL refuses, and InvalidPathnameError for an invalid path.
    """

    def __init__(
        self, zookeeper: ZooKeeper, root: str, access: AccessPolicy, pace: Pace | None = None
    ) -> None:
        """Use the registry at `root`. If `pace` is given, each change waits for its turn there."""
        self._pace = pace
        self.zookeeper = zookeeper
        self.root = root
        self.access = access
        self._accessors: dict[str, ZooKeeperIdentity] = {}  # may write future entries; by id

    async def mknode(self, path: str, *, create_parents: bool = False) -> bool:
        """Create an entry without a record; return False if it exists. `create_parents` creates its ancestors as well.

        Raises PathNotFoundError if the parent does not exist.
        """
        wanted = paths.writable(path)
        with self._translated(wanted, _NO_PARENT):
            acl = self.access.entry_acl(self._accessors.values())
            if create_parents:
                await self.zookeeper.ensure(self.znode(paths.parent_of(wanted)), acl)
            try:
                await self._commit([CreateOp(self.znode(wanted), b"", acl=acl)])
            except NodeExistsError:
                return False
            return True

    async def bind(
        self, path: str, record: ServiceRecord, *, overwrite: bool = False, version: int | None = None
    ) -> None:
        """Bind a record to a path: create the entry, or with `overwrite` replace its record.

        The parent must exist, and the record must be within the limits of `registry/limits.py`. With `version` the
        record is replaced only if the entry has this version (`EntryStatus.version`).

        Raises:
            InvalidRecordError: the record breaks a limit; nothing was written.
            PathNotFoundError: the parent does not exist, or with `version` the entry itself.
            FileAlreadyExistsError: the entry exists, and `overwrite` was not given.
            RecordChangedError: the entry has another version.
        """
        wanted = paths.writable(path)
        data = encode_record(record)
        check_record(wanted, record, len(data))
        znode = self.znode(wanted)
        with self._translated(wanted, _NO_PARENT if version is None else _MISSING):
            if version is not None:
                await self._commit([SetDataOp(znode, data, version)])
                return
            for _ in range(MOST_TRIES):
                try:
                    acl = self.access.entry_acl(self._accessors.values())
                    await self._commit([CreateOp(znode, data, acl=acl)])
                except NodeExistsError:
                    if not overwrite:
                        raise
                else:
                    return
                try:
                    await self._commit([SetDataOp(znode, data, ANY_VERSION)])
                except NoNodeError:
                    continue  # another client has deleted it in between
                return
        raise _busy(wanted)

    async def update(self, path: str, change: Callable[[ServiceRecord], ServiceRecord]) -> ServiceRecord:
        """Replace a record by `change(record)`; no other client's write is lost. `change` may be called several times.

        Return the new record. If another client deletes the entry and creates it again in between, the new entry may
        have the version that was read.

        Raises:
            PathNotFoundError, NoRecordError: there is no record to change.
            InvalidRecordError: the record is broken, or the new one breaks a limit.
            RecordChangedError: other clients have written the entry during each attempt.
        """
        for _ in range(MOST_TRIES):
            entry = await self.read(path)
            record = change(entry.record)
            try:
                await self.bind(path, record, version=entry.status.version)
            except RecordChangedError:
                continue
            return record
        raise _busy(path)

    async def resolve(self, path: str) -> ServiceRecord:
        """Return the record at a path.

        Raises:
            PathNotFoundError: the entry does not exist.
            NoRecordError: it holds no record.
            InvalidRecordError: its record is broken.
        """
        return (await self.read(path)).record

    async def read(self, path: str) -> RegistryEntry:
        """Return the entry at a path, with its record. Raises as `resolve`."""
        wanted = paths.readable(path)
        znode = await self._get(wanted)
        record = await apart(len(znode.data), parse_record, wanted, znode.data)
        return RegistryEntry(status_of(wanted, znode), record)

    async def stat(self, path: str) -> EntryStatus:
        """Return the status of an entry. Raises PathNotFoundError."""
        wanted = paths.readable(path)
        return status_of(wanted, await self._get(wanted))

    async def stat_all(self, entries: Sequence[str]) -> tuple[EntryStatus, ...]:
        """Return the status of many entries, in few calls.

        Entries that do not exist, or that ZooKeeper's ACL refuses to this client, are left out.
        """
        wanted = [paths.readable(path) for path in entries]
        statuses: list[EntryStatus] = []
        with self._translated(paths.ROOT):
            for start in range(0, len(wanted), PER_CALL):
                call = wanted[start : start + PER_CALL]
                found = zip(call, await self.znodes_of(call), strict=True)
                statuses += [status_of(path, znode) for path, znode in found if isinstance(znode, Znode)]
        return tuple(statuses)

    async def znodes_of(self, call: Sequence[str]) -> Sequence[Znode | NotAllowedError | None]:
        """Return the znodes of up to PER_CALL entries, in one call; None for an entry that does not exist.

        If an ACL refuses one of them, each is requested on its own, and the error replaces only the refused ones.

        Raises CoordinationError: ZooKeeper does not answer.
        """
        try:
            return await self.zookeeper.get_many([self.znode(path) for path in call])
        except NotAllowedError as error:
            if len(call) == 1:
                return (error,)
        return await at_once(self._znode_of, call, MOST // CALLS_AT_ONCE)

    async def _znode_of(self, path: str) -> Znode | NotAllowedError | None:
        (found,) = await self.znodes_of([path])
        return found

    async def exists(self, path: str) -> bool:
        """Return whether the entry exists."""
        try:
            await self.stat(path)
        except PathNotFoundError:
            return False
        return True

    async def list(self, path: str) -> tuple[str, ...]:
        """Return the names of a path's children, sorted. Raises PathNotFoundError."""
        wanted = paths.readable(path)
        with self._translated(wanted):
            return tuple(sorted(await self.zookeeper.children(self.znode(wanted))))

    async def delete(self, path: str, *, recursive: bool = False, version: int | None = None) -> bool:
        """Delete an entry; with `recursive` its descendants first, from the bottom up.

        Return whether it existed. As with Hadoop's own client, a missing entry is no error.

        Raises:
            PathIsNotEmptyDirectoryError: the entry has children, and `recursive` was not given; or other clients keep
                adding children.
            RecordChangedError: the entry's version differs from `version`.
        """
        wanted = paths.readable(path)
        if wanted == paths.ROOT:
            raise NoPathPermissionsError(
                wanted, "the root of the registry is not deleted; delete what is below it"
            )
        znode = self.znode(wanted)
        with self._translated(wanted):
            for _ in range(MOST_TRIES):
                try:
                    await self._commit([DeleteOp(znode, ANY_VERSION if version is None else version)])
                except NoNodeError:
                    return False
                except NotEmptyError:
                    if not recursive:
                        raise
                else:
                    return True
                await self._delete_below(wanted)
        raise PathIsNotEmptyDirectoryError(wanted, "other clients add entries below it again and again")

    def add_write_accessor(self, user: str, password: str) -> bool:
        """Allow a digest identity to write future entries. Return False, without effect, if every client may write.

        Raises ValueError if the user or the password is empty, or has a colon.
        """
        account = digest_account(user, password)
        if self.access.is_secure:
            self._accessors[account.id] = account
        return self.access.is_secure

    def clear_write_accessors(self) -> None:
        """Remove all accessors; existing entries keep theirs."""
        self._accessors.clear()

    async def make_root(self) -> None:
        """Create the root, /users and /services with the ACL of the system accounts, if they are missing.

        Source: `RegistryAdminService.createRootRegistryPaths` of Hadoop 3.5.0.
        """
        acl = self.access.system_acl()
        for path in (paths.ROOT, paths.USERS, paths.SERVICES):
            with self._translated(path):
                await self.zookeeper.ensure(self.znode(path), acl)

    async def make_home(self, user: str) -> str:
        """Create a user's home entry if it is missing, and return its path; for system accounts.

        Raises InvalidPathnameError if the user's name has no entry name.
        """
        path = paths.home_of(user)
        with self._translated(path):
            await self.zookeeper.ensure(self.znode(path), self.access.home_acl(user))
        return path

    def znode(self, path: str) -> str:
        """Return the znode's path in ZooKeeper."""
        return self.root if path == paths.ROOT else self.root + path

    async def _commit(self, operations: Sequence[ZnodeOp]) -> None:
        if self._pace is not None:
            await self._pace.wait()
        await self.zookeeper.commit(operations)

    async def _get(self, path: str) -> Znode:
        with self._translated(path):
            return await self.zookeeper.get(self.znode(path))

    async def _delete_below(self, path: str) -> None:
        """Delete all descendants of a path. Those that other clients add meanwhile stay, and so do their ancestors."""
        found, read = [path], 0
        while read < len(found):
            above, read = found[read], read + 1
            with suppress(NoNodeError):
                names = await self.zookeeper.children(self.znode(above))
                found += (paths.below(above, name) for name in names)
        for below in reversed(found[1:]):
            with suppress(NoNodeError, NotEmptyError):
                await self._commit([DeleteOp(self.znode(below), ANY_VERSION)])

    @contextmanager
    def _translated(self, path: str, missing: str = _MISSING) -> Iterator[None]:
        """Translate ZooKeeper's errors to this room's; `missing` explains a missing znode."""
        try:
            yield
        except CoordinationError as error:
            kind, what = _meaning(error, missing)
            raise kind(path, what) from error


def _meaning(error: CoordinationError, missing: str) -> tuple[type[RegistryError], str]:
    match error:
        case NoNodeError():
            return PathNotFoundError, missing
        case NodeExistsError():
            return FileAlreadyExistsError, "the entry is there already; overwrite replaces its record"
        case NotEmptyError():
            return PathIsNotEmptyDirectoryError, "there are entries below it; recursive deletes them, too"
        case BadVersionError():
            return RecordChangedError, "another client has written it in between; read it again"
        case NotAllowedError():
            return NoPathPermissionsError, REFUSED
        case ZnodeError() if "Ephemerals" in str(error):
            return NoChildrenForEphemeralsError, "the entry above it is ephemeral, and has none below it"
        case ZnodeError():
            return NoPathPermissionsError, str(error)
        case _:
            return RegistryIOError, f"ZooKeeper does not answer, so it is not known what was done: {error}"


def status_of(path: str, znode: Znode) -> EntryStatus:
    """Return the status of the entry at a path, from its znode."""
    return EntryStatus(
        path=path,
        time_ms=znode.created_ms,
        size_bytes=len(znode.data),
        children=znode.children,
        version=znode.version,
    )


def _busy(path: str) -> RecordChangedError:
    return RecordChangedError(path, f"other clients have written it {MOST_TRIES} times in between")
