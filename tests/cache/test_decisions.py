"""What is shared with those who joined."""

from nncache.cache.decisions import Conclusion


def test_only_what_was_kept_is_shared() -> None:
    """A caller who joined gets a kept 200 or 404; for anything else they ask themselves."""
    assert {conclusion for conclusion in Conclusion if conclusion.is_shareable} == {
        Conclusion.STORED,
        Conclusion.CONFIRMED,
    }
