"""Keep the filters in HDFS, whose permissions say who may change what. (invalidation/filters/hdfs_store.py)

    PATH/NAME/definition.json    what only an administrator may change
    PATH/NAME/subscribers/       the owner's own directory, with one child for each user that may subscribe

A filter appears and disappears in one transaction of HDFS, so no reader meets half of one. What begins with a dot in
PATH is no filter: drafts are called so.
"""

import difflib
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import AbstractContextManager, suppress
from typing import NoReturn, assert_never

from nncache.hadoop.errors import RemoteExceptionError
from nncache.invalidation.filters.definition import (
    DEFINITION,
    SUBSCRIBERS,
    Filter,
    check_name,
    check_subscriber,
    encode_definition,
)
from nncache.invalidation.filters.errors import (
    BrokenFilterError,
    FilterExistsError,
    FilterStoreError,
    FiltersUnavailableError,
    UnknownFilterError,
)
from nncache.invalidation.filters.hdfs_calls import (
    FAILURES,
    Hdfs,
    already_exists,
    answered,
    is_missing,
    reason_of,
)
from nncache.invalidation.filters.hdfs_reader import (
    Broken,
    FilterReader,
    Progress,
    StoredFilter,
    StoredFilters,
    each_bounded,
)
from nncache.invalidation.filters.settings import DEFAULT_PATH

__all__ = ["FilterStore", "StoredFilter", "StoredFilters"]


