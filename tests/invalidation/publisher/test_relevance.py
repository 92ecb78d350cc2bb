"""Relevance: which changes concern a cache, and which events concern a subscriber."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nncache.cache import EntryKind
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
from nncache.hadoop.events import Append, Close, Create, Event, EventBatch, Rename, Unlink
from nncache.hadoop.filestatus import FileType
from nncache.hadoop.globs import GlobSet, compile_glob
from nncache.hadoop.paths import ROOT, InvalidPathError, canonical
from nncache.invalidation.publisher.relevance import concerns, matched, narrow
from tests.hadoop.any_events import events, few_paths
from tests.invalidation.channel.a_cache import CALLERS, PATHS, Before, Window, after, cases, globs

GLOBS = GlobSet({"": "/user/*/done/_SUCCESS"})
SINGLE = (Appeared, Vanished, Touched, Opened, Closed, AccessChanged, SubtreeUnknown)
MATCH, DIRECTORY, ABOVE = "/user/joe/done/_SUCCESS", "/user/joe/done", "/user"
BELOW, SIBLING, ELSEWHERE = MATCH + "/x", DIRECTORY + "/part-0", "/user/joe/tmp"


@pytest.mark.parametrize("made", [Appeared, Vanished, Opened, Closed])
def test_what_comes_or_goes_or_is_written_concerns_its_place(
    made: type[Appeared | Vanished | Opened | Closed],
) -> None:
    """The change concerns the path, its parent and all descendants; a write may be part of a two-step write."""
    concerning = {
        path
        for path in (MATCH, DIRECTORY, ABOVE, BELOW, SIBLING, ELSEWHERE, "/")
        if concerns(made(path), GLOBS)
    }
    assert concerning == {MATCH, DIRECTORY, ABOVE, BELOW, "/"}


def test_what_is_touched_concerns_its_path_alone() -> None:
    """Only the status of the path has changed."""
    assert concerns(Touched(MATCH), GLOBS)
    assert not any(concerns(Touched(path), GLOBS) for path in (DIRECTORY, ABOVE, BELOW, SIBLING, "/"))


@pytest.mark.parametrize("made", [AccessChanged, SubtreeUnknown])
def test_what_reaches_below_concerns_what_could_match_there(
    made: type[AccessChanged | SubtreeUnknown],
) -> None:
    """Grants are kept at the directories above matching paths."""
    assert all(concerns(made(path), GLOBS) for path in (MATCH, DIRECTORY, ABOVE, "/"))
    assert not any(concerns(made(path), GLOBS) for path in (BELOW, SIBLING, ELSEWHERE))


def test_a_move_concerns_both_places() -> None:
    """Either place may match. A change of everything concerns every cache."""
    assert concerns(Moved(MATCH, ELSEWHERE), GLOBS)
    assert concerns(Moved(ELSEWHERE, DIRECTORY), GLOBS)
    assert not concerns(Moved(ELSEWHERE, SIBLING), GLOBS)
    assert concerns(EverythingUnknown("x"), GlobSet({}))


def test_changes_stay_in_order_with_their_transactions() -> None:
    """Omitted changes do not affect the order and ids of the others."""
    reported: list[tuple[int, Change]] = [
        (3, Touched(MATCH)),
        (3, Touched(ABOVE)),
        (4, Appeared(SIBLING)),
        (5, Opened(MATCH)),
    ]
    assert list(narrow(reported, GLOBS)) == [reported[0], reported[3]]


# -- what a cache does with it ----------------------------------------------------------------------------


SETS = (
    "/a",
    "/*",
    "/a/b",
    "/a/* /b",
    "/*/b",
    "/a/b/c /a/a",
    "/a/*/c",
    "/*/*/*",
    "/{a,c}/[^b] /c/b/b",
)


@pytest.mark.parametrize("chosen", SETS)
@pytest.mark.parametrize(("kind", "is_per_path"), [(EntryKind.MISSING, False), (EntryKind.DIRECTORY, True)])
def test_what_does_not_concern_a_cache_changes_nothing_in_it(
    chosen: str, kind: EntryKind, is_per_path: bool
) -> None:
    """Every change of every path, against a cache full of entries, grants, questions and windows."""
    everybody = [(path, caller) for path in PATHS for caller in CALLERS]
    windows = [Window(path, 0, None) for path in PATHS]
    before = Before(chosen.split(), is_per_path, kind, [(*each, kind) for each in everybody], everybody, [])
    places = (ROOT, *PATHS, *(f"{path}/b" for path in PATHS))
    reported: list[Change] = [made(path) for made in SINGLE for path in places]
    reported += [
        Moved(source, destination) for source in places for destination in places if source != destination
    ]
    left_out = [(9, change) for change in reported if not concerns(change, before.filters)]
    assert left_out
    for begun in (before, replace(before, windows=windows)):
        assert after(begun, left_out) == after(begun, ())


@settings(max_examples=200)
@given(cases(max_changes=4))
def test_a_cache_sent_what_concerns_it_is_as_if_it_were_sent_all(
    case: tuple[Before, list[tuple[int, Change]]],
) -> None:
    """Bounded, NoLateFill, ProvenGrant, OwnWrites: the same entries, grants, questions and answers.

    A window that only concerns ancestors may last longer if a CLOSE of its path ends it, and the ancestor has not
    appeared because it existed all the time.
    """
    before, reported = case
    everything, narrowed = after(before, reported), after(before, narrow(reported, before.filters))
    assert (narrowed.entries, narrowed.grants, narrowed.kept) == (
        everything.entries,
        everything.grants,
        everything.kept,
    )
    assert narrowed.covered >= everything.covered
    if not any(window.is_about_ancestors(before.filters) for window in before.windows):
        assert narrowed == everything


def test_own_writes_relevance_ends_windows_of_new_directories() -> None:
    """OwnWrites, without needless delay: polls of a new directory are not forwarded for ten minutes."""
    before = Before(["/a/*/b"], False, EntryKind.FILE, [], [], [Window("/a/a/c/x/y", 7, "/a/a")])
    made = [(8, Appeared("/a/a")), (8, Appeared("/a/a/c")), (8, Appeared("/a/a/c/x/y"))]
    reported = list(narrow(made, GlobSet({"": "/a/*/b"})))
    assert reported == made[:1]
    assert not after(before, reported).covered
    assert after(before, ()).covered == {"/a/a/b"}


@pytest.mark.parametrize(("glob", "path"), [("/a", "/a/b"), ("/a/b", "/a/b"), ("/a/b/c", "/a/b")])
def test_own_writes_relevance_ends_a_window_of_one_place(glob: str, path: str) -> None:
    """OwnWrites: the place is a file's directory, the file itself, or a path below it."""
    before = Before([glob], False, EntryKind.FILE, [], [], [Window(path, 7, None)])
    assert after(before, ()).covered == {glob}
    reported = narrow([(8, Opened(path)), (9, Closed(path))], before.filters)
    assert not after(before, reported).covered


