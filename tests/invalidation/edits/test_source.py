"""The seam between what reads edits and what uses them."""

from nncache.invalidation.edits.poller import PolledEdits
from nncache.invalidation.edits.source import EditsSource
from nncache.invalidation.settings import PollingSettings
from tests.invalidation.fakes import FakeNameNode, FakePool


def test_polling_is_a_source_of_edits() -> None:
    """A publisher is written against the shape; the type checker compares the two here."""
    pool = FakePool(lambda: 0.0, FakeNameNode())
    source: EditsSource = PolledEdits(pool, PollingSettings(), lambda: 0.0)
    assert source.term == 0
    assert source.stats().polls == 0
