"""What the rounds must show: each verdict can fail, and says what was seen."""

from dataclasses import replace
from typing import Any

import pytest

from nncache.bench.growth.figures import (
    MAX_GROWTH,
    SIZES,
    WAYS,
    Growth,
    Line,
    Round,
    Way,
    by_line,
    growth_at,
    in_turn,
    lines,
    sizes_of,
    verdicts,
)
from nncache.bench.request_cost.figures import Name

HITS = 1_000_000


def rounds(
    growth: Growth,
    size: int,
    *per_hit_us: float,
    name: Name = Name.NNCACHE,
    way: Way = Way.KNOWN,
    **changed: Any,
) -> list[Round]:
    """Return a round for each number of microseconds for a hit."""
    plain = Round(
        growth=growth,
        way=way,
        name=name,
        size=size,
        number=0,
        hits=HITS,
        failed=0,
        requests=HITS,
        misses=0,
        cpu_s=0.0,
        entries=size,
    )
    return [
        replace(plain, number=number, cpu_s=each * HITS / 1e6, **changed)
        for number, each in enumerate(per_hit_us, 1)
    ]


def is_met(*found: Round) -> bool:
    """Whether nothing falls short."""
    return all(each.is_met for each in verdicts(found))


@pytest.mark.parametrize("growth", MAX_GROWTH)
@pytest.mark.parametrize("way", Way)
def test_cpu_for_each_hit_may_grow_a_little(growth: Growth, way: Way) -> None:
    """In the median, and at each size: one in the middle that is worse than the largest counts."""
    first, *_, middle, last = sizes_of(growth)
    least = rounds(growth, first, 10.0, 20.0, 10.0, way=way)
    enough = rounds(growth, last, 10.9, 21.8, 10.9, way=way)
    assert is_met(*least, *enough)
    assert is_met(*least, *enough, *rounds(growth, middle, 10.9, 21.8, 99.0, way=way))
    assert not is_met(*least, *rounds(growth, last, 11.1, 22.2, 10.0, way=way))
    assert not is_met(*least, *enough, *rounds(growth, middle, 11.1, 22.2, 10.0, way=way))


def test_each_round_is_compared_with_itself() -> None:
    """A machine that is three times slower in one round changes nothing."""
    sizes = by_line([*rounds(Growth.CALLERS, 1, 10.0, 30.0), *rounds(Growth.CALLERS, 100, 10.5, 31.5, 12.0)])
    found = growth_at(sizes[Line(Growth.CALLERS, Way.KNOWN, Name.NNCACHE)])
    assert found == {1: [1.0, 1.0], 100: [pytest.approx(1.05), pytest.approx(1.05)]}


@pytest.mark.parametrize(("ours", "met"), [(19.0, True), (20.0, True), (21.0, False)])
def test_connections_cost_no_more_than_they_cost_nginx(ours: float, *, met: bool) -> None:
    """By what each of the two takes with the fewest."""
    first, *_, last = SIZES[Growth.CONNECTIONS]
    theirs = [
        *rounds(Growth.CONNECTIONS, first, 25.0, name=Name.NGINX),
        *rounds(Growth.CONNECTIONS, last, 50.0, name=Name.NGINX),
    ]
    found = [*rounds(Growth.CONNECTIONS, first, 10.0), *rounds(Growth.CONNECTIONS, last, ours)]
    assert is_met(*theirs, *found) is met
    assert len(verdicts(found)) == 2
    assert len(verdicts(theirs)) == 2


@pytest.mark.parametrize(
    ("changed", "name", "met"),
    [
        ({"failed": 1}, Name.NNCACHE, False),
        ({"failed": 1}, Name.NGINX, True),
        ({"misses": HITS // 999}, Name.NGINX, False),
        ({"misses": HITS // 1001}, Name.NNCACHE, True),
        ({"hits": 0, "requests": 0, "misses": 1}, Name.NNCACHE, False),
    ],
)
def test_hits_alone_are_measured(changed: dict[str, Any], name: Name, *, met: bool) -> None:
    """No request of nncache's fails, and nearly none gets to the NameNode."""
    assert is_met(*rounds(Growth.CONNECTIONS, 64, 10.0, name=name, **changed)) is met


def test_a_cache_holds_as_much_as_is_said_of_it() -> None:
    """What was evicted would be too cheap."""
    first, *_, last = SIZES[Growth.ENTRIES]
    least, most = rounds(Growth.ENTRIES, first, 10.0), rounds(Growth.ENTRIES, last, 10.0)
    assert is_met(*least, *most)
    (less,) = rounds(Growth.ENTRIES, last, 10.0, entries=last - 1)
    assert not is_met(*least, less)


def test_what_has_no_bound_or_was_not_measured_is_not_judged() -> None:
    """Different requests are drawn alone."""
    assert len(verdicts([])) == 2
    found = [*rounds(Growth.HEADS, 1_000, 10.0), *rounds(Growth.HEADS, 10_000, 100.0)]
    assert is_met(*found)
    assert is_met(*rounds(Growth.FILTERS, 10, 10.0))


def test_the_table_has_a_line_for_each_size() -> None:
    """Its median and its worst round, by themselves and by the smallest size."""
    found = [
        *rounds(Growth.ENTRIES, 1_000, 10.0, 10.0, 20.0),
        *rounds(Growth.ENTRIES, 10_000, 11.0, 12.0, 20.0),
        *rounds(Growth.CONNECTIONS, 64, 25.0, name=Name.NGINX),
    ]
    _, *table = [" ".join(line.split()) for line in lines(found[::-1])]
    assert table[0] == "entries repeated nncache 1,000 1,000 10.00 µs 20.00 µs 1.00 1.00"
    assert table[1] == "entries repeated nncache 10,000 10,000 12.00 µs 20.00 µs 1.10 1.20"
    assert table[2].startswith("connections repeated nginx 64 ")


def test_sizes_go_up_and_down_by_turns() -> None:
    """A machine that becomes slower during a round favours none."""
    assert [*in_turn((1, 2, 3), 1)] == [1, 2, 3]
    assert [*in_turn((1, 2, 3), 2)] == [3, 2, 1]


def test_large_sizes_can_be_left_out() -> None:
    """Never the smallest, with which all are compared."""
    assert sizes_of(Growth.ENTRIES) == SIZES[Growth.ENTRIES]
    assert sizes_of(Growth.ENTRIES, 99_999) == (1_000, 10_000)
    assert sizes_of(Growth.ENTRIES, 1) == (1_000,)


def test_the_tables_know_all_growths() -> None:
    """From the smallest up."""
    assert SIZES.keys() == WAYS.keys() == set(Growth)
    assert all(list(sizes) == sorted(sizes) for sizes in SIZES.values())