# -- subscribers ------------------------------------------------------------------------------------------


def test_a_filter_gets_the_events_that_match_in_order() -> None:
    """Each match is a complete event; an event that matches two filters goes to both."""
    create = Create(kind=FileType.FILE, path="/a/x", owner="joe")
    batch = EventBatch(7, (create, Append("/b/x"), Close("/a/x", 3), Unlink("/c")))
    assert matched(batch, GlobSet({"a": "/a/*", "x": "/*/x", "d": "/d"})) == {
        "a": EventBatch(7, (create, Close("/a/x", 3))),
        "x": EventBatch(7, batch.events[:3]),
    }
    assert matched(batch, GlobSet({})) == {}


@pytest.mark.parametrize(
    ("event", "names"),
    [
        (Rename("/a/x", "/b/y"), {"a", "b"}),
        (Rename("/c", "/b/y"), {"b"}),
        (Rename("/a/x", "/a/y"), {"a"}),
        (Rename("/c", "/d"), set()),
        (Rename("c", "/a/x"), {"a"}),
        (Unlink("//a//x/"), {"a"}),
        (Unlink("a/x"), set()),
        (Unlink(""), set()),
    ],
)
def test_either_path_of_a_rename_will_do(event: Event, names: set[str]) -> None:
    """Each filter gets the event once. A path that HDFS cannot have matches nothing, and raises nothing."""
    batch = EventBatch(7, (event,))
    assert matched(batch, GlobSet({"a": "/a/*", "b": "/b/*"})) == dict.fromkeys(names, batch)


def twin_matches(glob: str, event: Event) -> bool:
    """Match each path of an event against one glob."""
    for path in (event.source, event.destination) if isinstance(event, Rename) else (event.path,):
        try:
            if compile_glob(glob).matches(canonical(path)):
                return True
        except InvalidPathError:
            continue
    return False


@given(globs, st.lists(events | st.builds(Rename, few_paths, few_paths) | st.builds(Unlink, few_paths)))
def test_a_filter_gets_what_its_naive_twin_finds(chosen: list[str], found: list[Event]) -> None:
    """The twin matches each glob and each event separately."""
    named = {str(number): glob for number, glob in enumerate(chosen)}
    expected = {
        name: EventBatch(7, kept)
        for name, glob in named.items()
        if (kept := tuple(event for event in found if twin_matches(glob, event)))
    }
    assert matched(EventBatch(7, tuple(found)), GlobSet(named)) == expected
