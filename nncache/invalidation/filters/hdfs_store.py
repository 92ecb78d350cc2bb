"""Store the filters in HDFS, whose permissions decide who may change what.

    PATH/NAME                    its attribute `user.nncache.definition` is what only an administrator may change
    PATH/NAME/definition.json    replaces it where an older release wrote it, or HDFS refuses the attribute
    PATH/NAME/subscribers/       the owner's own directory, with one child for each user that may subscribe

A filter appears, changes its glob and disappears in one transaction of HDFS, so no reader sees a part of it. Names in
PATH that begin with a dot are drafts, not filters. Calls that the NameNode answers alone are preferred: a DataNode
starts a client for each file to be written, which takes about a hundred times as long.
"""

import difflib
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
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
from nncache.invalidation.filters.hdfs_reader import BrokenDefinition, FilterReader, StoredFilter

_DRAFT: Final = ".tmp-"

DRAFT_AGE_S: Final = 86_400.0
"""Age in seconds after which an unchanged draft is a leftover: no command takes a day, no clocks are a day apart."""


class FilterStore(FilterReader):
    """The filters of one directory of HDFS, as one user. HDFS alone decides what that user may do.

    Every method raises a `FilterStoreError` if HDFS fails or refuses, and a `FilterError`, before any change, if an
    argument is invalid.
    """

    def __init__(self, hdfs: Hdfs, path: str, *, own_user: str = "") -> None:
        """Create a store; for `own_user` see `FilterReader`."""
        super().__init__(hdfs, path, own_user=own_user)
        self._owner = ""  # owner of the directory, and so of each filter's; "" until read
        self._makes = ""  # owner of the paths that are created here; "" until read

    async def get(self, name: str) -> StoredFilter:
        """Return one filter.

        Raises:
            NoSuchFilterError: there is none; the message names the most similar one.
            BrokenFilterError: it is not a valid filter; the message says why.
        """
        check_name(name)
        match found := await self.read_one(name):
            case StoredFilter():
                return found
            case BrokenDefinition(reason):
                raise BrokenFilterError(f"filter {name} in {self.path} is broken: {reason}")
            case None:
                await self._unknown(name)
        assert_never(found)

    # -- changes

    async def add(self, new: Filter) -> None:
        """Add a filter; create the directory of the filters if it is missing.

        Raises:
            FilterExistsError: the name is taken; of several concurrent calls, one succeeds.
        """
        with self._adding(new):
            if await status_if_there(self._hdfs, self._place(new.name)) is not None:
                await self._taken(new.name)
            await self._make_directory()
        await self._add(new, self._make_files)

    async def prepare(self) -> None:
        """Create the directory of the filters if it is missing."""
        with self._changing("no filter can be added"):
            await self._make_directory()

    async def add_unseen(self, new: Filter) -> None:
        """Add a filter whose name seems to be free, in a prepared directory: four calls, and one for each subscriber.

        Its subscribers are directories, which need no DataNode.

        Raises:
            FilterExistsError: the name is taken.
        """
        await self._add(new, self._make_directories)

    async def change(self, before: Filter, after: Filter) -> None:
        """Change the glob, owner and subscribers of a filter, as far as they differ.

        If HDFS does not accept the glob as an attribute, the filter is missing for a moment.
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
        """Remove a filter, whatever its state.

        Raises:
            NoSuchFilterError: there is none; the message names the most similar one.
        """
        check_name(name)
        with self._changing(f"filter {name} cannot be removed"):
            was_there = await self._hdfs.delete(self._place(name), recursive=True)
        if not was_there:
            await self._unknown(name)

    async def allow(self, name: str, users: Iterable[str]) -> tuple[str, ...]:
        """Allow these users to subscribe; return those who were not allowed before.

        Raises:
            NoSuchFilterError, BrokenFilterError: there is no such filter.
        """

        async def allow_one(place: str) -> bool:
            try:
                # Without its parent: a filter that is removed at the same time must not reappear in part.
                await self._hdfs.create(place, create_parent=False)
            except RemoteExceptionError as exc:
                if not already_exists(exc):
                    raise
                return False
            return True

        return await self._edit_subscribers(name, users, allow_one)

    async def deny(self, name: str, users: Iterable[str]) -> tuple[str, ...]:
        """Forbid these users to subscribe; return those who were allowed before.

        Raises:
            NoSuchFilterError, BrokenFilterError: there is no such filter.
        """

        async def deny_one(place: str) -> bool:
            return await self._hdfs.delete(place, recursive=True)

        return await self._edit_subscribers(name, users, deny_one)

    async def sweep(self, now: float) -> int:
        """Delete drafts that killed commands left behind; return their number.

        `now` is Unix time; a draft that was changed within a day may belong to a running command.
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
        """Create the directory of the filters, and its ancestors, for the owner of the root: see `filters.trust`."""
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
        """Create the list of files that an owner may also edit with `hdfs dfs -touchz` and `-rm`."""
        await self._hdfs.mkdirs(subscribers, "755")

        async def make_one(user: str) -> None:
            await self._hdfs.create(f"{subscribers}/{user}", create_parent=False)

        await each_bounded(users, make_one)

    async def _make_directories(self, subscribers: str, users: Sequence[str]) -> None:
        """Create the list as directories. MKDIRS creates ancestors, too: the first subscriber costs no extra call."""
        for place in [f"{subscribers}/{user}" for user in users] or [subscribers]:
            await self._hdfs.mkdirs(place, "755")

    async def _write(
        self, draft: str, new: Filter, make_list: Callable[[str, Sequence[str]], Awaitable[None]]
    ) -> None:
        """Write a draft."""
        subscribers = f"{draft}/{SUBSCRIBERS}"
        await make_list(subscribers, new.allowed_subscribers)
        if not await self._set_attribute(draft, new):
            await self._hdfs.create(f"{draft}/{DEFINITION}", encode_definition(new), create_parent=False)
            await self._hand_over(f"{draft}/{DEFINITION}")
        await self._hdfs.set_owner(subscribers, owner=new.owner)
        await self._hand_over(draft)

    async def _hand_over(self, made: str) -> None:
        """Give a created path to the owner of the directory: paths of other users are not trusted."""
        if not self._owner:
            self._owner = (await self._hdfs.status(self.path)).owner
        if not self._makes:
            self._makes = (await self._hdfs.status(made)).owner
        if self._makes != self._owner:
            await self._hdfs.set_owner(made, owner=self._owner)

    async def _set_attribute(self, place: str, defined: Filter) -> bool:
        """Set the attribute; return False if HDFS has none (dfs.namenode.xattrs.enabled), or none this large."""
        try:
            await self._hdfs.set_xattr(place, ATTRIBUTE, encode_definition(defined))
        except RemoteExceptionError as exc:
            if exc.verdict is not Verdict.OTHER:
                raise
            return False
        return True

    async def _redefine(self, after: Filter) -> bool:
        """Set the definition of an existing filter; return False if HDFS does not accept it as an attribute."""
        place = self._place(after.name)
        if not await self._set_attribute(place, after):
            return False
        await self._hdfs.delete(f"{place}/{DEFINITION}")  # while it exists it is used
        return True

    async def _admit(self, subscribers: str, users: Sequence[str]) -> None:
        """Add users to an existing list by renames: a filter that is removed at the same time must not reappear."""
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
        """Rename a draft to its final path; on failure, delete it."""
        try:
            await self._hdfs.rename_to(draft, self._place(name))
        except RemoteExceptionError as exc:
            await self._discard(draft)
            if already_exists(exc):
                await self._taken(name)
            raise
        except FAILURES as exc:  # it may have been renamed nevertheless: then there is no draft to discard
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
        """Delete a draft; return False if there was none, None if that is unknown."""
        try:
            return await self._hdfs.delete(draft, recursive=True)
        except FAILURES:
            return None

    async def _edit_subscribers(
        self, name: str, users: Iterable[str], edit: Callable[[str], Awaitable[bool]]
    ) -> tuple[str, ...]:
        """Edit the path of each user; return the users for whom this changed something."""
        check_name(name)
        wanted = sorted(set(users))
        for user in wanted:
            check_subscriber(user)
        place = f"{self._place(name)}/{SUBSCRIBERS}"
        doing = f"the subscribers of filter {name} cannot be changed"
        with self.answered():
            if await status_if_there(self._hdfs, place) is None:
                await self.get(name)  # raises the reason
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
        with suppress(FilterStoreError):  # it is known to exist anyway
            found = await self.read_one(name)
            if isinstance(found, StoredFilter):
                whose = f", {found.filter.owner}'s for {found.filter.path_glob}"
        raise FilterExistsError(
            f"there is a filter {name} in {self.path} already{whose}: remove it first, or take another name"
        )

    async def _unknown(self, name: str) -> NoReturn:
        nearest = difflib.get_close_matches(name, await self.names(), n=1, cutoff=0.0)
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
