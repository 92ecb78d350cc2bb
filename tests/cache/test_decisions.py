"""Which conclusions are shared with requests that joined a flight."""

from nncache.cache.decisions import Conclusion


def test_only_what_was_kept_is_shared() -> None:
    """A request that joined gets a stored or confirmed 200 or 404; otherwise it asks the NameNode itself."""
    assert {conclusion for conclusion in Conclusion if conclusion.is_shareable} == {
        Conclusion.STORED,
        Conclusion.CONFIRMED,
    }
