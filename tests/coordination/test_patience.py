"""Patience: when a session is given up, and when it is not."""

import pytest

from coordination.patience import HUNG_UP_WITHIN_S, REFUSED_S, Patience

TIMEOUT_S = 6.0


@pytest.fixture
def patience() -> Patience:
    """Return one that has a session, with a connection that is lost at 100."""
    patience = Patience(TIMEOUT_S)
    patience.connected()
    patience.lost(100.0)
    return patience


def test_a_session_is_given_up_when_it_must_have_expired(patience: Patience) -> None:
    """After its timeout without a connection, counted from the loss, whatever else is heard."""
    patience.not_reached()
    patience.lost(105.0)
    assert not patience.is_over(100.0 + TIMEOUT_S)
    assert patience.is_over(100.1 + TIMEOUT_S)


def test_a_connection_ends_the_waiting(patience: Patience) -> None:
    """The next loss is counted anew."""
    patience.connected()
    assert not patience.is_over(200.0)
    patience.lost(200.0)
    assert not patience.is_over(205.0)
    assert patience.is_over(207.0)


def test_without_a_session_there_is_nothing_to_give_up(patience: Patience) -> None:
    """Neither before the first one nor after a server has said that it ended."""
    never = Patience(TIMEOUT_S)
    never.lost(0.0)
    never.reached(0.0)
    never.reached(50.0)
    assert not never.is_over(100.0)
    patience.ended()
    assert not patience.is_over(200.0)


def refuse(patience: Patience, since: float, until: float) -> None:
    """Have servers reached in vain, four times a second."""
    for quarter in range(int(since * 4), int(until * 4) + 1):
        patience.reached(quarter / 4)


def test_a_session_that_is_refused_is_given_up_early(patience: Patience) -> None:
    """Servers are reached and hang up, again and again: so does one that was wiped."""
    refuse(patience, 100.5, 100.25 + REFUSED_S)
    assert not patience.is_over(100.25 + REFUSED_S)
    patience.reached(100.5 + REFUSED_S)
    assert patience.is_over(100.5 + REFUSED_S)


def test_a_refusal_is_forgotten_with_a_connection(patience: Patience) -> None:
    """The next loss is judged anew."""
    refuse(patience, 100.5, 105.0)
    patience.connected()
    patience.lost(105.25)
    refuse(patience, 105.5, 106.0)
    assert not patience.is_over(106.0)


def test_silence_is_no_refusal(patience: Patience) -> None:
    """A server that was reached and did not answer in time has refused nothing, however often."""
    for step in range(4):
        patience.reached(100.5 + 1.1 * HUNG_UP_WITHIN_S * step)
        assert not patience.is_over(105.0)


def test_a_server_that_is_down_in_between_begins_anew(patience: Patience) -> None:
    """It is being restarted, or there is another that may take the session."""
    refuse(patience, 100.5, 102.0)
    patience.not_reached()
    refuse(patience, 102.25, 104.0)
    assert not patience.is_over(104.0)
    refuse(patience, 104.25, 104.25)
    assert patience.is_over(104.25)


def test_a_short_session_is_refused_for_a_shorter_time() -> None:
    """Half its timeout."""
    patience = Patience(1.0)
    patience.connected()
    patience.lost(0.0)
    refuse(patience, 0.25, 0.75)
    assert patience.is_over(0.75)
