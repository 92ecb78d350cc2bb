"""Figures of filters, computed from the replay's counts."""

import pytest

from nncache.advisor.candidates import ANY, Candidate, SkeletonReads
from nncache.advisor.figures import Bracket, Counts, at_median_and_peak, figures_of, over_time
from nncache.advisor.replay import CHANGES, COUNTED
from nncache.cache.clock_eviction import Caller
from nncache.cache.decisions import Cacheable, Fetch
from nncache.cache.entries import EntryKind
from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.replies import StoredReply
from nncache.cache.settings import CacheSettings

ONE = Candidate("/a/*", ("a", ANY), (SkeletonReads("/a/x", 100, 90, 4),))


def row(bucket: int, *counts: int, is_web: bool | None = True) -> Counts:
    """Return counts of glob 0; counts that are not given are 0."""
    values: tuple[int, ...] = counts + (0,) * (len(COUNTED) - len(counts))
    return (0, is_web, bucket, *values)


def test_savings_are_reads_minus_calls_at_both_ends() -> None:
    """They are sums over all partitions, for each bucket and each protocol."""
    (found,) = figures_of(
        {0: ONE},
        [
            row(1, 10, 6, 8, 9, 1),
            row(1, 10, 9, 2, 9, 1),
            row(
                2,
                5,
                5,
                0,
                5,
                0,
            ),
            row(1, 9, 9, 0, 9, 0, is_web=False),
        ],
    )
    assert (found.web.reads, found.rpc.reads, found.reads, found.paths) == (25, 9, 34, 4)
    assert (found.web.hits, found.web.saved, found.rpc.saved) == (
        Bracket(20, 23),
        Bracket(15, 23),
        Bracket(9, 9),
    )
    assert found.saved == Bracket(24, 32)
    assert over_time([found]) == {1: Bracket(19, 27), 2: Bracket(5, 5)}
    assert at_median_and_peak(found.saved_per_bucket(), range(1, 4)) == (Bracket(5, 5), Bracket(19, 27))


def test_what_loses_calls_is_not_recommended() -> None:
    """The low end of its forecast decides, as it may come true."""
    assert figures_of({0: ONE}, [row(1, 10, 5, 10, 9, 1)]) == []


def test_a_sample_is_scaled_to_the_whole() -> None:
    """Counts, bytes and changes are scaled."""
    counts = row(1, 10, 9, 1, 9, 1, 4, 1, 1, 1, 8)
    changes = row(CHANGES, 3, is_web=None)
    (whole,), (sampled,) = (figures_of({0: ONE}, [counts, changes], scale) for scale in (1.0, 10.0))
    assert (sampled.reads, sampled.changes, sampled.saved) == (100, 30, Bracket(90, 90))
    assert sampled.memory.low == 10 * whole.memory.low


def test_the_median_gap_is_known_to_the_power_of_two() -> None:
    """Changes are not counted as gaps."""

    def every(*gaps: tuple[int, int]) -> float | None:
        rows = [row(power, count, is_web=None) for power, count in gaps]
        return figures_of({0: ONE}, [row(1, 2, 2, 0, 2, 0), *rows])[0].polled_every_s

    assert every() is None
    assert every((CHANGES, 9)) is None
    assert every((0, 5), (3, 4)) == 0.5
    assert every((0, 1), (3, 4)) == 6.0


@pytest.mark.parametrize("kind", [EntryKind.MISSING, EntryKind.FILE])
def test_bytes_are_those_that_the_cache_counts(kind: EntryKind) -> None:
    """They agree within a tenth, without the replies of repeated requests, which the proxy holds: docs/sizing.md."""
    cache = MetadataCache(CacheSettings(glob=("/data/*/*",)))
    cache.open_stream(1)
    directories, files = 100, 10
    before = cache.store.bytes
    for directory in range(directories):
        for number in range(files):
            decision = cache.lookup(f"/data/d{directory:04}/name-{number:04}", Caller("ann"), 0.0)
            assert isinstance(decision, Fetch)
            body = b"" if kind is EntryKind.MISSING else b"x" * 270 + str(directory * files + number).encode()
            status = 404 if kind is EntryKind.MISSING else 200
            known = Cacheable(reply=StoredReply(status, (), body), kind=kind, replied_at=0.0, term=1)
            cache.conclude(decision.ticket, known)
    taken = cache.store.bytes - before
    entries = directories * files
    counts = row(1, entries, entries, 0, entries, 0, entries, directories, directories, 0, 9 * entries)
    (found,) = figures_of({0: ONE}, [counts])
    forecast = found.memory.low if kind is EntryKind.MISSING else found.memory.high
    assert forecast == pytest.approx(taken, rel=0.1)
