"""A request has an id in the logs: the client's own if that is harmless."""

import pytest

from nncache.request_logs.request_id import shown_id


@pytest.mark.parametrize("said", ["7b2c-11", "a" * 128, "00-4bf92f3577b34da6:1/2@h=+~._"])
def test_the_clients_own_id_is_shown(said: str) -> None:
    """So that it is found in the logs of those before and behind."""
    assert shown_id(said) == said


@pytest.mark.parametrize("said", ["", "a" * 129, "a b", 'a"', "a\\", "a\n", "\u00e9", "a\x1b[2J", "a,b"])
def test_any_other_is_replaced(said: str) -> None:
    """By one of its own for each request."""
    made = {shown_id(said) for _ in range(20)}
    assert len(made) == 20
    assert all(len(each) == 16 and int(each, 16) >= 0 for each in made)
