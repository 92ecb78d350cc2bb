"""Which of several NameNodes that say they are active became so last."""

from math import inf

from nncache.hadoop.claims import Claim, claim_after, latest_of


def claim(after: float, by: float, transition_ms: int = 0) -> Claim:
    """Make a claim of which this is known."""
    return Claim(life=(1, transition_ms), after=after, by=by)


def test_no_claim_is_latest_of_none() -> None:
    """Nobody says that they are active."""
    assert latest_of({}) is None


def test_what_was_seen_beats_the_clocks_of_the_namenodes() -> None:
    """OwnWrites: B was asked after A was known to be active, and was not active yet."""
    claims = {"a": claim(1.0, 2.0, transition_ms=99), "b": claim(3.0, 4.0, transition_ms=1)}
    assert latest_of(claims) == "b"
    assert latest_of(dict(reversed(claims.items()))) == "b"


def test_what_was_not_seen_is_told_by_the_clocks() -> None:
    """Both were active when they were asked first, or B was asked last before A was known to be."""
    assert latest_of({"a": claim(-inf, 2.0, 7), "b": claim(-inf, 1.0, 8)}) == "b"
    assert latest_of({"a": claim(1.0, 2.0, 8), "b": claim(2.0, inf, 7)}) == "a"
    assert latest_of({"a": claim(1.0, inf, 7), "b": claim(3.0, inf, 7)}) == "a", "then by the settings"


def test_only_those_that_none_is_known_to_follow_are_compared_by_clocks() -> None:
    """Of three, one is known to be followed by another."""
    claims = {"a": claim(0.0, 1.0, 99), "b": claim(2.0, 9.0, 5), "c": claim(0.0, 9.0, 6)}
    assert latest_of(claims) == "c"


def test_a_claim_lasts_as_long_as_the_life() -> None:
    """The same start and transition are the same life; it had begun by any question answered so."""
    first = claim_after(None, life=(1, 5), asked_before=2.0, asked_at=3.0, known_by=inf)
    assert first == Claim(life=(1, 5), after=2.0, by=inf)
    again = claim_after(first, life=(1, 5), asked_before=3.0, asked_at=4.0, known_by=4.1)
    assert again == Claim(life=(1, 5), after=2.0, by=4.0)
    assert claim_after(again, life=(1, 5), asked_before=4.0, asked_at=5.0, known_by=5.1) == again
    other = claim_after(again, life=(1, 6), asked_before=4.0, asked_at=5.0, known_by=5.1)
    assert other == Claim(life=(1, 6), after=4.0, by=5.1)
