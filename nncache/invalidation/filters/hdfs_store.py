"""Keep the filters in HDFS, whose permissions say who may change what.

    PATH/NAME                    its attribute `user.nncache.definition` is what only an administrator may change
    PATH/NAME/definition.json    instead of it, where older releases wrote one, or HDFS does not take the attribute
    PATH/NAME/subscribers/       the owner's own directory, with one child for each user that may subscribe

A filter appears, gets another glob and disappears in one transaction of HDFS, so no reader meets half of one. What
begins with a dot in PATH is no filter: drafts are called so. Calls that the NameNode answers alone are preferred: a
DataNode starts a client for each file that it is to write, which takes it about a hundred times as long.
"""

import difflib
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Final, NoReturn, assert_never

from nncache.coordination.task_group import each_bounded
from nncache.hadoop.errors import RemoteExceptionError
from nncache.hadoop.paths import ROOT, ancestors
from nncache.hadoop.remote_exception import Verdict
from nncache.invalidation.errors import (
    BrokenFilterError,
    FilterExistsError,
    FilterStoreError,
    FiltersUnavailableError,
    NoSuchFilterError,
)
from nncache.invalidation.filters.definition import (
    ATTRIBUTE,
    DEFINITION,
    SUBSCRIBERS,
    Filter,
    check_name,
    check_subscriber,
    encode_definition,
)
from nncache.invalidation.filters.hdfs_calls import (
    FAILURES,
    Hdfs,
    already_exists,
    answered,
    is_missing,
    reason_of,
    status_if_there,
)
from nncache.invalidation.filters.hdfs_reader import (
    BrokenDefinition,
    FilterReader,
    Progress,
    StoredFilter,
)
from nncache.invalidation.filters.quick_hdfs import ReadAhead
from nncache.invalidation.filters.settings import DEFAULT_PATH
from nncache.invalidation.filters.stored_filters import StoredFilters

_DRAFT: Final = ".tmp-"

DRAFT_AGE_S: Final = 86_400.0
"""A draft that was not changed for so long is left over: no command takes a day, nor are clocks so far apart."""


