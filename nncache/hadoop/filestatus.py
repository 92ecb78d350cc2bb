"""The two replies of GETFILESTATUS that can be cached: a status, and "does not exist".

Source: `JsonUtil.toJsonString(HdfsFileStatus, boolean)` and `ExceptionHandler`, Hadoop 3.4.1 and 3.5.0.
"""

from enum import Enum
from typing import Final

import msgspec

from nncache.hadoop.errors import MalformedReplyError
from nncache.hadoop.unreadable_json import UNREADABLE_JSON


class FileType(Enum):
    """The type of a path."""

    FILE = "FILE"
    DIRECTORY = "DIRECTORY"
    SYMLINK = "SYMLINK"


class FileStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One file status, as WebHDFS sends it. A reply has the optional keys only if they differ from the default."""

    type: FileType
    path_suffix: str  # "" except in listings
    length: int  # bytes
    owner: str
    group: str
    permission: str  # octal, "644" or "1777"
    access_time: int  # ms since the epoch
    modification_time: int  # ms since the epoch
    block_size: int  # bytes
    replication: int
    file_id: int
    children_num: int
    storage_policy: int
    acl_bit: bool = False
    enc_bit: bool = False
    ec_bit: bool = False
    ec_policy: str | None = None
    snapshot_enabled: bool = False
    symlink: str | None = None


class _Body(msgspec.Struct, frozen=True):
    status: FileStatus = msgspec.field(name="FileStatus")


_DECODER: Final = msgspec.json.Decoder(_Body)
# Jackson escapes only the characters that JSON requires: in the short form if there is one, else in upper-case hex.
_SHORT_ESCAPES: Final = {'"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_JSON_ESCAPES: Final = {code: f"\\u{code:04X}" for code in range(0x20)} | {
    ord(char): "\\" + short for char, short in _SHORT_ESCAPES.items()
}
_MISSING_START: Final = (
    '{"RemoteException":{"exception":"FileNotFoundException","javaClassName":"java.io.FileNotFoundException",'
    '"message":"File does not exist: '
)
_MISSING_END: Final = '"}}'


def parse_file_status(body: bytes) -> FileStatus:
    """Parse the body of a 200 reply to GETFILESTATUS. Unknown keys are ignored.

    Raises MalformedReplyError: it is not a file status.
    """
    try:
        return _DECODER.decode(body).status
    except UNREADABLE_JSON as exc:
        raise MalformedReplyError(f"not a FileStatus: {exc}") from exc


def render_missing(as_requested: str) -> bytes:
    """Return the exact body of the 404 that a NameNode sends for a missing path.

    It quotes the path as requested, so one cached outcome has one body per spelling.
    (3.4.1 appends a slash if the last name is `..`; `paths.is_cacheable` excludes these paths.)
    """
    return (_MISSING_START + json_string(as_requested) + _MISSING_END).encode()


def json_string(text: str) -> str:
    """Encode a text as a JSON string as Jackson does, without the quotation marks."""
    return text.translate(_JSON_ESCAPES) if _needs_escapes(text) else text


def _needs_escapes(text: str) -> bool:
    """Whether JSON may need escapes for a text; fast for nearly all paths."""
    return not text.isprintable() or '"' in text or "\\" in text
