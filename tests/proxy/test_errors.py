"""Errors know the reply that they become."""

from nncache.proxy.errors import OverloadedError, TooManyRequestsError


def test_too_many_requests_say_when_to_come_again() -> None:
    """RFC 6585, section 4; and nothing was sent, so nothing is forgotten."""
    error = TooManyRequestsError("more than 2 calls a second of one caller", 7)
    assert isinstance(error, OverloadedError)
    assert (error.status, error.retry_after_s, str(error)) == (
        429,
        7,
        "more than 2 calls a second of one caller",
    )
    assert TooManyRequestsError("x").retry_after_s == 1
