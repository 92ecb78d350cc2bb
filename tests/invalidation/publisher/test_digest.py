"""Digest: many changes merged into few."""

from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nncache.cache import Conclusion, EntryKind
from nncache.cache.deferred_writes import TwoStepWrite
from nncache.cache.windows import TwoStepWindows
from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Change,
    Closed,
    EverythingUnknown,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from nncache.hadoop.globs import GlobSet
from nncache.hadoop.paths import ROOT, ancestors
from nncache.invalidation.publisher.digest import SLACK, Digest
from tests.hadoop.any_events import changes_at, few_paths, in_order
from tests.hadoop.footprints import stale
from tests.invalidation.channel.a_cache import Before, Window, after, cases

Reported = list[tuple[int, Change]]
changes = in_order(changes_at(few_paths | st.just(ROOT)))
ROOMY = 1_000
KINDS: tuple[type[Opened | Closed], ...] = (Opened, Closed)


def digest(reported: Iterable[tuple[int, Change]], max_changes: int = ROOMY) -> Reported:
    """Return the changes that a digest of these changes sends."""
    found = Digest(max_changes)
    for txid, change in reported:
        found.add(txid, change)
    return list(found.take())


def footprint(reported: Iterable[tuple[int, Change]]) -> list[Change]:
    """Return the changes without transaction ids."""
    return [change for _, change in reported]


# -- without a limit in the way ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reported", "sent"),
    [
        ([], []),
        ([(1, Touched("/a")), (2, Touched("/a"))], [(2, Touched("/a"))]),
        ([(1, AccessChanged("/a")), (2, Touched("/a"))], [(1, AccessChanged("/a"))]),
        ([(1, Touched("/a")), (2, SubtreeUnknown("/a"))], [(2, SubtreeUnknown("/a"))]),
        ([(1, SubtreeUnknown("/a")), (2, AccessChanged("/a"))], [(2, AccessChanged("/a"))]),
        ([(1, Vanished("/a")), (2, AccessChanged("/a"))], [(1, Vanished("/a"))]),
        ([(1, Vanished("/a")), (2, Appeared("/a"))], [(2, Appeared("/a"))]),
        ([(1, Appeared("/a")), (2, Vanished("/a"))], [(1, Appeared("/a"))]),
        ([(1, Appeared("/a")), (2, Appeared("/a"))], [(2, Appeared("/a"))]),
        ([(1, Moved("/a", "/b"))], [(1, Vanished("/a")), (1, Appeared("/b"))]),
        ([(1, Moved("/a", "/b")), (2, Moved("/b", "/a"))], [(1, Appeared("/b")), (2, Appeared("/a"))]),
        ([(1, Touched("/a")), (2, Opened("/a"))], [(2, Opened("/a"))]),
        ([(1, Closed("/a")), (2, Touched("/a"))], [(1, Closed("/a"))]),
        ([(1, Touched("/a")), (2, EverythingUnknown("x"))], [(2, EverythingUnknown("x"))]),
        ([(1, EverythingUnknown("x")), (2, Appeared("/a"))], [(1, EverythingUnknown("x"))]),
        ([(1, EverythingUnknown("x")), (2, EverythingUnknown("y"))], [(2, EverythingUnknown("y"))]),
        (
            [(1, Opened("/a")), (2, EverythingUnknown("x")), (3, Closed("/a"))],
            [(1, Opened("/a")), (2, EverythingUnknown("x")), (3, Closed("/a"))],
        ),
    ],
    ids=str,
)
def test_repetitions_are_reported_once(reported: Reported, sent: Reported) -> None:
    """The strongest change of each path is sent, ordered by transaction."""
    assert digest(reported) == sent


