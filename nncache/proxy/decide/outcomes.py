"""Translate a NameNode's reply to GETFILESTATUS into an outcome for the cache."""

from http import HTTPStatus
from typing import assert_never

from nncache.cache.decisions import (
    Cacheable,
    Denied,
    Failed,
    OpenFile,
    Outcome,
    Unauthenticated,
    Unchanged,
)
from nncache.cache.entries import EntryKind, Ticket
from nncache.cache.replies import StoredReply
from nncache.hadoop.errors import HadoopError
from nncache.hadoop.filestatus import FileType, parse_file_status, render_missing
from nncache.hadoop.paths import ROOT
from nncache.hadoop.remote_exception import Verdict, parse_remote_exception
from nncache.proxy.headers import replayed_headers
from nncache.proxy.identity import Credential, proven_for_s
from nncache.proxy.messages import UpstreamReply


def outcome_of(
    reply: UpstreamReply, as_requested: str, credential: Credential | None, *, unchanged: Ticket | None
) -> Outcome | None:
    """Return the outcome of a reply; None: isFileClosed must be called first (`file_outcome`).

    A 404 counts as true only if its body equals nncache's own rendering, byte for byte. Then nncache can render the
    404 for another spelling of the same path as the NameNode would.

    Args:
        reply: the NameNode's reply.
        as_requested: the path as the request spelled it, decoded, not canonical.
        credential: the cookie or token that authenticated the request, if any.
        unchanged: the ticket, if a file whose cached status equals the reply needs no isFileClosed; else None.
    """
    match reply.status:
        case HTTPStatus.OK:
            return _of_status(reply, credential, unchanged, is_root=not as_requested.strip(ROOT))
        case HTTPStatus.NOT_FOUND if reply.body == render_missing(as_requested):
            return _known(reply, EntryKind.MISSING, credential)
        case HTTPStatus.UNAUTHORIZED:
            return _unauthenticated(reply, credential)
        case HTTPStatus.FORBIDDEN:
            return _of_refusal(reply, credential)
        case _:
            return Failed()


def file_outcome(reply: UpstreamReply, credential: Credential | None, *, is_closed: bool) -> Outcome:
    """Return the outcome of a file's status, after the NameNode was asked whether the file is closed."""
    if not is_closed:
        return _open_file(reply, credential)
    return _known(reply, EntryKind.FILE, credential)


def _of_status(
    reply: UpstreamReply, credential: Credential | None, unchanged: Ticket | None, *, is_root: bool
) -> Outcome | None:
    try:
        status = parse_file_status(reply.body)
    except HadoopError:
        return Failed()
    match status.type:
        case FileType.DIRECTORY if is_root or not status.snapshot_enabled:
            # The root is always snapshottable, with a quota of no snapshots; it is cached for `ROOT_AGE_S`.
            return _known(reply, EntryKind.DIRECTORY, credential)
        case FileType.FILE:
            known = _known(reply, EntryKind.FILE, credential)
            if isinstance(known, Failed):
                return known
            if unchanged is None or not unchanged.finds_unchanged(known.reply):
                return None
            return Unchanged(
                reply=known.reply,
                replied_at=known.replied_at,
                term=known.term,
                proven_for_s=known.proven_for_s,
            )
        case FileType.DIRECTORY | FileType.SYMLINK:  # no event would invalidate it
            return _open_file(reply, credential)
        case _:
            assert_never(status.type)


def _of_refusal(reply: UpstreamReply, credential: Credential | None) -> Outcome:
    remote = parse_remote_exception(reply.body)
    match remote and remote.verdict:
        case Verdict.ACCESS_CONTROL:
            return Denied()
        case Verdict.INVALID_TOKEN:
            return _unauthenticated(reply, credential)
        case _:
            return Failed()


def _unauthenticated(reply: UpstreamReply, credential: Credential | None) -> Unauthenticated | Failed:
    return Failed() if credential is None else Unauthenticated(reply.replied_at)


def _known(reply: UpstreamReply, kind: EntryKind, credential: Credential | None) -> Cacheable | Failed:
    proven = proven_for_s(credential, reply.headers)
    if proven is None:
        return Failed()
    headers = replayed_headers(reply.headers) if reply.wire is None else reply.wire.replayed
    kept = StoredReply(reply.status, headers, reply.body)
    return Cacheable(reply=kept, kind=kind, replied_at=reply.replied_at, term=reply.term, proven_for_s=proven)


def _open_file(reply: UpstreamReply, credential: Credential | None) -> OpenFile | Failed:
    proven = proven_for_s(credential, reply.headers)
    if proven is None:
        return Failed()
    return OpenFile(replied_at=reply.replied_at, term=reply.term, proven_for_s=proven)
