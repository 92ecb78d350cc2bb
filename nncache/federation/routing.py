"""The namespace of a request, if a proxy serves several.

Pure. The rules and the exception classes of refusals are those of ViewFs
(org.apache.hadoop.fs.viewfs.ViewFileSystem, 3.5.0). A request with more than one reading is refused as well: NameNodes
could read it differently, and here each could be a different NameNode (docs/decisions/0024).
"""

from collections.abc import Iterator
from typing import Final

from nncache.hadoop.calls import PREFIX, WHAT_IS_SERVED, WebHdfsCall, is_webhdfs, parse_call
from nncache.hadoop.mounts import MountTable
from nncache.hadoop.operations import Effect
from nncache.hadoop.paths import InvalidPathError, canonical, decode_target_path, has_dot_segments
from nncache.proxy.errors import (
    AcrossNamespacesError,
    ClientError,
    MountPointError,
    NotMountedError,
    UnknownAddressError,
)

_TAKES_AWAY: Final = frozenset({Effect.VANISHES, Effect.MOVES})
_START: Final = b"GET " + PREFIX.encode()


def namespace_of(mounts: MountTable, method: str, target: str) -> str:
    """Return the namespace of a request.

    Raises:
        ClientError: it belongs to none, or to several, or its namespace is uncertain.
    """
    if not is_webhdfs(target):
        raise UnknownAddressError(WHAT_IS_SERVED)
    call = parse_call(method, target)
    if call.path is None:
        raise ClientError(
            "the path of the request cannot be read for certain, so that no namespace is chosen for it"
        )
    namespace = _holder(mounts, call.path)
    if not call.is_read:
        _check_write(mounts, call, call.path, namespace)
    return namespace


def namespace_of_head(mounts: MountTable, head: bytes) -> str | None:
    """Return the namespace of a GET, from the bytes of its head; None if only `namespace_of` can find it."""
    if not head.startswith(_START):
        return None
    end = head.find(b" ", len(_START))
    if end < 0 or head.find(b"#", len(_START), end) >= 0:
        return None
    query = head.find(b"?", len(_START), end)
    spelled = head[len(_START) : end if query < 0 else query]
    try:
        path = canonical(decode_target_path(spelled.decode("ascii", "surrogateescape")))
    except InvalidPathError:
        return None
    return None if has_dot_segments(path) else mounts.find(path)


def _holder(mounts: MountTable, path: str) -> str:
    namespace = mounts.find(path)
    if namespace is not None:
        return namespace
    if mounts.is_above(path):
        raise MountPointError(
            f"{path} lies above the mount points of this proxy, and no namespace is mounted at / that could hold it"
        )
    raise NotMountedError(f"File/Directory does not exist: {path}: no namespace is mounted there")


def _check_write(mounts: MountTable, call: WebHdfsCall, path: str, namespace: str) -> None:
    """Check that a write stays within its namespace, and does not change a mount point."""
    if not call.is_certain:
        raise ClientError(
            "the query cannot be read for certain, so that it may name paths of other namespaces"
        )
    others = tuple(_other_paths(call))
    if call.op is None or call.op.effect in _TAKES_AWAY:
        for each in (path, *others):
            if mounts.is_fixed(each):
                raise MountPointError(
                    f"{each} is a mount point of this proxy, or above one; it stays where it is"
                )
    for each in others:
        holder = mounts.find(each)
        if holder != namespace:
            raise AcrossNamespacesError(
                f"Renames across Mount points not supported: {path} is of namespace {namespace}, {each} of "
                f"{holder or 'none'}"
            )


def _other_paths(call: WebHdfsCall) -> Iterator[str]:
    """Yield the other paths of a call: the destination of a RENAME, the sources of a CONCAT.

    Raises:
        ClientError: a path has more than one reading (see `nncache.hadoop.effects.destination_of`).
    """
    named = {
        "destination": call.arguments.get("destination", ()),
        "sources": tuple(
            part for value in call.arguments.get("sources", ()) for part in value.split(",") if part
        ),
    }
    for parameter, values in named.items():
        for value in values:
            try:
                path = canonical(value)
            except InvalidPathError as error:
                raise ClientError(f"{parameter}: {error}") from error
            if value.startswith("//") or has_dot_segments(path):
                raise ClientError(f"{parameter}: {value}: must be an absolute path without dot segments")
            yield path
