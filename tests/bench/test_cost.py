"""Each check of `request_cost`, `growth` and `secured_hits` can fail."""

from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from nncache.bench import growth, request_cost, secured_hits
from nncache.bench.cost import LoadRound, Name, by_server, table
from nncache.bench.growth import MAX_GROWTH, SIZES, Growth, HitPath, growth_at
from nncache.bench.request_cost import RATIOS, Shape
from nncache.bench.secured_hits import MOST, NGINX_TLS, PLAIN
from nncache.hadoop.globs import compile_glob

COUNT = 1_000_000


def rounds(what: str, server: str, *each_us: float, **changed: object) -> list[LoadRound]:
    """Return one round for each value of CPU-microseconds per request."""
    plain = LoadRound(
        what=what, server=server, requests=COUNT, failed=0, cpu_s=0.0, namenode_cpu_s=1.0, p50_s=0.001
    )
    return [
        replace(plain, number=number, cpu_s=each * COUNT / 1e6, **changed)  # type: ignore[arg-type] # any field
        for number, each in enumerate(each_us, 1)
    ]


def is_met(*found: LoadRound) -> bool:
    """Return whether all checks of the cost per request are met."""
    return all(each.is_met for each in request_cost.judge(found, {}))


@pytest.mark.parametrize(("shape", "than", "in_median", "in_worst"), RATIOS)
def test_each_ratio_counts_in_the_median_and_the_worst_round(
    shape: Shape, than: Name, in_median: float, in_worst: float
) -> None:
    """The base is the other server's median."""
    theirs = rounds(shape, than, 9.0, 10.0, 11.0)
    enough, worst = 9.99 / in_median, 9.99 / (in_worst or in_median)
    assert is_met(*theirs, *rounds(shape, Name.NNCACHE, worst, enough, enough))
    assert not is_met(*theirs, *rounds(shape, Name.NNCACHE, worst, 1.01 * worst, 1.01 * worst))
    if in_worst:
        assert not is_met(*theirs, *rounds(shape, Name.NNCACHE, 1.01 * worst, enough, enough))


@pytest.mark.parametrize(
    ("shape", "nginx_us"), [(Shape.FORWARDED, 32), (Shape.OUTSIDE, 32), (Shape.MISS, 77)]
)
@pytest.mark.parametrize(
    ("cpu_us", "namenode", "met"), [(99, 1.09, True), (101, 1.0, False), (50, 1.12, False)]
)
def test_a_forwarded_call_may_cost_so_much(
    shape: Shape, nginx_us: float, cpu_us: float, namenode: float, *, met: bool
) -> None:
    """The limits are on the proxy's CPU, and on the NameNode's relative to the same call through nginx."""
    ours = rounds(shape, Name.NNCACHE, cpu_us, namenode_cpu_s=namenode)
    assert is_met(*rounds(shape, Name.NGINX, nginx_us), *ours) is met


def test_a_server_that_answered_nothing_does_not_end_the_report(tmp_path: Path) -> None:
    """It has a line and a bar like the others; checks that depend on it fail."""
    dead = rounds(Shape.REPEATED, Name.FLOOR, 1.0, requests=0)
    alive = rounds(Shape.REPEATED, Name.NNCACHE, 2.0, 3.0, 4.0)
    _, first, second = table([*dead, *alive])
    assert "floor" in first
    assert second.split()[-8:] == ["3.00", "µs", "4.00", "µs", "1.00", "µs", "1,000.00", "µs"]
    request_cost.draw([*dead, *alive]).savefig(tmp_path / "chart.svg")
    assert is_met(*alive)
    assert not is_met(*alive, *rounds(Shape.REPEATED, Name.NGINX, 1.0, requests=0))


# ---- growth ----------------------------------------------------------------------------------------------------------


def grown(
    what: Growth, size: int, *each_us: float, server: Name = Name.NNCACHE, **changed: object
) -> list[LoadRound]:
    """Return one round at this size for each value of CPU-microseconds per hit."""
    return rounds(f"{what}, {HitPath.KNOWN}", server, *each_us, **({"size": size, "entries": size} | changed))


def may_grow(*found: LoadRound) -> bool:
    """Return whether all checks of the growth are met."""
    return all(each.is_met for each in growth.judge(found))


@pytest.mark.parametrize("what", MAX_GROWTH)
def test_cpu_for_each_hit_may_grow_a_little(what: Growth) -> None:
    """The median counts, and each size: a middle size that is worse than the largest one fails, too."""
    first, middle, *_, last = SIZES[what]
    least = grown(what, first, 10.0, 20.0, 10.0)
    enough = grown(what, last, 10.9, 21.8, 10.9)
    assert may_grow(*least, *enough, *grown(what, middle, 10.9, 21.8, 99.0))
    assert not may_grow(*least, *grown(what, last, 11.1, 22.2, 10.0))
    assert not may_grow(*least, *enough, *grown(what, middle, 11.1, 22.2, 10.0))


def test_each_round_is_compared_with_itself() -> None:
    """A machine that is three times slower during one round changes nothing."""
    found = [*grown(Growth.CALLERS, 1, 10.0, 30.0), *grown(Growth.CALLERS, 100, 10.5, 31.5, 12.0)]
    (sizes,) = by_server(found).values()
    assert growth_at(sizes) == {1: [1.0, 1.0], 100: [pytest.approx(1.05), pytest.approx(1.05)]}


@pytest.mark.parametrize(("ours", "met"), [(19.0, True), (20.0, True), (21.0, False)])
def test_connections_cost_no_more_than_they_cost_nginx(ours: float, *, met: bool) -> None:
    """Each server's base is its own cost with the fewest connections."""
    theirs = [
        *grown(Growth.CONNECTIONS, 64, 25.0, server=Name.NGINX),
        *grown(Growth.CONNECTIONS, 10_000, 50.0, server=Name.NGINX),
    ]
    found = [*grown(Growth.CONNECTIONS, 64, 10.0), *grown(Growth.CONNECTIONS, 10_000, ours)]
    assert may_grow(*theirs, *found) is met
    assert may_grow(*found)


def test_one_glob_matches_each_path_that_is_asked_for() -> None:
    """All other globs must be tried, and match none of the paths."""
    globs = [compile_glob(each) for each in growth.globs(1_000)]
    assert len({*growth.globs(1_000)}) == 1_000
    for number in range(growth.DIRECTORIES):
        assert sum(each.matches(f"{growth.ROOT}/{number}/{number + 10}") for each in globs) == 1


# ---- secured hits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("way", "of", "most"), MOST)
def test_a_secured_hit_may_cost_so_much_in_the_median(way: str, of: str, most: float) -> None:
    """One disturbed round decides nothing."""
    even = {
        each: rounds("hit", each, 10.0, 10.0, 90.0)
        for each in (PLAIN, NGINX_TLS, *(way for way, _, _ in MOST))
    }

    def met(**changed: list[LoadRound]) -> bool:
        return all(
            each.is_met for each in secured_hits.judge([*chain.from_iterable((even | changed).values())])
        )

    assert met()
    assert met(**{way: rounds("hit", way, 0.99 * most * 10, 0.99 * most * 10, 90.0)})
    assert not met(**{way: rounds("hit", way, 1.0, 1.01 * most * 10, 1.01 * most * 10)})
    assert not met(**{of: rounds("hit", of, 10.0, failed=1)})
