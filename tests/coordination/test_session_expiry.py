"""SessionExpiry: when a session is given up, and when it is not."""

import pytest

from nncache.coordination.session_expiry import HUNG_UP_WITHIN_S, REFUSED_S, SessionExpiry

TIMEOUT_S = 6.0


@pytest.fixture
def expiry() -> SessionExpiry:
    """Return one that has a session, with a connection that is lost at 100."""
    expiry = SessionExpiry(TIMEOUT_S)
    expiry.connected()
    expiry.lost(100.0)
    return expiry


def test_a_session_is_given_up_when_it_must_have_expired(expiry: SessionExpiry) -> None:
    """After its timeout without a connection, counted from the loss, whatever else is heard."""
    expiry.not_reached()
    expiry.lost(105.0)
    assert not expiry.is_over(100.0 + TIMEOUT_S)
    assert expiry.is_over(100.1 + TIMEOUT_S)


def test_a_connection_ends_the_waiting(expiry: SessionExpiry) -> None:
    """The next loss is counted anew."""
    expiry.connected()
    assert not expiry.is_over(200.0)
    expiry.lost(200.0)
    assert not expiry.is_over(205.0)
    assert expiry.is_over(207.0)


def test_without_a_session_there_is_nothing_to_give_up(expiry: SessionExpiry) -> None:
    """Neither before the first one nor after a server has said that it ended."""
    never = SessionExpiry(TIMEOUT_S)
    never.lost(0.0)
    never.reached(0.0)
    never.reached(50.0)
    assert not never.is_over(100.0)
    expiry.ended()
    assert not expiry.is_over(200.0)


def refuse(expiry: SessionExpiry, since: float, until: float) -> None:
    """Have servers reached in vain, four times a second."""
    for quarter in range(int(since * 4), int(until * 4) + 1):
        expiry.reached(quarter / 4)


def test_a_session_that_is_refused_is_given_up_early(expiry: SessionExpiry) -> None:
    """Servers are reached and hang up, again and again: so does one that was wiped."""
    refuse(expiry, 100.5, 100.25 + REFUSED_S)
    assert not expiry.is_over(100.25 + REFUSED_S)
    expiry.reached(100.5 + REFUSED_S)
    assert expiry.is_over(100.5 + REFUSED_S)


def test_a_refusal_is_forgotten_with_a_connection(expiry: SessionExpiry) -> None:
    """The next loss is judged anew."""
    refuse(expiry, 100.5, 105.0)
    expiry.connected()
    expiry.lost(105.25)
    refuse(expiry, 105.5, 106.0)
    assert not expiry.is_over(106.0)


def test_silence_is_no_refusal(expiry: SessionExpiry) -> None:
    """A server that was reached and did not answer in time has refused nothing, however often."""
    for step in range(4):
        expiry.reached(100.5 + 1.1 * HUNG_UP_WITHIN_S * step)
        assert not expiry.is_over(105.0)


def test_a_server_that_is_down_in_between_begins_anew(expiry: SessionExpiry) -> None:
    """It is being restarted, or there is another that may take the session."""
    refuse(expiry, 100.5, 102.0)
    expiry.not_reached()
    refuse(expiry, 102.25, 104.0)
    assert not expiry.is_over(104.0)
    refuse(expiry, 104.25, 104.25)
    assert expiry.is_over(104.25)


def test_a_short_session_is_refused_for_a_shorter_time() -> None:
    """Half its timeout."""
    expiry = SessionExpiry(1.0)
    expiry.connected()
    expiry.lost(0.0)
    refuse(expiry, 0.25, 0.75)
    assert expiry.is_over(0.75)