@pytest.mark.parametrize(
    ("reported", "sent"),
    [
        ("O1 C2", "O1 C2"),
        ("C1 O2", "C1 O2"),
        ("O1 O2 O3", "O3"),
        ("C1 C2", "C2"),
        ("O1 C2 C3", "O1 C3"),
        ("O1 C2 O3 C4", "O3 C4"),
        ("O1 C2 O3 O4", "O1 C2 O4"),
        ("O1 O2 C3 O4 C5 O6 O7", "O4 C5 O7"),
        ("O1 C1", "O1 C1"),
    ],
)
def test_openings_and_closings_keep_their_order(reported: str, sent: str) -> None:
    """OwnWrites: the last closing, the last opening before it and the last one after it have the effect of all."""
    kinds: dict[str, type[Opened | Closed]] = {"O": Opened, "C": Closed}

    def read(words: str) -> Reported:
        return [(int(word[1:]), kinds[word[0]]("/a")) for word in words.split()]

    assert digest(read(reported)) == read(sent)


@pytest.mark.parametrize("is_armed", [False, True])
def test_own_writes_a_digest_ends_windows_as_its_events_do(*, is_armed: bool) -> None:
    """D2: every sequence of up to six, with a window that began before, between or after them."""
    filters = GlobSet({"": "/a"})

    def is_blocked(reported: Reported, after_txid: int) -> bool:
        windows = TwoStepWindows(window_s=600.0, max_windows=1)
        windows.begin(TwoStepWrite("/a", after_txid, 600.0, None), now=0.0, filters=filters)
        if is_armed:
            windows.opened("/a", 100)
        for txid, change in reported:
            if isinstance(change, Opened):
                windows.opened("/a", txid)
            else:
                windows.closed("/a")
        return windows.is_blocked("/a", 0.0)

    for length in range(7):
        for made in product(KINDS, repeat=length):
            reported: Reported = list(enumerate((kind("/a") for kind in made), 1))
            for after_txid in range(length + 1):
                assert is_blocked(digest(reported), after_txid) is is_blocked(reported, after_txid), (
                    reported,
                    after_txid,
                )


@given(changes)
def test_a_digest_says_neither_more_nor_less(reported: Reported) -> None:
    """D1: within the limit the digest makes exactly the same paths stale, and repeats no change."""
    sent = digest(reported)
    everything, all_sent = stale(footprint(reported)), stale(footprint(sent))
    assert all_sent.covers(everything)
    assert everything.covers(all_sent)
    assert len(sent) <= 2 * len(reported)
    others = [change for change in footprint(sent) if not isinstance(change, Opened | Closed)]
    assert len(set(others)) == len(others)
    assert [txid for txid, _ in sent] == sorted(txid for txid, _ in sent)


@settings(max_examples=150)
@given(cases(max_changes=12))
def test_a_cache_sent_a_digest_is_as_if_it_were_sent_all(case: tuple[Before, Reported]) -> None:
    """Bounded, NoLateFill, ProvenGrant, OwnWrites: the same entries, rights, questions, windows and answers."""
    before, reported = case
    assert after(before, digest(reported)) == after(before, reported)


GLOBS = ("/a", "/b", "/c/*/b")
WINDOWS = st.lists(
    st.builds(
        Window,
        st.sampled_from(["/a", "/b", "/c/c/c/c"]),
        st.integers(0, 15),
        st.just("/c/c"),
    ),
    max_size=3,
)
ENDING: list[Change] = [Appeared("/c/c"), Moved("/d", "/c/c"), Vanished("/c/c"), AccessChanged("/c/c")]
for each in ("/a", "/b"):
    ENDING += [Opened(each), Closed(each), Touched(each), Appeared(each)]
written = in_order(st.sampled_from(ENDING), max_size=14)


def under_writes(windows: list[Window], reported: Iterable[tuple[int, Change]]) -> frozenset[str]:
    """Return the paths that are still in a two-step write."""
    return after(Before(GLOBS, False, EntryKind.MISSING, [], [], windows), reported).covered


@given(WINDOWS, written)
def test_own_writes_a_digest_ends_the_same_windows(windows: list[Window], reported: Reported) -> None:
    """D2: the omitted openings, closings and appearances affect no window."""
    assert under_writes(windows, digest(reported)) == under_writes(windows, reported)


# -- with a limit -----------------------------------------------------------------------------------------

limits = st.integers(1, 8)


def collapsed(reported: Reported, sent: Reported) -> set[str]:
    """Return the directories that the digest, but no change, declares unknown."""
    return {change.path for _, change in sent if isinstance(change, SubtreeUnknown)} - {
        change.path for _, change in reported if isinstance(change, SubtreeUnknown)
    }


