"""The replay of a directory answers as the proxy's own cache, at both ends of what a log leaves open."""

import random
from collections.abc import Iterable, Iterator

import pytest

from nncache.advisor import replay
from nncache.advisor.footprints import RowKind, marks_of
from nncache.advisor.replay import (
    ASKERS,
    CHANGES,
    COUNTED,
    DIRECTORIES,
    ENTRIES,
    NAME_CHARS,
    RIGHTS,
    Replayer,
    ReplayRow,
    ReplayRules,
    fold,
)
from nncache.hadoop.paths import parent
from tests.advisor.twin import Counts, Happened, replayed_by_cache

GLOB = "/u/*/*"
PATHS = ("/u/a/_x", "/u/a/y", "/u/b/x")
PLACES = ("/u", "/u/a", "/u/b", "/u/c", *PATHS, "/elsewhere/z", "/u/c/x")


def rows_of(found: Iterable[Happened], directories: Iterable[str]) -> Iterator[ReplayRow]:
    """Yield the rows that the Spark plan makes of these events."""
    for one in found:
        if one.order:
            kind = RowKind.OPENED if one.cmd == "open" else RowKind.READ if one.is_allowed else RowKind.DENIED
            if one.path in PATHS:
                yield ReplayRow(parent(one.path) or "/", one.at, kind, one.path, one.user, 0, one.is_web, 1)
            continue
        for mark in marks_of(one.cmd):
            path = one.path if mark.argument == "src" else one.destination
            if mark.is_parent:
                path = parent(path) or "/"
            for directory in directories:
                below = directory == path or directory.startswith(f"{path}/")
                if below if mark.is_below else parent(path) == directory:
                    yield ReplayRow(directory, one.at, mark.kind, path, "", -1, is_web=False, weight=0)


def totals(rows: Iterable[ReplayRow], rules: ReplayRules | None = None) -> dict[bool, list[int]]:
    """Return the sums over all globs and buckets, by protocol."""
    found = {True: [0] * len(COUNTED), False: [0] * len(COUNTED)}
    columns = tuple(zip(*sorted(rows), strict=True))
    for _, is_web, _, *counts in fold(rules or ReplayRules(), [columns] if columns else []):
        if is_web is not None:
            found[bool(is_web)] = [a + int(str(b)) for a, b in zip(found[bool(is_web)], counts, strict=True)]
    return found


def history(seed: int, length: int = 300) -> list[Happened]:
    """Return random events at a few paths, in order."""
    chance = random.Random(seed)
    at = 0
    found: list[Happened] = []
    for _ in range(length):
        at += 1 + int(chance.choice((0, 1, 50, 400, 3_000, 60_000, 400_000)))
        user, is_web = chance.choice(("ann", "bob")), chance.random() < 0.7
        path, other = chance.choice(PATHS), chance.choice(PLACES)
        match chance.randrange(12):
            case 0:
                cmd = chance.choice(("create", "delete", "setTimes", "append", "truncate"))
                place = other if cmd == "delete" else chance.choice((*PATHS, "/elsewhere/z"))
                found.append(Happened(at, 0, cmd, place, "", user, is_web, is_allowed=True))
            case 1:
                cmd = chance.choice(("setPermission", "mkdirs", "setXAttr", "setErasureCodingPolicy"))
                place = chance.choice(("/u/a", "/u/b", "/u/c")) if cmd == "mkdirs" else other
                found.append(Happened(at, 0, cmd, place, "", user, is_web, is_allowed=True))
            case 2:
                to = chance.choice(PLACES)
                if (
                    to != other
                    and not f"{to}/".startswith(f"{other}/")
                    and not f"{other}/".startswith(f"{to}/")
                ):
                    found.append(Happened(at, 0, "rename", other, to, user, is_web, is_allowed=True))
            case 3:
                at += 1_000
                found.append(Happened(at, 1, "getfileinfo", path, "", user, is_web=True, is_allowed=True))
                found.append(Happened(at + 3, 3, "open", path, "", user, is_web=True, is_allowed=True))
                at += 1_000
            case 4 if chance.random() < 0.3:
                found.append(Happened(at, 2, "getfileinfo", path, "", user, is_web, is_allowed=False))
            case _:
                found.append(Happened(at, 1, "getfileinfo", path, "", user, is_web, is_allowed=True))
    return sorted(found)


@pytest.mark.parametrize("seed", range(60))
def test_random_histories_are_answered_as_by_the_cache(seed: int) -> None:
    """Every hit and every call agrees, over both protocols and at both ends."""
    found = history(seed)
    counts = totals(rows_of(found, {parent(path) or "/" for path in PATHS}))
    for is_web in (True, False):
        reads, hits_low, calls_low, hits_high, calls_high, *_ = counts[is_web]
        low = replayed_by_cache(found, GLOB, is_web=is_web, is_low=True)
        high = replayed_by_cache(found, GLOB, is_web=is_web, is_low=False)
        assert (low, high) == (Counts(reads, hits_low, calls_low), Counts(reads, hits_high, calls_high))


def read(
    at: int, path: str = "/u/a/y", user: str = "ann", weight: int = 1, *, is_web: bool = True
) -> ReplayRow:
    """Return a read."""
    return ReplayRow(parent(path) or "/", at, RowKind.READ, path, user, 0, is_web, weight)


