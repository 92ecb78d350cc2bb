"""The paths, callers and addresses with the most requests, without credentials."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.proxy.traffic import GETFILESTATUS, UNKNOWN_OPERATION, Exchange
from nncache.tenants.hottest import (
    HALF_LIFE_S,
    MAX_NAME_BYTES,
    NO_CALLER,
    NO_PATH,
    Hot,
    Hottest,
    HottestStats,
)
from tests.hadoop.made_credentials import token
from tests.proxy.doubles import FakeClock


def answered(
    target: str, *, caller: str = "", peer: str = "10.0.0.1", operation: str = GETFILESTATUS, weight: int = 1
) -> Exchange:
    """Return a request as an observer sees it."""
    exchange = Exchange("GET", target, peer, 0.0)
    exchange.operation, exchange.caller, exchange.weight = operation, caller, weight
    return exchange


def seen(*exchanges: Exchange, lasted_s: float = 3_600.0) -> HottestStats:
    """Return the stats when these requests come at the end of `lasted_s`."""
    clock = FakeClock()
    hottest = Hottest(clock, max_sample_every=1)
    clock.now += lasted_s
    for exchange in exchanges:
        hottest.answered(exchange)
    return hottest.stats(10)


def names(hot: tuple[Hot, ...]) -> list[str]:
    """Return the names."""
    return [each.name for each in hot]


def test_a_sampled_hit_counts_as_often_as_its_weight() -> None:
    """The caller is read from the target, as the fast path leaves the caller empty."""
    hottest = seen(
        answered("/webhdfs/v1/w/a?op=GETFILESTATUS&user.name=joe", caller="user.name=joe"),
        answered("/webhdfs/v1/w/b?op=GETFILESTATUS&user.name=ann&doas=bob", weight=64, peer="10.0.0.2"),
    )
    assert names(hottest.paths) == ["/w/b", "/w/a"]
    assert names(hottest.callers) == ["bob via ann", "joe"]
    assert names(hottest.addresses) == ["10.0.0.2", "10.0.0.1"]
    assert hottest.paths[0].per_s == pytest.approx(64 * hottest.paths[1].per_s)


@pytest.mark.parametrize("lasted_s", [10.0, 60.0, 3_600.0])
def test_the_rate_is_that_of_now_from_the_beginning_on(lasted_s: float) -> None:
    """Ten requests a second are shown as ten, however long the process has run."""
    clock = FakeClock()
    hottest = Hottest(clock, max_sample_every=1)
    for _ in range(int(lasted_s * 10)):
        clock.now += 0.1
        hottest.answered(answered("/webhdfs/v1/w/a?op=GETFILESTATUS"))
    assert hottest.stats(1).paths[0].per_s == pytest.approx(10.0, rel=0.01)
    clock.now += HALF_LIFE_S
    assert hottest.stats(1).paths[0].per_s < 10.0


def test_no_credential_is_kept() -> None:
    """No credential is in a name that is shown, or anywhere in the stats."""
    secret = "c2VjcmV0"
    clock = FakeClock()
    hottest = Hottest(clock, max_sample_every=1)
    for target in (
        f"/webhdfs/v1/w/a?op=GETFILESTATUS&delegation={secret}",
        f"/webhdfs/v1/w/a?op=OPEN&Delegation={secret}&x=#{secret}",
        f"/other/{secret}?delegation={secret}",
    ):
        hottest.answered(answered(target))
        hottest.answered(answered(target, operation=UNKNOWN_OPERATION))
    shown = hottest.stats(10)
    assert names(shown.callers) == [NO_CALLER]
    assert sorted(names(shown.paths)) == [NO_PATH, "/w/a"]
    assert secret not in repr(shown)


@pytest.mark.parametrize("name", ["delegation", "Delegation"])
def test_a_token_is_its_owners(name: str) -> None:
    """The token's own claim counts; a forged one achieves no more than user.name does."""
    for operation in (GETFILESTATUS, UNKNOWN_OPERATION):
        one = answered(f"/webhdfs/v1/w?op=GETFILESTATUS&{name}={token('ann')}", operation=operation)
        assert names(seen(one).callers) == ["ann"]


@pytest.mark.parametrize(
    ("caller", "shown"),
    [
        ("user.name=joe", "joe"),
        ("doas=ann", f"ann via {NO_CALLER}"),
        ("user.name=joe\0doas=ann", "ann via joe"),
        ("0123abcd", "#0123abcd"),
        ("user.name=<script>alert(1)</script>", "<script>alert(1)</script>"),
    ],
)
def test_callers_are_written_as_hadoop_writes_them(caller: str, shown: str) -> None:
    """Names are otherwise unchanged; the pages escape them."""
    assert names(seen(answered("/webhdfs/v1/w", caller=caller)).callers) == [shown]


anything = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=400)


@given(path=anything, peer=anything)
def test_names_are_bounded_in_bytes(path: str, peer: str) -> None:
    """The bound holds for any input; the names contain no lone surrogates, which JSON cannot encode."""
    hottest = seen(answered(f"/webhdfs/v1/{path}", peer=peer, operation=UNKNOWN_OPERATION))
    for hot in (hottest.paths, hottest.callers, hottest.addresses):
        assert len(hot[0].name.encode()) <= MAX_NAME_BYTES


def test_long_names_that_begin_alike_are_distinguished() -> None:
    """A digest tells them apart."""
    shown = names(seen(*(answered(f"/webhdfs/v1/{'é' * 300}{end}") for end in "ab")).paths)
    assert len(set(shown)) == 2
    assert all(name.startswith("/éé") for name in shown)


def test_there_is_no_more_than_the_counters() -> None:
    """A client that requests ever new paths takes no more memory; frequent paths stay."""
    clock = FakeClock()
    hottest = Hottest(clock, counters=8, max_sample_every=1)
    for number in range(1_000):
        hottest.answered(answered(f"/webhdfs/v1/w/{number}?op=GETFILESTATUS"))
        hottest.answered(answered("/webhdfs/v1/w/hot?op=GETFILESTATUS"))
    shown = hottest.stats(100)
    assert len(shown.paths) == 8
    assert shown.paths[0].name == "/w/hot"
    assert math.isfinite(shown.paths[0].per_s)


def test_at_a_high_rate_a_sample_of_requests_is_counted() -> None:
    """A path with half of the requests has about half of the rate; most requests cost almost nothing."""
    clock = FakeClock()
    hottest = Hottest(clock)
    clock.now += 3_600.0
    for number in range(100_000):
        clock.now += 0.0001
        path = "hot" if number % 2 == 0 else f"f{number % 7}"
        hottest.answered(answered(f"/webhdfs/v1/w/{path}?op=GETFILESTATUS"))
    shown = {each.name: each.per_s for each in hottest.stats(10).paths}
    assert shown["/w/hot"] == pytest.approx(sum(shown.values()) / 2, rel=0.5), "eight times its deviation"
