"""Finalized segments are read although some JournalNodes fail: each transaction once and in order, or an error."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nncache.invalidation.errors import (
    ChannelUnavailableError,
    GapKind,
    MissingEventsError,
    NotPermittedError,
    WrongNamespaceError,
)
from nncache.invalidation.journal.finalized import FinalizedSegments
from tests.invalidation.fakes import remote_error
from tests.invalidation.journal.fake_journalnodes import FakeJournalNode, journalnode, serving

STORAGE = (42, "CID-1")
OVERLAPS = "java.lang.IllegalStateException"


@asynccontextmanager
async def journal(*nodes: FakeJournalNode) -> AsyncIterator[FinalizedSegments]:
    """Serve a journal."""
    async with serving(nodes) as access:
        yield FinalizedSegments(access, access.nodes)


async def txids(segments: FinalizedSegments, first_txid: int) -> list[int]:
    """Return the ids of the transactions read."""
    pieces = segments.read(first_txid, STORAGE)
    return [each.frame.txid async for shown in pieces for each in shown]


async def test_all_from_one_transaction_on_is_read() -> None:
    """Reading begins in the middle of a segment and crosses segments; each request names the namespace."""
    node = journalnode((1, 10), (11, 30), (31, 31))
    async with journal(node) as segments:
        assert await txids(segments, 5) == list(range(5, 32))
        assert await txids(segments, 32) == []
    assert [each["segmentTxId"] for each in node.asked] == ["1", "11", "31"]
    assert node.asked[0] == {
        "jid": "ns1",
        "segmentTxId": "1",
        "storageInfo": "0:42:0:CID-1",
        "inProgressOk": "false",
    }


async def test_a_piece_holds_a_bounded_part_of_a_segment() -> None:
    """The memory for unread edits does not grow with the segment."""
    async with journal(journalnode((1, 5000), body=bytes(100))) as segments:
        sizes = [len(shown) async for shown in segments.read(1, STORAGE)]
    assert sum(sizes) == 5000
    assert max(sizes) <= 64 * 1024 // 117 + 1


async def test_others_are_asked_where_one_fails() -> None:
    """An overlap in the manifest, HTTP 500, a truncated or damaged file: nothing is lost or repeated."""
    bounds = ((1, 2000), (2001, 2010))
    overlapping, broken, cut, damaged, whole = (journalnode(*bounds, body=bytes(100)) for _ in range(5))
    overlapping.refusal = remote_error(OVERLAPS, "overlaps")
    broken.status = 500
    cut.files[1] = cut.files[1][:90_000]
    damaged.files[1] = damaged.files[1][:150_000] + b"x" + damaged.files[1][150_001:]
    async with journal(overlapping, broken, cut, damaged, whole) as segments:
        assert await txids(segments, 1) == list(range(1, 2011))
    assert [len(each.asked) > 0 for each in (overlapping, broken, cut, damaged, whole)] == [
        False,
        True,
        True,
        True,
        True,
    ]


async def test_what_is_purged_is_named() -> None:
    """The error also has the transaction after which edits exist again."""
    nodes = journalnode((11, 20)), journalnode((21, 30)), journalnode()
    async with journal(*nodes) as segments:
        with pytest.raises(MissingEventsError, match="purged transactions 5 to 10") as caught:
            await txids(segments, 5)
    assert (caught.value.kind, caught.value.first_txid, caught.value.last_txid) == (GapKind.PURGED, 5, 10)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("This node has namespaceId '7'", WrongNamespaceError),
        ("Only Namenode and another JournalNode may access this servlet", NotPermittedError),
    ],
)
async def test_a_refusal_of_most_says_why(text: str, kind: type[Exception]) -> None:
    """The namespace is another, or the principal has no access."""
    nodes = [journalnode((1, 10)) for _ in range(3)]
    for node in nodes:
        node.status, node.text = 403, text
    async with journal(*nodes) as segments:
        with pytest.raises(kind):
            await txids(segments, 1)


async def test_one_that_can_be_asked_proves_nothing_missing() -> None:
    """The other JournalNodes may have the segment."""
    lone, *away = journalnode((11, 20)), journalnode((1, 10)), journalnode((1, 10))
    for node in away:
        node.refusal = remote_error(OVERLAPS, "overlaps")
    async with journal(lone, *away) as segments:
        with pytest.raises(ChannelUnavailableError, match="1 of 3 JournalNodes list"):
            await txids(segments, 5)