class FilterStore:
    """The filters of one directory of HDFS, as one user. HDFS alone decides what that user may do.

    Every method raises `FilterStoreError` in one of its kinds when HDFS does not do it, and `FilterError`, before
    anything is touched, when it makes no sense.
    """

    def __init__(self, hdfs: Hdfs, path: str = DEFAULT_PATH) -> None:
        self.path = path
        self._hdfs = hdfs
        self._reader = FilterReader(hdfs, path)

    # -- reads

    async def list(self) -> tuple[str, ...]:
        """Return the names of all filters in order, broken ones too, by one call."""
        return await self._reader.names()

    async def read_all(self, progress: Progress | None = None) -> StoredFilters:
        """Return all filters, and why each of the others is none.

        Raises:
            FilterStoreError: HDFS could not be read: nothing is known about any filter.
        """
        return await self._reader.read_all(progress)

    async def read(self, names: Collection[str]) -> StoredFilters:
        """Return the filters of these names; of a name that is not there nothing is returned.

        Raises:
            FilterStoreError: HDFS could not be read: nothing is known about any of them.
        """
        return await self._reader.read(names)

    async def get(self, name: str) -> StoredFilter:
        """Return one filter.

        Raises:
            UnknownFilterError: there is none; the message names the nearest.
            BrokenFilterError: what is there is none; the message says why.
        """
        check_name(name)
        match found := await self._reader.read_one(name):
            case StoredFilter():
                return found
            case Broken(reason):
                raise BrokenFilterError(f"filter {name} in {self.path} is broken: {reason}")
            case None:
                await self._unknown(name)
        assert_never(found)

    # -- changes

    async def add(self, new: Filter) -> None:
        """Add a filter; the directory of the filters is made if it is missing.

        Raises:
            FilterExistsError: there is one of that name; of several that are added at once, one wins.
        """
        draft = f"{self.path}/.tmp-{uuid.uuid4().hex}"
        with self._changing(f"filter {new.name} cannot be added"):
            if await self._exists(self._place(new.name)):
                await self._taken(new.name)
            if not await self._exists(self.path):
                await self._hdfs.mkdirs(self.path, "755")
            try:
                await self._write(draft, new)
            except BaseException:
                await self._discard(draft)
                raise
            await self._publish(draft, new.name)

    async def remove(self, name: str) -> None:
        """Remove a filter, in whatever state it is.

        Raises:
            UnknownFilterError: there is none; the message names the nearest.
        """
        check_name(name)
        with self._changing(f"filter {name} cannot be removed"):
            was_there = await self._hdfs.delete(self._place(name), recursive=True)
        if not was_there:
            await self._unknown(name)

    async def allow(self, name: str, users: Iterable[str]) -> tuple[str, ...]:
        """Let these users subscribe; return those who could not before.

        Raises:
            UnknownFilterError, BrokenFilterError: there is no such filter.
        """

        async def allow_one(place: str) -> bool:
            try:
                # Without its parent: a filter that is removed meanwhile must not come back in parts.
                await self._hdfs.create(place, create_parent=False)
            except RemoteExceptionError as exc:
                if not already_exists(exc):
                    raise
                return False
            return True

        return await self._edit_subscribers(name, users, allow_one)

    async def deny(self, name: str, users: Iterable[str]) -> tuple[str, ...]:
        """Let these users no longer subscribe; return those who could before.

        Raises:
            UnknownFilterError, BrokenFilterError: there is no such filter.
        """

        async def deny_one(place: str) -> bool:
            return await self._hdfs.delete(place, recursive=True)

        return await self._edit_subscribers(name, users, deny_one)

    # -- inner parts

    async def _write(self, draft: str, new: Filter) -> None:
        subscribers = f"{draft}/{SUBSCRIBERS}"
        await self._hdfs.mkdirs(subscribers, "755")
        await self._hdfs.create(f"{draft}/{DEFINITION}", encode_definition(new), create_parent=False)

        async def write_one(user: str) -> None:
            await self._hdfs.create(f"{subscribers}/{user}", create_parent=False)

        await each_bounded(new.allowed_subscribers, write_one)
        await self._hdfs.set_owner(subscribers, owner=new.owner)

    async def _publish(self, draft: str, name: str) -> None:
        """Move a draft to its place, or see that nothing is left of it."""
        try:
            await self._hdfs.rename_to(draft, self._place(name))
        except RemoteExceptionError as exc:
            await self._discard(draft)
            if already_exists(exc):
                await self._taken(name)
            raise
        except FAILURES as exc:  # it may have been moved all the same: then there is no draft to discard
            was_there = await self._discard(draft)
            if was_there is None:
                raise FiltersUnavailableError(
                    f"it is not known whether filter {name} was added: {reason_of(exc)}"
                ) from exc
            if was_there:
                raise
        except BaseException:
            await self._discard(draft)
            raise

    async def _discard(self, draft: str) -> bool | None:
        """Delete a draft; False if there was none, None if that is not known."""
        try:
            return await self._hdfs.delete(draft, recursive=True)
        except FAILURES:
            return None

    async def _edit_subscribers(
        self, name: str, users: Iterable[str], edit: Callable[[str], Awaitable[bool]]
    ) -> tuple[str, ...]:
        """Edit the place of each user; return those for whom that changed something."""
        check_name(name)
        wanted = sorted(set(users))
        for user in wanted:
            check_subscriber(user)
        place = f"{self._place(name)}/{SUBSCRIBERS}"
        doing = f"the subscribers of filter {name} cannot be changed"
        with self._reader.answered():
            if not await self._exists(place):
                await self.get(name)  # says what is wrong
            owner = (await self._hdfs.status(place)).owner
        changed: list[str] = []

        async def edit_one(user: str) -> None:
            if await edit(f"{place}/{user}"):
                changed.append(user)

        may = f"only {owner}, who owns filter {name}, or an administrator may say who may subscribe to it"
        with answered(doing, who_may=may):
            await each_bounded(wanted, edit_one)
        return tuple(sorted(changed))

    async def _exists(self, path: str) -> bool:
        try:
            await self._hdfs.status(path)
        except RemoteExceptionError as exc:
            if not is_missing(exc):
                raise
            return False
        return True

    async def _taken(self, name: str) -> NoReturn:
        whose = ""
        with suppress(FilterStoreError):  # that it is there is known all the same
            found = await self._reader.read_one(name)
            if isinstance(found, StoredFilter):
                whose = f", {found.filter.owner}'s for {found.filter.path_glob}"
        raise FilterExistsError(
            f"there is a filter {name} in {self.path} already{whose}: remove it first, or take another name"
        )

    async def _unknown(self, name: str) -> NoReturn:
        nearest = difflib.get_close_matches(name, await self.list(), n=1, cutoff=0.0)
        hint = f"the nearest is {nearest[0]}" if nearest else "there are no filters"
        raise UnknownFilterError(f"there is no filter {name} in {self.path}; {hint}")

    def _place(self, name: str) -> str:
        return f"{self.path}/{name}"

    def _changing(self, doing: str) -> AbstractContextManager[None]:
        return answered(
            doing,
            who_may=f"only an administrator (a superuser of HDFS) may add and remove filters in {self.path}",
        )
