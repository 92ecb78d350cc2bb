"""Who is active, from what each NameNode says of itself."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hadoop.election_view import Active, Answer, ElectionView, Journal, NameNode, Probe
from hadoop.ha_state import HaState

A = NameNode("a:9870", "a:8020")
B = NameNode("b:9870", "b:8020")


def says(state: HaState, *, started: int = 1, transition: int = 0) -> Answer:
    """Make an answer."""
    return Answer(state=state, started_ms=started, transition_ms=transition)


ACTIVE = says(HaState.ACTIVE)
STANDBY = says(HaState.STANDBY)


def pair() -> ElectionView:
    """Make a view of an HA pair in which A is active with term 1, as of 10."""
    view = ElectionView((A, B))
    view.answered(A, 10.0, ACTIVE)
    view.answered(B, 10.5, STANDBY)
    return view


def term_of(view: ElectionView) -> int | None:
    """Return the term of the active NameNode."""
    return None if view.active is None else view.active.term


def test_a_single_namenode_is_active_when_it_says_so() -> None:
    """Without HA the state is "active", and the probe's own time confirms it."""
    view = ElectionView((A,))
    assert (term_of(view), view.confirmed_as_of) == (None, None)
    view.answered(A, 10.0, ACTIVE)
    assert view.active == Active(namenode=A, started_ms=1, transition_ms=0, term=1)
    assert view.confirmed_as_of == 10.0
    view.answered(A, 11.0, ACTIVE)
    assert term_of(view) == 1
    assert view.confirmed_as_of == 11.0


def test_nobody_is_active_before_everyone_was_asked() -> None:
    """At the start the other one may be the active one, and the first only believe that it is."""
    view = ElectionView((A, B))
    view.answered(A, 10.0, ACTIVE)
    assert view.active is None
    view.failed(B)
    assert term_of(view) == 1


def test_it_is_confirmed_as_of_the_oldest_answer() -> None:
    """The one that was asked longest ago bounds what is known."""
    view = pair()
    assert view.confirmed_as_of == 10.0
    view.answered(A, 12.0, ACTIVE)
    assert view.confirmed_as_of == 10.5


def test_a_standby_that_cannot_be_reached_does_not_matter() -> None:
    """One unanswered probe and it is left out; nothing waits for it."""
    view = pair()
    view.failed(B)
    view.answered(A, 12.0, ACTIVE)
    assert term_of(view) == 1
    assert view.confirmed_as_of == 12.0


def test_two_that_say_active_are_none() -> None:
    """The gate must close, and what either served meanwhile is worth nothing: the next term is a new one."""
    view = pair()
    view.answered(B, 11.0, ACTIVE)
    assert view.active is None
    assert view.confirmed_as_of is None
    view.answered(B, 12.0, STANDBY)
    assert term_of(view) == 2


def test_another_takes_over_when_the_old_one_cannot_be_reached() -> None:
    """Killed or cut off: what another says counts, once the old one has failed to answer twice."""
    view = pair()
    view.failed(A)
    assert term_of(view) == 1, "one pause is no end"
    view.failed(A)
    assert term_of(view) is None
    view.answered(B, 12.0, says(HaState.ACTIVE, transition=12))
    assert view.active == Active(namenode=B, started_ms=1, transition_ms=12, term=2)
    assert view.confirmed_as_of == 12.0


def test_another_that_is_active_already_need_not_wait() -> None:
    """When two claim and the old one cannot be reached, one unanswered probe decides."""
    view = pair()
    view.answered(B, 12.0, says(HaState.ACTIVE, transition=12))
    view.failed(A)
    assert view.active is not None
    assert view.active.namenode == B


def test_silence_of_all_ends_no_term() -> None:
    """The same NameNode in the same life, seen again: nobody else was active in between."""
    view = pair()
    view.failed(A)
    view.failed(A)
    assert view.active is None
    view.answered(A, 20.0, ACTIVE)
    assert term_of(view) == 1


