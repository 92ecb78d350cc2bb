"""What is shared with those who joined."""

from nncache.cache.decisions import Conclusion


def test_only_what_was_kept_is_shared() -> None:
    """Whoever joined gets a kept 200 or 404; everything else he asks for himself."""
    assert {conclusion for conclusion in Conclusion if conclusion.is_shareable} == {
        Conclusion.STORED,
        Conclusion.CONFIRMED,
    }
