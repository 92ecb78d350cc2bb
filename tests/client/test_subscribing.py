"""What applications get: the names, the settings, and how a position is stored. (Real events: tests/stories.)"""

import asyncio

import pytest

import nncache
from nncache.errors import ConfigurationError


def test_what_is_offered_is_there() -> None:
    """By its name alone; anything else is no part of it."""
    assert nncache.MissingEventsError in nncache.PublisherAwayError.__mro__
    assert nncache.MissingEventsError in nncache.ZooKeeperSilentError.__mro__
    assert callable(nncache.subscribe)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = nncache.nothing


@pytest.mark.parametrize(
    "position", [nncache.EventsPosition(7), nncache.EventsPosition(7, "c1"), nncache.EventsPosition(0, "a@b")]
)
def test_a_position_survives_its_storage(position: nncache.EventsPosition) -> None:
    """As text."""
    assert nncache.EventsPosition.parse(str(position)) == position


@pytest.mark.parametrize("text", ["", "@c1", "-1", "x@c1", "1.5"])
def test_what_is_no_position_is_refused(text: str) -> None:
    """With what it should be."""
    with pytest.raises(ValueError, match="a transaction id"):
        nncache.EventsPosition.parse(text)


def test_a_missing_setting_is_named() -> None:
    """Before anything is asked."""
    with pytest.raises(ConfigurationError, match="zookeeper"):
        nncache.subscribe("f", nameservice="ns1")
    with pytest.raises(ConfigurationError, match="nothing_of_ours"):
        nncache.subscribe("f", nameservice="ns1", zookeeper="127.0.0.1:1", nothing_of_ours=1)


def test_events_are_read_inside_of_a_block() -> None:
    """Else nothing would close the session."""
    events = nncache.subscribe("f", nameservice="ns1", zookeeper="127.0.0.1:1")
    with pytest.raises(RuntimeError, match="inside of a block"):
        next(events)
    with pytest.raises(RuntimeError, match="inside of a block"):
        asyncio.run(anext(events))
