"""A purge invalidates entries, reports them, and is logged."""

import logging

import pytest

from nncache.admin.proxy_pages import RefusedQueryError
from nncache.cache import Conclusion, Fetch, MetadataCache
from nncache.daemons.purging import Purger, PurgeResult, globs_named, held_paths
from tests.cache.cases import ALICE, BOB, fetch, fill, is_hit, make_cache, missing

PEER = "10.0.0.1"


def purger(cache: MetadataCache, names: dict[str, str] | None = None) -> Purger:
    """Return a purger whose clock shows 1."""
    return Purger(cache, lambda: 1.0, lambda: names or {})


def filled(*paths: str) -> MetadataCache:
    """Return a cache with hits on these paths for ALICE."""
    cache = make_cache()
    for path in paths:
        fill(cache, path)
        assert is_hit(cache, path)
    return cache


def test_a_path_is_forgotten_and_nothing_else() -> None:
    """The caller's right to the parent directory stays."""
    cache = filled("/w/a", "/w/b", "/w/a/below")
    assert purger(cache).path("/w/a", is_subtree=False, peer=PEER) == (
        PurgeResult(path="/w/a", is_subtree=False, was_held=True),
    )
    assert [is_hit(cache, path) for path in ("/w/a", "/w/b", "/w/a/below")] == [False, True, True]
    cache.check()


def test_a_subtree_is_forgotten_with_its_rights() -> None:
    """It drops entries and rights, and invalidates replies in flight."""
    cache = filled("/w/d/a", "/w/d/e/f", "/v/a")
    under_way = fetch(cache, "/w/d/new")
    assert purger(cache).path("/w/d", is_subtree=True, peer=PEER) == (
        PurgeResult(path="/w/d", is_subtree=True, was_held=True),
    )
    assert cache.conclude(under_way, missing(0.5)) is Conclusion.SPOILED
    assert [is_hit(cache, path) for path in ("/w/d/a", "/w/d/e/f", "/v/a")] == [False, False, True]
    assert cache.explain("/w/d/a", 1.0).grants == 0
    cache.check()


def test_the_reply_under_way_of_a_purged_path_is_not_kept() -> None:
    """That reply may be older than the purge."""
    cache = make_cache()
    under_way = fetch(cache, "/w/a")
    (purged,) = purger(cache).path("/w/a", is_subtree=False, peer=PEER)
    assert purged.was_held
    assert cache.conclude(under_way, missing(0.5)) is Conclusion.SPOILED


@pytest.mark.parametrize(("path", "is_subtree"), [("/w", False), ("/w", True), ("/", True), ("/", False)])
def test_it_says_that_nothing_was_held(path: str, is_subtree: bool) -> None:
    """This shows an operator a misspelled path."""
    (purged,) = purger(make_cache()).path(path, is_subtree=is_subtree, peer=PEER)
    assert not purged.was_held


def test_everything_goes_with_the_root() -> None:
    """A purge of / with its subtree empties the cache."""
    cache = filled("/a", "/w/a")
    (purged,) = purger(cache).path("/", is_subtree=True, peer=PEER)
    assert purged.was_held
    assert not is_hit(cache, "/w/a")
    assert not is_hit(cache, "/a")


@pytest.mark.parametrize("name", ["ours", "/w/*"])
def test_a_filter_is_given_by_its_name_or_glob(name: str) -> None:
    """It purges the subtree above the first wildcard."""
    cache = filled("/v/a")
    cache.set_filters({"f1": "/w/*", "f2": "/v/*"})
    for path in ("/w/a", "/v/a"):
        fill(cache, path)
    purged = purger(cache, {"f1": "ours", "f2": "others"}).filter(name, peer=PEER)
    assert purged == (PurgeResult(path="/w", is_subtree=True, was_held=True),)
    assert not is_hit(cache, "/w/a")
    assert is_hit(cache, "/v/a")


def test_a_filter_that_is_not_in_force_is_an_error() -> None:
    """The error names the filters in force, but not thousands of them."""
    cache = make_cache(glob=())
    cache.set_filters({str(number): f"/{number:03}/*" for number in range(12)})
    with pytest.raises(
        RefusedQueryError, match=r"^no filter 'f1' is in force; in force: /000/\*, .* and 2 more$"
    ):
        purger(cache).filter("f1", peer=PEER)
    with pytest.raises(RefusedQueryError, match="in force: none"):
        purger(make_cache(glob=())).filter("f1", peer=PEER)
    with pytest.raises(RefusedQueryError, match=r"no filter 'mine' is in force; in force: /v/\*, ours"):
        held(9, "mine")


def test_other_callers_are_not_harmed() -> None:
    """The next read of each caller asks the NameNode."""
    cache = filled("/w/a")
    purger(cache).path("/w", is_subtree=True, peer=PEER)
    assert isinstance(cache.lookup("/w/a", BOB, 1.0), Fetch)
    assert isinstance(cache.lookup("/w/a", ALICE, 1.0), Fetch)


def test_a_purge_is_written_down(caplog: pytest.LogCaptureFixture) -> None:
    """The line has level WARNING, and names the target, the client and the purged places."""
    cache = make_cache(glob=())
    cache.set_filters({"f1": "/{w/*,v/x}"})
    purger(cache, {"f1": "ours"}).filter("ours", peer=PEER)
    purger(cache).path("/w", is_subtree=False, peer="joe at 10.0.0.1")
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.WARNING, "purge of filter ours asked for by 10.0.0.1: forgotten: /v/x, /w and below"),
        (logging.WARNING, "purge of /w asked for by joe at 10.0.0.1: forgotten: /w"),
    ]


GLOBS = {"id1": "/w/*", "id2": "/v/*", "/u/*": "/u/*"}
NAMES = {"id1": "ours", "id2": "theirs"}


@pytest.mark.parametrize(("name", "glob"), [("ours", "/w/*"), ("/v/*", "/v/*"), ("/u/*", "/u/*")])
def test_a_name_or_a_glob(name: str, glob: str) -> None:
    """A glob from the settings has no name."""
    assert globs_named(name, GLOBS, NAMES) == {glob}


def held(limit: int, filter_: str | None) -> tuple[str, ...]:
    """Return held paths of a cache with two filters. The fake random source reaches every slot."""
    cache = make_cache()
    cache.set_filters({"id1": "/w/*", "id2": "/v/*"})
    for path in ("/w/a", "/w/b", "/v/c"):
        fill(cache, path)
    numbers = iter(range(10_000))
    return held_paths(cache, {"id1": "ours"}, limit, filter_, lambda: (next(numbers) % 100) / 100)


def test_all_or_those_of_a_filter() -> None:
    """A filter is given by name or glob."""
    assert sorted(held(9, None)) == ["/v/c", "/w/a", "/w/b"]
    assert sorted(held(9, "ours")) == ["/w/a", "/w/b"]
    assert held(9, "/v/*") == ("/v/c",)
    assert len(held(1, None)) == 1
