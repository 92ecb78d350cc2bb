"""Read filters from HDFS."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from nncache.coordination.task_group import each_bounded
from nncache.hadoop.errors import DataNodeUnavailableError, RemoteExceptionError
from nncache.hadoop.filestatus import FileStatus, FileType
from nncache.hadoop.paths import ancestors
from nncache.hadoop.remote_exception import Verdict
from nncache.hadoop.users import is_user_name
from nncache.invalidation.errors import FilterAccessError, FilterError, FiltersUnavailableError
from nncache.invalidation.filters.definition import (
    ATTRIBUTE,
    DEFINITION,
    MAX_DEFINITION_BYTES,
    MAX_SUBSCRIBERS,
    SUBSCRIBERS,
    Filter,
    check_name,
    parse_definition,
)
from nncache.invalidation.filters.hdfs_calls import Hdfs, answered, is_missing, reason_of, status_if_there
from nncache.invalidation.filters.quick_hdfs import ReadAhead
from nncache.invalidation.filters.stored_filters import StoredFilters
from nncache.invalidation.filters.trust import DirectoryTrust, Distrust, trust_in

MANY_UNREADABLE: Final = 16
"""If this many definitions are unreadable, or all are, HDFS is at fault and not the definitions."""

TRIES: Final = 3
"""Attempts to read a filter that is removed and added again in between."""

ReadProgress: TypeAlias = Callable[[int, int], None]
"""Called with the number of filters that have been read, and their total number."""


@dataclass(frozen=True, slots=True)
class StoredFilter:
    """A filter in HDFS."""

    filter: Filter
    odd_subscribers: tuple[str, ...]  # children of its list that are not user names
    distrust: Distrust | None = None


@dataclass(frozen=True, slots=True)
class BrokenDefinition:
    """The directory of a name holds no valid filter."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """The NameNode has the definition, but no DataNode returns its content."""

    reason: str


_Found: TypeAlias = StoredFilter | BrokenDefinition | _Unreadable | None  # None: it does not exist
_Identity: TypeAlias = tuple[int, int, int]  # of a file's content: file id, modification time, length


class FilterReader:
    """Reads the filters below one directory.

    The content of a file `definition.json` is cached while the file is the same: reading all filters again takes at
    most three calls for each, and no DataNode. With `ahead`, `read_all` reads most of it in few calls.
    """

    def __init__(self, hdfs: Hdfs, path: str, ahead: ReadAhead | None = None, *, own_user: str = "") -> None:
        """Create a reader; `own_user` is the publisher's own user, whose filters are trusted as well."""
        self._hdfs = hdfs
        self.path = path
        self._ahead = ahead
        self._own_user = own_user
        self._contents: dict[str, tuple[_Identity, bytes]] = {}  # of definitions, by name

    async def names(self) -> tuple[str, ...]:
        """Return the names of all filters, sorted, including broken ones; none if the directory does not exist.

        Raises:
            FilterStoreError: HDFS could not be read.
        """
        return tuple(await self._directories())

    async def _directories(self) -> dict[str, FileStatus]:
        """Return the status of each child that may be a filter, by name, sorted."""
        with self.answered():
            try:
                listed = await self._hdfs.list(self.path)
            except RemoteExceptionError as exc:
                if not is_missing(exc):
                    raise
                return {}
        statuses = {status.path_suffix: status for status in listed}
        if "" in statuses:
            raise FiltersUnavailableError(f"{self.path} is a file; the filters are kept in a directory")
        return {name: statuses[name] for name in sorted(statuses) if not name.startswith(".")}

    async def read_all(self, progress: ReadProgress | None = None) -> StoredFilters:
        """Return all filters.

        Raises:
            FilterStoreError: HDFS could not be read; nothing is known about any filter.
        """
        directories = await self._directories()
        if not directories:
            self._contents.clear()
            return StoredFilters()
        trust = await self._trust()
        names = tuple(directories)
        hdfs = self._hdfs if self._ahead is None else await self._ahead(self.path, names)
        found = await self._read_each(names, hdfs, trust, directories, progress)
        unreadable = [_reason(name, each) for name, each in found.items() if isinstance(each, _Unreadable)]
        if unreadable and not any(isinstance(each, StoredFilter) for each in found.values()):
            raise self._unreadable(unreadable)
        self._contents = {name: self._contents[name] for name in names if name in self._contents}
        return _together(found, trust)

    async def read(self, names: Collection[str]) -> StoredFilters:
        """Return the filters of these names; a missing one is in no part of the result.

        A definition that no DataNode returns is broken: with so few filters it is unclear where the fault is.

        Raises:
            FilterStoreError: HDFS could not be read; nothing is known about any of them.
        """
        trust = await self._trust()
        found = await self._read_each(names, self._hdfs, trust, {})
        for name, each in found.items():
            if each is None:
                self._contents.pop(name, None)
        return _together(found, trust)

    async def _trust(self) -> DirectoryTrust:
        """Return the rules of trust for this directory."""
        found: dict[str, FileStatus] = {}
        with self.answered():
            for path in (*reversed(ancestors(self.path)), self.path):
                status = await status_if_there(self._hdfs, path)
                if status is None:
                    break  # so there is no filter
                found[path] = status
        return trust_in(self.path, found, self._own_user)

    async def _read_each(
        self,
        names: Collection[str],
        hdfs: Hdfs,
        trust: DirectoryTrust,
        directories: Mapping[str, FileStatus],
        progress: ReadProgress | None = None,
    ) -> dict[str, _Found]:
        found: dict[str, _Found] = {}
        unreadable: list[str] = []

        async def read_one(name: str) -> None:
            found[name] = outcome = await self._read_one(name, hdfs, trust, directories.get(name))
            if isinstance(outcome, _Unreadable):
                unreadable.append(_reason(name, outcome))
            if len(unreadable) >= MANY_UNREADABLE:
                raise self._unreadable(unreadable)
            if progress is not None:
                progress(len(found), len(names))

        await each_bounded(names, read_one)
        return {name: found[name] for name in names}

    async def read_one(self, name: str) -> StoredFilter | BrokenDefinition | None:
        """Return the filter of this name, or None if there is none.

        Raises:
            FilterStoreError: HDFS could not be read.
        """
        found = await self._read_one(name, self._hdfs, await self._trust(), None)
        if isinstance(found, _Unreadable):
            raise self._unreadable([_reason(name, found)])
        return found

    async def _read_one(
        self, name: str, hdfs: Hdfs, trust: DirectoryTrust, directory: FileStatus | None
    ) -> _Found:
        try:
            check_name(name)
            with self.answered():
                path = f"{self.path}/{name}"
                directory = directory or await status_if_there(self._hdfs, path)
                for _ in range(TRIES):
                    if directory is None:
                        return None
                    try:
                        return await self._read_parts(name, hdfs, trust, directory)
                    except RemoteExceptionError as exc:
                        if not is_missing(exc):
                            raise
                    directory = await status_if_there(self._hdfs, path)
                if directory is None:
                    return None
        except (FilterError, FilterAccessError) as exc:
            return BrokenDefinition(str(exc))
        return BrokenDefinition("it was another one each time it was read")

    async def _read_parts(
        self, name: str, hdfs: Hdfs, trust: DirectoryTrust, directory: FileStatus
    ) -> _Found:
        """Read the directory of a filter; HDFS reports "not found" if it is removed at the same time."""
        listed = await hdfs.list(f"{self.path}/{name}")
        parts = {status.path_suffix: status for status in listed}
        if "" in parts:
            return BrokenDefinition("it is a file; a filter is a directory")
        definition, subscribers = parts.get(DEFINITION), parts.get(SUBSCRIBERS)
        if definition is not None and definition.type is not FileType.FILE:
            definition = None
        if definition is not None and definition.length > MAX_DEFINITION_BYTES:
            return BrokenDefinition(
                f"{DEFINITION}: {definition.length} bytes: at most {MAX_DEFINITION_BYTES} are possible"
            )
        if subscribers is None or subscribers.type is not FileType.DIRECTORY:
            return BrokenDefinition(f"it has no directory {SUBSCRIBERS}")
        if subscribers.children_num > MAX_SUBSCRIBERS:
            return BrokenDefinition(
                f"{subscribers.children_num} subscribers: at most {MAX_SUBSCRIBERS} are possible"
            )
        if definition is None:
            source = ATTRIBUTE
            attribute = (await hdfs.xattrs(f"{self.path}/{name}")).get(ATTRIBUTE)
            if attribute is None:
                return BrokenDefinition(f"it has no file {DEFINITION} and no attribute {ATTRIBUTE}")
            content: bytes | _Unreadable = attribute
        else:
            source, content = DEFINITION, await self._content(name, definition)
        users = await self._users(name, subscribers, hdfs)
        if isinstance(content, _Unreadable):
            return content
        allowed = (user for user in users if is_user_name(user))
        owner = subscribers.owner
        return StoredFilter(
            parse_definition(
                content,
                name=name,
                owner=owner,
                allowed_subscribers=allowed,
                file_id=subscribers.file_id,
                source=source,
            ),
            tuple(sorted(user for user in users if not is_user_name(user))),
            trust.of_filter(f"{self.path}/{name}", directory, parts),
        )

    async def _content(self, name: str, definition: FileStatus) -> bytes | _Unreadable:
        identity = (definition.file_id, definition.modification_time, definition.length)
        remembered = self._contents.get(name)
        if remembered is not None and remembered[0] == identity:
            return remembered[1]
        try:
            content = await self._hdfs.read(f"{self.path}/{name}/{DEFINITION}")
        except (DataNodeUnavailableError, RemoteExceptionError) as exc:
            if isinstance(exc, RemoteExceptionError) and exc.verdict is not Verdict.OTHER:
                raise
            return _Unreadable(f"{DEFINITION}: {reason_of(exc)}")
        self._contents[name] = identity, content
        return content

    async def _users(self, name: str, subscribers: FileStatus, hdfs: Hdfs) -> tuple[str, ...]:
        if not subscribers.children_num:
            return ()
        listed = await hdfs.list(f"{self.path}/{name}/{SUBSCRIBERS}")
        return tuple(status.path_suffix for status in listed)

    def answered(self) -> AbstractContextManager[None]:
        """Translate errors of a read in the block, as `hdfs_calls.answered` does."""
        return answered(
            f"the filters in {self.path} cannot be read",
            who_may=f"this user may not read all of {self.path}",
        )

    def _unreadable(self, reasons: Sequence[str]) -> FiltersUnavailableError:
        return FiltersUnavailableError(f"the filters in {self.path} cannot be read, such as {reasons[0]}")


def _reason(name: str, found: _Unreadable) -> str:
    return f"{name}: {found.reason}"


def _together(found: Mapping[str, _Found], trust: DirectoryTrust) -> StoredFilters:
    filters: dict[str, Filter] = {}
    broken: dict[str, str] = {}
    odd: dict[str, tuple[str, ...]] = {}
    untrusted: dict[str, Distrust] = {}
    for name, outcome in found.items():
        if outcome is not None and trust.distrust is not None:
            untrusted[name] = trust.distrust
        match outcome:
            case StoredFilter():
                filters[name] = outcome.filter
                if outcome.distrust is not None:
                    untrusted[name] = outcome.distrust
                if outcome.odd_subscribers:
                    odd[name] = outcome.odd_subscribers
            case BrokenDefinition() | _Unreadable():
                broken[name] = outcome.reason
            case None:
                pass
            case _:
                assert_never(outcome)
    return StoredFilters(filters=filters, broken=broken, odd_subscribers=odd, untrusted=untrusted)
