"""The calls of HDFS that filters need, and the meaning of its errors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Protocol

import aiohttp

from nncache.hadoop.errors import DataNodeUnavailableError, HadoopError, RemoteExceptionError
from nncache.hadoop.filestatus import FileStatus
from nncache.hadoop.remote_exception import Verdict
from nncache.invalidation.errors import FilterAccessError, FiltersUnavailableError
from nncache.net.http_failure import why_unanswered


class Hdfs(Protocol):
    """HDFS as one user; `nncache.hadoop.namenodes.webhdfs.WebHdfs` has this shape and documents the errors."""

    async def status(self, path: str) -> FileStatus:
        """Return the status of a path."""

    async def list(self, path: str) -> tuple[FileStatus, ...]:
        """Return the statuses of a directory's children; of a file, its own with an empty path suffix."""

    async def read(self, path: str) -> bytes:
        """Return the content of a file."""

    async def mkdirs(self, path: str, permission: str = "755") -> bool:
        """Create a directory and its missing ancestors."""

    async def create(self, path: str, data: bytes = b"", *, create_parent: bool = True) -> None:
        """Write a new file and close it."""

    async def xattrs(self, path: str) -> Mapping[str, bytes]:
        """Return the extended attributes of a path, by name."""

    async def set_xattr(self, path: str, name: str, value: bytes) -> None:
        """Create or replace an extended attribute."""

    async def set_owner(self, path: str, owner: str | None = None, group: str | None = None) -> None:
        """Set the owner, the group, or both."""

    async def rename_to(self, source: str, destination: str) -> None:
        """Rename a path to exactly this one, which must not exist."""

    async def delete(self, path: str, *, recursive: bool = False) -> bool:
        """Delete a path; return False if there is none."""


FAILURES: Final = (HadoopError, aiohttp.ClientError, TimeoutError)
"""Every error with which a call of HDFS can fail."""


@contextmanager
def answered(doing: str, *, who_may: str) -> Iterator[None]:
    """Run a block of calls, and translate HDFS's errors into errors of the filters.

    `doing` begins the message ("filter f cannot be added"); `who_may` is the message for users whom HDFS refuses.

    Raises:
        FilterAccessError: HDFS refuses this user.
        FiltersUnavailableError: HDFS cannot do it now, or gave no answer.
    """
    try:
        yield
    except RemoteExceptionError as exc:
        if exc.verdict is Verdict.ACCESS_CONTROL:
            raise FilterAccessError(f"{who_may}; HDFS says: {_first_line(exc)}") from exc
        raise FiltersUnavailableError(f"{doing}: {reason_of(exc)}") from exc
    except FAILURES as exc:
        raise FiltersUnavailableError(f"{doing}: {reason_of(exc)}") from exc


def reason_of(exc: BaseException) -> str:
    """Return HDFS's error, or why there was no answer, in one line."""
    match exc:
        case RemoteExceptionError(verdict=Verdict.STANDBY):
            return f"this NameNode is not the active one, all of them must be named ({_first_line(exc)})"
        case RemoteExceptionError():
            return f"HDFS says: {exc.remote.exception}: {_first_line(exc)}"
        case DataNodeUnavailableError():
            return f"no answer from the DataNode at {exc} (files are read and written there)"
        case HadoopError():
            return str(exc)
        case _:
            return why_unanswered(exc)


async def status_if_there(hdfs: Hdfs, path: str) -> FileStatus | None:
    """Return the status of a path, or None if it does not exist."""
    try:
        return await hdfs.status(path)
    except RemoteExceptionError as exc:
        if not is_missing(exc):
            raise
        return None


def is_missing(exc: RemoteExceptionError) -> bool:
    """Return whether HDFS reports that the path does not exist."""
    return exc.verdict is Verdict.FILE_NOT_FOUND


def already_exists(exc: RemoteExceptionError) -> bool:
    """Return whether HDFS refuses to replace an existing path."""
    return exc.remote.exception == "FileAlreadyExistsException"


def _first_line(exc: RemoteExceptionError) -> str:
    """Return the message without the stack trace that may follow."""
    return (exc.remote.message.splitlines() or [""])[0]