def test_a_restart_is_a_new_term() -> None:
    """State that the old process showed may never have reached the log."""
    view = pair()
    view.answered(A, 12.0, says(HaState.ACTIVE, started=2))
    assert term_of(view) == 2


def test_away_and_back_is_a_new_term() -> None:
    """Standby and active again between two probes shows in the time of the transition alone."""
    view = pair()
    view.answered(A, 12.0, says(HaState.ACTIVE, transition=11))
    assert term_of(view) == 2


def test_a_demotion_that_was_seen_ends_the_term() -> None:
    """Even if the time of the transition should not move."""
    view = pair()
    view.answered(A, 12.0, STANDBY)
    assert view.active is None
    view.answered(A, 13.0, ACTIVE)
    assert term_of(view) == 2


def test_an_answer_that_comes_late_is_ignored() -> None:
    """Answers count in the order of their questions."""
    view = pair()
    view.answered(A, 12.0, STANDBY)
    view.answered(A, 11.0, ACTIVE)
    assert view.active is None


def test_an_observer_is_not_active() -> None:
    """It answers reads, and may lag behind."""
    view = ElectionView((A, B))
    view.answered(A, 10.0, says(HaState.OBSERVER))
    view.answered(B, 10.0, ACTIVE)
    assert view.active is not None
    assert view.active.namenode == B


def test_it_tells_who_can_be_reached() -> None:
    """What each said last, None without an answer."""
    view = pair()
    view.failed(B)
    assert view.is_reachable(A)
    assert not view.is_reachable(B)
    assert (view.state_of(A), view.state_of(B)) == (HaState.ACTIVE, None)


# -- how far the log had come


def wrote(last_txid: int, asked_at: float, *, state: HaState = HaState.ACTIVE, started: int = 1) -> Answer:
    """Make an answer to a probe sent at `asked_at`, with a journal asked for a moment later."""
    journal = Journal(last_txid=last_txid, asked_at=asked_at + 0.01)
    return Answer(state=state, started_ms=started, transition_ms=0, block_pool="BP-1", journal=journal)


def probe(as_of: float, txid: int, asked_at: float, term: int = 1) -> Probe:
    """Make a probe of an answer that `wrote` made for `asked_at`."""
    return Probe(as_of=as_of, txid=txid, asked_at=asked_at + 0.01, term=term)


def last_probe_of(view: ElectionView) -> Probe | None:
    """Return what is known now."""
    return view.last_probe


def test_a_single_namenode_confirms_by_itself_how_far_its_log_had_come() -> None:
    """Bounded: as of its own probe; the log was asked about later, so nothing acknowledged before is beyond it."""
    view = ElectionView((A,))
    assert last_probe_of(view) is None
    view.answered(A, 10.0, wrote(100, 10.0))
    assert view.last_probe == probe(10.0, 100, 10.0)
    view.answered(A, 11.0, wrote(120, 11.0))
    assert last_probe_of(view) == probe(11.0, 120, 11.0)
    assert view.contradictions == 0


def test_it_is_known_as_of_the_oldest_answer() -> None:
    """Bounded: whoever was asked longest ago might have become active since, and acknowledged something."""
    view = ElectionView((A, B))
    view.answered(A, 10.0, wrote(100, 10.0))
    assert last_probe_of(view) is None, "B may be the active one"
    view.answered(B, 10.5, wrote(90, 10.5, state=HaState.STANDBY))
    assert view.last_probe == probe(10.0, 100, 10.0)
    view.answered(A, 11.0, wrote(120, 11.0))
    assert view.last_probe == probe(10.5, 120, 11.0)
    view.answered(B, 11.5, wrote(110, 11.5, state=HaState.STANDBY))
    assert view.last_probe == probe(11.0, 120, 11.0)


def test_the_earlier_number_is_kept_while_nothing_more_is_confirmed() -> None:
    """It is as true, and sooner reached: changes go on while a standby does not answer."""
    view = ElectionView((A, B))
    view.answered(B, 10.0, wrote(90, 10.0, state=HaState.STANDBY))
    view.answered(A, 10.0, wrote(100, 10.0))
    view.answered(A, 11.0, wrote(120, 11.0))
    assert (view.confirmed_as_of, view.last_probe) == (10.0, probe(10.0, 100, 10.0))
    view.failed(B)
    assert (view.confirmed_as_of, view.last_probe) == (11.0, probe(11.0, 120, 11.0))


