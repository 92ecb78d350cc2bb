"""Canonical HDFS paths, and their spelling in WebHDFS request targets.

A canonical path is an absolute `str` with "/" between its names, no empty name and no trailing slash; "/" is the root.
Inotify events have this spelling, and only this spelling serves as a key.
Sources: `DFSUtil.isValidName`, `INode.getPathComponents`, `FSDirectory.DOT_RESERVED_STRING`,
`HdfsConstants.DOT_SNAPSHOT_DIR` (Hadoop 3.4.1 and 3.5.0); RFC 3986 section 2.
"""

import re
from binascii import a2b_qp
from collections.abc import Sequence
from typing import Final, overload

from nncache.hadoop.errors import HadoopError

ROOT: Final = "/"
RESERVED: Final = "/.reserved"
SNAPSHOT: Final = ".snapshot"

MAX_PATH_CHARS: Final = 8_000
MAX_PATH_LEVELS: Final = 1_000
"""A NameNode creates nothing at a longer or deeper path, by CREATE, MKDIRS, CREATESYMLINK or as the destination of a
RENAME (`NameNodeRpcServer.checkPathLength`, Hadoop 3.4.1 and 3.5.0). A rename of a directory can still move paths below
it beyond these limits."""

_SLASH = re.compile("/")
_SLASHES = re.compile("/{2,}")
_ESCAPES = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
# The characters that RFC 3986 allows unencoded in a path, except ";": `/..;/` is a 400, `/..%3B/` is not. Some other
# characters are a 400 to 3.4.1 and literal to 3.5.0 ("[", "|", a no-break space), others are a 400 to both ("{").
_RAW = re.compile(rb"[A-Za-z0-9/%._~!$&'()*+,=:@-]*")
_UNESCAPED = re.compile(r"/[A-Za-z0-9/._~!$&'()*+,=:@-]*")


class InvalidPathError(HadoopError):
    """The path, or its spelling in a request target, is not one that every NameNode is known to accept."""


def canonical(path: str) -> str:
    """Return the canonical spelling of an absolute path: single slashes, no trailing slash.

    `.` and `..` are ordinary names, as they are to the NameNode, which never resolves them.

    Raises InvalidPathError: the path is empty, relative, or contains a NUL.
    """
    if not path.startswith(ROOT):
        raise InvalidPathError(f"not an absolute path: {path!r}")
    if "\0" in path:
        raise InvalidPathError(f"NUL in path: {path!r}")
    return _SLASHES.sub(ROOT, path).rstrip(ROOT) or ROOT


def parent(path: str) -> str | None:
    """Return the directory that holds a canonical path; None for the root."""
    if path == ROOT:
        return None
    return path[: path.rindex(ROOT)] or ROOT


def name(path: str) -> str:
    """Return the last name of a canonical path; "" for the root."""
    return path[path.rindex(ROOT) + 1 :]


class Ancestors(Sequence[str]):
    """Some ancestors of one canonical path, the nearest first. Each string is created on access.

    The sequence itself costs O(length of the path); iterating over all ancestors costs the square of that.
    """

    __slots__ = ("_ends", "_path")

    def __init__(self, path: str, ends: tuple[int, ...]) -> None:
        self._path = path
        self._ends = ends  # the lengths of the ancestors; 0 for the root

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> "Ancestors": ...
    def __getitem__(self, index: int | slice) -> "str | Ancestors":
        if isinstance(index, slice):
            return Ancestors(self._path, self._ends[index])
        return self._path[: self._ends[index]] or ROOT


def ancestors(path: str) -> Ancestors:
    """Return all proper ancestors of a canonical path, the nearest first, the root last; none for the root."""
    if path == ROOT:
        return Ancestors(path, ())
    return Ancestors(path, tuple(slash.start() for slash in _SLASH.finditer(path))[::-1])


def depth(path: str) -> int:
    """Return the number of names in a canonical path; 0 for the root."""
    return 0 if path == ROOT else path.count(ROOT)


