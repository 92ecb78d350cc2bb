"""Which calls may be retried."""

import pytest

from nncache.hadoop.retry import FailureKind, may_retry


@pytest.mark.parametrize("kind", FailureKind)
def test_what_is_not_a_read_is_repeated_only_if_nothing_was_done(kind: FailureKind) -> None:
    """A write whose outcome is unknown is not retried: it could undo a later change."""
    nothing_done = {FailureKind.NOT_SENT, FailureKind.STANDBY, FailureKind.RETRIABLE}
    assert may_retry(False, kind) == (kind in nothing_done)


@pytest.mark.parametrize("kind", FailureKind)
def test_a_read_is_repeated(kind: FailureKind) -> None:
    """After any failure it may be sent to another NameNode."""
    assert may_retry(True, kind)


def test_a_slow_namenode_is_not_asked_without_end() -> None:
    """There is one more deadline, then the client gets the error."""
    assert may_retry(True, FailureKind.TIMEOUT, timeouts=0)
    assert not may_retry(True, FailureKind.TIMEOUT, timeouts=1)
