"""Incarnation: which replies are trusted."""

import pytest

from nncache.invalidation.edits.incarnation import Incarnation


def confirmed(*, has_peers: bool = False) -> Incarnation:
    """Return an incarnation of term 3, confirmed on connection 1."""
    incarnation = Incarnation(3, has_peers=has_peers)
    incarnation.confirmed(1)
    return incarnation


def test_nothing_is_believed_before_it_is_confirmed() -> None:
    """The first reply may come from any process."""
    incarnation = Incarnation(3, has_peers=False)
    assert not incarnation.is_confirmed(0)
    assert not incarnation.may_believe(1, 1)


@pytest.mark.parametrize(
    ("sent_on", "received_on", "believed"),
    [(1, 1, True), (1, 2, False), (2, 2, False), (0, 1, False)],
)
def test_a_reply_is_believed_on_the_confirmed_connection_alone(
    sent_on: int, received_on: int, believed: bool
) -> None:
    """If the connection changed during the call, or after the confirmation, it may lead to another process."""
    assert confirmed().may_believe(sent_on, received_on) is believed


def test_another_connection_is_believed_once_it_is_confirmed() -> None:
    """Reconnecting to the same incarnation loses nothing."""
    incarnation = confirmed()
    incarnation.confirmed(2)
    assert incarnation.may_believe(2, 2)
    assert not incarnation.may_believe(1, 1)


@pytest.mark.parametrize(("active_term", "replaced"), [(3, False), (4, True), (None, False)])
def test_only_another_active_one_ends_the_life(active_term: int | None, replaced: bool) -> None:
    """If the active NameNode is unknown the gate closes after its time, but nothing is forgotten."""
    assert confirmed().is_replaced(active_term) is replaced


@pytest.mark.parametrize(
    ("has_peers", "covered_at", "active_term", "confirmed_as_of", "covered"),
    [
        pytest.param(False, None, 3, 9.0, None, id="the cursor doesn't know"),
        pytest.param(False, 5.0, 4, 9.0, None, id="another term"),
        pytest.param(False, 5.0, 3, 4.0, 5.0, id="alone, the connection is proof enough"),
        pytest.param(False, 5.0, None, None, 5.0, id="alone, also while its web pages are silent"),
        pytest.param(True, 5.0, 4, 9.0, None, id="peers, another term"),
        pytest.param(True, 5.0, None, None, None, id="peers, none or several active"),
        pytest.param(True, 5.0, 3, None, None, id="peers, never confirmed"),
        pytest.param(True, 5.0, 3, 4.0, 4.0, id="peers, not later than confirmed"),
        pytest.param(True, 5.0, 3, 9.0, 5.0, id="peers, not later than polled"),
    ],
)
def test_coverage_is_bounded_by_what_is_known_of_the_others(
    has_peers: bool,
    covered_at: float | None,
    active_term: int | None,
    confirmed_as_of: float | None,
    covered: float | None,
) -> None:
    """An old active that is cut off from its peers may still answer polls while another acknowledges changes."""
    incarnation = confirmed(has_peers=has_peers)
    assert incarnation.fresh_as_of(covered_at, active_term, confirmed_as_of) == covered


def test_a_lost_connection_is_not_believed() -> None:
    """A new connection may lead to the same process or to another: it has to be confirmed first."""
    incarnation = confirmed()
    incarnation.lost()
    assert not incarnation.is_confirmed(1)
    assert not incarnation.may_believe(1, 1)
