"""What is asked for: distinct, within the filters, and as much as is said."""

import shutil
from itertools import pairwise

import pytest

from nncache.bench.growth.asked import GLOB, MOST_PATHS, Asked, filling, globs, making, script
from nncache.bench.growth.figures import Way
from nncache.bench.wrk import ask_times
from nncache.hadoop.calls import PREFIX
from nncache.hadoop.globs import compile_glob
from tests.bench.polling_server import Script, serving

needs_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="apt-get install wrk")


def asked_for(script: str, requests: int) -> tuple[list[str], list[bytes]]:
    """Return the targets and heads that a script asks for, in order."""
    seen = Script({})
    with serving(seen) as server:
        ask_times(server, script, connections=1, requests=requests, within_s=60)
    return seen.targets, seen.heads


@needs_wrk
@pytest.mark.parametrize("callers", [1, 5, 20])
def test_each_path_is_asked_for_by_one_caller(callers: int) -> None:
    """In turn, the same requests again and again; so many callers in all."""
    targets, heads = asked_for(script(Asked(20, callers), Way.KNOWN), 60)
    assert len(set(targets)) == len(set(heads)) == 20
    assert targets[:20] == targets[20:40]
    assert len({target.partition("user.name=")[2] for target in targets}) == callers
    assert all(compile_glob(GLOB).matches(path_of(target)) for target in targets)


@needs_wrk
def test_what_is_parsed_each_time_has_a_head_of_its_own() -> None:
    """Also another load's; the paths are the same."""
    targets, heads = asked_for(script(Asked(20), Way.PARSED), 40)
    assert len(set(targets)) == 20
    assert len(set(heads)) == len(heads)


@needs_wrk
def test_a_cache_is_filled_with_so_many_paths() -> None:
    """What is asked for again is spread evenly over them."""
    again, _ = asked_for(script(Asked(), Way.KNOWN), 1_000)
    targets, _ = asked_for(filling(3_000), 3_000)
    assert len(set(targets)) == 3_000
    places = [place for place, target in enumerate(targets[:3_000]) if target in {*again}]
    assert len(places) == 1_000
    assert {after - before for before, after in pairwise(places)} == {3}
    assert all(compile_glob(GLOB).matches(path_of(target)) for target in targets)


@needs_wrk
def test_all_that_is_asked_for_again_is_made() -> None:
    """By the superuser, at a NameNode."""
    made, _ = asked_for(making("root"), MOST_PATHS)
    assert all(target.endswith("?op=MKDIRS&user.name=root") for target in made)
    assert len({path_of(target) for target in made}) == MOST_PATHS
    again, _ = asked_for(script(Asked(200), Way.KNOWN), 200)
    assert {path_of(target) for target in again} <= {path_of(target) for target in made}


def test_so_many_filters_match_what_is_asked_for_in_one_way() -> None:
    """The first ten; all others nothing of it."""
    these = globs(1_000)
    assert len(set(these)) == 1_000
    paths = [f"/bench-growth/{number % 10}/{number}" for number in range(1_000)]
    for glob in (*these[:10], these[10], these[999]):
        matched = sum(compile_glob(glob).matches(path) for path in paths)
        assert matched == (100 if glob in these[:10] else 0)
    assert globs(10) == these[:10]


def path_of(target: str) -> str:
    """Return the path that is asked for."""
    return target.removeprefix(PREFIX).partition("?")[0]
