"""Figures by tenant: the tenant of a request, and a bounded number of series that only grow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.net.setting_error import SettingError
from nncache.proxy.traffic import Exchange, Result
from nncache.tenants.hottest import NO_CALLER
from nncache.tenants.settings import TenantSettings
from nncache.tenants.tenants import CANDIDATES, OTHER, REPLACED_EVERY_S, Tenants, TenantStats, tenants_of
from tests.proxy.doubles import FakeClock

READ = "/webhdfs/v1/w/a?op=GETFILESTATUS"


def answered(
    caller: str = "",
    *,
    result: Result = Result.FORWARDED,
    weight: int = 1,
    peer: str = "10.1.2.3",
    target: str = READ,
) -> Exchange:
    """Return a request as an observer sees it, with the caller in the front end's spelling."""
    exchange = Exchange("GET", target, peer, 0.0)
    exchange.operation, exchange.result, exchange.weight = "GETFILESTATUS", result, weight
    exchange.caller = f"user.name={caller}" if caller else ""
    return exchange


def counted(settings: TenantSettings, *exchanges: Exchange) -> TenantStats:
    """Return the stats after these requests."""
    tenants = tenants_of(settings, FakeClock())
    assert tenants is not None
    for each in exchanges:
        tenants.answered(each)
    return tenants.stats()


def test_without_the_setting_nothing_is_counted() -> None:
    """Tenants are off by default."""
    assert tenants_of(TenantSettings(), FakeClock()) is None


def test_by_user_each_result_counts_with_its_weight() -> None:
    """Hits are requests without a NameNode call; a refused or abandoned one counts as a request only."""
    stats = counted(
        TenantSettings(tenants_by="user"),
        answered("joe", result=Result.HIT, weight=64),
        answered("joe", result=Result.COLLAPSED),
        answered("joe", result=Result.STORED),
        answered("joe", result=Result.FORWARDED),
        answered("ann", result=Result.REFUSED),
        answered("", result=Result.HIT, target=f"{READ}&user.name=bob&doas=eve"),
        answered("", result=Result.ABANDONED),
    )
    assert stats.requests == {"joe": 67, "ann": 1, "eve via bob": 1, NO_CALLER: 1, OTHER: 0}
    assert stats.hits == {"joe": 65, "ann": 0, "eve via bob": 1, NO_CALLER: 0, OTHER: 0}
    assert stats.calls == {"joe": 2, "ann": 0, "eve via bob": 0, NO_CALLER: 0, OTHER: 0}


@pytest.mark.parametrize(
    ("peer", "bits", "tenant"),
    [
        ("10.1.2.3", 24, "10.1.2.0/24"),
        ("10.1.2.3", 12, "10.0.0.0/12"),
        ("10.1.2.3", 32, "10.1.2.3"),
        ("::ffff:10.1.2.3", 24, "10.1.2.0/24"),
        ("2001:db8:1:2:3:4:5:6", 24, "2001:db8:1:2::/64"),
        ("", 24, ""),
    ],
)
def test_by_address_the_network_is_the_tenant(peer: str, bits: int, tenant: str) -> None:
    """A host with many addresses is one tenant."""
    stats = counted(
        TenantSettings(tenants_by="address", tenants_prefix_bits=bits), answered("joe", peer=peer)
    )
    assert stats.calls == {tenant: 1, OTHER: 0}


def test_a_user_of_the_name_of_all_others_is_one_of_them() -> None:
    """Otherwise two series would have one name."""
    settings = TenantSettings(tenants_by="user", tenants_shown=1)
    stats = counted(settings, answered(OTHER), answered("joe"), answered("ann"))
    assert stats.requests == {"joe": 1, OTHER: 2}


def by_user(shown: int, clock: FakeClock) -> Tenants:
    """Return tenants counted by user."""
    tenants = tenants_of(TenantSettings(tenants_by="user", tenants_shown=shown), clock)
    assert tenants is not None
    return tenants


def test_the_largest_share_gets_series_and_starts_at_zero() -> None:
    """Its earlier requests remain with the others."""
    clock = FakeClock()
    tenants = by_user(2, clock)
    for name in ("joe", "ann", "eve", "eve", "bob"):
        tenants.answered(answered(name, weight=10))
    assert tenants.stats().requests == {"joe": 10, "ann": 10, OTHER: 30}
    clock.now += REPLACED_EVERY_S
    tenants.answered(answered("joe", weight=5))
    tenants.answered(answered("bob"))  # the minute is over: eve has the largest share, ann the least
    assert tenants.stats().requests == {"joe": 15, "eve": 0, OTHER: 31}
    tenants.answered(answered("bob", weight=1_000))
    assert tenants.stats().requests == {"joe": 15, "eve": 0, OTHER: 1_031}, "one a minute"
    tenants.answered(answered("eve"))
    clock.now += REPLACED_EVERY_S
    tenants.answered(answered("bob"))
    assert tenants.stats().requests == {"eve": 1, "bob": 1, OTHER: 1_031}


def test_equals_do_not_take_each_others_place() -> None:
    """Otherwise two names would alternate as new series each minute."""
    clock = FakeClock()
    tenants = by_user(1, clock)
    for name in ("joe", "ann", "eve") * 300:
        clock.now += REPLACED_EVERY_S / 10
        tenants.answered(answered(name))
    assert tenants.stats().requests == {"joe": 300, OTHER: 600}


def test_memory_does_not_grow_with_the_names_that_clients_make_up() -> None:
    """The series are bounded, too; a caller with a relevant share still has its own."""
    clock = FakeClock()
    tenants = by_user(20, clock)
    most = 0
    for number in range(20_000):
        clock.now += 0.1
        tenants.answered(answered(f"{'x' * 60}{number}"))
        tenants.answered(answered("joe"))
        if number in {5_000, 19_999}:
            tenants.check()
            stats = tenants.stats()
            assert len(stats.requests) == 21
            assert stats.requests["joe"] > number * 0.9
            most = max(most, stats.bytes)
            assert stats.bytes == most, "it has grown to its bound long before"
    assert most < (CANDIDATES + 20) * 1_000


@given(
    st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers(1, 1_000), st.floats(0.0, 100.0)), max_size=60)
)
def test_each_request_is_in_one_count_and_series_only_grow(
    asked: list[tuple[str, int, float]],
) -> None:
    """N1, N2. A series that is replaced takes its count with it."""
    clock = FakeClock()
    tenants, before, left = by_user(3, clock), tenants_of_nothing(), 0
    for name, weight, later_s in asked:
        clock.now += later_s
        tenants.answered(answered(name, weight=weight))
        tenants.check()
        now = tenants.stats().requests
        assert all(now[each] >= count for each, count in before.items() if each in now)
        left += sum(count for each, count in before.items() if each not in now)
        before = now
    assert sum(before.values()) + left == sum(weight for _, weight, _ in asked)


def tenants_of_nothing() -> dict[str, int]:
    """Return the counts before the first request."""
    return {}


@pytest.mark.parametrize(
    ("key", "value"), [("tenants_shown", 0), ("tenants_shown", 201), ("tenants_prefix_bits", 33)]
)
def test_a_number_outside_its_bounds_is_named(key: str, value: int) -> None:
    """The message has the allowed range."""
    with pytest.raises(SettingError, match=f"^{key}: {value}: must be from 1 to"):
        TenantSettings(**{key: value})  # type: ignore[arg-type] # both are numbers
