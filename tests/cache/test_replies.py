"""Equal parts of replies are stored once."""

from nncache.cache.replies import MAX_FIELD_BYTES, MAX_KINDS, Shared, SharedReplies, StoredReply, reply_bytes

FIELDS = ((b"Cache-Control", b"no-cache"), (b"Content-Type", b"application/json"))


def fields(number: int) -> tuple[tuple[bytes, bytes], ...]:
    """Return header fields that no other reply has, as new objects."""
    return ((b"X-Number", b"%d" % number),)


def test_all_404s_are_one_reply() -> None:
    """The body of a 404 is rendered for each request."""
    replies = SharedReplies()
    first, how = replies.share(StoredReply(404, (*FIELDS,), b"one"), without_body=True)
    second, _ = replies.share(StoredReply(404, (FIELDS[0], FIELDS[1]), b"two"), without_body=True)
    assert first is second
    assert (first.status, first.headers, first.body, how) == (404, FIELDS, b"", Shared.ALL)
    assert reply_bytes(first, how) == 0
    replies.check()


def test_files_share_their_header_fields() -> None:
    """Each file's body is its own, and is charged."""
    replies = SharedReplies()
    first, how = replies.share(StoredReply(200, (FIELDS[0], FIELDS[1]), b"one"), without_body=False)
    second, _ = replies.share(StoredReply(200, (FIELDS[0], FIELDS[1]), b"two!"), without_body=False)
    assert (first.body, second.body, how) == (b"one", b"two!", Shared.HEADERS)
    assert first.headers is second.headers
    assert reply_bytes(second, how) == reply_bytes(first, how) + 1
    assert reply_bytes(first, Shared.NOTHING) > reply_bytes(first, how) + len(b"application/json")
    replies.check()


def test_what_is_shared_is_bounded() -> None:
    """If an intermediary marks each reply, the table fills once; later replies are charged in full."""
    replies = SharedReplies()
    for number in range(MAX_KINDS):
        assert replies.share(StoredReply(404, fields(number), b""), without_body=True)[1] is Shared.ALL
    full = replies.bytes
    odd = StoredReply(200, fields(-1), b"body")
    assert replies.share(odd, without_body=False) == (odd, Shared.NOTHING)
    assert replies.share(odd, without_body=True) == (StoredReply(200, fields(-1), b""), Shared.NOTHING)
    assert replies.share(StoredReply(404, fields(3), b""), without_body=True)[1] is Shared.ALL
    assert replies.bytes == full
    replies.check()
    replies.clear()
    assert replies.bytes == 0
    large = StoredReply(404, ((b"X", b"x" * MAX_FIELD_BYTES),), b"")
    assert replies.share(large, without_body=True)[1] is Shared.NOTHING
    replies.check()