def exceeds_limits(path: str) -> bool:
    """Whether a canonical path is so long or so deep that a NameNode creates nothing there.

    Java counts a character beyond U+FFFF twice, this function once. So it misses some paths beyond the limits.
    """
    return len(path) > MAX_PATH_CHARS or (len(path) > 2 * MAX_PATH_LEVELS and depth(path) > MAX_PATH_LEVELS)


def has_dot_segments(path: str) -> bool:
    """Whether some name of the path is `.` or `..`: a NameNode refuses it, other servers may resolve it."""
    return "/." in path and not {".", ".."}.isdisjoint(path.split(ROOT))


def is_reserved(path: str) -> bool:
    """Whether a canonical path is `/.reserved` or below: an alias that no event names."""
    return path == RESERVED or path.startswith(RESERVED + ROOT)


def is_cacheable(path: str) -> bool:
    """Whether a status of this canonical path may be cached.

    Excluded are paths that change without an event that names them: aliases below `/.reserved`, snapshots, and paths
    with `.` or `..`. Paths beyond the limits of HDFS are excluded to bound the memory of an entry and the lookup cost.
    """
    if exceeds_limits(path):
        return False
    if "/." not in path:
        return True
    return not (has_dot_segments(path) or is_reserved(path) or SNAPSHOT in path.split(ROOT))


def decode_target_path(raw: str | bytes) -> str:
    """Decode the part of a request target between `/webhdfs/v1` and the query, as both releases do.

    The result is the path as requested: decoded, with unchanged slashes, as a 404 quotes it. `canonical()` of it is the
    key. "" is the root; "+" is a plus; "%2F" is a separator. A `str` may hold undecodable bytes as surrogate escapes.

    Raises InvalidPathError: a release refuses the spelling, or two releases read it differently.
    """
    if isinstance(raw, str) and _UNESCAPED.fullmatch(raw):  # nearly always
        return raw
    spelled = _as_bytes(raw)
    if not _RAW.fullmatch(spelled):
        raise InvalidPathError(f"a character that must be percent-encoded in {raw!r}")
    return decode_loosely(spelled)


def decode_loosely(raw: str | bytes) -> str:
    """Decode a path like `decode_target_path`, but accept any unencoded character literally.

    Raises InvalidPathError: relative, a bad escape, a NUL, or not UTF-8.
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

    Raises InvalidPathError: a "%" without two hexadecimal digits, or bytes that are not UTF-8.
    """
    if isinstance(raw, str) and raw.isascii() and "%" not in raw:  # nearly always
        return raw
    spelled = _as_bytes(raw)
    if _BAD_ESCAPE.search(spelled):
        raise InvalidPathError(f"bad percent escape in {raw!r}")
    try:
        return decode_escapes(spelled).decode()
    except UnicodeDecodeError as exc:
        raise InvalidPathError(f"not UTF-8: {raw!r}") from exc


def decode_escapes(raw: bytes) -> bytes:
    """Decode the valid percent escapes; all other bytes stay, a "%" without an escape too."""
    if b"%" not in raw:
        return raw
    return _ESCAPES.sub(_decode_run, raw) if _BAD_ESCAPE.search(raw) else _decode_clean(raw)


def _decode_run(escapes: re.Match[bytes]) -> bytes:
    return _decode_clean(escapes[0])


def _decode_clean(raw: bytes) -> bytes:
    """Decode bytes in which each "%" begins a valid escape, in one pass.

    Quoted-printable (RFC 2045 section 6.7) has the same escapes with "=", which `binascii` decodes. urllib's
    `unquote_to_bytes` creates an object for each escape, and 64 KiB may hold 21,000 of them.
    """
    return a2b_qp(raw.replace(b"=", b"%3D").replace(b"%", b"="))


def _as_bytes(raw: str | bytes) -> bytes:
    """Undo a server's decoding of the request line, which keeps undecodable bytes as surrogate escapes."""
    try:
        return raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as exc:
        raise InvalidPathError(f"not UTF-8: {raw!r}") from exc
