"""News is good unless it says otherwise."""

from nncache.daemons.news import News


def test_news_is_good_by_itself() -> None:
    """A bad state has to be called one."""
    assert not News("the gate is open").is_bad
    assert News("x", is_bad=True) != News("x")
