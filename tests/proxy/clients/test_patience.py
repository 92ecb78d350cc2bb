"""A client may be slow for a limited time, but as slow as the minimum rate without limit."""

import pytest

from nncache.proxy.clients.patience import Patience
from nncache.proxy.limits import LimitSettings

LIMITS = LimitSettings(body_timeout_s=20.0, min_body_rate_bytes_s=1_000)


def test_what_is_moved_earns_time() -> None:
    """A client at the minimum rate is never given up."""
    patience = Patience(LIMITS)
    assert patience.left_s == 20.0
    for _ in range(100):
        patience.spend(10.0, 10_000)
    assert patience.left_s == pytest.approx(20.0)


def test_what_is_waited_is_waited_in_all() -> None:
    """One byte after each pause does not reset the timeout."""
    patience = Patience(LIMITS)
    patience.spend(10.0, 1)
    assert patience.spent_s == pytest.approx(10.0, abs=0.01)
    for _ in range(2):
        patience.spend(10.0, 1)
    assert patience.left_s == 0.0


def test_nothing_is_saved_up() -> None:
    """A fast client earns no extra time: it may then pause for `body_timeout_s`, as any other."""
    patience = Patience(LIMITS)
    patience.spend(1.0, 100_000_000)
    assert (patience.left_s, patience.spent_s) == (20.0, 0.0)