def test_without_a_journal_nothing_is_known_and_all_else_is_as_before() -> None:
    """A release that is not understood: the active one is known, how far its log had come is not."""
    view = pair()
    assert (term_of(view), view.confirmed_as_of, view.last_probe) == (1, 10.0, None)
    view.answered(A, 12.0, wrote(100, 12.0))
    assert view.last_probe == probe(10.5, 100, 12.0)
    view.answered(B, 12.5, STANDBY)
    assert view.last_probe == probe(12.0, 100, 12.0)
    view.answered(A, 13.0, ACTIVE)
    assert (view.confirmed_as_of, view.last_probe) == (12.5, probe(12.0, 100, 12.0))


def test_a_standby_that_was_ahead_before_the_active_one_was_asked_contradicts_it() -> None:
    """Bounded: somebody has acknowledged what the active one does not know of; nothing more is covered."""
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
    """The log may have grown between the two questions, and it has followed."""
    view = ElectionView((A, B))
    view.answered(B, 10.0, wrote(105, 10.0, state=HaState.STANDBY))
    view.answered(A, 10.0, wrote(100, 10.0), others_had=0)
    assert (view.last_probe, view.contradictions) == (probe(10.0, 100, 10.0), 0)


def test_what_was_known_of_another_term_is_worth_nothing() -> None:
    """GapFlush: a restarted log may have lost what was written; silence, and two that claim, prove nothing."""
    view = ElectionView((A,))
    view.answered(A, 10.0, wrote(100, 10.0))
    view.answered(A, 11.0, says(HaState.ACTIVE, started=2))
    assert (term_of(view), view.last_probe) == (2, None)
    view.answered(A, 12.0, wrote(90, 12.0, started=2))
    assert view.last_probe == probe(12.0, 90, 12.0, term=2)
    view.failed(A)
    assert view.last_probe is not None
    view.failed(A)
    assert term_of(view) is None
    assert last_probe_of(view) is None
    view.answered(A, 13.0, wrote(95, 13.0, started=2))
    assert view.last_probe == probe(13.0, 95, 13.0, term=2)


def test_which_namespace_it_serves_may_be_said_later() -> None:
    """By the same process in the same term."""
    view = ElectionView((A,))
    view.answered(A, 10.0, ACTIVE)
    assert view.active is not None
    assert view.active.block_pool == ""
    view.answered(A, 11.0, wrote(1, 11.0))
    assert view.active == Active(namenode=A, started_ms=1, transition_ms=0, term=1, block_pool="BP-1")
    view.answered(A, 12.0, ACTIVE)
    assert view.active.block_pool == "BP-1"