def change(at: int, kind: RowKind, path: str = "/u/a/y", directory: str = "/u/a") -> ReplayRow:
    """Return a change."""
    return ReplayRow(directory, at, kind, path, "", -1, is_web=False, weight=0)


def test_kinds_have_the_same_numbers_as_in_the_table() -> None:
    """The module for executors imports nothing from nncache, so it repeats the numbers."""
    assert {kind.name: getattr(replay, kind.name) for kind in RowKind} == {
        kind.name: kind.value for kind in RowKind
    }


def test_a_row_with_a_weight_counts_as_several_reads() -> None:
    """Access log lines have weights; where nothing can be cached, each read is a call."""
    assert totals([read(0, weight=5)])[True][:5] == [5, 4, 2, 4, 1]
    opened = [change(0, RowKind.CREATED), read(1, weight=5)]
    assert totals(opened)[True][:5] == [5, 0, 10, 4, 2]


def test_what_is_before_the_counted_time_fills_the_cache() -> None:
    """The second read is a hit, and only the second is counted."""
    assert totals([read(0), read(10)], ReplayRules(counted_from=5))[True][:5] == [1, 1, 0, 1, 0]


def test_what_is_believed_ends_in_its_moment() -> None:
    """A right lasts 300 s; a read at its exact end is a call, and counts in the bucket that begins then."""
    assert totals([read(0), read(299_999), read(300_000), read(300_001)])[True][1] == 2
    folder = Replayer(ReplayRules(bucket_ms=1_000))
    folder.take([read(0), read(999), read(1_000), read(1_999), read(2_000)])
    assert {key[2]: counts[:2] for key, counts in folder.counts.items()} == {0: [2, 1], 1: [2, 2], 2: [1, 1]}


def test_what_is_kept_is_counted_until_it_is_forgotten() -> None:
    """At the high end: entries, rights, directories, callers, and the characters of last path components."""
    found = totals([read(0), read(1, "/u/a/zz"), read(2, user="bob")])[True]
    assert [found[place] for place in (ENTRIES, RIGHTS, DIRECTORIES, ASKERS, NAME_CHARS)] == [2, 2, 1, 3, 3]
    gone = totals([read(0), read(1, "/u/a/zz"), change(2, RowKind.BELOW_GONE, "/u/a")])[True]
    assert [gone[place] for place in (ENTRIES, RIGHTS, NAME_CHARS)] == [0, 0, 0]
    own = totals([read(0), change(1, RowKind.TOUCHED)])[True]
    assert [own[place] for place in (ENTRIES, RIGHTS)] == [0, 1]
    refused = totals([read(0), change(1, RowKind.TOUCHED), read(2)._replace(kind=RowKind.DENIED)])
    assert refused[True][RIGHTS] == 0


def test_an_open_long_after_the_read_takes_nothing_back() -> None:
    """Only the status read of an OPEN itself is subtracted; a second OPEN subtracts none."""
    late = [read(0), read(101)._replace(kind=RowKind.OPENED)]
    assert totals(late)[True][0] == 1
    twice = [read(0), read(3)._replace(kind=RowKind.OPENED), read(4)._replace(kind=RowKind.OPENED)]
    assert totals(twice)[True][:5] == [0, 0, 0, 0, 0]
    kept = [read(0), read(301_000), read(301_003)._replace(kind=RowKind.OPENED), read(301_500)]
    assert totals(kept)[True][0] == 2


def test_gaps_and_changes_are_counted_by_glob() -> None:
    """Gaps by the power of two of their seconds; changes only of paths that were read, over either protocol."""
    folder = Replayer(ReplayRules())
    folder.take([read(0), read(500), read(5_500), read(5_500), change(6_000, RowKind.TOUCHED)])
    folder.take([change(7_000, RowKind.TOUCHED, "/u/a/never")])
    folder.take([read(0, "/u/b/x", is_web=False), change(1, RowKind.TOUCHED, "/u/b/x", "/u/b")])
    assert folder.gaps == {(0, 0): 1, (0, 3): 1, (0, CHANGES): 2}
    assert (0, None, 3, 1) in {
        tuple(row[:4]) for row in fold(ReplayRules(), [tuple(zip(read(0), read(5_500), strict=True))])
    }


def test_reads_of_one_moment_have_no_gap() -> None:
    """The rule holds even if the second read is a call again."""
    folder = Replayer(ReplayRules())
    folder.take([read(0), change(0, RowKind.TOUCHED), read(0)])
    assert list(folder.gaps) == [(0, CHANGES)]


def test_a_directory_that_is_made_again_is_bracketed() -> None:
    """At the high end it existed and nothing changes; once it is known to be deleted, both ends invalidate."""
    again = [read(0), change(1, RowKind.BELOW_MADE, "/u/a"), read(2)]
    assert totals(again)[True][1:4:2] == [0, 1]
    gone = [change(0, RowKind.BELOW_GONE, "/u/a"), read(1), change(2, RowKind.BELOW_MADE, "/u/a"), read(3)]
    assert totals(gone)[True][1:4:2] == [0, 0]
