"""Estimator: which past events a glob would have matched."""

import pytest

from nncache.hadoop.events import (
    Append,
    Close,
    Create,
    EditsPage,
    Event,
    EventBatch,
    MetadataKind,
    MetadataUpdate,
    Rename,
    Unlink,
)
from nncache.hadoop.filestatus import FileType
from nncache.hadoop.globs import GlobError
from nncache.invalidation.publisher.estimate import EXAMPLES, Estimate, Estimator


def page(first_txid: int, last_txid: int, *events: tuple[int, Event]) -> EditsPage:
    """Return a page with transactions of one event each."""
    batches = tuple(EventBatch(txid, (event,)) for txid, event in events)
    return EditsPage(first_txid, last_txid, last_txid, batches)


def unlinks(first_txid: int, times_s: list[float], path: str = "/a/x") -> EditsPage:
    """Return a page of deletions of a path at these times."""
    events = ((txid, Unlink(path, int(at * 1000))) for txid, at in enumerate(times_s, first_txid))
    return page(first_txid, first_txid + len(times_s) - 1, *events)


def test_what_matches_is_counted_by_events_and_transactions() -> None:
    """Either path of a rename counts; the examples are the latest paths."""
    estimator = Estimator("/a/*", 0.0)
    directory = Create(kind=FileType.DIRECTORY, path="/a/new", ctime=1_000_000)
    estimator.take(page(11, 14, (11, directory), (13, Unlink("/b", 1_001_000))))
    estimator.take(page(-1, -1))
    estimator.take(
        page(15, 20, (15, Rename("/a/new", "/b/old", 1_010_000)), (16, Close("/a/f", 1, 1_005_000)))
    )
    assert estimator.estimate() == Estimate(
        first_txid=11,
        last_txid=20,
        seconds=10.0,
        events=4,
        matched=3,
        matched_transactions=3,
        busiest_minute=3,
        over_limit=0,
        examples=("/a/f", "/b/old", "/a/new"),
    )
    found = estimator.estimate()
    assert (found.transactions, found.per_s, found.share) == (10, 0.3, 0.3)


def test_what_a_page_has_twice_counts_once() -> None:
    """With in-progress tailing a NameNode begins again at the end of a segment: the rest is requested once more."""
    estimator = Estimator("/a/*", 0.0)
    events = [(txid, Unlink("/a/x", 1_000_000 + txid)) for txid in (11, 12, 11, 12, 14)]
    ends = [estimator.take(page(11, 14, *events)), estimator.take(page(13, 14, events[-1]))]
    found = estimator.estimate()
    assert (found.events, found.matched, found.busiest_minute, found.share) == (3, 3, 3, 0.75)
    assert ends == [12, 14]


def test_nothing_is_made_of_nothing() -> None:
    """There may be no edits, or no edit with a time."""
    estimator = Estimator("/a/*", 1.0)
    found = estimator.estimate()
    assert (found.transactions, found.per_s, found.share) == (0, None, 0.0)
    chmod = MetadataUpdate(path="/a/x", kind=MetadataKind.PERMS)
    estimator.take(page(1, 3, (2, chmod), (3, Append("/a/x"))))
    found = estimator.estimate()
    assert (found.matched, found.seconds, found.per_s, found.over_limit) == (2, None, None, 0)
    assert found.examples == ("/a/x",)
    with pytest.raises(GlobError):
        Estimator("/a/[", 1.0)


def test_what_the_limit_would_leave_out_is_counted() -> None:
    """The publisher's own rule decides: a burst of one minute's events, and then the rate."""
    estimator = Estimator("/a/*", 1.0)
    estimator.take(unlinks(1, [1000.0] * 100 + [1061.0] * 10))
    found = estimator.estimate()
    assert (found.matched, found.over_limit) == (110, 40)
    assert found.busiest_minute == 100
    estimator = Estimator("/a/*", 0.0)
    estimator.take(unlinks(1, [1000.0] * 100))
    assert estimator.estimate().over_limit == 0


def test_so_many_paths_are_named() -> None:
    """The examples are the latest paths, each once."""
    estimator = Estimator("/a/*", 0.0)
    for number in range(EXAMPLES + 5):
        estimator.take(unlinks(number + 1, [1000.0 + number], f"/a/{number}"))
    estimator.take(unlinks(99, [2000.0], "/a/7"))
    examples = estimator.estimate().examples
    assert examples[:2] == ("/a/7", f"/a/{EXAMPLES + 4}")
    assert len(examples) == EXAMPLES
