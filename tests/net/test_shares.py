"""Every holder gets a share: a single holder nearly everything, a new one always something."""

import pytest

from nncache.net.shares import GREED, Rates, Shares, holder_of


def fill(shares: Shares, holder: str) -> int:
    """Take as many places as the holder gets."""
    while shares.take(holder):
        shares.check()
    return shares.held(holder)


def test_one_alone_gets_seven_eighths() -> None:
    """A gateway in front of all clients is hardly limited."""
    assert fill(Shares(256), "gateway") == 224
    assert fill(Shares(16_384), "gateway") == 14_336


def test_equal_greed_gets_equal_shares() -> None:
    """Two holders that take in turn get the same number, and some places stay free."""
    shares = Shares(256)
    while shares.take("a") | shares.take("b"):
        shares.check()
    assert abs(shares.held("a") - shares.held("b")) <= 1
    assert 0 < shares.limit - shares.in_use <= 256 // (1 + 2 * GREED) + 1


@pytest.mark.parametrize("greedy", [1, 2])
def test_a_newcomer_finds_something_free(greedy: int) -> None:
    """This holds whatever the first holders have taken."""
    shares = Shares(64)
    for number in range(greedy):
        fill(shares, f"greedy{number}")
    assert shares.take("newcomer")


def test_the_first_make_room_for_the_later_ones() -> None:
    """A holder with more than an equal share gets none of the places that become free."""
    shares = Shares(64)
    for holder in ("a", "b", "c", "d"):
        fill(shares, holder)
    for step in range(1_000):
        if shares.held("abcd"[step % 4]):
            shares.give_back("abcd"[step % 4])
        for holder in ("a", "b", "c", "d"):
            fill(shares, holder)
        shares.check()
    held = [shares.held(holder) for holder in ("a", "b", "c", "d")]
    assert max(held) - min(held) <= GREED


def test_what_is_given_back_can_be_taken_again() -> None:
    """A holder without places takes no memory."""
    shares = Shares(2)
    assert shares.take("a")
    assert shares.take("b")
    assert (shares.is_exhausted, shares.take("c")) == (True, False)
    shares.give_back("a")
    assert (shares.is_exhausted, shares.take("c")) == (False, True)
    shares.give_back("b")
    shares.give_back("c")
    shares.check()
    assert (shares.in_use, shares.held("c")) == (0, 0)
    assert shares.take("b")
    assert shares.take("b")
    shares.give_back("b")
    assert shares.held("b") == 1


@pytest.mark.parametrize(
    ("address", "holder"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("", ""),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("not:an:address", "not:an:address"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
    ],
)
def test_a_host_has_one_share_whatever_its_addresses(address: str, holder: str) -> None:
    """An IPv6 host has a network of addresses."""
    assert holder_of(address) == holder


def test_a_rate_is_each_holders_own() -> None:
    """Each holder has a burst. `give_back` undoes a use, and beyond MAX the least recently used holders are dropped."""
    rates = Rates(10.0, 2.0)
    assert [rates.take("a", 0.0) for _ in range(3)] == [0.0, 0.0, 0.1]
    assert rates.take("b", 0.0) == 0.0
    assert rates.take("a", 0.1) == 0.0
    rates.give_back("a", 0.1)
    assert rates.take("a", 0.1) == 0.0
    rates.give_back("nobody", 0.1)
    for number in range(Rates.MAX):
        rates.take(f"c{number}", 0.1)
    assert rates.take("a", 0.1) == 0.0