@given(changes, limits)
def test_a_digest_keeps_its_limit_and_loses_nothing(reported: Reported, limit: int) -> None:
    """D1: whatever is omitted, every stale path is covered; no directory without a stale path below it is collapsed."""
    sent = digest(reported, limit)
    assert len(sent) <= limit
    assert stale(footprint(sent)).covers(stale(footprint(reported)))
    assert [txid for txid, _ in sent] == sorted(txid for txid, _ in sent)
    assert not sent or reported[0][0] <= sent[0][0] <= sent[-1][0] <= reported[-1][0]
    paths = {path for change in footprint(reported) for path in stale([change]).own}
    for directory in collapsed(reported, sent):
        assert any(directory in ancestors(path) for path in paths)
    if sent == digest(reported):
        return
    kinds = {type(change) for change in footprint(sent)} - {type(change) for change in footprint(reported)}
    assert kinds <= {SubtreeUnknown, EverythingUnknown, Touched, Appeared, Vanished}


@given(changes, limits)
def test_windows_get_nothing_that_did_not_happen_then(reported: Reported, limit: int) -> None:
    """D2: each Appeared, Opened and Closed keeps its transaction, and those of a path their order."""
    halves = [
        (txid, half)
        for txid, change in reported
        for half in (
            [Vanished(change.source), Appeared(change.destination)] if isinstance(change, Moved) else [change]
        )
    ]
    sent = digest(reported, limit)
    for path in {change.path for _, change in sent if isinstance(change, Opened | Closed | Appeared)}:
        happened = iter(
            each for each in halves if isinstance(each[1], Opened | Closed) and each[1].path == path
        )
        for each in sent:
            if isinstance(each[1], Opened | Closed) and each[1].path == path:
                assert each in happened, "a part of what happened, in its order"
        for each in sent:
            assert not isinstance(each[1], Appeared) or each in halves


@settings(max_examples=150)
@given(cases(max_changes=12), limits)
def test_a_cache_sent_a_small_digest_forgets_at_least_as_much(
    case: tuple[Before, Reported], limit: int
) -> None:
    """Bounded, NoLateFill, ProvenGrant, OwnWrites; entries outside the collapsed directories are kept."""
    before, reported = case
    sent = digest(reported, limit)
    found, expected = after(before, sent), after(before, reported)
    assert found.entries <= expected.entries
    assert found.grants <= expected.grants
    assert found.covered >= expected.covered
    assert all(
        conclusion in (wanted, Conclusion.SPOILED)
        for conclusion, wanted in zip(found.kept, expected.kept, strict=True)
    )
    if not any(isinstance(change, EverythingUnknown) for change in footprint(sent)):
        tops = collapsed(reported, sent)
        for path in expected.entries - found.entries:
            assert not tops.isdisjoint({path, *ancestors(path)}), "outside"


@given(WINDOWS, written, limits)
def test_own_writes_no_window_ends_early_for_a_digest(
    windows: list[Window], reported: Reported, limit: int
) -> None:
    """D2: omissions can only make a window last longer."""
    assert under_writes(windows, digest(reported, limit)) >= under_writes(windows, reported)


@given(changes, limits)
def test_what_waits_is_bounded_at_all_times(reported: Reported, limit: int) -> None:
    """Memory stays bounded if the digest is not taken for long while edits continue."""
    found = Digest(limit)
    for txid, change in reported:
        found.add(txid, change)
        assert len(found) <= max(SLACK * limit, 1)
    sent = found.take()
    assert len(sent) <= limit
    assert len(found) == 0
    assert found.take() == ()


# -- what is given up first -------------------------------------------------------------------------------


