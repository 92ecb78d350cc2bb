"""The active NameNode, according to what each NameNode reports."""

from math import inf

import pytest

from nncache.hadoop.election_view import (
    Active,
    Claim,
    ElectionView,
    HaState,
    Journal,
    NameNode,
    Probe,
    ProbeReply,
    claim_after,
    latest_of,
)
from nncache.hadoop.namespace import Namespace

A = NameNode("a:9870", "a:8020")
B = NameNode("b:9870", "b:8020")
ONE, TWO = Namespace("CID-1", "BP-1"), Namespace("CID-1", "BP-2")


def says(state: HaState, *, started: int = 1, transition: int = 0) -> ProbeReply:
    """Return a reply to a probe."""
    return ProbeReply(state=state, started_ms=started, transition_ms=transition)


ACTIVE = says(HaState.ACTIVE)
STANDBY = says(HaState.STANDBY)


@pytest.fixture
def pair() -> ElectionView:
    """Return a view of an HA pair in which A is active with term 1, as of 10."""
    view = ElectionView((A, B))
    view.answered(A, 10.0, ACTIVE)
    view.answered(B, 10.5, STANDBY)
    return view


def term_of(view: ElectionView) -> int | None:
    """Return the term of the active NameNode."""
    return None if view.active is None else view.active.term


def test_a_single_namenode_is_active_when_it_says_so() -> None:
    """Without HA the state is "active", and the time of the probe itself confirms it."""
    view = ElectionView((A,))
    assert (term_of(view), view.confirmed_as_of) == (None, None)
    view.answered(A, 10.0, ACTIVE)
    assert view.active == Active(namenode=A, started_ms=1, transition_ms=0, term=1)
    assert view.confirmed_as_of == 10.0
    view.answered(A, 11.0, ACTIVE)
    assert term_of(view) == 1
    assert view.confirmed_as_of == 11.0


def test_nobody_is_active_before_everyone_was_asked() -> None:
    """At startup the other NameNode may be active, while the first one wrongly believes that it is."""
    view = ElectionView((A, B))
    view.answered(A, 10.0, ACTIVE)
    assert view.active is None
    view.failed(B)
    assert term_of(view) == 1


def test_a_standby_that_cannot_be_reached_does_not_matter(pair: ElectionView) -> None:
    """After one unanswered probe the view ignores it; nothing waits for it."""
    pair.failed(B)
    pair.answered(A, 12.0, ACTIVE)
    assert term_of(pair) == 1
    assert pair.confirmed_as_of == 12.0


def test_two_that_say_active_are_none(pair: ElectionView) -> None:
    """The gate must close, and nothing that either served meanwhile is trusted: the next term is new."""
    pair.answered(B, 11.0, ACTIVE)
    assert pair.active is None
    assert pair.confirmed_as_of is None
    pair.answered(B, 12.0, STANDBY)
    assert term_of(pair) == 2


def test_another_takes_over_when_the_old_one_cannot_be_reached(pair: ElectionView) -> None:
    """It was killed or cut off: another one's claim counts after two unanswered probes of the old one."""
    pair.failed(A)
    assert term_of(pair) == 1, "one pause is no end"
    pair.failed(A)
    assert term_of(pair) is None
    pair.answered(B, 12.0, says(HaState.ACTIVE, transition=12))
    assert pair.active == Active(namenode=B, started_ms=1, transition_ms=12, term=2)
    assert pair.confirmed_as_of == 12.0


def test_another_that_is_active_already_need_not_wait(pair: ElectionView) -> None:
    """When two claim to be active and the old one is unreachable, one unanswered probe decides."""
    pair.answered(B, 12.0, says(HaState.ACTIVE, transition=12))
    pair.failed(A)
    assert pair.active is not None
    assert pair.active.namenode == B


def test_silence_of_all_ends_no_term(pair: ElectionView) -> None:
    """The same NameNode in the same life is seen again: no other was active in between."""
    pair.failed(A)
    pair.failed(A)
    assert pair.active is None
    pair.answered(A, 20.0, ACTIVE)
    assert term_of(pair) == 1


@pytest.mark.parametrize("how", [{"started": 2}, {"transition": 11}], ids=["restarted", "away and back"])
def test_another_life_is_a_new_term(pair: ElectionView, how: dict[str, int]) -> None:
    """What the old process showed may not be in the log; only the transition time shows a failover and back."""
    pair.answered(A, 12.0, says(HaState.ACTIVE, **how))
    assert term_of(pair) == pair.term == 2


def test_an_answer_that_comes_late_is_ignored(pair: ElectionView) -> None:
    """Replies count in the order of their probes."""
    pair.answered(A, 12.0, STANDBY)
    pair.answered(A, 11.0, ACTIVE)
    assert pair.active is None


def test_ownwrites_an_observer_is_one_until_it_says_otherwise(pair: ElectionView) -> None:
    """An unreachable observer does not become a standby: it may still answer WebHDFS from an old log."""
    assert not pair.is_observer(B)
    pair.answered(B, 11.0, says(HaState.OBSERVER))
    pair.failed(B)
    assert pair.is_observer(B)
    pair.answered(B, 12.0, STANDBY)
    assert not pair.is_observer(B)


