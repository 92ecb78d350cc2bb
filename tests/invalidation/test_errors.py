"""The error tree of the room."""

from invalidation.errors import (
    ChannelUnavailableError,
    InvalidationError,
    MissingEventsError,
    NotPermittedError,
)


def test_a_gap_is_no_outage() -> None:
    """A gap costs all that was learnt, an outage nothing: nobody may catch one as the other."""
    assert not issubclass(MissingEventsError, ChannelUnavailableError)
    assert not issubclass(ChannelUnavailableError, MissingEventsError)


def test_there_is_one_tree() -> None:
    """A supervisor catches all of them by the root."""
    for error in (MissingEventsError, ChannelUnavailableError, NotPermittedError):
        assert issubclass(error, InvalidationError)
