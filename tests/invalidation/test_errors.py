"""The error tree of the room."""

from nncache.invalidation.errors import (
    ChannelUnavailableError,
    GapKind,
    InvalidationError,
    MissingEventsError,
    NotPermittedError,
    UnreadableEditsError,
)


def test_a_gap_is_no_outage() -> None:
    """A gap costs all that was learnt, an outage nothing: nobody may catch one as the other."""
    assert not issubclass(MissingEventsError, ChannelUnavailableError)
    assert not issubclass(ChannelUnavailableError, MissingEventsError)


def test_there_is_one_tree() -> None:
    """A supervisor catches all of them by the root."""
    for error in (MissingEventsError, ChannelUnavailableError, NotPermittedError, UnreadableEditsError):
        assert issubclass(error, InvalidationError)


def test_a_gap_is_a_value() -> None:
    """Whoever goes on behind a gap (a publisher, a subscriber) reads no text."""
    purged = MissingEventsError("purged", GapKind.PURGED, first_txid=5, last_txid=9)
    assert (purged.kind, purged.first_txid, purged.last_txid) == (GapKind.PURGED, 5, 9)
    assert MissingEventsError("another active NameNode").kind is GapKind.OTHER