class FilterStore:
    """The filters of one directory of HDFS, as one user. HDFS alone decides what that user may do.

    Every method raises `FilterStoreError` in one of its kinds when HDFS does not do it, and `FilterError`, before
    anything is touched, when it makes no sense.
    """

    def __init__(
        self, hdfs: Hdfs, path: str = DEFAULT_PATH, ahead: ReadAhead | None = None, *, own_user: str = ""
    ) -> None:
        """With `ahead` a reading of all filters takes fewer calls; for `own_user` see `FilterReader`."""
        self.path = path
        self._hdfs = hdfs
        self._reader = FilterReader(hdfs, path, ahead, own_user=own_user)
        self._owner = ""  # to whom the directory belongs, and so each filter's; not asked yet
        self._makes = ""  # to whom belongs what is made here; not asked yet

    # -- reads

    async def list(self) -> tuple[str, ...]:
        """Return the names of all filters in order, broken ones too, by one call."""
        return await self._reader.names()

    async def read_all(self, progress: Progress | None = None) -> StoredFilters:
        """Return all filters, and what is wrong with each that cannot be used.

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
            NoSuchFilterError: there is none; the message names the nearest.
            BrokenFilterError: what is there is not a valid filter; the message says why.
        """
        check_name(name)
        match found := await self._reader.read_one(name):
            case StoredFilter():
                return found
            case BrokenDefinition(reason):
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
        with self._adding(new):
            if await status_if_there(self._hdfs, self._place(new.name)) is not None:
                await self._taken(new.name)
            await self._make_directory()
        await self._add(new, self._make_files)

    async def prepare(self) -> None:
        """Make the directory of the filters if it is missing."""
        with self._changing("no filter can be added"):
            await self._make_directory()

    async def add_unseen(self, new: Filter) -> None:
        """Add a filter of which none was seen, to a directory that was prepared: four calls, and one a subscriber.

        Its subscribers are directories, for which no DataNode is needed.

        Raises:
            FilterExistsError: there is one of that name.
        """
        await self._add(new, self._make_directories)

    async def change(self, before: Filter, after: Filter) -> None:
        """Give a filter another glob, owner and other subscribers, whichever differ.

        Where HDFS does not take the glob as an attribute, the filter is away for a moment.
        """
        name, subscribers = before.name, f"{self._place(before.name)}/{SUBSCRIBERS}"
        with self._changing(f"filter {name} cannot be changed"):
            if before.path_glob != after.path_glob and not await self._redefine(after):
                await self._hdfs.delete(self._place(name), recursive=True)
                await self.add_unseen(after)
                return
            had, has = set(before.allowed_subscribers), set(after.allowed_subscribers)
            for user in sorted(had - has):
                await self._hdfs.delete(f"{subscribers}/{user}", recursive=True)
            if has - had:
                await self._admit(subscribers, sorted(has - had))
            if before.owner != after.owner:
                await self._hdfs.set_owner(subscribers, owner=after.owner)

    async def remove(self, name: str) -> None:
        """Remove a filter, in whatever state it is.

        Raises:
            NoSuchFilterError: there is none; the message names the nearest.
        """
        check_name(name)
        with self._changing(f"filter {name} cannot be removed"):
            was_there = await self._hdfs.delete(self._place(name), recursive=True)
        if not was_there:
            await self._unknown(name)

    async def allow(self, name: str, users: Iterable[str]) -> tuple[str, ...]:
        """Let these users subscribe; return those who could not before.

        Raises:
            NoSuchFilterError, BrokenFilterError: there is no such filter.
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
            NoSuchFilterError, BrokenFilterError: there is no such filter.
        """

        async def deny_one(place: str) -> bool:
            return await self._hdfs.delete(place, recursive=True)

        return await self._edit_subscribers(name, users, deny_one)

    async def sweep(self, now: float) -> int:
        """Delete drafts that commands left behind when they were killed; return how many.

        `now` is Unix time; a draft that was changed within a day may be one of a command that runs now.
        """
        before = (now - DRAFT_AGE_S) * 1000
        with self._changing("old drafts cannot be deleted"):
            try:
                statuses = await self._hdfs.list(self.path)
            except RemoteExceptionError as exc:
                if not is_missing(exc):
                    raise
                return 0
            old = [
                status.path_suffix
                for status in statuses
                if status.path_suffix.startswith(_DRAFT) and status.modification_time < before
            ]
            for name in old:
                await self._hdfs.delete(self._place(name), recursive=True)
        return len(old)

    # -- inner parts

    async def _make_directory(self) -> None:
        """Make the directory of the filters, and those above it, for the owner of the root: see `filters.trust`."""
        found = await status_if_there(self._hdfs, self.path)
        if found is not None:
            self._owner = found.owner
            return
        missing = [self.path]
        for path in ancestors(self.path):
            if await status_if_there(self._hdfs, path) is not None:
                break
            missing.append(path)
        await self._hdfs.mkdirs(self.path, "755")
        self._owner = (await self._hdfs.status(ROOT)).owner
        for path in reversed(missing):
            if (await self._hdfs.status(path)).owner != self._owner:
                await self._hdfs.set_owner(path, owner=self._owner)

    async def _add(self, new: Filter, make_list: Callable[[str, Sequence[str]], Awaitable[None]]) -> None:
        draft = self._new_draft()
        with self._adding(new):
            try:
                await self._write(draft, new, make_list)
            except BaseException:
                await self._discard(draft)
                raise
            await self._publish(draft, new.name)

    async def _make_files(self, subscribers: str, users: Sequence[str]) -> None:
        """Make the list that an owner may also edit with `hdfs dfs -touchz` and `-rm`."""
        await self._hdfs.mkdirs(subscribers, "755")

        async def make_one(user: str) -> None:
            await self._hdfs.create(f"{subscribers}/{user}", create_parent=False)

        await each_bounded(users, make_one)

    async def _make_directories(self, subscribers: str, users: Sequence[str]) -> None:
        """Make the list quickly. MKDIRS makes those above as well: the first subscriber costs no call of its own."""
        for place in [f"{subscribers}/{user}" for user in users] or [subscribers]:
            await self._hdfs.mkdirs(place, "755")

    async def _write(
        self, draft: str, new: Filter, make_list: Callable[[str, Sequence[str]], Awaitable[None]]
    ) -> None:
        """Put a draft together."""
        subscribers = f"{draft}/{SUBSCRIBERS}"
        await make_list(subscribers, new.allowed_subscribers)
        if not await self._set_attribute(draft, new):
            await self._hdfs.create(f"{draft}/{DEFINITION}", encode_definition(new), create_parent=False)
            await self._hand_over(f"{draft}/{DEFINITION}")
        await self._hdfs.set_owner(subscribers, owner=new.owner)
        await self._hand_over(draft)

    async def _hand_over(self, made: str) -> None:
        """Give what was made to the owner of the directory: what belongs to another user is not believed."""
        if not self._owner:
            self._owner = (await self._hdfs.status(self.path)).owner
        if not self._makes:
            self._makes = (await self._hdfs.status(made)).owner
        if self._makes != self._owner:
            await self._hdfs.set_owner(made, owner=self._owner)

    async def _set_attribute(self, place: str, defined: Filter) -> bool:
        """Set the attribute; False if HDFS has none (dfs.namenode.xattrs.enabled), or none so large."""
        try:
            await self._hdfs.set_xattr(place, ATTRIBUTE, encode_definition(defined))
        except RemoteExceptionError as exc:
            if exc.verdict is not Verdict.OTHER:
                raise
            return False
        return True

    async def _redefine(self, after: Filter) -> bool:
        """Set the definition of a filter that is there; False if HDFS does not take it as an attribute."""
        place = self._place(after.name)
        if not await self._set_attribute(place, after):
            return False
        await self._hdfs.delete(f"{place}/{DEFINITION}")  # while it is there it counts
        return True

    async def _admit(self, subscribers: str, users: Sequence[str]) -> None:
        """Add to a list that is there: each is moved into it, as a filter removed meanwhile must not come back."""
        draft = self._new_draft()
        try:
            for user in users:
                await self._hdfs.mkdirs(f"{draft}/{user}", "755")
                try:
                    await self._hdfs.rename_to(f"{draft}/{user}", f"{subscribers}/{user}")
                except RemoteExceptionError as exc:
                    if not already_exists(exc):
                        raise
        finally:
            await self._discard(draft)

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
            if await status_if_there(self._hdfs, place) is None:
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
        raise NoSuchFilterError(f"there is no filter {name} in {self.path}; {hint}")

    def _new_draft(self) -> str:
        return self._place(f"{_DRAFT}{uuid.uuid4().hex}")

    def _place(self, name: str) -> str:
        return f"{self.path}/{name}"

    def _adding(self, new: Filter) -> AbstractContextManager[None]:
        return self._changing(f"filter {new.name} cannot be added")

    def _changing(self, doing: str) -> AbstractContextManager[None]:
        return answered(
            doing,
            who_may=f"only an administrator (a superuser of HDFS) may add and remove filters in {self.path}",
        )
