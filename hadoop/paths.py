"""Canonical HDFS paths, and how a WebHDFS request target spells them. (hadoop/paths.py)

A canonical path is an absolute `str` with "/" between its names, no empty name and no trailing slash; "/" is the root.
It is what inotify events carry and the only spelling that serves as a key.
Sources: `DFSUtil.isValidName`, `INode.getPathComponents`, `FSDirectory.DOT_RESERVED_STRING`,
`HdfsConstants.DOT_SNAPSHOT_DIR` (Hadoop 3.4.1 and 3.5.0); RFC 3986 section 2.
"""

import re
from typing import Final

from hadoop.errors import HadoopError

ROOT: Final = "/"
RESERVED: Final = "/.reserved"
SNAPSHOT: Final = ".snapshot"

_SLASHES = re.compile("/{2,}")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})?")
# What RFC 3986 allows unencoded in a path, but no ";": `/..;/` is a 400, `/..%3B/` is not. Of other characters some are
# a 400 to 3.4.1 and taken for themselves by 3.5.0 ("[", "|", a no-break space), some are a 400 to both ("{").
_RAW = re.compile(rb"[A-Za-z0-9/%._~!$&'()*+,=:@-]*")


class InvalidPathError(HadoopError):
    """The path, or its spelling in a request target, is none that a NameNode is known to accept."""


def canonical(path: str) -> str:
    """Give the one spelling of an absolute path: single slashes, none at the end.

    `.` and `..` are names like any other, as for the NameNode, which never resolves them.

    Raises:
        InvalidPathError: the path is empty, relative, or contains a NUL.
    """
    if not path.startswith(ROOT):
        raise InvalidPathError(f"not an absolute path: {path!r}")
    if "\0" in path:
        raise InvalidPathError(f"NUL in path: {path!r}")
    return _SLASHES.sub(ROOT, path).rstrip(ROOT) or ROOT


def parent(path: str) -> str | None:
    """Give the directory that holds a canonical path; None for the root."""
    if path == ROOT:
        return None
    return path[: path.rindex(ROOT)] or ROOT


def name(path: str) -> str:
    """Give the last name of a canonical path; "" for the root."""
    return path[path.rindex(ROOT) + 1 :]


def ancestors(path: str) -> tuple[str, ...]:
    """Give every proper ancestor of a canonical path, the nearest first, the root last; () for the root."""
    found = []
    above = parent(path)
    while above is not None:
        found.append(above)
        above = parent(above)
    return tuple(found)


def has_dot_segments(path: str) -> bool:
    """Tell whether some name of the path is `.` or `..`: a NameNode refuses it, others may resolve it."""
    return "/." in path and not {".", ".."}.isdisjoint(path.split(ROOT))


def is_reserved(path: str) -> bool:
    """Tell whether a canonical path is `/.reserved` or below: an alias that no event names."""
    return path == RESERVED or path.startswith(RESERVED + ROOT)


def is_cacheable(path: str) -> bool:
    """Tell whether events name everything that changes the status of this canonical path.

    They do not for aliases below `/.reserved`, for snapshots, and for paths with `.` or `..`.
    """
    if "/." not in path:
        return True
    return not (has_dot_segments(path) or is_reserved(path) or SNAPSHOT in path.split(ROOT))


def decode_target_path(raw: str | bytes) -> str:
    """Read the part of a request target between `/webhdfs/v1` and the query, as both releases read it.

    Gives the path as requested: decoded, its slashes as they came (a 404 quotes it so); `canonical()` of it is the key.
    "" is the root; "+" is a plus; "%2F" is a separator. A `str` may carry undecodable bytes as surrogate escapes.

    Raises:
        InvalidPathError: the spelling is refused by some release, or read differently by two.
    """
    spelled = _as_bytes(raw)
    if not _RAW.fullmatch(spelled):
        raise InvalidPathError(f"a character that must be percent-encoded in {raw!r}")
    return decode_loosely(spelled)


def decode_loosely(raw: str | bytes) -> str:
    """Read a path as `decode_target_path` does, but take any unencoded character for itself.

    Raises:
        InvalidPathError: relative, a bad escape, a NUL, or not UTF-8.
    """
    spelled = _as_bytes(raw)
    # The first slash ends the service's own prefix: 3.5.0 reads `/webhdfs/v1%2Fw` as the path `/2Fw`.
    if spelled and not spelled.startswith(b"/"):
        raise InvalidPathError(f"not below the service's own path: {raw!r}")
    decoded = percent_decode(spelled) or ROOT
    if "\0" in decoded:
        raise InvalidPathError(f"NUL in {raw!r}")
    return decoded


def percent_decode(raw: str | bytes) -> str:
    """Decode percent escapes and UTF-8, strictly.

    Raises:
        InvalidPathError: a "%" without two hexadecimal digits, or bytes that are not UTF-8.
    """
    try:
        return _ESCAPE.sub(_escaped_byte, _as_bytes(raw)).decode()
    except UnicodeDecodeError as exc:
        raise InvalidPathError(f"not UTF-8: {raw!r}") from exc


def _escaped_byte(escape: re.Match[bytes]) -> bytes:
    digits = escape[1]
    if digits is None:
        raise InvalidPathError(f"bad percent escape in {escape.string!r}")
    return bytes((int(digits, 16),))


def _as_bytes(raw: str | bytes) -> bytes:
    """Undo a server's decoding of the request line, which keeps undecodable bytes as surrogate escapes."""
    try:
        return raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as exc:
        raise InvalidPathError(f"not UTF-8: {raw!r}") from exc
