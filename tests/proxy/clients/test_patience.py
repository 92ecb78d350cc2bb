"""A client may be slow for a while, and as slow as the least rate for ever."""

import pytest

from nncache.proxy.clients.patience import Patience
from nncache.proxy.limits import LimitSettings

LIMITS = LimitSettings(body_timeout_s=20.0, min_body_rate_bytes_s=1_000)


def test_what_is_moved_earns_time() -> None:
    """Whoever keeps the least rate is never given up."""
    patience = Patience(LIMITS)
    assert patience.left_s == 20.0
    for _ in range(100):
        patience.spend(10.0, 10_000)
    assert patience.left_s == pytest.approx(20.0)


def test_what_is_waited_is_waited_in_all() -> None:
    """One byte after each pause does not begin the time again."""
    patience = Patience(LIMITS)
    patience.spend(10.0, 1)
    assert patience.spent_s == pytest.approx(10.0, abs=0.01)
    for _ in range(2):
        patience.spend(10.0, 1)
    assert patience.left_s == 0.0


def test_nothing_is_saved_up() -> None:
    """Who was quick for an hour may stand still for no longer than anybody else."""
    patience = Patience(LIMITS)
    patience.spend(1.0, 100_000_000)
    assert (patience.left_s, patience.spent_s) == (20.0, 0.0)