def test_it_tells_who_can_be_reached(pair: ElectionView) -> None:
    """The last state of each; None without a reply."""
    pair.failed(B)
    assert pair.is_reachable(A)
    assert not pair.is_reachable(B)
    assert (pair.state_of(A), pair.state_of(B)) == (HaState.ACTIVE, None)


# -- the position of the log


def wrote(
    last_txid: int, asked_at: float, *, state: HaState = HaState.ACTIVE, started: int = 1, transition: int = 0
) -> ProbeReply:
    """Return a reply to a probe sent at `asked_at`, with a journal query a moment later."""
    journal = Journal(last_txid=last_txid, asked_at=asked_at + 0.01)
    return ProbeReply(
        state=state, started_ms=started, transition_ms=transition, namespace=ONE, journal=journal
    )


def probe(as_of: float, txid: int, asked_at: float, term: int = 1) -> Probe:
    """Return the probe for a reply that `wrote` made for `asked_at`."""
    return Probe(as_of=as_of, txid=txid, asked_at=asked_at + 0.01, term=term)


def last_probe_of(view: ElectionView) -> Probe | None:
    """Return the present probe."""
    return view.last_probe


def test_it_is_known_as_of_the_oldest_answer() -> None:
    """Bounded: the NameNode probed longest ago might have become active since, and acknowledged a change."""
    view = ElectionView((A, B))
    view.answered(A, 10.0, wrote(100, 10.0))
    assert last_probe_of(view) is None, "B may be the active one"
    view.answered(B, 10.5, wrote(90, 10.5, state=HaState.STANDBY))
    assert view.last_probe == probe(10.0, 100, 10.0)
    view.answered(A, 11.0, wrote(120, 11.0))
    assert view.last_probe == probe(10.5, 120, 11.0)
    view.answered(B, 11.5, wrote(110, 11.5, state=HaState.STANDBY))
    assert view.last_probe == probe(11.0, 120, 11.0)


def test_the_last_confirmed_number_is_kept() -> None:
    """It is equally valid, and reached sooner: changes continue while a standby does not answer."""
    view = ElectionView((A, B))
    view.answered(B, 10.0, wrote(90, 10.0, state=HaState.STANDBY))
    view.answered(A, 10.0, wrote(100, 10.0))
    view.answered(A, 11.0, wrote(120, 11.0))
    assert (view.confirmed_as_of, view.last_probe) == (10.0, probe(10.0, 100, 10.0))
    view.failed(B)
    assert (view.confirmed_as_of, view.last_probe) == (11.0, probe(11.0, 120, 11.0))


def test_without_a_journal_only_the_position_is_unknown(pair: ElectionView) -> None:
    """In an unknown release the active NameNode is known, but not the position of its log."""
    assert (term_of(pair), pair.confirmed_as_of, pair.last_probe) == (1, 10.0, None)
    pair.answered(A, 12.0, wrote(100, 12.0))
    assert pair.last_probe == probe(10.5, 100, 12.0)
    pair.answered(B, 12.5, STANDBY)
    assert pair.last_probe == probe(12.0, 100, 12.0)
    pair.answered(A, 13.0, ACTIVE)
    assert (pair.confirmed_as_of, pair.last_probe) == (12.5, probe(12.0, 100, 12.0))


def test_a_standby_ahead_contradicts_the_active_one() -> None:
    """Bounded: some NameNode acknowledged a change unknown to the active one; coverage ends there."""
    view = ElectionView((A, B))
    assert view.last_txid_of_others(A) == 0
    view.answered(B, 10.0, wrote(101, 10.0, state=HaState.STANDBY))
    assert (view.last_txid_of_others(A), view.last_txid_of_others(B)) == (101, 0)
    view.answered(A, 10.2, wrote(100, 10.2), others_had=101)
    assert (view.confirmed_as_of, view.last_probe, view.contradictions) == (10.0, None, 1)
    view.answered(B, 11.0, wrote(101, 11.0, state=HaState.STANDBY), others_had=100)
    assert (view.confirmed_as_of, view.last_probe, view.contradictions) == (10.2, None, 2)
    view.answered(A, 11.2, wrote(101, 11.2), others_had=101)
    assert last_probe_of(view) == probe(11.0, 101, 11.2), "now it knows as much"
    view.answered(B, 12.0, wrote(103, 12.0, state=HaState.STANDBY), others_had=101)
    assert last_probe_of(view) == probe(11.2, 101, 11.2), "it has written more since"
    view.answered(A, 12.2, wrote(102, 12.2), others_had=103)
    assert last_probe_of(view) == probe(11.2, 101, 11.2)
    view.failed(B)
    assert view.last_txid_of_others(A) == 0, "who cannot be reached says nothing"


