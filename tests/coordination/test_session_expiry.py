"""SessionExpiry: when a session is abandoned, and when it is not."""

import pytest

from nncache.coordination.session_expiry import HUNG_UP_WITHIN_S, REFUSED_S, SessionExpiry

TIMEOUT_S = 6.0


@pytest.fixture
def expiry() -> SessionExpiry:
    """Return an expiry with a session whose connection is lost at 100."""
    expiry = SessionExpiry(TIMEOUT_S)
    expiry.connected()
    expiry.lost(100.0)
    return expiry


def test_a_session_is_given_up_when_it_must_have_expired(expiry: SessionExpiry) -> None:
    """The timeout counts from the loss of the connection, whatever happens in between."""
    expiry.not_reached()
    expiry.lost(105.0)
    assert not expiry.is_over(100.0 + TIMEOUT_S)
    assert expiry.is_over(100.1 + TIMEOUT_S)


def test_a_connection_ends_the_waiting(expiry: SessionExpiry) -> None:
    """The next loss starts a new count."""
    expiry.connected()
    assert not expiry.is_over(200.0)
    expiry.lost(200.0)
    assert not expiry.is_over(205.0)
    assert expiry.is_over(207.0)


def test_without_a_session_there_is_nothing_to_give_up(expiry: SessionExpiry) -> None:
    """There is none before the first session, and none after a server has reported its end."""
    never = SessionExpiry(TIMEOUT_S)
    never.lost(0.0)
    never.reached(0.0)
    never.reached(50.0)
    assert not never.is_over(100.0)
    expiry.ended()
    assert not expiry.is_over(200.0)


def refuse(expiry: SessionExpiry, since: float, until: float) -> None:
    """Report servers that are reached but grant no session, four times a second."""
    for quarter in range(int(since * 4), int(until * 4) + 1):
        expiry.reached(quarter / 4)


def test_a_session_that_is_refused_is_given_up_early(expiry: SessionExpiry) -> None:
    """A wiped server accepts connections and hangs up, again and again."""
    refuse(expiry, 100.5, 100.25 + REFUSED_S)
    assert not expiry.is_over(100.25 + REFUSED_S)
    expiry.reached(100.5 + REFUSED_S)
    assert expiry.is_over(100.5 + REFUSED_S)


def test_a_refusal_is_forgotten_with_a_connection(expiry: SessionExpiry) -> None:
    """The next loss starts a new count."""
    refuse(expiry, 100.5, 105.0)
    expiry.connected()
    expiry.lost(105.25)
    refuse(expiry, 105.5, 106.0)
    assert not expiry.is_over(106.0)


def test_silence_is_no_refusal(expiry: SessionExpiry) -> None:
    """A server that was reached but did not answer in time has not refused, however often."""
    for step in range(4):
        expiry.reached(100.5 + 1.1 * HUNG_UP_WITHIN_S * step)
        assert not expiry.is_over(105.0)


def test_a_server_that_is_down_in_between_begins_anew(expiry: SessionExpiry) -> None:
    """The count restarts: the server is being restarted, or another one may accept the session."""
    refuse(expiry, 100.5, 102.0)
    expiry.not_reached()
    refuse(expiry, 102.25, 104.0)
    assert not expiry.is_over(104.0)
    refuse(expiry, 104.25, 104.25)
    assert expiry.is_over(104.25)


def test_a_short_session_is_refused_for_a_shorter_time() -> None:
    """A session is abandoned after half its timeout, if that is shorter."""
    expiry = SessionExpiry(1.0)
    expiry.connected()
    expiry.lost(0.0)
    refuse(expiry, 0.25, 0.75)
    assert expiry.is_over(0.75)