class AnyHistory(RuleBasedStateMachine):
    """Whatever the NameNodes say, and in whatever order, the invariants of ElectionView hold."""

    def __init__(self) -> None:
        super().__init__()
        self.view = ElectionView((A, B))
        self.now = 10.0
        self.said: dict[NameNode, tuple[float, Answer | None]] = {}  # asked at, and None for no answer
        self.last_term = 0
        self.lives: dict[int, tuple[NameNode, int, int]] = {}  # term -> who
        self.last_confirmed: dict[int, float] = {}  # term -> time
        self.contradicted = 0  # the highest term that a contradiction ended
        self.log = 100  # the last transaction that anybody has acknowledged
        self.log_at: list[tuple[float, int]] = [(0.0, 100)]  # since when it was which
        self.last_probes: dict[int, Probe] = {}  # term -> the latest

    @rule(
        namenode=st.sampled_from((A, B)),
        state=st.sampled_from(HaState),
        started=st.integers(1, 2),
        transition=st.integers(0, 2),
        delay=st.sampled_from((0.0, 0.0, 1.5)),
        lag=st.sampled_from((0, 0, 3, None)),
    )
    def answered(
        self, namenode: NameNode, state: HaState, started: int, transition: int, delay: float, lag: int | None
    ) -> None:
        """Let an answer arrive, perhaps late; who is active knows the whole log."""
        self.now += 1.0
        asked_at = self.now - delay
        journal = None
        if lag is not None:
            written = next(txid for at, txid in reversed(self.log_at) if at <= asked_at)
            last_txid = written if state is HaState.ACTIVE else written - lag
            journal = Journal(last_txid=last_txid, asked_at=asked_at)
        answer = Answer(state=state, started_ms=started, transition_ms=transition, journal=journal)
        if asked_at >= self.said.get(namenode, (0.0, None))[0]:
            self.said[namenode] = asked_at, answer
        others_had = 0 if delay else self.view.last_txid_of_others(namenode)
        self.view.answered(namenode, asked_at, answer, others_had=others_had)

    @rule()
    def write(self) -> None:
        """Let a change be acknowledged."""
        self.now += 1.0
        self.log += 1
        self.log_at.append((self.now, self.log))

    @rule(namenode=st.sampled_from((A, B)))
    def failed(self, namenode: NameNode) -> None:
        """Let a probe fail."""
        self.now += 1.0
        self.said.setdefault(namenode, (0.0, None))
        self.view.failed(namenode)

    @invariant()
    def the_active_one_is_the_only_one_that_says_so(self) -> None:
        """I1."""
        if (active := self.view.active) is None:
            assert self.view.confirmed_as_of is None
            return
        assert set(self.said) == {A, B}
        assert self.view.state_of(active.namenode) is HaState.ACTIVE
        for other in {A, B} - {active.namenode}:
            assert self.view.state_of(other) is not HaState.ACTIVE
        _, answer = self.said[active.namenode]
        assert answer is not None
        assert (answer.started_ms, answer.transition_ms) == (active.started_ms, active.transition_ms)

    @invariant()
    def what_is_confirmed_was_asked_then_or_later(self) -> None:
        """I2: no reachable NameNode was asked earlier, and it never goes back within a term."""
        active, as_of = self.view.active, self.view.confirmed_as_of
        if active is None or as_of is None:
            return
        for namenode in (A, B):
            if self.view.is_reachable(namenode) and namenode == active.namenode:
                assert as_of <= self.said[namenode][0]
        assert as_of >= self.last_confirmed.get(active.term, as_of)
        self.last_confirmed[active.term] = as_of

    @invariant()
    def a_term_is_one_life_of_one_namenode(self) -> None:
        """I3: terms only grow, and each stands for one life that no contradiction has ended."""
        claims = [n for n in (A, B) if self.view.state_of(n) is HaState.ACTIVE]
        latest = self.lives.get(self.last_term)
        demoted = latest is not None and self.view.state_of(latest[0]) not in {None, HaState.ACTIVE}
        if len(claims) > 1 or (demoted and not claims):
            self.contradicted = self.last_term
        if (active := self.view.active) is None:
            return
        life = (active.namenode, active.started_ms, active.transition_ms)
        assert active.term >= self.last_term
        assert active.term > self.contradicted
        assert self.lives.setdefault(active.term, life) == life
        self.last_term = active.term
        assert self.view.term == active.term

    @invariant()
    def what_is_probed_covers_all_that_was_acknowledged(self) -> None:
        """I4 and Bounded: no change acknowledged before `as_of` is beyond `txid`."""
        probed, active = self.view.last_probe, self.view.active
        if probed is None:
            return
        assert active is not None
        assert probed.term == active.term
        assert all(txid <= probed.txid for at, txid in self.log_at if at < probed.as_of)
        assert probed.as_of <= probed.asked_at
        assert probed.as_of <= (self.view.confirmed_as_of or 0.0)
        former = self.last_probes.setdefault(active.term, probed)
        assert probed.as_of >= former.as_of
        self.last_probes[active.term] = probed


TestAnyHistory = AnyHistory.TestCase
