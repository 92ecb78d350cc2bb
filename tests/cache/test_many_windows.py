"""Two-step writes that share what is bounded, and those that are set aside."""

from tests.cache.some_windows import ALL, WINDOW_S, begin, globs, make, of


def test_a_deferred_write_ends_with_its_window() -> None:
    """It takes no room then; and one that is followed late ends in its turn."""
    windows = make(max_windows=2)
    for now, path in ((0.0, "/w/a"), (100.0, "/w/b"), (200.0, "/x")):
        begin(windows, path, now, glob="/x" if path == "/x" else "/other")
    assert not windows.is_blocked("/w/a", 600.0)
    windows.follow(globs("/w/*", "/x"))
    windows.check()
    assert windows.is_blocked("/w/b", 699.9)
    assert not windows.is_blocked("/w/b", 700.0)
    assert windows.is_blocked("/x", 700.0)
    assert not windows.is_full(0.0)


def test_the_latest_deferred_writes_find_room() -> None:
    """W2: bounded in number; what finds no room covers every path for the rest of its time."""
    windows = make(max_windows=3)
    for number in range(5):
        begin(windows, f"/w/{number}", float(number), glob="/other")
    for number in range(2):
        begin(windows, f"/x/{number}", 10.0, glob="/x/*")
    windows.follow(globs("/w/*", "/x/*"))
    windows.check()
    assert [windows.is_blocked(f"/w/{number}", 11.0) for number in range(5)] == [False] * 4 + [True]
    assert windows.is_full(602.9)
    assert not windows.is_full(603.0)


def test_a_merged_directory_lasts_as_long_as_its_windows() -> None:
    """W5: also where the last one to come, since a filter is new, is the one that ends first."""
    windows = make(max_windows=32)  # a share of two
    begin(windows, "/a/0", writer=of("c"))
    begin(windows, "/a/1", now=100.0, writer=of("c"), glob="/none")
    begin(windows, "/a/2", now=200.0, writer=of("c"), glob="/none")
    windows.follow(globs(*ALL))
    windows.check()
    assert windows.is_blocked("/a/any", 201.0)  # the directory
    assert windows.is_blocked("/a/2", WINDOW_S + 199.0)
    assert not windows.is_blocked("/a/2", WINDOW_S + 200.0)


def test_a_used_up_share_costs_its_owner_one_directory() -> None:
    """The directory with most of their writes is covered in place of their windows there, by time only."""
    windows = make(max_windows=48)  # a share of three
    for number in range(3):
        assert begin(windows, f"/a/b/{number}", writer=of("greedy"))
    begin(windows, "/a/x", writer=of("modest"))
    assert windows.open == 4
    assert begin(windows, "/a/b/3", writer=of("greedy"))
    assert windows.open == 2
    assert windows.is_blocked("/a/b/other", 1.0)
    assert not windows.is_blocked("/a/c", 1.0)
    for number in range(200):
        assert begin(windows, f"/a/b/d{number}/x", writer=of("greedy"))
        windows.check()
    assert not windows.is_full(1.0)
    assert not windows.is_blocked("/c", 1.0)


def test_rights_at_several_places_leave_their_parents_alone() -> None:
    """Their own directories alone are covered."""
    windows = make(max_windows=64)  # a share of four
    for number in range(300):
        assert begin(windows, f"/x/mine{number % 3}/{number}", writer=of("greedy"))
        windows.check()
    assert windows.open <= 4
    assert all(windows.is_blocked(f"/x/mine{number}/297", 1.0) for number in range(3))
    assert not windows.is_blocked("/x/hers", 1.0)


def test_a_merged_window_covers_ancestors_of_every_write() -> None:
    """OwnWrites (W5): the second step makes these as well."""
    windows = make(max_windows=32)  # a share of two
    for number in range(3):
        assert begin(windows, f"/a/new/b/{number}", topmost_missing="/a/new", writer=of("greedy"))
    assert windows.open == 1
    for path in ("/a/new", "/a/new/b", "/a/new/b/0", "/a/new/b/2", "/a"):
        assert windows.is_blocked(path, 599.0), path
