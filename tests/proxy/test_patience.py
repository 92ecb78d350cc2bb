"""A client may be slow for a while, and as slow as the least rate for ever."""

import pytest

from proxy.limits import LimitSettings
from proxy.patience import Patience


def test_what_is_moved_earns_time() -> None:
    """Whoever keeps the least rate is never given up."""
    patience = Patience(LimitSettings(body_timeout_s=20.0, min_body_rate_bytes_s=1_000))
    assert patience.left_s == 20.0
    for _ in range(100):
        patience.waited_s += 10.0
        patience.moved_bytes += 10_000
    assert patience.left_s == pytest.approx(20.0)


def test_what_is_waited_is_waited_in_all() -> None:
    """One byte after each pause does not begin the time again."""
    patience = Patience(LimitSettings(body_timeout_s=20.0, min_body_rate_bytes_s=1_000))
    for _ in range(3):
        patience.waited_s += 10.0
        patience.moved_bytes += 1
    assert patience.left_s == 0.0
