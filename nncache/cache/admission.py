"""Which replies to GETFILESTATUS may be kept."""

from enum import Enum
from http import HTTPStatus
from typing import assert_never

from nncache.hadoop.errors import HadoopError
from nncache.hadoop.filestatus import FileType, parse_file_status, render_missing
from nncache.hadoop.paths import ROOT
from nncache.hadoop.remote_exception import Verdict, parse_remote_exception


class Admission(Enum):
    """What a reply is to the cache."""

    MISSING = "missing"
    """A true `FileNotFoundException`: keep it."""
    DIRECTORY = "directory"
    """A directory's status: keep it."""
    ASK_WHETHER_CLOSED = "ask-whether-closed"
    """A file's status: keep it only if the same NameNode says that the file is closed."""
    DO_NOT_KEEP = "do-not-keep"
    """A true status that no event would ever invalidate (symlink, snapshottable directory but the root)."""
    DENIED = "denied"
    """The caller may not traverse."""
    UNAUTHENTICATED = "unauthenticated"
    """What authenticates the caller is not accepted."""
    FAILED = "failed"
    """Anything else, such as a standby's or a starting NameNode's refusal."""


def admit(status: int, body: bytes, as_requested: str) -> Admission:
    """Say what the NameNode's reply for the path `as_requested` (decoded, not canonical) is worth.

    A 404 is a true one only if its body is, byte for byte, what we would render for it: another
    spelling of the same path is then answered in the NameNode's own words.
    """
    match status:
        case HTTPStatus.OK:
            return _admit_status(body, is_root=not as_requested.strip(ROOT))
        case HTTPStatus.NOT_FOUND:
            return Admission.MISSING if body == render_missing(as_requested) else Admission.FAILED
        case HTTPStatus.UNAUTHORIZED:
            return Admission.UNAUTHENTICATED
        case HTTPStatus.FORBIDDEN:
            return _admit_refusal(body)
        case _:
            return Admission.FAILED


def _admit_refusal(body: bytes) -> Admission:
    remote = parse_remote_exception(body)
    match remote and remote.verdict:
        case Verdict.ACCESS_CONTROL:
            return Admission.DENIED
        case Verdict.INVALID_TOKEN:
            return Admission.UNAUTHENTICATED
        case _:
            return Admission.FAILED


def _admit_status(body: bytes, *, is_root: bool) -> Admission:
    try:
        status = parse_file_status(body)
    except HadoopError:
        return Admission.FAILED
    match status.type:
        case FileType.DIRECTORY:
            # The root is snapshottable from the start, with room for no snapshot; it is kept for `ROOT_AGE_S`.
            return Admission.DIRECTORY if is_root or not status.snapshot_enabled else Admission.DO_NOT_KEEP
        case FileType.FILE:
            return Admission.ASK_WHETHER_CLOSED
        case FileType.SYMLINK:
            return Admission.DO_NOT_KEEP
        case _:
            assert_never(status.type)
