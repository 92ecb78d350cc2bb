"""What a NameNode's reply to a read is to the cache."""

from typing import assert_never

from nncache.cache.admission import Admission, admit
from nncache.cache.decisions import (
    Denied,
    Failed,
    Known,
    OpenFile,
    Outcome,
    Unauthenticated,
    Unchanged,
)
from nncache.cache.entries import EntryKind, Ticket
from nncache.cache.replies import Reply
from nncache.proxy.headers import replayed_headers
from nncache.proxy.identity import Credential, proven_for_s
from nncache.proxy.messages import UpstreamReply


def outcome_of(
    reply: UpstreamReply, as_requested: str, credential: Credential | None, *, unchanged: Ticket | None
) -> Outcome | None:
    """Say what a reply is; None if the NameNode has to be asked whether the file is closed (`file_outcome`).

    Args:
        reply: the NameNode's.
        as_requested: the path as the request spelled it, decoded.
        credential: what authenticated the request, beside what its target says.
        unchanged: the ticket, if nothing has to be asked about a file of which just this is kept.
    """
    admission = admit(reply.status, reply.body, as_requested)
    match admission:
        case Admission.DENIED:
            return Denied()
        case Admission.UNAUTHENTICATED:
            return Failed() if credential is None else Unauthenticated(reply.replied_at)
        case Admission.FAILED:
            return Failed()
        case _:
            pass
    proven = proven_for_s(credential, reply.headers)
    if proven is None:
        return Failed()
    match admission:
        case Admission.MISSING:
            return _known(reply, EntryKind.MISSING, proven)
        case Admission.DIRECTORY:
            return _known(reply, EntryKind.DIRECTORY, proven)
        case Admission.ASK_WHETHER_CLOSED:
            known = _known(reply, EntryKind.FILE, proven)
            if unchanged is None or not unchanged.finds_unchanged(known.reply):
                return None
            return Unchanged(
                reply=known.reply, replied_at=reply.replied_at, term=reply.term, proven_for_s=proven
            )
        case Admission.DO_NOT_KEEP:
            return OpenFile(replied_at=reply.replied_at, term=reply.term, proven_for_s=proven)
        case _:
            assert_never(admission)


def file_outcome(reply: UpstreamReply, credential: Credential | None, *, is_closed: bool) -> Outcome:
    """Say what the status of a file is, once the NameNode was asked whether it is closed."""
    proven = proven_for_s(credential, reply.headers)
    if proven is None:
        return Failed()
    if not is_closed:
        return OpenFile(replied_at=reply.replied_at, term=reply.term, proven_for_s=proven)
    return _known(reply, EntryKind.FILE, proven)


def _known(reply: UpstreamReply, kind: EntryKind, proven_for_s: float) -> Known:
    headers = replayed_headers(reply.headers) if reply.wire is None else reply.wire.replayed
    kept = Reply(reply.status, headers, reply.body)
    return Known(
        reply=kept, kind=kind, replied_at=reply.replied_at, term=reply.term, proven_for_s=proven_for_s
    )
