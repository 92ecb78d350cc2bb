"""The parts of an explanation."""

import math

from nncache.cache.explanation import finite, last_forgotten, view_of
from nncache.cache.store import Forgotten
from tests.cache.test_entries import entry


def test_an_entry_is_settled_once_its_reply_is_covered() -> None:
    """Until then only callers to whom the NameNode gave the reply see the entry."""
    view = view_of(entry(), 3.0, seen_as_of=0.5)
    assert (view.kind, view.status, view.age_s, view.is_settled) == ("file", 200, 2.0, False)
    assert view_of(entry(), 3.0, seen_as_of=1.0).is_settled
    assert view.replied_at == 1.0


def test_a_time_that_never_was_is_none() -> None:
    """JSON has no infinity."""
    assert (finite(2.0), finite(-math.inf), finite(math.inf)) == (2.0, None, None)


def test_the_latest_change_of_the_path_or_above_it_is_named() -> None:
    """The rename of a directory explains why files in it were forgotten."""
    remembered = {
        "/a": Forgotten("/a", "Moved", 7, 5.0),
        "/a/f": Forgotten("/a/f", "Closed", 3, 4.0),
        "/b": Forgotten("/b", "Vanished", 9, 6.0),
    }
    reported = last_forgotten(remembered, "/a/f", 10.0)
    assert reported is not None
    assert (reported.path, reported.change, reported.txid, reported.age_s) == ("/a", "Moved", 7, 5.0)
    assert last_forgotten(remembered, "/c", 10.0) is None


def test_a_child_that_comes_or_goes_explains_its_directory() -> None:
    """The status of a directory has no event of its own."""
    remembered = {
        "/a/f": Forgotten("/a/f", "Appeared", 7, 5.0),
        "/a/f/g": Forgotten("/a/f/g", "Vanished", 8, 6.0),
        "/a/h": Forgotten("/a/h", "Closed", 9, 7.0),
    }
    reported = last_forgotten(remembered, "/a", 10.0)
    assert reported is not None
    assert (reported.path, reported.change, reported.txid) == ("/a/f", "Appeared", 7)