def test_a_committed_job_becomes_one_change_of_its_directory() -> None:
    """Ten thousand part files become one change; other directories keep their changes."""
    found = Digest(100)
    found.add(1, Touched("/user/ann/_SUCCESS"))
    for number in range(10_000):
        path = f"/user/joe/out/part-{number}"
        found.add(2 + number, Appeared(path))
        found.add(2 + number, Opened(path))
        found.add(2 + number, Closed(path))
    found.add(10_002, Appeared("/user/joe/out2/_SUCCESS"))
    sent = footprint(found.take())
    assert {change for change in sent if "part" not in str(change)} == {
        Touched("/user/ann/_SUCCESS"),
        SubtreeUnknown("/user/joe/out"),
        Appeared("/user/joe/out2/_SUCCESS"),
    }
    assert len(sent) <= 100, "the last files come after their directory was given up"
    assert found.collapsed > 9_000


def test_what_lies_below_a_stale_directory_is_left_out_first() -> None:
    """To omit them costs nothing, and does not count as collapsing."""
    found = Digest(2)
    reported: list[Change] = [Touched("/a/b/c"), Appeared("/a/b/d"), Touched("/b/c")]
    for txid, change in enumerate([*reported, SubtreeUnknown("/a"), Vanished("/a/e")]):
        found.add(txid, change)
    assert found.take() == ((2, Touched("/b/c")), (3, SubtreeUnknown("/a")))
    assert found.collapsed == 0


def test_windows_are_left_to_time_before_entries_go() -> None:
    """Openings and closings are dropped first where most changes are; their paths stay touched."""
    found = Digest(5)
    for change in (
        Appeared("/a/x"),
        Opened("/a/x"),
        Opened("/a/y"),
        Closed("/a/y"),
        Opened("/b/z"),
        Closed("/b/z"),
    ):
        found.add(1, change)
    assert set(footprint(found.take())) == {
        Appeared("/a/x"),
        Touched("/a/y"),
        Opened("/b/z"),
        Closed("/b/z"),
    }
    assert found.collapsed == 2


def test_the_largest_groups_of_siblings_give_way_first() -> None:
    """Of equal groups the deepest is collapsed first: fewer entries are below it."""
    reported = [
        (n, Touched(path))
        for n, path in enumerate(("/a/a", "/a/b", "/a/c", "/b/a", "/b/b", "/b/c/a", "/b/c/b"))
    ]
    assert set(footprint(digest(reported, 5))) == {
        SubtreeUnknown("/a"),
        *(Touched(path) for path in ("/b/a", "/b/b", "/b/c/a", "/b/c/b")),
    }
    assert set(footprint(digest(reported, 4))) == {
        SubtreeUnknown("/a"),
        Touched("/b/a"),
        Touched("/b/b"),
        SubtreeUnknown("/b/c"),
    }


def test_without_siblings_the_deepest_come_nearer() -> None:
    """Deep paths are replaced by ancestors until some are siblings. Everything unknown is the last resort."""
    reported: Reported = [(1, Touched("/a/b/c/d")), (2, Touched("/a/b/e/f")), (3, Touched("/x"))]
    assert digest(reported, 2) == [(2, SubtreeUnknown("/a/b")), (3, Touched("/x"))]
    assert [change for _, change in digest(reported, 1)] == [
        EverythingUnknown("more has changed than can be said")
    ]


def test_a_directory_keeps_the_change_that_says_more_of_it() -> None:
    """A created or deleted directory is more than an unknown subtree."""
    reported: Reported = [
        (1, Appeared("/a/b")),
        (2, Touched("/a/b/c")),
        (3, Touched("/a/b/d")),
        (4, Touched("/x")),
    ]
    assert digest(reported, 2) == [(1, Appeared("/a/b")), (4, Touched("/x"))]


def test_everything_unknown_keeps_windows_if_there_is_room() -> None:
    """The changes that end windows are sent while there is room for them."""
    reported: Reported = [(1, EverythingUnknown("x")), (2, Opened("/a")), (3, Closed("/a"))]
    assert digest(reported, 3) == reported
    assert digest(reported, 2) == reported[:1]


def test_a_digest_takes_at_least_one_change() -> None:
    """A single change suffices to say that everything is unknown."""
    with pytest.raises(AssertionError):
        Digest(0)
    least = Digest(1)
    for txid, path in enumerate(("/a", "/b"), 1):
        least.add(txid, Touched(path))
    assert len(least) == 2, "until they are taken"
    ((txid, change),) = least.take()
    assert (txid, type(change)) == (2, EverythingUnknown)