def test_a_standby_that_answered_later_may_be_ahead() -> None:
    """The log may have grown between the two probes, and the standby followed."""
    view = ElectionView((A, B))
    view.answered(B, 10.0, wrote(105, 10.0, state=HaState.STANDBY))
    view.answered(A, 10.0, wrote(100, 10.0), others_had=0)
    assert (view.last_probe, view.contradictions) == (probe(10.0, 100, 10.0), 0)


def test_which_namespace_it_serves_may_be_reported_later() -> None:
    """It is reported by the same process in the same term."""
    view = ElectionView((A,))
    view.answered(A, 10.0, ACTIVE)
    assert view.active is not None
    assert view.active.namespace is None
    view.answered(A, 11.0, wrote(1, 11.0))
    assert view.active == Active(namenode=A, started_ms=1, transition_ms=0, term=1, namespace=ONE)
    view.answered(A, 12.0, ACTIVE)
    assert view.active.namespace == ONE


def test_namenodes_of_different_namespaces_confirm_nothing() -> None:
    """Bounded: one address in the settings is another cluster's; the active one is queried, the gate stays closed."""
    view = ElectionView((A, B))
    view.answered(A, 10.0, wrote(100, 10.0))
    view.answered(B, 10.5, ProbeReply(state=HaState.STANDBY, started_ms=1, transition_ms=0, namespace=TWO))
    assert (term_of(view), view.confirmed_as_of, view.last_probe) == (1, None, None)
    assert view.disagreement.startswith(
        "a:9870 serves namespace BP-1 of cluster CID-1, b:9870 serves namespace BP-2"
    )
    assert "--namenode-http" in view.disagreement
    view.answered(B, 11.0, STANDBY)
    assert view.disagreement == "", "who does not say may say the same"
    assert view.confirmed_as_of == 10.0
    view.answered(B, 12.0, ProbeReply(state=HaState.STANDBY, started_ms=1, transition_ms=0, namespace=TWO))
    view.failed(B)
    assert view.disagreement == "", "who cannot be reached serves nobody"
    assert view.confirmed_as_of == 10.0


# -- several NameNodes that claim to be active


def claimant_of(view: ElectionView) -> NameNode | None:
    """Return the NameNode that serves reads."""
    return view.claimant


def test_reads_go_to_the_one_that_became_active_last() -> None:
    """OwnWrites: B became active after A, so A is about to be fenced; their clocks do not count."""
    view = ElectionView((A, B))
    assert claimant_of(view) is None
    view.answered(A, 10.0, wrote(1, 10.0, transition=99))
    assert claimant_of(view) == A, "the only one so far"
    view.answered(B, 10.5, STANDBY)
    view.failed(A)
    view.failed(A)
    assert claimant_of(view) is None
    view.answered(B, 13.0, says(HaState.ACTIVE, transition=1))
    view.answered(A, 14.0, says(HaState.ACTIVE, transition=99))
    assert view.active is None
    assert claimant_of(view) == B
    view.answered(B, 15.0, STANDBY)
    assert claimant_of(view) == A


def claim(after: float, by: float, transition_ms: int = 0) -> Claim:
    """Return a claim with these times."""
    return Claim(life=(1, transition_ms), after=after, by=by)


def test_what_was_seen_beats_the_clocks_of_the_namenodes() -> None:
    """OwnWrites: B was probed after A was known to be active, and was not yet active."""
    claims = {"a": claim(1.0, 2.0, transition_ms=99), "b": claim(3.0, 4.0, transition_ms=1)}
    assert latest_of(claims) == "b"
    assert latest_of(dict(reversed(claims.items()))) == "b"


def test_what_was_not_seen_is_decided_by_the_clocks() -> None:
    """Both were active at the first probe, or B's last probe came before A was known to be active."""
    assert latest_of({"a": claim(-inf, 2.0, 7), "b": claim(-inf, 1.0, 8)}) == "b"
    assert latest_of({"a": claim(1.0, 2.0, 8), "b": claim(2.0, inf, 7)}) == "a"
    assert latest_of({"a": claim(1.0, inf, 7), "b": claim(3.0, inf, 7)}) == "a", "then by the settings"


def test_clocks_compare_only_claims_without_a_successor() -> None:
    """Of three claims, one is known to be older than another."""
    claims = {"a": claim(0.0, 1.0, 99), "b": claim(2.0, 9.0, 5), "c": claim(0.0, 9.0, 6)}
    assert latest_of(claims) == "c"


def test_a_claim_lasts_as_long_as_the_life() -> None:
    """Equal start and transition times are one life; it began before any probe with that reply."""
    first = claim_after(None, life=(1, 5), asked_before=2.0, asked_at=3.0, known_by=inf)
    assert first == Claim(life=(1, 5), after=2.0, by=inf)
    again = claim_after(first, life=(1, 5), asked_before=3.0, asked_at=4.0, known_by=4.1)
    assert again == Claim(life=(1, 5), after=2.0, by=4.0)
    assert claim_after(again, life=(1, 5), asked_before=4.0, asked_at=5.0, known_by=5.1) == again
    other = claim_after(again, life=(1, 6), asked_before=4.0, asked_at=5.0, known_by=5.1)
    assert other == Claim(life=(1, 6), after=4.0, by=5.1)
